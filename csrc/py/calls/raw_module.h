/* A module of kernels: the object behind smemkit.RawModule. */
#ifndef SMK_PY_CALLS_RAW_MODULE_H
#define SMK_PY_CALLS_RAW_MODULE_H

#include "py/backends/backend.h"
#include "py/backends/kernel_binary.h"
#include "py/calls/raw_code.h"
#include "py/state.h"

typedef struct smk_raw_module {
    PyObject_HEAD smk_kernel_binary *binary;
    smk_error refusal;          /* why our own parser refuses the text; status OK where it does not */
    const smk_backend *backend; /* named at construction; NULL: chosen by each call */
    PyObject *source;           /* str: the CUDA C of the module; None for PTX */
    PyObject *names;            /* dict: what the CUDA C calls its kernels, to their names in PTX */
    PyObject *options;          /* tuple of str: for the compiler; None for kernels of the package */
    const smk_variant *variant; /* of the package; NULL for code of the user's own */
    bool cooperative;           /* its kernels are launched with all of their blocks at once */
} smk_raw_module;

/* RawModule(..., backend=backend); NULL for what was not given. A new reference, or NULL with an exception set. */
smk_raw_module *smk_raw_module_create(const smk_state *state, const smk_raw_input *input, PyObject *backend);

/* The module of a text that is compiled already; the caller keeps what `text` holds, of which `ptx` is bytes. As
 * smk_raw_module_create. */
smk_raw_module *smk_raw_module_restore(const smk_state *state, const smk_raw_text *text, PyObject *options,
                                       PyObject *backend, bool cooperative);

/* The module of one of the package's own kernels, with its machine code; a new reference, or NULL with an exception
 * set. */
smk_raw_module *smk_raw_module_of_variant(const smk_state *state, const struct smk_variant *variant);

/* The parsed text, or NULL where only the GPU may take it. */
const smk_module *smk_raw_module_parsed(const smk_raw_module *module);

/* Names of all kernels of a module, a new tuple. */
PyObject *smk_raw_module_names(const smk_raw_module *module);

/* The PTX, a new str. */
PyObject *smk_raw_module_ptx(const smk_raw_module *module);

#endif
