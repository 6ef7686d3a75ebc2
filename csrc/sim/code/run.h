/* What is asked of a run and what it tells: options, limits of the machine, results. */
#ifndef SMK_SIM_CODE_RUN_H
#define SMK_SIM_CODE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The limits of the machine that is simulated: those of compute capability 9.0. */
enum {
    SMK_SIM_BLOCK_THREADS_MAX = 1024,
    SMK_SIM_SHARED_STATIC_MAX = 48 * 1024, /* what a kernel may declare without opting in */
    SMK_SIM_SHARED_BYTES_MAX = 227 * 1024  /* static and dynamic together */
};

/* A module made ready to run: its module-scope variables allocated in `memory`, and the code of its entries, each lowered
 * when it is first asked for or run. Immutable but for that; any number of threads may run it. Keeps a pointer to the module and to
 * the memory, which must outlive it. */
typedef struct smk_program smk_program;

/* What a constant variable holds for one launch; others that run at once see what the variable itself holds, or
 * constants of their own. */
typedef struct smk_run_constant {
    uint64_t address;  /* of the variable; 0: none */
    const void *bytes; /* its first `count` bytes */
    uint64_t count;
} smk_run_constant;

typedef struct smk_run_options {
    uint64_t max_steps; /* warp instructions of the whole launch; 0: SMK_RUN_STEPS_DEFAULT */
    unsigned threads;   /* of the host; 0: one a core. Results do not depend on it, but for those of data races. */
    bool reverse;       /* blocks, and the warps of a block, begin with the last */
    bool alone;         /* nobody else changes global memory meanwhile: a wait for a word there can be seen to be one for ever */
    smk_run_constant constant;
    /* Called by the thread that called smk_program_run, about every 20 ms; true ends the run with
     * INTERRUPTED. May be NULL. */
    bool (*poll)(void *context);
    void *poll_context;
    /* What the kernel prints (vprintf), whole formatted pieces, one call at a time; NULL discards. */
    void (*print)(void *context, const char *text, size_t length);
    void *print_context;
} smk_run_options;

#define SMK_RUN_STEPS_DEFAULT UINT64_C(20000000000)

typedef struct smk_run_result {
    uint64_t steps;   /* warp instructions executed */
    uint64_t blocks;
    unsigned threads; /* host threads that worked */
} smk_run_result;

#endif
