/* smemkit.RawModule and smemkit.RawKernel: the user's own kernels, with CuPy's conventions. */
#ifndef SMK_PY_CALLS_RAW_H
#define SMK_PY_CALLS_RAW_H

#include "py/backends/backend.h"
#include "py/backends/kernel_binary.h"
#include "py/state.h"

/* raw_module.c */
typedef struct smk_raw_module {
    PyObject_HEAD smk_kernel_binary *binary;
    smk_error refusal;          /* why our own parser does not take the text; status OK where it does */
    const smk_backend *backend; /* asked for at construction; NULL: chosen call by call */
    PyObject *source;           /* str: the CUDA C that it was made from; None for PTX */
} smk_raw_module;

extern PyType_Spec smk_raw_module_spec;

/* RawModule(code, options=options, backend=backend); NULL for what was not given. A new reference, or NULL with an
 * exception. */
smk_raw_module *smk_raw_module_create(const smk_state *state, PyObject *code, PyObject *options, PyObject *backend);

/* The module of one of the package's own kernels, with its machine code; a new reference, or NULL with an exception. */
smk_raw_module *smk_raw_module_of_variant(const smk_state *state, const struct smk_variant *variant);

/* The parsed text, or NULL where only the GPU may take it. */
const smk_module *smk_raw_module_parsed(const smk_raw_module *module);

/* raw_kernel.c */
extern PyType_Spec smk_raw_kernel_spec;

/* The kernel of that name; a new reference, or NULL with an ArgumentError that lists the known ones. */
PyObject *smk_raw_kernel_create(const smk_state *state, smk_raw_module *module, PyObject *name);

/* What a RawKernel is made of: its module (borrowed) and the name of its entry, which live as long as it. False where
 * the object is none. */
bool smk_raw_kernel_open(const smk_state *state, PyObject *object, const smk_raw_module **module, const char **entry);

/* Names of all kernels of a module, a new tuple. */
PyObject *smk_raw_module_names(const smk_raw_module *module);

/* raw_layout.c */

/* The declaration of an entry that the GPU alone takes, as far as the GPU knows it: how many parameters there are, and
 * their bytes. The type of each is by the value that comes: a float is one of the parameter's size, all else bits. It
 * lives in the arena. 0, or -1 with an exception. */
int smk_raw_layout_make(const smk_state *state, smk_kernel_binary *binary, const char *entry, PyObject *tuple,
                        smk_arena *arena, const smk_function **function);

#endif
