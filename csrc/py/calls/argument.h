/* Python values as the parameters of a kernel. */
#ifndef SMK_PY_CALLS_ARGUMENT_H
#define SMK_PY_CALLS_ARGUMENT_H

#include "py/backends/backend.h"
#include "py/calls/execute.h"
#include "py/state.h"

#include "base/arena.h"
#include "ptx/module.h"

/* All arguments of one call. Zero-initialise but for the first five; smk_argument_free at the end in any case. */
typedef struct smk_arguments {
    const smk_state *state;
    const char *kernel;           /* for messages */
    const smk_module *module;     /* NULL where our parser refuses the text */
    const smk_function *function; /* declares the parameters, as the text or as the GPU has them */
    PyObject *declaration;        /* borrowed, as smk_declaration_read makes it; NULL: none */
    PyObject *given;              /* owned tuple */
    PyObject *values;             /* owned tuple: `given`, with arrays of other libraries as ours or NumPy's */
    size_t count;
    void **parameters;
    smk_launch_array *arrays; /* what messages call them, by parameter */
    smk_transfer *transfers;  /* one for each different host array */
    size_t transfer_count;
    PyArrayObject **originals; /* borrowed from values, by transfer */
    PyArrayObject **plain; /* owned: the originals or plain copies of them, which are copied in and out, by transfer */
    PyObject *holds;       /* owned list: keeps the originals from being resized */
    const smk_backend *backend; /* of the device arrays; NULL where there are none */
    int device;                 /* of that machine: where they all are */
    bool has_host;
    smk_arena arena;
} smk_arguments;

/* Converts a tuple or list. Numbers come first, because their conversion may run any Python code, and arrays after
 * them. Returns 0, or -1 with an exception set. */
int smk_argument_convert(smk_arguments *arguments, PyObject *sequence);

/* Ends a run: copies the results to the originals that could not be written in place, and orders the work of other
 * libraries behind it. Returns 0, or -1 with an exception set. */
int smk_argument_finish(const smk_arguments *arguments);

void smk_argument_free(smk_arguments *arguments);

#endif
