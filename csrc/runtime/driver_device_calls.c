/* The driver's devices and contexts: one of each. A context is what a thread has made its own. */
#include "runtime/card.h"
#include "runtime/driver.h"
#include "runtime/outcome.h"
#include "runtime/session.h"

#include <stdio.h>
#include <string.h>

typedef struct smk_cuda_context {
    unsigned flags;
    unsigned long long number;
} smk_cuda_context;

enum { CONTEXTS_MAX = 64, API_VERSION = 3020, UUID_BYTES = 16 };

static smk_cuda_context only = {.number = 1};
static _Thread_local smk_cuda_context *stack[CONTEXTS_MAX];
static _Thread_local unsigned depth;

static smk_cuda check_device(int device)
{
    return device == 0 ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidDevice;
}

SMK_EXPORT smk_cuda cuInit(unsigned flags)
{
    return flags == 0 ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue;
}

/* Devices ------------------------------------------------------------------------------------------------- */

SMK_EXPORT smk_cuda cuDeviceGet(int *device, int number)
{
    *device = 0;
    return check_device(number);
}

SMK_EXPORT smk_cuda cuDeviceGetName(char *name, int length, int device)
{
    if (length > 0) {
        (void)snprintf(name, (size_t)length, "NVIDIA %s (simulated by smemkit)", smk_runtime_card_get()->name);
    }
    return check_device(device);
}

SMK_EXPORT smk_cuda cuDeviceGetUuid_v2(void *number, int device)
{
    memcpy(number, "smemkit simulator", UUID_BYTES);
    return check_device(device);
}
SMK_EXPORT_AS(cuDeviceGetUuid, cuDeviceGetUuid_v2);

SMK_EXPORT smk_cuda cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)smk_runtime_card_get()->memory_gib << 30;
    return check_device(device);
}

SMK_EXPORT smk_cuda cuDeviceComputeCapability(int *major, int *minor, int device)
{
    *major = smk_runtime_card_capability() / 10;
    *minor = smk_runtime_card_capability() % 10;
    return check_device(device);
}

/* Contexts ------------------------------------------------------------------------------------------------ */

/* The context of the thread; NULL: it has none. */
static smk_cuda_context *current(void)
{
    return depth > 0 ? stack[depth - 1] : smk_session_uses_runtime() ? &only : NULL;
}

static smk_cuda push(smk_cuda_context *context)
{
    if (depth == CONTEXTS_MAX) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    stack[depth++] = context;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuCtxPushCurrent_v2(smk_cuda_context *context)
{
    return context == &only ? push(context) : SMK_CUDA_ErrorDeviceUninitialized;
}

SMK_EXPORT smk_cuda cuCtxPopCurrent_v2(smk_cuda_context **context)
{
    if (depth == 0) {
        return SMK_CUDA_ErrorDeviceUninitialized;
    }
    depth--;
    if (context != NULL) {
        *context = stack[depth];
    }
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuCtxSetCurrent(smk_cuda_context *context)
{
    if (context != NULL && context != &only) {
        return SMK_CUDA_ErrorDeviceUninitialized;
    }
    depth = depth > 0 ? depth - 1 : 0;
    return context == NULL ? SMK_CUDA_Success : push(context);
}

SMK_EXPORT smk_cuda cuCtxGetCurrent(smk_cuda_context **context)
{
    *context = current();
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuCtxCreate_v2(smk_cuda_context **context, unsigned flags, int device)
{
    const smk_cuda code = check_device(device);
    if (code != SMK_CUDA_Success) {
        return code;
    }
    only.flags = flags;
    *context = &only;
    return push(&only);
}

SMK_EXPORT smk_cuda cuCtxCreate_v3(smk_cuda_context **context, const void *affinity, int count, unsigned flags,
                                   int device)
{
    (void)affinity, (void)count;
    return cuCtxCreate_v2(context, flags, device);
}

SMK_EXPORT smk_cuda cuCtxCreate_v4(smk_cuda_context **context, const void *wanted, unsigned flags, int device)
{
    (void)wanted;
    return cuCtxCreate_v2(context, flags, device);
}

/* Memory and kernels stay: another context of the program is the same one. */
SMK_EXPORT smk_cuda cuCtxDestroy_v2(smk_cuda_context *context)
{
    if (depth > 0 && stack[depth - 1] == context) {
        depth--;
    }
    return context == &only ? SMK_CUDA_Success : SMK_CUDA_ErrorDeviceUninitialized;
}

SMK_EXPORT smk_cuda cuCtxDetach(smk_cuda_context *context)
{
    return cuCtxDestroy_v2(context);
}

SMK_EXPORT smk_cuda cuCtxGetDevice(int *device)
{
    *device = 0;
    return current() == NULL ? SMK_CUDA_ErrorDeviceUninitialized : SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuCtxGetFlags(unsigned *flags)
{
    *flags = only.flags;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuCtxGetId(const smk_cuda_context *context, unsigned long long *number)
{
    (void)context;
    *number = only.number;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuCtxGetApiVersion(const smk_cuda_context *context, unsigned *version)
{
    (void)context;
    *version = API_VERSION;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuCtxEnablePeerAccess(const smk_cuda_context *context, unsigned flags)
{
    (void)context, (void)flags;
    return SMK_CUDA_ErrorInvalidDevice; /* there is no other device */
}

SMK_EXPORT smk_cuda cuCtxDisablePeerAccess(const smk_cuda_context *context)
{
    return cuCtxEnablePeerAccess(context, 0);
}

SMK_EXPORT smk_cuda cuCtxAttach(smk_cuda_context **context, unsigned flags)
{
    (void)flags;
    *context = &only;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuProfilerInitialize(const char *settings, const char *output, int mode)
{
    (void)settings, (void)output, (void)mode;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuDevicePrimaryCtxRetain(smk_cuda_context **context, int device)
{
    *context = &only;
    return check_device(device);
}

SMK_EXPORT smk_cuda cuDevicePrimaryCtxRelease_v2(int device)
{
    return check_device(device);
}

SMK_EXPORT smk_cuda cuDevicePrimaryCtxReset_v2(int device)
{
    smk_outcome_reset();
    return check_device(device);
}

SMK_EXPORT smk_cuda cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
    only.flags = flags;
    return check_device(device);
}

SMK_EXPORT smk_cuda cuCtxSetFlags(unsigned flags)
{
    only.flags = flags;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    *flags = only.flags;
    *active = 1;
    return check_device(device);
}

SMK_EXPORT smk_cuda cuStreamGetCtx(smk_cuda_stream_handle stream, smk_cuda_context **context)
{
    (void)stream;
    *context = &only;
    return SMK_CUDA_Success;
}
SMK_EXPORT_AS(cuStreamGetCtx_ptsz, cuStreamGetCtx);

/* No stream is of a part of the device. */
SMK_EXPORT smk_cuda cuStreamGetCtx_v2(smk_cuda_stream_handle stream, smk_cuda_context **context, void **part)
{
    *part = NULL;
    return cuStreamGetCtx(stream, context);
}
SMK_EXPORT_AS(cuStreamGetCtx_v2_ptsz, cuStreamGetCtx_v2);
