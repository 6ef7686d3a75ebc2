/* Functions of streams that the driver alone has, or has with other parameters: words of memory that a stream writes
 * and waits for, and older forms of what it says of captures. The others are rows of driver.def. */
#include "runtime/driver.h"
#include "runtime/graph.h"
#include "runtime/outcome.h"
#include "runtime/stream.h"

enum {
    WAIT_GREATER = 0, /* the word less the value is not negative, as a signed integer */
    WAIT_EQUAL = 1,
    WAIT_AND = 2,
    WAIT_NOR = 3,
    WAIT_FLUSH = 1 << 30,
    WRITE_UNORDERED = 1
};

/* Numbered as the driver numbers the members of a batch. */
typedef enum operation_kind {
    OPERATION_WAIT_32 = 1,
    OPERATION_WRITE_32 = 2,
    OPERATION_FLUSH = 3,
    OPERATION_WAIT_64 = 4,
    OPERATION_WRITE_64 = 5,
    OPERATION_BARRIER = 6
} operation_kind;

typedef struct batch_operation {
    int kind;
    uint64_t address, value; /* a value of 32 bits lies in the first four bytes */
    unsigned flags;
    uint64_t room[2];
} batch_operation;

extern smk_cuda cudaStreamGetCaptureInfo(smk_cuda_stream_handle stream, int *state, unsigned long long *number,
                                         smk_cuda_graph **graph, smk_cuda_node *const **dependencies, const void **data,
                                         size_t *count);
extern smk_cuda cudaStreamUpdateCaptureDependencies(smk_cuda_stream_handle stream, smk_cuda_node *const *nodes,
                                                    const void *data, size_t count, unsigned flags);
extern smk_cuda cudaStreamIsCapturing(smk_cuda_stream_handle stream, int *state);

/* Words of memory ------------------------------------------------------------------------------------------ */

static void *find_word(uint64_t address)
{
    return (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

static smk_cuda write_word(smk_cuda_stream_handle stream, uint64_t address, uint64_t value, unsigned bytes,
                           unsigned flags)
{
    if (address % bytes != 0 || (flags & ~(unsigned)WRITE_UNORDERED) != 0) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    smk_cuda code = SMK_CUDA_Success;
    for (unsigned at = 0; at < bytes && code == SMK_CUDA_Success; at += sizeof(uint32_t)) {
        const smk_work work = {.kind = SMK_WORK_FILL,
                               .as.fill = {.target = find_word(address + at),
                                           .width = 1,
                                           .height = 1,
                                           .depth = 1,
                                           .value = (unsigned)(value >> 8 * at),
                                           .element_bytes = sizeof(uint32_t)}};
        code = smk_driver_code(smk_stream_call(stream, &work, false));
    }
    return code;
}

/* Words of 32 bits are extended by zeros. */
static bool has_come(uint64_t word, uint64_t value, unsigned kind, unsigned bytes)
{
    const uint64_t rest = word - value;
    if (kind == WAIT_GREATER) {
        return bytes == sizeof(uint32_t) ? (int32_t)(uint32_t)rest >= 0 : (int64_t)rest >= 0;
    }
    if (kind == WAIT_EQUAL) {
        return word == value;
    }
    if (kind == WAIT_AND) {
        return (word & value) != 0;
    }
    return bytes == sizeof(uint32_t) ? (uint32_t) ~(word | value) != 0 : ~(word | value) != 0; /* WAIT_NOR */
}

/* All work that was submitted before has ended: what a stream waits for is there, or nobody has submitted it yet. */
static smk_cuda wait_for_word(smk_cuda_stream_handle stream, uint64_t address, uint64_t value, unsigned bytes,
                              unsigned flags)
{
    int captured = 0;
    const unsigned kind = flags & ~(unsigned)WAIT_FLUSH;
    smk_cuda code =
        address % bytes != 0 || kind > WAIT_NOR ? SMK_CUDA_ErrorInvalidValue : cudaStreamIsCapturing(stream, &captured);
    if (code != SMK_CUDA_Success || captured != 0) {
        return code != SMK_CUDA_Success ? smk_driver_code(code) : SMK_CUDA_ErrorNotSupported;
    }
    uint64_t word = 0;
    code = smk_driver_code(smk_stream_copy(&word, find_word(address), bytes, SMK_COPY_BY_ADDRESS, stream, true));
    const uint64_t wanted = bytes == sizeof(uint32_t) ? (uint32_t)value : value;
    if (code == SMK_CUDA_Success && !has_come(word, wanted, kind, bytes)) {
        smk_outcome_say("a stream that waits for a word of memory which no work submitted before has written: work "
                        "runs when it is submitted here, so submit what writes it first");
        code = SMK_CUDA_ErrorNotSupported;
    }
    return code;
}

SMK_EXPORT smk_cuda cuStreamWriteValue32_v2(smk_cuda_stream_handle stream, uint64_t address, uint32_t value,
                                            unsigned flags)
{
    return write_word(stream, address, value, sizeof value, flags);
}
SMK_EXPORT_AS(cuStreamWriteValue32_v2_ptsz, cuStreamWriteValue32_v2);
SMK_EXPORT_AS(cuStreamWriteValue32, cuStreamWriteValue32_v2);
SMK_EXPORT_AS(cuStreamWriteValue32_ptsz, cuStreamWriteValue32_v2);

SMK_EXPORT smk_cuda cuStreamWriteValue64_v2(smk_cuda_stream_handle stream, uint64_t address, uint64_t value,
                                            unsigned flags)
{
    return write_word(stream, address, value, sizeof value, flags);
}
SMK_EXPORT_AS(cuStreamWriteValue64_v2_ptsz, cuStreamWriteValue64_v2);
SMK_EXPORT_AS(cuStreamWriteValue64, cuStreamWriteValue64_v2);
SMK_EXPORT_AS(cuStreamWriteValue64_ptsz, cuStreamWriteValue64_v2);

SMK_EXPORT smk_cuda cuStreamWaitValue32_v2(smk_cuda_stream_handle stream, uint64_t address, uint32_t value,
                                           unsigned flags)
{
    return wait_for_word(stream, address, value, sizeof value, flags);
}
SMK_EXPORT_AS(cuStreamWaitValue32_v2_ptsz, cuStreamWaitValue32_v2);
SMK_EXPORT_AS(cuStreamWaitValue32, cuStreamWaitValue32_v2);
SMK_EXPORT_AS(cuStreamWaitValue32_ptsz, cuStreamWaitValue32_v2);

SMK_EXPORT smk_cuda cuStreamWaitValue64_v2(smk_cuda_stream_handle stream, uint64_t address, uint64_t value,
                                           unsigned flags)
{
    return wait_for_word(stream, address, value, sizeof value, flags);
}
SMK_EXPORT_AS(cuStreamWaitValue64_v2_ptsz, cuStreamWaitValue64_v2);
SMK_EXPORT_AS(cuStreamWaitValue64, cuStreamWaitValue64_v2);
SMK_EXPORT_AS(cuStreamWaitValue64_ptsz, cuStreamWaitValue64_v2);

static smk_cuda run_operation(smk_cuda_stream_handle stream, const batch_operation *operation)
{
    switch (operation->kind) {
    case OPERATION_WAIT_32:
        return cuStreamWaitValue32_v2(stream, operation->address, (uint32_t)operation->value, operation->flags);
    case OPERATION_WRITE_32:
        return cuStreamWriteValue32_v2(stream, operation->address, (uint32_t)operation->value, operation->flags);
    case OPERATION_WAIT_64:
        return cuStreamWaitValue64_v2(stream, operation->address, operation->value, operation->flags);
    case OPERATION_WRITE_64:
        return cuStreamWriteValue64_v2(stream, operation->address, operation->value, operation->flags);
    case OPERATION_FLUSH: /* work has ended when it is submitted, and all of it is seen */
    case OPERATION_BARRIER:
        return SMK_CUDA_Success;
    }
    return SMK_CUDA_ErrorInvalidValue;
}

SMK_EXPORT smk_cuda cuStreamBatchMemOp_v2(smk_cuda_stream_handle stream, unsigned count,
                                          const batch_operation *operations, unsigned flags)
{
    smk_cuda code = flags != 0 ? SMK_CUDA_ErrorInvalidValue : SMK_CUDA_Success;
    for (unsigned i = 0; i < count && code == SMK_CUDA_Success; i++) {
        code = run_operation(stream, &operations[i]);
    }
    return code;
}
SMK_EXPORT_AS(cuStreamBatchMemOp_v2_ptsz, cuStreamBatchMemOp_v2);
SMK_EXPORT_AS(cuStreamBatchMemOp, cuStreamBatchMemOp_v2);
SMK_EXPORT_AS(cuStreamBatchMemOp_ptsz, cuStreamBatchMemOp_v2);

/* Captures as the driver told of them before edges had data ------------------------------------------------ */

SMK_EXPORT smk_cuda cuStreamGetCaptureInfo_v2(smk_cuda_stream_handle stream, int *state, unsigned long long *number,
                                              smk_cuda_graph **graph, smk_cuda_node *const **dependencies,
                                              size_t *count)
{
    return smk_driver_code(cudaStreamGetCaptureInfo(stream, state, number, graph, dependencies, NULL, count));
}
SMK_EXPORT_AS(cuStreamGetCaptureInfo_v2_ptsz, cuStreamGetCaptureInfo_v2);

SMK_EXPORT smk_cuda cuStreamGetCaptureInfo(smk_cuda_stream_handle stream, int *state, unsigned long long *number)
{
    return cuStreamGetCaptureInfo_v2(stream, state, number, NULL, NULL, NULL);
}
SMK_EXPORT_AS(cuStreamGetCaptureInfo_ptsz, cuStreamGetCaptureInfo);

SMK_EXPORT smk_cuda cuStreamUpdateCaptureDependencies(smk_cuda_stream_handle stream, smk_cuda_node *const *nodes,
                                                      size_t count, unsigned flags)
{
    return smk_driver_code(cudaStreamUpdateCaptureDependencies(stream, nodes, NULL, count, flags));
}
SMK_EXPORT_AS(cuStreamUpdateCaptureDependencies_ptsz, cuStreamUpdateCaptureDependencies);
