#include "py/calls/execute.h"

#include "py/backends/capture.h"
#include "py/backends/chunked_copy.h"
#include "py/backends/interrupt.h"
#include "py/backends/progress.h"
#include "py/backends/selection.h"
#include "py/calls/captured_call.h"
#include "py/calls/printed_text.h"
#include "py/error.h"
#include "py/streams/stream_scope.h"

#include "base/fork.h"
#include "base/heap.h"
#include "base/poll.h"

#include <pthread.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 20 };

/* The state that the simulator's callbacks share. */
typedef struct callbacks {
    PyThreadState *thread;         /* of the caller, while it does not hold the GIL */
    smk_printed_text printed_text; /* of the kernels */
    smk_progress progress;
    smk_poll poll;
    unsigned generation; /* of the process in which the execution began */
} callbacks;

/* Handles signals, writes what kernels have printed, and tells the progress. True ends the simulation; the exception is then set in the
 * caller's thread state. */
static bool must_stop(void *context)
{
    callbacks *c = context;
    if (smk_interrupt_is_finalizing()) {
        return true; /* no thread can acquire the GIL any more */
    }
    PyEval_RestoreThread(c->thread);
    bool stop = PyErr_CheckSignals() < 0;
    if (smk_fork_generation() != c->generation) {
        /* a signal handler has forked, and this is the child */
        c->generation = smk_fork_generation();
        stop = smk_printed_text_renew(&c->printed_text) < 0 || stop;
    }
    stop = stop || smk_printed_text_flush(&c->printed_text) < 0 || smk_progress_tell(&c->progress, &c->poll) < 0;
    c->thread = PyEval_SaveThread();
    return stop;
}

/* Whether kernels have an array where it lies on the host: of a call of which only the counts are wanted. What they both
 * read and write, and what they must leave unchanged, is copied as ever. */
static bool is_borrowed(const smk_execution *execution, const smk_transfer *transfer)
{
    const smk_capture *capture = smk_capture_current();
    return capture->mode == SMK_CAPTURE_PROFILE && capture->borrow && execution->backend->adopt != NULL &&
           execution->slab_count == 0 && transfer->in != transfer->out && transfer->fixed == NULL &&
           transfer->layout == NULL && transfer->bytes > 0;
}

static smk_status allocate_buffers(const smk_execution *execution, smk_error *error)
{
    smk_status status = SMK_OK;
    for (size_t i = 0; i < execution->transfer_count && status == SMK_OK; i++) {
        smk_transfer *transfer = &execution->transfers[i];
        status = is_borrowed(execution, transfer)
                     ? execution->backend->adopt(transfer->host, transfer->bytes, &transfer->address, error)
                     : execution->backend->allocate(transfer->bytes, &transfer->address, error);
    }
    return status;
}

/* All operands at once, so that the workers need not wait for each other at the end of each. */
static smk_status copy_in(const smk_execution *execution, smk_error *error)
{
    if (execution->transfer_count == 0) {
        return SMK_OK;
    }
    smk_staged_range *ranges = smk_heap_allocate(execution->transfer_count, sizeof *ranges);
    smk_staged_copy copy = {.up = ranges};
    if (ranges == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to copy the arguments");
    }
    for (size_t i = 0; i < execution->transfer_count; i++) {
        const smk_transfer *transfer = &execution->transfers[i];
        if (transfer->in && !is_borrowed(execution, transfer)) {
            ranges[copy.up_count++] = (smk_staged_range){.address = transfer->address,
                                                         .host = transfer->host,
                                                         .bytes = transfer->bytes,
                                                         .layout = transfer->layout};
        }
    }
    smk_status status = copy.up_count > 0 ? smk_chunked_copy_run(execution->backend, &copy, error) : SMK_OK;
    smk_heap_free(ranges);
    return status;
}

/* Reports ARGUMENT where the kernel has changed a read-only array, whose host memory would not show the change. */
static smk_status check_fixed(const smk_execution *execution, const smk_transfer *transfer, smk_error *error)
{
    unsigned char *chunk = smk_heap_allocate(CHUNK_BYTES, 1);
    smk_status status = chunk == NULL ? smk_status_fail(error, SMK_MEMORY, "no memory left to compare %s with its copy",
                                                        transfer->fixed)
                                      : SMK_OK;
    for (uint64_t at = 0; at < transfer->bytes && status == SMK_OK; at += CHUNK_BYTES) {
        const uint64_t left = transfer->bytes - at, part = left < CHUNK_BYTES ? left : CHUNK_BYTES;
        status = execution->backend->download(transfer->address + at, chunk, part, error);
        if (status == SMK_OK && memcmp(chunk, (const unsigned char *)transfer->host + at, (size_t)part) != 0) {
            status = smk_status_fail(error, SMK_ARGUMENT,
                                     "%s: the array is read-only, and the kernel writes to it; pass a "
                                     "writeable one, such as a copy of it",
                                     transfer->fixed);
        }
        if (status == SMK_OK && smk_poll_stop_now()) {
            status = smk_status_fail(error, SMK_INTERRUPTED, "a copy was interrupted");
        }
    }
    smk_heap_free(chunk);
    return status;
}

static smk_status copy_out(const smk_execution *execution, smk_error *error)
{
    smk_status status = SMK_OK;
    for (size_t i = 0; i < execution->transfer_count && status == SMK_OK; i++) {
        if (!execution->transfers[i].out && execution->transfers[i].fixed != NULL) {
            status = check_fixed(execution, &execution->transfers[i], error);
        }
    }
    for (size_t i = 0; i < execution->transfer_count && status == SMK_OK; i++) {
        const smk_transfer *transfer = &execution->transfers[i];
        if (transfer->out && !is_borrowed(execution, transfer)) {
            status = smk_chunked_copy_download(execution->backend, transfer->address, transfer->host, transfer->bytes,
                                               transfer->fresh, error);
        }
    }
    return status;
}

/* Computes the addresses in the workspace, and clears the memory that must be 0. */
static smk_status prepare(const smk_execution *execution, uint64_t workspace, smk_error *error)
{
    for (size_t i = 0; i < execution->workspace.address_count; i++) {
        execution->workspace.addresses[i].address = workspace + execution->workspace.addresses[i].offset;
    }
    if (execution->cleared.address != NULL) {
        smk_capture_note_clear(execution->cleared.bytes);
    }
    return execution->cleared.address != NULL
               ? execution->backend->clear(*execution->cleared.address, execution->cleared.bytes, error)
               : SMK_OK;
}

static smk_status run_once(const smk_execution *execution, smk_backend_code *code, const smk_run_options *options,
                           smk_error *error)
{
    smk_status status = SMK_OK;
    for (size_t i = 0; i < execution->step_count && status == SMK_OK; i++) {
        status =
            execution->backend->launch(code, execution->steps[i].entry, &execution->steps[i].launch, options, error);
    }
    return status;
}

/* Moves the operands on to the next item; false behind the last one. */
static bool advance(smk_execution_loops *loops, int64_t *index)
{
    for (size_t j = loops->rank; j-- > 0;) {
        const bool ends = ++index[j] == loops->count[j];
        for (size_t i = 0; i < loops->operand_count; i++) {
            loops->address[i] += (uint64_t)(ends ? -loops->step[i][j] * (loops->count[j] - 1) : loops->step[i][j]);
        }
        if (!ends) {
            return true;
        }
        index[j] = 0;
    }
    return false;
}

/* Where the value of the execution's symbol goes: to the variable at `address`, or to `bytes` of the host. */
typedef struct symbol_place {
    uint64_t address, written; /* written: where the value lies that is there now; 0: none is */
    void *bytes;
} symbol_place;

/* Items of a stack may have values of their own. */
static smk_status write_symbol(const smk_execution *execution, symbol_place *place, smk_error *error)
{
    const uint64_t value = place == NULL ? 0 : *execution->symbol_value.address;
    if (place == NULL || value == place->written) {
        return SMK_OK;
    }
    place->written = value;
    const uint64_t count = execution->symbol_value.bytes;
    return place->bytes != NULL ? execution->backend->download(value, place->bytes, count, error)
                                : execution->backend->copy(place->address, value, count, error);
}

/* Runs the steps for each item. `place` is NULL where the execution has no symbol. */
static smk_status run_steps(const smk_execution *execution, smk_backend_code *code, const smk_run_options *options,
                            symbol_place *place, smk_error *error)
{
    smk_execution_loops *loops = execution->loops;
    int64_t index[SMK_EXECUTION_LOOPS_MAX] = {0};
    smk_status status = SMK_OK;
    for (size_t i = 0; loops != NULL && i < loops->operand_count; i++) {
        loops->address[i] = *loops->first[i];
    }
    do {
        status = write_symbol(execution, place, error);
        status = status == SMK_OK ? run_once(execution, code, options, error) : status;
    } while (status == SMK_OK && loops != NULL && advance(loops, index));
    return status;
}

/* Constants --------------------------------------------------------------------------------------- */

static smk_status find_symbol(const smk_execution *execution, smk_backend_code *code, uint64_t *address,
                              smk_error *error)
{
    uint64_t bytes = 0;
    smk_status status = execution->backend->symbol(code, execution->symbol, address, &bytes, error);
    if (status == SMK_OK && bytes < execution->symbol_value.bytes) {
        status = smk_status_fail(error, SMK_INTERNAL, "%s has %llu bytes, and %llu are copied to it", execution->symbol,
                                 (unsigned long long)bytes, (unsigned long long)execution->symbol_value.bytes);
    }
    return status;
}

/* Gives each launch constants of its own. The variable itself is not written, so other calls may run at the same
 * time. */
static smk_status run_with_launch_constants(const smk_execution *execution, smk_backend_code *code,
                                            const smk_run_options *options, smk_error *error)
{
    smk_run_options launch_options = *options;
    void *bytes = smk_heap_allocate((size_t)execution->symbol_value.bytes, 1);
    launch_options.constant = (smk_run_constant){.bytes = bytes, .count = execution->symbol_value.bytes};
    smk_status status = bytes == NULL ? smk_status_fail(error, SMK_MEMORY, "no memory left for %s", execution->symbol)
                                      : find_symbol(execution, code, &launch_options.constant.address, error);
    if (status == SMK_OK) {
        symbol_place place = {.bytes = bytes};
        status = run_steps(execution, code, &launch_options, &place, error);
    }
    smk_heap_free(bytes);
    return status;
}

static smk_fork_lock constant_lock;
static bool has_constant_lock;

static void create_constant_lock(void)
{
    has_constant_lock = smk_fork_lock_create(&constant_lock);
}

/* Writes the variable and queues the steps behind that, before another call may do the same. Under this lock no thread
 * waits for a kernel, and no Python code runs. */
static smk_status run_with_variable(const smk_execution *execution, smk_backend_code *code,
                                    const smk_run_options *options, smk_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint64_t address = 0;
    (void)pthread_once(&once, create_constant_lock);
    if (!has_constant_lock) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left for a lock");
    }
    smk_status status = find_symbol(execution, code, &address, error);
    if (status != SMK_OK) {
        return status;
    }
    const smk_backend_streams *streams = execution->backend->streams;
    smk_fork_lock_take(&constant_lock);
    status = streams != NULL ? streams->take_turn(error) : SMK_OK;
    if (status == SMK_OK) {
        symbol_place place = {.address = address};
        status = run_steps(execution, code, options, &place, error);
        if (streams != NULL) { /* also where a step has failed: those before it use the variable */
            const smk_status ended = streams->end_turn(status == SMK_OK ? error : NULL);
            status = status == SMK_OK ? ended : status;
        }
    }
    smk_fork_lock_give(&constant_lock);
    return status;
}

/* Prepares and makes all launches. The workspace may be released as soon as they have been made: a stream works in
 * order, and no memory is reused before earlier launches of the stream that releases it have ended. */
static smk_status launch_steps(const smk_execution *execution, smk_backend_code *code, uint64_t workspace,
                               const smk_run_options *options, smk_error *error)
{
    smk_status status = prepare(execution, workspace, error);
    if (status != SMK_OK) {
        return status;
    }
    if (execution->symbol == NULL) {
        return run_steps(execution, code, options, NULL, error);
    }
    return execution->backend->constants_by_launch ? run_with_launch_constants(execution, code, options, error)
                                                   : run_with_variable(execution, code, options, error);
}

static smk_status take_workspace(const smk_execution *execution, uint64_t *workspace, smk_error *error)
{
    const smk_execution_workspace *wanted = &execution->workspace;
    if (wanted->bytes == 0) {
        return SMK_OK;
    }
    return wanted->restored ? execution->backend->borrow(wanted->bytes, workspace, error)
                            : execution->backend->allocate(wanted->bytes, workspace, error);
}

/* Releases the workspace. Returns the status of the launches, or an error where they have not restored a workspace that
 * they should have. */
static smk_status give_workspace(const smk_execution *execution, uint64_t workspace, smk_status status,
                                 smk_error *error)
{
    if (workspace == 0) {
        return status;
    }
    if (!execution->workspace.restored) {
        (void)execution->backend->release(workspace, NULL);
        return status;
    }
    if (status != SMK_OK) {
        (void)execution->backend->give_back(workspace, execution->workspace.bytes, NULL);
        return status;
    }
    return execution->backend->give_back(workspace, execution->workspace.bytes, error);
}

/* Makes the launches of an execution between the taking of its workspace and its release. */
static smk_status launch_all(const smk_execution *execution, smk_backend_code *code, const smk_run_options *options,
                             smk_error *error)
{
    uint64_t workspace = 0;
    smk_status status = take_workspace(execution, &workspace, error);
    if (status == SMK_OK) {
        status = launch_steps(execution, code, workspace, options, error);
    }
    return give_workspace(execution, workspace, status, error);
}

static smk_status work_whole(const smk_execution *execution, smk_backend_code *code, const smk_run_options *options,
                             smk_error *error)
{
    const char *entry = execution->step_count > 0 ? execution->steps[0].entry : NULL;
    smk_status status = copy_in(execution, error);
    if (status == SMK_OK) {
        status = launch_all(execution, code, options, error);
    }
    if (status == SMK_OK && (execution->wait || execution->transfer_count > 0)) {
        status = execution->backend->synchronize(entry, error);
    }
    return status == SMK_OK ? copy_out(execution, error) : status;
}

/* Slabs ------------------------------------------------------------------------------------------ */

typedef struct slab_context {
    const smk_execution *execution;
    smk_backend_code *code;
    const smk_run_options *options;
} slab_context;

static smk_status run_slab(void *context, size_t slab, smk_error *error)
{
    const slab_context *c = context;
    return launch_all(c->execution->slabs[slab].work, c->code, c->options, error);
}

static void place_pieces(const smk_execution *execution, const smk_execution_piece *pieces, size_t count,
                         smk_staged_range *ranges)
{
    for (size_t i = 0; i < count; i++) {
        ranges[i] = pieces[i].range;
        ranges[i].address += execution->transfers[pieces[i].transfer].address;
    }
}

/* Results go to memory that others use when all slabs have ended well, and to fresh memory one by one. */
static smk_status work_in_slabs(const smk_execution *execution, smk_backend_code *code, const smk_run_options *options,
                                smk_error *error)
{
    slab_context context = {execution, code, options};
    smk_staged_range *ranges = smk_heap_allocate(execution->up_count + execution->down_count, sizeof *ranges);
    smk_staged_copy copy = {.up = ranges,
                            .up_count = execution->up_count,
                            .down_count = execution->down_count,
                            .slabs = execution->slab_count,
                            .run = run_slab,
                            .context = &context};
    if (ranges == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to copy the arguments");
    }
    for (size_t i = 0; i < execution->transfer_count; i++) {
        copy.late = copy.late || (execution->transfers[i].out && !execution->transfers[i].fresh);
        for (size_t j = 0; j < execution->slab_count; j++) {
            execution->slabs[j].address[i] = execution->transfers[i].address + execution->slabs[j].offset[i];
        }
    }
    copy.down = ranges + copy.up_count;
    place_pieces(execution, execution->up, execution->up_count, ranges);
    place_pieces(execution, execution->down, execution->down_count, ranges + copy.up_count);
    smk_status status = smk_chunked_copy_run(execution->backend, &copy, error);
    smk_heap_free(ranges);
    return status == SMK_OK ? execution->backend->synchronize(execution->steps[0].entry, error) : status;
}

/* Refuses what a graph that captures the thread's stream cannot repeat. Nothing was loaded or allocated before. */
static smk_status check_capture(const smk_execution *execution, const char *entry, smk_error *error)
{
    const smk_backend *backend = execution->backend;
    const bool ends = execution->transfer_count > 0 || execution->wait;
    int device = 0;
    if ((!ends && execution->symbol == NULL) || backend->streams == NULL ||
        smk_backend_device(backend, &device, NULL) != SMK_OK || !smk_stream_scope_captured(backend, device)) {
        return SMK_OK;
    }
    return smk_status_fail(
        error, SMK_ARGUMENT,
        ends ? "%s: a CUDA graph captures the stream, and the call would wait for its end, as it does "
               "unless it has device arrays alone; make them before the capture, by smemkit.asarray"
             : "%s: a CUDA graph captures the stream, and cannot repeat the call: it writes a "
               "__constant__ variable that all calls share; name another variant",
        entry == NULL ? "smemkit" : entry);
}

static smk_status work(const smk_execution *execution, const smk_run_options *options, smk_error *error)
{
    const smk_backend *backend = execution->backend;
    const char *entry = execution->step_count > 0 ? execution->steps[0].entry : NULL;
    smk_backend_code *code = NULL;
    smk_status status = check_capture(execution, entry, error);
    if (status == SMK_OK) {
        status = smk_kernel_binary_code(execution->binary, backend, entry, &code, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    status = allocate_buffers(execution, error);
    if (status == SMK_OK) {
        status = execution->slab_count > 0 ? work_in_slabs(execution, code, options, error)
                                           : work_whole(execution, code, options, error);
    }
    for (size_t i = execution->transfer_count; i-- > 0;) {
        (void)backend->release(execution->transfers[i].address, NULL); /* 0 where none was allocated */
    }
    return status;
}

/* Works on the execution's device, and then restores the thread's present device. */
static smk_status work_there(const smk_execution *execution, const smk_run_options *options, smk_error *error)
{
    int before = 0;
    smk_status status = smk_backend_enter(execution->backend, execution->device, &before, error);
    if (status == SMK_OK) {
        status = work(execution, options, error);
        smk_backend_leave(execution->backend, execution->device, before);
    }
    return status;
}

static bool has_variables(const smk_module *module)
{
    bool found = module == NULL;
    for (uint32_t i = 0; !found && i < module->variable_count; i++) {
        found = module->variables[i].space == SMK_SPACE_GLOBAL;
    }
    return found;
}

/* True where no other call can change the global memory of this one: there is no other Python thread, or the call
 * allocates all memory itself (and no address was passed as a number). Needs an attached thread. */
static bool is_alone(const smk_execution *execution)
{
    /* the state of another thread may go away meanwhile where there is no GIL: it is compared, and not read */
    PyThreadState *own = PyThreadState_Get();
    bool others = PyInterpreterState_ThreadHead(PyInterpreterState_Get()) != own || PyThreadState_Next(own) != NULL;
    return !others || (execution->wait && !has_variables(atomic_load(&execution->binary->module)));
}

/* Raises what the execution ended with, if that is no success. Needs the GIL. Returns 0, or -1 with an exception
 * set. */
static int finish(const smk_state *state, const smk_execution *execution, smk_status status, smk_error *error,
                  smk_printed_text *printed_text)
{
    if (status == SMK_OK && PyErr_Occurred() != NULL) {
        status = SMK_INTERRUPTED; /* the launch had ended when the signal came */
    }
    if (smk_captured_call_collect(state, status == SMK_OK && !PyErr_Occurred()) < 0) {
        return -1;
    }
    if (status == SMK_OK) {
        return smk_printed_text_flush(printed_text) < 0 ? -1 : smk_printed_text_check(state, printed_text);
    }
    error->status = status;
    /* the output of a kernel that failed often tells why; an exception here must not hide the error */
    if (!PyErr_Occurred() && smk_printed_text_flush(printed_text) < 0) {
        PyErr_Clear();
    }
    if (!PyErr_Occurred() && execution->step_count > 0 &&
        smk_captured_call_note_refusal(execution->steps[0].entry, error->message) < 0) {
        PyErr_Clear(); /* no memory; the exception below says enough */
    }
    smk_error_raise(state, error);
    return -1;
}

/* True for launches that return before the kernels end, and leave no record: nothing is printed, polled or collected
 * meanwhile. */
static bool is_launch_alone(const smk_execution *execution)
{
    return execution->backend->asynchronous && !execution->wait && execution->transfer_count == 0 &&
           smk_capture_mode_now() == SMK_CAPTURE_OFF;
}

static int run_launch_alone(const smk_state *state, const smk_execution *execution)
{
    const smk_run_options options = {.max_steps = execution->max_steps};
    smk_error error = {0};
    smk_status status = SMK_OK;
    Py_BEGIN_ALLOW_THREADS
    status = work_there(execution, &options, &error);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}

int smk_execute_run(const smk_state *state, smk_execution *execution)
{
    smk_error error = {0};
    callbacks c = {.generation = smk_fork_generation()};
    if (is_launch_alone(execution)) {
        return run_launch_alone(state, execution);
    }
    if (smk_selection_check(state, execution->backend) < 0) {
        return -1; /* its arrays live on the GPU */
    }
    if (smk_printed_text_create(&c.printed_text) < 0) {
        return -1;
    }
    smk_progress_begin(&c.progress);
    const smk_run_options options = {
        .max_steps = execution->max_steps,
        .lockstep = execution->lockstep,
        .alone = is_alone(execution),
        .print = smk_printed_text_append,
        .print_context = &c.printed_text,
        .progress = &c.progress.run,
    };
    c.thread = PyEval_SaveThread();
    smk_poll_begin(&c.poll, must_stop, &c);
    smk_status status = work_there(execution, &options, &error);
    smk_poll_end(&c.poll);
    PyEval_RestoreThread(c.thread);
    smk_progress_end(&c.progress);
    int result = finish(state, execution, status, &error, &c.printed_text);
    smk_printed_text_free(&c.printed_text);
    return result;
}
