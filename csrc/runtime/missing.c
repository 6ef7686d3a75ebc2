/* Functions of the runtime that are not here: each says so by cudaErrorNotSupported, and the report lists it. */
#include "runtime/outcome.h"
#include "runtime/watch.h"

static smk_cuda refuse(const char *name)
{
    smk_watch_add_missing(name);
    return smk_outcome_return(SMK_CUDA_ErrorNotSupported);
}

#define SMK_RUNTIME_MISSING(name)                                                                                      \
    SMK_EXPORT smk_cuda name(void);                                                                                    \
    SMK_EXPORT smk_cuda name(void)                                                                                     \
    {                                                                                                                  \
        return refuse(#name);                                                                                          \
    }
#include "runtime/missing.def"
#undef SMK_RUNTIME_MISSING
