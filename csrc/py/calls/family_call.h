/* A call of a family: what was given, and what follows from that step by step. */
#ifndef SMK_PY_CALLS_FAMILY_CALL_H
#define SMK_PY_CALLS_FAMILY_CALL_H

#include "py/backends/backend.h"
#include "py/state.h"
#include "py/streams/stream_scope.h"

#include "registry/plan.h"
#include "registry/registry.h"

enum {
    SMK_FAMILY_CALL_INPUTS_MAX = SMK_OPERANDS_MAX_FAMILY - 1,
    SMK_FAMILY_CALL_ATTRIBUTES_MAX = 4,
    SMK_FAMILY_CALL_ENTRY_BYTES = 128,
    SMK_FAMILY_CALL_TYPE_BYTES = 64,
    SMK_FAMILY_LOOPS_MAX = 8
};

/* The dimensions in front of those of the signature, as they were broadcast, and how the items are reached: those of one
 * launch lie evenly (smk_layout), loops around them do the rest. */
typedef struct smk_family_items {
    int rank; /* of the result's dimensions in front */
    npy_intp shape[NPY_MAXDIMS];
    int64_t stack; /* items of a launch; 0: there are none at all */
    size_t loops;  /* the last one is the innermost; behind it, count and step have those of a launch */
    int64_t count[SMK_FAMILY_LOOPS_MAX + 1];
    int64_t step[SMK_OPERANDS_MAX_FAMILY][SMK_FAMILY_LOOPS_MAX + 1]; /* of each operand, in bytes */
    smk_layout layout[SMK_OPERANDS_MAX_FAMILY];                      /* of the operands: inputs, then the result */
    bool is_transposed[SMK_OPERANDS_MAX_FAMILY]; /* the last two axes of a NumPy array lie the other way round */
} smk_family_items;

/* Zero-initialised but for the state; smk_family_call_release at the end. */
typedef struct smk_family_call {
    const smk_state *state;
    const smk_family *family;
    smk_signature signature;
    smk_input input[SMK_OPERANDS_MAX_FAMILY];
    size_t inputs;

    PyObject *operands[SMK_FAMILY_CALL_INPUTS_MAX];  /* owned: ndarray or DeviceArray each */
    PyObject *out;                                   /* owned; NULL where not given */
    PyObject *target;                                /* owned: what takes a copy of `out` at the end; mostly NULL */
    PyObject *given[SMK_FAMILY_CALL_INPUTS_MAX + 1]; /* borrowed: the inputs and out as the caller has them */
    PyObject
        *holds[SMK_FAMILY_CALL_INPUTS_MAX + 1]; /* owned: keep NumPy arrays from being resized; out's is the last */
    bool on_device;
    char choice[SMK_NAME_MAX];  /* the choice that is compiled into the kernel */
    char instead[SMK_NAME_MAX]; /* the type that an attribute has instead of float32; "": none */
    int64_t numbers[SMK_FAMILY_CALL_ATTRIBUTES_MAX];
    size_t number_count;

    smk_stream_scope stream; /* of the argument stream= */
    const smk_backend *backend;
    int device; /* of the machine: where the device arrays are; without them SMK_DEVICE_PRESENT, or as named */
    const smk_machine *machine;
    const smk_variant *variant;
    char type[SMK_FAMILY_CALL_TYPE_BYTES]; /* as the tables spell it */
    PyArray_Descr *descr;                  /* owned: of the first input, native */
    PyArray_Descr *result_descr;           /* owned */
    int64_t dimensions[SMK_DIMENSIONS_MAX];
    const smk_stack *stack; /* the family's row; NULL: its calls take no stacks, and `items` says nothing */
    smk_family_items items;
    int out_rank;
    npy_intp out_shape[NPY_MAXDIMS];
    uint64_t workspace_below; /* see smk_request */
    smk_plan plan;
} smk_family_call;

/* Finds the family and its signature. Returns 0, or -1 with an exception set. */
int smk_family_call_find(smk_family_call *call, const char *name);

/* Takes the inputs and out (NULL: not given): NumPy arrays or device arrays, never both, or arrays of other libraries.
 * Returns 0, or -1 with an exception set. */
int smk_family_call_take_operands(smk_family_call *call, PyObject *const *values, PyObject *out);

/* Orders the work of the inputs' libraries behind the call. Returns 0, or -1 with an exception set. */
int smk_family_call_finish(const smk_family_call *call);

/* Chooses the machine and its device: those of the device arrays, which backend= and device= (NULL: not given) may only
 * confirm; else as for every call. Returns 0, or -1 with an exception set. */
int smk_family_call_choose_machine(smk_family_call *call, PyObject *keyword, PyObject *device);

/* Reads the properties of the call's device that plans depend on. Returns 0, or -1 with an exception set. */
int smk_family_call_describe_machine(smk_family_call *call);

/* Puts a new array in place of a device array `out` that does not begin at a multiple of SMK_ARRAY_ALIGNMENT.
 * Returns 0, or -1 with an exception set. */
int smk_family_call_align_out(smk_family_call *call);

/* Copies the result to the array that the caller gave, where that is another one. Returns 0, or -1 with an exception
 * set. */
int smk_family_call_deliver(const smk_family_call *call);

/* The element type of an input or of out, a borrowed reference. */
PyArray_Descr *smk_family_call_type(const smk_family_call *call, PyObject *operand);

/* The name of operand `i`: the inputs, then out. */
const char *smk_family_call_name(const smk_family_call *call, size_t i);

void smk_family_call_release(smk_family_call *call);

#endif
