/* Copies of rows to and from CUDA arrays. Offsets and widths of rows are in bytes. */
#include "runtime/outcome.h"
#include "runtime/stream.h"
#include "runtime/texel_array.h"

/* Rows of an array, or of pitched memory where `array` is NULL. */
typedef struct row_end {
    const smk_cuda_array *array;
    size_t x, y;
    const void *address;
    size_t pitch;
} row_end;

/* Where the rows of one end begin, and their distance. */
static smk_cuda find_rows(const row_end *end, size_t width, size_t height, void **address, size_t *pitch)
{
    const smk_cuda_position at = {end->x, end->y, 0};
    const smk_cuda_extent box = {width, height, 1};
    char *begin = NULL;
    if (end->address != NULL) {
        *address = (void *)(uintptr_t)end->address;
        *pitch = end->pitch;
        return height > 1 && width > end->pitch ? SMK_CUDA_ErrorInvalidPitchValue : SMK_CUDA_Success;
    }
    const smk_cuda_array *array = smk_texel_array_find(end->array);
    if (array == NULL) {
        return SMK_CUDA_ErrorInvalidResourceHandle;
    }
    const smk_cuda code = smk_texel_array_locate(array, &at, &box, &begin);
    *address = begin;
    *pitch = array->row_bytes;
    return code;
}

static smk_cuda copy_rows(const row_end *target, const row_end *source, size_t width, size_t height, int kind,
                          smk_cuda_stream_handle stream, bool waits)
{
    void *to = NULL, *from = NULL;
    size_t to_pitch = 0, from_pitch = 0;
    smk_cuda code = find_rows(target, width, height, &to, &to_pitch);
    if (code == SMK_CUDA_Success) {
        code = find_rows(source, width, height, &from, &from_pitch);
    }
    if (code != SMK_CUDA_Success) {
        return smk_outcome_return(code);
    }
    const smk_work work = {.kind = SMK_WORK_COPY,
                           .as.copy = {.target = to,
                                       .source = from,
                                       .target_pitch = to_pitch,
                                       .source_pitch = from_pitch,
                                       .width = width,
                                       .height = height,
                                       .depth = 1,
                                       .kind = kind}};
    return smk_stream_call(stream, &work, waits);
}

SMK_EXPORT smk_cuda cudaMemcpy2DToArray(smk_cuda_array *target, size_t x, size_t y, const void *source, size_t pitch,
                                        size_t width, size_t height, int kind)
{
    return copy_rows(&(row_end){.array = target, .x = x, .y = y}, &(row_end){.address = source, .pitch = pitch}, width,
                     height, kind, NULL, true);
}
SMK_EXPORT_AS(cudaMemcpy2DToArray_ptds, cudaMemcpy2DToArray);

SMK_EXPORT smk_cuda cudaMemcpy2DToArrayAsync(smk_cuda_array *target, size_t x, size_t y, const void *source,
                                             size_t pitch, size_t width, size_t height, int kind,
                                             smk_cuda_stream_handle stream)
{
    return copy_rows(&(row_end){.array = target, .x = x, .y = y}, &(row_end){.address = source, .pitch = pitch}, width,
                     height, kind, stream, false);
}
SMK_EXPORT_AS(cudaMemcpy2DToArrayAsync_ptsz, cudaMemcpy2DToArrayAsync);

SMK_EXPORT smk_cuda cudaMemcpy2DFromArray(void *target, size_t pitch, const smk_cuda_array *source, size_t x, size_t y,
                                          size_t width, size_t height, int kind)
{
    return copy_rows(&(row_end){.address = target, .pitch = pitch}, &(row_end){.array = source, .x = x, .y = y}, width,
                     height, kind, NULL, true);
}
SMK_EXPORT_AS(cudaMemcpy2DFromArray_ptds, cudaMemcpy2DFromArray);

SMK_EXPORT smk_cuda cudaMemcpy2DFromArrayAsync(void *target, size_t pitch, const smk_cuda_array *source, size_t x,
                                               size_t y, size_t width, size_t height, int kind,
                                               smk_cuda_stream_handle stream)
{
    return copy_rows(&(row_end){.address = target, .pitch = pitch}, &(row_end){.array = source, .x = x, .y = y}, width,
                     height, kind, stream, false);
}
SMK_EXPORT_AS(cudaMemcpy2DFromArrayAsync_ptsz, cudaMemcpy2DFromArrayAsync);

SMK_EXPORT smk_cuda cudaMemcpy2DArrayToArray(smk_cuda_array *target, size_t to_x, size_t to_y,
                                             const smk_cuda_array *source, size_t x, size_t y, size_t width,
                                             size_t height, int kind)
{
    return copy_rows(&(row_end){.array = target, .x = to_x, .y = to_y}, &(row_end){.array = source, .x = x, .y = y},
                     width, height, kind, NULL, true);
}
SMK_EXPORT_AS(cudaMemcpy2DArrayToArray_ptds, cudaMemcpy2DArrayToArray);

/* Texels in the order of memory -------------------------------------------------------------------------- */

/* So many bytes of an array from a texel on: the rows of an array lie without gaps. */
static smk_cuda find_bytes(const smk_cuda_array *handle, size_t x, size_t y, size_t bytes, void **address)
{
    const smk_cuda_array *array = smk_texel_array_find(handle);
    if (array == NULL) {
        return SMK_CUDA_ErrorInvalidResourceHandle;
    }
    const size_t begin = y * array->row_bytes + x;
    if (begin > array->slice_bytes || bytes > array->slice_bytes - begin) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    *address = array->texels + begin;
    return SMK_CUDA_Success;
}

static smk_cuda copy_to_array(smk_cuda_array *target, size_t x, size_t y, const void *source, size_t bytes, int kind,
                              smk_cuda_stream_handle stream, bool waits)
{
    void *address = NULL;
    const smk_cuda code = find_bytes(target, x, y, bytes, &address);
    return code == SMK_CUDA_Success ? smk_stream_copy(address, source, bytes, kind, stream, waits)
                                    : smk_outcome_return(code);
}

static smk_cuda copy_from_array(void *target, const smk_cuda_array *source, size_t x, size_t y, size_t bytes, int kind,
                                smk_cuda_stream_handle stream, bool waits)
{
    void *address = NULL;
    const smk_cuda code = find_bytes(source, x, y, bytes, &address);
    return code == SMK_CUDA_Success ? smk_stream_copy(target, address, bytes, kind, stream, waits)
                                    : smk_outcome_return(code);
}

SMK_EXPORT smk_cuda cudaMemcpyToArray(smk_cuda_array *target, size_t x, size_t y, const void *source, size_t bytes,
                                      int kind)
{
    return copy_to_array(target, x, y, source, bytes, kind, NULL, true);
}
SMK_EXPORT_AS(cudaMemcpyToArray_ptds, cudaMemcpyToArray);

SMK_EXPORT smk_cuda cudaMemcpyToArrayAsync(smk_cuda_array *target, size_t x, size_t y, const void *source, size_t bytes,
                                           int kind, smk_cuda_stream_handle stream)
{
    return copy_to_array(target, x, y, source, bytes, kind, stream, false);
}
SMK_EXPORT_AS(cudaMemcpyToArrayAsync_ptsz, cudaMemcpyToArrayAsync);

SMK_EXPORT smk_cuda cudaMemcpyFromArray(void *target, const smk_cuda_array *source, size_t x, size_t y, size_t bytes,
                                        int kind)
{
    return copy_from_array(target, source, x, y, bytes, kind, NULL, true);
}
SMK_EXPORT_AS(cudaMemcpyFromArray_ptds, cudaMemcpyFromArray);

SMK_EXPORT smk_cuda cudaMemcpyFromArrayAsync(void *target, const smk_cuda_array *source, size_t x, size_t y,
                                             size_t bytes, int kind, smk_cuda_stream_handle stream)
{
    return copy_from_array(target, source, x, y, bytes, kind, stream, false);
}
SMK_EXPORT_AS(cudaMemcpyFromArrayAsync_ptsz, cudaMemcpyFromArrayAsync);

SMK_EXPORT smk_cuda cudaMemcpyArrayToArray(smk_cuda_array *target, size_t to_x, size_t to_y,
                                           const smk_cuda_array *source, size_t x, size_t y, size_t bytes, int kind)
{
    void *address = NULL;
    const smk_cuda code = find_bytes(target, to_x, to_y, bytes, &address);
    return code == SMK_CUDA_Success ? copy_from_array(address, source, x, y, bytes, kind, NULL, true)
                                    : smk_outcome_return(code);
}
SMK_EXPORT_AS(cudaMemcpyArrayToArray_ptds, cudaMemcpyArrayToArray);
