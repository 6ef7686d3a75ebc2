/* Errors as the CUDA runtime has them: a code that each call returns, the last one of a thread, and the one that a kernel
 * left behind, which every later call returns. */
#ifndef SMK_RUNTIME_OUTCOME_H
#define SMK_RUNTIME_OUTCOME_H

#include "base/status.h"
#include "runtime/abi.h"

/* The code of a call: remembers an error as the last one of the thread. */
smk_cuda smk_outcome_return(smk_cuda code);

/* The error that a kernel left behind, or Success: what a call of the device begins with. */
smk_cuda smk_outcome_begin(void);

/* The code for an error of the simulator. */
smk_cuda smk_outcome_find_code(const smk_error *error);

/* Its name, as cudaGetErrorName gives it. */
const char *smk_outcome_name(smk_cuda code);

/* Leaves the error of a kernel behind, with its message on stderr. The launch itself has succeeded by then, as it has on
 * a GPU, where kernels run later. */
void smk_outcome_fault(const smk_error *error);

/* The code for an error of the simulator that is no fault of a kernel, with its message on stderr. */
smk_cuda smk_outcome_refuse(const smk_error *error);

/* Forgets the error of a kernel, as a reset of the device does. */
void smk_outcome_reset(void);

/* Writes "smemkit run: ..." to stderr, behind the output of the program. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void smk_outcome_say(const char *format, ...);

/* The same of a kernel, whose mangled name becomes that of the source: "scale<float>(float*): ...". */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void smk_outcome_say_of(const char *kernel, const char *format, ...);

#endif
