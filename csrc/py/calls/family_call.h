/* A call of a family, filled in from top to bottom: family.c makes it, family_run.c spends it. */
#ifndef SMK_PY_CALLS_FAMILY_CALL_H
#define SMK_PY_CALLS_FAMILY_CALL_H

#include "py/backends/backend.h"
#include "py/calls/family.h"
#include "py/state.h"

#include "registry/plan.h"

enum { SMK_FAMILY_ENTRY_BYTES = 128, SMK_FAMILY_TYPE_BYTES = 64 };

typedef struct smk_family_call {
    const smk_state *state;
    const smk_family *family;
    smk_signature signature;
    smk_input input[SMK_OPERANDS_MAX_FAMILY];
    size_t inputs;

    PyObject *operands[SMK_FAMILY_INPUTS_MAX];  /* owned: ndarray or DeviceArray each */
    PyObject *out;                              /* borrowed; NULL where not given */
    PyObject *holds[SMK_FAMILY_INPUTS_MAX + 1]; /* owned: what keeps NumPy arrays from being resized, out's last */
    bool on_device;
    char choice[SMK_NAME_MAX]; /* the compiled one */
    int64_t numbers[SMK_FAMILY_ATTRIBUTES_MAX];
    size_t number_count;

    const smk_backend *backend;
    int device; /* of it, that the device arrays lie on; SMK_DEVICE_PRESENT without them */
    const smk_machine *machine;
    const smk_variant *variant;
    char type[SMK_FAMILY_TYPE_BYTES]; /* as the tables name it */
    PyArray_Descr *descr;             /* owned: of the first input, native */
    PyArray_Descr *result_descr;      /* owned */
    int64_t dimensions[SMK_DIMENSIONS_MAX];
    int out_rank;
    npy_intp out_shape[SMK_RANK_MAX];
    uint64_t workspace_below; /* as smk_request has it */
    smk_plan plan;
} smk_family_call;

/* The result, a new reference, or NULL with an exception; then no memory of the caller's was written. */
PyObject *smk_family_run(smk_family_call *call);

#endif
