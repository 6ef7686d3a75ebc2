#include "gpu/cuda_error.h"

#include "gpu/assertion.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ACTION_BYTES = 320 };

/* Why no device is usable; NULL for codes that do not mean this. */
static const char *explain_no_device(cudaError_t code)
{
    int driver = 0;
    switch (code) {
    case cudaErrorInsufficientDriver:
        /* one code means "no driver" and "driver too old"; the version distinguishes them */
        if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0) {
            return "the NVIDIA driver is older than this build needs; a newer one helps";
        }
        return "no NVIDIA driver was found";
    case cudaErrorNoDevice:
        return "the driver sees no GPU; CUDA_VISIBLE_DEVICES may hide it";
    case cudaErrorStubLibrary:
        return "libcuda is the stub of the toolkit, not a driver";
    case cudaErrorInitializationError:
        return "the driver could not start; a process that was forked after CUDA was used cannot use it";
    case cudaErrorDevicesUnavailable:
        return "another process holds the GPU, or its compute mode forbids it";
    case cudaErrorSystemNotReady:
        return "a service that the driver needs is not running";
    case cudaErrorSystemDriverMismatch:
        return "the kernel's driver and libcuda are of different versions";
    case cudaErrorCompatNotSupportedOnDevice:
        return "the installed compatibility package does not support this GPU";
    case cudaErrorCallRequiresNewerDriver:
        return "the driver is older than this call needs; a newer one helps";
    case cudaErrorStartupFailure:
    case cudaErrorDeviceNotLicensed:
    case cudaErrorSoftwareValidityNotEstablished:
        return "the CUDA runtime could not start";
    case cudaErrorCudartUnloading:
        return "the process is ending";
    default:
        return NULL;
    }
}

bool smk_cuda_error_loses_context(cudaError_t code)
{
    switch (code) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
        return true;
    default:
        return false;
    }
}

smk_status smk_cuda_error_report(cudaError_t code, smk_error *error, const char *format, ...)
{
    if (code == cudaSuccess) {
        return SMK_OK;
    }
    (void)cudaGetLastError();
    char action[ACTION_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(action, sizeof action, format, arguments);
    va_end(arguments);

    const char *name = cudaGetErrorName(code);
    const char *sentence = cudaGetErrorString(code);
    const char *explanation = explain_no_device(code);
    if (explanation != NULL) {
        return smk_status_fail(error, SMK_BACKEND, "%s: %s (%s: %s)", action, explanation, name, sentence);
    }
    if (code == cudaErrorAssert && smk_assertion_report(action, error)) {
        return SMK_ASSERTION;
    }
    if (code == cudaErrorAssert) {
        return smk_status_fail(
            error, SMK_ASSERTION,
            "%s: %s: %s. The driver has written which one to the standard error output of the "
            "process, with file, line, block and thread. The CUDA context is lost with everything in "
            "it: restart the process; backend='sim' tells more.",
            action, name, sentence);
    }
    if (smk_cuda_error_loses_context(code)) {
        return smk_status_fail(error, SMK_CUDA,
                               "%s: %s: %s. A kernel that was launched before may be the cause. The CUDA context is "
                               "lost with everything in it: restart the process.",
                               action, name, sentence);
    }
    smk_status status = code == cudaErrorMemoryAllocation ? SMK_MEMORY : SMK_CUDA;
    return smk_status_fail(error, status, "%s: %s: %s", action, name, sentence);
}

void smk_cuda_error_extend(smk_error *error, const char *kernel, const char *text)
{
    if (error == NULL) {
        return;
    }
    if (kernel != NULL && strchr(kernel, ' ') == NULL) { /* waits are for words, too: "the work of the device" */
        (void)snprintf(error->kernel, sizeof error->kernel, "%s", kernel);
    }
    if (text != NULL && text[0] != '\0') {
        size_t used = strlen(error->message);
        size_t room = sizeof error->message - used;
        int wanted = snprintf(error->message + used, room, "%s", text);
        if (wanted > 0 && (size_t)wanted >= room) {
            memcpy(error->message + sizeof error->message - 4, "...", 4);
        }
    }
}
