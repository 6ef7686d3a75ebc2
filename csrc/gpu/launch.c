/* Launches of kernels, and the reasons why CUDA refuses one. */
#include "gpu/gpu.h"

#include "base/poll.h"
#include "gpu/cuda_error.h"
#include "gpu/driver.h"
#include "gpu/stream.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

enum { ACTION_BYTES = 256, SHARED_BYTES_PERMITTED = 48 << 10 /* dynamic, without an opt-in */ };

/* The limits of the kernel and of the present device. */
typedef struct launch_limits {
    int device;
    int block[3];
    int grid[3];
    int block_threads;    /* of the device */
    int kernel_threads;   /* of the kernel: registers and __launch_bounds__ can make it fewer */
    size_t static_shared; /* bytes a block */
    int dynamic_shared;   /* bytes a block that the kernel may have at present */
    int optin_shared;     /* bytes a block, static and dynamic together */
} launch_limits;

static const char *name_or_default(const char *name)
{
    return name != NULL && name[0] != '\0' ? name : "kernel";
}

static void describe_launch(const char *name, const smk_launch *launch, char action[ACTION_BYTES])
{
    (void)snprintf(action, ACTION_BYTES,
                   "launching %.100s with grid (%u, %u, %u), block (%u, %u, %u), %zu bytes of dynamic shared memory",
                   name_or_default(name), launch->grid.x, launch->grid.y, launch->grid.z, launch->block.x,
                   launch->block.y, launch->block.z, launch->shared_bytes);
}

static smk_status report_cuda(cudaError_t code, const char *name, const smk_launch *launch, smk_error *error)
{
    char action[ACTION_BYTES];
    describe_launch(name, launch, action);
    smk_status status = smk_cuda_error_report(code, error, "%s", action);
    if (status != SMK_OK) {
        smk_cuda_error_extend(error, name, NULL);
    }
    return status;
}

static smk_status report_limit(smk_status status, const char *name, const smk_launch *launch, smk_error *error,
                               const char *reason)
{
    char action[ACTION_BYTES];
    describe_launch(name, launch, action);
    smk_status_fail(error, status, "%s: %s", action, reason);
    smk_cuda_error_extend(error, name, NULL);
    return status;
}

static cudaError_t read_limits(void *kernel, launch_limits *limits)
{
    struct cudaFuncAttributes attributes;
    memset(&attributes, 0, sizeof attributes);
    memset(limits, 0, sizeof *limits);
    cudaError_t code = cudaFuncGetAttributes(&attributes, kernel);
    limits->kernel_threads = attributes.maxThreadsPerBlock;
    limits->static_shared = attributes.sharedSizeBytes;
    limits->dynamic_shared = attributes.maxDynamicSharedSizeBytes;
    if (code == cudaSuccess) {
        code = cudaGetDevice(&limits->device);
    }
    const struct {
        enum cudaDeviceAttr attribute;
        int *value;
    } wanted[] = {
        {cudaDevAttrMaxThreadsPerBlock, &limits->block_threads},
        {cudaDevAttrMaxBlockDimX, &limits->block[0]},
        {cudaDevAttrMaxBlockDimY, &limits->block[1]},
        {cudaDevAttrMaxBlockDimZ, &limits->block[2]},
        {cudaDevAttrMaxGridDimX, &limits->grid[0]},
        {cudaDevAttrMaxGridDimY, &limits->grid[1]},
        {cudaDevAttrMaxGridDimZ, &limits->grid[2]},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, &limits->optin_shared},
    };
    for (size_t i = 0; code == cudaSuccess && i < sizeof wanted / sizeof wanted[0]; i++) {
        code = cudaDeviceGetAttribute(wanted[i].value, wanted[i].attribute, limits->device);
    }
    return code;
}

/* Names the first of three axes that is zero or beyond its limit; false where none is. */
static bool find_bad_axis(const char *noun, smk_dim3 size, const int limit[3], char *reason, size_t reason_bytes)
{
    const uint32_t sizes[3] = {size.x, size.y, size.z};
    for (int i = 0; i < 3; i++) {
        if (sizes[i] == 0) {
            (void)snprintf(reason, reason_bytes, "%s.%c is 0", noun, "xyz"[i]);
            return true;
        }
        if ((int64_t)sizes[i] > limit[i]) {
            (void)snprintf(reason, reason_bytes, "%s.%c is %u, this GPU takes %d at most", noun, "xyz"[i], sizes[i],
                           limit[i]);
            return true;
        }
    }
    return false;
}

static smk_status check_limits(const char *name, const smk_launch *launch, const launch_limits *limits,
                               smk_error *error)
{
    char reason[256];
    if (find_bad_axis("grid", launch->grid, limits->grid, reason, sizeof reason) ||
        find_bad_axis("block", launch->block, limits->block, reason, sizeof reason)) {
        return report_limit(SMK_LAUNCH, name, launch, error, reason);
    }
    /* each axis is within its limit now, so the product fits 64 bits */
    uint64_t threads = (uint64_t)launch->block.x * launch->block.y * launch->block.z;
    if (threads > (uint64_t)limits->block_threads) {
        (void)snprintf(reason, sizeof reason, "a block of %llu threads, this GPU takes %d at most",
                       (unsigned long long)threads, limits->block_threads);
        return report_limit(SMK_LAUNCH, name, launch, error, reason);
    }
    if (threads > (uint64_t)limits->kernel_threads) {
        (void)snprintf(reason, sizeof reason,
                       "a block of %llu threads, this kernel takes %d at most (its registers or launch bounds)",
                       (unsigned long long)threads, limits->kernel_threads);
        return report_limit(SMK_LAUNCH, name, launch, error, reason);
    }
    size_t optin = (size_t)limits->optin_shared;
    if (limits->static_shared > optin || launch->shared_bytes > optin - limits->static_shared) {
        (void)snprintf(reason, sizeof reason,
                       "a block asks for %zu bytes of static and %zu bytes of dynamic shared memory, this GPU has %zu",
                       limits->static_shared, launch->shared_bytes, optin);
        return report_limit(SMK_SHARED_MEMORY, name, launch, error, reason);
    }
    return SMK_OK;
}

/* Says how many blocks of a cooperative launch the GPU holds at once. */
static smk_status report_too_large(void *kernel, const char *name, const smk_launch *launch,
                                   const launch_limits *limits, smk_error *error)
{
    int each = 0, multiprocessors = 0;
    const int threads = (int)(launch->block.x * launch->block.y * launch->block.z);
    char reason[256];
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, launch->shared_bytes) != cudaSuccess ||
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, limits->device) != cudaSuccess) {
        return report_cuda(cudaErrorCooperativeLaunchTooLarge, name, launch, error);
    }
    (void)snprintf(
        reason, sizeof reason,
        "the launch is cooperative, so all blocks must be on the GPU at once: it holds %d, %d on each of its "
        "%d multiprocessors; launch fewer blocks, each of which takes several parts of the work",
        each * multiprocessors, each, multiprocessors);
    return report_limit(SMK_LAUNCH, name, launch, error, reason);
}

static cudaError_t launch_kernel(void *kernel, const smk_launch *launch)
{
    const dim3 grid = {launch->grid.x, launch->grid.y, launch->grid.z};
    const dim3 block = {launch->block.x, launch->block.y, launch->block.z};
    if (launch->prefers_carveout || launch->cooperative) {
        /* attributes of the launch, since those of the kernel are shared by all its launches */
        cudaLaunchAttribute wishes[2];
        unsigned count = 0;
        memset(wishes, 0, sizeof wishes);
        if (launch->prefers_carveout) {
            wishes[count].id = cudaLaunchAttributePreferredSharedMemoryCarveout;
            wishes[count++].val.sharedMemCarveout = (unsigned)launch->carveout_percent;
        }
        if (launch->cooperative) {
            wishes[count].id = cudaLaunchAttributeCooperative;
            wishes[count++].val.cooperative = 1;
        }
        const cudaLaunchConfig_t config = {.gridDim = grid,
                                           .blockDim = block,
                                           .dynamicSmemBytes = launch->shared_bytes,
                                           .stream = smk_stream_now(),
                                           .attrs = wishes,
                                           .numAttrs = count};
        return cudaLaunchKernelExC(&config, kernel, launch->parameters);
    }
    cudaStream_t stream = smk_stream_now();
    return smk_driver_launch(kernel, launch, stream)
               ? cudaSuccess
               : cudaLaunchKernel(kernel, grid, block, launch->parameters, launch->shared_bytes, stream);
}

/* After a refused launch: reports the reason, or permits the shared memory that the kernel needs and tries again. */
static smk_status retry_refused(cudaError_t refusal, void *kernel, const char *name, const smk_launch *launch,
                                smk_error *error)
{
    (void)cudaGetLastError();
    launch_limits limits;
    if (read_limits(kernel, &limits) != cudaSuccess) {
        return report_cuda(refusal, name, launch, error);
    }
    if (refusal == cudaErrorCooperativeLaunchTooLarge) {
        return report_too_large(kernel, name, launch, &limits, error);
    }
    smk_status status = check_limits(name, launch, &limits, error);
    if (status != SMK_OK) {
        return status;
    }
    if (launch->shared_bytes <= (size_t)limits.dynamic_shared) {
        return report_cuda(refusal, name, launch, error);
    }
    /* Permits all shared memory and not what this launch needs, so that two threads that launch one kernel cannot
     * lower the permission for each other. A block still gets what its launch asks for. */
    int permitted = (int)((size_t)limits.optin_shared - limits.static_shared);
    cudaError_t code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, permitted);
    if (code == cudaSuccess) {
        code = launch_kernel(kernel, launch);
    }
    return code == cudaErrorCooperativeLaunchTooLarge ? report_too_large(kernel, name, launch, &limits, error)
                                                      : report_cuda(code, name, launch, error);
}

/* Permits the shared memory that a captured launch needs before it is made: a refusal would spoil the capture. */
static void permit_captured(void *kernel, const smk_launch *launch)
{
    launch_limits limits;
    if (smk_stream_is_captured(smk_stream_now()) && read_limits(kernel, &limits) == cudaSuccess &&
        launch->shared_bytes > (size_t)limits.dynamic_shared && (size_t)limits.optin_shared > limits.static_shared) {
        (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   (int)((size_t)limits.optin_shared - limits.static_shared));
    }
}

smk_status smk_launch_run(void *kernel, const char *name, const smk_launch *launch, smk_error *error)
{
    /* Limits are read only after CUDA has refused: reading them first would make launches slower by half, which is
     * visible in the timing of short kernels. The driver counts shared memory in 32 bits, so larger values must not
     * reach it. */
    cudaError_t code = cudaErrorInvalidValue;
    if (launch->shared_bytes > SHARED_BYTES_PERMITTED) {
        permit_captured(kernel, launch);
    }
    if (launch->shared_bytes <= INT32_MAX) {
        code = launch_kernel(kernel, launch);
    }
    if (code == cudaSuccess) {
        return SMK_OK;
    }
    if (smk_cuda_error_loses_context(code)) {
        return report_cuda(code, name, launch, error);
    }
    return retry_refused(code, kernel, name, launch, error);
}

smk_status smk_launch_synchronize(const char *name, smk_error *error)
{
    smk_status status = smk_poll_is_registered() ? smk_wait_launched(name_or_default(name), error) : SMK_OK;
    if (status == SMK_OK) {
        cudaStream_t stream = smk_stream_now();
        const cudaError_t code = stream == NULL ? cudaDeviceSynchronize() : cudaStreamSynchronize(stream);
        status = smk_cuda_error_report(code, error, "waiting for %.100s on the GPU", name_or_default(name));
        if (status != SMK_OK) {
            smk_cuda_error_extend(error, name, NULL);
        }
    }
    return status;
}
