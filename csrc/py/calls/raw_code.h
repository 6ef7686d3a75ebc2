/* The code that a user passes: PTX is taken as it is, CUDA C is compiled. */
#ifndef SMK_PY_CALLS_RAW_CODE_H
#define SMK_PY_CALLS_RAW_CODE_H

#include "py/state.h"

#include <stdbool.h>

/* What a user gives; NULL for what was not given. */
typedef struct smk_raw_input {
    PyObject *code;        /* str or bytes */
    PyObject *options;     /* for the compiler */
    PyObject *expressions; /* names of kernels in C++, of templates with their arguments */
    bool implied;          /* PTX is taken with expressions too */
    bool cooperative;      /* the kernels are launched with all of their blocks at once */
} smk_raw_input;

/* What comes of it, all owned by the caller. */
typedef struct smk_raw_text {
    PyObject *ptx;    /* str or bytes: the code itself, or what a compiler makes of it */
    PyObject *source; /* the CUDA C; None where the code is PTX */
    PyObject *origin; /* the name of the compiler; NULL where the code is PTX */
    PyObject *names;  /* a dict from expression to the kernel's name in the PTX */
} smk_raw_text;

/* Fills *text, which is zero, also in part where it fails. Returns 0, or -1 with an exception set. */
int smk_raw_code_get_ptx(const smk_state *state, const smk_raw_input *input, smk_raw_text *text);

/* Releases what the text holds. */
void smk_raw_code_free(smk_raw_text *text);

#endif
