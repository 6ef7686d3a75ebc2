/* For threads under -std=c11. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "sim/code/coverage.h"

#include "base/heap.h"
#include "ptx/opcode.h"

#include <pthread.h>
#include <string.h>

static _Atomic unsigned started;
static smk_coverage_module *_Atomic modules; /* a list that only grows at its head, so that readers need no lock */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, smk_coverage_clear);
}

void smk_coverage_start(void)
{
    (void)pthread_once(&once, watch_forks);
    atomic_fetch_add(&started, 1);
}

void smk_coverage_stop(void)
{
    atomic_fetch_sub(&started, 1);
}

bool smk_coverage_is_on(void)
{
    return atomic_load_explicit(&started, memory_order_relaxed) > 0;
}

const smk_coverage_module *smk_coverage_modules(void)
{
    return atomic_load(&modules);
}

/* FNV-1a of 64 bits (Fowler, Noll, Vo). */
static uint64_t hash_text(smk_text text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < text.length; i++) {
        hash = (hash ^ (unsigned char)text.start[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static smk_coverage_module *find_known(uint64_t hash, size_t length)
{
    smk_coverage_module *module = atomic_load(&modules);
    while (module != NULL && (module->hash != hash || module->length != length)) {
        module = module->next;
    }
    return module;
}

static bool copy_bytes(smk_arena *arena, const char *start, size_t length, const char **copy)
{
    char *made = smk_arena_allocate(arena, length + 1, 1);
    if (made != NULL && length > 0) {
        memcpy(made, start, length);
    }
    *copy = made;
    return made != NULL;
}

static bool copy_text(smk_arena *arena, smk_text from, smk_text *to)
{
    to->length = from.length;
    return copy_bytes(arena, from.start, from.length, &to->start);
}

uint32_t smk_coverage_counters(const smk_coverage_point *point)
{
    return point->kind == SMK_COVERAGE_RUN
               ? SMK_COVERAGE_RUN_COUNTERS
               : SMK_COVERAGE_DECISION_COUNTERS + SMK_COVERAGE_TARGET_COUNTERS * point->target_count;
}

static bool is_decision(const smk_instruction *instruction)
{
    return instruction->guarded || instruction->opcode == SMK_OPCODE_BRX;
}

/* Marks the instructions at which a straight-line run begins: those of smk_cfg_build's blocks, and those behind calls,
 * in which lanes may exit. */
static void mark_runs(const smk_function *function, uint8_t *begins)
{
    begins[0] = 1;
    for (uint32_t i = 0; i < function->label_count; i++) {
        if (function->labels[i].target < function->instruction_count) {
            begins[function->labels[i].target] = 1;
        }
    }
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const smk_class class = smk_opcode_class(&function->instructions[i]);
        if (class == SMK_CLASS_BRANCH || class == SMK_CLASS_END || class == SMK_CLASS_CALL) {
            begins[i + 1] = 1;
        }
    }
}

/* Fills the point of a decision; false where there is no memory. */
static bool describe_decision(smk_arena *arena, const smk_function *function, smk_coverage_point *point)
{
    const smk_instruction *instruction = &function->instructions[point->instruction];
    point->kind = SMK_COVERAGE_GUARD;
    if (instruction->opcode == SMK_OPCODE_BRA) {
        point->kind = SMK_COVERAGE_BRANCH;
        point->target = function->labels[instruction->operands[0].index].target;
    } else if (instruction->opcode == SMK_OPCODE_BRX) {
        const smk_label *table = &function->labels[instruction->operands[1].index];
        point->kind = SMK_COVERAGE_TABLE;
        point->targets = smk_arena_allocate(arena, (size_t)table->table_count + 1, sizeof *point->targets);
        if (point->targets == NULL) {
            return false;
        }
        point->target_count = table->table_count;
        for (uint32_t i = 0; i < point->target_count; i++) {
            point->targets[i] = function->labels[table->table[i]].target;
        }
    }
    return true;
}

static bool add_point(smk_arena *arena, const smk_function *from, smk_coverage_function *to, uint32_t index,
                      bool decides)
{
    smk_coverage_point *point = &to->point[to->point_count];
    *point = (smk_coverage_point){.kind = SMK_COVERAGE_RUN, .instruction = index, .counter = to->counter_count};
    if (decides && !describe_decision(arena, from, point)) {
        return false;
    }
    to->point_count++;
    to->counter_count += smk_coverage_counters(point);
    return true;
}

/* Fills the points of a function; `begins` has a zero for each instruction, and one more. */
static bool find_points(smk_arena *arena, const smk_function *from, smk_coverage_function *to, uint8_t *begins)
{
    size_t count = 0;
    mark_runs(from, begins);
    for (uint32_t i = 0; i < from->instruction_count; i++) {
        count += (size_t)begins[i] + is_decision(&from->instructions[i]);
    }
    to->point = smk_arena_allocate(arena, count + 1, sizeof *to->point);
    bool room = to->point != NULL;
    for (uint32_t i = 0; i < from->instruction_count && room; i++) {
        room = (begins[i] == 0 || add_point(arena, from, to, i, false)) &&
               (!is_decision(&from->instructions[i]) || add_point(arena, from, to, i, true));
    }
    if (room) {
        to->counter = smk_arena_allocate(arena, (size_t)to->counter_count + 1, sizeof *to->counter);
    }
    return room && to->counter != NULL;
}

static bool copy_function(smk_arena *arena, const smk_function *from, smk_coverage_function *to)
{
    to->is_entry = from->is_entry;
    to->instruction_count = from->instruction_count;
    to->location = smk_arena_allocate(arena, (size_t)from->instruction_count + 1, sizeof *to->location);
    if (to->location == NULL || !copy_text(arena, from->name, &to->name)) {
        return false;
    }
    for (uint32_t i = 0; i < from->instruction_count; i++) {
        to->location[i] = from->instructions[i].source_location;
    }
    uint8_t *begins = smk_heap_allocate((size_t)from->instruction_count + 1, 1);
    const bool room = begins != NULL && find_points(arena, from, to, begins);
    smk_heap_free(begins);
    return room;
}

/* Copies what a report needs of a module. */
static bool fill(smk_coverage_module *made, const smk_module *module, const char *source, const char *folder)
{
    smk_arena *arena = &made->arena;
    made->file_count = module->file_count;
    made->location_count = module->location_count;
    made->function_count = module->function_count;
    made->files = smk_arena_allocate(arena, (size_t)made->file_count + 1, sizeof *made->files);
    made->locations = smk_arena_allocate(arena, (size_t)made->location_count + 1, sizeof *made->locations);
    made->functions = smk_arena_allocate(arena, (size_t)made->function_count + 1, sizeof *made->functions);
    if (made->files == NULL || made->locations == NULL || made->functions == NULL ||
        (source != NULL && !copy_bytes(arena, source, strlen(source), &made->source)) ||
        (folder != NULL && !copy_bytes(arena, folder, strlen(folder), &made->folder))) {
        return false;
    }
    if (made->location_count > 0) {
        memcpy(made->locations, module->locations, made->location_count * sizeof *made->locations);
    }
    for (uint32_t i = 0; i < made->file_count; i++) {
        if (!copy_text(arena, module->files[i], &made->files[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < made->function_count; i++) {
        if (module->functions[i].is_defined && !module->functions[i].is_prototype &&
            !copy_function(arena, &module->functions[i], &made->functions[i])) {
            return false;
        }
    }
    return true;
}

static void free_module(smk_coverage_module *module)
{
    smk_arena_free(&module->arena);
    smk_heap_free(module);
}

smk_status smk_coverage_find(const smk_module *module, const char *source, const char *folder,
                             smk_coverage_module **found, smk_error *error)
{
    const uint64_t hash = hash_text(module->text);
    *found = find_known(hash, module->text.length);
    if (*found != NULL) {
        return SMK_OK;
    }
    smk_coverage_module *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL || !fill(made, module, source, folder)) {
        if (made != NULL) {
            free_module(made);
        }
        return smk_status_fail(error, SMK_MEMORY, "no memory left for the coverage of a module");
    }
    made->hash = hash;
    made->length = module->text.length;
    made->next = atomic_load(&modules);
    while (!atomic_compare_exchange_weak(&modules, &made->next, made)) {
        smk_coverage_module *known = find_known(hash, module->text.length);
        if (known != NULL) { /* another thread has been faster */
            free_module(made);
            *found = known;
            return SMK_OK;
        }
    }
    *found = made;
    return SMK_OK;
}

void smk_coverage_clear(void)
{
    for (smk_coverage_module *module = atomic_load(&modules); module != NULL; module = module->next) {
        for (uint32_t i = 0; i < module->function_count; i++) {
            smk_coverage_function *function = &module->functions[i];
            atomic_store(&function->launches, 0);
            for (uint32_t k = 0; k < function->counter_count; k++) {
                atomic_store(&function->counter[k], 0);
            }
        }
    }
}
