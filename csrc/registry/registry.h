/* The catalogue of kernels: families, variants and how each is launched. Data only: no CUDA, no Python. */
#ifndef SMK_REGISTRY_REGISTRY_H
#define SMK_REGISTRY_REGISTRY_H

#include "base/launch.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SMK_DIMENSIONS_MAX = 8,
    SMK_OPERANDS_MAX_FAMILY = 8,
    SMK_RANK_MAX = 4,
    SMK_DIMENSION_NAME_MAX = 16,
    SMK_NAME_MAX = 24
};

/* The largest element of any family (float64, int64). */
enum { SMK_ITEM_BYTES_MAX = 16 };

/* A parsed signature: operand i has rank[i] dimensions, axis[i][j] an index into dimension names. */
typedef struct smk_signature {
    size_t input_count, output_count, dimension_count;
    char dimension[SMK_DIMENSIONS_MAX][SMK_DIMENSION_NAME_MAX];
    size_t rank[SMK_OPERANDS_MAX_FAMILY];
    size_t axis[SMK_OPERANDS_MAX_FAMILY][SMK_RANK_MAX];
} smk_signature;

/* signature.c: "(m,k),(k,n)->(m,n)". Errors: ARGUMENT. */
smk_status smk_signature_parse(const char *text, smk_signature *signature, smk_error *error);

/* Binds shapes of the inputs, and of the outputs that are given, to dimensions; the rest of `dimensions` is 0. `names`
 * are the operands' names for messages ("a", "b", "out"). Errors: SHAPE: "gemm: k is 64 in a and 48 in b", also where
 * an operand or output of SMK_ITEM_BYTES_MAX elements has more bytes than an int64_t counts; ARGUMENT where the number
 * of operands is wrong. */
smk_status smk_signature_bind(const smk_signature *signature, const char *family, const char *const *names,
                              const size_t *ranks, const int64_t *const *shapes, size_t operand_count,
                              int64_t dimensions[SMK_DIMENSIONS_MAX], smk_error *error);

/* Bytes of an operand (inputs first, then outputs) for bound dimensions.
 * Errors: SHAPE where an int64_t does not hold them. */
smk_status smk_signature_bytes(const smk_signature *signature, const char *family, size_t operand,
                               const int64_t *dimensions, int64_t item_bytes, int64_t *bytes, smk_error *error);

/* The rows of the tables; the first comment of each table explains its columns. */
typedef struct smk_family {
    const char *name;
    const char
        *signature; /* NULL: a group of kernels without a contract; then all fields up to the sentence are NULL */
    const char *inputs;
    const char *result;
    const char *grid_x, *grid_y;                /* "": the grid has no such axis */
    double (*flops)(const int64_t *dimensions); /* reads SMK_DIMENSIONS_MAX of them */
    const char *sentence;
} smk_family;

struct smk_request;
struct smk_plan;

typedef struct smk_variant {
    const char *family;
    const char *name;
    uint32_t block_x, block_y, tile_x, tile_y;
    const char *types; /* "float32 float64" */
    int arch;          /* the lowest compute capability, times ten */
    smk_status (*plan)(const struct smk_request *request, struct smk_plan *plan, smk_error *error); /* plan.h */
    int speed;
    const char *summary;
} smk_variant;

typedef enum smk_attribute_kind {
    SMK_ATTRIBUTE_COMPILED,
    SMK_ATTRIBUTE_NUMBER,
    SMK_ATTRIBUTE_TYPE,
    SMK_ATTRIBUTE_DEVICES
} smk_attribute_kind;

typedef struct smk_attribute {
    const char *family;
    const char *name;
    smk_attribute_kind kind;
    const char *choices; /* "sum max min" */
    const char *meaning;
} smk_attribute;

/* A row of stacks.def. */
typedef struct smk_stack {
    const char *family;
    const char *item;
    const char *fold; /* "": none */
} smk_stack;

/* One input as its family's row describes it. */
typedef struct smk_input {
    char name[SMK_NAME_MAX];
    char type[SMK_NAME_MAX]; /* "": the type that selects the kernel */
    bool is_flat;
} smk_input;

size_t smk_registry_family_count(void);
const smk_family *smk_registry_family(size_t index);
const smk_family *smk_registry_find_family(const char *name); /* NULL where there is none */
size_t smk_registry_variant_count(void);                      /* of all families */
const smk_variant *smk_registry_variant(size_t index);

/* The variant by name, or for "auto" the first that accepts the type (smk_plan_choose then chooses by shape and
 * machine). Errors: ARGUMENT, listing the known names; TYPE, naming the accepted types. */
smk_status smk_registry_select(const char *family, const char *variant, const char *type, const smk_variant **selected,
                               smk_error *error);

/* The ARGUMENT error of an unknown variant, with the nearest name and all that there are; of one that names a file,
 * "auto" is unknown. */
smk_status smk_registry_refuse_variant(const char *family, const char *variant, bool is_file, smk_error *error);

/* Writes the element types that "auto" takes: "float32, float64". */
void smk_registry_types(const char *family, char *text, size_t text_bytes);

/* Does the list of words ("float32 float64") have the word? Its index goes to *index (not NULL). */
bool smk_registry_lists(const char *list, const char *word, int64_t *index);

/* Copies word `index` of a list into `word`, cut to its size; false where the list is shorter. */
bool smk_registry_word(const char *list, size_t index, char *word, size_t word_bytes);

/* The inputs of a family's row; their number. INTERNAL where the row is malformed or has more than
 * SMK_OPERANDS_MAX_FAMILY - 1. */
smk_status smk_registry_inputs(const smk_family *family, smk_input inputs[SMK_OPERANDS_MAX_FAMILY], size_t *count,
                               smk_error *error);

/* The family's attribute number `index`, in the order of the table, or NULL. */
const smk_attribute *smk_registry_attribute(const char *family, size_t index);

/* The family's row of stacks.def; NULL where its calls take no stacks. */
const smk_stack *smk_registry_stack(const char *family);

/* The word of the variant's types for an operand's type: that type, or for float32 one that an attribute of kind TYPE has
 * instead; NULL where the variant takes neither. */
const char *smk_registry_type(const smk_variant *variant, const char *type);

/* Element type of the result for a type of the first input (and the compiled choice, "" without one); NULL where
 * choices.def has no such row. */
const char *smk_registry_result(const smk_family *family, const char *choice, const char *type);

/* The kernel's entry, "<family>_<variant>[_<part>][_<choice>]_<type>", into `entry`; part and choice may be "". */
void smk_registry_entry(const smk_variant *variant, const char *part, const char *choice, const char *type, char *entry,
                        size_t entry_bytes);

#endif
