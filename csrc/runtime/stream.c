#include "runtime/stream.h"

#include "base/heap.h"
#include "base/poll.h"
#include "runtime/address_map.h"
#include "runtime/outcome.h"
#include "runtime/session.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct smk_cuda_event {
    unsigned flags;
    bool recorded;
    uint64_t time;               /* ns */
    smk_stream_capture *capture; /* of the stream that it was recorded in; NULL: none */
    smk_node_list last;
} smk_cuda_event;

enum {
    DISABLE_TIMING = 2,
    INTERPROCESS = 4,
    EVENT_FLAGS = 7,
    PRIORITY_GREATEST = -5,
    LEGACY = 1,
    PER_THREAD = 2,
    CAPTURE_NONE = 0,
    CAPTURE_ACTIVE = 1,
    CAPTURE_INVALID = 2,
    CAPTURE_SET = 1,
    MODE_GLOBAL = 0, /* of captures, and of threads: what calls are forbidden beside which captures */
    MODE_THREAD_LOCAL = 1,
    MODE_RELAXED = 2
};

static smk_cuda_stream legacy = {.number = LEGACY};
static _Thread_local smk_cuda_stream per_thread = {.number = PER_THREAD};
static _Thread_local int thread_mode = MODE_GLOBAL;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows, and captures */
static smk_cuda_stream *streams;
static smk_address_map known; /* streams that have not been destroyed */
static uint64_t numbers = PER_THREAD;
static _Atomic unsigned captures;

smk_cuda_stream *smk_stream_find(smk_cuda_stream_handle handle)
{
    if (handle == NULL || (uintptr_t)handle == LEGACY) {
        return &legacy;
    }
    if ((uintptr_t)handle == PER_THREAD) {
        return &per_thread;
    }
    (void)pthread_mutex_lock(&lock);
    smk_cuda_stream *stream = smk_address_map_get(&known, handle);
    (void)pthread_mutex_unlock(&lock);
    return stream;
}

/* Under the lock: invalidates the captures of streams that wait for the legacy stream; true where there are any. */
static bool disturb_captures(void)
{
    bool any = false;
    for (smk_cuda_stream *stream = streams; stream != NULL; stream = stream->next) {
        if (stream->capture != NULL && (stream->flags & SMK_STREAM_NON_BLOCKING) == 0) {
            stream->capture->invalid = true;
            any = true;
        }
    }
    return any;
}

/* Under the lock: invalidates a capture that forbids unsafe calls of this thread; true where it does. */
static bool forbid_unsafe(smk_stream_capture *capture)
{
    const bool own = capture != NULL && pthread_equal(capture->thread, pthread_self()) != 0;
    if (capture == NULL || thread_mode == MODE_RELAXED || capture->mode == MODE_RELAXED ||
        (!own && (thread_mode != MODE_GLOBAL || capture->mode != MODE_GLOBAL))) {
        return false;
    }
    capture->invalid = true;
    return true;
}

smk_cuda smk_stream_check_unsafe(void)
{
    if (atomic_load_explicit(&captures, memory_order_relaxed) == 0) {
        return SMK_CUDA_Success;
    }
    (void)pthread_mutex_lock(&lock);
    bool forbidden = forbid_unsafe(per_thread.capture);
    for (smk_cuda_stream *stream = streams; stream != NULL; stream = stream->next) {
        forbidden = forbid_unsafe(stream->capture) || forbidden;
    }
    (void)pthread_mutex_unlock(&lock);
    return forbidden ? SMK_CUDA_ErrorStreamCaptureUnsupported : SMK_CUDA_Success;
}

/* Under the lock: adds work to the graph of a capture. */
static smk_cuda capture_work(smk_cuda_stream *stream, const smk_work *work)
{
    if (stream->capture->invalid) {
        return SMK_CUDA_ErrorStreamCaptureInvalidated;
    }
    smk_cuda_node *node = smk_graph_add(stream->capture->graph, &stream->last, work);
    smk_graph_list_free(&stream->last);
    return node != NULL && smk_graph_list_add(&stream->last, node) ? SMK_CUDA_Success : SMK_CUDA_ErrorMemoryAllocation;
}

smk_cuda smk_stream_submit(smk_cuda_stream_handle handle, const smk_work *work)
{
    smk_cuda_stream *stream = smk_stream_find(handle);
    if (stream == NULL) {
        return SMK_CUDA_ErrorInvalidResourceHandle;
    }
    if (atomic_load_explicit(&captures, memory_order_relaxed) != 0) {
        smk_cuda code = SMK_CUDA_Success;
        (void)pthread_mutex_lock(&lock);
        const bool captured = stream->capture != NULL;
        if (captured) {
            code = capture_work(stream, work);
        } else if (stream == &legacy && disturb_captures()) {
            code = SMK_CUDA_ErrorStreamCaptureImplicit;
        }
        (void)pthread_mutex_unlock(&lock);
        if (captured || code != SMK_CUDA_Success) {
            return code;
        }
    }
    return smk_work_run(work);
}

smk_cuda smk_stream_call(smk_cuda_stream_handle stream, const smk_work *work, bool waits)
{
    const smk_cuda code = smk_stream_submit(stream, work);
    if (waits) {
        smk_session_flush();
    }
    return smk_outcome_return(code);
}

smk_cuda smk_stream_copy(void *target, const void *source, size_t bytes, int kind, smk_cuda_stream_handle stream,
                         bool waits)
{
    const smk_work work = {
        .kind = SMK_WORK_COPY,
        .as.copy = {.target = target, .source = source, .width = bytes, .height = 1, .depth = 1, .kind = kind}};
    return smk_stream_call(stream, &work, waits);
}

smk_cuda smk_stream_wait(smk_cuda_stream_handle handle)
{
    smk_cuda_stream *stream = smk_stream_find(handle);
    if (stream == NULL) {
        return SMK_CUDA_ErrorInvalidResourceHandle;
    }
    if (stream->capture != NULL) {
        stream->capture->invalid = true;
        return SMK_CUDA_ErrorStreamCaptureUnsupported;
    }
    smk_session_flush();
    return SMK_CUDA_Success;
}

smk_cuda smk_stream_wait_all(void)
{
    if (atomic_load_explicit(&captures, memory_order_relaxed) != 0) {
        return SMK_CUDA_ErrorStreamCaptureUnsupported;
    }
    smk_session_flush();
    return SMK_CUDA_Success;
}

smk_cuda smk_stream_check_batch(smk_cuda_stream_handle handle)
{
    const smk_cuda_stream *stream = smk_stream_find(handle);
    if (stream == NULL || stream == &legacy) {
        return stream == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : SMK_CUDA_ErrorInvalidValue;
    }
    return stream->capture != NULL ? SMK_CUDA_ErrorStreamCaptureUnsupported : smk_outcome_begin();
}

int smk_stream_clamp_priority(int asked)
{
    return asked < PRIORITY_GREATEST ? PRIORITY_GREATEST : asked > 0 ? 0 : asked;
}

bool smk_stream_is_shared(smk_cuda_event_handle event)
{
    return (event->flags & INTERPROCESS) != 0;
}

/* Streams ------------------------------------------------------------------------------------------------ */

SMK_EXPORT smk_cuda cudaStreamCreateWithPriority(smk_cuda_stream_handle *stream, unsigned flags, int priority)
{
    smk_cuda_stream *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorMemoryAllocation);
    }
    made->flags = flags;
    made->priority = smk_stream_clamp_priority(priority);
    (void)pthread_mutex_lock(&lock);
    made->number = ++numbers;
    made->next = streams;
    streams = made;
    const bool done = smk_address_map_set(&known, made, made);
    (void)pthread_mutex_unlock(&lock);
    *stream = made;
    return smk_outcome_return(done ? smk_outcome_begin() : SMK_CUDA_ErrorMemoryAllocation);
}

SMK_EXPORT smk_cuda cudaStreamCreateWithFlags(smk_cuda_stream_handle *stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

SMK_EXPORT smk_cuda cudaStreamCreate(smk_cuda_stream_handle *stream)
{
    return cudaStreamCreateWithPriority(stream, 0, 0);
}

SMK_EXPORT smk_cuda cudaStreamDestroy(smk_cuda_stream_handle handle)
{
    (void)pthread_mutex_lock(&lock);
    smk_cuda_stream *stream = smk_address_map_remove(&known, handle);
    for (smk_cuda_stream **at = &streams; stream != NULL && *at != NULL; at = &(*at)->next) {
        if (*at == stream) {
            *at = stream->next;
            break;
        }
    }
    (void)pthread_mutex_unlock(&lock);
    if (stream == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidResourceHandle);
    }
    smk_graph_list_free(&stream->last);
    smk_heap_free(stream);
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaStreamSynchronize(smk_cuda_stream_handle stream)
{
    smk_cuda code = smk_stream_wait(stream);
    return code == SMK_CUDA_Success ? smk_outcome_begin() : smk_outcome_return(code);
}
SMK_EXPORT_AS(cudaStreamSynchronize_ptsz, cudaStreamSynchronize);

SMK_EXPORT smk_cuda cudaStreamQuery(smk_cuda_stream_handle stream)
{
    return cudaStreamSynchronize(stream);
}
SMK_EXPORT_AS(cudaStreamQuery_ptsz, cudaStreamQuery);

SMK_EXPORT smk_cuda cudaStreamGetPriority(smk_cuda_stream_handle handle, int *priority)
{
    const smk_cuda_stream *stream = smk_stream_find(handle);
    *priority = stream == NULL ? 0 : stream->priority;
    return smk_outcome_return(stream == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : SMK_CUDA_Success);
}
SMK_EXPORT_AS(cudaStreamGetPriority_ptsz, cudaStreamGetPriority);

SMK_EXPORT smk_cuda cudaStreamGetFlags(smk_cuda_stream_handle handle, unsigned *flags)
{
    const smk_cuda_stream *stream = smk_stream_find(handle);
    *flags = stream == NULL ? 0 : stream->flags;
    return smk_outcome_return(stream == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : SMK_CUDA_Success);
}
SMK_EXPORT_AS(cudaStreamGetFlags_ptsz, cudaStreamGetFlags);

SMK_EXPORT smk_cuda cudaStreamGetId(smk_cuda_stream_handle handle, unsigned long long *number)
{
    const smk_cuda_stream *stream = smk_stream_find(handle);
    *number = stream == NULL ? 0 : stream->number;
    return smk_outcome_return(stream == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : SMK_CUDA_Success);
}
SMK_EXPORT_AS(cudaStreamGetId_ptsz, cudaStreamGetId);

SMK_EXPORT smk_cuda cudaStreamGetDevice(smk_cuda_stream_handle stream, int *device)
{
    (void)stream;
    *device = 0;
    return SMK_CUDA_Success;
}
SMK_EXPORT_AS(cudaStreamGetDevice_ptsz, cudaStreamGetDevice);

/* All work has ended when it is submitted: memory is attached to every stream at any time. */
SMK_EXPORT smk_cuda cudaStreamAttachMemAsync(smk_cuda_stream_handle stream, void *address, size_t bytes, unsigned flags)
{
    (void)stream, (void)address, (void)bytes, (void)flags;
    return smk_outcome_begin();
}
SMK_EXPORT_AS(cudaStreamAttachMemAsync_ptsz, cudaStreamAttachMemAsync);

SMK_EXPORT smk_cuda cudaLaunchHostFunc(smk_cuda_stream_handle stream, void (*function)(void *), void *context)
{
    const smk_work work = {.kind = SMK_WORK_HOST, .as.host = {function, context}};
    return smk_outcome_return(smk_stream_submit(stream, &work));
}
SMK_EXPORT_AS(cudaLaunchHostFunc_ptsz, cudaLaunchHostFunc);

SMK_EXPORT smk_cuda cudaStreamAddCallback(smk_cuda_stream_handle stream,
                                          void (*function)(smk_cuda_stream_handle, smk_cuda, void *), void *context,
                                          unsigned flags)
{
    smk_cuda code = smk_stream_wait(stream);
    if (code == SMK_CUDA_Success && flags == 0) {
        function(stream, smk_outcome_begin(), context);
    }
    return smk_outcome_return(flags == 0 ? code : SMK_CUDA_ErrorInvalidValue);
}
SMK_EXPORT_AS(cudaStreamAddCallback_ptsz, cudaStreamAddCallback);

/* Events -------------------------------------------------------------------------------------------------- */

SMK_EXPORT smk_cuda cudaEventCreateWithFlags(smk_cuda_event_handle *event, unsigned flags)
{
    if (event == NULL || (flags & ~(unsigned)EVENT_FLAGS) != 0 ||
        (flags & (INTERPROCESS | DISABLE_TIMING)) == INTERPROCESS) { /* an event that is shared has no time */
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    smk_cuda_event *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorMemoryAllocation);
    }
    made->flags = flags;
    *event = made;
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaEventCreate(smk_cuda_event_handle *event)
{
    return cudaEventCreateWithFlags(event, 0);
}

SMK_EXPORT smk_cuda cudaEventDestroy(smk_cuda_event_handle event)
{
    if (event == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidResourceHandle);
    }
    smk_graph_list_free(&event->last);
    smk_heap_free(event);
    return smk_outcome_begin();
}

smk_cuda smk_stream_record(smk_cuda_event_handle event)
{
    event->recorded = true;
    event->time = smk_poll_clock();
    event->capture = NULL;
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaEventRecord(smk_cuda_event_handle event, smk_cuda_stream_handle handle)
{
    smk_cuda_stream *stream = smk_stream_find(handle);
    if (event == NULL || stream == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidResourceHandle);
    }
    (void)pthread_mutex_lock(&lock);
    if (stream->capture == NULL) {
        (void)smk_stream_record(event);
    } else {
        event->capture = stream->capture;
        smk_graph_list_free(&event->last);
        (void)smk_graph_list_join(&event->last, &stream->last);
    }
    (void)pthread_mutex_unlock(&lock);
    return smk_outcome_begin();
}
SMK_EXPORT_AS(cudaEventRecord_ptsz, cudaEventRecord);

SMK_EXPORT smk_cuda cudaEventRecordWithFlags(smk_cuda_event_handle event, smk_cuda_stream_handle stream, unsigned flags)
{
    (void)flags;
    return cudaEventRecord(event, stream);
}
SMK_EXPORT_AS(cudaEventRecordWithFlags_ptsz, cudaEventRecordWithFlags);

SMK_EXPORT smk_cuda cudaStreamWaitEvent(smk_cuda_stream_handle handle, smk_cuda_event_handle event, unsigned flags)
{
    smk_cuda code = SMK_CUDA_Success;
    smk_cuda_stream *stream = smk_stream_find(handle);
    (void)flags;
    if (event == NULL || stream == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidResourceHandle);
    }
    (void)pthread_mutex_lock(&lock);
    if (event->capture != NULL) {
        if (stream->capture != NULL && stream->capture != event->capture) {
            stream->capture->invalid = event->capture->invalid = true;
            code = SMK_CUDA_ErrorStreamCaptureMerge;
        } else {
            stream->capture = event->capture;
            code = smk_graph_list_join(&stream->last, &event->last) ? code : SMK_CUDA_ErrorMemoryAllocation;
        }
    } else if (stream->capture != NULL && event->recorded) {
        stream->capture->invalid = true;
        code = SMK_CUDA_ErrorStreamCaptureIsolation;
    }
    (void)pthread_mutex_unlock(&lock);
    return code == SMK_CUDA_Success ? smk_outcome_begin() : smk_outcome_return(code);
}
SMK_EXPORT_AS(cudaStreamWaitEvent_ptsz, cudaStreamWaitEvent);

SMK_EXPORT smk_cuda cudaEventSynchronize(smk_cuda_event_handle event)
{
    if (event == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidResourceHandle);
    }
    if (event->capture != NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorCapturedEvent);
    }
    smk_session_flush();
    return smk_outcome_begin();
}

SMK_EXPORT smk_cuda cudaEventQuery(smk_cuda_event_handle event)
{
    return cudaEventSynchronize(event);
}

/* The time that the simulator took between two events, and never 0, by which programs divide. */
SMK_EXPORT smk_cuda cudaEventElapsedTime(float *milliseconds, smk_cuda_event_handle start, smk_cuda_event_handle end)
{
    if (start == NULL || end == NULL || !start->recorded || !end->recorded ||
        ((start->flags | end->flags) & DISABLE_TIMING) != 0) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidResourceHandle);
    }
    const double nanoseconds = (double)end->time - (double)start->time;
    *milliseconds = (float)((nanoseconds < 1.0 && nanoseconds > -1.0 ? 1.0 : nanoseconds) / 1e6);
    return smk_outcome_begin();
}
SMK_EXPORT_AS(cudaEventElapsedTime_v2, cudaEventElapsedTime);

/* Captures ------------------------------------------------------------------------------------------------ */

static smk_cuda begin_capture(smk_cuda_stream_handle handle, int mode, smk_cuda_graph *graph,
                              const smk_node_list *before)
{
    smk_cuda_stream *stream = smk_stream_find(handle);
    if (mode < MODE_GLOBAL || mode > MODE_RELAXED) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    if (stream == NULL) {
        return SMK_CUDA_ErrorInvalidResourceHandle;
    }
    if (stream == &legacy) {
        return SMK_CUDA_ErrorStreamCaptureUnsupported;
    }
    smk_stream_capture *capture = smk_heap_allocate(1, sizeof *capture);
    if (capture == NULL) {
        return SMK_CUDA_ErrorMemoryAllocation;
    }
    *capture = (smk_stream_capture){.graph = graph == NULL ? smk_graph_create() : graph,
                                    .thread = pthread_self(),
                                    .mode = mode,
                                    .own_graph = graph == NULL};
    (void)pthread_mutex_lock(&lock);
    const bool begins = stream->capture == NULL && capture->graph != NULL &&
                        (before == NULL || smk_graph_list_join(&stream->last, before));
    if (begins) {
        capture->origin = stream;
        capture->number = ++numbers;
        stream->capture = capture;
        atomic_fetch_add(&captures, 1);
    }
    (void)pthread_mutex_unlock(&lock);
    if (!begins) {
        if (capture->own_graph) {
            smk_graph_free(capture->graph);
        }
        smk_heap_free(capture);
    }
    return begins ? SMK_CUDA_Success : SMK_CUDA_ErrorIllegalState;
}

SMK_EXPORT smk_cuda cudaStreamBeginCapture(smk_cuda_stream_handle stream, int mode)
{
    return smk_outcome_return(begin_capture(stream, mode, NULL, NULL));
}
SMK_EXPORT_AS(cudaStreamBeginCapture_ptsz, cudaStreamBeginCapture);

SMK_EXPORT smk_cuda cudaStreamBeginCaptureToGraph(smk_cuda_stream_handle stream, smk_cuda_graph *graph,
                                                  smk_cuda_node *const *dependencies, const void *data, size_t count,
                                                  int mode)
{
    smk_node_list before = {0};
    bool done = true;
    (void)data;
    for (size_t i = 0; i < count && done; i++) {
        done = smk_graph_list_add(&before, dependencies[i]);
    }
    const smk_cuda code = done ? begin_capture(stream, mode, graph, &before) : SMK_CUDA_ErrorMemoryAllocation;
    smk_graph_list_free(&before);
    return smk_outcome_return(code);
}
SMK_EXPORT_AS(cudaStreamBeginCaptureToGraph_ptsz, cudaStreamBeginCaptureToGraph);

/* Under the lock: takes all streams out of a capture. Are all that joined it joined to its origin again? */
static bool leave_capture(smk_stream_capture *capture)
{
    bool joined = true;
    for (smk_cuda_stream *stream = streams; stream != NULL; stream = stream->next) {
        if (stream->capture == capture && stream != capture->origin) {
            joined = joined && smk_graph_reaches(capture->graph, &capture->origin->last, &stream->last);
            stream->capture = NULL;
            smk_graph_list_free(&stream->last);
        }
    }
    capture->origin->capture = NULL;
    smk_graph_list_free(&capture->origin->last);
    return joined;
}

SMK_EXPORT smk_cuda cudaStreamEndCapture(smk_cuda_stream_handle handle, smk_cuda_graph **graph)
{
    smk_cuda_stream *stream = smk_stream_find(handle);
    smk_cuda_graph *unwanted = NULL; /* that of a capture into a graph of the caller's, which has it already */
    graph = graph == NULL ? &unwanted : graph;
    *graph = NULL;
    if (stream == NULL || stream->capture == NULL) {
        return smk_outcome_return(stream == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : SMK_CUDA_ErrorIllegalState);
    }
    smk_stream_capture *capture = stream->capture;
    if (capture->origin != stream) {
        capture->invalid = true;
        return smk_outcome_return(SMK_CUDA_ErrorStreamCaptureUnmatched);
    }
    (void)pthread_mutex_lock(&lock);
    const bool joined = leave_capture(capture);
    atomic_fetch_sub(&captures, 1);
    (void)pthread_mutex_unlock(&lock);
    smk_cuda code = capture->invalid ? SMK_CUDA_ErrorStreamCaptureInvalidated
                    : joined         ? SMK_CUDA_Success
                                     : SMK_CUDA_ErrorStreamCaptureUnjoined;
    if (code == SMK_CUDA_Success) {
        *graph = capture->graph;
    } else if (capture->own_graph) {
        smk_graph_free(capture->graph);
    }
    smk_heap_free(capture);
    return smk_outcome_return(code);
}
SMK_EXPORT_AS(cudaStreamEndCapture_ptsz, cudaStreamEndCapture);

static int describe_capture(const smk_cuda_stream *stream)
{
    return stream->capture == NULL ? CAPTURE_NONE : stream->capture->invalid ? CAPTURE_INVALID : CAPTURE_ACTIVE;
}

SMK_EXPORT smk_cuda cudaStreamIsCapturing(smk_cuda_stream_handle handle, int *state)
{
    const smk_cuda_stream *stream = smk_stream_find(handle);
    *state = stream == NULL ? CAPTURE_NONE : describe_capture(stream);
    return smk_outcome_return(stream == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : SMK_CUDA_Success);
}
SMK_EXPORT_AS(cudaStreamIsCapturing_ptsz, cudaStreamIsCapturing);

SMK_EXPORT smk_cuda cudaStreamGetCaptureInfo(smk_cuda_stream_handle handle, int *state, unsigned long long *number,
                                             smk_cuda_graph **graph, smk_cuda_node *const **dependencies,
                                             const void **data, size_t *count)
{
    const smk_cuda_stream *stream = smk_stream_find(handle);
    *state = stream == NULL ? CAPTURE_NONE : describe_capture(stream);
    if (stream != NULL && stream->capture != NULL) {
        if (number != NULL) {
            *number = stream->capture->number;
        }
        if (graph != NULL) {
            *graph = stream->capture->graph;
        }
        if (dependencies != NULL) {
            *dependencies = stream->last.node;
        }
        if (data != NULL) {
            *data = NULL;
        }
        if (count != NULL) {
            *count = stream->last.count;
        }
    }
    return smk_outcome_return(stream == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : SMK_CUDA_Success);
}
SMK_EXPORT_AS(cudaStreamGetCaptureInfo_ptsz, cudaStreamGetCaptureInfo);
SMK_EXPORT_AS(cudaStreamGetCaptureInfo_v3, cudaStreamGetCaptureInfo);
SMK_EXPORT_AS(cudaStreamGetCaptureInfo_v3_ptsz, cudaStreamGetCaptureInfo);

/* What the next node of a captured stream depends on: these nodes too, or these alone. */
SMK_EXPORT smk_cuda cudaStreamUpdateCaptureDependencies(smk_cuda_stream_handle handle, smk_cuda_node *const *nodes,
                                                        const void *data, size_t count, unsigned flags)
{
    smk_cuda_stream *stream = smk_stream_find(handle);
    bool done = true;
    (void)data;
    if (stream == NULL || stream->capture == NULL || flags > CAPTURE_SET) {
        return smk_outcome_return(stream == NULL        ? SMK_CUDA_ErrorInvalidResourceHandle
                                  : flags > CAPTURE_SET ? SMK_CUDA_ErrorInvalidValue
                                                        : SMK_CUDA_ErrorIllegalState);
    }
    (void)pthread_mutex_lock(&lock);
    if (flags == CAPTURE_SET) {
        smk_graph_list_free(&stream->last);
    }
    for (size_t i = 0; i < count && done; i++) {
        done = smk_graph_list_add(&stream->last, nodes[i]);
    }
    (void)pthread_mutex_unlock(&lock);
    return smk_outcome_return(done ? SMK_CUDA_Success : SMK_CUDA_ErrorMemoryAllocation);
}
SMK_EXPORT_AS(cudaStreamUpdateCaptureDependencies_ptsz, cudaStreamUpdateCaptureDependencies);
SMK_EXPORT_AS(cudaStreamUpdateCaptureDependencies_v2, cudaStreamUpdateCaptureDependencies);
SMK_EXPORT_AS(cudaStreamUpdateCaptureDependencies_v2_ptsz, cudaStreamUpdateCaptureDependencies);

SMK_EXPORT smk_cuda cudaThreadExchangeStreamCaptureMode(int *mode)
{
    const int asked = *mode;
    if (asked < MODE_GLOBAL || asked > MODE_RELAXED) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    *mode = thread_mode;
    thread_mode = asked;
    return SMK_CUDA_Success;
}
