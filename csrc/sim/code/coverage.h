/* Coverage: how often the code of modules was executed, in all launches of the process while it is on.
 *
 * A point is a straight-line run of instructions, or a decision: an instruction with a guard, or brx.idx. Images that
 * are made while coverage is on count points in memory of their own (smk_image.counter_count), which is added to the
 * module's totals when a block is freed. What is known of a module outlives its program. */
#ifndef SMK_SIM_CODE_COVERAGE_H
#define SMK_SIM_CODE_COVERAGE_H

#include "base/arena.h"
#include "base/status.h"
#include "ptx/module.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counters of a run: executions by warps, and their lanes. Of a decision: executions with all of the active lanes, with
 * some of them, and the lanes that are taken; a brx.idx then has, for each target, executions and lanes. */
enum { SMK_COVERAGE_RUN_COUNTERS = 2, SMK_COVERAGE_DECISION_COUNTERS = 3, SMK_COVERAGE_TARGET_COUNTERS = 2 };

typedef enum smk_coverage_kind {
    SMK_COVERAGE_RUN,
    SMK_COVERAGE_BRANCH, /* bra with a guard; `target` is where taken lanes go on */
    SMK_COVERAGE_GUARD,  /* any other instruction with a guard */
    SMK_COVERAGE_TABLE   /* brx.idx; `targets` */
} smk_coverage_kind;

typedef struct smk_coverage_point {
    smk_coverage_kind kind;
    uint32_t instruction;
    uint32_t counter; /* index of its first counter among those of its function */
    uint32_t target;  /* instruction; the function's number of instructions is its end */
    uint32_t *targets;
    uint32_t target_count;
} smk_coverage_point;

typedef struct smk_coverage_function {
    smk_text name;
    bool is_entry;
    uint32_t instruction_count;
    uint32_t *location;        /* by instruction: index + 1 into the module's locations; 0: not known */
    smk_coverage_point *point; /* in the order of instructions, a run before the decision that begins it */
    uint32_t point_count;
    uint32_t counter_count;
    _Atomic uint64_t *counter; /* totals */
    _Atomic uint64_t launches; /* of an entry */
} smk_coverage_function;

typedef struct smk_coverage_module {
    smk_arena arena;
    uint64_t hash; /* of the PTX text */
    size_t length;
    const char *source; /* the CUDA C that the PTX was made of; NULL where it is not known */
    const char *folder; /* of files with relative names; NULL where that is the process's */
    smk_text *files;
    uint32_t file_count;
    smk_source_location *locations;
    uint32_t location_count;
    smk_coverage_function *functions;
    uint32_t function_count;
    struct smk_coverage_module *next;
} smk_coverage_module;

/* Coverage is on between as many starts as stops; it may be on several times at once. */
void smk_coverage_start(void);
void smk_coverage_stop(void);
bool smk_coverage_is_on(void);

/* What is known of a module, made when its text is first seen. Both texts are copied; each may be NULL. It lives as
 * long as the process. Errors: MEMORY. */
smk_status smk_coverage_find(const smk_module *module, const char *source, const char *folder,
                             smk_coverage_module **found, smk_error *error);

/* The number of counters of a point. */
uint32_t smk_coverage_counters(const smk_coverage_point *point);

/* Sets all totals to 0. A fork does it in the child, which counts its own launches only. */
void smk_coverage_clear(void);

/* All modules with their totals, as JSON text that smemkit/cover reads (coverage_text.c). *text is freed with
 * smk_heap_free. Errors: MEMORY. */
smk_status smk_coverage_text_write(char **text, size_t *length, smk_error *error);

/* The modules, the latest first. */
const smk_coverage_module *smk_coverage_modules(void);

#endif
