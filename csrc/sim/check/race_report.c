/* Accesses as they are remembered, and what is said of them once all blocks have ended. */
#include "sim/check/race.h"

#include "sim/exec/access.h"

enum { CELLS = SMK_SHADOW_CELLS };

static smk_access_kind kind_of(const smk_instruction *instruction, bool loads)
{
    switch (instruction->opcode) {
    case SMK_OPCODE_ST:
        return SMK_ACCESS_STORE;
    case SMK_OPCODE_ATOM:
    case SMK_OPCODE_RED:
        return SMK_ACCESS_ATOMIC;
    case SMK_OPCODE_CP:
        return loads ? SMK_ACCESS_LOAD : SMK_ACCESS_COPY;
    default:
        return SMK_ACCESS_LOAD;
    }
}

static unsigned bytes_of(const smk_instruction *instruction)
{
    if (instruction->opcode == SMK_OPCODE_CP) {
        return (unsigned)instruction->operands[2].bits;
    }
    unsigned bytes = smk_module_type_bits((smk_type)instruction->type) / 8;
    return bytes * (instruction->vector == 0 ? 1 : instruction->vector);
}

smk_finding_event smk_race_former(const smk_race_launch *launch, uint32_t place, bool loads, smk_space space,
                                  uint64_t address, uint64_t block, uint32_t thread)
{
    uint32_t function, at;
    const smk_instruction *instruction = smk_finding_locate(&launch->places, place, &function, &at);
    smk_finding_event event = {.place = place, .space = space, .block = block, .thread = thread};
    if (instruction != NULL) {
        event.kind = (uint8_t)kind_of(instruction, loads);
        event.bytes = bytes_of(instruction);
        event.address = event.bytes == 0 ? address : address - address % event.bytes;
    }
    return event;
}

/* Of two classes of a cell: the lowest two blocks that are not the same. */
static void judge_classes(smk_race_launch *launch, const smk_blocks_line *line, unsigned i, unsigned a, unsigned b)
{
    const smk_blocks_set *x = line->set[a], *y = line->set[b];
    uint64_t address = (line->number * CELLS + i) << launch->blocks.shift;
    if (x == NULL || y == NULL) {
        return;
    }
    bool same = a == SMK_BLOCKS_WRITE && b == SMK_BLOCKS_WRITE && (x->varied >> i & 1) == 0;
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned m = a == b ? k + 1 : 0; m < 2; m++) {
            uint32_t one = x->block[k][i], two = y->block[m][i];
            if (one == 0 || two == 0 || one == two ||
                smk_race_excuses(launch->flags[x->place[k][i]], launch->flags[y->place[m][i]], false)) {
                continue;
            }
            smk_finding_event first = smk_race_former(launch, x->place[k][i], a == SMK_BLOCKS_READ, SMK_SPACE_GLOBAL,
                                                      address, one - 1, x->who[k][i]);
            smk_finding_event second = smk_race_former(launch, y->place[m][i], b == SMK_BLOCKS_READ, SMK_SPACE_GLOBAL,
                                                       address, two - 1, y->who[m][i]);
            bool turned = first.place > second.place || (first.place == second.place && first.block > second.block);
            (turned ? &first : &second)->same_value = same;
            uint64_t lowest = one < two ? one - 1 : two - 1;
            smk_finding_add(&launch->sink, SMK_FINDING_GLOBAL_RACE, turned ? &second : &first,
                            turned ? &first : &second, lowest, address, NULL);
            return;
        }
    }
}

void smk_race_finish(smk_race_launch *launch)
{
    const smk_blocks_line *line;
    for (uint32_t n = 0; !launch->ordered && (line = smk_blocks_get(&launch->blocks, n)) != NULL; n++) {
        if (line->set[SMK_BLOCKS_WRITE] == NULL && line->set[SMK_BLOCKS_ATOMIC] == NULL) {
            continue;
        }
        for (unsigned i = 0; i < CELLS; i++) {
            judge_classes(launch, line, i, SMK_BLOCKS_WRITE, SMK_BLOCKS_WRITE);
            judge_classes(launch, line, i, SMK_BLOCKS_WRITE, SMK_BLOCKS_READ);
            judge_classes(launch, line, i, SMK_BLOCKS_WRITE, SMK_BLOCKS_ATOMIC);
            judge_classes(launch, line, i, SMK_BLOCKS_READ, SMK_BLOCKS_ATOMIC);
        }
    }
}
