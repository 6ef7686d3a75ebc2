/* Devices: their number, the present one, their properties. */
#include "gpu/gpu.h"

#include "gpu/cuda_error.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

smk_status smk_context_count(int *count, smk_error *error)
{
    int found = 0;
    cudaError_t code = cudaGetDeviceCount(&found);
    if (code != cudaSuccess) {
        smk_status status = smk_cuda_error_report(code, error, "looking for a GPU");
        /* with any code: there is no usable GPU */
        if (status != SMK_BACKEND && error != NULL) {
            error->status = SMK_BACKEND;
        }
        return SMK_BACKEND;
    }
    if (found <= 0) {
        return smk_status_fail(error, SMK_BACKEND,
                               "looking for a GPU: the driver sees none; CUDA_VISIBLE_DEVICES may hide it");
    }
    *count = found;
    return SMK_OK;
}

static smk_status check_device(int device, smk_error *error)
{
    int count = 0;
    smk_status status = smk_context_count(&count, error);
    if (status == SMK_OK && (device < 0 || device >= count)) {
        return smk_status_fail(error, SMK_ARGUMENT, "device %d: this machine has %d, numbered from 0", device, count);
    }
    return status;
}

smk_status smk_context_use(int device, smk_error *error)
{
    smk_status status = check_device(device, error);
    if (status != SMK_OK) {
        return status;
    }
    return smk_cuda_error_report(cudaSetDevice(device), error, "choosing device %d", device);
}

smk_status smk_context_current(int *device, smk_error *error)
{
    int count = 0;
    smk_status status = smk_context_count(&count, error);
    if (status != SMK_OK) {
        return status;
    }
    int current = 0;
    status = smk_cuda_error_report(cudaGetDevice(&current), error, "asking for the present device");
    if (status == SMK_OK) {
        *device = current;
    }
    return status;
}

/* Both calls only change the runtime's state of the thread; the second is left out if the device is the same. */
smk_status smk_context_enter(int device, int *before, smk_error *error)
{
    *before = device;
    cudaError_t code = cudaGetDevice(before);
    if (code == cudaSuccess && *before != device) {
        code = cudaSetDevice(device);
    }
    return smk_cuda_error_report(code, error, "making device %d the present one", device);
}

void smk_context_leave(int device, int before)
{
    if (before != device && cudaSetDevice(before) != cudaSuccess) {
        (void)cudaGetLastError(); /* the device was lost meanwhile: the next call reports it */
    }
}

smk_status smk_context_find(uint64_t address, int *device, smk_error *error)
{
    struct cudaPointerAttributes attributes;
    if (address == 0) {
        return smk_context_current(device, error);
    }
    memset(&attributes, 0, sizeof attributes);
    smk_status status = smk_cuda_error_report(cudaPointerGetAttributes(&attributes, (const void *)(uintptr_t)address),
                                              error, "asking which device holds 0x%llx", (unsigned long long)address);
    if (status == SMK_OK && attributes.type != cudaMemoryTypeDevice && attributes.type != cudaMemoryTypeManaged) {
        return smk_status_fail(error, SMK_ARGUMENT, "address 0x%llx lies in the memory of no GPU",
                               (unsigned long long)address);
    }
    *device = attributes.device;
    return status;
}

smk_status smk_context_memory(uint64_t *free_bytes, uint64_t *total_bytes, smk_error *error)
{
    size_t unused = 0, all = 0;
    smk_status status = smk_cuda_error_report(cudaMemGetInfo(&unused, &all), error, "asking for the free memory");
    if (status == SMK_OK) {
        *free_bytes = (uint64_t)unused;
        *total_bytes = (uint64_t)all;
    }
    return status;
}

void smk_context_versions(int *driver, int *runtime)
{
    *driver = 0;
    *runtime = 0;
    if (cudaDriverGetVersion(driver) != cudaSuccess) {
        *driver = 0;
        (void)cudaGetLastError();
    }
    if (cudaRuntimeGetVersion(runtime) != cudaSuccess) {
        *runtime = 0;
        (void)cudaGetLastError();
    }
}

smk_status smk_context_machine(int device, int *capability, int *multiprocessors, uint64_t *shared_bytes_max,
                               smk_error *error)
{
    static const enum cudaDeviceAttr asked[] = {cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor,
                                                cudaDevAttrMultiProcessorCount,
                                                cudaDevAttrMaxSharedMemoryPerBlockOptin};
    int values[sizeof asked / sizeof asked[0]] = {0};
    smk_status status = check_device(device, error);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0] && status == SMK_OK; i++) {
        status = smk_cuda_error_report(cudaDeviceGetAttribute(&values[i], asked[i], device), error,
                                       "asking what device %d can do", device);
    }
    if (status == SMK_OK) {
        *capability = 10 * values[0] + values[1];
        *multiprocessors = values[2];
        *shared_bytes_max = (uint64_t)values[3];
    }
    return status;
}

smk_status smk_context_name(int device, char *name, size_t bytes, smk_error *error)
{
    struct cudaDeviceProp properties;
    memset(&properties, 0, sizeof properties);
    smk_status status = check_device(device, error);
    if (status == SMK_OK) {
        status = smk_cuda_error_report(cudaGetDeviceProperties(&properties, device), error,
                                       "asking the name of device %d", device);
    }
    (void)snprintf(name, bytes, "%s", status == SMK_OK ? properties.name : "");
    return status;
}

/* Facts -------------------------------------------------------------------------------------------- */

typedef struct fact_texts {
    char uuid[64];
    char capability[16];
    char pci_address[32];
} fact_texts;

static void write_texts(const struct cudaDeviceProp *p, fact_texts *texts)
{
    /* as nvidia-smi writes it: 8-4-4-4-12 hexadecimal digits */
    size_t used = (size_t)snprintf(texts->uuid, sizeof texts->uuid, "GPU-");
    for (size_t i = 0; i < sizeof p->uuid.bytes; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        used += (size_t)snprintf(texts->uuid + used, sizeof texts->uuid - used, "%s%02x", dash ? "-" : "",
                                 (unsigned)(unsigned char)p->uuid.bytes[i]);
    }
    (void)snprintf(texts->capability, sizeof texts->capability, "%d.%d", p->major, p->minor);
    (void)snprintf(texts->pci_address, sizeof texts->pci_address, "%04x:%02x:%02x.0", (unsigned)p->pciDomainID,
                   (unsigned)p->pciBusID, (unsigned)p->pciDeviceID);
}

/* Two transfers a memory clock, bus width in bits: GB/s that the memory can deliver at most. */
static double bandwidth_gb_per_s(int device, const struct cudaDeviceProp *p)
{
    int clock_khz = 0;
    if (cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate, device) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0.0;
    }
    return 2.0 * (double)clock_khz * 1e3 * ((double)p->memoryBusWidth / 8.0) / 1e9;
}

static smk_fact *add_fact(smk_fact *facts, size_t *count, const char *name, smk_fact_kind kind)
{
    smk_fact *fact = &facts[(*count)++];
    memset(fact, 0, sizeof *fact);
    fact->name = name;
    fact->kind = kind;
    return fact;
}

static void add_text(smk_fact *facts, size_t *count, const char *name, const char *text)
{
    smk_fact *fact = add_fact(facts, count, name, SMK_FACT_TEXT);
    size_t length = strlen(text);
    length = length < sizeof fact->text ? length : sizeof fact->text - 1;
    memcpy(fact->text, text, length);
}

/* An attribute that the driver does not know is left out and is no error. */
static void add_attribute(smk_fact *facts, size_t *count, const char *name, int device, enum cudaDeviceAttr attribute)
{
    int value = 0;
    if (cudaDeviceGetAttribute(&value, attribute, device) != cudaSuccess) {
        (void)cudaGetLastError();
        return;
    }
    add_fact(facts, count, name, SMK_FACT_INTEGER)->integer = value;
}

enum {
    FACT_ROWS = 0
#define SMK_GPU_TEXT(name, expression) +1
#define SMK_GPU_PROPERTY(name, expression) +1
#define SMK_GPU_ATTRIBUTE(name, attribute) +1
#define SMK_GPU_REAL(name, expression) +1
#include "gpu/facts.def"
};
_Static_assert((int)FACT_ROWS <= (int)SMK_FACTS_MAX, "facts.def has more rows than SMK_FACTS_MAX");

smk_status smk_context_facts(int device, smk_fact facts[SMK_FACTS_MAX], size_t *count, smk_error *error)
{
    smk_status status = check_device(device, error);
    if (status != SMK_OK) {
        return status;
    }
    struct cudaDeviceProp properties;
    memset(&properties, 0, sizeof properties);
    status = smk_cuda_error_report(cudaGetDeviceProperties(&properties, device), error,
                                   "reading the facts of device %d", device);
    if (status != SMK_OK) {
        return status;
    }
    const struct cudaDeviceProp *p = &properties;
    fact_texts written;
    const fact_texts *texts = &written;
    write_texts(p, &written);

    size_t n = 0;
#define SMK_GPU_TEXT(name, expression) add_text(facts, &n, #name, expression);
#define SMK_GPU_PROPERTY(name, expression)                                                                             \
    add_fact(facts, &n, #name, SMK_FACT_INTEGER)->integer = (int64_t)(expression);
#define SMK_GPU_ATTRIBUTE(name, attribute) add_attribute(facts, &n, #name, device, attribute);
#define SMK_GPU_REAL(name, expression) add_fact(facts, &n, #name, SMK_FACT_REAL)->real = (expression);
#include "gpu/facts.def"
    *count = n;
    return SMK_OK;
}
