/* Attributes of kernels, and their occupancy. */
#include "runtime/card.h"
#include "runtime/launch_kernel.h"
#include "runtime/outcome.h"

#include <string.h>

enum { MAX_DYNAMIC_SHARED = 8, CARVEOUT = 9 };
enum { REGISTERS_ASSUMED = 32 };

SMK_EXPORT smk_cuda cudaFuncGetAttributes(smk_cuda_function_facts *facts, const void *function)
{
    smk_cuda code = SMK_CUDA_Success;
    const smk_kernel *kernel = smk_binaries_find_kernel(function, &code);
    if (code != SMK_CUDA_Success) {
        return smk_outcome_return(code);
    }
    const smk_program_attributes *attributes = &kernel->attributes;
    const int target = (int)kernel->binary->module->target;
    const int most = SMK_OCCUPANCY_SHARED_DEFAULT - (int)attributes->shared_bytes;
    *facts = (smk_cuda_function_facts){.shared_bytes = attributes->shared_bytes,
                                       .const_bytes = attributes->const_bytes,
                                       .local_bytes = attributes->local_bytes,
                                       .max_threads = (int)attributes->max_threads,
                                       .registers = REGISTERS_ASSUMED,
                                       .ptx_version = target,
                                       .binary_version = smk_runtime_card_capability(),
                                       .max_dynamic_shared =
                                           kernel->max_dynamic_shared >= 0 ? kernel->max_dynamic_shared : most,
                                       .carveout = kernel->carveout};
    return smk_outcome_begin();
}

static smk_cuda set_attribute(smk_kernel *kernel, int attribute, int value)
{
    const smk_limits *limits = smk_runtime_card_get()->limits;
    switch (attribute) {
    case MAX_DYNAMIC_SHARED:
        if (value < 0 || (size_t)value + kernel->attributes.shared_bytes > limits->shared_optin) {
            smk_outcome_say_of(kernel->name,
                               "%d bytes of dynamic shared memory beside %zu static ones are more than the %u of a "
                               "block on this card",
                               value, kernel->attributes.shared_bytes, limits->shared_optin);
            return SMK_CUDA_ErrorInvalidValue;
        }
        kernel->max_dynamic_shared = value;
        return SMK_CUDA_Success;
    case CARVEOUT:
        kernel->carveout = value;
        return value >= -1 && value <= 100 ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue;
    }
    return SMK_CUDA_ErrorNotSupported; /* an attribute that cards have and this one has not */
}

SMK_EXPORT smk_cuda cudaFuncSetAttribute(const void *function, int attribute, int value)
{
    smk_cuda code = SMK_CUDA_Success;
    smk_kernel *kernel = smk_binaries_find_kernel(function, &code);
    return smk_outcome_return(code == SMK_CUDA_Success ? set_attribute(kernel, attribute, value) : code);
}

SMK_EXPORT smk_cuda cudaKernelSetAttributeForDevice(const void *kernel, int attribute, int value, int device)
{
    return device == 0 ? cudaFuncSetAttribute(kernel, attribute, value)
                       : smk_outcome_return(SMK_CUDA_ErrorInvalidDevice);
}

SMK_EXPORT smk_cuda cudaFuncSetCacheConfig(const void *function, int config)
{
    smk_cuda code = SMK_CUDA_Success;
    (void)config;
    (void)smk_binaries_find_kernel(function, &code);
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaFuncSetSharedMemConfig(const void *function, int config)
{
    return cudaFuncSetCacheConfig(function, config);
}

SMK_EXPORT smk_cuda cudaFuncGetName(const char **name, const void *function)
{
    smk_cuda code = SMK_CUDA_Success;
    const smk_kernel *kernel = smk_binaries_find_kernel(function, &code);
    if (code == SMK_CUDA_Success) {
        *name = kernel->name;
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset, size_t *bytes)
{
    smk_cuda code = SMK_CUDA_Success;
    const smk_kernel *kernel = smk_binaries_find_kernel(function, &code);
    if (code != SMK_CUDA_Success || index >= kernel->parameter_count) {
        return smk_outcome_return(code != SMK_CUDA_Success ? code : SMK_CUDA_ErrorInvalidValue);
    }
    const smk_variable *parameters = kernel->binary->module->functions[kernel->entry].variables;
    size_t at = 0;
    for (size_t i = 0; i <= index; i++) {
        const size_t alignment = parameters[i].alignment;
        *offset = (at + alignment - 1) / alignment * alignment;
        at = *offset + (size_t)parameters[i].bytes;
    }
    if (bytes != NULL) {
        *bytes = (size_t)parameters[index].bytes;
    }
    return SMK_CUDA_Success;
}

/* A kernel is the handle of its function. */
SMK_EXPORT smk_cuda cudaGetKernel(void **kernel, const void *function)
{
    smk_cuda code = SMK_CUDA_Success;
    *kernel = smk_binaries_find_kernel(function, &code);
    return smk_outcome_return(code);
}
SMK_EXPORT_AS(cudaGetFuncBySymbol, cudaGetKernel);

/* Occupancy ------------------------------------------------------------------------------------------------ */

SMK_EXPORT smk_cuda cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                           int threads, size_t shared_bytes,
                                                                           unsigned flags)
{
    smk_cuda code = SMK_CUDA_Success;
    uint32_t resident = 0;
    const smk_kernel *kernel = smk_binaries_find_kernel(function, &code);
    (void)flags;
    *blocks = 0;
    if (code == SMK_CUDA_Success && threads <= 0) {
        code = SMK_CUDA_ErrorInvalidValue;
    }
    if (code == SMK_CUDA_Success) {
        code = smk_launch_kernel_count_resident(kernel, (uint32_t)threads, shared_bytes, &resident);
        *blocks = (int)resident;
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                                  size_t shared_bytes)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared_bytes, 0);
}

SMK_EXPORT smk_cuda cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks,
                                                              int threads)
{
    const smk_limits *limits = smk_runtime_card_get()->limits;
    smk_cuda code = SMK_CUDA_Success;
    const smk_kernel *kernel = smk_binaries_find_kernel(function, &code);
    uint32_t resident = 0;
    *bytes = 0;
    if (code != SMK_CUDA_Success || blocks <= 0 || threads <= 0) {
        return smk_outcome_return(code != SMK_CUDA_Success ? code : SMK_CUDA_ErrorInvalidValue);
    }
    size_t most = limits->shared_sm / (size_t)blocks;
    most = most > limits->shared_optin ? limits->shared_optin : most - limits->shared_reserved;
    most -= most < kernel->attributes.shared_bytes ? most : kernel->attributes.shared_bytes;
    code = smk_launch_kernel_count_resident(kernel, (uint32_t)threads, 0, &resident);
    *bytes = resident >= (uint32_t)blocks ? most / limits->shared_unit * limits->shared_unit : 0;
    return smk_outcome_return(code);
}
