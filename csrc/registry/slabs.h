/* Calls as slabs (slabs.def). */
#ifndef SMK_REGISTRY_SLABS_H
#define SMK_REGISTRY_SLABS_H

#include "registry/registry.h"

enum { SMK_SLABS_MAX = 16 };

/* A range of the cut dimension: what is computed, and which part of that is kept. */
typedef struct smk_slab {
    int64_t first, count;           /* computed; as much of the inputs is read */
    int64_t kept_first, kept_count; /* of the result */
} smk_slab;

typedef struct smk_slabs {
    size_t dimension; /* index in the signature */
    size_t count;     /* 0: the call is not cut */
    smk_slab slab[SMK_SLABS_MAX];
} smk_slabs;

/* Cuts a call into slabs of about `slab_bytes` of its cut operands each. `item_bytes` has the bytes of an element of
 * each operand, inputs first; `numbers` are the attributes that are numbers, in the order of their table. A slab begins
 * at a multiple of 256, so that its memory is aligned as a whole array is, and tiles lie as in the whole. */
void smk_slabs_cut(const smk_family *family, const smk_variant *variant, const smk_signature *signature,
                   const int64_t *dimensions, const int64_t *numbers, const size_t *item_bytes, uint64_t slab_bytes,
                   smk_slabs *slabs);

/* The position of the cut dimension among an operand's axes; -1 where it has none such. */
int smk_slabs_axis(const smk_slabs *slabs, const smk_signature *signature, size_t operand);

#endif
