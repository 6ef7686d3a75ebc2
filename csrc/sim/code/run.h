/* Runs of a program: limits of the machine, options, results. */
#ifndef SMK_SIM_CODE_RUN_H
#define SMK_SIM_CODE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits of the simulated machine: those of compute capability 9.0. */
enum {
    SMK_SIM_BLOCK_THREADS_MAX = 1024,
    SMK_SIM_SHARED_STATIC_MAX = 48 * 1024,     /* what a kernel may declare without opting in */
    SMK_SIM_SHARED_BYTES_MAX = 227 * 1024,     /* static and dynamic together */
    SMK_SIM_COOPERATIVE_BLOCKS_MAX = 32 * 1024 /* more than any GPU holds at once */
};

/* A module that is ready to run: its module-scope variables are allocated in `memory`, and each entry is lowered when
 * it is first queried or run. Otherwise immutable, so any number of threads may run it. The module and the memory must
 * outlive the program. */
typedef struct smk_program smk_program;

/* The value of a constant variable for one launch. Launches that run at the same time see the variable's own value, or
 * values of their own. */
typedef struct smk_run_constant {
    uint64_t address;  /* of the variable; 0: none */
    const void *bytes; /* its first `count` bytes */
    uint64_t count;
} smk_run_constant;

/* How far a launch is. The thread of the caller writes it, before each of its polls (base/poll.h). */
typedef struct smk_run_progress {
    const char *kernel; /* the name of the entry, kernel_bytes long; valid while blocks is not 0 */
    size_t kernel_bytes;
    uint64_t launch;              /* counts the launches that wrote here */
    uint64_t blocks_done, blocks; /* blocks: 0 between launches */
    uint64_t steps;               /* warp instructions executed */
} smk_run_progress;

typedef struct smk_run_options {
    uint64_t max_steps; /* warp instructions of the whole launch; 0: SMK_RUN_STEPS_DEFAULT */
    unsigned threads;   /* of the host; 0: one a core. Only results of data races depend on it. */
    bool reverse;       /* blocks, and the warps of a block, begin with the last */
    bool lockstep;      /* no independent thread scheduling (sim/exec/independent.h) */
    bool alone;         /* no other launch or host thread changes global memory, so that an endless wait for a word
                         * there is detected */
    smk_run_constant constant;
    /* Receives what the kernel prints (vprintf), one formatted text a call, never two calls at once; NULL discards it. */
    void (*print)(void *context, const char *text, size_t length);
    void *print_context;
    smk_run_progress *progress; /* NULL: not asked for */
    /* A worker pool that outlives the launch (base/workers.h), whose threads then need not be started; one launch may
     * use it at a time. NULL: the launch has its own. */
    struct smk_workers *workers;
} smk_run_options;

#define SMK_RUN_STEPS_DEFAULT UINT64_C(20000000000)

typedef struct smk_run_result {
    uint64_t steps; /* warp instructions executed */
    uint64_t blocks;
    unsigned threads; /* host threads that worked */
} smk_run_result;

#endif
