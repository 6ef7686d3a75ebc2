/* Many copies by one call. */
#include "runtime/outcome.h"
#include "runtime/stream.h"
#include "runtime/texel_array.h"

#include <stdbool.h>

/* When the bytes of a source are read: here when the call is made, which each of these admits. */
enum { ORDER_FIRST = 1, ORDER_LAST = 3, FLAGS_KNOWN = 1, OPERAND_POINTER = 1, OPERAND_ARRAY = 2 };

/* How some of the copies are made. */
typedef struct copy_choices {
    int order;
    smk_cuda_location source, target;
    unsigned flags;
} copy_choices;

/* One end of a copy of a volume. */
typedef struct volume_end {
    int type;
    union {
        struct {
            void *address;
            size_t row_length, layer_height; /* elements, rows; 0: those of the volume */
            smk_cuda_location where;
        } memory;
        struct {
            struct smk_cuda_array *array;
            smk_cuda_position position;
        } array;
    } as;
} volume_end;

typedef struct volume_copy {
    volume_end source, target;
    smk_cuda_extent extent;
    int order;
    unsigned flags;
} volume_copy;

static bool are_choices_known(int order, unsigned flags)
{
    return order >= ORDER_FIRST && order <= ORDER_LAST && (flags & ~(unsigned)FLAGS_KNOWN) == 0;
}

static bool is_place(smk_cuda_location where)
{
    return where.type >= SMK_LOCATION_NONE && where.type <= SMK_LOCATION_HOST_NEAREST;
}

SMK_EXPORT smk_cuda cudaMemcpyBatchAsync(void *const *targets, const void *const *sources, const size_t *sizes,
                                         size_t count, const copy_choices *choices, const size_t *firsts,
                                         size_t choice_count, smk_cuda_stream_handle stream)
{
    bool known = targets != NULL && sources != NULL && sizes != NULL && count != 0 && choices != NULL &&
                 firsts != NULL && choice_count != 0 && choice_count <= count && firsts[0] == 0;
    for (size_t i = 0; known && i < choice_count; i++) {
        known = are_choices_known(choices[i].order, choices[i].flags) && is_place(choices[i].source) &&
                is_place(choices[i].target) && (i == 0 || (firsts[i] > firsts[i - 1] && firsts[i] < count));
    }
    for (size_t i = 0; known && i < count; i++) {
        known = targets[i] != NULL && sources[i] != NULL && sizes[i] != 0;
    }
    smk_cuda code = known ? smk_stream_check_batch(stream) : SMK_CUDA_ErrorInvalidValue;
    for (size_t i = 0; i < count && code == SMK_CUDA_Success; i++) {
        code = smk_stream_copy(targets[i], sources[i], sizes[i], SMK_COPY_BY_ADDRESS, stream, false);
    }
    return smk_outcome_return(code);
}
SMK_EXPORT_AS(cudaMemcpyBatchAsync_ptsz, cudaMemcpyBatchAsync);

static bool is_end_known(const volume_end *end, const smk_cuda_extent *extent)
{
    if (end->type == OPERAND_ARRAY) {
        return end->as.array.array != NULL;
    }
    const size_t row = end->as.memory.row_length, layer = end->as.memory.layer_height;
    return end->type == OPERAND_POINTER && end->as.memory.address != NULL && (row == 0 || row >= extent->width) &&
           (layer == 0 || layer >= extent->height);
}

/* Volumes -------------------------------------------------------------------------------------------------- */

/* Bytes of the elements that a volume is counted in: those of an array at one of its ends, else bytes. */
static size_t find_element_bytes(const volume_copy *volume)
{
    const smk_cuda_array *arrays[2] = {
        volume->source.type == OPERAND_ARRAY ? smk_texel_array_find(volume->source.as.array.array) : NULL,
        volume->target.type == OPERAND_ARRAY ? smk_texel_array_find(volume->target.as.array.array) : NULL};
    const smk_cuda_array *array = arrays[0] != NULL ? arrays[0] : arrays[1];
    return array == NULL ? 1 : smk_texture_texel_bytes(&array->shape);
}

static smk_cuda_pitched find_pitched(const volume_end *end, const smk_cuda_extent *extent, size_t element_bytes)
{
    const size_t row = end->as.memory.row_length == 0 ? extent->width : end->as.memory.row_length;
    const size_t layer = end->as.memory.layer_height == 0 ? extent->height : end->as.memory.layer_height;
    return (smk_cuda_pitched){end->as.memory.address, row * element_bytes, row * element_bytes, layer};
}

static smk_cuda make_volume(const volume_copy *volume, smk_work *work)
{
    const smk_cuda_extent *extent = &volume->extent;
    const size_t element_bytes = find_element_bytes(volume);
    smk_cuda_copy3d wanted = {.extent = *extent, .kind = SMK_COPY_BY_ADDRESS};
    if (extent->width == 0 || extent->height == 0 || extent->depth == 0 || !is_end_known(&volume->source, extent) ||
        !is_end_known(&volume->target, extent) || !are_choices_known(volume->order, volume->flags)) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    if (volume->source.type == OPERAND_ARRAY) {
        wanted.source_array = volume->source.as.array.array;
        wanted.source_position = volume->source.as.array.position;
    } else {
        wanted.source = find_pitched(&volume->source, extent, element_bytes);
    }
    if (volume->target.type == OPERAND_ARRAY) {
        wanted.target_array = volume->target.as.array.array;
        wanted.target_position = volume->target.as.array.position;
    } else {
        wanted.target = find_pitched(&volume->target, extent, element_bytes);
    }
    *work = (smk_work){.kind = SMK_WORK_COPY};
    return smk_texel_array_make_copy(&wanted, &work->as.copy);
}

SMK_EXPORT smk_cuda cudaMemcpy3DBatchAsync(size_t count, const volume_copy *volumes, uint64_t flags,
                                           smk_cuda_stream_handle stream)
{
    smk_work work;
    smk_cuda code = SMK_CUDA_ErrorInvalidValue;
    if (count != 0 && volumes != NULL && flags == 0) {
        code = smk_stream_check_batch(stream);
    }
    for (size_t i = 0; i < count && code == SMK_CUDA_Success; i++) { /* all or none */
        code = make_volume(&volumes[i], &work);
    }
    for (size_t i = 0; i < count && code == SMK_CUDA_Success; i++) {
        code = make_volume(&volumes[i], &work);
        code = code == SMK_CUDA_Success ? smk_stream_submit(stream, &work) : code;
    }
    return smk_outcome_return(code);
}
SMK_EXPORT_AS(cudaMemcpy3DBatchAsync_ptsz, cudaMemcpy3DBatchAsync);
