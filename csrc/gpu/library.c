/* Libraries of kernels: loading of fatbins, cubins and PTX, and what their kernels need. */
#include "gpu/gpu.h"

#include "base/heap.h"
#include "gpu/assertion.h"
#include "gpu/cuda_error.h"
#include "gpu/driver.h"
#include "gpu/stream.h"

#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { LOG_BYTES = 8192, OPTION_COUNT = 2, KERNELS_KEPT = 8, NAME_BYTES = 96 };

/* A kernel that was asked for: the runtime takes longer to find one by its name. */
typedef struct kept_kernel {
    char name[NAME_BYTES];
    void *kernel;
    atomic_int state; /* 0: free; 1: being written; 2: kept */
} kept_kernel;

/* The driver may compile PTX only when a kernel is requested, and then writes the log and the option values; all of
 * them live as long as the library. */
struct smk_library {
    cudaLibrary_t handle;
    enum cudaJitOption options[OPTION_COUNT];
    void *values[OPTION_COUNT];
    char log[LOG_BYTES];
    const char *origin;
    atomic_bool compiled; /* some kernel of it was loaded onto a device */
    char *rewritten;      /* the PTX as assertion.h has it; NULL: it is loaded as it is */
    atomic_bool armed[SMK_DEVICES_MAX];
    kept_kernel kept[KERNELS_KEPT];
};

static void *find_kept(smk_library *library, const char *name)
{
    for (size_t i = 0; i < KERNELS_KEPT && atomic_load(&library->kept[i].state) == 2; i++) {
        if (strcmp(library->kept[i].name, name) == 0) {
            return library->kept[i].kernel;
        }
    }
    return NULL;
}

/* Keeps a kernel where there is room. Two threads may keep the same one twice. */
static void keep(smk_library *library, const char *name, void *kernel)
{
    for (size_t i = 0; i < KERNELS_KEPT && strlen(name) < NAME_BYTES; i++) {
        int expected = 0;
        kept_kernel *slot = &library->kept[i];
        if (atomic_compare_exchange_strong(&slot->state, &expected, 1)) {
            (void)snprintf(slot->name, sizeof slot->name, "%s", name);
            slot->kernel = kernel;
            atomic_store(&slot->state, 2);
            return;
        }
    }
}

/* Appends possible reasons for the refusal, and the log of the driver's compiler, to the message. */
static void append_reasons(const smk_library *library, cudaError_t code, const char *kernel, smk_error *error)
{
    char text[64];
    int driver = 0;
    smk_cuda_error_extend(error, kernel, NULL);
    if (code == cudaErrorUnsupportedPtxVersion && cudaDriverGetVersion(&driver) == cudaSuccess) {
        (void)snprintf(text, sizeof text, "; this driver takes PTX of CUDA %d.%d at most", driver / 1000,
                       driver % 1000 / 10);
        smk_cuda_error_extend(error, NULL, text);
    }
    if (library->origin != NULL) {
        smk_cuda_error_extend(error, NULL, "; the PTX was made by ");
        smk_cuda_error_extend(error, NULL, library->origin);
    }
    if (library->log[0] != '\0') {
        smk_cuda_error_extend(error, NULL, "; the driver's compiler says: ");
        smk_cuda_error_extend(error, NULL, library->log);
    }
}

smk_status smk_library_load(const void *image, const char *origin, smk_library **library, smk_error *error)
{
    if (image == NULL) {
        return smk_status_fail(error, SMK_ARGUMENT, "loading kernels: there is no image");
    }
    smk_library *loaded = smk_heap_allocate(1, sizeof *loaded);
    if (loaded == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no host memory to load kernels");
    }
    loaded->origin = origin;
    loaded->options[0] = cudaJitErrorLogBuffer;
    loaded->values[0] = loaded->log;
    /* an integer passed as a pointer, as the API wants it; one byte less, so that the log ends with a zero */
    loaded->options[1] = cudaJitErrorLogBufferSizeBytes;
    loaded->values[1] = (void *)(uintptr_t)(LOG_BYTES - 1);
    loaded->rewritten = smk_assertion_rewrite(image);
    cudaError_t code = cudaLibraryLoadData(&loaded->handle, loaded->rewritten != NULL ? loaded->rewritten : image,
                                           loaded->options, loaded->values, OPTION_COUNT, NULL, NULL, 0);
    if (code != cudaSuccess) {
        smk_status status = smk_cuda_error_report(code, error, "loading kernels onto the GPU");
        append_reasons(loaded, code, NULL, error);
        smk_heap_free(loaded->rewritten);
        smk_heap_free(loaded);
        return status;
    }
    *library = loaded;
    return SMK_OK;
}

void smk_library_free(smk_library *library)
{
    if (library == NULL) {
        return;
    }
    smk_driver_forget();
    /* fails where the process ends or the context is lost: then there is nothing to unload */
    if (cudaLibraryUnload(library->handle) != cudaSuccess) {
        (void)cudaGetLastError();
    }
    smk_heap_free(library->rewritten);
    smk_heap_free(library);
}

/* Once on each device, and not while a graph captures the stream, to which the copy would not belong. */
static void arm(smk_library *library)
{
    int device = 0;
    if (library->rewritten != NULL && cudaGetDevice(&device) == cudaSuccess && device < SMK_DEVICES_MAX &&
        !smk_stream_is_captured(smk_stream_now()) && !atomic_exchange(&library->armed[device], true)) {
        smk_assertion_arm(library->handle);
    }
}

smk_status smk_library_kernel(smk_library *library, const char *name, void **kernel, smk_error *error)
{
    cudaKernel_t found = NULL;
    void *kept = find_kept(library, name);
    if (kept != NULL) {
        arm(library);
        *kernel = kept;
        return SMK_OK;
    }
    cudaError_t code = cudaLibraryGetKernel(&found, library->handle, name);
    if (code == cudaErrorSymbolNotFound) {
        (void)cudaGetLastError();
        return smk_status_fail(error, SMK_ARGUMENT, "the module has no kernel '%.200s'", name);
    }
    struct cudaFuncAttributes ignored;
    if (code == cudaSuccess && !atomic_load(&library->compiled)) {
        /* makes a driver that loads lazily load now, so that errors are reported here, with the log */
        code = cudaFuncGetAttributes(&ignored, (const void *)found);
        atomic_store(&library->compiled, code == cudaSuccess);
    }
    if (code != cudaSuccess) {
        smk_status status = smk_cuda_error_report(code, error, "loading the kernel '%.100s' onto the GPU", name);
        append_reasons(library, code, name, error);
        return status;
    }
    arm(library);
    *kernel = (void *)found;
    keep(library, name, *kernel);
    return SMK_OK;
}

smk_status smk_library_symbol(smk_library *library, const char *name, uint64_t *address, uint64_t *bytes,
                              smk_error *error)
{
    void *found = NULL;
    size_t found_bytes = 0;
    cudaError_t code = cudaLibraryGetGlobal(&found, &found_bytes, library->handle, name);
    if (code != cudaSuccess) { /* a __managed__ variable is found in another way */
        (void)cudaGetLastError();
        code = cudaLibraryGetManaged(&found, &found_bytes, library->handle, name);
    }
    if (code == cudaErrorSymbolNotFound) {
        (void)cudaGetLastError();
        return smk_status_fail(error, SMK_ARGUMENT, "the module has no variable '%.200s'", name);
    }
    smk_status status = smk_cuda_error_report(code, error, "looking for the variable '%.100s'", name);
    if (status == SMK_OK) {
        *address = (uint64_t)(uintptr_t)found;
        *bytes = (uint64_t)found_bytes;
    }
    return status;
}

smk_status smk_library_attributes(void *kernel, smk_kernel_attributes *attributes, smk_error *error)
{
    struct cudaFuncAttributes read;
    memset(&read, 0, sizeof read);
    smk_status status =
        smk_cuda_error_report(cudaFuncGetAttributes(&read, kernel), error, "reading the attributes of a kernel");
    if (status == SMK_OK) {
        *attributes = (smk_kernel_attributes){
            .registers = read.numRegs,
            .max_threads = read.maxThreadsPerBlock,
            .shared_bytes = read.sharedSizeBytes,
            .local_bytes = read.localSizeBytes,
            .const_bytes = read.constSizeBytes,
            .max_dynamic_shared_bytes = read.maxDynamicSharedSizeBytes,
            .ptx_version = read.ptxVersion,
            .binary_version = read.binaryVersion,
        };
    }
    return status;
}

smk_status smk_library_parameters(void *kernel, size_t room, size_t *bytes, size_t *count, smk_error *error)
{
    size_t found = 0, offset = 0, size = 0;
    cudaError_t code = cudaFuncGetParamInfo(kernel, found, &offset, &size);
    while (code == cudaSuccess) {
        if (found < room) {
            bytes[found] = size;
        }
        found++;
        code = cudaFuncGetParamInfo(kernel, found, &offset, &size);
    }
    if (code != cudaErrorInvalidValue) { /* the error for an index beyond the last */
        return smk_cuda_error_report(code, error, "asking for the parameters of a kernel");
    }
    (void)cudaGetLastError();
    *count = found;
    return SMK_OK;
}
