/* Resolves what is only known after the whole text: numbers of variables, files, prototypes, aliases. */
#include "ptx/parse.h"

#include "base/heap.h"
#include "base/poll.h"

#include <stdlib.h>
#include <string.h>

typedef struct fixer {
    smk_parser *parser;
    smk_symbol_table files; /* by the four bytes of the .file number */
    uint32_t *same;         /* by function: itself, or the function of which its name is an alias */
} fixer;

static void fix_operand(const fixer *fix, smk_operand *operand)
{
    bool variable = operand->kind == SMK_OPERAND_VARIABLE ||
                    (operand->kind == SMK_OPERAND_ADDRESS && operand->base_kind == SMK_OPERAND_VARIABLE);
    if (variable && operand->index >= SMK_PARSE_LOCAL) {
        operand->index = operand->index - SMK_PARSE_LOCAL + (uint32_t)fix->parser->variables.count;
    } else if (operand->kind == SMK_OPERAND_FUNCTION) {
        operand->index = fix->same[operand->index];
    } else if (operand->kind == SMK_OPERAND_LIST) {
        for (uint32_t i = 0; i < operand->count; i++) {
            fix_operand(fix, &operand->element[i]);
        }
    }
}

static uint32_t file_index(const fixer *fix, const uint32_t *number)
{
    const smk_symbol *symbol = smk_symbol_find(&fix->files, (smk_text){(const char *)number, sizeof *number});
    return symbol == NULL ? SMK_NO_INDEX : symbol->index;
}

/* Prototypes go behind the functions, in the order of the functions that have them. */
static void fix_labels(const fixer *fix, smk_function *function, smk_function *functions, uint32_t *next)
{
    const smk_function *prototypes = fix->parser->prototypes.items;
    for (uint32_t i = 0; i < function->label_count; i++) {
        smk_label *label = &function->labels[i];
        if (label->prototype != SMK_NO_INDEX) {
            functions[*next] = prototypes[label->prototype];
            label->prototype = (*next)++;
        }
        for (uint32_t k = 0; label->of_functions && k < label->table_count; k++) {
            label->table[k] = fix->same[label->table[k]];
        }
    }
}

static void fix_function(const fixer *fix, smk_function *function)
{
    uint32_t last_number = 0;
    uint32_t last_index = SMK_NO_INDEX;
    bool has_last = false;
    for (uint32_t i = 0; i < function->instruction_count && !smk_poll_stop(); i++) {
        smk_instruction *instruction = &function->instructions[i];
        for (unsigned k = 0; k < instruction->operand_count; k++) {
            fix_operand(fix, &instruction->operands[k]);
        }
        if (instruction->source_file == SMK_NO_INDEX) {
            continue;
        }
        if (!has_last || instruction->source_file != last_number) {
            last_number = instruction->source_file;
            last_index = file_index(fix, &last_number);
            has_last = true;
        }
        instruction->source_file = last_index;
    }
}

static bool start(fixer *fix)
{
    smk_parser *parser = fix->parser;
    const uint32_t *numbers = parser->file_numbers.items;
    fix->same = smk_heap_allocate(parser->functions.count, sizeof *fix->same);
    if (fix->same == NULL || !smk_symbol_start(&fix->files, parser->files.count)) {
        return false;
    }
    for (size_t i = 0; i < parser->files.count; i++) {
        smk_text key = {(const char *)&numbers[i], sizeof numbers[i]};
        if (smk_symbol_find(&fix->files, key) == NULL) {
            smk_symbol *symbol = smk_symbol_add(&fix->files, SMK_SYMBOL_VARIABLE, key, 0);
            if (symbol == NULL) {
                return false;
            }
            symbol->index = (uint32_t)i;
        }
    }
    return true;
}

static void fix_locations(const fixer *fix)
{
    smk_module *module = fix->parser->module;
    for (uint32_t i = 0; i < module->location_count; i++) {
        module->locations[i].file = file_index(fix, &module->locations[i].file);
    }
}

static void fix_relocations(const fixer *fix)
{
    for (uint32_t i = 0; i < fix->parser->module->variable_count; i++) {
        smk_variable *variable = &fix->parser->module->variables[i];
        for (uint32_t k = 0; k < variable->relocation_count; k++) {
            smk_relocation *relocation = &variable->relocations[k];
            relocation->index = relocation->is_function ? fix->same[relocation->index] : relocation->index;
        }
    }
}

typedef struct named_entry {
    smk_text name;
    uint32_t index;
} named_entry;

static int compare_entries(const void *a, const void *b)
{
    return smk_text_compare(((const named_entry *)a)->name, ((const named_entry *)b)->name);
}

/* The entries in the order of their names. */
static smk_status sort_entries(smk_parser *parser)
{
    smk_module *module = parser->module;
    named_entry *entries = smk_heap_allocate((size_t)module->function_count + 1, sizeof *entries);
    uint32_t count = 0;
    for (uint32_t i = 0; entries != NULL && i < module->function_count; i++) {
        if (module->functions[i].is_entry) {
            entries[count++] = (named_entry){module->functions[i].name, i};
        }
    }
    module->entries = smk_arena_allocate(&module->arena, (size_t)count + 1, sizeof *module->entries);
    if (entries == NULL || module->entries == NULL) {
        smk_heap_free(entries);
        return smk_parse_memory(parser);
    }
    qsort(entries, count, sizeof *entries, compare_entries);
    for (uint32_t i = 0; i < count; i++) {
        module->entries[i] = entries[i].index;
    }
    module->entry_count = count;
    smk_heap_free(entries);
    return SMK_OK;
}

static smk_status resolve(fixer *fix)
{
    smk_parser *parser = fix->parser;
    smk_module *module = parser->module;
    uint32_t next = (uint32_t)parser->functions.count;
    size_t total = parser->functions.count + parser->prototypes.count;
    smk_function *functions = smk_arena_allocate(&module->arena, total, sizeof *functions);
    smk_variable *variables = smk_vector_copy(&parser->variables, sizeof *variables, &module->arena);
    smk_text *files = smk_vector_copy(&parser->files, sizeof *files, &module->arena);
    module->locations = smk_vector_copy(&parser->locations, sizeof *module->locations, &module->arena);
    module->location_count = (uint32_t)parser->locations.count;
    if (functions == NULL || variables == NULL || files == NULL || module->locations == NULL || !start(fix)) {
        return smk_parse_memory(parser);
    }
    fix_locations(fix);
    SMK_TRY(smk_alias_resolve(parser, fix->same));
    if (parser->functions.count != 0) {
        memcpy(functions, parser->functions.items, parser->functions.count * sizeof *functions);
    }
    module->variables = variables;
    module->variable_count = (uint32_t)parser->variables.count;
    module->files = files;
    module->file_count = (uint32_t)parser->files.count;
    module->functions = functions;
    fix_relocations(fix);
    for (uint32_t i = 0; i < parser->functions.count; i++) {
        SMK_TRY(smk_poll_check(parser->error));
        fix_function(fix, &functions[i]);
        fix_labels(fix, &functions[i], functions, &next);
    }
    module->function_count = next;
    return sort_entries(parser);
}

smk_status smk_resolve_module(smk_parser *parser)
{
    fixer fix = {.parser = parser};
    smk_status status = resolve(&fix);
    smk_heap_free(fix.same);
    smk_symbol_end(&fix.files);
    return status;
}
