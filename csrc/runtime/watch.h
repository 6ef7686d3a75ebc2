/* The report of a run: what checks found and what profiles counted, a JSON object a line, which `smemkit run` reads. */
#ifndef SMK_RUNTIME_WATCH_H
#define SMK_RUNTIME_WATCH_H

#include "runtime/abi.h"
#include "sim/check/check.h"
#include "sim/profile/count.h"

/* Counts a launch that ran, to its end or until it failed. */
void smk_watch_add_launch(void);

/* The launches that ran so far. */
uint64_t smk_watch_count_launches(void);

/* Notes a launch that failed (it has run, and was counted) or was refused (it did not run), with the code that the
 * program gets, and why. `launch` is NULL where it is not known. */
void smk_watch_add_failure(const char *kernel, const smk_launch *launch, bool refused, smk_cuda code,
                           const smk_error *error);

/* Counts a launch that did not run because a kernel before it had failed. */
void smk_watch_add_skipped(void);

/* Adds the findings of a launch. */
void smk_watch_add_check(const smk_module *module, const char *kernel, const smk_launch *launch,
                         const smk_check_result *result);

/* Adds the counts of a launch to those of its kernel. */
void smk_watch_add_counts(const char *kernel, const smk_count_result *result);

/* Notes that the program does not begin, because the card is not known that it shall see. */
void smk_watch_add_refused_card(void);

/* Notes a function of the runtime that is not there. */
void smk_watch_add_missing(const char *function);

/* Notes a library whose CUDA runtime cannot be replaced, because it has no symbols. */
void smk_watch_add_stripped(const char *path);

#endif
