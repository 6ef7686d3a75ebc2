/* Handles by which processes share memory and events.
 *
 * The process that makes a handle cannot open it itself, as on a GPU. Another one cannot either: the memory of the
 * simulator is its process's own.
 */
#include "runtime/allocations.h"
#include "runtime/copy.h"
#include "runtime/outcome.h"
#include "runtime/pool_calls.h"
#include "runtime/session.h"
#include "runtime/stream.h"

#include <string.h>
#include <unistd.h>

enum { LAZY_PEERS = 1 };

/* What smemkit writes into a handle. */
typedef struct own_handle {
    char mark[8];
    uint64_t process, address;
} own_handle;

static const char mark[8] = "smemkit";

static void fill(smk_cuda_ipc_handle *handle, const void *of)
{
    own_handle own = {.process = (uint64_t)getpid(), .address = (uint64_t)(uintptr_t)of};
    memcpy(own.mark, mark, sizeof own.mark);
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &own, sizeof own);
}

/* The code of an attempt to open a handle. `unknown`: of one that no process has made. */
static smk_cuda refuse(const smk_cuda_ipc_handle *handle, smk_cuda unknown)
{
    own_handle own;
    memcpy(&own, handle, sizeof own);
    if (memcmp(own.mark, mark, sizeof own.mark) != 0) {
        return unknown;
    }
    if (own.process == (uint64_t)getpid()) {
        return SMK_CUDA_ErrorDeviceUninitialized;
    }
    smk_outcome_say("a process cannot open what another one shares: the memory of each is its own");
    return SMK_CUDA_ErrorNotSupported;
}

SMK_EXPORT smk_cuda cudaIpcGetMemHandle(smk_cuda_ipc_handle *handle, void *address)
{
    uint64_t start = 0, bytes = 0;
    bool shared = false;
    const smk_cuda code = smk_outcome_begin();
    if (code != SMK_CUDA_Success) {
        return code;
    }
    if (handle == NULL ||
        !smk_memory_find(smk_session_memory(), (uint64_t)(uintptr_t)address, &start, &bytes, &shared) || shared ||
        smk_pool_has(address)) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    fill(handle, address);
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaIpcOpenMemHandle(void **address, smk_cuda_ipc_handle handle, unsigned flags)
{
    const bool known = address != NULL && flags == LAZY_PEERS;
    return smk_outcome_return(known ? refuse(&handle, SMK_CUDA_ErrorInvalidValue) : SMK_CUDA_ErrorInvalidValue);
}

/* None has been opened. */
SMK_EXPORT smk_cuda cudaIpcCloseMemHandle(void *address)
{
    (void)address;
    return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
}

SMK_EXPORT smk_cuda cudaIpcGetEventHandle(smk_cuda_ipc_handle *handle, smk_cuda_event_handle event)
{
    if (handle == NULL || event == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    if (!smk_stream_is_shared(event)) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidResourceHandle);
    }
    fill(handle, event);
    return SMK_CUDA_Success;
}

SMK_EXPORT smk_cuda cudaIpcOpenEventHandle(smk_cuda_event_handle *event, smk_cuda_ipc_handle handle)
{
    return smk_outcome_return(event == NULL ? SMK_CUDA_ErrorInvalidValue
                                            : refuse(&handle, SMK_CUDA_ErrorMapBufferObjectFailed));
}
