/* A PTX module as data, resolved and checked; nothing here says how to run it.
 *
 * Everything lives in the module's arena. Slices (smk_text) point into the module's own copy of the text. Registers,
 * labels, variables and functions are dense numbers; names are kept for messages only.
 */
#ifndef SMK_PTX_MODULE_H
#define SMK_PTX_MODULE_H

#include "base/arena.h"
#include "base/launch.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum smk_type {
    SMK_TYPE_NONE = 0,
#define SMK_PTX_TYPE(id, spelling, bits, kind) SMK_TYPE_##id,
#include "ptx/type.def"
#undef SMK_PTX_TYPE
    SMK_TYPE_COUNT
} smk_type;

typedef enum smk_type_kind {
    SMK_KIND_NONE = 0,
    SMK_KIND_BITS,
    SMK_KIND_UNSIGNED,
    SMK_KIND_SIGNED,
    SMK_KIND_FLOAT,
    SMK_KIND_PREDICATE
} smk_type_kind;

typedef enum smk_modifier {
#define SMK_PTX_MODIFIER(id, spelling) SMK_MODIFIER_##id,
#include "ptx/modifier.def"
#undef SMK_PTX_MODIFIER
    SMK_MODIFIER_COUNT
} smk_modifier;

typedef enum smk_special {
#define SMK_PTX_SPECIAL(id, spelling, bits) SMK_SPECIAL_##id,
#include "ptx/special.def"
#undef SMK_PTX_SPECIAL
    SMK_SPECIAL_COUNT
} smk_special;

/* The word before the first dot: SMK_OPCODE_ADD, SMK_OPCODE_CP, SMK_OPCODE_BARRIER, ... Several rows
 * of opcode.def may share one word; `opcode` in an instruction is the word. */
typedef enum smk_opcode {
    SMK_OPCODE_NONE = 0,
#define SMK_PTX_OPCODE(id, spelling, class, meaning) SMK_OPCODE_##id,
#include "ptx/opcode.def"
    SMK_OPCODE_COUNT
} smk_opcode;

typedef enum smk_space {
    SMK_SPACE_GENERIC = 0, /* no space was named */
    SMK_SPACE_GLOBAL,
    SMK_SPACE_SHARED,
    SMK_SPACE_LOCAL,
    SMK_SPACE_CONST,
    SMK_SPACE_PARAM
} smk_space;

#define SMK_NO_INDEX UINT32_MAX

typedef enum smk_operand_kind {
    SMK_OPERAND_NONE = 0,
    SMK_OPERAND_REGISTER,  /* index: register of the function; negate: !p */
    SMK_OPERAND_IMMEDIATE, /* bits: the value's bit pattern, already in the width and format that the
                              instruction's operand has (a float literal in an f32 operand is 32 bits) */
    SMK_OPERAND_SPECIAL,   /* index: smk_special */
    SMK_OPERAND_VARIABLE,  /* index: variable (smk_variable_ref); offset: bytes. The address of it. */
    SMK_OPERAND_FUNCTION,  /* index: function of the module. Its address, or the callee. */
    SMK_OPERAND_LABEL,     /* index: label of the function (branch target, branch or call table) */
    SMK_OPERAND_ADDRESS,   /* [base + offset]: base_kind REGISTER, VARIABLE or IMMEDIATE (then bits) */
    SMK_OPERAND_LIST,      /* {a, b}, p|q, [a, {b, c}] or call arguments: `count` operands from element */
    SMK_OPERAND_SINK       /* _ : an unused result */
} smk_operand_kind;

typedef struct smk_operand {
    uint8_t kind;      /* smk_operand_kind */
    uint8_t base_kind; /* of an ADDRESS */
    bool negate;       /* !p; -r in vmad */
    bool pair;         /* a LIST written p|q */
    bool texel;        /* a LIST written [a, {b, c}]: a texture or surface, and coordinates in it */
    bool sampled;      /* a LIST written [a, s, {b, c}]: with a sampler behind the texture */
    bool resident;     /* a LIST written {a, b}|p while it is parsed: its last element is p */
    uint8_t type;      /* smk_type of the operand slot: the width of an immediate, and what a
                          register is read as; SMK_TYPE_NONE for labels, functions, addresses, lists, sinks */
    uint16_t select;   /* parts of a register, %r1.h10: the smk_select of video instructions; 0: all of it */
    uint32_t index;
    uint32_t count;
    int64_t offset;
    uint64_t bits;
    struct smk_operand *element;
} smk_operand;

/* The parts of operand.select: SMK_SELECT_HALVES or not, how many are named, and the number of each in 3 bits, the last
 * one lowest. */
enum { SMK_SELECT_HALVES = 1 << 15, SMK_SELECT_COUNT_SHIFT = 12, SMK_SELECT_BITS = 3, SMK_SELECT_MASK = 7 };

enum { SMK_OPERANDS_MAX = 10, SMK_WORDS_MAX = 14 };

/* One word behind the opcode, in the order written: a type or a modifier. */
typedef struct smk_word {
    bool is_type;
    uint8_t value; /* smk_type or smk_modifier */
} smk_word;

typedef struct smk_instruction {
    uint16_t opcode; /* smk_opcode */
    uint16_t row;    /* which row of opcode.def it was checked against */
    uint8_t word_count;
    uint8_t operand_count;
    uint8_t type;         /* smk_type: of the result (first type word); SMK_TYPE_NONE where there is none */
    uint8_t source_type;  /* second type word (cvt, set, slct, ...); else equal to type */
    uint8_t space;        /* smk_space of ld st atom red cvta cp prefetch isspacep */
    uint8_t vector;       /* 1, 2, 4 or 8 */
    uint8_t result_count; /* operands[0 .. result_count) are written: the roles of the form say so */
    bool guarded;         /* @p or @!p */
    bool guard_negate;
    uint32_t guard; /* register */
    uint32_t line;  /* of the PTX text */
    uint32_t column;
    uint32_t source_file;     /* index into smk_module.files, or SMK_NO_INDEX */
    uint32_t source_line;     /* 0: not known */
    uint32_t source_location; /* index + 1 into smk_module.locations; 0: not known */
    uint64_t has[4];          /* bit set of smk_modifier */
    smk_word words[SMK_WORDS_MAX];
    smk_operand operands[SMK_OPERANDS_MAX]; /* destination first, as written. A call has three:
                                               LIST of results, callee (FUNCTION or REGISTER), LIST of arguments,
                                               and a fourth LABEL (table or prototype) where written. */
} smk_instruction;

/* The source location of an instruction by its own .loc, and where that was inlined. */
typedef struct smk_source_location {
    uint32_t file; /* index into smk_module.files; SMK_NO_INDEX: not known */
    uint32_t line, column;
    uint32_t outer; /* index + 1 of the location of the inlined call; 0: none */
} smk_source_location;

typedef struct smk_register {
    smk_text name;
    uint8_t type; /* smk_type as declared */
} smk_register;

/* Variables of every space: module-scope globals and constants, shared and local arrays, parameters of
 * entries and functions, and the .param variables of a call sequence. */
typedef struct smk_variable {
    smk_text name;
    uint8_t space;      /* SMK_SPACE_GLOBAL SHARED LOCAL CONST PARAM */
    uint8_t type;       /* element type */
    bool is_extern;     /* declared, not defined: dynamic shared memory where the space is shared */
    bool unsized;       /* name[] : no size given */
    bool by_pointer;    /* a parameter with .ptr */
    bool is_managed;    /* .attribute(.managed): the host may access it, too */
    uint32_t alignment; /* bytes, at least the element's size */
    uint32_t line;
    uint64_t bytes;                     /* of the whole variable; 0 where unsized */
    uint8_t *initializer;               /* `bytes` bytes, or NULL: zero */
    struct smk_relocation *relocations; /* addresses inside `initializer` */
    uint32_t relocation_count;
} smk_variable;

/* initializer[offset .. offset + bytes) holds the address of a variable or function, plus addend. */
typedef struct smk_relocation {
    uint64_t offset;
    uint32_t bytes;
    bool is_function;
    bool is_generic; /* generic(name) */
    uint32_t index;  /* smk_variable_ref, or function */
    int64_t addend;
} smk_relocation;

/* A variable number below `module.variable_count` names a module-scope variable; from there on it is
 * the function's own: function.variables[number - module.variable_count]. */
typedef uint32_t smk_variable_ref;

typedef struct smk_label {
    smk_text name;
    uint32_t target; /* instruction it stands before; == instruction_count: the end */
    uint32_t *table; /* .branchtargets: labels; .calltargets: functions */
    uint32_t table_count;
    bool of_functions;  /* the table is .calltargets */
    uint32_t prototype; /* .callprototype: function-like signature in module.functions, or SMK_NO_INDEX */
} smk_label;

typedef struct smk_function {
    smk_text name;
    bool is_entry;
    bool is_defined;   /* has a body */
    bool is_prototype; /* a .callprototype */
    bool is_noreturn;
    uint32_t line;
    smk_dim3 maxntid; /* {0,0,0}: not given */
    smk_dim3 reqntid;
    uint32_t minnctapersm; /* 0: not given */
    smk_register *registers;
    uint32_t register_count;
    smk_variable *variables; /* parameters first: results, then inputs */
    uint32_t variable_count;
    uint32_t result_count;    /* variables[0 .. result_count): a .func's results */
    uint32_t parameter_count; /* variables[result_count .. +parameter_count) */
    /* A result or parameter of a .func may be a register (.reg); then its variable has space GENERIC
     * and the number of the register stands here, in the same order; else SMK_NO_INDEX. */
    uint32_t *parameter_registers;
    smk_label *labels;
    uint32_t label_count;
    smk_instruction *instructions;
    uint32_t instruction_count;
    const smk_error *refusal; /* why its body is not executed; the body is then a single trap. NULL: it is */
} smk_function;

typedef struct smk_module {
    smk_arena arena;
    smk_text text;                         /* own copy, terminated by a NUL behind its length */
    uint32_t version_major, version_minor; /* .version */
    uint32_t target;                       /* sm_90 -> 90 */
    smk_text target_text;                  /* "sm_90a, debug" as written */
    smk_text *files;                       /* .file names in order of appearance */
    uint32_t file_count;
    smk_source_location *locations;
    uint32_t location_count;
    smk_variable *variables;
    uint32_t variable_count;
    smk_function *functions;
    uint32_t function_count;
    uint32_t *entries; /* by name: functions that are entries, for smk_module_find_entry */
    uint32_t entry_count;
    bool refuses; /* some function has a refusal */
} smk_module;

/* Properties of types, modifiers and opcodes (module.c). */
unsigned smk_module_type_bits(smk_type type);
smk_type_kind smk_module_type_kind(smk_type type);
const char *smk_module_type_name(smk_type type);
const char *smk_module_modifier_name(smk_modifier modifier);
const char *smk_module_opcode_name(smk_opcode opcode);
const char *smk_module_special_name(smk_special special);
unsigned smk_module_special_bits(smk_special special);

bool smk_module_has(const smk_instruction *instruction, smk_modifier modifier);

/* The operation of an atom or red among its words; SMK_MODIFIER_COUNT where there is none. */
smk_modifier smk_module_atomic(const smk_instruction *instruction);

/* Entry by name; SMK_NO_INDEX where there is none. */
uint32_t smk_module_find_entry(const smk_module *module, const char *name);

/* The variable behind a number, of `function` or of the module. */
const smk_variable *smk_module_variable(const smk_module *module, const smk_function *function, smk_variable_ref index);

/* A block's size against the function's .maxntid and .reqntid. Errors: LAUNCH. */
smk_status smk_module_check_block(const smk_function *function, smk_dim3 block, smk_error *error);

/* Parses and checks PTX text (parse.c, verify.c). On success *module is new and the caller frees it.
 * Errors: PTX, PTX_TYPE, UNSUPPORTED (with line, column and the word), MEMORY. A word that is unknown or not executed
 * refuses the function that it stands in (smk_function.refusal), and not the module. Never reads past `length`; nesting
 * and counts are bounded. */
smk_status smk_parse_module(const char *text, size_t length, smk_module **module, smk_error *error);

/* Is a function refused, or one that it calls by name, directly or through others? Then the error of the refusal, whose
 * message begins with the calls that lead there; else OK. Errors: those of refusals, and MEMORY (refused.c). */
smk_status smk_refused_check(const smk_module *module, uint32_t function, smk_error *error);

/* The first refusal of a module whose every kernel is refused; OK where one may run, or where the module has no refused
 * function. As smk_refused_check. */
smk_status smk_refused_check_all(const smk_module *module, smk_error *error);

/* The error of the first refused function; OK where there is none. */
smk_status smk_refused_check_any(const smk_module *module, smk_error *error);

/* Accepts NULL. */
void smk_module_free(smk_module *module);

/* The module as PTX text that parses to an equal module (printer.c). *text is NUL-terminated and freed
 * with smk_heap_free. Errors: MEMORY, and that of a refused function. */
smk_status smk_printer_print(const smk_module *module, char **text, size_t *length, smk_error *error);

/* Are two modules equal except for text positions and names of temporaries? Printing preserves this. */
bool smk_equal_modules(const smk_module *a, const smk_module *b);

#endif
