/* The issue of machine instructions in one partition of a multiprocessor: how long its warps take.
 *
 * A partition issues one instruction a clock. A warp may issue its next instruction when the stall of its last one is
 * over and the scoreboards of its wait mask have fallen, when the pipe of the instruction is free, and at a barrier
 * when the other warps of its block have come. Of several warps that may issue, one of the oldest block does. The
 * instructions of the load/store unit enter a queue. smemkit/predict/latency.py makes the steps, and says what the
 * model leaves out. */
#ifndef SMK_SIM_ISSUE_PARTITION_H
#define SMK_SIM_ISSUE_PARTITION_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SMK_PARTITION_WARPS_MAX = 1 << 16,
    SMK_PARTITION_STEPS_MAX = 1 << 28,
    SMK_PARTITION_SCOREBOARDS = 6, /* a barrier of this number or above is none */
    /* Kinds with a meaning of their own; the caller numbers all others from SMK_PARTITION_OTHER on. */
    SMK_PARTITION_BARRIER = 0, /* the wait at a barrier counts as that for this kind */
    SMK_PARTITION_ASYNC = 1,   /* copies that groups close, and the wait for a group */
    SMK_PARTITION_OTHER = 2,
    /* Causes of clocks without an issue: three for each kind, and three more behind them all. */
    SMK_PARTITION_ON_RESULT = 0, /* 3 * kind + this: a scoreboard that a result lowers */
    SMK_PARTITION_ON_READ = 1,   /* one that falls when the operands have been read */
    SMK_PARTITION_ON_PIPE = 2,   /* the pipe was busy */
    SMK_PARTITION_CAUSES = 3,
    SMK_PARTITION_ON_START = 0, /* 3 * kinds + this: before a warp's first instruction */
    SMK_PARTITION_ON_STALL = 1, /* a fixed latency */
    SMK_PARTITION_ON_REGISTERS = 2,
    SMK_PARTITION_MORE_CAUSES = 3,
};

typedef enum smk_partition_group {
    SMK_PARTITION_NO_GROUP,
    SMK_PARTITION_CLOSES, /* ends a group of asynchronous copies */
    SMK_PARTITION_WAITS,  /* until at most `left` groups are open */
    SMK_PARTITION_GROUPS,
} smk_partition_group;

/* A machine instruction, as the partition treats it. Times are in clocks. */
typedef struct smk_partition_step {
    uint32_t kind;
    bool queued;    /* enters the queue of the load/store unit; others have a pipe for each kind */
    double service; /* for which it occupies its pipe */
    double latency; /* from the start of its service until its result is there */
    double stall;
    uint8_t write_barrier, read_barrier;
    uint8_t wait_mask;
    bool is_barrier; /* waits for the other warps of the block */
    smk_partition_group group;
    uint32_t left;
    double even, odd; /* registers that it reads from the two banks */
    double share;     /* of the warps that have lanes under its guard; for the others it does nothing */
    double idle;      /* service for these others, of a queued one; 0: it does not enter the queue */
    double more;      /* that a miss takes beyond the latency */
    double misses;    /* share of executions */
} smk_partition_step;

/* The blocks of machine code that a warp executes, one after the other. */
typedef struct smk_partition_path {
    double phase; /* 0 to 1: the warps of lower phase have the lanes under a guard */
    const uint32_t *blocks;
    size_t count;
} smk_partition_path;

/* What a partition runs. */
typedef struct smk_partition_work {
    const smk_partition_step *steps;
    const uint32_t *first; /* the first step of each block, and the end of the last one */
    uint32_t blocks;
    uint32_t kinds;
    const smk_partition_path *paths; /* warps take them in turn */
    uint32_t path_count;
    uint32_t slots;    /* blocks of threads that are resident at once */
    uint32_t block;    /* warps of such a block that the partition has */
    uint32_t rounds;   /* so often each slot has a block */
    double queue;      /* instructions that wait for the load/store unit */
    double partitions; /* that share it */
    double window;     /* clocks that an instruction has to read its registers */
    double branch;     /* that a branch that is taken holds its warp beyond its stall */
    double read;       /* from service until operands may change */
    double barrier;    /* from the last arrival to the first instruction behind a barrier */
    double start;      /* from the end of a block to the first instruction of that which takes its slot */
    double warp_start; /* from the start of a warp of a block to that of the next one */
    double arrival;    /* from one warp of a block that a barrier takes to the next one */
} smk_partition_work;

typedef struct smk_partition_times {
    double clocks, issued;
    double *lost; /* clocks without an issue, by cause: 3 * kinds + 3 of them, which the caller gives */
} smk_partition_times;

/* Fails with SMK_ARGUMENT for work whose numbers do not fit together, and with SMK_MEMORY. */
smk_status smk_partition_run(const smk_partition_work *work, smk_partition_times *times, smk_error *error);

#endif
