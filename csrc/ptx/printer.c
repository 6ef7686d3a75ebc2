#include "ptx/printer.h"

#include "base/heap.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char *reserve(smk_printer *printer, size_t more)
{
    size_t wanted = printer->length + more + 1;
    if (!printer->failed && wanted > printer->capacity) {
        size_t capacity = printer->capacity * 2 < wanted ? wanted + 4096 : printer->capacity * 2;
        char *grown = smk_heap_resize(printer->text, printer->capacity, capacity);
        printer->failed = grown == NULL;
        if (grown != NULL) {
            printer->text = grown;
            printer->capacity = capacity;
        }
    }
    return printer->failed ? NULL : printer->text + printer->length;
}

void smk_printer_add_text(smk_printer *printer, smk_text text)
{
    char *end = reserve(printer, text.length);
    if (end != NULL && text.length != 0) {
        memcpy(end, text.start, text.length);
        printer->length += text.length;
    }
}

/* For short pieces; text of the module goes through smk_printer_add_text. */
void smk_printer_add(smk_printer *printer, const char *format, ...)
{
    char piece[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    if (length > 0) {
        smk_printer_add_text(printer,
                             (smk_text){piece, (size_t)length < sizeof piece ? (size_t)length : sizeof piece - 1});
    }
}

void smk_printer_made_up(smk_printer *printer, char mark, const char *letters, uint32_t index)
{
    smk_printer_add(printer, "%c", mark);
    for (unsigned i = 0; i < printer->underscores; i++) {
        smk_printer_add(printer, "_");
    }
    smk_printer_add(printer, "%s%u", letters, (unsigned)index);
}

void smk_printer_register(smk_printer *printer, uint32_t index)
{
    smk_type type = (smk_type)printer->function->registers[index].type;
    unsigned bits = smk_module_type_bits(type);
    bool is_float = smk_module_type_kind(type) == SMK_KIND_FLOAT;
    const char *letters = bits == 1    ? "p"
                          : bits == 8  ? "rc"
                          : bits == 16 ? (is_float ? "h" : "rs")
                          : bits == 32 ? (is_float ? "f" : "r")
                          : bits == 64 ? (is_float ? "fd" : "rd")
                                       : "rq";
    smk_printer_made_up(printer, '%', letters, index);
}

void smk_printer_label(smk_printer *printer, uint32_t index)
{
    smk_printer_made_up(printer, '$', "L", index);
}

void smk_printer_variable_name(smk_printer *printer, uint32_t index)
{
    const smk_module *module = printer->module;
    if (index < module->variable_count) {
        smk_printer_add_text(printer, module->variables[index].name);
        return;
    }
    const smk_function *function = printer->function;
    uint32_t own = index - module->variable_count;
    smk_text name = function->variables[own].name;
    bool is_parameter = own < function->result_count + function->parameter_count;
    if (is_parameter && !smk_text_is(name, "_") && smk_symbol_find(&printer->names, name) == NULL) {
        smk_printer_add_text(printer, name);
    } else {
        smk_printer_made_up(printer, '$', "v", own);
    }
}

void smk_printer_literal(smk_printer *printer, smk_type type, uint64_t bits)
{
    if (type == SMK_TYPE_F32) {
        smk_printer_add(printer, "0f%08X", (unsigned)bits);
    } else if (type == SMK_TYPE_F64) {
        smk_printer_add(printer, "0d%016llX", (unsigned long long)bits);
    } else {
        smk_printer_add(printer, "%llu", (unsigned long long)bits);
    }
}

static uint64_t element_bytes(const smk_variable *variable)
{
    return smk_module_type_bits((smk_type)variable->type) / 8;
}

/* .align n .type name[n] */
static void print_declarator(smk_printer *printer, const smk_variable *variable, uint32_t index)
{
    uint64_t size = element_bytes(variable);
    if (variable->alignment != size) {
        smk_printer_add(printer, " .align %u", (unsigned)variable->alignment);
    }
    smk_printer_add(printer, " .%s ", smk_module_type_name((smk_type)variable->type));
    if (variable->by_pointer) {
        smk_printer_add(printer, ".ptr .align 1 ");
    }
    smk_printer_variable_name(printer, index);
    if (variable->unsized) {
        smk_printer_add(printer, "[]");
    } else if (variable->bytes != size) {
        smk_printer_add(printer, "[%llu]", (unsigned long long)(variable->bytes / size));
    }
}

static void print_address(smk_printer *printer, const smk_relocation *relocation)
{
    const smk_module *module = printer->module;
    smk_text name =
        relocation->is_function ? module->functions[relocation->index].name : module->variables[relocation->index].name;
    smk_printer_add(printer, relocation->is_generic ? "generic(" : "");
    smk_printer_add_text(printer, name);
    smk_printer_add(printer, relocation->is_generic ? ")" : "");
    if (relocation->addend != 0) {
        smk_printer_add(printer, "+%lld", (long long)relocation->addend);
    }
}

static uint64_t element_at(const smk_variable *variable, uint64_t offset, uint64_t size)
{
    uint64_t bits = 0;
    for (uint64_t i = 0; i < size; i++) {
        bits |= (uint64_t)variable->initializer[offset + i] << (8 * i);
    }
    return bits;
}

/* Prints elements up to the last that is not zero; the rest defaults to zero. */
static void print_initializer(smk_printer *printer, const smk_variable *variable)
{
    uint64_t size = element_bytes(variable);
    uint64_t end = variable->bytes;
    uint32_t next = 0;
    bool is_array = variable->bytes != size;
    while (end > 0 && variable->initializer[end - 1] == 0) {
        end--;
    }
    if (variable->relocation_count != 0) {
        const smk_relocation *last = &variable->relocations[variable->relocation_count - 1];
        end = last->offset + last->bytes > end ? last->offset + last->bytes : end;
    }
    end = end == 0 && variable->bytes != 0 ? 1 : end;
    smk_printer_add(printer, is_array ? " = {" : " = ");
    for (uint64_t offset = 0; offset < end && !printer->failed; offset += size) {
        smk_printer_add(printer, offset == 0 ? "" : ",");
        const smk_relocation *relocation = next < variable->relocation_count ? &variable->relocations[next] : NULL;
        if (relocation == NULL || offset < relocation->offset) {
            smk_printer_literal(printer, (smk_type)variable->type, element_at(variable, offset, size));
            continue;
        }
        if (size == 1) {
            smk_printer_add(printer, "0x%llX(", 0xFFULL << (8 * (offset - relocation->offset)));
        }
        print_address(printer, relocation);
        smk_printer_add(printer, size == 1 ? ")" : "");
        next += offset + size == relocation->offset + relocation->bytes;
    }
    smk_printer_add(printer, is_array ? "}" : "");
}

static void print_variable(smk_printer *printer, uint32_t index, bool as_extern)
{
    static const char *const spaces[] = {"", ".global", ".shared", ".local", ".const", ".param"};
    const smk_variable *variable = &printer->module->variables[index];
    bool declared = as_extern || variable->is_extern;
    bool linked = variable->space == SMK_SPACE_GLOBAL || variable->space == SMK_SPACE_CONST;
    smk_printer_add(printer, "%s%s", declared ? ".extern " : linked ? ".visible " : "", spaces[variable->space]);
    smk_printer_add(printer, variable->is_managed ? " .attribute(.managed)" : "");
    print_declarator(printer, variable, index);
    if (!declared && variable->initializer != NULL) {
        print_initializer(printer, variable);
    }
    smk_printer_add(printer, ";\n");
}

/* Does an initializer refer to a variable further down, which then needs a declaration first? */
static bool refers_forward(const smk_module *module)
{
    for (uint32_t i = 0; i < module->variable_count; i++) {
        for (uint32_t k = 0; k < module->variables[i].relocation_count; k++) {
            const smk_relocation *relocation = &module->variables[i].relocations[k];
            if (!relocation->is_function && relocation->index >= i) {
                return true;
            }
        }
    }
    return false;
}

static void print_parameter(smk_printer *printer, const smk_function *function, uint32_t i)
{
    const smk_variable *variable = &function->variables[i];
    uint32_t slot = function->parameter_registers[i];
    if (slot != SMK_NO_INDEX) {
        smk_printer_add(printer, ".reg .%s ", smk_module_type_name((smk_type)variable->type));
        smk_printer_register(printer, slot);
    } else {
        smk_printer_add(printer, ".param");
        print_declarator(printer, variable, printer->module->variable_count + i);
    }
}

static void print_parameters(smk_printer *printer, const smk_function *function, uint32_t first, uint32_t count)
{
    smk_printer_add(printer, "(");
    for (uint32_t i = 0; i < count; i++) {
        smk_printer_add(printer, i == 0 ? "" : ", ");
        print_parameter(printer, function, first + i);
    }
    smk_printer_add(printer, ")");
}

static void print_size(smk_printer *printer, const char *word, smk_dim3 size)
{
    if (size.x != 0 || size.y != 0 || size.z != 0) {
        smk_printer_add(printer, "\n%s %u, %u, %u", word, (unsigned)size.x, (unsigned)size.y, (unsigned)size.z);
    }
}

void smk_printer_signature(smk_printer *printer, const smk_function *function, bool directives)
{
    const smk_function *outer = printer->function;
    printer->function = function;
    if (function->result_count != 0) {
        print_parameters(printer, function, 0, function->result_count);
        smk_printer_add(printer, " ");
    }
    if (function->is_prototype) {
        smk_printer_add(printer, "_");
    } else {
        smk_printer_add_text(printer, function->name);
    }
    smk_printer_add(printer, " ");
    print_parameters(printer, function, function->result_count, function->parameter_count);
    smk_printer_add(printer, function->is_noreturn ? " .noreturn" : "");
    if (!directives) {
        printer->function = outer;
        return;
    }
    print_size(printer, ".maxntid", function->maxntid);
    print_size(printer, ".reqntid", function->reqntid);
    if (function->minnctapersm != 0) {
        smk_printer_add(printer, "\n.minnctapersm %u", (unsigned)function->minnctapersm);
    }
    printer->function = outer;
}

static void print_function(smk_printer *printer, const smk_function *function, bool body)
{
    if (function->is_prototype || (body && !function->is_defined)) {
        return;
    }
    printer->function = function;
    smk_printer_add(printer, function->is_entry     ? ".visible .entry "
                             : function->is_defined ? ".func "
                                                    : ".extern .func ");
    /* ptxas takes .maxntid and its like only where the body is */
    smk_printer_signature(printer, function, body || !function->is_defined);
    if (!body) {
        smk_printer_add(printer, ";\n");
        return;
    }
    smk_printer_add(printer, "\n{\n");
    for (uint32_t i = function->result_count + function->parameter_count; i < function->variable_count; i++) {
        static const char *const spaces[] = {"", ".global", ".shared", ".local", ".const", ".param"};
        const smk_variable *variable = &function->variables[i];
        smk_printer_add(printer, "\t%s", spaces[variable->space]);
        print_declarator(printer, variable, printer->module->variable_count + i);
        smk_printer_add(printer, ";\n");
    }
    smk_printer_body(printer);
    smk_printer_add(printer, "}\n");
}

static void count_underscores(smk_printer *printer, smk_text name)
{
    unsigned count = 0;
    if (name.length == 0 || (name.start[0] != '%' && name.start[0] != '$')) {
        return;
    }
    while (count + 1 < name.length && name.start[count + 1] == '_') {
        count++;
    }
    if (count >= printer->underscores) {
        printer->underscores = count + 1;
    }
}

/* Is it the name that the printer generated earlier for the same parameter, which is unique? */
static bool is_made_up(smk_text name, uint32_t index)
{
    char digits[16];
    size_t start = 1;
    while (start < name.length && name.start[start] == '_') {
        start++;
    }
    (void)snprintf(digits, sizeof digits, "v%u", (unsigned)index);
    return start <= name.length && smk_text_is((smk_text){name.start + start, name.length - start}, digits);
}

static void count_parameter(smk_printer *printer, const smk_function *function, uint32_t index)
{
    bool is_register = function->parameter_registers[index] != SMK_NO_INDEX; /* whose name is not printed */
    if (!is_register && !is_made_up(function->variables[index].name, index)) {
        count_underscores(printer, function->variables[index].name);
    }
}

/* Collects the names that generated names must differ from. */
static void collect_names(smk_printer *printer)
{
    const smk_module *module = printer->module;
    size_t total = (size_t)module->variable_count + module->function_count;
    printer->failed = !smk_symbol_start(&printer->names, total);
    for (size_t i = 0; i < total && !printer->failed; i++) {
        const smk_function *function =
            i < module->variable_count ? NULL : &module->functions[i - module->variable_count];
        smk_text name = function == NULL ? module->variables[i].name : function->name;
        count_underscores(printer, name);
        printer->failed = smk_symbol_add(&printer->names, SMK_SYMBOL_VARIABLE, name, 0) == NULL;
        for (uint32_t k = 0; function != NULL && k < function->result_count + function->parameter_count; k++) {
            count_parameter(printer, function, k);
        }
    }
}

/* The "sm_90a" of "sm_90a, debug": the printed module has no debugging sections. */
static smk_text target_word(const smk_module *module)
{
    smk_text rest = module->target_text;
    char wanted[16];
    (void)snprintf(wanted, sizeof wanted, "sm_%u", (unsigned)module->target);
    size_t length = strlen(wanted);
    for (size_t i = 0; i + length <= rest.length; i++) {
        if (memcmp(rest.start + i, wanted, length) == 0) {
            char suffix = i + length < rest.length ? rest.start[i + length] : ',';
            return (smk_text){rest.start + i, length + (suffix == 'a' || suffix == 'f' ? 1 : 0)};
        }
    }
    return rest;
}

static void print_module(smk_printer *printer)
{
    const smk_module *module = printer->module;
    smk_printer_add(printer, ".version %u.%u\n.target ", (unsigned)module->version_major,
                    (unsigned)module->version_minor);
    smk_printer_add_text(printer, target_word(module));
    smk_printer_add(printer, "\n.address_size 64\n\n");
    for (uint32_t i = 0; i < module->file_count; i++) {
        smk_printer_add(printer, ".file %u \"", (unsigned)i + 1);
        smk_printer_add_text(printer, module->files[i]);
        smk_printer_add(printer, "\"\n");
    }
    for (uint32_t i = 0; i < module->function_count; i++) {
        print_function(printer, &module->functions[i], false);
    }
    bool forward = refers_forward(module);
    for (uint32_t i = 0; forward && i < module->variable_count; i++) {
        print_variable(printer, i, true);
    }
    for (uint32_t i = 0; i < module->variable_count; i++) {
        if (!forward || !module->variables[i].is_extern) {
            print_variable(printer, i, false);
        }
    }
    for (uint32_t i = 0; i < module->function_count; i++) {
        print_function(printer, &module->functions[i], true);
    }
}

smk_status smk_printer_print(const smk_module *module, char **text, size_t *length, smk_error *error)
{
    smk_printer printer = {.module = module};
    smk_status status = smk_refused_check_any(module, error);
    if (status != SMK_OK) {
        return status;
    }
    collect_names(&printer);
    if (!printer.failed) {
        print_module(&printer);
    }
    char *end = reserve(&printer, 0);
    smk_symbol_end(&printer.names);
    if (end == NULL) {
        smk_heap_free(printer.text);
        return smk_status_fail(error, SMK_MEMORY, "no memory left to print a PTX module");
    }
    *end = '\0';
    *text = printer.text;
    *length = printer.length;
    return SMK_OK;
}
