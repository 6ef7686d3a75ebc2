/* How programs reach the driver: codes, entry points by name, and the functions that the runtime has too. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* for RTLD_DEFAULT under -std=c11 */
#endif

#include "runtime/driver.h"
#include "runtime/missing.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 128, VERSION_LAST = 4, FOUND = 0, NOT_FOUND = 1 };

/* Versions of functions of which there are several here; of all others there is one. */
typedef struct entry_version {
    const char *name;
    int first; /* the version of CUDA that it came with */
    const char *entry;
} entry_version;

static const entry_version versions[] = {
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"},
    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuCtxCreate", 0, "cuCtxCreate_v2"},
    {"cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"},
    {"cuDeviceGetUuid", 0, "cuDeviceGetUuid"},
    {"cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"},
    {"cuEventElapsedTime", 0, "cuEventElapsedTime"},
    {"cuGraphAddNode", 12030, "cuGraphAddNode_v2"},
    {"cuGraphAddNode", 0, "cuGraphAddNode"},
    {"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
    {"cuGraphKernelNodeGetParams", 12000, "cuGraphKernelNodeGetParams_v2"},
    {"cuGraphKernelNodeGetParams", 0, "cuGraphKernelNodeGetParams"},
    {"cuMemAdvise", 12020, "cuMemAdvise_v2"},
    {"cuMemAdvise", 0, "cuMemAdvise"},
    {"cuMemPrefetchAsync", 12020, "cuMemPrefetchAsync_v2"},
    {"cuMemPrefetchAsync", 0, "cuMemPrefetchAsync"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"},
    {"cuStreamGetCaptureInfo", 0, "cuStreamGetCaptureInfo"},
    {"cuStreamUpdateCaptureDependencies", 12030, "cuStreamUpdateCaptureDependencies_v2"},
    {"cuStreamUpdateCaptureDependencies", 0, "cuStreamUpdateCaptureDependencies"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGetProcAddress", 0, "cuGetProcAddress"},
};

/* Codes of the runtime that the driver has not, each with what it returns instead. */
static const smk_cuda replaced[][2] = {
    {SMK_CUDA_ErrorInvalidConfiguration, SMK_CUDA_ErrorInvalidValue},
    {SMK_CUDA_ErrorInvalidPitchValue, SMK_CUDA_ErrorInvalidValue},
    {SMK_CUDA_ErrorInvalidHostPointer, SMK_CUDA_ErrorInvalidValue},
    {SMK_CUDA_ErrorInvalidDevicePointer, SMK_CUDA_ErrorInvalidValue},
    {SMK_CUDA_ErrorInvalidChannelDescriptor, SMK_CUDA_ErrorInvalidValue},
    {SMK_CUDA_ErrorInvalidMemcpyDirection, SMK_CUDA_ErrorInvalidValue},
    {SMK_CUDA_ErrorInvalidFilterSetting, SMK_CUDA_ErrorInvalidValue},
    {SMK_CUDA_ErrorInvalidNormSetting, SMK_CUDA_ErrorInvalidValue},
    {SMK_CUDA_ErrorInvalidSymbol, SMK_CUDA_ErrorSymbolNotFound},
    {SMK_CUDA_ErrorInvalidDeviceFunction, SMK_CUDA_ErrorSymbolNotFound},
};

smk_cuda smk_driver_code(smk_cuda code)
{
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; ++i) {
        if (replaced[i][0] == code) {
            return replaced[i][1];
        }
    }
    return code;
}

#define SMK_DRIVER_CALL(name, runtime, parameters, arguments)                                                          \
    extern smk_cuda runtime parameters;                                                                                \
    SMK_EXPORT smk_cuda name parameters;                                                                               \
    SMK_EXPORT smk_cuda name parameters                                                                                \
    {                                                                                                                  \
        return smk_driver_code(runtime arguments);                                                                     \
    }
#define SMK_DRIVER_AS(other, name) SMK_EXPORT_AS(other, name);
#include "runtime/driver.def"
#undef SMK_DRIVER_CALL
#undef SMK_DRIVER_AS

SMK_EXPORT smk_cuda cuGetErrorName(smk_cuda code, const char **name)
{
    switch ((int)code) {
#define SMK_DRIVER_ERROR(number, word)                                                                                 \
    case number:                                                                                                       \
        *name = "CUDA_" #word;                                                                                         \
        return SMK_CUDA_Success;
#include "runtime/driver_error.def"
#undef SMK_DRIVER_ERROR
    }
    *name = NULL;
    return SMK_CUDA_ErrorInvalidValue;
}

extern const char *cudaGetErrorString(smk_cuda code);

SMK_EXPORT smk_cuda cuGetErrorString(smk_cuda code, const char **text)
{
    const smk_cuda known = cuGetErrorName(code, text);
    if (known == SMK_CUDA_Success) {
        *text = cudaGetErrorString(code);
    }
    return known;
}

/* The newest of the functions of a name that are here: that without a number, or with the largest. */
static void *find_newest(void *library, const char *name)
{
    char numbered[NAME_BYTES];
    void *found = NULL;
    for (int version = VERSION_LAST; version > 1 && found == NULL; version--) {
        (void)snprintf(numbered, sizeof numbered, "%s_v%d", name, version);
        found = smk_missing_has(numbered) ? NULL : dlsym(library, numbered);
    }
    return found != NULL || smk_missing_has(name) ? found : dlsym(library, name);
}

static void *find_entry(const char *name, int version)
{
    Dl_info own;
    void *library = dladdr((const void *)versions, &own) == 0 ? NULL : dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        if (strcmp(versions[i].name, name) == 0 && version >= versions[i].first) {
            return dlsym(library, versions[i].entry);
        }
    }
    return find_newest(library, name);
}

SMK_EXPORT smk_cuda cuGetProcAddress_v2(const char *name, void **entry, int version, uint64_t flags, int *found)
{
    (void)flags;
    *entry = strncmp(name, "cu", 2) == 0 && strncmp(name, "cuda", 4) != 0 ? find_entry(name, version) : NULL;
    if (found != NULL) {
        *found = *entry != NULL ? FOUND : NOT_FOUND;
    }
    return *entry != NULL ? SMK_CUDA_Success : SMK_CUDA_ErrorSymbolNotFound;
}
SMK_EXPORT_AS(cuGetProcAddress_v2_ptsz, cuGetProcAddress_v2);

SMK_EXPORT smk_cuda cuGetProcAddress(const char *name, void **entry, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, entry, version, flags, NULL);
}

/* The runtime's way to the same: the code says whether the call was right, `found` whether there is such a function. */
SMK_EXPORT smk_cuda cudaGetDriverEntryPointByVersion(const char *name, void **entry, unsigned version, uint64_t flags,
                                                     int *found)
{
    int known = NOT_FOUND;
    if (name == NULL || entry == NULL) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    (void)cuGetProcAddress_v2(name, entry, (int)version, flags, &known);
    if (found != NULL) {
        *found = known;
    }
    return SMK_CUDA_Success;
}
SMK_EXPORT_AS(cudaGetDriverEntryPointByVersion_ptsz, cudaGetDriverEntryPointByVersion);

extern smk_cuda cudaDriverGetVersion(int *version);

SMK_EXPORT smk_cuda cudaGetDriverEntryPoint(const char *name, void **entry, uint64_t flags, int *found)
{
    int version = 0;
    (void)cudaDriverGetVersion(&version);
    return cudaGetDriverEntryPointByVersion(name, entry, (unsigned)version, flags, found);
}
SMK_EXPORT_AS(cudaGetDriverEntryPoint_ptsz, cudaGetDriverEntryPoint);

/* Tables of functions that only NVIDIA's own libraries know. */
SMK_EXPORT smk_cuda cuGetExportTable(const void **table, const void *number)
{
    (void)number;
    *table = NULL;
    return SMK_CUDA_ErrorSymbolNotFound;
}
