/* The state and functions that the files of the parser share; private to csrc/ptx. */
#ifndef SMK_PTX_PARSE_H
#define SMK_PTX_PARSE_H

#include "ptx/lex.h"
#include "ptx/module.h"
#include "ptx/symbol.h"
#include "ptx/vector.h"

typedef enum smk_directive {
#define SMK_PTX_DIRECTIVE(id, spelling) SMK_DIRECTIVE_##id,
#include "ptx/directive.def"
#undef SMK_PTX_DIRECTIVE
    SMK_DIRECTIVE_COUNT
} smk_directive;

/* Base number of a function's own variables while it is parsed, as the module's count is not known yet. */
#define SMK_PARSE_LOCAL UINT32_C(0x80000000)

enum { SMK_DEPTH_MAX = 64, SMK_REGISTERS_MAX = 1 << 20, SMK_PARAMETERS_MAX = 4096, SMK_PARSE_BUCKETS = 512 };

/* A name that must be a label when its scope ends. */
typedef struct smk_pending_label {
    smk_token name;
    bool in_table;
    uint32_t index; /* of the instruction; of the label that has the table */
    uint32_t slot;  /* operand; entry of the table */
} smk_pending_label;

/* .alias name, function; */
typedef struct smk_alias {
    smk_token at; /* the name */
    uint32_t name, function;
} smk_alias;

typedef struct smk_parser {
    smk_lex lex;
    smk_token token; /* the present one, not consumed yet */
    smk_token ahead; /* the one after it, where has_ahead */
    bool has_ahead;
    uint64_t last_end; /* where the token before it ended, as an offset into the text */
    smk_module *module;
    smk_error *error;  /* &fault; while forms are tried, the error of one, or NULL */
    smk_error fault;   /* the caller's error is filled where the parse fails as a whole */
    bool selects;      /* registers may be followed by the parts that a video instruction reads or writes */
    bool expands;      /* the instruction stands in no text: its .target is that of the statement */
    bool unknown_word; /* the present error is of a word that is in no table */
    smk_symbol_table words;
    smk_symbol_table symbols;
    smk_vector variables;       /* smk_variable, of the module */
    smk_vector functions;       /* smk_function */
    smk_vector prototypes;      /* smk_function */
    smk_vector files;           /* smk_text */
    smk_vector file_numbers;    /* uint32_t, one a file */
    smk_vector aliases;         /* smk_alias */
    uint64_t initializer_bytes; /* of all initialised variables */
    /* of the function that is being parsed */
    bool in_body;
    bool in_entry; /* in_body, of a kernel */
    smk_text function_name;
    uint32_t parameter_registers; /* those that the signature declares */
    bool reorders;                /* the first uses of registers may not be in the order of their numbers: expand.c */
    smk_vector registers;         /* smk_register */
    smk_vector locals;            /* smk_variable */
    smk_vector local_registers;   /* uint32_t: register of each parameter, or SMK_NO_INDEX */
    smk_vector labels;            /* smk_label */
    smk_vector instructions;      /* smk_instruction */
    smk_vector pending;           /* smk_pending_label */
    size_t pending_start[SMK_SCOPES_MAX + 1];
    smk_vector elements;    /* smk_operand: a list while it grows */
    uint32_t source_number; /* .loc: file number and line */
    uint32_t source_line;
    bool has_loc;
    struct {
        uint32_t file, line, column;
        uint32_t ptx_line;    /* where it stands */
    } source_mark;            /* the present .loc */
    uint32_t source_inlined;  /* its inlining: index + 1, or 0 */
    uint32_t source_location; /* its number in `locations`, plus 1; 0: none yet */
    smk_vector locations;     /* smk_source_location, of the module */
    uint32_t home_number;     /* file of the function's first .loc */
    smk_vector inlined;       /* loc.c: inlinings */
    uint32_t inlined_last;    /* index + 1 of the last one, and the number of instructions at that time */
    size_t inlined_count;
    uint32_t inlined_bucket[SMK_PARSE_BUCKETS];
} smk_parser;

/* An instruction with the tokens of its parts, for messages. */
typedef struct smk_statement {
    smk_instruction instruction;
    smk_token opcode_at;
    smk_token word_at[SMK_WORDS_MAX];
    smk_token operand_at[SMK_OPERANDS_MAX];
} smk_statement;

#define SMK_TRY(call)                                                                                                  \
    do {                                                                                                               \
        smk_status try_status_ = (call);                                                                               \
        if (try_status_ != SMK_OK) {                                                                                   \
            return try_status_;                                                                                        \
        }                                                                                                              \
    } while (0)

#define smk_parse_fail(parser, token, status, ...) smk_lex_fail((token), (status), (parser)->error, __VA_ARGS__)

/* parse.c: tokens */
const char *smk_parse_directive_name(smk_directive directive);
smk_status smk_parse_next(smk_parser *parser);              /* takes the present token */
smk_status smk_parse_look_ahead(smk_parser *parser);        /* fills parser->ahead */
bool smk_parse_at(const smk_parser *parser, unsigned mark); /* is the present token this mark? */
bool smk_parse_at_directive(const smk_parser *parser, smk_directive directive);
smk_status smk_parse_expect(smk_parser *parser, unsigned mark); /* takes it, or fails */
smk_status smk_parse_accept(smk_parser *parser, unsigned mark, bool *taken);
smk_status smk_parse_accept_directive(smk_parser *parser, smk_directive directive, bool *taken);
smk_status smk_parse_name(smk_parser *parser, smk_token *name); /* takes a WORD */
smk_status smk_parse_unexpected(smk_parser *parser, const char *wanted);
smk_status smk_parse_memory(smk_parser *parser);               /* the MEMORY error */
smk_text smk_parse_tail(smk_text text);                        /* without its first character */
bool smk_parse_type(const smk_parser *parser, smk_type *type); /* is the present token a type? */
smk_status smk_parse_skip_section(smk_parser *parser);
smk_status smk_parse_file(smk_parser *parser);
smk_status smk_parse_pragma(smk_parser *parser);
smk_status smk_parse_refuse_directive(smk_parser *parser); /* as unknown or unsupported */
/* A new name of the present scope. Errors: PTX where it is taken there. */
smk_status smk_parse_declare(smk_parser *parser, smk_symbol_kind kind, const smk_token *name, smk_symbol **symbol);

/* constant.c: constant expressions. */
typedef struct smk_constant {
    smk_type type; /* S64 U64 F32 F64 */
    uint64_t bits;
} smk_constant;

smk_status smk_constant_parse(smk_parser *parser, smk_constant *constant);
/* A constant that must be an integer of 0 to `max`; `noun` names it in messages. */
smk_status smk_constant_parse_count(smk_parser *parser, const char *noun, uint64_t max, uint64_t *count);
/* The same between < and >. */
smk_status smk_constant_parse_angle_count(smk_parser *parser, const char *noun, uint64_t max, uint64_t *count);
double smk_constant_double(const smk_constant *constant);
/* The float's bits in a type of 16, 32 or 64 bits; false where the type is no such float. */
bool smk_constant_float_bits(const smk_constant *constant, smk_type type, uint64_t *bits);

/* variable.c, initializer.c: declarations. */
typedef struct smk_linkage {
    bool is_extern, is_visible, is_weak, is_common;
} smk_linkage;

smk_status smk_variable_parse(smk_parser *parser, smk_linkage linkage);
smk_status smk_variable_parse_parameter(smk_parser *parser, bool is_entry, smk_variable *variable, smk_token *name,
                                        bool *is_register);
smk_status smk_variable_parse_registers(smk_parser *parser);
/* The shared memory that CUDA reserves in a block for the barriers of wide tiles (cooperative groups): a variable of the
 * module, which the first use of %reserved_smem_offset_ declares. */
enum { SMK_RESERVED_BYTES = 288 };
smk_status smk_variable_find_reserved(smk_parser *parser, uint32_t *index);
smk_status smk_initializer_parse(smk_parser *parser, smk_variable *variable, const uint64_t *lengths, unsigned rank);

/* loc.c: starts a body, and parses a mark, which is the present token. */
void smk_loc_begin(smk_parser *parser);
smk_status smk_loc_parse(smk_parser *parser);
/* The number of the present location, plus 1; 0: there is no mark. */
smk_status smk_loc_location(smk_parser *parser, uint32_t *number);

/* function.c: .func, .entry; body.c: statements; instruction.c: instructions; call.c. */
smk_status smk_function_parse(smk_parser *parser, bool is_extern);
bool smk_function_same_signature(const smk_function *a, const smk_function *b);
smk_status smk_function_parse_prototype(smk_parser *parser, uint32_t *index);
smk_status smk_body_parse(smk_parser *parser, smk_function *function);
smk_status smk_instruction_parse(smk_parser *parser);
smk_status smk_call_parse(smk_parser *parser, smk_statement *statement);
const smk_variable *smk_parse_variable(const smk_parser *parser, uint32_t index);

/* alias.c: parses .alias, which is the present token, and finds the function for which each name stands, itself or
 * another. */
smk_status smk_alias_parse(smk_parser *parser);
smk_status smk_alias_resolve(smk_parser *parser, uint32_t *same);

/* Resolves what needs all functions and files of the module (resolve.c). */
smk_status smk_resolve_module(smk_parser *parser);

#endif
