/* Functions of the runtime and of the driver that are not here: each says so by cudaErrorNotSupported, and the report
 * lists it. A program that is linked to one of them starts all the same. */
#include "runtime/missing.h"

#include "runtime/outcome.h"
#include "runtime/watch.h"

#include <string.h>

static smk_cuda refuse(const char *name)
{
    smk_watch_add_missing(name);
    return SMK_CUDA_ErrorNotSupported;
}

#define SMK_RUNTIME_MISSING(name)                                                                                      \
    SMK_EXPORT smk_cuda name(void);                                                                                    \
    SMK_EXPORT smk_cuda name(void)                                                                                     \
    {                                                                                                                  \
        return smk_outcome_return(refuse(#name));                                                                      \
    }
#include "runtime/missing.def"
#undef SMK_RUNTIME_MISSING

#define SMK_DRIVER_MISSING(name)                                                                                       \
    SMK_EXPORT smk_cuda name(void);                                                                                    \
    SMK_EXPORT smk_cuda name(void)                                                                                     \
    {                                                                                                                  \
        return refuse(#name);                                                                                          \
    }
#include "runtime/driver_missing.def"
#undef SMK_DRIVER_MISSING

static const char *const of_driver[] = {
#define SMK_DRIVER_MISSING(name) #name,
#include "runtime/driver_missing.def"
#undef SMK_DRIVER_MISSING
};

bool smk_missing_has(const char *name)
{
    for (size_t i = 0; i < sizeof of_driver / sizeof *of_driver; i++) {
        if (strcmp(of_driver[i], name) == 0) {
            return true;
        }
    }
    return false;
}
