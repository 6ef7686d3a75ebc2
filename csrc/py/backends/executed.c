#include "py/backends/executed.h"

#include "base/heap.h"
#include "base/mutation.h"

#include <stdio.h>

enum { LINE_BYTES = 16, NAME_BYTES = 4096 };

static smk_status note_function(const smk_module *module, uint32_t entry, smk_error *error)
{
    char text[NAME_BYTES];
    const smk_text *name = &module->functions[entry].name;
    (void)snprintf(text, sizeof text, "function %.*s\n", (int)name->length, name->start);
    return smk_mutation_note(module->text.start, module->text.length, text, error);
}

smk_status smk_executed_note(const smk_module *module, uint32_t entry, const smk_count_result *counted,
                             smk_error *error)
{
    if (counted == NULL || counted->line_count == 0) {
        return note_function(module, entry, error);
    }
    const size_t bytes = (size_t)counted->line_count * LINE_BYTES + 1;
    char *text = smk_heap_allocate(bytes, 1);
    if (text == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to note what a launch executes");
    }
    size_t used = 0;
    for (uint32_t i = 0; i < counted->line_count; i++) {
        const smk_count_line *line = &counted->line[i];
        const smk_function *function = &module->functions[line->function];
        used += (size_t)snprintf(text + used, bytes - used, "%u\n", function->instructions[line->instruction].line);
    }
    smk_status status = smk_mutation_note(module->text.start, module->text.length, text, error);
    smk_heap_free(text);
    return status;
}

smk_status smk_executed_run(smk_program *program, const smk_module *module, uint32_t entry, const smk_launch *launch,
                            const smk_run_options *options, smk_run_result *result, smk_error *error)
{
    const smk_count_options wanted = {0};
    smk_count_result counted = {0};
    smk_status status = smk_count_run(program, entry, launch, options, &wanted, &counted, error);
    *result = counted.run;
    smk_error unwritten = {0};
    smk_status noted = smk_executed_note(module, entry, status == SMK_OK ? &counted : NULL, &unwritten);
    smk_count_free(&counted);
    if (status == SMK_OK && noted != SMK_OK) {
        *error = unwritten;
        status = noted;
    }
    return status;
}
