/* Launches of kernels: the calls of <<<...>>> and of the program itself. */
#include "runtime/outcome.h"
#include "runtime/session.h"
#include "runtime/stream.h"
#include "runtime/watch.h"

#include <stdbool.h>

/* What <<<...>>> leaves for the stub of a kernel that nvcc makes. Calls of kernels may nest in arguments. */
typedef struct pushed_launch {
    smk_dim3 grid, block;
    size_t shared_bytes;
    smk_cuda_stream_handle stream;
} pushed_launch;

enum { PUSHED_MAX = 64, ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4 };

static _Thread_local pushed_launch pushed[PUSHED_MAX];
static _Thread_local unsigned pushed_count;

SMK_EXPORT unsigned __cudaPushCallConfiguration(smk_dim3 grid, smk_dim3 block, size_t shared_bytes,
                                                smk_cuda_stream_handle stream)
{
    if (pushed_count == PUSHED_MAX) {
        return 1;
    }
    pushed[pushed_count++] = (pushed_launch){grid, block, shared_bytes, stream};
    return 0;
}

SMK_EXPORT smk_cuda __cudaPopCallConfiguration(smk_dim3 *grid, smk_dim3 *block, size_t *shared_bytes,
                                               smk_cuda_stream_handle *stream)
{
    if (pushed_count == 0) {
        return smk_outcome_return(SMK_CUDA_ErrorMissingConfiguration);
    }
    const pushed_launch *top = &pushed[--pushed_count];
    *grid = top->grid;
    *block = top->block;
    *shared_bytes = top->shared_bytes;
    *stream = top->stream;
    return SMK_CUDA_Success;
}

/* Notes a launch that is refused for what its kernel is; the kernel may be unknown. */
static smk_cuda refuse(const smk_kernel *kernel, smk_cuda code, const smk_error *why)
{
    smk_watch_add_failure(kernel == NULL ? "" : kernel->name, NULL, true, code, why);
    return code;
}

static smk_cuda refuse_unknown(smk_cuda code)
{
    smk_error error;
    (void)smk_status_fail(&error, SMK_ARGUMENT,
                          "a launch of a kernel that is not known here, as those are of a library with a CUDA runtime "
                          "of its own that was stripped: build it with -cudart shared");
    smk_outcome_say("%s", error.message);
    return refuse(NULL, code, &error);
}

static smk_cuda refuse_clusters(const void *function)
{
    smk_cuda code = SMK_CUDA_Success;
    smk_error error;
    const smk_kernel *kernel = smk_binaries_find_kernel(function, &code);
    (void)smk_status_fail(&error, SMK_UNSUPPORTED, "clusters of more than one block are not simulated");
    smk_outcome_say_of(kernel == NULL ? "" : kernel->name, "%s", error.message);
    return refuse(kernel, SMK_CUDA_ErrorNotSupported, &error);
}

static smk_cuda launch(smk_work_launch *wanted, const void *function, smk_cuda_stream_handle stream)
{
    smk_cuda code = SMK_CUDA_Success;
    wanted->kernel = smk_binaries_find_kernel(function, &code);
    if (wanted->kernel == NULL) {
        code = refuse_unknown(code);
    } else if (code != SMK_CUDA_Success) {
        code = refuse(wanted->kernel, code, &wanted->kernel->why);
    } else {
        const smk_work work = {.kind = SMK_WORK_KERNEL, .as.launch = *wanted};
        code = smk_stream_submit(stream, &work);
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaLaunchKernel(const void *function, smk_dim3 grid, smk_dim3 block, void **parameters,
                                     size_t shared_bytes, smk_cuda_stream_handle stream)
{
    smk_work_launch wanted = {
        .grid = grid, .block = block, .shared_bytes = shared_bytes, .parameters = parameters, .cooperative = false};
    smk_session_use_runtime();
    return launch(&wanted, function, stream);
}
SMK_EXPORT_AS(cudaLaunchKernel_ptsz, cudaLaunchKernel);
SMK_EXPORT_AS(__cudaLaunchKernel, cudaLaunchKernel);
SMK_EXPORT_AS(__cudaLaunchKernel_ptsz, cudaLaunchKernel);

SMK_EXPORT smk_cuda cudaLaunchCooperativeKernel(const void *function, smk_dim3 grid, smk_dim3 block, void **parameters,
                                                size_t shared_bytes, smk_cuda_stream_handle stream)
{
    smk_work_launch wanted = {
        .grid = grid, .block = block, .shared_bytes = shared_bytes, .parameters = parameters, .cooperative = true};
    return launch(&wanted, function, stream);
}
SMK_EXPORT_AS(cudaLaunchCooperativeKernel_ptsz, cudaLaunchCooperativeKernel);

SMK_EXPORT smk_cuda cudaLaunchKernelExC(const smk_cuda_launch_config *config, const void *function, void **parameters)
{
    smk_work_launch wanted = {
        .grid = config->grid, .block = config->block, .shared_bytes = config->shared_bytes, .parameters = parameters};
    for (unsigned i = 0; i < config->attribute_count; i++) {
        const smk_cuda_launch_attribute *attribute = &config->attributes[i];
        const smk_dim3 *cluster = (const smk_dim3 *)(const void *)attribute->value.bytes;
        if (attribute->id == ATTRIBUTE_COOPERATIVE) {
            wanted.cooperative = attribute->value.number != 0;
        } else if (attribute->id == ATTRIBUTE_CLUSTER && (cluster->x > 1 || cluster->y > 1 || cluster->z > 1)) {
            return smk_outcome_return(refuse_clusters(function));
        }
    }
    return launch(&wanted, function, config->stream);
}
SMK_EXPORT_AS(cudaLaunchKernelExC_ptsz, cudaLaunchKernelExC);
