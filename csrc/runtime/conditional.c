#include "runtime/conditional.h"

#include "base/heap.h"
#include "runtime/graph.h"
#include "runtime/outcome.h"
#include "runtime/session.h"

enum { BODIES_MAX = 1 << 16, ASSIGNS_DEFAULT = 1 };

const char smk_conditional_ptx[SMK_CONDITIONAL_PTX_BYTES] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)\n"
    "{\n"
    ".reg .b64 %at; .reg .b32 %new;\n"
    "ld.param.b64 %at, [handle];\n"
    "ld.param.b32 %new, [value];\n"
    "st.global.b32 [%at], %new;\n"
    "ret;\n"
    "}\n";

bool smk_conditional_is_valid(const smk_work_conditional *conditional)
{
    const unsigned most = conditional->kind == SMK_WORK_IF ? 2 : conditional->kind == SMK_WORK_WHILE ? 1 : BODIES_MAX;
    return conditional->kind >= SMK_WORK_IF && conditional->kind <= SMK_WORK_SWITCH && conditional->count >= 1 &&
           conditional->count <= most;
}

smk_cuda smk_conditional_set(uint64_t address, uint32_t value)
{
    smk_error error;
    return smk_memory_write(smk_session_memory(), address, &value, sizeof value, &error) == SMK_OK
               ? SMK_CUDA_Success
               : SMK_CUDA_ErrorInvalidValue;
}

static smk_cuda read(uint64_t address, uint32_t *value)
{
    smk_error error;
    return smk_memory_read(smk_session_memory(), address, value, sizeof *value, &error) == SMK_OK
               ? SMK_CUDA_Success
               : SMK_CUDA_ErrorInvalidValue;
}

smk_cuda smk_conditional_run(const smk_work_conditional *conditional)
{
    uint32_t value = 0;
    smk_cuda code = read(conditional->value, &value);
    if (conditional->kind == SMK_WORK_WHILE) {
        while (code == SMK_CUDA_Success && value != 0) {
            code = smk_graph_run(conditional->bodies[0], NULL);
            code = code == SMK_CUDA_Success ? smk_outcome_begin() : code; /* a kernel of it may have failed */
            code = code == SMK_CUDA_Success ? read(conditional->value, &value) : code;
        }
        return code;
    }
    const uint32_t chosen = conditional->kind == SMK_WORK_SWITCH ? value : value == 0;
    return code == SMK_CUDA_Success && chosen < conditional->count ? smk_graph_run(conditional->bodies[chosen], NULL)
                                                                   : code;
}

bool smk_conditional_keep(const smk_work_conditional *conditional, smk_work_conditional *kept)
{
    *kept = *conditional;
    kept->bodies = smk_heap_allocate(conditional->count, sizeof(struct smk_cuda_graph *));
    bool done = kept->bodies != NULL;
    for (unsigned i = 0; i < conditional->count && done; i++) {
        kept->bodies[i] = conditional->bodies == NULL ? smk_graph_create() : smk_graph_clone(conditional->bodies[i]);
        done = kept->bodies[i] != NULL;
    }
    if (!done) {
        smk_conditional_release(kept);
    }
    return done;
}

void smk_conditional_release(smk_work_conditional *kept)
{
    for (unsigned i = 0; kept->bodies != NULL && i < kept->count; i++) {
        smk_graph_free(kept->bodies[i]);
    }
    smk_heap_free((void *)kept->bodies);
    kept->bodies = NULL;
}

/* The value stays until the program ends, since a graph that can be launched may outlive the one it was made of. */
SMK_EXPORT smk_cuda cudaGraphConditionalHandleCreate(uint64_t *handle, smk_cuda_graph *graph, unsigned value,
                                                     unsigned flags)
{
    if (flags > ASSIGNS_DEFAULT) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    smk_error error;
    if (smk_memory_allocate(smk_session_memory(), sizeof value, handle, &error) != SMK_OK ||
        (flags == ASSIGNS_DEFAULT && !smk_graph_add_value(graph, (smk_graph_value){*handle, value}))) {
        return smk_outcome_return(SMK_CUDA_ErrorMemoryAllocation);
    }
    return smk_outcome_return(smk_conditional_set(*handle, value));
}
