/* Plans: a call as a list of launches. Data only; the caller has the addresses and runs the launches.
 *
 * Most variants are one launch whose grid follows from the row (`single`). A row that needs more names another plan: a
 * function smk_plan_<name> in plan_<family>.c. Of the machine a plan knows only smk_machine.
 */
#ifndef SMK_REGISTRY_PLAN_H
#define SMK_REGISTRY_PLAN_H

#include "registry/registry.h"

enum { SMK_PLAN_STEPS_MAX = 8, SMK_PLAN_PARAMETERS_MAX = 24 };

/* Of the H200 on which speeds, tiles and choices were measured, as card_rates.def has it. */
enum { SMK_H200_MULTIPROCESSORS = 132 };

/* The properties of the machine on which a plan may depend. */
typedef struct smk_machine {
    int capability; /* 90: compute capability 9.0 */
    uint32_t multiprocessors;
    size_t shared_bytes_max; /* a block, with opt-in */
    /* The card whose predicted times are weighed (registry/slowdowns.h); NULL: those measured on an H200. */
    const struct smk_slowdown_card *slowdown;
} smk_machine;

/* Where the elements of an operand lie: strides in elements. */
typedef struct smk_layout {
    int64_t axis[SMK_RANK_MAX]; /* of the axes of the signature */
    int64_t stack;              /* from one item of the stack to the next; 0: all items have the same operand */
    int64_t is_aligned;         /* 1: each item begins at a multiple of 16 bytes where its rows, in C order, do */
} smk_layout;

/* A call: the kernel family, shapes and options. */
typedef struct smk_request {
    const smk_family *family;
    const smk_variant *variant;
    const smk_signature *signature;
    const int64_t *dimensions; /* in the signature's order */
    const int64_t *numbers;    /* attributes passed as numbers, in their table's order */
    size_t number_count;
    int64_t stack;            /* so many items, which a launch makes at once; 0 stands for 1 */
    const smk_layout *layout; /* of each operand, inputs first; NULL: C order, the items one behind the other */
    const char *choice;       /* the compiled one: "sum"; "" where the family has none */
    const char *type;         /* of the first input: "float32", "bits32" */
    size_t item_bytes;        /* of that type */
    const smk_machine *machine;
    uint64_t workspace_below;   /* smk_plan_choose skips plans with as much workspace or more; 0: none */
    const smk_variant *trusted; /* what smk_plan_trust has found; NULL: no row is preferred */
    bool repeatable;            /* and those that write a variable of the module, which a CUDA graph cannot repeat */
} smk_request;

typedef enum smk_source {
    SMK_SOURCE_OPERAND,   /* value: its index; inputs first, then outputs */
    SMK_SOURCE_WORKSPACE, /* value: byte offset in the workspace */
    SMK_SOURCE_NUMBER     /* value: itself, 64 bits */
} smk_source;

typedef struct smk_parameter {
    smk_source source;
    int64_t value;
} smk_parameter;

/* One launch of a kernel of the row's file. */
typedef struct smk_step {
    const char *part; /* "<entry>_<part>": another kernel of the row's file, for a step beside the main one; or NULL */
    const char *type; /* of the entry where it is not the request's: "int64"; NULL: the request's */
    smk_dim3 grid, block;
    size_t shared_bytes; /* dynamic */
    bool begins_early;   /* as smk_launch.begins_early */
    smk_parameter parameter[SMK_PLAN_PARAMETERS_MAX];
    size_t parameter_count;
} smk_step;

typedef struct smk_plan {
    smk_step step[SMK_PLAN_STEPS_MAX]; /* one after the other */
    size_t step_count;                 /* 0: nothing to launch */
    uint64_t workspace_bytes;          /* of device memory while the steps run, 256-byte aligned; unspecified content */
    bool restores_workspace;           /* the workspace is 0 before each step, which leaves it so: calls can share one
                                        * block without clearing it */
    bool clears_outputs;               /* every byte of the outputs is 0 before the first step */
    bool takes_stack;  /* its steps make all items of the request's stack; false: one, and are repeated */
    bool takes_layout; /* its kernels read inputs of the request's layout, which begin at any element; false: in C order
                                        * alone, aligned */
    bool shares_memory; /* blocks wait for memory, whose speed those of a last round share: it takes no longer if few */
    bool adds_parts;    /* a step adds sums of parts of an element, whose number depends on the shape */
    double efficiency;  /* fraction of the row's speed that this shape allows; 0 stands for 1 */
    double time_us;     /* predicted; 0: the row's speed says all that is known */
    int64_t tile_rows, tile_columns; /* of the result, that a block makes; 0: the plan does not say */
    int64_t parts;                   /* of a dimension that is summed up, added by different blocks; 0: not said */
    /* The module's __constant__ variable "<entry>_<symbol>", entry without type, that takes a copy of
     * an input before the first step; NULL: none. In the kernel's source: conv2d_constant_weights. */
    const char *symbol;
    size_t symbol_operand;
} smk_plan;

/* The plan of the row. Errors: LAUNCH where no grid holds the shape; SHARED_MEMORY where the machine has too little;
 * BACKEND where it is too old; what else the plan says; ARGUMENT for a negative dimension. */
smk_status smk_plan_make(const smk_request *request, smk_plan *plan, smk_error *error);

/* The fastest variant for "auto": of the rows that accept the request's type and have a plan on its machine, the one
 * whose plan has the shortest predicted time, with that of copies and repeats for what it does not take; where plans
 * predict none, the one with the highest speed, over its slowdown on the machine (registry/slowdowns.h), times its plan's
 * efficiency, times the fraction of the multiprocessors that its blocks keep busy. All plans of a family predict a time,
 * or none does. Where the machine has slowdowns, the row that an H200's order takes stays unless another one is faster by
 * more than predictions err. Fills request->variant and request->trusted. Errors: of the row of the highest speed, where
 * no row has a plan. */
smk_status smk_plan_choose(smk_request *request, smk_plan *plan, smk_error *error);

/* A row that smk_plan_choose weighs. */
typedef struct smk_candidate {
    const smk_variant *variant;
    smk_plan plan;
    smk_error refusal; /* status OK: there is a plan */
    double time_us;    /* predicted for all launches, repeats and copies of operands; 0: nothing is predicted */
    double speed;      /* the greatest is taken; 0: never */
} smk_candidate;

/* Fills request->trusted: of a machine with slowdowns, the row that is the fastest without them. */
void smk_plan_trust(smk_request *request);

/* Plans a row and judges it. False where the row is of another family, or does not accept the request's type. */
bool smk_plan_weigh(const smk_request *request, const smk_variant *row, smk_candidate *candidate);

/* For plans ---------------------------------------------------------------------------------------- */

/* Grid and block of the row for bound dimensions. A grid_y beyond 65,535 blocks folds into z: kernels take
 * blockIdx.z * gridDim.y + blockIdx.y, and some blocks of the last layer may lie behind the end. *empty is set where
 * there is nothing to launch (no output has elements); the grid is 0 then. Errors: LAUNCH, ARGUMENT. */
smk_status smk_plan_grid(const smk_family *family, const smk_variant *variant, const int64_t *dimensions,
                         smk_dim3 *grid, smk_dim3 *block, bool *empty, smk_error *error);

/* Pieces of `by` that cover `size`; neither is negative. */
static inline int64_t smk_plan_divide_up(int64_t size, int64_t by)
{
    return size / by + (size % by != 0);
}

/* Of an operand: that of the request, or C order. */
smk_layout smk_plan_layout(const smk_request *request, size_t operand);

/* True where the axes of all inputs lie in C order. */
bool smk_plan_in_order(const smk_request *request);

/* The items of the request's stack, at least one. */
static inline int64_t smk_plan_stack(const smk_request *request)
{
    return request->stack > 0 ? request->stack : 1;
}

/* Sets y and z of a step's grid, for kernels whose item is blockIdx.z * gridDim.y + blockIdx.y, and some of whose
 * blocks may find none. Errors: LAUNCH. */
smk_status smk_plan_stack_grid(const smk_request *request, smk_step *step, smk_error *error);

/* Appends a parameter to a step. */
void smk_plan_add(smk_step *step, smk_source source, int64_t value);

/* The plans that the rows name, smk_plan_<name> each; several rows may share one. smk_plan_single serves many rows,
 * and other plans start from it: one launch with the grid of smk_plan_grid and all parameters of the family (operands,
 * dimensions, numbers), or no step where there is nothing to do. */
#define SMK_VARIANT(family, name, block_x, block_y, tile_x, tile_y, types, arch, plan, speed, summary)                 \
    smk_status smk_plan_##plan(const smk_request *request, smk_plan *made, smk_error *error);
#include "registry/variants.def"
#undef SMK_VARIANT

#endif
