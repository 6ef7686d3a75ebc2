/* The items of a call's stack: dimensions in front of those of the signature, and where operands lie. */
#ifndef SMK_PY_CALLS_FAMILY_ITEMS_H
#define SMK_PY_CALLS_FAMILY_ITEMS_H

#include "py/calls/family_call.h"

/* So many dimensions of an operand of this rank lie in front of those of the signature. */
size_t smk_family_items_leading(const smk_family_call *call, size_t operand, size_t rank);

/* Broadcasts what lies in front, finds the shape of the result and the layout of the operands, and copies a device array
 * that no kernel takes as it lies. The dimensions of the signature are bound. Returns 0, or -1 with an exception set:
 * ShapeError where the operands do not fit each other, or out the result. */
int smk_family_items_bind(smk_family_call *call);

/* Can kernels read the inputs that take C order alone, from multiples of SMK_ARRAY_ALIGNMENT? */
bool smk_family_items_in_order(const smk_family_call *call);

/* Replaces the inputs that they cannot read by copies. Returns 0, or -1 with an exception set. */
int smk_family_items_pack(smk_family_call *call);

/* The same for a call over several devices; ArgumentError where it has a stack. */
int smk_family_items_divide(smk_family_call *call);

#endif
