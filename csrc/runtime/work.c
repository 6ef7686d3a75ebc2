#include "runtime/work.h"

#include "base/heap.h"
#include "runtime/allocations.h"
#include "runtime/conditional.h"
#include "runtime/graph.h"
#include "runtime/launch_kernel.h"
#include "runtime/outcome.h"
#include "runtime/session.h"
#include "runtime/stream.h"
#include "runtime/watch.h"

#include <string.h>

static smk_cuda run_host(const smk_cuda_host_node *host)
{
    smk_session_flush();
    host->function(host->context);
    return SMK_CUDA_Success;
}

smk_cuda smk_work_run(const smk_work *work)
{
    smk_cuda code = smk_outcome_begin();
    if (code != SMK_CUDA_Success || work->disabled) {
        if (work->kind == SMK_WORK_KERNEL && !work->disabled) {
            smk_watch_add_skipped();
        }
        return code;
    }
    switch (work->kind) {
    case SMK_WORK_KERNEL:
        return smk_launch_kernel_run(&work->as.launch);
    case SMK_WORK_COPY:
        return smk_copy_run(&work->as.copy);
    case SMK_WORK_FILL:
        return smk_copy_fill(&work->as.fill);
    case SMK_WORK_HOST:
        return run_host(&work->as.host);
    case SMK_WORK_GRAPH:
        return smk_graph_run(work->as.graph, NULL);
    case SMK_WORK_CONDITIONAL:
        return smk_conditional_run(&work->as.conditional);
    case SMK_WORK_RECORD:
        return smk_stream_record(work->as.event);
    case SMK_WORK_ALLOCATE: /* the program may have freed it since the last launch */
        return smk_allocations_renew(work->as.memory.address, work->as.memory.bytes);
    case SMK_WORK_NOTHING:
    case SMK_WORK_WAIT:
    case SMK_WORK_FREE: /* the next launch needs the memory again */
        break;
    }
    return SMK_CUDA_Success;
}

/* The values of parameters, one behind the other, and pointers to them. */
static bool keep_parameters(const smk_work_launch *launch, smk_work_launch *kept)
{
    const smk_kernel *kernel = launch->kernel;
    const smk_function *function = &kernel->binary->module->functions[kernel->entry];
    const size_t table = (size_t)kernel->parameter_count * sizeof(void *);
    size_t bytes = 0, used = 0;
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        bytes += ((size_t)function->variables[i].bytes + 15) / 16 * 16;
    }
    unsigned char *block = smk_heap_allocate(table + 16 + bytes, 1);
    if (block == NULL) {
        return false;
    }
    kept->parameters = (void **)(void *)block;
    unsigned char *values = block + (table + 15) / 16 * 16;
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        kept->parameters[i] = values + used;
        memcpy(values + used, launch->parameters[i], (size_t)function->variables[i].bytes);
        used += ((size_t)function->variables[i].bytes + 15) / 16 * 16;
    }
    return true;
}

bool smk_work_keep(const smk_work *work, smk_work *kept)
{
    *kept = *work;
    if (work->kind == SMK_WORK_KERNEL) {
        return keep_parameters(&work->as.launch, &kept->as.launch);
    }
    if (work->kind == SMK_WORK_GRAPH) {
        kept->as.graph = smk_graph_clone(work->as.graph);
        return kept->as.graph != NULL;
    }
    if (work->kind == SMK_WORK_CONDITIONAL) {
        return smk_conditional_keep(&work->as.conditional, &kept->as.conditional);
    }
    return true;
}

void smk_work_release(smk_work *kept)
{
    if (kept->kind == SMK_WORK_KERNEL) {
        smk_heap_free((void *)kept->as.launch.parameters);
    } else if (kept->kind == SMK_WORK_GRAPH) {
        smk_graph_free(kept->as.graph);
    } else if (kept->kind == SMK_WORK_CONDITIONAL) {
        smk_conditional_release(&kept->as.conditional);
    }
    kept->kind = SMK_WORK_NOTHING;
}
