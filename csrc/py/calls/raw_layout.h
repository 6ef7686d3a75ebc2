/* Parameters of a kernel whose text our parser refuses: their number and sizes, from the GPU that has loaded it. */
#ifndef SMK_PY_CALLS_RAW_LAYOUT_H
#define SMK_PY_CALLS_RAW_LAYOUT_H

#include "py/backends/kernel_binary.h"
#include "py/state.h"

#include "base/arena.h"
#include "ptx/module.h"

/* The declaration of an entry that the GPU alone takes, as far as the GPU knows it: how many parameters there are, and
 * their bytes. The type of each is by the value that comes: a float is one of the parameter's size, all else bits. It
 * lives in the arena. 0, or -1 with an exception. */
int smk_raw_layout_make(const smk_state *state, smk_kernel_binary *binary, const char *entry, PyObject *tuple,
                        smk_arena *arena, const smk_function **function);

#endif
