/* Attributes of streams. All but the priority are hints, which are kept for programs that ask for them. */
#include "runtime/outcome.h"
#include "runtime/stream.h"

#include <string.h>

enum {
    ATTRIBUTE_WINDOW = 1,
    ATTRIBUTE_WAITING = 3,
    ATTRIBUTE_PRIORITY = 8,
    ATTRIBUTE_DOMAINS = 9,
    ATTRIBUTE_DOMAIN = 10
};

enum { WAITING_FIRST = 1, WAITING_LAST = 4, WAITING_UNSET = -1, HIT_LAST = 2, PERSISTING = 2, DOMAINS = 4 };
enum { WINDOW_BYTES = 28 }; /* without the padding behind */
/* Is a number that a program gives one of an attribute that streams have? */
static bool is_attribute(int name)
{
    return name == ATTRIBUTE_WINDOW || name == ATTRIBUTE_WAITING ||
           (name >= ATTRIBUTE_PRIORITY && name <= ATTRIBUTE_DOMAIN);
}

/* Is a window of memory one that a stream can have? */
static bool is_window(const smk_stream_hints *hints)
{
    return hints->window.ratio >= 0 && hints->window.ratio <= 1 && hints->window.hit >= 0 &&
           hints->window.hit <= HIT_LAST && hints->window.miss >= 0 && hints->window.miss < PERSISTING;
}

static smk_cuda set(smk_cuda_stream *stream, int name, const void *value)
{
    smk_stream_hints hints = stream->hints;
    int number;
    memcpy(&number, value, sizeof number);
    switch (name) {
    case ATTRIBUTE_WINDOW:
        memcpy(&hints.window, value, WINDOW_BYTES);
        if (!is_window(&hints)) {
            return SMK_CUDA_ErrorInvalidValue;
        }
        break;
    case ATTRIBUTE_WAITING:
        if (number < WAITING_FIRST || number > WAITING_LAST) {
            return SMK_CUDA_ErrorInvalidValue;
        }
        hints.waiting = number;
        break;
    case ATTRIBUTE_PRIORITY:
        stream->priority = smk_stream_clamp_priority(number);
        break;
    case ATTRIBUTE_DOMAINS:
        memcpy(hints.domains, value, sizeof hints.domains);
        if (hints.domains[0] >= DOMAINS || hints.domains[1] >= DOMAINS) {
            return SMK_CUDA_ErrorInvalidValue;
        }
        hints.has_domains = true;
        break;
    case ATTRIBUTE_DOMAIN:
        if (number < 0 || number > 1) {
            return SMK_CUDA_ErrorInvalidValue;
        }
        hints.domain = number;
        break;
    }
    stream->hints = hints;
    return is_attribute(name) ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidValue;
}

static smk_cuda get(const smk_cuda_stream *stream, int name, void *value)
{
    const smk_stream_hints *hints = &stream->hints;
    const int waiting = hints->waiting == 0 ? WAITING_UNSET : hints->waiting;
    const unsigned char domains[2] = {hints->domains[0], hints->has_domains ? hints->domains[1] : 1};
    switch (name) {
    case ATTRIBUTE_WINDOW:
        memcpy(value, &hints->window, WINDOW_BYTES);
        return SMK_CUDA_Success;
    case ATTRIBUTE_WAITING:
        memcpy(value, &waiting, sizeof waiting);
        return SMK_CUDA_Success;
    case ATTRIBUTE_PRIORITY:
        memcpy(value, &stream->priority, sizeof stream->priority);
        return SMK_CUDA_Success;
    case ATTRIBUTE_DOMAINS:
        memcpy(value, domains, sizeof domains);
        return SMK_CUDA_Success;
    case ATTRIBUTE_DOMAIN:
        memcpy(value, &hints->domain, sizeof hints->domain);
        return SMK_CUDA_Success;
    }
    return SMK_CUDA_ErrorInvalidValue;
}

SMK_EXPORT smk_cuda cudaStreamSetAttribute(smk_cuda_stream_handle handle, int name, const void *value)
{
    smk_cuda_stream *stream = smk_stream_find(handle);
    if (stream == NULL || value == NULL) {
        return smk_outcome_return(stream == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : SMK_CUDA_ErrorInvalidValue);
    }
    return smk_outcome_return(set(stream, name, value));
}
SMK_EXPORT_AS(cudaStreamSetAttribute_ptsz, cudaStreamSetAttribute);

SMK_EXPORT smk_cuda cudaStreamGetAttribute(smk_cuda_stream_handle handle, int name, void *value)
{
    const smk_cuda_stream *stream = smk_stream_find(handle);
    if (stream == NULL || value == NULL) {
        return smk_outcome_return(stream == NULL ? SMK_CUDA_ErrorInvalidResourceHandle : SMK_CUDA_ErrorInvalidValue);
    }
    return smk_outcome_return(get(stream, name, value));
}
SMK_EXPORT_AS(cudaStreamGetAttribute_ptsz, cudaStreamGetAttribute);

SMK_EXPORT smk_cuda cudaStreamCopyAttributes(smk_cuda_stream_handle to, smk_cuda_stream_handle from)
{
    smk_cuda_stream *target = smk_stream_find(to);
    const smk_cuda_stream *source = smk_stream_find(from);
    if (target == NULL || source == NULL) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidResourceHandle);
    }
    target->hints = source->hints;
    target->priority = source->priority;
    return smk_outcome_begin();
}
SMK_EXPORT_AS(cudaStreamCopyAttributes_ptsz, cudaStreamCopyAttributes);
