/* The state and functions that printer.c and printer_instruction.c share; private to csrc/ptx. */
#ifndef SMK_PTX_PRINTER_H
#define SMK_PTX_PRINTER_H

#include "ptx/module.h"
#include "ptx/symbol.h"

typedef struct smk_printer {
    const smk_module *module;
    const smk_function *function; /* the one that is being printed */
    char *text;
    size_t length;
    size_t capacity;
    bool failed;            /* there was no memory: further text is dropped */
    smk_symbol_table names; /* of the module */
    unsigned underscores;   /* behind % and $ of generated names, so that they differ from all names of the module */
} smk_printer;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void smk_printer_add(smk_printer *printer, const char *format, ...);
void smk_printer_add_text(smk_printer *printer, smk_text text);

/* Names inside functions are generated, since the module has no scopes. */
void smk_printer_register(smk_printer *printer, uint32_t index);
void smk_printer_label(smk_printer *printer, uint32_t index);
void smk_printer_variable_name(smk_printer *printer, uint32_t index); /* a smk_variable_ref */
void smk_printer_made_up(smk_printer *printer, char mark, const char *letters, uint32_t index);
/* `directives`: with .maxntid and its like. */
void smk_printer_signature(smk_printer *printer, const smk_function *function, bool directives);

/* The value of `bits` as a literal of that type. */
void smk_printer_literal(smk_printer *printer, smk_type type, uint64_t bits);

/* printer_instruction.c: everything between the braces. */
void smk_printer_body(smk_printer *printer);

#endif
