/* What the files of csrc/gpu share about streams. */
#ifndef SMK_GPU_STREAM_H
#define SMK_GPU_STREAM_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

/* The stream that the thread has entered on the present device; NULL, the legacy default stream, where it has not. Makes
 * no call of CUDA where the thread has entered no stream of any device. */
cudaStream_t smk_stream_now(void);

/* Does a graph capture the work of the stream? False for the legacy default stream, which cannot be captured. */
bool smk_stream_is_captured(cudaStream_t stream);

/* Where a stream of smk_stream_create keeps the address of its block of zeros (0: none yet), which is freed with it. NULL
 * for a stream of another library. */
_Atomic(uint64_t) *smk_stream_zeros(cudaStream_t stream);

#endif
