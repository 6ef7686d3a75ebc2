/* Libraries: modules that the program loads itself, as PTX or as a fat binary, from memory or from a file. */
#include "base/heap.h"
#include "runtime/binaries.h"
#include "runtime/outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAT_MAGIC UINT32_C(0xba55ed50)

/* What cudaLibraryLoad gives; the names of kernels and variables that were asked for stay with it. */
typedef struct smk_cuda_library {
    smk_binary *binary;
} smk_cuda_library;

static smk_cuda load(smk_cuda_library **library, const void *code)
{
    const smk_cuda_fat_wrapper *wrapper = code;
    uint32_t magic = 0;
    memcpy(&magic, code, sizeof magic);
    const bool wrapped = magic == (uint32_t)SMK_FAT_WRAPPER_MAGIC;
    const void *image = wrapped ? wrapper->image : code;
    memcpy(&magic, image, sizeof magic);
    smk_cuda_library *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return SMK_CUDA_ErrorMemoryAllocation;
    }
    if (magic == FAT_MAGIC) {
        made->binary = smk_binaries_add(image, NULL);
    } else if (magic == UINT32_C(0x464c457f)) { /* machine code alone */
        smk_heap_free(made);
        return SMK_CUDA_ErrorNoKernelImageForDevice;
    } else {
        made->binary = smk_binaries_add_text(image);
    }
    const smk_cuda status = smk_binaries_load(made->binary);
    if (status != SMK_CUDA_Success) {
        smk_heap_free(made);
        return status;
    }
    *library = made;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaLibraryLoadData(smk_cuda_library **library, const void *code, const int *options,
                                        void **option_values, unsigned option_count, const int *library_options,
                                        void **library_values, unsigned library_count)
{
    (void)options, (void)option_values, (void)option_count;
    (void)library_options, (void)library_values, (void)library_count;
    return smk_outcome_return(load(library, code));
}

/* All of a file and a zero behind it; NULL where it cannot be read. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char *content = NULL;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        const long size = ftell(file);
        content = size < 0 ? NULL : smk_heap_allocate((size_t)size + 1, 1);
        rewind(file);
        if (content != NULL && fread(content, 1, (size_t)size, file) != (size_t)size) {
            smk_heap_free(content);
            content = NULL;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return content;
}

SMK_EXPORT smk_cuda cudaLibraryLoadFromFile(smk_cuda_library **library, const char *path, const int *options,
                                            void **option_values, unsigned option_count, const int *library_options,
                                            void **library_values, unsigned library_count)
{
    (void)options, (void)option_values, (void)option_count;
    (void)library_options, (void)library_values, (void)library_count;
    char *content = read_file(path); /* the library reads from it for as long as it lives */
    return smk_outcome_return(content == NULL ? SMK_CUDA_ErrorFileNotFound : load(library, content));
}

/* Kernels of the library may be running: its code stays. */
SMK_EXPORT smk_cuda cudaLibraryUnload(smk_cuda_library *library)
{
    smk_heap_free(library);
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaLibraryGetKernel(void **kernel, smk_cuda_library *library, const char *name)
{
    smk_cuda code = SMK_CUDA_Success;
    *kernel = smk_binaries_name_kernel(library->binary, name, &code);
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaLibraryGetKernelCount(unsigned *count, smk_cuda_library *library)
{
    *count = library->binary->module->entry_count;
    return SMK_CUDA_Success;
}

/* The first `count` kernels, in the order of their names. */
SMK_EXPORT smk_cuda cudaLibraryEnumerateKernels(void **kernels, unsigned count, smk_cuda_library *library)
{
    const smk_module *module = library->binary->module;
    smk_cuda code = SMK_CUDA_Success;
    for (uint32_t i = 0; i < count && i < module->entry_count && code == SMK_CUDA_Success; i++) {
        const smk_text text = module->functions[module->entries[i]].name;
        char *name = smk_heap_allocate(text.length + 1, 1);
        if (name == NULL) {
            return smk_outcome_return(SMK_CUDA_ErrorMemoryAllocation);
        }
        memcpy(name, text.start, text.length);
        kernels[i] = smk_binaries_name_kernel(library->binary, name, &code);
        smk_heap_free(name);
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaLibraryGetGlobal(void **address, size_t *bytes, smk_cuda_library *library, const char *name)
{
    uint64_t found = 0, size = 0;
    smk_error error;
    if (smk_program_global(library->binary->program, name, &found, &size, &error) != SMK_OK) {
        return smk_outcome_return(SMK_CUDA_ErrorSymbolNotFound);
    }
    if (address != NULL) {
        *address = (void *)(uintptr_t)found; // NOLINT(performance-no-int-to-ptr)
    }
    if (bytes != NULL) {
        *bytes = (size_t)size;
    }
    return SMK_CUDA_Success;
}
SMK_EXPORT_AS(cudaLibraryGetManaged, cudaLibraryGetGlobal);
