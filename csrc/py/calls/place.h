/* The name of an argument in messages, which is written where a message needs it: that takes longer than the rest of a
 * conversion. */
#ifndef SMK_PY_CALLS_PLACE_H
#define SMK_PY_CALLS_PLACE_H

#include "py/api.h"

#include "ptx/module.h"

enum { SMK_PLACE_BYTES = 256 };

typedef struct smk_place {
    const char *kernel;
    const smk_function *function; /* declares the parameters */
    PyObject *declaration;        /* borrowed, as smk_declaration_read makes it; NULL: none */
    size_t index;                 /* of the argument */
    char text[SMK_PLACE_BYTES];   /* "": not written yet */
} smk_place;

/* "scale: args[1] (const float *x)" where the declaration is known, else as in "scale: args[1] (.u32 scale_param_1)". It
 * lives as long as the place. */
const char *smk_place_text(smk_place *place);

#endif
