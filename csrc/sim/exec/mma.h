/* mma: products of small matrices that are distributed over the lanes of a warp.
 *
 * The distribution of elements, with g = lane / 4 and t = lane % 4. A register of 32 bits holds two elements of 16
 * bits, four of 8 bits, eight of 4 bits or 32 bits, that are neighbours in k; a block of k is what the 4 lanes of a group hold in one register.
 *   a    register r: row g + 8 * (r % 2), block r / 2 of k (with 8 rows: row g, block r); in a block, k goes up with t
 *   b    register r: column g, block r of k
 *   c d  register r: row g + 8 * (r / 2), column 2 * t + r % 2; in f16 register r holds row g + 8 * r, columns 2 * t
 *        and 2 * t + 1
 *
 * A sparse a has two of every four neighbours in k (of 4-bit integers two of four pairs, of tf32 one of two), distributed
 * as a dense one of half the depth. Metadata says which: 4 bits for the four, the index of each in 2 bits. A row has 16,
 * 32 or 64 such bits, which lanes of its group hold (mma_body.h).
 *
 * m8n8k4 in f16 is four products, of lanes 4 * q to 4 * q + 3 and those 16 on. Lane i of these 8 has row i of a and
 * column i of b, or, where they are stored the other way, one k and 4 rows or columns.
 *
 * Scales stand in bytes of a register: of the row g of a in lane 4 * g + 2 * s, of the row g + 8 in the lane behind it,
 * where the instruction names s; of the column g of b in lane 4 * g + s. A byte has the scale of one block of k.
 */
#ifndef SMK_SIM_EXEC_MMA_H
#define SMK_SIM_EXEC_MMA_H

#include "sim/code/operation.h"

typedef enum smk_mma_id {
#define SMK_MMA(id, shape, type, sum, rows, depth) SMK_MMA_##id,
#define SMK_MMA_SPARSE(id, shape, type, sum, depth) SMK_MMA_##id,
#define SMK_MMA_SMALL(id, shape, word, sum, depth, bits, sparse) SMK_MMA_##id,
#include "sim/exec/mma.def"
    SMK_MMA_COUNT
} smk_mma_id;

enum {
    SMK_MMA_COLUMNS = 8,
    SMK_MMA_ROWS_MAX = 16,
    SMK_MMA_DEPTH_MAX = 16,         /* of floats */
    SMK_MMA_INTEGER_DEPTH_MAX = 64, /* of integers */
    SMK_MMA_PARTS_MAX = 512,        /* factors that are taken apart at once */
    SMK_MMA_REGISTERS_MAX = 24      /* of d, a, b and c, of metadata and scales */
};

/* Products of integers, of bits (ands or exclusive ors), of doubles and of shape m8n8k4, as operation.count says; of
 * sparse matrices also which lanes hold the metadata. */
enum {
    SMK_MMA_SIGNED_A = 1,
    SMK_MMA_SIGNED_B = 2,
    SMK_MMA_SATURATES = 4,
    SMK_MMA_AND = 8,
    SMK_MMA_TO_ZERO = 16,
    SMK_MMA_DOWN = 32,
    SMK_MMA_UP = 64,
    SMK_MMA_COLUMNS_A = 128, /* m8n8k4: a is stored by columns */
    SMK_MMA_ROWS_B = 256,    /* and b by rows */
    SMK_MMA_HALF_C = 512,    /* c is in f16 where d is in f32 */
    SMK_MMA_SELECTOR_SHIFT = 16
};

/* Products of floats of 8, 6 and 4 bits: the formats of a and b, the number of blocks of k that have a scale of their
 * own, and what the scales are. */
enum {
    SMK_MMA_E4M3,
    SMK_MMA_E5M2,
    SMK_MMA_E3M2,
    SMK_MMA_E2M3,
    SMK_MMA_E2M1,
    SMK_MMA_FORMAT_MASK = 7,
    SMK_MMA_FORMAT_B_SHIFT = 3,
    SMK_MMA_BLOCKS_SHIFT = 6,
    SMK_MMA_BLOCKS_MASK = 7,
    SMK_MMA_SCALES_E4M3 = 512 /* ue4m3; else ue8m0 */
};

/* Those flags of an mma. */
uint32_t smk_mma_flags(const smk_instruction *instruction);

/* The handlers of each instruction set. u.detail->rows: those of d, a, b and c, in their order. */
extern const smk_handler smk_mma_baseline[SMK_MMA_COUNT];
#if defined(__x86_64__) && defined(__GNUC__)
#define SMK_MMA_X86 1
extern const smk_handler smk_mma_avx2[SMK_MMA_COUNT];
extern const smk_handler smk_mma_avx512[SMK_MMA_COUNT];
#endif

/* The handler of an mma for the present instruction set; NULL where there is none. */
smk_handler smk_mma_find(const smk_instruction *instruction);

/* Products of two elements that an mma makes: rows * columns * depth; 0 for other instructions. */
uint32_t smk_mma_products(const smk_instruction *instruction);

/* ldmatrix is three operations, or four. The first checks that all lanes are present (u.detail->bytes: the number of operations
 * to skip where the guard is false in all lanes). The second is a load: 8 lanes for each matrix read a row of 16 bytes
 * each into 4 rows of registers. The third distributes them (u.detail->rows: those 4, then those of op->count
 * results). */
const smk_operation *smk_mma_enter(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_mma_hand_out(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_mma_hand_out_transposed(smk_warp *warp, const smk_operation *op);

/* 16x16 bytes, transposed: 16 lanes for each matrix, which has two results. */
const smk_operation *smk_mma_hand_out_bytes(smk_warp *warp, const smk_operation *op);

/* Before it or smk_mma_hand_out: makes bytes of the 16 elements of 6 or 4 bits with which each of the rows that were
 * read begins. */
const smk_operation *smk_mma_unpack_6(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_mma_unpack_4(smk_warp *warp, const smk_operation *op);

/* stmatrix is ldmatrix backwards: the second operation collects the rows of the matrices from what lanes hold, and the
 * third stores them. */
const smk_operation *smk_mma_collect(smk_warp *warp, const smk_operation *op);
const smk_operation *smk_mma_collect_transposed(smk_warp *warp, const smk_operation *op);

/* 16x8 bytes, transposed: 8 rows of 16 bytes for each matrix. */
const smk_operation *smk_mma_collect_bytes(smk_warp *warp, const smk_operation *op);

/* movmatrix: rows `d` and `a`. */
const smk_operation *smk_mma_transpose(smk_warp *warp, const smk_operation *op);

/* .aligned: all 32 lanes must be present. Fails the warp, naming the missing lanes, and returns NULL. */
const smk_operation *smk_mma_refuse(smk_warp *warp, const smk_operation *op, uint32_t mask);

#endif
