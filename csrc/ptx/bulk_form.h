/* What a cp.async.bulk, or cp.reduce.async.bulk, copies, and between which spaces. */
#ifndef SMK_PTX_BULK_FORM_H
#define SMK_PTX_BULK_FORM_H

#include "ptx/module.h"

static inline bool smk_bulk_form_is(const smk_instruction *instruction)
{
    return smk_module_has(instruction, SMK_MODIFIER_BULK);
}

/* A copy or a reduction; not a prefetch, a commit or a wait. */
static inline bool smk_bulk_form_copies(const smk_instruction *instruction)
{
    return smk_bulk_form_is(instruction) && (smk_module_has(instruction, SMK_MODIFIER_BULK_GROUP) ||
                                             smk_module_has(instruction, SMK_MODIFIER_COMPLETE_TX_BYTES));
}

/* A reduction in global memory. */
static inline bool smk_bulk_form_updates(const smk_instruction *instruction)
{
    return smk_module_has(instruction, SMK_MODIFIER_REDUCE) && smk_module_has(instruction, SMK_MODIFIER_BULK_GROUP);
}

static inline smk_space smk_bulk_form_target(const smk_instruction *copy)
{
    return smk_module_has(copy, SMK_MODIFIER_BULK_GROUP) ? SMK_SPACE_GLOBAL : SMK_SPACE_SHARED;
}

static inline smk_space smk_bulk_form_source(const smk_instruction *copy)
{
    return smk_module_has(copy, SMK_MODIFIER_GLOBAL) && !smk_module_has(copy, SMK_MODIFIER_BULK_GROUP)
               ? SMK_SPACE_GLOBAL
               : SMK_SPACE_SHARED;
}

#endif
