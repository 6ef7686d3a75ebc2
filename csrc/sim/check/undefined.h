/* Values that nobody has defined, on their way to where they matter.
 *
 * A shuffle that reads from a lane outside of its mask, or from one that has exited, gives anything; so does a read of
 * local memory that was never written. That alone is no fault: programs take such values and do not use them (the last
 * lanes of a scan). So they are followed, a bit a lane, through the registers that they can reach and through local
 * memory, as definedness is in a memory checker: what is made of them is undefined too, but for selections, logic and
 * products that the other operand decides. A fault is where one is stored, is an address, or decides a branch.
 */
#ifndef SMK_SIM_CHECK_UNDEFINED_H
#define SMK_SIM_CHECK_UNDEFINED_H

#include "sim/check/finding.h"
#include "sim/code/image.h"
#include "sim/code/observer.h"

enum { SMK_UNDEFINED_WARPS = 32, SMK_UNDEFINED_DEPTH = 8, SMK_UNDEFINED_LOCAL_MAX = 64 << 10 };

/* Of a launch: which registers can hold such values. */
typedef struct smk_undefined_plan {
    const smk_module *module;
    const smk_image *image;
    bool active;        /* anything is followed */
    bool local;         /* there is local memory that is followed */
    uint8_t **reached;  /* by function, then by register; NULL: nothing is followed there */
    uint8_t *seen;      /* by function: it was looked at */
    uint32_t registers; /* the most of a function */
} smk_undefined_plan;

/* Where an undefined value comes from. */
typedef struct smk_undefined_source {
    uint32_t instruction_id;
    uint32_t lane;    /* that took it */
    uint32_t from;    /* of a shuffle: the lane that it names */
    uint32_t mask;    /* of a shuffle: who takes part */
    uint64_t address; /* of a load */
} smk_undefined_source;

typedef struct smk_undefined_value {
    uint32_t lanes;
    bool partial; /* some bits are defined: stored in local memory, the whole counts as defined (bit fields) */
    smk_undefined_source source;
} smk_undefined_value;

/* Of a block that runs. */
typedef struct smk_undefined {
    const smk_undefined_plan *plan;
    smk_undefined_value *value[SMK_UNDEFINED_WARPS][SMK_UNDEFINED_DEPTH]; /* by register of a frame */
    uint32_t *defined[SMK_UNDEFINED_WARPS];                               /* by byte of the entry's frame: lanes */
    bool failed;
} smk_undefined;

struct smk_lowering;
struct smk_race;

/* Functions are looked at when they are lowered; `image` is set behind that. Errors: MEMORY. */
smk_status smk_undefined_plan_create(smk_undefined_plan *plan, const smk_module *module, smk_error *error);
void smk_undefined_plan_free(smk_undefined_plan *plan);

/* Puts an operation before the present instruction where it reads or writes what is followed. */
bool smk_undefined_emit(smk_undefined_plan *plan, struct smk_lowering *lowering);

void smk_undefined_begin(smk_undefined *undefined);
void smk_undefined_free(smk_undefined *undefined);

/* Before a followed instruction takes effect. */
void smk_undefined_pass(struct smk_race *race, const smk_warp *warp, const smk_operation *op);

/* Before an access takes effect, its addresses good. */
void smk_undefined_access(struct smk_race *race, const smk_warp *warp, const smk_access_event *event, smk_space space,
                          const uint64_t *address, uint32_t mask);

#endif
