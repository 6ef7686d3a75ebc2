/* The stream on which the calling thread works; private to csrc/gpu. */
#ifndef SMK_GPU_STREAM_H
#define SMK_GPU_STREAM_H

#include <cuda_runtime_api.h>

/* The stream that the thread has entered on the present device; NULL, the legacy default stream, where it has not. Makes
 * no call of CUDA where the thread has entered no stream of any device. */
cudaStream_t smk_stream_now(void);

#endif
