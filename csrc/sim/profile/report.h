/* Counts by source line: the only place of the simulator that knows lines. */
#ifndef SMK_SIM_PROFILE_REPORT_H
#define SMK_SIM_PROFILE_REPORT_H

#include "sim/profile/count.h"

/* What the instructions of one source line have counted. An instruction belongs to the line that it carries itself,
 * also where it was inlined into another function. */
typedef struct smk_report_line {
    smk_text file; /* as the PTX has it; length 0 with line 0: instructions without a source line */
    uint32_t line;
    uint64_t value[SMK_COUNTER_COUNT];
} smk_report_line;

/* Lines that were executed, by file (in the module's order) and line; what has no line comes last. `*lines` is freed
 * with smk_heap_free. Errors: MEMORY. */
smk_status smk_report_lines(const smk_module *module, const smk_count_result *result, smk_report_line **lines,
                            uint32_t *count, smk_error *error);

#endif
