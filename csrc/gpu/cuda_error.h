/* From CUDA's error codes to smk_status; private to csrc/gpu. */
#ifndef SMK_GPU_CUDA_ERROR_H
#define SMK_GPU_CUDA_ERROR_H

#include "base/status.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

/* SMK_OK for cudaSuccess. Else fills `error`: the failed action (`format`), CUDA's name of the code, its sentence, and
 * advice where there is any. Clears the calling thread's last CUDA error, so that it is not reported twice. MEMORY
 * where memory ran out, BACKEND where there is no usable driver or device, else CUDA. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
smk_status
smk_cuda_error_report(cudaError_t code, smk_error *error, const char *format, ...);

/* True for the codes after which every further call of the process fails with the same code. */
bool smk_cuda_error_loses_context(cudaError_t code);

/* Appends text to the message, shortened with "..." where it does not fit, and names the kernel. Both may be NULL. */
void smk_cuda_error_extend(smk_error *error, const char *kernel, const char *text);

#endif
