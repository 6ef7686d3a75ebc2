#include "runtime/binaries.h"

#include "base/heap.h"
#include "base/mutation.h"
#include "runtime/address_map.h"
#include "runtime/card.h"
#include "runtime/conditional.h"
#include "runtime/fatbin.h"
#include "runtime/outcome.h"
#include "runtime/ptx_link.h"
#include "runtime/session.h"
#include "runtime/watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows, and each load */
static smk_binary *binaries;
static smk_address_map kernels;   /* by host function, and by themselves as handles */
static smk_address_map variables; /* by host variable */

/* The tables of the program are small: without memory for them it cannot go on. */
static void *allocate(size_t bytes)
{
    void *made = smk_heap_allocate(1, bytes);
    if (made == NULL) {
        smk_outcome_say("no memory for the tables of the program's kernels");
        abort();
    }
    return made;
}

smk_binary *smk_binaries_add(const void *image, const void *const *linked)
{
    smk_binary *binary = allocate(sizeof *binary);
    binary->image = image;
    binary->linked = linked;
    (void)pthread_mutex_lock(&lock);
    binary->next = binaries;
    binaries = binary;
    (void)pthread_mutex_unlock(&lock);
    return binary;
}

smk_binary *smk_binaries_add_text(const char *text)
{
    smk_binary *binary = smk_binaries_add(NULL, NULL);
    const size_t length = strlen(text);
    binary->text = allocate(length + 1);
    memcpy(binary->text, text, length);
    return binary;
}

/* Under the lock: the PTX of all files that the device linker was given. Of those that have none, as the files of CUDA's
 * own library of functions for kernels, the functions are missing, which is said of the kernels that call them. */
static smk_status read_linked(smk_binary *binary, smk_error *error)
{
    size_t count = 0, length = 0, read = 0;
    smk_status status = SMK_OK;
    while (binary->linked[count] != NULL) {
        count++;
    }
    char **texts = smk_heap_allocate(count, sizeof *texts);
    if (texts == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for the PTX of %zu files", count);
    }
    for (size_t i = 0; i < count && (status == SMK_OK || status == SMK_PTX); i++) {
        status = smk_fatbin_read_ptx(binary->linked[i], smk_runtime_card_capability(), &texts[read], &length, error);
        read += status == SMK_OK ? 1 : 0;
    }
    status = status == SMK_PTX && read > 0 ? SMK_OK : status;
    if (status == SMK_OK) {
        status = smk_ptx_link_join(texts, read, &binary->text, error);
    }
    for (size_t i = 0; i < read; i++) {
        smk_heap_free(texts[i]);
    }
    smk_heap_free((void *)texts);
    return status;
}

/* Adds the functions for kernels that are here to a text that declares them. */
static smk_status add_device_functions(char **text, smk_error *error)
{
    char *own = *text, other[sizeof smk_conditional_ptx];
    if (strstr(own, "cudaGraphSetConditional") == NULL) {
        return SMK_OK;
    }
    memcpy(other, smk_conditional_ptx, sizeof other);
    smk_status status = smk_ptx_link_join((char *[]){own, other}, 2, text, error);
    if (status == SMK_OK) {
        smk_heap_free(own);
    }
    return status;
}

/* Under the lock. */
static smk_status read_and_parse(smk_binary *binary, smk_error *error)
{
    size_t length = 0;
    bool is_mutant = false;
    smk_status status = SMK_OK;
    if (binary->linked != NULL && binary->linked[0] != NULL) {
        status = read_linked(binary, error);
    } else if (binary->image != NULL) {
        status = smk_fatbin_read_ptx(binary->image, smk_runtime_card_capability(), &binary->text, &length, error);
    }
    if (status == SMK_OK) {
        status = add_device_functions(&binary->text, error);
    }
    if (status == SMK_OK) {
        length = strlen(binary->text);
        status = smk_mutation_apply(&binary->text, &length, &is_mutant, error);
    }
    if (status == SMK_OK) {
        status = smk_parse_module(binary->text, length, &binary->module, error);
    }
    if (status == SMK_OK) {
        status = smk_program_create(binary->module, smk_session_memory(), &binary->program, error);
    }
    return status;
}

/* Under the lock. */
static smk_cuda load(smk_binary *binary)
{
    smk_error error = {0};
    if (!binary->tried) {
        binary->tried = true;
        if (read_and_parse(binary, &error) != SMK_OK) {
            binary->code = smk_outcome_refuse(&error);
            binary->code = binary->text == NULL ? SMK_CUDA_ErrorNoKernelImageForDevice : binary->code;
            binary->why = error;
        }
    }
    return binary->code;
}

smk_cuda smk_binaries_load(smk_binary *binary)
{
    (void)pthread_mutex_lock(&lock);
    const smk_cuda code = load(binary);
    (void)pthread_mutex_unlock(&lock);
    return code;
}

/* Under the lock: finds the entry of a kernel and lowers it. */
static void prepare_kernel(smk_kernel *kernel)
{
    smk_error error = {0};
    kernel->ready = true;
    kernel->code = load(kernel->binary);
    if (kernel->code != SMK_CUDA_Success) {
        kernel->why = kernel->binary->why;
        return;
    }
    const smk_module *module = kernel->binary->module;
    kernel->entry = smk_module_find_entry(module, kernel->name);
    if (kernel->entry == SMK_NO_INDEX) {
        kernel->code = SMK_CUDA_ErrorInvalidDeviceFunction;
        (void)smk_status_fail(&kernel->why, SMK_ARGUMENT, "the PTX of the program has no such kernel");
        return;
    }
    kernel->parameter_count = module->functions[kernel->entry].parameter_count;
    if (smk_program_query(kernel->binary->program, kernel->entry, &kernel->attributes, &error) != SMK_OK) {
        kernel->code = smk_outcome_refuse(&error);
        kernel->why = error;
    }
}

static smk_kernel *create_kernel(smk_binary *binary, const char *name)
{
    smk_kernel *kernel = allocate(sizeof *kernel);
    char *own = allocate(strlen(name) + 1); /* the caller's may be gone when it is needed */
    memcpy(own, name, strlen(name));
    *kernel = (smk_kernel){.binary = binary, .name = own, .max_dynamic_shared = -1, .carveout = -1};
    return kernel;
}

static void add(smk_address_map *map, const void *address, void *value)
{
    if (!smk_address_map_set(map, address, value)) {
        smk_outcome_say("no memory for the tables of the program's kernels");
        abort();
    }
}

smk_kernel *smk_binaries_find_kernel(const void *function, smk_cuda *code)
{
    (void)pthread_mutex_lock(&lock);
    smk_kernel *kernel = smk_address_map_get(&kernels, function);
    if (kernel != NULL && !kernel->ready) {
        prepare_kernel(kernel);
    }
    (void)pthread_mutex_unlock(&lock);
    *code = kernel == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : kernel->code;
    return kernel;
}

smk_kernel *smk_binaries_name_kernel(smk_binary *binary, const char *name, smk_cuda *code)
{
    smk_kernel *kernel = create_kernel(binary, name);
    (void)pthread_mutex_lock(&lock);
    prepare_kernel(kernel);
    if (kernel->code == SMK_CUDA_Success) {
        add(&kernels, kernel, kernel);
    }
    (void)pthread_mutex_unlock(&lock);
    *code = kernel->code == SMK_CUDA_ErrorInvalidDeviceFunction ? SMK_CUDA_ErrorSymbolNotFound : kernel->code;
    if (*code != SMK_CUDA_Success) {
        if (*code != SMK_CUDA_ErrorSymbolNotFound) { /* what the program would launch, if it could */
            smk_watch_add_failure(kernel->name, NULL, true, *code, &kernel->why);
        }
        smk_heap_free((void *)(uintptr_t)kernel->name);
        smk_heap_free(kernel);
        return NULL;
    }
    return kernel;
}

/* Under the lock. */
static smk_cuda locate(smk_device_variable *variable)
{
    smk_error error = {0};
    smk_cuda code = load(variable->binary);
    if (code != SMK_CUDA_Success || variable->address != 0) {
        return code;
    }
    if (smk_program_global(variable->binary->program, variable->name, &variable->address, &variable->bytes, &error) !=
        SMK_OK) {
        return SMK_CUDA_ErrorInvalidSymbol;
    }
    if (variable->managed != NULL) {
        *variable->managed = (void *)(uintptr_t)variable->address; // NOLINT(performance-no-int-to-ptr)
    }
    return SMK_CUDA_Success;
}

smk_cuda smk_binaries_find_variable(const void *variable, smk_device_variable **found)
{
    (void)pthread_mutex_lock(&lock);
    *found = smk_address_map_get(&variables, variable);
    const smk_cuda code = *found == NULL ? SMK_CUDA_ErrorInvalidSymbol : locate(*found);
    (void)pthread_mutex_unlock(&lock);
    return code;
}

/* Exported: what nvcc's code calls when the program starts ------------------------------------------------ */

SMK_EXPORT void **__cudaRegisterFatBinary(const smk_cuda_fat_wrapper *wrapper)
{
    const bool linked = wrapper->version == SMK_FAT_WRAPPER_LINKED;
    return (void **)(void *)smk_binaries_add(wrapper->image, linked ? wrapper->linked : NULL);
}

SMK_EXPORT void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

/* The program ends: its kernels may still be launched by what ends later. */
SMK_EXPORT void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

SMK_EXPORT void __cudaRegisterFunction(void **handle, const void *function, const char *device_function,
                                       const char *name, int thread_limit, void *thread, void *block, void *block_size,
                                       void *grid_size, int *warp_size)
{
    (void)device_function, (void)thread_limit, (void)thread, (void)block, (void)block_size, (void)grid_size;
    (void)warp_size;
    smk_kernel *kernel = create_kernel((smk_binary *)(void *)handle, name);
    (void)pthread_mutex_lock(&lock);
    add(&kernels, function, kernel);
    add(&kernels, kernel, kernel);
    (void)pthread_mutex_unlock(&lock);
}

static void register_variable(void **handle, const void *host, const char *name, size_t bytes, void **managed)
{
    smk_device_variable *variable = allocate(sizeof *variable);
    *variable =
        (smk_device_variable){.binary = (smk_binary *)(void *)handle, .name = name, .bytes = bytes, .managed = managed};
    (void)pthread_mutex_lock(&lock);
    add(&variables, host, variable);
    (void)pthread_mutex_unlock(&lock);
}

SMK_EXPORT void __cudaRegisterVar(void **handle, const void *host, const char *device, const char *name, int external,
                                  size_t bytes, int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    register_variable(handle, host, name, bytes, NULL);
}

SMK_EXPORT void __cudaRegisterManagedVar(void **handle, void **host, const char *device, const char *name, int external,
                                         size_t bytes, int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    register_variable(handle, host, name, bytes, host);
}

/* Called before the program reaches a managed variable, whose address must be known then. */
SMK_EXPORT char __cudaInitModule(void **handle)
{
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < variables.capacity; i++) {
        smk_device_variable *variable = variables.entry[i].value;
        if (variable != NULL && variable->managed != NULL && variable->binary == (smk_binary *)(void *)handle) {
            (void)locate(variable);
        }
    }
    (void)pthread_mutex_unlock(&lock);
    return 1;
}

SMK_EXPORT smk_cuda __cudaGetKernel(void **kernel, const void *function)
{
    smk_cuda code = SMK_CUDA_Success;
    *kernel = smk_binaries_find_kernel(function, &code);
    return smk_outcome_return(code);
}
