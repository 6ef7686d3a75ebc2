#include "sim/lower/link.h"

#include "base/heap.h"
#include "base/poll.h"
#include "ptx/bulk_form.h"
#include "ptx/opcode.h"
#include "sim/code/coverage.h"
#include "sim/code/observer.h"
#include "sim/code/program.h"
#include "sim/exec/access.h"
#include "sim/exec/atomic.h"
#include "sim/exec/kernel_heap.h"
#include "sim/exec/livelock.h"
#include "sim/exec/printf.h"
#include "sim/lower/commute.h"
#include "sim/lower/lower.h"
#include "sim/lower/polling.h"
#include "sim/lower/register_layout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHARED_ALIGNMENT_MIN = 16, PADDED_MAX = 1 << 30 };

/* The state of building an image. */
typedef struct builder {
    const smk_program *program;
    const smk_module *module;
    smk_image *image;
    uint32_t *found; /* reached functions; those from `next` on are not visited yet */
    uint32_t count, next;
    uint8_t *reached; /* by index in program->callable */
    uint8_t *visited; /* by index among the module's shared variables: visited */
    uint32_t *reads;  /* number of reads of each register of the present function */
    bool indirect;
    struct smk_coverage_module *covered; /* NULL: the image does not count coverage */
    smk_error *error;
} builder;

static smk_status out_of_memory(smk_error *error)
{
    return smk_status_fail(error, SMK_MEMORY, "no memory to prepare a kernel");
}

static void reach(builder *b, uint32_t function)
{
    uint32_t index = b->program->callable_index[function];
    if (index != SMK_NO_INDEX && !b->reached[index]) {
        b->reached[index] = 1;
        b->found[b->count++] = function;
    }
}

/* A function pointer may hold any function that is no entry. */
static void reach_all(builder *b)
{
    for (uint32_t i = 0; i < b->program->callable_count && !b->indirect; i++) {
        reach(b, b->program->callable[i]);
    }
    b->indirect = true;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void find_functions(builder *b)
{
    b->found[b->count++] = b->image->entry;
    while (b->next < b->count && !smk_poll_stop()) {
        const smk_function *function = &b->module->functions[b->found[b->next++]];
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const smk_instruction *instruction = &function->instructions[i];
            b->image->may_wait = b->image->may_wait || smk_livelock_is_strong_read(instruction);
            if (smk_opcode_class(instruction) != SMK_CLASS_CALL) {
                continue;
            }
            if (instruction->operands[1].kind == SMK_OPERAND_FUNCTION) {
                reach(b, instruction->operands[1].index);
            } else {
                reach_all(b);
            }
        }
    }
    qsort(b->found, b->count, sizeof *b->found, compare_numbers); /* so that memory is laid out in the order of the
                                                                   * text */
}

/* Room for one more shared variable. Replaced tables stay in the arena, which is little memory. */
static bool grow_shared(smk_image *image, uint32_t *capacity)
{
    if (image->shared_count < *capacity) {
        return true;
    }
    uint32_t wide = *capacity == 0 ? 8 : 2 * *capacity;
    smk_shared_variable *grown = smk_arena_allocate(&image->arena, wide, sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    if (image->shared_count > 0) {
        memcpy(grown, image->shared, image->shared_count * sizeof *grown);
    }
    image->shared = grown;
    *capacity = wide;
    return true;
}

static bool is_dynamic(const smk_variable *variable)
{
    return variable->unsized || variable->is_extern;
}

/* Adds the padding between two variables. */
static void pad_shared(smk_image *image)
{
    uint32_t padding = image->observer == NULL || image->shared_bytes == 0 ? 0 : image->observer->padding;
    padding = image->shared_bytes < PADDED_MAX ? padding : 0;
    image->shared_bytes += padding;
    image->padding += padding;
}

/* Adds a shared variable; a static one is laid out. */
static smk_status add_shared(builder *b, const smk_variable *variable, uint32_t *capacity)
{
    smk_image *image = b->image;
    if (variable->space != SMK_SPACE_SHARED) {
        return SMK_OK;
    }
    if (!grow_shared(image, capacity)) {
        return out_of_memory(b->error);
    }
    uint64_t offset = 0;
    if (!is_dynamic(variable)) {
        uint64_t alignment = variable->alignment == 0 ? 1 : variable->alignment;
        pad_shared(image);
        offset = (image->shared_bytes + alignment - 1) / alignment * alignment;
        if (variable->bytes > SMK_SIM_SHARED_STATIC_MAX ||
            offset + variable->bytes > SMK_SIM_SHARED_STATIC_MAX + (uint64_t)image->padding) {
            smk_status status = smk_status_fail(b->error, SMK_SHARED_MEMORY,
                                                "%.*s declares %" PRIu64 " bytes of static shared memory up to the "
                                                "end of %.*s (%" PRIu64 " bytes); the limit is %d bytes. Declare less, "
                                                "or take dynamic shared memory: extern __shared__, and shared_mem= in "
                                                "the call",
                                                SMK_TEXT_PRINT(b->module->functions[image->entry].name),
                                                offset + variable->bytes - image->padding,
                                                SMK_TEXT_PRINT(smk_image_source_name(variable->name)),
                                                (uint64_t)variable->bytes, SMK_SIM_SHARED_STATIC_MAX);
            if (b->error != NULL) {
                b->error->ptx_line = variable->line;
            }
            return status;
        }
        image->shared_bytes = (uint32_t)(offset + variable->bytes);
    }
    image->shared[image->shared_count++] = (smk_shared_variable){variable, (uint32_t)offset};
    return SMK_OK;
}

/* Adds the module-scope shared variables that a function names; all of its own are added. */
static smk_status add_shared_operand(builder *b, const smk_operand *operand, uint32_t *capacity)
{
    bool names = operand->kind == SMK_OPERAND_VARIABLE ||
                 (operand->kind == SMK_OPERAND_ADDRESS && operand->base_kind == SMK_OPERAND_VARIABLE);
    uint32_t index =
        names && operand->index < b->module->variable_count ? b->program->shared_index[operand->index] : SMK_NO_INDEX;
    if (index == SMK_NO_INDEX || b->visited[index]) {
        return SMK_OK;
    }
    b->visited[index] = 1;
    return add_shared(b, &b->module->variables[operand->index], capacity);
}

static smk_status add_shared_of(builder *b, const smk_function *function, uint32_t *capacity)
{
    smk_status status = SMK_OK;
    for (uint32_t i = 0; i < function->variable_count && status == SMK_OK; i++) {
        status = add_shared(b, &function->variables[i], capacity);
    }
    for (uint32_t i = 0; i < function->instruction_count && status == SMK_OK; i++) {
        const smk_instruction *instruction = &function->instructions[i];
        for (unsigned j = 0; j < instruction->operand_count && status == SMK_OK; j++) {
            const smk_operand *operand = &instruction->operands[j];
            status = add_shared_operand(b, operand, capacity);
            for (uint32_t k = 0; operand->kind == SMK_OPERAND_LIST && k < operand->count && status == SMK_OK; k++) {
                status = add_shared_operand(b, &operand->element[k], capacity);
            }
        }
    }
    return status;
}

/* Lays out static variables first. All dynamic variables start where the static ones end. */
static smk_status lay_out_shared(builder *b)
{
    uint32_t capacity = 0;
    smk_image *image = b->image;
    for (uint32_t i = 0; i < b->count; i++) {
        smk_status status = add_shared_of(b, &b->module->functions[b->found[i]], &capacity);
        if (status != SMK_OK) {
            return status;
        }
    }
    uint32_t alignment = 1;
    for (uint32_t i = 0; i < image->shared_count; i++) {
        const smk_variable *variable = image->shared[i].variable;
        if (is_dynamic(variable)) {
            alignment = alignment < SHARED_ALIGNMENT_MIN ? SHARED_ALIGNMENT_MIN : alignment;
            alignment = variable->alignment > alignment ? variable->alignment : alignment;
        }
    }
    if (alignment > 1) {
        pad_shared(image);
    }
    uint32_t dynamic = (image->shared_bytes + alignment - 1) / alignment * alignment;
    for (uint32_t i = 0; i < image->shared_count; i++) {
        if (is_dynamic(image->shared[i].variable)) {
            image->shared[i].offset = dynamic;
            image->shared_bytes = dynamic;
        }
    }
    if (image->shared_count > 0) {
        qsort(image->shared, image->shared_count, sizeof *image->shared, smk_image_compare_shared);
    }
    return SMK_OK;
}

static smk_status lay_out_parameters(builder *b)
{
    smk_image *image = b->image;
    const smk_function *function = &b->module->functions[image->entry];
    uint64_t next = 0;
    image->parameter_offset =
        smk_arena_allocate(&image->arena, (size_t)function->parameter_count + 1, sizeof *image->parameter_offset);
    if (image->parameter_offset == NULL) {
        return out_of_memory(b->error);
    }
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        const smk_variable *variable = &function->variables[i];
        uint64_t alignment = variable->alignment == 0 ? 1 : variable->alignment;
        next = (next + alignment - 1) / alignment * alignment;
        if (variable->bytes > INT32_MAX || next + variable->bytes > INT32_MAX) {
            return smk_status_fail(b->error, SMK_UNSUPPORTED, "the parameters of %.*s are too large",
                                   SMK_TEXT_PRINT(function->name));
        }
        image->parameter_offset[i] = (uint32_t)next;
        next += variable->bytes;
    }
    image->parameter_bytes = (uint32_t)next;
    return SMK_OK;
}

static void count_read(void *context, uint32_t index, bool writes)
{
    uint32_t *reads = context;
    reads[index] += writes ? 0 : 1;
}

static bool is_global(const smk_instruction *instruction)
{
    return instruction->space == SMK_SPACE_GLOBAL || instruction->space == SMK_SPACE_GENERIC;
}

/* Does an access release to other blocks, or acquire from them? */
static bool synchronizes(const smk_instruction *instruction)
{
    bool strong = smk_module_has(instruction, SMK_MODIFIER_RELAXED) ||
                  smk_module_has(instruction, SMK_MODIFIER_ACQUIRE) ||
                  smk_module_has(instruction, SMK_MODIFIER_RELEASE);
    bool far = !smk_module_has(instruction, SMK_MODIFIER_CTA);
    return smk_module_has(instruction, SMK_MODIFIER_VOLATILE) || (strong && far);
}

/* Does an atomic operation have a result that the function uses? */
static bool returns_used_value(const builder *b, const smk_instruction *atomic)
{
    const smk_operand *result = &atomic->operands[0];
    return atomic->result_count > 0 && result->kind == SMK_OPERAND_REGISTER && b->reads[result->index] > 0;
}

/* Calls that print or allocate give the same in every run only in one order. */
static bool prints(const builder *b, const smk_instruction *call)
{
    const smk_operand *callee = &call->operands[1];
    uint32_t arguments;
    return callee->kind == SMK_OPERAND_FUNCTION &&
           (smk_printf_find(b->module->functions[callee->index].name, &arguments) != NULL ||
            smk_kernel_heap_find(b->module->functions[callee->index].name, &arguments) != NULL);
}

/* Can results depend on the order of blocks? Then one host thread runs them in order. */
static bool depends_on_order(const builder *b, const smk_function *function)
{
    memset(b->reads, 0, (function->register_count + (size_t)1) * sizeof *b->reads);
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        smk_register_layout_visit(&function->instructions[i], count_read, b->reads);
    }
    bool judged = b->image->observer != NULL && (b->image->observer->wants & SMK_OBSERVE_SYNCHRONIZATION) != 0;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const smk_instruction *instruction = &function->instructions[i];
        smk_class class = smk_opcode_class(instruction);
        if (judged && smk_image_is_block_scope(instruction)) {
            return true;
        }
        if (class == SMK_CLASS_ATOMIC && is_global(instruction) &&
            (!smk_atomic_commutes(instruction) || returns_used_value(b, instruction))) {
            return true;
        }
        if (smk_bulk_form_updates(instruction) && !smk_atomic_commutes(instruction)) {
            return true;
        }
        if ((class == SMK_CLASS_LOAD || class == SMK_CLASS_STORE) && is_global(instruction) &&
            synchronizes(instruction)) {
            return true;
        }
        if (class == SMK_CLASS_CALL && prints(b, instruction)) {
            return true;
        }
    }
    return false;
}

/* Allocates the code of all functions before the first is lowered, since they call each other. */
static bool allocate_code(builder *b)
{
    smk_image *image = b->image;
    image->code = smk_arena_allocate(&image->arena, b->count, sizeof *image->code);
    smk_code *room = smk_arena_allocate(&image->arena, b->count, sizeof *room);
    if (image->code == NULL || room == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < b->count; i++) {
        room[i].index = b->found[i];
        room[i].function = &b->module->functions[b->found[i]];
        room[i].covered = b->covered == NULL ? NULL : &b->covered->functions[b->found[i]];
        image->code[i] = &room[i];
        image->entry_code = b->found[i] == image->entry ? &room[i] : image->entry_code;
    }
    image->code_count = b->count;
    return true;
}

/* Finds out how the blocks and lanes of the image may depend on each other because of a function. */
static smk_status note_waits(builder *b, uint32_t function, smk_code *code)
{
    smk_image *image = b->image;
    bool global = false;
    smk_status status =
        smk_polling_find(&b->module->functions[function], &image->arena, &code->polls, &global, b->error);
    image->may_wait = image->may_wait || code->polls != NULL;
    image->ordered = image->ordered || global || depends_on_order(b, &b->module->functions[function]);
    return status;
}

static smk_status lower_functions(builder *b)
{
    smk_image *image = b->image;
    size_t registers = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        size_t own = b->module->functions[b->found[i]].register_count;
        registers = own > registers ? own : registers;
    }
    b->reads = smk_heap_allocate(registers + 1, sizeof *b->reads);
    if (b->reads == NULL || !allocate_code(b)) {
        return out_of_memory(b->error);
    }
    for (uint32_t i = 0; i < b->count; i++) {
        smk_status status = smk_lower_function(image, b->program->addresses, b->found[i], &image->arena, b->error);
        if (status == SMK_OK) {
            status = note_waits(b, b->found[i], image->code[i]);
        }
        if (status != SMK_OK) {
            return status;
        }
    }
    return smk_commute_find(image, b->error);
}

static smk_status build(builder *b)
{
    smk_status status = smk_refused_check(b->module, b->image->entry, b->error);
    if (status == SMK_OK) {
        find_functions(b);
        status = smk_poll_check(b->error);
    }
    if (status == SMK_OK) {
        status = lay_out_shared(b);
    }
    if (status == SMK_OK) {
        status = lay_out_parameters(b);
    }
    return status == SMK_OK ? lower_functions(b) : status;
}

static void name_kernel(const builder *b)
{
    if (b->error != NULL) {
        smk_text name = b->module->functions[b->image->entry].name;
        size_t length = name.length < sizeof b->error->kernel ? name.length : sizeof b->error->kernel - 1;
        memcpy(b->error->kernel, name.start, length);
        b->error->kernel[length] = '\0';
    }
}

smk_status smk_link_create(const smk_program *program, uint32_t entry, const struct smk_observer *observer,
                           struct smk_coverage_module *covered, smk_image **image, smk_error *error)
{
    builder b = {.program = program, .module = program->module, .error = error};
    smk_status status = SMK_MEMORY;
    b.image = smk_heap_allocate(1, sizeof *b.image);
    b.found = smk_heap_allocate((size_t)program->callable_count + 1, sizeof *b.found);
    b.reached = smk_heap_allocate((size_t)program->callable_count + 1, 1);
    b.visited = smk_heap_allocate((size_t)program->shared_count + 1, 1);
    if (b.image == NULL || b.found == NULL || b.reached == NULL || b.visited == NULL) {
        (void)out_of_memory(error);
    } else {
        b.image->program = program;
        b.image->module = program->module;
        b.image->entry = entry;
        b.image->observer = observer;
        b.covered = covered;
        status = build(&b);
        if (status != SMK_OK) {
            name_kernel(&b);
        }
    }
    smk_heap_free(b.found);
    smk_heap_free(b.reached);
    smk_heap_free(b.visited);
    smk_heap_free(b.reads);
    if (status != SMK_OK) {
        smk_image_free(b.image);
        return status;
    }
    *image = b.image;
    return SMK_OK;
}
