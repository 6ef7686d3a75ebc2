#include "runtime/driver_link.h"

#include "base/heap.h"
#include "runtime/driver.h"
#include "runtime/outcome.h"
#include "runtime/ptx_link.h"

#include <string.h>

enum { INFO_LOG_BYTES = 4, ERROR_LOG_BYTES = 6, INPUT_LIBRARY = 4 };

void smk_cuda_link_refuse(void)
{
    smk_outcome_say("a link of machine code: the simulator links PTX alone");
}

void smk_cuda_link_empty_logs(unsigned count, const int *options, void **values)
{
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == INFO_LOG_BYTES || options[i] == ERROR_LOG_BYTES) {
            values[i] = NULL;
        }
    }
}

struct smk_cuda_link {
    char **text;
    size_t count;
    char *joined;
};

SMK_EXPORT smk_cuda cuLinkCreate_v2(unsigned count, const int *options, void **values, smk_cuda_link **made)
{
    smk_cuda_link_empty_logs(count, options, values);
    *made = smk_heap_allocate(1, sizeof **made);
    return *made == NULL ? SMK_CUDA_ErrorMemoryAllocation : SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuLinkAddData_v2(smk_cuda_link *made, int type, const void *data, size_t bytes, const char *name,
                                     unsigned count, const int *options, void **values)
{
    (void)name, (void)count, (void)options, (void)values;
    char **grown = NULL, *text = NULL;
    if (type == INPUT_LIBRARY || memchr(data, '\x7f', bytes < 4 ? bytes : 4) != NULL) {
        smk_cuda_link_refuse();
        return SMK_CUDA_ErrorNoKernelImageForDevice;
    }
    text = smk_heap_allocate(bytes + 1, 1);
    grown = smk_heap_resize((void *)made->text, made->count * sizeof *grown, (made->count + 1) * sizeof *grown);
    if (grown != NULL) {
        made->text = grown;
    }
    if (text == NULL || grown == NULL) {
        smk_heap_free(text);
        return SMK_CUDA_ErrorMemoryAllocation;
    }
    memcpy(text, data, bytes);
    made->text[made->count++] = text;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuLinkComplete(smk_cuda_link *made, void **code, size_t *bytes)
{
    smk_error error = {0};
    if (made->count == 1) {
        *code = made->text[0];
    } else if (smk_ptx_link_join(made->text, made->count, &made->joined, &error) == SMK_OK) {
        *code = made->joined;
    } else {
        return smk_driver_code(smk_outcome_refuse(&error));
    }
    *bytes = strlen(*code) + 1;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cuLinkDestroy(smk_cuda_link *made)
{
    for (size_t i = 0; i < made->count; i++) {
        smk_heap_free(made->text[i]);
    }
    smk_heap_free((void *)made->text);
    smk_heap_free(made->joined);
    smk_heap_free(made);
    return SMK_CUDA_Success;
}
