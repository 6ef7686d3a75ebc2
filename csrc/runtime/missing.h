/* Functions of the driver that refuse every call. */
#ifndef SMK_RUNTIME_MISSING_H
#define SMK_RUNTIME_MISSING_H

#include <stdbool.h>

/* Is a function of the driver one that is not here? */
bool smk_missing_has(const char *name);

#endif
