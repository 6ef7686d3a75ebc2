/* Python values as the parameters of a kernel. */
#ifndef SMK_PY_CALLS_ARGUMENT_H
#define SMK_PY_CALLS_ARGUMENT_H

#include "py/backends/backend.h"
#include "py/calls/execute.h"
#include "py/state.h"

#include "base/arena.h"
#include "ptx/module.h"

/* All arguments of one call. Zero-initialise; smk_argument_free at the end, whatever happened. */
typedef struct smk_arguments {
    const smk_state *state;
    const char *kernel;           /* for messages */
    const smk_module *module;     /* NULL where our parser refuses the text */
    const smk_function *function; /* the entry's parameters, declared or as the GPU has them */
    PyObject *values;             /* owned tuple */
    size_t count;
    void **parameters;
    smk_transfer *transfers; /* one for each host array that differs from those before it */
    size_t transfer_count;
    PyArrayObject **originals;  /* borrowed from values, by transfer */
    PyArrayObject **plain;      /* owned: the original or its plain copy, which is copied in and out, by transfer */
    PyObject *holds;            /* owned list: what keeps the originals from being resized meanwhile */
    const smk_backend *backend; /* of the device arrays; NULL where there are none */
    int device;                 /* of that machine, that they all lie on */
    bool has_host;
    smk_arena arena;
} smk_arguments;

/* Converts a tuple or list: numbers first, for what they are asked for may run any code, and arrays behind them. 0, or
 * -1 with an exception. */
int smk_argument_convert(smk_arguments *arguments, PyObject *sequence);

/* After a run: results into the originals that could not be written in place. 0, or -1 with an exception. */
int smk_argument_copy_back(const smk_arguments *arguments);

void smk_argument_free(smk_arguments *arguments);

#endif
