/* Which functions are not executed: refused ones, and those that call them by name. */
#include "ptx/module.h"

#include "base/heap.h"

#include <stdio.h>
#include <string.h>

/* A search over calls by name, breadth first. */
typedef struct search {
    const smk_module *module;
    uint32_t *found;  /* functions in the order in which they were found */
    uint32_t *caller; /* by function: who calls it, plus 1; 0: not found yet */
    uint32_t count;
} search;

static void reach(search *s, uint32_t function, uint32_t caller)
{
    if (s->caller[function] == 0) {
        s->caller[function] = caller + 1;
        s->found[s->count++] = function;
    }
}

static void reach_callees(search *s, uint32_t caller)
{
    const smk_function *function = &s->module->functions[caller];
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const smk_instruction *instruction = &function->instructions[i];
        if (instruction->opcode == SMK_OPCODE_CALL && instruction->operands[1].kind == SMK_OPERAND_FUNCTION) {
            reach(s, instruction->operands[1].index, caller);
        }
    }
}

/* "k calls f, which calls g: ", where the refused function g was found from k. */
static size_t write_chain(const search *s, uint32_t first, uint32_t refused, char *text, size_t size)
{
    uint32_t *chain = s->found; /* no longer needed */
    uint32_t count = 0;
    size_t length = 0;
    for (uint32_t at = refused; at != first; at = s->caller[at] - 1) {
        chain[count++] = at;
    }
    if (count == 0) {
        return 0;
    }
    const smk_function *functions = s->module->functions;
    int written = snprintf(text, size, "%.*s calls ", SMK_TEXT_PRINT(functions[first].name));
    while (count > 0 && written > 0 && (size_t)written < size - length) {
        length += (size_t)written;
        const smk_text name = functions[chain[--count]].name;
        written =
            snprintf(text + length, size - length, count == 0 ? "%.*s: " : "%.*s, which calls ", SMK_TEXT_PRINT(name));
    }
    length += written > 0 ? (size_t)written : 0;
    return length < size ? length : size - 1;
}

static smk_status refuse(const search *s, uint32_t first, uint32_t refused, smk_error *error)
{
    const smk_error *refusal = s->module->functions[refused].refusal;
    if (error != NULL) {
        *error = *refusal;
        size_t length = write_chain(s, first, refused, error->message, sizeof error->message / 2);
        size_t rest = strlen(refusal->message), room = sizeof error->message - length - 1;
        const smk_function *entry = &s->module->functions[first];
        if (entry->is_entry && error->kernel[0] == '\0') {
            size_t bytes = entry->name.length < sizeof error->kernel ? entry->name.length : sizeof error->kernel - 1;
            memcpy(error->kernel, entry->name.start, bytes);
        }
        memcpy(error->message + length, refusal->message, rest < room ? rest : room);
        error->message[length + (rest < room ? rest : room)] = '\0';
    }
    return refusal->status;
}

smk_status smk_refused_check(const smk_module *module, uint32_t function, smk_error *error)
{
    search s = {.module = module};
    smk_status status = SMK_OK;
    if (!module->refuses) {
        return SMK_OK;
    }
    s.found = smk_heap_allocate(module->function_count, sizeof *s.found);
    s.caller = smk_heap_allocate(module->function_count, sizeof *s.caller);
    if (s.found == NULL || s.caller == NULL) {
        status = smk_status_fail(error, SMK_MEMORY, "no memory left to find the calls of a kernel");
    } else {
        reach(&s, function, function);
    }
    for (uint32_t i = 0; i < s.count && status == SMK_OK; i++) {
        uint32_t next = s.found[i];
        if (module->functions[next].refusal != NULL) {
            status = refuse(&s, function, next, error);
        } else {
            reach_callees(&s, next);
        }
    }
    smk_heap_free(s.found);
    smk_heap_free(s.caller);
    return status;
}

smk_status smk_refused_check_all(const smk_module *module, smk_error *error)
{
    smk_error refusal = {0};
    smk_status status = smk_refused_check_any(module, &refusal);
    bool first = true;
    for (uint32_t i = 0; i < module->function_count && status != SMK_OK; i++) {
        const smk_function *function = &module->functions[i];
        if (!function->is_entry || !function->is_defined) {
            continue;
        }
        smk_status found = smk_refused_check(module, i, first ? &refusal : NULL);
        status = first || found == SMK_OK ? found : status;
        first = false;
    }
    if (status != SMK_OK && error != NULL) {
        *error = refusal;
    }
    return status;
}

smk_status smk_refused_check_any(const smk_module *module, smk_error *error)
{
    for (uint32_t i = 0; i < module->function_count && module->refuses; i++) {
        const smk_error *refusal = module->functions[i].refusal;
        if (refusal != NULL) {
            if (error != NULL) {
                *error = *refusal;
            }
            return refusal->status;
        }
    }
    return SMK_OK;
}
