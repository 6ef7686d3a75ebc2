/* The parameters of a kernel whose text our parser refuses: the GPU that has loaded it knows their number and sizes. */
#ifndef SMK_PY_CALLS_RAW_LAYOUT_H
#define SMK_PY_CALLS_RAW_LAYOUT_H

#include "py/backends/kernel_binary.h"
#include "py/state.h"

#include "base/arena.h"
#include "ptx/module.h"

/* Makes a declaration of the entry from the number of its parameters and their bytes. The type of each follows from the
 * value given: a float of the parameter's size for a Python float, bits for all else. The declaration lives in the
 * arena. Returns 0, or -1 with an exception set. */
int smk_raw_layout_make(const smk_state *state, smk_kernel_binary *binary, const char *entry, PyObject *tuple,
                        smk_arena *arena, const smk_function **function);

#endif
