/* What the plans of gemm share. */
#ifndef SMK_REGISTRY_PLAN_GEMM_H
#define SMK_REGISTRY_PLAN_GEMM_H

#include "registry/plan.h"

/* Dimensions and operands of gemm, in the order of its signature. */
enum { SMK_GEMM_M, SMK_GEMM_K, SMK_GEMM_N };
enum { SMK_GEMM_A, SMK_GEMM_B, SMK_GEMM_C };

enum { SMK_GEMM_ALIGNMENT = 256 };

/* k, cut into parts of part_k each; the last may be shorter, and none is empty unless k is 0. */
typedef struct smk_gemm_parts {
    int64_t count, part_k;
} smk_gemm_parts;

/* How a and b lie: strides in elements, by row and by column, and from one product of a stack to the next. */
typedef struct smk_gemm_strides {
    int64_t a_row, a_col, b_row, b_col, a_stack, b_stack;
} smk_gemm_strides;

smk_gemm_strides smk_plan_gemm_strides(const smk_request *request);

/* Elements of c, of the whole stack. */
int64_t smk_plan_gemm_elements(const smk_request *request);

/* Cuts k into as many parts as make at least `wanted` blocks of `blocks` for one part, each part at least least_k long
 * and a multiple of `step`; one part where the partial sums have more bytes than half of an int64_t counts. */
smk_gemm_parts smk_plan_gemm_cut(const smk_request *request, int64_t blocks, int64_t wanted, int64_t least_k,
                                 int64_t step);

/* Bytes of the partial sums of the stack, a multiple of the alignment; 0 for one part, which needs none. */
int64_t smk_plan_gemm_parts_bytes(const smk_request *request, smk_gemm_parts parts);

/* Adds where a step writes its sums: the result for one part, else the workspace at the offset. */
void smk_plan_gemm_add_target(smk_step *step, smk_gemm_parts parts, int64_t offset);

/* Adds a, b, where the sums go, the dimensions, and the strides of a and b in elements: by row, then by column. */
void smk_plan_gemm_add_operands(smk_step *step, const smk_request *request, smk_gemm_parts parts, int64_t sums);

/* Those strides alone. */
void smk_plan_gemm_add_strides(smk_step *step, const smk_request *request);

/* Adds how many products the stack has, and the strides of a and b from one to the next; and sets y and z of the grid:
 * the product is blockIdx.z * gridDim.y + blockIdx.y, and some blocks may find none. Products follow each other in c,
 * and in each array of partial sums. LAUNCH where no grid holds them. */
smk_status smk_plan_gemm_add_stack(smk_step *step, const smk_request *request, smk_error *error);

/* Adds the step (sums, c, elements, parts, lanes) that makes c of the sums of several parts: the part "add" of the
 * variant's file, in blocks of so many threads. */
void smk_plan_gemm_add_sums(smk_plan *plan, const smk_request *request, smk_gemm_parts parts, int64_t sums,
                            uint32_t threads);

#endif
