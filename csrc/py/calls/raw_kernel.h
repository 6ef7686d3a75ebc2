/* A kernel of a module: the object behind smemkit.RawKernel. */
#ifndef SMK_PY_CALLS_RAW_KERNEL_H
#define SMK_PY_CALLS_RAW_KERNEL_H

#include "py/calls/raw_module.h"
#include "py/state.h"

enum { SMK_RAW_KERNEL_NO_CARVEOUT = -1 };

typedef struct smk_raw_kernel {
    PyObject_HEAD smk_raw_module *module;
    vectorcallfunc vectorcall;
    PyObject *name;        /* str: the PTX entry */
    PyObject *label;       /* str: the name in messages, which is not mangled */
    const char *text;      /* the UTF-8 text of `name` */
    uint32_t entry;        /* index in the parsed module; SMK_NO_INDEX where there is none */
    PyObject *declaration; /* of its parameters in CUDA C, as smk_declaration_read makes it */
    bool prints;           /* the module calls printf */
    _Atomic int carveout;  /* preferred, in percent; or SMK_RAW_KERNEL_NO_CARVEOUT */
} smk_raw_kernel;

/* The kernel of that name, in PTX or in the CUDA C; a new reference, or NULL with an ArgumentError that lists the known ones. */
PyObject *smk_raw_kernel_create(const smk_state *state, smk_raw_module *module, PyObject *name);

/* NULL where the object is no RawKernel. */
const smk_raw_kernel *smk_raw_kernel_cast(const smk_state *state, PyObject *object);

/* The parsed entry, or NULL where only the GPU may take the text. */
const smk_function *smk_raw_kernel_function(const smk_raw_kernel *kernel);

#endif
