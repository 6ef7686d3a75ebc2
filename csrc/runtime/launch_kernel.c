#include "runtime/launch_kernel.h"

#include "base/heap.h"
#include "base/workers.h"
#include "runtime/card.h"
#include "runtime/outcome.h"
#include "runtime/session.h"
#include "runtime/settings.h"
#include "runtime/watch.h"

#include <pthread.h>
#include <string.h>

enum { REGISTERS_ASSUMED = 32 }; /* of a thread, where only ptxas could tell */

/* Kernels run one after another, also those of several host threads. */
static pthread_mutex_t device = PTHREAD_MUTEX_INITIALIZER;
static smk_workers workers; /* under it */
static bool has_workers;

smk_cuda smk_launch_kernel_count_resident(const smk_kernel *kernel, uint32_t threads, size_t shared_bytes,
                                          uint32_t *blocks)
{
    const smk_block_use use = {.threads = threads,
                               .threads_max = kernel->attributes.max_threads,
                               .registers = REGISTERS_ASSUMED,
                               .shared_static = kernel->attributes.shared_bytes,
                               .shared_dynamic = shared_bytes};
    smk_occupancy occupancy;
    smk_error error;
    if (smk_occupancy_count(smk_runtime_card_get()->limits, &use, &occupancy, &error) != SMK_OK) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    *blocks = occupancy.blocks;
    return SMK_CUDA_Success;
}

static smk_status check_shared(const smk_work_launch *launch, smk_error *error)
{
    const smk_kernel *kernel = launch->kernel;
    const smk_limits *limits = smk_runtime_card_get()->limits;
    const size_t fixed = kernel->attributes.shared_bytes;
    size_t most = SMK_OCCUPANCY_SHARED_DEFAULT > fixed ? SMK_OCCUPANCY_SHARED_DEFAULT - fixed : 0;
    if (kernel->max_dynamic_shared > (int)most) {
        most = (size_t)kernel->max_dynamic_shared;
    }
    if (launch->shared_bytes <= most && fixed + launch->shared_bytes <= limits->shared_optin) {
        return SMK_OK;
    }
    return smk_status_fail(
        error, SMK_SHARED_MEMORY, "the launch asks for %zu bytes of dynamic shared memory and may have %zu%s",
        launch->shared_bytes, most,
        fixed + launch->shared_bytes <= limits->shared_optin
            ? "; cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) raises that"
            : " on this card");
}

static smk_status check_threads(const smk_work_launch *launch, smk_error *error)
{
    const uint64_t threads = (uint64_t)launch->block.x * launch->block.y * launch->block.z;
    const uint32_t most = launch->kernel->attributes.max_threads;
    if (threads > SMK_OCCUPANCY_BLOCK_THREADS_MAX || threads == 0 || threads <= most) {
        return SMK_OK; /* the simulator refuses what no kernel can have */
    }
    return smk_status_fail(error, SMK_LAUNCH, "a block of %llu threads is more than the %u of its __launch_bounds__",
                           (unsigned long long)threads, most);
}

/* All blocks of a cooperative launch wait for each other, so all must be resident. */
static smk_cuda check_cooperative(const smk_work_launch *launch, smk_error *error)
{
    uint32_t resident = 0;
    const uint64_t blocks = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    const uint32_t threads = launch->block.x * launch->block.y * launch->block.z;
    const smk_runtime_card *card = smk_runtime_card_get();
    smk_cuda code = smk_launch_kernel_count_resident(launch->kernel, threads, launch->shared_bytes, &resident);
    if (code == SMK_CUDA_Success && blocks > (uint64_t)resident * (uint64_t)card->multiprocessors) {
        (void)smk_status_fail(error, SMK_LAUNCH,
                              "a cooperative launch of %llu blocks, of which %u fit on each of the %d multiprocessors "
                              "of an %s at one time",
                              (unsigned long long)blocks, resident, card->multiprocessors, card->name);
        code = SMK_CUDA_ErrorCooperativeLaunchTooLarge;
    } else if (code != SMK_CUDA_Success) {
        (void)smk_status_fail(error, SMK_LAUNCH,
                              "a cooperative launch of blocks that fit on no multiprocessor of an %s", card->name);
    }
    return code;
}

/* What no run of the simulator would refuse, but a GPU does. */
static smk_cuda check(const smk_work_launch *launch, smk_error *error)
{
    if (check_shared(launch, error) != SMK_OK || check_threads(launch, error) != SMK_OK) {
        return smk_outcome_find_code(error);
    }
    return launch->cooperative ? check_cooperative(launch, error) : SMK_CUDA_Success;
}

/* Did the launch not begin? Else its kernel has failed. */
static bool is_refusal(smk_status status)
{
    return status == SMK_LAUNCH || status == SMK_SHARED_MEMORY || status == SMK_UNSUPPORTED || status == SMK_MEMORY ||
           status == SMK_ARGUMENT || status == SMK_PTX;
}

static smk_status run_checked(const smk_kernel *kernel, const smk_launch *launch, const smk_run_options *options,
                              smk_error *error)
{
    smk_check_result result = {0};
    const smk_check_options wanted = {0, 0};
    smk_status status = smk_check_run(kernel->binary->program, kernel->entry, launch, options, &wanted, &result, error);
    if (status == SMK_OK) {
        smk_watch_add_check(kernel->binary->module, kernel->name, launch, &result);
        if (result.stopped.status != SMK_OK) {
            status = result.stopped.status;
            *error = result.stopped;
        }
    }
    smk_check_free(&result);
    return status;
}

static smk_status run_counted(const smk_kernel *kernel, const smk_launch *launch, const smk_run_options *options,
                              smk_error *error)
{
    smk_count_result result = {0};
    smk_status status = smk_count_run(kernel->binary->program, kernel->entry, launch, options,
                                      &(smk_count_options){.model = true}, &result, error);
    if (status == SMK_OK) {
        smk_watch_add_counts(kernel->name, &result);
    }
    smk_count_free(&result);
    return status;
}

static smk_status run(const smk_kernel *kernel, const smk_launch *launch, smk_error *error)
{
    const smk_settings *settings = smk_settings_get();
    smk_run_options options = {
        .max_steps = settings->max_steps, .lockstep = settings->lockstep, .alone = true, .print = smk_session_print};
    smk_status status = SMK_OK;
    (void)pthread_mutex_lock(&device);
    has_workers = has_workers || smk_workers_create(&workers);
    options.workers = has_workers ? &workers : NULL;
    switch (settings->mode) {
    case SMK_SETTINGS_RUN:
        status = smk_program_run(kernel->binary->program, kernel->entry, launch, &options, NULL, error);
        break;
    case SMK_SETTINGS_CHECK:
        status = run_checked(kernel, launch, &options, error);
        break;
    case SMK_SETTINGS_PROFILE:
        status = run_counted(kernel, launch, &options, error);
        break;
    }
    if (!is_refusal(status)) {
        smk_watch_add_launch();
    }
    (void)pthread_mutex_unlock(&device);
    return status;
}

smk_cuda smk_launch_kernel_run(const smk_work_launch *launch)
{
    const smk_kernel *kernel = launch->kernel;
    const smk_launch simulated = {.grid = launch->grid,
                                  .block = launch->block,
                                  .shared_bytes = launch->shared_bytes,
                                  .parameters = launch->parameters,
                                  .parameter_count = kernel->parameter_count,
                                  .cooperative = launch->cooperative};
    smk_error error = {0};
    smk_session_flush();
    smk_cuda code = check(launch, &error);
    if (code != SMK_CUDA_Success) {
        smk_outcome_say_of(kernel->name, "%s", error.message);
        smk_watch_add_failure(kernel->name, &simulated, true, code, &error);
        return code;
    }
    const smk_status status = run(kernel, &simulated, &error);
    if (status == SMK_OK) {
        return SMK_CUDA_Success;
    }
    code = smk_outcome_find_code(&error);
    smk_watch_add_failure(kernel->name, &simulated, is_refusal(status), code, &error);
    if (is_refusal(status)) {
        return smk_outcome_refuse(&error);
    }
    smk_outcome_fault(&error);
    return SMK_CUDA_Success;
}

enum { EXTRA_BUFFER = 1 };

void **smk_launch_kernel_unpack(const smk_kernel *kernel, void *const *extra, smk_cuda *code)
{
    char *buffer = NULL;
    for (void *const *at = extra; *at != NULL; at += 2) {
        buffer = (uintptr_t)at[0] == EXTRA_BUFFER ? at[1] : buffer;
    }
    if (buffer == NULL && kernel->parameter_count > 0) {
        *code = SMK_CUDA_ErrorInvalidValue;
        return NULL;
    }
    void **parameters = smk_heap_allocate(kernel->parameter_count + 1, sizeof *parameters);
    *code = parameters == NULL ? SMK_CUDA_ErrorMemoryAllocation : SMK_CUDA_Success;
    const smk_variable *variable = kernel->binary->module->functions[kernel->entry].variables;
    size_t at = 0;
    for (uint32_t i = 0; i < kernel->parameter_count && parameters != NULL; i++) {
        const size_t alignment = variable[i].alignment;
        at = (at + alignment - 1) / alignment * alignment;
        parameters[i] = buffer + at;
        at += (size_t)variable[i].bytes;
    }
    return parameters;
}
