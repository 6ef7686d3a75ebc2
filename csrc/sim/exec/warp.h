/* A running warp: lanes, divergence, call frames, and its state.
 *
 * Divergence is a SIMT stack with reconvergence at immediate post-dominators (Fung, Sham, Yuan and Aamodt, "Dynamic
 * Warp Formation and Scheduling for Efficient GPU Control Flow", 2007). An entry holds a program counter, a
 * reconvergence point and a mask of lanes. The top path runs until its reconvergence point; then the entry below it
 * runs. */
#ifndef SMK_SIM_EXEC_WARP_H
#define SMK_SIM_EXEC_WARP_H

#include "base/status.h"
#include "sim/code/image.h"
#include "sim/code/operation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum smk_warp_state {
    SMK_WARP_READY,   /* runs on at control->pc */
    SMK_WARP_BARRIER, /* waits at the barrier operation control->pc */
    SMK_WARP_DONE,
    SMK_WARP_FAILED /* the block's error says why */
} smk_warp_state;

enum {
    SMK_WARP_SLICE_STEPS = 16384,
    SMK_WARP_SIMT_STACK_MAX = 80, /* each split halves a set of lanes: 31 splits of two entries at most */
    SMK_WARP_FRAMES_MAX = 1024,
    SMK_WARP_STACK_BYTES_MAX = 8 << 20,   /* registers of all frames */
    SMK_WARP_LOCAL_BYTES_MAX = 512 << 10, /* local memory of a thread */
    SMK_WARP_CACHE_SIZE = 64,
    SMK_WARP_CACHE_CONST = 0 /* the entry that only loads with the constant space use */
};

/* An entry of the SIMT stack: lanes that wait for their turn. */
typedef struct smk_simt_entry {
    const smk_operation *pc;
    const smk_operation *reconvergence; /* where these lanes join those of the entry below; NULL: the function's end */
    uint32_t mask;
} smk_simt_entry;

/* A caller that waits for its callee. */
typedef struct smk_frame {
    const smk_operation *call;
    const smk_code *code;
    const smk_operation *reconvergence;
    uint32_t mask;
    uint32_t base; /* its lowest entry of the SIMT stack */
    uint32_t local_base;
    size_t registers_offset;
} smk_frame;

/* The function whose constants the rows of a call level hold. */
typedef struct smk_level {
    const smk_code *code;
    size_t offset;
} smk_level;

/* A cached allocation, of a recent memory operation. */
typedef struct smk_cached_allocation {
    uint64_t address;
    uint64_t bytes; /* 0: none */
    unsigned char *host;
} smk_cached_allocation;

/* A pending cp.async: its source is read, its target not written yet. */
typedef struct smk_pending_copy {
    uint64_t group; /* commit group of its lane */
    uint32_t address;
    uint8_t lane, bytes;
    bool covered; /* later copies write all of its words (used inside cp_async.c) */
    unsigned char data[16];
} smk_pending_copy;

typedef struct smk_warp_control {
    /* for memory handlers */
    unsigned char *shared;
    const unsigned char *parameters;
    unsigned char *local;                    /* word w of lane l at 4 * (32 * w + l) */
    smk_cached_allocation *allocation_cache; /* of the worker */
    uint64_t shared_bytes;
    uint64_t parameter_bytes;
    uint64_t local_top;      /* end of the present frame */
    uint32_t local_base;     /* its start */
    uint32_t local_capacity; /* bytes a lane */
    uint32_t local_used;     /* the most in use since the block started */

    /* the present state */
    smk_warp_state state;
    const smk_operation *pc;
    const smk_operation *reconvergence; /* of the running path */
    const smk_code *code;
    uint32_t live;  /* lanes that exist and have not exited */
    uint32_t since; /* first instruction that `steps` does not include yet */
    uint64_t steps;
    uint64_t slice_end; /* steps at which a path looks up */
    uint64_t turn_begin, turn_end;
    uint64_t wait_loop; /* in which the warp let time pass last (control.c); UINT64_MAX: in none */
    uint64_t wait_begin,
        wait_steps; /* the time at which that began, and the warp's steps when it read the clock last */

    /* independent thread scheduling (independent.h) */
    uint64_t watch_at;    /* steps at which the running path is watched next */
    uint64_t switched_at; /* steps at which it began to run */
    uint32_t watch_steps; /* between two times */
    uint32_t wait_count;  /* turns in which it was found spinning, one after the other */
    uint32_t aside_count; /* paths that have stepped aside */
    bool apart;           /* a path has stepped aside since the warp started */

    smk_simt_entry simt_stack[SMK_WARP_SIMT_STACK_MAX];
    uint32_t depth;
    uint32_t base; /* entries below it belong to callers */

    struct smk_parked *parked; /* parked paths (park.h); NULL before the first */
    uint32_t parked_count;
    struct smk_suspended_call *suspended; /* suspended calls */
    uint64_t park_count;                  /* number of changes of both */

    smk_frame *frame;
    uint32_t frame_count, frame_capacity;
    smk_level *level;
    uint32_t level_count;
    unsigned char *entry_registers;
    unsigned char *callee_frames; /* frames of callees */
    size_t callee_frames_capacity;
    size_t registers_offset; /* of the present frame in `callee_frames`; 0 in the entry */

    smk_pending_copy *pending;
    uint32_t pending_count, pending_capacity;
    uint64_t group[SMK_WARP_SIZE]; /* cp.async groups that a lane has committed */
    bool grouped;                  /* some have */

    uint32_t barrier; /* that it waits at */
    struct smk_block *block;
    uint32_t index;     /* in the block */
    uint32_t lanes;     /* that exist */
    uint64_t *counters; /* of coverage, of the block */
    bool entry_filled;  /* the entry's constants are in their rows */
} smk_warp_control;

/* Runs a READY warp until it cannot go on or its slice is spent. */
void smk_warp_run(smk_warp *warp);

/* Goes on at control->pc until control->slice_end, or until the warp cannot go on. */
void smk_warp_advance(smk_warp *warp);

/* Puts a warp at the start of its entry: registers, special registers, lanes. The block's fields are set. */
void smk_warp_start(smk_warp *warp, const smk_code *code);

/* Frees the memory of a warp (frames, local memory, pending copies, parked lanes). */
void smk_warp_free(smk_warp *warp);

/* Grows local memory to `bytes` a lane. */
smk_status smk_warp_reserve_local(smk_warp *warp, uint32_t bytes, smk_error *error);

/* Steps are counted by straight-line runs of instructions: ends a run with `op`, which counts, and begins one at
 * `next`. */
static inline void smk_warp_count(smk_warp_control *control, const smk_operation *op, const smk_operation *next)
{
    control->steps += op->instruction + 1 - control->since;
    control->since = next->instruction;
}

/* Ends a run before `op`, which does not count yet (or is no instruction of the program). */
static inline void smk_warp_count_before(smk_warp_control *control, const smk_operation *op)
{
    control->steps += op->instruction - control->since;
    control->since = op->instruction;
}

/* Ends a handler and the warp's turn: the warp goes on at `next` in its next turn. */
const smk_operation *smk_warp_yield(smk_warp *warp, const smk_operation *op, const smk_operation *next);

/* Splits the active lanes: `taken` go to `target`, the others to `other`; they reconverge at `reconvergence` (NULL:
 * the function's end). Neither set is empty. The caller counts steps. Returns where to go on. */
const smk_operation *smk_warp_diverge(smk_warp *warp, const smk_operation *op, uint32_t taken,
                                      const smk_operation *target, const smk_operation *other,
                                      const smk_operation *reconvergence);

/* Called when the running path has ended (its lanes wait or have exited): returns the next path, the caller, or NULL
 * where the warp is done. The caller counts the steps until here. */
const smk_operation *smk_warp_next(smk_warp *warp);

/* Enters `callee` with the lanes in `mask`. */
const smk_operation *smk_warp_call(smk_warp *warp, const smk_operation *op, const smk_code *callee, uint32_t mask);

/* Pushes a frame for a function that `call` enters with the lanes in `mask`, which reconverge at `reconvergence` in
 * the caller. Its rows and local memory are not filled. Errors: MEMORY. */
smk_status smk_warp_enter(smk_warp *warp, const smk_code *callee, const smk_operation *call,
                          const smk_operation *reconvergence, uint32_t mask, smk_error *error);

/* Returns to the caller, with the lanes that went on there and those that have returned. Returns where to go on. */
const smk_operation *smk_warp_leave(smk_warp *warp);

/* Read and write one lane's value, of at most 8 bytes, of a cell of the present frame. */
uint64_t smk_warp_read_cell(const smk_warp *warp, const smk_cell *cell, uint32_t lane);
void smk_warp_write_cell(smk_warp *warp, const smk_cell *cell, uint32_t lane, uint64_t value);

/* Fails the warp: fills the block's error with a message and the location (of the first lane of `lanes`). Returns
 * NULL. */
#if defined(__GNUC__)
__attribute__((cold, format(printf, 5, 6)))
#endif
const smk_operation *
smk_warp_fail(smk_warp *warp, const smk_operation *op, uint32_t lanes, smk_status status, const char *format, ...);

/* The location of an operation, as "PTX line 12 (file.cu:5)". */
void smk_warp_describe(const smk_warp *warp, const smk_operation *op, char *text, size_t size);

/* Where inactive lanes of `mask` wait: the pc of the first such entry, or a .sync operation, or NULL. */
const smk_operation *smk_warp_waiting(const smk_warp *warp, uint32_t mask);

#endif
