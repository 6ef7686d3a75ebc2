/* Chooses what to do about a finding by the first situation of finding.def that holds, and fills in its lines. */
#include "sim/check/action.h"

#include "ptx/bulk_form.h"
#include "ptx/opcode.h"
#include "sim/code/image.h"
#include "sim/exec/access.h"
#include "sim/exec/kernel_heap.h"
#include "sim/ptxas/cfg.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NULL_BYTES = 4096 };

typedef enum situation {
    ALWAYS,
    WITH_RACE,      /* a race of the same lines has the same cure (smk_action_fold) */
    SAME_VALUE,     /* stores of one value */
    EXCHANGE,       /* a plain load, and an atomic operation that compares and exchanges */
    COPY,           /* a cp.async, and an access of another thread */
    BULK_SOURCE,    /* a write to the source of a bulk copy */
    BULK_GROUP,     /* a bulk copy of a group, as the second side */
    BULK,           /* a bulk copy with an mbarrier */
    BLOCK_SCOPE,    /* an atomic operation whose scope is its block, and another block */
    BLOCKS_ATOMIC,  /* an atomic operation and another access, of two blocks */
    BLOCKS_OF_LINE, /* two accesses of one line, of two blocks */
    BLOCKS,         /* any other accesses of two blocks */
    STORES_OF_LINE,
    LINE_REPEATS, /* a load and a store of one line, which runs repeatedly without a barrier between two runs */
    LINE,         /* a load and a store of one line */
    NEXT_TURN,    /* a barrier stands between the lines; the later line and the earlier one of the loop's next turn */
    UNROLLED,     /* a load and the store of the next turn, or a store and its load, one behind the other in the code */
    ATOMIC,       /* an atomic operation and another access */
    ENDLESS,      /* a barrier in a loop without an exit */
    WARP_SYNC,    /* lanes of a warp synchronise */
    NAMED,        /* a barrier with a number or a count of threads */
    IN_SURFACE,
    IN_NULL,
    BLOCKS_BEYOND, /* in global memory, by a whole block that is not the first of the grid */
    IN_FREED,      /* in memory that malloc of kernels gave and free has taken back */
    IN_HEAP,       /* beside what malloc of kernels has given */
    IN_GLOBAL,
    IN_DYNAMIC, /* in or behind dynamic shared memory */
    IN_SHARED,
    IN_LOCAL_WITH_BARRIER, /* of a function with barriers */
    IN_LOCAL
} situation;

typedef struct action_row {
    smk_finding_kind kind;
    situation situation;
    const char *text;
} action_row;

static const action_row actions[] = {
#define SMK_ACTION(finding, situation, text) {SMK_FINDING_##finding, situation, text},
#include "sim/check/finding.def"
};

/* Both sides of a finding, and what the situations ask for. */
typedef struct context {
    const smk_module *module;
    const smk_image *image;
    const smk_launch *launch;
    const smk_finding *finding;
    const smk_finding_side *earlier, *later; /* of two sides, in the order of the code; else the first side twice */
} context;

static const smk_function *function_of(const context *c)
{
    return &c->module->functions[c->earlier->function];
}

static const smk_instruction *instruction_of(const context *c, const smk_finding_side *side)
{
    const smk_function *function = &c->module->functions[side->function];
    return side->present && side->instruction < function->instruction_count ? &function->instructions[side->instruction]
                                                                            : NULL;
}

/* Where the two sides stand ----------------------------------------------------------------------- */

/* The label to which an instruction branches, or NULL. */
static const smk_operand *find_label(const smk_instruction *branch)
{
    for (unsigned k = 0; k < branch->operand_count && smk_opcode_class(branch) == SMK_CLASS_BRANCH; k++) {
        if (branch->operands[k].kind == SMK_OPERAND_LABEL && branch->opcode != SMK_OPCODE_BRX) {
            return &branch->operands[k];
        }
    }
    return NULL;
}

/* Does a branch lead back from behind one instruction to before another one, or to it? */
static bool is_in_loop(const context *c, uint32_t first, uint32_t last)
{
    const smk_function *function = function_of(c);
    for (uint32_t i = last; i < function->instruction_count; i++) {
        const smk_operand *label = find_label(&function->instructions[i]);
        if (label != NULL && function->labels[label->index].target <= first) {
            return true;
        }
    }
    return false;
}

static bool has_barrier(const context *c, uint32_t first, uint32_t last)
{
    const smk_function *function = function_of(c);
    for (uint32_t i = first; i < last && i < function->instruction_count; i++) {
        if (smk_opcode_class(&function->instructions[i]) == SMK_CLASS_BARRIER) {
            return true;
        }
    }
    return false;
}

/* Is there a barrier in the innermost loop that holds an instruction? */
static bool has_barrier_around(const context *c, uint32_t at)
{
    uint32_t start = 0, end = 0;
    const smk_function *function = function_of(c);
    for (uint32_t i = at; i < function->instruction_count; i++) {
        const smk_operand *label = find_label(&function->instructions[i]);
        uint32_t target = label == NULL ? SMK_NO_INDEX : function->labels[label->index].target;
        if (target <= at && (end == 0 || target > start)) {
            start = target;
            end = i;
        }
    }
    return has_barrier(c, start, end);
}

/* Marks the blocks that can be reached from one of them; false where the function can be left from there. */
static bool mark_endless(const smk_cfg *cfg, uint32_t from, uint32_t *stack, uint8_t *seen)
{
    const smk_cfg_graph *graph = &cfg->graph;
    uint32_t depth = 0;
    seen[from] = 1;
    stack[depth++] = from;
    while (depth > 0) {
        uint32_t block = stack[--depth];
        if (graph->end[block] != SMK_CFG_STAYS) {
            return false;
        }
        for (uint32_t e = graph->start[block]; e < graph->start[block + 1]; e++) {
            uint32_t to = graph->successor[e];
            if (seen[to] == 0) {
                seen[to] = 1;
                stack[depth++] = to;
            }
        }
    }
    return true;
}

/* The instruction with the first source line of a loop without an exit that holds the finding's first side, or NULL. */
static const smk_instruction *find_endless(const context *c)
{
    const smk_function *function = &c->module->functions[c->finding->first.function];
    const smk_instruction *at = instruction_of(c, &c->finding->first), *found = NULL;
    smk_arena arena = {0};
    smk_cfg cfg;
    smk_error unused;
    if (at == NULL || smk_cfg_build(function, &arena, &cfg, &unused) != SMK_OK) {
        smk_arena_free(&arena);
        return NULL;
    }
    uint32_t *stack = smk_arena_allocate(&arena, cfg.graph.count + 1, sizeof *stack);
    uint8_t *seen = smk_arena_allocate(&arena, cfg.graph.count + 1, 1);
    if (stack != NULL && seen != NULL && mark_endless(&cfg, cfg.block_of[c->finding->first.instruction], stack, seen)) {
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const smk_instruction *other = &function->instructions[i];
            bool inside = seen[cfg.block_of[i]] != 0 && other->source_file == at->source_file;
            if (inside && (found == NULL || (other->source_line != 0 && other->source_line < found->source_line))) {
                found = other;
            }
        }
    }
    smk_arena_free(&arena);
    return found;
}

static bool is_same_line(const context *c)
{
    const smk_instruction *a = instruction_of(c, c->earlier), *b = instruction_of(c, c->later);
    if (a == NULL || b == NULL) {
        return false;
    }
    return a->source_line != 0 ? a->source_line == b->source_line && a->source_file == b->source_file
                               : a->line == b->line;
}

static bool is_same_function(const context *c)
{
    return c->earlier->function == c->later->function;
}

static bool writes(const smk_finding_side *side)
{
    return side->kind == SMK_ACCESS_STORE || side->kind == SMK_ACCESS_COPY;
}

/* Do the instructions between two numbers have one like another: with its opcode and space, and on its line? */
static bool has_alike(const context *c, uint32_t first, uint32_t last, const smk_instruction *wanted)
{
    const smk_function *function = function_of(c);
    for (uint32_t i = first; i < last && i < function->instruction_count && wanted->source_line != 0; i++) {
        const smk_instruction *other = &function->instructions[i];
        if (other->opcode == wanted->opcode && other->space == wanted->space &&
            other->source_line == wanted->source_line && other->source_file == wanted->source_file) {
            return true;
        }
    }
    return false;
}

/* Does the later access stand before the earlier one too, as its line's access of the turn before? One of them is a
 * load, the other writes, and their lines stand the other way round. */
static bool is_unrolled(const context *c)
{
    const smk_instruction *earlier = instruction_of(c, c->earlier), *later = instruction_of(c, c->later);
    const bool mixed = (c->earlier->kind == SMK_ACCESS_LOAD && writes(c->later)) ||
                       (writes(c->earlier) && c->later->kind == SMK_ACCESS_LOAD);
    return earlier != NULL && later != NULL && is_same_function(c) && mixed &&
           earlier->source_file == later->source_file && later->source_line < earlier->source_line &&
           has_alike(c, 0, c->earlier->instruction, later);
}

static bool is_of_blocks(const context *c)
{
    return memcmp(c->earlier->block, c->later->block, sizeof c->earlier->block) != 0;
}

static bool has_kind(const context *c, smk_access_kind kind)
{
    return c->earlier->kind == kind || c->later->kind == kind;
}

static bool has_block_scope(const context *c)
{
    const smk_instruction *a = instruction_of(c, c->earlier), *b = instruction_of(c, c->later);
    return (a != NULL && smk_image_is_block_scope(a)) || (b != NULL && smk_image_is_block_scope(b));
}

/* Does one side load what the other one compares and exchanges? */
static bool is_exchange(const context *c)
{
    const smk_finding_side *atomic = c->earlier->kind == SMK_ACCESS_ATOMIC ? c->earlier : c->later;
    const smk_instruction *instruction = instruction_of(c, atomic);
    return has_kind(c, SMK_ACCESS_LOAD) && atomic->kind == SMK_ACCESS_ATOMIC && instruction != NULL &&
           smk_module_has(instruction, SMK_MODIFIER_CAS);
}

/* Does the line run again, so that its store meets its load of another time, with no barrier on the way? In a loop that
 * is unrolled the store stands before the load, or has another one before it. */
static bool repeats(const context *c)
{
    if (!is_same_line(c) || !is_same_function(c)) {
        return false;
    }
    const smk_instruction *later = instruction_of(c, c->later);
    bool unrolled = (writes(c->earlier) && c->later->kind == SMK_ACCESS_LOAD) ||
                    (c->earlier->kind == SMK_ACCESS_LOAD && writes(c->later) &&
                     has_alike(c, c->earlier->instruction + 1, c->later->instruction, later));
    return unrolled || (is_in_loop(c, c->earlier->instruction, c->later->instruction) &&
                        !has_barrier_around(c, c->earlier->instruction));
}

static bool is_named(const smk_instruction *barrier)
{
    const smk_operand *number = &barrier->operands[0];
    return barrier->operand_count > 1 ||
           (barrier->operand_count == 1 && (number->kind != SMK_OPERAND_IMMEDIATE || number->bits != 0));
}

/* Is the first side an access from dynamic shared memory on? */
static bool is_dynamic(const context *c)
{
    const smk_finding_side *side = &c->finding->first;
    const int64_t at = smk_image_signed_address(side->address);
    const smk_shared_variable *nearest =
        smk_image_nearest_shared(c->image, at, c->image->shared_bytes + c->launch->shared_bytes);
    return side->space == SMK_SPACE_SHARED && nearest != NULL && at >= nearest->offset &&
           (nearest->variable->unsized || nearest->variable->is_extern);
}

/* Is the first side in the first thread of a block other than the first one? It stands for the first block of all. */
static bool is_of_whole_block(const context *c)
{
    const smk_finding_side *side = &c->finding->first;
    return (side->block[0] | side->block[1] | side->block[2]) != 0 &&
           (side->thread[0] | side->thread[1] | side->thread[2]) == 0;
}

/* IN_FREED or IN_HEAP for an access to the heap of kernels, else ALWAYS. What was given may have been freed since. */
static situation heap_situation(const context *c)
{
    const smk_finding_side *side = &c->finding->first;
    switch (smk_kernel_heap_look(c->image->program, side->address, side->bytes)) {
    case SMK_KERNEL_HEAP_FREED:
    case SMK_KERNEL_HEAP_GIVEN:
        return IN_FREED;
    case SMK_KERNEL_HEAP_BEYOND:
        return IN_HEAP;
    case SMK_KERNEL_HEAP_NONE:
        break;
    }
    return ALWAYS;
}

/* The situations of an access to memory of one space. */
static bool holds_in_space(const context *c, situation wanted)
{
    const smk_finding_side *side = &c->finding->first;
    switch (side->space) {
    case SMK_SPACE_GLOBAL:
        return wanted == IN_GLOBAL || wanted == heap_situation(c) ||
               (wanted == IN_NULL && side->address < NULL_BYTES) || (wanted == BLOCKS_BEYOND && is_of_whole_block(c));
    case SMK_SPACE_SHARED:
        return wanted == IN_SHARED || (wanted == IN_DYNAMIC && is_dynamic(c));
    case SMK_SPACE_LOCAL:
        return wanted == IN_LOCAL ||
               (wanted == IN_LOCAL_WITH_BARRIER && has_barrier(c, 0, function_of(c)->instruction_count));
    case SMK_SPACE_GENERIC:
    case SMK_SPACE_CONST:
    case SMK_SPACE_PARAM:
        break;
    }
    return false;
}

/* Is the second side a bulk copy? */
static bool is_bulk(const context *c)
{
    const smk_instruction *second = c->finding->second.present ? instruction_of(c, &c->finding->second) : NULL;
    return second != NULL && smk_bulk_form_is(second);
}

static bool holds(const context *c, situation wanted)
{
    const smk_instruction *first = instruction_of(c, &c->finding->first);
    bool barrier =
        first != NULL && smk_opcode_class(first) == SMK_CLASS_BARRIER && !smk_module_has(first, SMK_MODIFIER_WARP);
    switch (wanted) {
    case ALWAYS:
        return true;
    case SAME_VALUE:
        return c->finding->same_value;
    case EXCHANGE:
        return is_exchange(c);
    case COPY:
        return has_kind(c, SMK_ACCESS_COPY);
    case BULK_SOURCE:
        return is_bulk(c) && c->finding->second.kind == SMK_ACCESS_LOAD;
    case BULK_GROUP:
        return is_bulk(c) && smk_bulk_form_target(instruction_of(c, &c->finding->second)) == SMK_SPACE_GLOBAL;
    case BULK:
        return is_bulk(c);
    case BLOCK_SCOPE:
        return is_of_blocks(c) && has_block_scope(c);
    case BLOCKS_ATOMIC:
        return is_of_blocks(c) && has_kind(c, SMK_ACCESS_ATOMIC);
    case BLOCKS_OF_LINE:
        return is_of_blocks(c) && is_same_line(c);
    case BLOCKS:
        return is_of_blocks(c);
    case STORES_OF_LINE:
        return is_same_line(c) && writes(c->earlier) && writes(c->later);
    case LINE_REPEATS:
        return repeats(c);
    case LINE:
        return is_same_line(c);
    case NEXT_TURN:
        return is_same_function(c) && has_barrier(c, c->earlier->instruction, c->later->instruction) &&
               is_in_loop(c, c->earlier->instruction, c->later->instruction);
    case UNROLLED:
        return is_unrolled(c);
    case ATOMIC:
        return has_kind(c, SMK_ACCESS_ATOMIC);
    case WARP_SYNC:
        return first != NULL && !barrier;
    case NAMED:
        return barrier && is_named(first);
    case ENDLESS:
        return barrier && find_endless(c) != NULL;
    case WITH_RACE: /* which smk_action_fold decides */
        return false;
    case IN_SURFACE:
        return first != NULL && smk_opcode_class(first) == SMK_CLASS_TEXTURE;
    case IN_NULL:
    case BLOCKS_BEYOND:
    case IN_FREED:
    case IN_HEAP:
    case IN_GLOBAL:
    case IN_DYNAMIC:
    case IN_SHARED:
    case IN_LOCAL_WITH_BARRIER:
    case IN_LOCAL:
        return holds_in_space(c, wanted);
    }
    return false;
}

/* Text -------------------------------------------------------------------------------------------- */

/* As in "line 9", or "PTX line 9" where there is no source. */
static void write_instruction(const smk_instruction *instruction, char *text, size_t size)
{
    if (instruction->source_line != 0) {
        (void)snprintf(text, size, "line %" PRIu32, instruction->source_line);
    } else {
        (void)snprintf(text, size, "PTX line %" PRIu32, instruction->line);
    }
}

static void write_line(const context *c, const smk_finding_side *side, char *text, size_t size)
{
    const smk_instruction *instruction = instruction_of(c, side);
    if (instruction == NULL) {
        (void)snprintf(text, size, "the end of %.*s", SMK_TEXT_PRINT(c->module->functions[side->function].name));
    } else {
        write_instruction(instruction, text, size);
    }
}

static void write_lines(const context *c, char *text, size_t size)
{
    const smk_instruction *a = instruction_of(c, c->earlier), *b = instruction_of(c, c->later);
    char first[80], second[80];
    if (is_same_line(c)) {
        write_line(c, c->earlier, text, size);
        return;
    }
    if (a != NULL && b != NULL && (a->source_line != 0) == (b->source_line != 0)) {
        bool source = a->source_line != 0;
        uint32_t x = source ? a->source_line : a->line, y = source ? b->source_line : b->line;
        (void)snprintf(text, size, "%s %" PRIu32 " and %" PRIu32, source ? "lines" : "PTX lines", x < y ? x : y,
                       x < y ? y : x);
        return;
    }
    write_line(c, c->earlier, first, sizeof first);
    write_line(c, c->later, second, sizeof second);
    (void)snprintf(text, size, "%s and %s", first, second);
}

/* The side that stands first, or last, in the body of a loop: by its source line, as the loop may be unrolled. */
static const smk_finding_side *find_end(const context *c, bool is_first)
{
    const smk_instruction *a = instruction_of(c, c->earlier), *b = instruction_of(c, c->later);
    bool turned = a != NULL && b != NULL && b->source_line != 0 && a->source_file == b->source_file &&
                  a->source_line > b->source_line;
    return is_first == turned ? c->later : c->earlier;
}

/* What a word in braces stands for. */
static void write_word(const context *c, const char *word, size_t length, char *text, size_t size)
{
    const smk_finding *finding = c->finding;
    bool warp = finding->kind == SMK_FINDING_WARP_HAZARD;
    char name[16];
    (void)snprintf(name, sizeof name, "%.*s", (int)length, word);
    if (strcmp(name, "lines") == 0) {
        write_lines(c, text, size);
    } else if (strcmp(name, "barrier") == 0) {
        (void)snprintf(text, size, "%s", warp ? "__syncwarp()" : "__syncthreads()");
    } else if (strcmp(name, "all") == 0) {
        (void)snprintf(text, size, "%s", warp ? "every lane of its mask" : "every thread of the block");
    } else if (strcmp(name, "bytes") == 0) {
        (void)snprintf(text, size, "%" PRIu32, finding->first.bytes);
    } else if (strcmp(name, "dynamic") == 0) {
        (void)snprintf(text, size, "%zu", c->launch->shared_bytes);
    } else if (strcmp(name, "block") == 0) {
        const uint32_t *block = finding->first.block;
        (void)snprintf(text, size, "(%" PRIu32 ", %" PRIu32 ", %" PRIu32 ")", block[0], block[1], block[2]);
    } else if (strcmp(name, "loop") == 0) {
        const smk_instruction *start = find_endless(c);
        if (start != NULL) {
            write_instruction(start, text, size);
        }
    } else {
        const smk_finding_side *side = strcmp(name, "second") == 0   ? &finding->second
                                       : strcmp(name, "before") == 0 ? find_end(c, true)
                                       : strcmp(name, "behind") == 0 ? find_end(c, false)
                                                                     : &finding->first;
        write_line(c, side, text, size);
        if (name[0] == 'F' && text[0] == 'l') {
            text[0] = 'L';
        }
    }
}

/* The text of the first row whose situation holds, with its words in braces. */
static const char *choose_text(const context *c)
{
    const char *text = "";
    for (size_t i = 0; i < sizeof actions / sizeof actions[0] && text[0] == '\0'; i++) {
        text = actions[i].kind == c->finding->kind && holds(c, actions[i].situation) ? actions[i].text : "";
    }
    return text;
}

static context open_context(const smk_action_launch *of, const smk_finding *finding)
{
    const smk_finding_side *a = &finding->first, *b = finding->second.present ? &finding->second : a;
    bool turned = a->function == b->function && a->instruction > b->instruction;
    return (context){of->ids->module, of->image, of->launch, finding, turned ? b : a, turned ? a : b};
}

static void write_text(const context *c, const char *text, char *action, size_t size)
{
    size_t used = 0;
    for (const char *at = text; *at != '\0' && used + 1 < size; at++) {
        const char *close = *at == '{' ? strchr(at, '}') : NULL;
        if (close == NULL) {
            action[used++] = *at;
            continue;
        }
        action[used] = '\0';
        write_word(c, at + 1, (size_t)(close - at - 1), action + used, size - used);
        used += strlen(action + used);
        at = close;
    }
    action[used] = '\0';
}

void smk_action_write(const smk_action_launch *of, smk_finding *finding)
{
    const context c = open_context(of, finding);
    write_text(&c, choose_text(&c), finding->action, sizeof finding->action);
}

static bool is_of_same_line(const smk_instruction *a, const smk_instruction *b)
{
    return a != NULL && b != NULL && a->source_line != 0 && a->source_line == b->source_line &&
           a->source_file == b->source_file;
}

void smk_action_fold(const smk_action_launch *of, const smk_finding *race, smk_finding *hazard)
{
    const context c = open_context(of, race), d = open_context(of, hazard);
    const char *text = choose_text(&c);
    const smk_instruction *a = instruction_of(&c, c.earlier), *b = instruction_of(&c, c.later);
    const smk_instruction *x = instruction_of(&d, d.earlier), *y = instruction_of(&d, d.later);
    bool same = (is_of_same_line(a, x) && is_of_same_line(b, y)) || (is_of_same_line(a, y) && is_of_same_line(b, x));
    if (!same || strstr(text, "{barrier}") == NULL || strcmp(text, choose_text(&d)) != 0) {
        return;
    }
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (actions[i].kind == hazard->kind && actions[i].situation == WITH_RACE) {
            write_text(&d, actions[i].text, hazard->action, sizeof hazard->action);
        }
    }
}
