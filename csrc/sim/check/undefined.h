/* Tracks undefined values to the instructions that depend on them, as Memcheck does (Seward and Nethercote, "Using
 * Valgrind to Detect Undefined Value Errors with Bit-Precision", 2005), with one bit a lane for each register.
 *
 * A shuffle from a lane outside its mask, or from a lane that has exited, returns an undefined value; so does a load
 * of local memory that was never written, and a load of shared memory that no thread has written where the compiler may
 * have moved it in front of the condition that guards it. Such a value alone is no fault: the last lanes of a scan
 * receive some and do not use them. A result is undefined where an operand is, except where the other operand of a selection, a logical
 * operation or a product decides the result. A finding is a store of an undefined value, or its use as an address or
 * as the condition of a branch.
 */
#ifndef SMK_SIM_CHECK_UNDEFINED_H
#define SMK_SIM_CHECK_UNDEFINED_H

#include "sim/check/finding.h"
#include "sim/code/image.h"
#include "sim/code/observer.h"

enum { SMK_UNDEFINED_WARPS = 32, SMK_UNDEFINED_DEPTH = 8, SMK_UNDEFINED_LOCAL_MAX = 64 << 10 };

/* Of a launch: the registers that can hold undefined values. */
typedef struct smk_undefined_plan {
    const smk_module *module;
    const smk_image *image;
    bool active;       /* some register or local variable is tracked */
    bool local;        /* local memory is tracked */
    uint8_t **reached; /* by function, then by register; NULL: nothing is tracked there */
    uint8_t **early;   /* by function, then by instruction: it is a load that may stand in front of its condition; NULL:
                         * there is none */
    uint8_t *seen;     /* by function: it has been analysed */
    uint32_t registers; /* the largest number of registers of a function */
} smk_undefined_plan;

/* Where an undefined value comes from. */
typedef struct smk_undefined_source {
    uint32_t instruction_id;
    uint32_t lane;    /* that received it */
    uint32_t from;    /* of a shuffle: its source lane */
    uint32_t mask;    /* of a shuffle: its membermask */
    uint64_t address; /* of a load */
    bool shared;      /* of a load of shared memory */
} smk_undefined_source;

typedef struct smk_undefined_value {
    uint32_t lanes;
    bool partial; /* some bits are defined: a store to local memory defines the whole (bit fields) */
    smk_undefined_source source;
} smk_undefined_value;

/* The state of a running block. */
typedef struct smk_undefined {
    const smk_undefined_plan *plan;
    smk_undefined_value *value[SMK_UNDEFINED_WARPS][SMK_UNDEFINED_DEPTH]; /* by register of a frame */
    uint32_t *defined[SMK_UNDEFINED_WARPS];                               /* by byte of the entry's local frame: lanes
                                                                           * in which it is defined */
    bool failed;
} smk_undefined;

struct smk_lowering;
struct smk_race;

/* A function is analysed when it is lowered; `image` is set after that. Errors: MEMORY. */
smk_status smk_undefined_plan_create(smk_undefined_plan *plan, const smk_module *module, smk_error *error);
void smk_undefined_plan_free(smk_undefined_plan *plan);

/* Emits an operation before the present instruction where that reads or writes a tracked register. */
bool smk_undefined_emit(smk_undefined_plan *plan, struct smk_lowering *lowering);

void smk_undefined_begin(smk_undefined *undefined);
void smk_undefined_free(smk_undefined *undefined);

/* Called before a tracked instruction executes. */
void smk_undefined_pass(struct smk_race *race, const smk_warp *warp, const smk_operation *op);

/* A load of shared memory, of a lane at `start`, is about to read a byte that no thread has written. True where what it gets
 * is followed to its use; false where the load itself is the fault. */
bool smk_undefined_defer(struct smk_race *race, const smk_warp *warp, const smk_access_event *event, unsigned lane,
                         uint64_t start, uint64_t unwritten);

/* Called before an access with valid addresses executes. */
void smk_undefined_access(struct smk_race *race, const smk_warp *warp, const smk_access_event *event, smk_space space,
                          const uint64_t *address, uint32_t mask);

#endif
