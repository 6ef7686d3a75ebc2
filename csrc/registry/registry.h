/* What kernels there are and how each is launched. Data only: no CUDA, no Python. */
#ifndef SMK_REGISTRY_REGISTRY_H
#define SMK_REGISTRY_REGISTRY_H

#include "../base/launch.h"
#include "../base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SMK_DIMENSIONS_MAX = 8, SMK_OPERANDS_MAX_FAMILY = 8, SMK_RANK_MAX = 4, SMK_DIMENSION_NAME_MAX = 16 };

/* The largest element of any family (float64, int64). */
enum { SMK_ITEM_BYTES_MAX = 8 };

/* A parsed signature: operand i has rank[i] dimensions, axis[i][j] an index into dimension names. */
typedef struct smk_signature {
    size_t input_count, output_count, dimension_count;
    char dimension[SMK_DIMENSIONS_MAX][SMK_DIMENSION_NAME_MAX];
    size_t rank[SMK_OPERANDS_MAX_FAMILY];
    size_t axis[SMK_OPERANDS_MAX_FAMILY][SMK_RANK_MAX];
} smk_signature;

/* signature.c: "(m,k),(k,n)->(m,n)". Errors: ARGUMENT. */
smk_status smk_signature_parse(const char *text, smk_signature *signature, smk_error *error);

/* Binds shapes of the inputs, and of as many outputs as are given too, to dimensions; the rest of `dimensions` is 0.
 * `names` are the operands' names for messages ("a", "b", "out").
 * Errors: SHAPE: "gemm: k is 64 in a and 48 in b", also where an operand or output of SMK_ITEM_BYTES_MAX elements
 * has more bytes than an int64_t counts; ARGUMENT where the number of operands is wrong. */
smk_status smk_signature_bind(const smk_signature *signature, const char *family, const char *const *names,
                              const size_t *ranks, const int64_t *const *shapes, size_t operand_count,
                              int64_t dimensions[SMK_DIMENSIONS_MAX], smk_error *error);

/* Bytes of an operand (inputs first, then outputs) for bound dimensions.
 * Errors: SHAPE where an int64_t does not hold them. */
smk_status smk_signature_bytes(const smk_signature *signature, const char *family, size_t operand,
                               const int64_t *dimensions, int64_t item_bytes, int64_t *bytes, smk_error *error);

typedef struct smk_family {
    const char *name;
    const char *signature;
    const char *grid_x, *grid_y; /* "": the grid has no such axis */
    const char *sentence;
    double (*flops)(const int64_t *dimensions); /* reads SMK_DIMENSIONS_MAX of them */
} smk_family;

typedef struct smk_variant {
    const char *family;
    const char *name;
    uint32_t block_x, block_y, tile_x, tile_y;
    const char *types; /* "float32 float64" */
    int speed;
    const char *shows;
} smk_variant;

size_t smk_registry_family_count(void);
const smk_family *smk_registry_family(size_t index);
const smk_family *smk_registry_find_family(const char *name); /* NULL where there is none */
size_t smk_registry_variant_count(void);                      /* of all families */
const smk_variant *smk_registry_variant(size_t index);

/* The variant by name, or for "auto" the fastest that accepts the type.
 * Errors: ARGUMENT, listing the known names; TYPE, naming the accepted types. */
smk_status smk_registry_select(const char *family, const char *variant, const char *type, const smk_variant **selected,
                               smk_error *error);

/* True where the list of types ("float32 float64") holds the type. */
bool smk_registry_accepts(const smk_variant *variant, const char *type);

/* The kernel's entry: "<family>_<variant>_<type>" into `entry`. */
void smk_registry_entry(const smk_variant *variant, const char *type, char *entry, size_t entry_bytes);

/* Grid and block for bound dimensions. A grid_y beyond 65,535 blocks folds into z: kernels take
 * blockIdx.z * gridDim.y + blockIdx.y, and some blocks of the last layer may lie behind the end. *empty is set where
 * there is nothing to launch (no output has elements); the grid is 0 then.
 * Errors: LAUNCH where no grid holds the shape; ARGUMENT for a negative dimension. */
smk_status smk_registry_plan(const smk_family *family, const smk_variant *variant, const int64_t *dimensions,
                             smk_dim3 *grid, smk_dim3 *block, bool *empty, smk_error *error);

#endif
