/* What the simulator does not execute, in the words of CUDA C: unsupported.def. */
#ifndef SMK_PTX_FEATURE_H
#define SMK_PTX_FEATURE_H

#include "base/text.h"

typedef enum smk_feature {
#define SMK_PTX_FEATURE(id, name, source, advice) SMK_FEATURE_##id,
#include "ptx/unsupported.def"
    SMK_FEATURE_COUNT
} smk_feature;

/* "the simulator does not execute nvcuda::wmma of mma.h; write ...": fits behind "'wmma' is not supported: ". */
const char *smk_feature_reason(smk_feature feature);

/* The feature of that id, "WMMA"; SMK_FEATURE_COUNT where there is none. */
smk_feature smk_feature_find(const char *id);

/* The feature that a function of CUDA's device runtime belongs to; SMK_FEATURE_COUNT where it belongs to none. */
smk_feature smk_feature_of_function(smk_text name);

#endif
