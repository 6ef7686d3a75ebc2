/* The report of a run: what checks found and what profiles counted, a JSON object a line, which `smemkit run` reads. */
#ifndef SMK_RUNTIME_WATCH_H
#define SMK_RUNTIME_WATCH_H

#include "runtime/abi.h"
#include "sim/check/check.h"
#include "sim/profile/count.h"

/* Counts a launch that ran unchecked. */
void smk_watch_add_launch(void);

/* Adds the findings of a launch. */
void smk_watch_add_check(const smk_module *module, const char *kernel, const smk_launch *launch,
                         const smk_check_result *result);

/* Adds the counts of a launch to those of its kernel. */
void smk_watch_add_counts(const char *kernel, const smk_count_result *result);

/* Notes a function of the runtime that is not there. */
void smk_watch_add_missing(const char *function);

/* Notes a library whose CUDA runtime cannot be replaced, because it has no symbols. */
void smk_watch_add_stripped(const char *path);

#endif
