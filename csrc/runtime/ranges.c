/* Advice on ranges of managed memory, prefetching and discarding.
 *
 * All managed memory is in one place, which the host and kernels reach, so there is nothing to move: what was said of each
 * range is kept, and told to programs that ask. It holds for whole pages.
 */
#include "runtime/ranges.h"

#include "base/heap.h"
#include "runtime/address_map.h"
#include "runtime/allocations.h"
#include "runtime/outcome.h"
#include "runtime/stream.h"

#include <pthread.h>
#include <string.h>

enum { PAGE_BYTES = 4096, DEVICE_HOST = -1, DEVICE_NONE = -2 };

typedef enum advice_kind {
    ADVICE_READ_MOSTLY = 1,
    ADVICE_NOT_READ_MOSTLY = 2,
    ADVICE_PREFERRED = 3,
    ADVICE_NOT_PREFERRED = 4,
    ADVICE_ACCESSED = 5,
    ADVICE_NOT_ACCESSED = 6,
    PREFETCHED = 7 /* no advice of the program's */
} advice_kind;

typedef enum question {
    ASK_READ_MOSTLY = 1,
    ASK_PREFERRED = 2,
    ASK_ACCESSED = 3,
    ASK_PREFETCHED = 4,
    ASK_PREFERRED_TYPE = 5,
    ASK_PREFERRED_NUMBER = 6,
    ASK_PREFETCHED_TYPE = 7,
    ASK_PREFETCHED_NUMBER = 8
} question;

/* What was said of the bytes of an allocation in front of `end` and behind the range before. */
typedef struct memory_range {
    uint64_t end; /* a distance from the start of the allocation */
    bool read_mostly, by_device, by_host;
    smk_cuda_location preferred, prefetched; /* of no type: none */
    struct memory_range *next;
} memory_range;

/* Bytes of an allocation. */
typedef struct memory_span {
    const void *allocation;
    uint64_t bytes, from, to; /* the allocation's; distances from its start */
} memory_span;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static smk_address_map ranges; /* under it: the first range of each allocation of which something was said */

void smk_ranges_forget(const void *allocation)
{
    (void)pthread_mutex_lock(&lock);
    memory_range *range = smk_address_map_remove(&ranges, allocation);
    (void)pthread_mutex_unlock(&lock);
    while (range != NULL) {
        memory_range *next = range->next;
        smk_heap_free(range);
        range = next;
    }
}

/* The pages of a range of managed memory; false where it is none. */
static bool find_span(const void *address, size_t bytes, memory_span *span)
{
    uint64_t start = 0;
    size_t whole = 0;
    if (bytes == 0 || !smk_allocations_find_managed(address, &start, &whole)) {
        return false;
    }
    const uint64_t from = (uint64_t)(uintptr_t)address - start;
    if (bytes > whole - from) {
        return false;
    }
    const uint64_t to = (from + bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    *span = (memory_span){.allocation = (const char *)address - from,
                          .bytes = whole,
                          .from = from / PAGE_BYTES * PAGE_BYTES,
                          .to = to < whole ? to : whole};
    return true;
}

/* Has a range end at a distance, if it lies in one. False where there is no memory. */
static bool cut(memory_range *range, uint64_t at)
{
    uint64_t from = 0;
    for (; range != NULL && range->end <= at; range = range->next) {
        from = range->end;
    }
    if (range == NULL || from == at) {
        return true;
    }
    memory_range *rest = smk_heap_allocate(1, sizeof *rest);
    if (rest == NULL) {
        return false;
    }
    *rest = *range;
    range->end = at;
    range->next = rest;
    return true;
}

static void change(memory_range *range, advice_kind advice, smk_cuda_location where)
{
    const bool is_device = where.type == SMK_LOCATION_DEVICE;
    const smk_cuda_location nowhere = {SMK_LOCATION_NONE, 0};
    switch (advice) {
    case ADVICE_READ_MOSTLY:
    case ADVICE_NOT_READ_MOSTLY:
        range->read_mostly = advice == ADVICE_READ_MOSTLY;
        break;
    case ADVICE_PREFERRED:
    case ADVICE_NOT_PREFERRED:
        range->preferred = advice == ADVICE_PREFERRED ? where : nowhere;
        break;
    case ADVICE_ACCESSED:
    case ADVICE_NOT_ACCESSED:
        *(is_device ? &range->by_device : &range->by_host) = advice == ADVICE_ACCESSED;
        break;
    case PREFETCHED:
        range->prefetched = where;
        break;
    }
}

/* A part of the host counts as the host. */
static smk_cuda note(const memory_span *span, advice_kind advice, smk_cuda_location where)
{
    where = where.type > SMK_LOCATION_HOST ? (smk_cuda_location){SMK_LOCATION_HOST, 0} : where;
    (void)pthread_mutex_lock(&lock);
    memory_range *range = smk_address_map_get(&ranges, span->allocation);
    bool done = range != NULL;
    if (!done && (range = smk_heap_allocate(1, sizeof *range)) != NULL) {
        range->end = span->bytes;
        done = smk_address_map_set(&ranges, span->allocation, range);
    }
    done = done && cut(range, span->from) && cut(range, span->to);
    for (uint64_t from = 0; done && range != NULL && from < span->to; range = range->next) {
        if (from >= span->from) {
            change(range, advice, where);
        }
        from = range->end;
    }
    (void)pthread_mutex_unlock(&lock);
    return done ? SMK_CUDA_Success : SMK_CUDA_ErrorMemoryAllocation;
}

static smk_cuda check_place(smk_cuda_location where)
{
    if (where.type == SMK_LOCATION_DEVICE) {
        return where.number == 0 ? SMK_CUDA_Success : SMK_CUDA_ErrorInvalidDevice;
    }
    return where.type >= SMK_LOCATION_HOST && where.type <= SMK_LOCATION_HOST_NEAREST ? SMK_CUDA_Success
                                                                                      : SMK_CUDA_ErrorInvalidValue;
}

static smk_cuda prefetch(const void *address, size_t bytes, smk_cuda_location where)
{
    memory_span span;
    const smk_cuda code = check_place(where);
    if (code != SMK_CUDA_Success) {
        return code;
    }
    return find_span(address, bytes, &span) ? note(&span, PREFETCHED, where) : SMK_CUDA_ErrorInvalidValue;
}

/* Both take a location by value, as CUDA 13 passes it. */
SMK_EXPORT smk_cuda cudaMemPrefetchAsync(const void *address, size_t bytes, smk_cuda_location where, unsigned flags,
                                         smk_cuda_stream_handle stream)
{
    smk_cuda code = smk_outcome_begin();
    if (code != SMK_CUDA_Success) {
        return code;
    }
    code = flags != 0                        ? SMK_CUDA_ErrorInvalidValue
           : smk_stream_find(stream) == NULL ? SMK_CUDA_ErrorInvalidResourceHandle
                                             : prefetch(address, bytes, where);
    return smk_outcome_return(code);
}
SMK_EXPORT_AS(cudaMemPrefetchAsync_ptsz, cudaMemPrefetchAsync);
SMK_EXPORT_AS(cudaMemPrefetchAsync_v2, cudaMemPrefetchAsync); /* CUDA 12 has both, as it has others with a number */
SMK_EXPORT_AS(cudaMemPrefetchAsync_v2_ptsz, cudaMemPrefetchAsync);

SMK_EXPORT smk_cuda cudaMemAdvise(const void *address, size_t bytes, int advice, smk_cuda_location where)
{
    memory_span span;
    smk_cuda code = smk_outcome_begin();
    if (code != SMK_CUDA_Success) {
        return code;
    }
    const bool placed = advice == ADVICE_PREFERRED || advice == ADVICE_ACCESSED || advice == ADVICE_NOT_ACCESSED;
    code = placed && check_place(where) != SMK_CUDA_Success ? SMK_CUDA_ErrorInvalidValue : SMK_CUDA_Success;
    if (advice < ADVICE_READ_MOSTLY || advice > ADVICE_NOT_ACCESSED || !find_span(address, bytes, &span)) {
        code = SMK_CUDA_ErrorInvalidValue;
    }
    return smk_outcome_return(code == SMK_CUDA_Success ? note(&span, advice, where) : code);
}
SMK_EXPORT_AS(cudaMemAdvise_v2, cudaMemAdvise);

/* Questions ------------------------------------------------------------------------------------------------ */

static bool are_equal(smk_cuda_location a, smk_cuda_location b)
{
    return a.type == b.type && a.number == b.number;
}

/* What all ranges of a span have in common. */
static memory_range fold(const memory_span *span)
{
    memory_range common = {.end = 0};
    bool first = true;
    (void)pthread_mutex_lock(&lock);
    const memory_range *range = smk_address_map_get(&ranges, span->allocation);
    for (uint64_t from = 0; range != NULL && from < span->to; from = range->end, range = range->next) {
        if (range->end <= span->from) {
            continue;
        }
        if (first) {
            common = *range;
            first = false;
            continue;
        }
        const smk_cuda_location nowhere = {SMK_LOCATION_NONE, 0};
        common.read_mostly = common.read_mostly && range->read_mostly;
        common.by_device = common.by_device && range->by_device;
        common.by_host = common.by_host && range->by_host;
        common.preferred = are_equal(common.preferred, range->preferred) ? common.preferred : nowhere;
        common.prefetched = are_equal(common.prefetched, range->prefetched) ? common.prefetched : nowhere;
    }
    (void)pthread_mutex_unlock(&lock);
    return common;
}

/* The number that CUDA had for a place before it had locations. */
static int number_place(smk_cuda_location where)
{
    return where.type == SMK_LOCATION_DEVICE ? where.number
           : where.type == SMK_LOCATION_NONE ? DEVICE_NONE
                                             : DEVICE_HOST;
}

static smk_cuda answer(int *value, size_t bytes, int asked, const memory_range *common)
{
    const int devices[2] = {common->by_device ? 0 : DEVICE_HOST, DEVICE_HOST};
    const size_t count = (size_t)common->by_device + (size_t)common->by_host;
    if (value == NULL || (asked == ASK_ACCESSED ? bytes == 0 || bytes % sizeof *value != 0 : bytes != sizeof *value)) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    switch (asked) {
    case ASK_READ_MOSTLY:
        *value = common->read_mostly;
        return SMK_CUDA_Success;
    case ASK_PREFERRED:
        *value = number_place(common->preferred);
        return SMK_CUDA_Success;
    case ASK_ACCESSED:
        for (size_t i = 0; i < bytes / sizeof *value; i++) {
            value[i] = i < count ? devices[i] : DEVICE_NONE;
        }
        return SMK_CUDA_Success;
    case ASK_PREFETCHED:
        *value = number_place(common->prefetched);
        return SMK_CUDA_Success;
    case ASK_PREFERRED_TYPE:
        *value = common->preferred.type;
        return SMK_CUDA_Success;
    case ASK_PREFERRED_NUMBER:
        *value = number_place(common->preferred);
        return SMK_CUDA_Success;
    case ASK_PREFETCHED_TYPE:
        *value = common->prefetched.type;
        return SMK_CUDA_Success;
    case ASK_PREFETCHED_NUMBER:
        *value = number_place(common->prefetched);
        return SMK_CUDA_Success;
    }
    return SMK_CUDA_ErrorInvalidValue;
}

SMK_EXPORT smk_cuda cudaMemRangeGetAttributes(void **values, const size_t *sizes, const int *attributes, size_t count,
                                              const void *address, size_t bytes)
{
    memory_span span;
    if (values == NULL || sizes == NULL || attributes == NULL || count == 0 || !find_span(address, bytes, &span)) {
        return smk_outcome_return(SMK_CUDA_ErrorInvalidValue);
    }
    const memory_range common = fold(&span);
    smk_cuda code = SMK_CUDA_Success;
    for (size_t i = 0; i < count && code == SMK_CUDA_Success; i++) {
        code = answer(values[i], sizes[i], attributes[i], &common);
    }
    return smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaMemRangeGetAttribute(void *value, size_t size, int attribute, const void *address, size_t bytes)
{
    return cudaMemRangeGetAttributes(&value, &size, &attribute, 1, address, bytes);
}

/* Several ranges -------------------------------------------------------------------------------------------- */

/* Is a list of ranges one that can be worked on: managed memory all of it? */
static smk_cuda check_list(void *const *addresses, const size_t *sizes, size_t count, uint64_t flags,
                           smk_cuda_stream_handle stream)
{
    memory_span span;
    if (addresses == NULL || sizes == NULL || count == 0 || flags != 0) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    for (size_t i = 0; i < count; i++) {
        if (!find_span(addresses[i], sizes[i], &span)) {
            return SMK_CUDA_ErrorInvalidValue;
        }
    }
    return smk_stream_check_batch(stream);
}

SMK_EXPORT smk_cuda cudaMemPrefetchBatchAsync(void *const *addresses, const size_t *sizes, size_t count,
                                              const smk_cuda_location *places, const size_t *firsts, size_t place_count,
                                              uint64_t flags, smk_cuda_stream_handle stream)
{
    smk_cuda code = check_list(addresses, sizes, count, flags, stream);
    if (code == SMK_CUDA_Success &&
        (places == NULL || firsts == NULL || place_count == 0 || place_count > count || firsts[0] != 0)) {
        code = SMK_CUDA_ErrorInvalidValue;
    }
    for (size_t i = 1; code == SMK_CUDA_Success && i < place_count; i++) {
        code = firsts[i] <= firsts[i - 1] || firsts[i] >= count ? SMK_CUDA_ErrorInvalidValue : code;
    }
    for (size_t i = 0; code == SMK_CUDA_Success && i < place_count; i++) {
        code = check_place(places[i]) == SMK_CUDA_Success ? code : SMK_CUDA_ErrorInvalidValue;
    }
    for (size_t i = 0, place = 0; code == SMK_CUDA_Success && i < count; i++) {
        place += place + 1 < place_count && firsts[place + 1] <= i;
        code = prefetch(addresses[i], sizes[i], places[place]);
    }
    return smk_outcome_return(code);
}
SMK_EXPORT_AS(cudaMemPrefetchBatchAsync_ptsz, cudaMemPrefetchBatchAsync);
SMK_EXPORT_AS(cudaMemDiscardAndPrefetchBatchAsync, cudaMemPrefetchBatchAsync);
SMK_EXPORT_AS(cudaMemDiscardAndPrefetchBatchAsync_ptsz, cudaMemPrefetchBatchAsync);

/* What discarded memory holds is not defined: here it is what it was. */
SMK_EXPORT smk_cuda cudaMemDiscardBatchAsync(void *const *addresses, const size_t *sizes, size_t count, uint64_t flags,
                                             smk_cuda_stream_handle stream)
{
    return smk_outcome_return(check_list(addresses, sizes, count, flags, stream));
}
SMK_EXPORT_AS(cudaMemDiscardBatchAsync_ptsz, cudaMemDiscardBatchAsync);
