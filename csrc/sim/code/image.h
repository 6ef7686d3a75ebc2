/* An image is an entry that is ready to run: the lowered code of every function that it can reach, and the layout of
 * its shared, local and parameter memory. Immutable once built. */
#ifndef SMK_SIM_CODE_IMAGE_H
#define SMK_SIM_CODE_IMAGE_H

#include "base/arena.h"
#include "sim/code/operation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The windows of generic addresses. Global memory is below all of them. */
#define SMK_WINDOW_SHARED UINT64_C(0x0000710000000000)
#define SMK_WINDOW_LOCAL UINT64_C(0x0000720000000000)
#define SMK_WINDOW_PARAM UINT64_C(0x0000730000000000)
#define SMK_WINDOW_FUNCTION UINT64_C(0x0000740000000000) /* + 16 * function: the value of a function pointer */
#define SMK_WINDOW_BYTES (UINT64_C(1) << 32)

/* A parameter or result of a function in its frame, or the argument that a caller passes for it. */
typedef struct smk_cell {
    bool in_row;    /* a register or constant, else local memory of the frame */
    bool discarded; /* a result that the caller does not use */
    uint8_t row_bits;
    uint32_t offset; /* of the row, or in the frame's local memory */
    uint32_t bytes;
} smk_cell;

/* A row that holds a special register. */
typedef struct smk_special_row {
    smk_special special;
    uint32_t offset;
} smk_special_row;

/* Bytes of a frame that a function may read before it has written them. */
typedef struct smk_row_range {
    uint32_t offset, bytes;
} smk_row_range;

/* A lowered function. Its frame is [rows of registers][rows of constants and special registers]. */
typedef struct smk_code {
    const smk_function *function;
    uint32_t index; /* of the function in the module */
    smk_operation *operation;
    uint32_t operation_count;
    uint32_t frame_bytes;
    uint32_t constant_rows_offset; /* offset of the rows that `constant_rows` fills, up to frame_bytes */
    const unsigned char *constant_rows;
    const smk_special_row *special;
    uint32_t special_count;
    const smk_row_range *cleared;
    uint32_t cleared_count;
    uint32_t local_bytes;   /* of one thread's frame, a multiple of 16 */
    const smk_cell *result; /* formal results and parameters */
    uint32_t result_count;
    const smk_cell *parameter;
    uint32_t parameter_count;
    struct smk_coverage_function *covered; /* NULL where the image does not count coverage */
    uint32_t first_counter;                /* of its points, among the image's counters */
    const uint64_t *polls; /* a bit for each instruction: plain loads by which threads wait (sim/lower/polling.h); NULL:
                            * there are none */
} smk_code;

/* Data of an operation beyond its fields. */
typedef struct smk_detail {
    /* calls */
    const smk_code *callee; /* NULL: through the pointer in row `a` */
    const smk_cell *result;
    uint32_t result_count;
    const smk_cell *argument;
    uint32_t argument_count;
    /* brx.idx */
    const smk_operation **target;
    uint32_t target_count;
    /* memory operations beyond operation.h's fields */
    int64_t offset;        /* of the first address */
    int64_t second_offset; /* of the second (cp.async: source) */
    uint32_t row;          /* one more source row */
    uint32_t flip;         /* of that row, a predicate */
    uint32_t bytes;
    uint8_t source_bits; /* width of that row; 0 where there is none */
    /* mma and ldmatrix */
    const uint32_t *rows; /* of registers: see mma.h */
} smk_detail;

/* The offset of a variable in a block's shared memory. */
typedef struct smk_shared_variable {
    const smk_variable *variable;
    uint32_t offset;
} smk_shared_variable;

/* A root of addresses: 8 bytes of a parameter of the entry, or a variable of the module. */
typedef struct smk_image_root {
    bool is_variable;
    uint32_t index;  /* of the parameter or variable */
    uint64_t offset; /* in the parameter */
} smk_image_root;

/* Updates of one kind whose addresses have the same roots. */
typedef struct smk_image_update {
    uint32_t kind;
    uint64_t roots; /* a bit each; with SMK_IMAGE_ANYWHERE: also unknown addresses */
} smk_image_update;

enum { SMK_IMAGE_ROOTS_MAX = 62 };
#define SMK_IMAGE_ANYWHERE (UINT64_C(1) << 63)

/* An image. Properties of the entry decide how its blocks may be scheduled. */
typedef struct smk_image {
    smk_arena arena; /* holds all of it */
    const struct smk_program *program;
    const smk_module *module;
    uint32_t entry;
    smk_code **code; /* of the reached functions, in the order of the module */
    uint32_t code_count;
    const smk_code *entry_code;
    smk_shared_variable *shared; /* sorted by variable */
    uint32_t shared_count;
    uint32_t shared_bytes; /* static */
    uint32_t padding;      /* of these: bytes between variables, for an observer */
    uint32_t parameter_bytes;
    uint32_t *parameter_offset; /* by parameter of the entry */
    uint32_t slots;             /* number of memory operations with a cache entry */
    uint32_t counter_count;     /* of coverage; 0: it is not counted */
    bool allocates;             /* it may call malloc or free */
    bool may_wait;              /* it has atomics, or loads by which threads may wait for each other */
    bool ordered;               /* results depend on the order of blocks: one host thread, in block order */
    smk_image_update *update;   /* of several kinds, whose order may matter (sim/lower/commute.h) */
    uint32_t update_count;
    smk_image_root *root; /* roots of their addresses */
    uint32_t root_count;
    const struct smk_observer *observer; /* whose operations precede those of the program; NULL: none */
} smk_image;

/* Is it an access to global memory with block scope? Such accesses of several blocks race even where they are strong,
 * so a checked launch runs its blocks in order and checks each access. */
bool smk_image_is_block_scope(const smk_instruction *instruction);

/* The code of a function; NULL where the entry cannot reach it. */
smk_code *smk_image_code(const smk_image *image, uint32_t function);

/* The order of image->shared, for qsort and bsearch. */
int smk_image_compare_shared(const void *a, const void *b);

/* The shared variable in the image's layout, or NULL. */
const smk_shared_variable *smk_image_find_shared(const smk_image *image, const smk_variable *variable);

/* The name that the source gives to a variable of a function: tile for _ZZ7reverseE4tile, the mangled form, which ends
 * in a length and a name of that length. Other names stay as they are. */
smk_text smk_image_source_name(smk_text name);

/* An address of a space that begins at 0, as a signed number: a kernel that computes less than 0, in 32 bits or in 64,
 * gets an address before the space. */
int64_t smk_image_signed_address(uint64_t address);

/* The end of a shared variable in a block that has so many bytes of shared memory. */
uint64_t smk_image_shared_end(const smk_shared_variable *shared, uint64_t shared_bytes);

/* Does an address lie in the shared memory that CUDA reserves (smk_variable_find_reserved)? Its barriers need no initial
 * value: each warp sets its own bits before it waits. */
bool smk_image_is_reserved(const smk_image *image, uint64_t address);

/* The shared variable that holds an address, or else the nearest one; NULL where there is none. */
const smk_shared_variable *smk_image_nearest_shared(const smk_image *image, int64_t address, uint64_t shared_bytes);

void smk_image_free(smk_image *image); /* accepts NULL */

#endif
