/* Makes events of recorded accesses, and reports races between blocks once all blocks have ended. */
#include "ptx/bulk_form.h"
#include "ptx/opcode.h"
#include "sim/check/race.h"

#include "sim/exec/access.h"
#include "sim/exec/bulk.h"
#include "sim/exec/kernel_heap.h"

enum { CELLS = SMK_SHADOW_CELLS };

static smk_access_kind kind_of(const smk_instruction *instruction, bool loads)
{
    smk_class class = smk_opcode_class(instruction);
    if (!loads && smk_bulk_form_updates(instruction)) {
        return SMK_ACCESS_ATOMIC;
    }
    const bool stores = class == SMK_CLASS_STORE || instruction->opcode == SMK_OPCODE_STMATRIX;
    return stores                              ? SMK_ACCESS_STORE
           : class == SMK_CLASS_ATOMIC         ? SMK_ACCESS_ATOMIC
           : class == SMK_CLASS_COPY && !loads ? SMK_ACCESS_COPY
                                               : SMK_ACCESS_LOAD;
}

static unsigned bytes_of(const smk_instruction *instruction)
{
    if (smk_bulk_form_is(instruction)) {
        return SMK_BULK_CHUNK;
    }
    if (smk_opcode_class(instruction) == SMK_CLASS_COPY) {
        return (unsigned)instruction->operands[2].bits;
    }
    unsigned bytes = smk_module_type_bits((smk_type)instruction->type) / 8;
    return bytes * (instruction->vector == 0 ? 1 : instruction->vector);
}

smk_finding_event smk_race_report_event(const smk_race_launch *launch, uint32_t instruction_id, bool loads,
                                        smk_space space, uint64_t address, uint64_t block, uint32_t thread)
{
    uint32_t function, at;
    const smk_instruction *instruction = smk_finding_locate(&launch->ids, instruction_id, &function, &at);
    smk_finding_event event = {.instruction_id = instruction_id, .space = space, .block = block, .thread = thread};
    if (instruction != NULL) {
        event.kind = (uint8_t)kind_of(instruction, loads);
        event.bytes = bytes_of(instruction);
        event.address = event.bytes == 0 ? address : address - address % event.bytes;
    }
    return event;
}

void smk_race_report_global(smk_race_launch *launch, const smk_finding_event *first, const smk_finding_event *second,
                            uint64_t block, uint64_t order)
{
    if (!smk_kernel_heap_is_reused(launch->program, first->address)) {
        smk_finding_add(&launch->sink, SMK_FINDING_GLOBAL_RACE, first, second, block, order, NULL);
    }
}

/* Reports a race between two classes of accesses to a cell: of the lowest two different blocks. */
static void judge_classes(smk_race_launch *launch, const smk_race_grid_line *line, unsigned i, unsigned a, unsigned b)
{
    const smk_race_grid_set *x = line->set[a], *y = line->set[b];
    uint64_t address = (line->number * CELLS + i) << launch->grid.shift;
    if (x == NULL || y == NULL) {
        return;
    }
    bool same = a == SMK_RACE_GRID_WRITE && b == SMK_RACE_GRID_WRITE && (x->varied >> i & 1) == 0;
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned m = a == b ? k + 1 : 0; m < 2; m++) {
            uint32_t first_block = x->block[k][i], second_block = y->block[m][i];
            if (first_block == 0 || second_block == 0 || first_block == second_block ||
                smk_race_excuses(launch->flags[x->instruction_id[k][i]], launch->flags[y->instruction_id[m][i]],
                                 false)) {
                continue;
            }
            smk_finding_event first =
                smk_race_report_event(launch, x->instruction_id[k][i], a == SMK_RACE_GRID_READ, SMK_SPACE_GLOBAL,
                                      address, first_block - 1, x->thread[k][i]);
            smk_finding_event second =
                smk_race_report_event(launch, y->instruction_id[m][i], b == SMK_RACE_GRID_READ, SMK_SPACE_GLOBAL,
                                      address, second_block - 1, y->thread[m][i]);
            bool turned = first.instruction_id > second.instruction_id ||
                          (first.instruction_id == second.instruction_id && first.block > second.block);
            (turned ? &first : &second)->same_value = same;
            uint64_t lowest = first_block < second_block ? first_block - 1 : second_block - 1;
            smk_race_report_global(launch, turned ? &second : &first, turned ? &first : &second, lowest, address);
            return;
        }
    }
}

void smk_race_report_blocks(smk_race_launch *launch)
{
    const smk_race_grid_line *line;
    for (uint32_t n = 0; !launch->ordered && (line = smk_race_grid_get(&launch->grid, n)) != NULL; n++) {
        if (line->set[SMK_RACE_GRID_WRITE] == NULL && line->set[SMK_RACE_GRID_ATOMIC] == NULL) {
            continue;
        }
        for (unsigned i = 0; i < CELLS; i++) {
            judge_classes(launch, line, i, SMK_RACE_GRID_WRITE, SMK_RACE_GRID_WRITE);
            judge_classes(launch, line, i, SMK_RACE_GRID_WRITE, SMK_RACE_GRID_READ);
            judge_classes(launch, line, i, SMK_RACE_GRID_WRITE, SMK_RACE_GRID_ATOMIC);
            judge_classes(launch, line, i, SMK_RACE_GRID_READ, SMK_RACE_GRID_ATOMIC);
        }
    }
}
