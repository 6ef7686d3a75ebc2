/* The state that the files of lowering share. */
#ifndef SMK_SIM_LOWER_LOWERING_H
#define SMK_SIM_LOWER_LOWERING_H

#include "sim/lower/lower.h"
#include "sim/lower/register_layout.h"

typedef struct smk_lowering smk_lowering;

struct smk_lowering {
    smk_image *image;
    const smk_module *module;
    const smk_function *function;
    const uint64_t *addresses; /* of module variables */
    smk_code *code;
    smk_arena *arena;
    smk_error *error;
    smk_status status; /* of the first failure */

    smk_cfg cfg;
    smk_register_layout rows;
    smk_constant_rows *constant_rows;
    uint32_t *local_offset;    /* of each of the function's variables */
    uint8_t *reconverges;      /* by block: diverged lanes reconverge at its start */
    uint32_t *block_operation; /* first operation of each block; [count]: the end */

    smk_operation *operation; /* on the heap, growing */
    uint32_t count, capacity;
    const smk_instruction *instruction; /* the present one */
    uint32_t instruction_index;
    unsigned scratch[4]; /* used by it, by width of the row */
    uint32_t next_point; /* of coverage: index of the next one of the function */
};

/* Appends an operation with the present instruction's guard; NULL where there is no memory. The pointer is valid until
 * the next one is appended. */
smk_operation *smk_lower_emit(smk_lowering *lowering, smk_handler run);
/* The same without a guard. */
smk_operation *smk_lower_emit_always(smk_lowering *lowering, smk_handler run);

/* Records the first failure, at the present instruction, and returns false. */
#if defined(__GNUC__)
__attribute__((cold, format(printf, 3, 4)))
#endif
bool smk_lower_fail(smk_lowering *lowering, smk_status status, const char *format, ...);

/* The row of a source or destination; may emit operations that prepare it. An immediate without a type has `bits`.
 * *storage, unless NULL, becomes the width of the row. */
uint32_t smk_lower_row(smk_lowering *lowering, const smk_operand *operand, unsigned bits, unsigned *storage);
uint32_t smk_lower_scratch(smk_lowering *lowering, unsigned bits);
uint32_t smk_lower_ones(smk_lowering *lowering); /* the predicate that is true in all lanes */
uint32_t smk_lower_flip(const smk_operand *operand);

/* The location of a variable. */
typedef struct smk_location {
    smk_space space;  /* PARAM: of the entry; LOCAL: of the frame */
    uint64_t address; /* in that space; of LOCAL: relative to the frame */
} smk_location;

bool smk_lower_locate_variable(smk_lowering *lowering, smk_variable_ref index, smk_location *location);

/* The row of 64-bit addresses of an operand, and what is added to each. False after a failure. */
bool smk_lower_address(smk_lowering *lowering, const smk_operand *operand, smk_space space, uint32_t *row,
                       uint64_t *add);

enum { SMK_LOWER_GROUPS_MAX = 63 }; /* of copies that a wait leaves pending */

/* Lower an instruction of a class: false after a failure. */
bool smk_lower_memory(smk_lowering *lowering);  /* ld st ldu atom red cp.async cvta isspacep */
bool smk_lower_control(smk_lowering *lowering); /* bra brx call ret exit trap bar barrier nanosleep */
bool smk_lower_exchange(smk_lowering *lowering);
bool smk_lower_mma(smk_lowering *lowering);     /* mma */
bool smk_lower_texture(smk_lowering *lowering); /* tex tld4 suld sust */
bool smk_lower_bulk(smk_lowering *lowering);    /* cp.async.bulk */

/* Replaces block numbers in branches by operations, once all operations exist. */
bool smk_lower_link(smk_lowering *lowering);

#endif
