/* Streams, events, and the capture of streams into graphs. */
#ifndef SMK_RUNTIME_STREAM_H
#define SMK_RUNTIME_STREAM_H

#include "runtime/graph.h"

#include <pthread.h>

/* A capture: streams that add their work to one graph. */
typedef struct smk_stream_capture {
    smk_cuda_graph *graph;
    struct smk_cuda_stream *origin; /* where it began */
    uint64_t number;
    pthread_t thread; /* that began it */
    int mode;         /* smk_stream_capture_mode */
    bool own_graph;   /* else the caller gave it */
    bool invalid;
} smk_stream_capture;

/* What a program sets of a stream beside its priority, and asks for again: hints, which change nothing here. */
typedef struct smk_stream_hints {
    struct {
        void *address;
        size_t bytes;
        float ratio; /* of the accesses to it that are treated as hits */
        int hit, miss;
    } window;    /* of memory that shall stay in L2 */
    int waiting; /* how the host waits; 0: as it chooses */
    int domain;  /* of fences */
    bool has_domains;
    unsigned char domains[2];
} smk_stream_hints;

typedef struct smk_cuda_stream {
    unsigned flags;
    int priority;
    smk_stream_hints hints;
    uint64_t number;
    smk_stream_capture *capture; /* NULL: it runs its work */
    smk_node_list last;          /* of a capture: nodes that the next one depends on */
    struct smk_cuda_stream *next;
} smk_cuda_stream;

enum { SMK_STREAM_NON_BLOCKING = 1 };

/* Runs work, or adds it to the graph of a stream that is captured. */
smk_cuda smk_stream_submit(smk_cuda_stream_handle stream, const smk_work *work);

/* A call of the program that submits work; `waits`: the host waits for it, as for a copy that is not asynchronous. */
smk_cuda smk_stream_call(smk_cuda_stream_handle stream, const smk_work *work, bool waits);

/* smk_stream_call of a copy of bytes in one piece. */
smk_cuda smk_stream_copy(void *target, const void *source, size_t bytes, int kind, smk_cuda_stream_handle stream,
                         bool waits);

/* A call that waits for a stream: fails where that is captured. */
smk_cuda smk_stream_wait(smk_cuda_stream_handle stream);

/* A call that waits for the device: fails where a stream is captured. */
smk_cuda smk_stream_wait_all(void);

/* A call that a capture may not have beside it, as cudaMalloc: fails where there is one that forbids it, and invalidates
 * that. */
smk_cuda smk_stream_check_unsafe(void);

/* The stream of a handle: that of a thread or of the device for 0, 1 and 2. NULL: it is none. */
smk_cuda_stream *smk_stream_find(smk_cuda_stream_handle handle);

/* Can a stream take a batch? Not the one that all others wait for, and none that is captured. */
smk_cuda smk_stream_check_batch(smk_cuda_stream_handle stream);

/* The priority that a stream has where a program asks for one. */
int smk_stream_clamp_priority(int asked);

/* Was an event made to be shared with other processes? */
bool smk_stream_is_shared(smk_cuda_event_handle event);

/* Records an event: notes the time. */
smk_cuda smk_stream_record(smk_cuda_event_handle event);

#endif
