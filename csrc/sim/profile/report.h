/* Counts by source line. */
#ifndef SMK_SIM_PROFILE_REPORT_H
#define SMK_SIM_PROFILE_REPORT_H

#include "sim/profile/count.h"

/* The counts of the instructions of one source line. An inlined instruction belongs to its own line, not to that of
 * the call. */
typedef struct smk_report_line {
    smk_text file; /* as in the PTX; length 0 with line 0: instructions without a source line */
    uint32_t line;
    uint64_t value[SMK_COUNTER_COUNT];
} smk_report_line;

/* Executed lines, by file (in the module's order) and line; instructions without a line come last. `*lines` is freed
 * with smk_heap_free. Errors: MEMORY. */
smk_status smk_report_lines(const smk_module *module, const smk_count_result *result, smk_report_line **lines,
                            uint32_t *count, smk_error *error);

#endif
