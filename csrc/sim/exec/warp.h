/* A warp that runs: lanes, divergence, frames, and how it stops. */
#ifndef SMK_SIM_EXEC_WARP_H
#define SMK_SIM_EXEC_WARP_H

#include "base/status.h"
#include "sim/code/image.h"
#include "sim/code/operation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum smk_warp_state {
    SMK_WARP_READY,   /* goes on at control->pc */
    SMK_WARP_BARRIER, /* waits at the barrier operation control->pc */
    SMK_WARP_DONE,
    SMK_WARP_FAILED   /* the block's error says why */
} smk_warp_state;

enum {
    SMK_WARP_SLICE_STEPS = 16384,
    SMK_WARP_SIMT_STACK_MAX = 80, /* each split halves a set of lanes: 31 splits of two entries at most */
    SMK_WARP_FRAMES_MAX = 1024,
    SMK_WARP_STACK_BYTES_MAX = 8 << 20, /* registers of all frames */
    SMK_WARP_LOCAL_BYTES_MAX = 512 << 10, /* local memory of a thread */
    SMK_WARP_CACHE_SIZE = 64,
    SMK_WARP_CACHE_CONST = 0 /* the entry of loads that name constant memory; they alone remember it */
};

/* Lanes that wait for their turn. */
typedef struct smk_simt_entry {
    const smk_operation *pc;
    const smk_operation *reconvergence; /* where they join those below them; NULL: behind the function's end */
    uint32_t mask;
} smk_simt_entry;

/* A caller that waits for its callee. */
typedef struct smk_frame {
    const smk_operation *call;
    const smk_code *code;
    const smk_operation *reconvergence;
    uint32_t mask;
    uint32_t base;          /* its lowest path */
    uint32_t local_base;
    size_t registers_offset;
} smk_frame;

/* Which function's constants a place in the register stack holds. */
typedef struct smk_level {
    const smk_code *code;
    size_t offset;
} smk_level;

/* An allocation that a memory operation met lately. */
typedef struct smk_cached_allocation {
    uint64_t address;
    uint64_t bytes; /* 0: none */
    unsigned char *host;
} smk_cached_allocation;

/* A copy that cp.async has read and not yet written. */
typedef struct smk_pending_copy {
    uint64_t group; /* of its lane */
    uint32_t address;
    uint8_t lane, bytes;
    bool covered; /* by later ones (cp_async.c, in passing) */
    unsigned char data[16];
} smk_pending_copy;

typedef struct smk_warp_control {
    /* what memory handlers need */
    unsigned char *shared;
    const unsigned char *parameters;
    unsigned char *local;    /* word w of lane l at 4 * (32 * w + l) */
    smk_cached_allocation *allocation_cache;      /* of the worker */
    uint64_t shared_bytes;
    uint64_t parameter_bytes;
    uint64_t local_top;      /* end of the present frame */
    uint32_t local_base;     /* its start */
    uint32_t local_capacity; /* bytes a lane */
    uint32_t local_used;     /* the most that was in use since the block began */

    /* where it is */
    smk_warp_state state;
    const smk_operation *pc;
    const smk_operation *reconvergence; /* of the running path */
    const smk_code *code;
    uint32_t live;             /* lanes that exist and have not exited */
    uint32_t since;            /* first instruction that `steps` does not count yet */
    uint64_t steps;
    uint64_t slice_end;

    smk_simt_entry simt_stack[SMK_WARP_SIMT_STACK_MAX];
    uint32_t depth;
    uint32_t base;             /* paths below belong to callers */

    struct smk_parked *parked; /* lanes that wait at a .sync operation (park.h); NULL until the first do */
    uint32_t parked_count;
    struct smk_suspended_call *suspended; /* functions that were left while their lanes wait */
    uint64_t park_count;         /* how often that was */

    smk_frame *frame;
    uint32_t frame_count, frame_capacity;
    smk_level *level;
    uint32_t level_count;
    unsigned char *entry_registers;
    unsigned char *callee_frames;      /* frames of callees */
    size_t callee_frames_capacity;
    size_t registers_offset;   /* of the present frame in `stack`; 0 in the entry */

    smk_pending_copy *pending;
    uint32_t pending_count, pending_capacity;
    uint64_t group[SMK_WARP_SIZE];        /* cp.async groups that a lane has committed */

    uint32_t barrier;          /* that it waits at */
    struct smk_block *block;
    uint32_t index;            /* in the block */
    uint32_t lanes;            /* that exist */
    bool entry_filled;         /* the entry's constants are in their rows */
} smk_warp_control;

/* Runs a READY warp until it cannot go on or its slice is spent. */
void smk_warp_run(smk_warp *warp);

/* Puts a warp at the start of its entry: its registers, special registers, lanes. The block's fields are set. */
void smk_warp_start(smk_warp *warp, const smk_code *code);

/* Frees what a warp has grown (frames, stack, local memory, pending copies). */
void smk_warp_free(smk_warp *warp);

/* Grows local memory to `bytes` a lane. */
smk_status smk_warp_reserve_local(smk_warp *warp, uint32_t bytes, smk_error *error);

/* Steps are counted by straight runs of instructions: this ends one with `op`, which counts, and begins one at
 * `next`. */
static inline void smk_warp_count(smk_warp_control *control, const smk_operation *op, const smk_operation *next)
{
    control->steps += op->instruction + 1 - control->since;
    control->since = next->instruction;
}

/* Ends a straight run before `op`, which does not count yet (or is no instruction of the program). */
static inline void smk_warp_count_before(smk_warp_control *control, const smk_operation *op)
{
    control->steps += op->instruction - control->since;
    control->since = op->instruction;
}

/* Ends a handler: the warp goes on at `next` when its turn comes. */
const smk_operation *smk_warp_yield(smk_warp *warp, const smk_operation *op, const smk_operation *next);

/* Splits the active lanes: `taken` go to `target`, the others to `other`; they meet at `meet` (NULL: at the end).
 * Both sets have lanes. The caller counts. Returns where to go on. */
const smk_operation *smk_warp_diverge(smk_warp *warp, const smk_operation *op, uint32_t taken,
                                      const smk_operation *target, const smk_operation *other,
                                      const smk_operation *reconvergence);

/* The running path has ended (its lanes wait or are gone): the next path, the caller, or NULL where the
 * warp is done. The caller counts what was executed until here. */
const smk_operation *smk_warp_next(smk_warp *warp);

/* Enters `callee` with the lanes in `mask`. */
const smk_operation *smk_warp_call(smk_warp *warp, const smk_operation *op, const smk_code *callee, uint32_t mask);

/* The frame of a function that `call` enters with the lanes in `mask`, which meet at `meet` in the caller: room for its
 * rows and its local memory, nothing in them. Errors: MEMORY. */
smk_status smk_warp_enter(smk_warp *warp, const smk_code *callee, const smk_operation *call, const smk_operation *reconvergence,
                          uint32_t mask, smk_error *error);

/* Back to the caller, with the lanes that went on there and those that have returned. Returns where. */
const smk_operation *smk_warp_leave(smk_warp *warp);

/* One lane's value (of 8 bytes at most) of a place in the present frame. */
uint64_t smk_warp_read_cell(const smk_warp *warp, const smk_cell *cell, uint32_t lane);
void smk_warp_write_cell(smk_warp *warp, const smk_cell *cell, uint32_t lane, uint64_t value);

/* Fills the block's error with a message and where it happened (the first lane of `lanes`), stops the warp and
 * returns NULL. */
#if defined(__GNUC__)
__attribute__((cold, format(printf, 5, 6)))
#endif
const smk_operation *smk_warp_fail(smk_warp *warp, const smk_operation *op, uint32_t lanes, smk_status status,
                                   const char *format, ...);

/* "PTX line 12 (file.cu:5)" of an operation. */
void smk_warp_describe(const smk_warp *warp, const smk_operation *op, char *text, size_t size);

/* Where lanes of `mask` that are not active wait: the first such path, or a .sync operation, or NULL. */
const smk_operation *smk_warp_waiting(const smk_warp *warp, uint32_t mask);

#endif
