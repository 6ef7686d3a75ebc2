/* Updates of global memory by several blocks whose order shows: additions and maxima of one word, say, though each kind
 * alone may come in any order. Where two kinds may meet in one allocation the blocks run in order.
 *
 * Which allocation an update goes to is followed from its address back to the parameters and variables that it may be
 * made of (a set for each register, over the whole function, whatever the order of instructions), and is known when
 * those have values. An address that leaves its allocation for another is none that a kernel may form. */
#ifndef SMK_SIM_LOWER_COMMUTE_H
#define SMK_SIM_LOWER_COMMUTE_H

#include "base/launch.h"
#include "base/status.h"
#include "sim/code/image.h"
#include "sim/code/memory_view.h"

/* Where an address may come from: 8 bytes of a parameter of the entry, or a variable of the module. */
typedef struct smk_commute_root {
    bool is_variable;
    uint32_t index;  /* of the parameter or variable */
    uint64_t offset; /* in the parameter */
} smk_commute_root;

/* Updates of one kind that come from the same roots. */
typedef struct smk_commute_update {
    uint32_t kind;
    uint64_t roots; /* a bit each; SMK_COMMUTE_ANYWHERE among them: from elsewhere, too */
} smk_commute_update;

#define SMK_COMMUTE_ANYWHERE (UINT64_C(1) << 63)

/* Fills image->update and image->root, where updates of several kinds are among the code; lowering is done.
 * Errors: MEMORY. */
smk_status smk_commute_find(smk_image *image, smk_error *error);

/* Does this launch depend on the order of its blocks? (image->ordered: always) */
bool smk_commute_is_ordered(const smk_image *image, const smk_launch *launch, const smk_memory_view *view);

#endif
