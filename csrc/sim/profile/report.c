#include "sim/profile/report.h"

#include "base/heap.h"

#include <stdlib.h>

/* The source line of an instruction. */
typedef struct location {
    uint32_t file; /* SMK_NO_INDEX where there is no line */
    uint32_t line;
    uint32_t index; /* of the count line */
} location;

/* The first of the numbers under which a file is listed. */
static uint32_t find_file(const smk_module *module, uint32_t file)
{
    uint32_t first = 0;
    while (first < file && !smk_text_equal(module->files[first], module->files[file])) {
        first++;
    }
    return first;
}

static int compare(const void *a, const void *b)
{
    const location *x = a, *y = b;
    if (x->file != y->file) {
        return x->file < y->file ? -1 : 1;
    }
    if (x->line != y->line) {
        return x->line < y->line ? -1 : 1;
    }
    return 0; /* counts of one line are added, in any order */
}

static void find_locations(const smk_module *module, const smk_count_result *result, location *locations)
{
    for (uint32_t i = 0; i < result->line_count; i++) {
        const smk_count_line *line = &result->line[i];
        const smk_instruction *instruction = &module->functions[line->function].instructions[line->instruction];
        bool known = instruction->source_file < module->file_count && instruction->source_line != 0;
        locations[i] = (location){known ? find_file(module, instruction->source_file) : SMK_NO_INDEX,
                                  known ? instruction->source_line : 0, i};
    }
}

smk_status smk_report_lines(const smk_module *module, const smk_count_result *result, smk_report_line **lines,
                            uint32_t *count, smk_error *error)
{
    const uint32_t location_count = result->line_count;
    location *locations = smk_heap_allocate((size_t)location_count + 1, sizeof *locations);
    smk_report_line *made = smk_heap_allocate((size_t)location_count + 1, sizeof *made);
    uint32_t found = 0;
    if (locations == NULL || made == NULL) {
        smk_heap_free(locations);
        smk_heap_free(made);
        return smk_status_fail(error, SMK_MEMORY, "no memory left for a report by source line");
    }
    find_locations(module, result, locations);
    qsort(locations, location_count, sizeof *locations, compare);
    for (uint32_t i = 0; i < location_count; i++) {
        const location *at = &locations[i];
        if (i == 0 || at->file != at[-1].file || at->line != at[-1].line) {
            made[found].line = at->line;
            if (at->file != SMK_NO_INDEX) {
                made[found].file = module->files[at->file];
            }
            found++;
        }
        for (unsigned k = 0; k < SMK_COUNTER_COUNT; k++) {
            made[found - 1].value[k] += result->line[at->index].value[k];
        }
    }
    smk_heap_free(locations);
    *lines = made;
    *count = found;
    return SMK_OK;
}
