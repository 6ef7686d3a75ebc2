/* Functions of the CUDA 12 runtime that have other parameters than those of the same name in CUDA 13, and those that
 * CUDA 13 has no more. With cuda12_properties.c they are the whole of libcudart.so.12: it takes all others from
 * libcudart.so.13, whose symbols have no version where both versions of CUDA agree.
 */
#include "runtime/cuda12.h"

#include <string.h>

typedef struct smk_cuda_graph smk_cuda_graph;
typedef struct smk_cuda_node smk_cuda_node;

SMK_EXPORT smk_cuda cudaRuntimeGetVersion(int *version)
{
    *version = SMK_CUDA12_VERSION;
    return SMK_CUDA_Success;
}

/* Memory -------------------------------------------------------------------------------------------------- */

SMK_CUDA12_NEWER(find_newer, cudaPointerGetAttributes);
extern smk_cuda find_newer(smk_cuda_pointer_facts *facts, const void *address);

SMK_EXPORT smk_cuda cudaPointerGetAttributes(smk_cuda12_pointer_facts *facts, const void *address)
{
    smk_cuda_pointer_facts newer;
    const smk_cuda code = find_newer(&newer, address);
    if (code == SMK_CUDA_Success) {
        *facts = (smk_cuda12_pointer_facts){newer.type, newer.device, newer.device_address, newer.host_address};
    }
    return code;
}

/* A device by its number becomes a location, which says what it is: CUDA 12 calls the host -1. */
static smk_cuda_location locate(int device)
{
    return device < 0 ? (smk_cuda_location){SMK_LOCATION_HOST, 0} : (smk_cuda_location){SMK_LOCATION_DEVICE, device};
}

extern smk_cuda cudaMemPrefetchAsync_v2(const void *address, size_t bytes, smk_cuda_location where, unsigned flags,
                                        smk_cuda_stream_handle stream);
extern smk_cuda cudaMemAdvise_v2(const void *address, size_t bytes, int advice, smk_cuda_location where);

SMK_EXPORT smk_cuda cudaMemPrefetchAsync(const void *address, size_t bytes, int device, smk_cuda_stream_handle stream)
{
    return cudaMemPrefetchAsync_v2(address, bytes, locate(device), 0, stream);
}
SMK_EXPORT_AS(cudaMemPrefetchAsync_ptsz, cudaMemPrefetchAsync);

SMK_EXPORT smk_cuda cudaMemAdvise(const void *address, size_t bytes, int advice, int device)
{
    return cudaMemAdvise_v2(address, bytes, advice, locate(device));
}

SMK_CUDA12_NEWER(copy_newer_batch, cudaMemcpyBatchAsync);
SMK_CUDA12_NEWER(copy_newer_volumes, cudaMemcpy3DBatchAsync);
extern smk_cuda copy_newer_batch(void *const *targets, const void *const *sources, const size_t *sizes, size_t count,
                                 const void *choices, const size_t *firsts, size_t choice_count,
                                 smk_cuda_stream_handle stream);
extern smk_cuda copy_newer_volumes(size_t count, const void *volumes, uint64_t flags, smk_cuda_stream_handle stream);

/* Which copy of a batch failed is not known: all are looked at before the first is made. */
SMK_EXPORT smk_cuda cudaMemcpyBatchAsync(void *const *targets, const void *const *sources, const size_t *sizes,
                                         size_t count, const void *choices, const size_t *firsts, size_t choice_count,
                                         size_t *failed, smk_cuda_stream_handle stream)
{
    const smk_cuda code = copy_newer_batch(targets, sources, sizes, count, choices, firsts, choice_count, stream);
    if (code != SMK_CUDA_Success && failed != NULL) {
        *failed = SIZE_MAX;
    }
    return code;
}
SMK_EXPORT_AS(cudaMemcpyBatchAsync_ptsz, cudaMemcpyBatchAsync);

SMK_EXPORT smk_cuda cudaMemcpy3DBatchAsync(size_t count, const void *volumes, size_t *failed, uint64_t flags,
                                           smk_cuda_stream_handle stream)
{
    const smk_cuda code = copy_newer_volumes(count, volumes, flags, stream);
    if (code != SMK_CUDA_Success && failed != NULL) {
        *failed = SIZE_MAX;
    }
    return code;
}
SMK_EXPORT_AS(cudaMemcpy3DBatchAsync_ptsz, cudaMemcpy3DBatchAsync);

/* Textures and surfaces ------------------------------------------------------------------------------------- */

SMK_CUDA12_NEWER(create_newer_texture, cudaCreateTextureObject);
SMK_CUDA12_NEWER(create_newer_surface, cudaCreateSurfaceObject);
SMK_CUDA12_NEWER(get_newer_resource, cudaGetTextureObjectResourceDesc);
SMK_CUDA12_NEWER(get_newer_view, cudaGetTextureObjectResourceViewDesc);
SMK_CUDA12_NEWER(get_newer_surface, cudaGetSurfaceObjectResourceDesc);
extern smk_cuda create_newer_texture(unsigned long long *object, const smk_cuda_resource *resource,
                                     const smk_cuda_sampling *sampling, const smk_cuda_view *view);
extern smk_cuda create_newer_surface(unsigned long long *object, const smk_cuda_resource *resource);
extern smk_cuda get_newer_resource(smk_cuda_resource *resource, unsigned long long object);
extern smk_cuda get_newer_view(smk_cuda_view *view, unsigned long long object);
extern smk_cuda get_newer_surface(smk_cuda_resource *resource, unsigned long long object);

SMK_EXPORT smk_cuda cudaCreateTextureObject(unsigned long long *object, const void *resource,
                                            const smk_cuda_sampling *sampling, const void *view)
{
    smk_cuda_resource newer = {0};
    smk_cuda_view newer_view = {0};
    if (resource != NULL) {
        memcpy(&newer, resource, SMK_CUDA12_RESOURCE_BYTES);
    }
    if (view != NULL) {
        memcpy(&newer_view, view, SMK_CUDA12_VIEW_BYTES);
    }
    return create_newer_texture(object, resource == NULL ? NULL : &newer, sampling, view == NULL ? NULL : &newer_view);
}

SMK_EXPORT smk_cuda cudaCreateSurfaceObject(unsigned long long *object, const void *resource)
{
    smk_cuda_resource newer = {0};
    if (resource != NULL) {
        memcpy(&newer, resource, SMK_CUDA12_RESOURCE_BYTES);
    }
    return create_newer_surface(object, resource == NULL ? NULL : &newer);
}

SMK_EXPORT smk_cuda cudaGetTextureObjectResourceDesc(void *resource, unsigned long long object)
{
    smk_cuda_resource newer;
    const smk_cuda code = get_newer_resource(&newer, object);
    if (code == SMK_CUDA_Success) {
        memcpy(resource, &newer, SMK_CUDA12_RESOURCE_BYTES);
    }
    return code;
}

SMK_EXPORT smk_cuda cudaGetTextureObjectResourceViewDesc(void *view, unsigned long long object)
{
    smk_cuda_view newer;
    const smk_cuda code = get_newer_view(&newer, object);
    if (code == SMK_CUDA_Success) {
        memcpy(view, &newer, SMK_CUDA12_VIEW_BYTES);
    }
    return code;
}

SMK_EXPORT smk_cuda cudaGetSurfaceObjectResourceDesc(void *resource, unsigned long long object)
{
    smk_cuda_resource newer;
    const smk_cuda code = get_newer_surface(&newer, object);
    if (code == SMK_CUDA_Success) {
        memcpy(resource, &newer, SMK_CUDA12_RESOURCE_BYTES);
    }
    return code;
}

/* Graphs: CUDA 13 gives edges data, as the functions of CUDA 12 with a number do ----------------------------- */

extern smk_cuda cudaGraphNodeGetDependencies_v2(smk_cuda_node *node, smk_cuda_node **nodes, void *data, size_t *count);
extern smk_cuda cudaGraphNodeGetDependentNodes_v2(smk_cuda_node *node, smk_cuda_node **nodes, void *data,
                                                  size_t *count);
extern smk_cuda cudaGraphGetEdges_v2(smk_cuda_graph *graph, smk_cuda_node **from, smk_cuda_node **to, void *data,
                                     size_t *count);
extern smk_cuda cudaGraphAddDependencies_v2(smk_cuda_graph *graph, smk_cuda_node *const *from, smk_cuda_node *const *to,
                                            const void *data, size_t count);
extern smk_cuda cudaGraphRemoveDependencies_v2(smk_cuda_graph *graph, smk_cuda_node *const *from,
                                               smk_cuda_node *const *to, const void *data, size_t count);
extern smk_cuda cudaGraphAddNode_v2(smk_cuda_node **node, smk_cuda_graph *graph, smk_cuda_node *const *dependencies,
                                    const void *data, size_t count, void *facts);
extern smk_cuda cudaStreamUpdateCaptureDependencies_v2(smk_cuda_stream_handle stream, smk_cuda_node *const *nodes,
                                                       const void *data, size_t count, unsigned flags);
extern smk_cuda cudaStreamGetCaptureInfo_v3(smk_cuda_stream_handle stream, int *state, unsigned long long *number,
                                            smk_cuda_graph **graph, smk_cuda_node *const **dependencies,
                                            const void **data, size_t *count);

SMK_EXPORT smk_cuda cudaGraphNodeGetDependencies(smk_cuda_node *node, smk_cuda_node **nodes, size_t *count)
{
    return cudaGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

SMK_EXPORT smk_cuda cudaGraphNodeGetDependentNodes(smk_cuda_node *node, smk_cuda_node **nodes, size_t *count)
{
    return cudaGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}

SMK_EXPORT smk_cuda cudaGraphGetEdges(smk_cuda_graph *graph, smk_cuda_node **from, smk_cuda_node **to, size_t *count)
{
    return cudaGraphGetEdges_v2(graph, from, to, NULL, count);
}

SMK_EXPORT smk_cuda cudaGraphAddDependencies(smk_cuda_graph *graph, smk_cuda_node *const *from,
                                             smk_cuda_node *const *to, size_t count)
{
    return cudaGraphAddDependencies_v2(graph, from, to, NULL, count);
}

SMK_EXPORT smk_cuda cudaGraphRemoveDependencies(smk_cuda_graph *graph, smk_cuda_node *const *from,
                                                smk_cuda_node *const *to, size_t count)
{
    return cudaGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}

SMK_EXPORT smk_cuda cudaGraphAddNode(smk_cuda_node **node, smk_cuda_graph *graph, smk_cuda_node *const *dependencies,
                                     size_t count, void *facts)
{
    return cudaGraphAddNode_v2(node, graph, dependencies, NULL, count, facts);
}

SMK_EXPORT smk_cuda cudaStreamUpdateCaptureDependencies(smk_cuda_stream_handle stream, smk_cuda_node *const *nodes,
                                                        size_t count, unsigned flags)
{
    return cudaStreamUpdateCaptureDependencies_v2(stream, nodes, NULL, count, flags);
}
SMK_EXPORT_AS(cudaStreamUpdateCaptureDependencies_ptsz, cudaStreamUpdateCaptureDependencies);

SMK_EXPORT smk_cuda cudaStreamGetCaptureInfo(smk_cuda_stream_handle stream, int *state, unsigned long long *number)
{
    return cudaStreamGetCaptureInfo_v3(stream, state, number, NULL, NULL, NULL, NULL);
}
SMK_EXPORT_AS(cudaStreamGetCaptureInfo_ptsz, cudaStreamGetCaptureInfo);

SMK_EXPORT smk_cuda cudaStreamGetCaptureInfo_v2(smk_cuda_stream_handle stream, int *state, unsigned long long *number,
                                                smk_cuda_graph **graph, smk_cuda_node *const **dependencies,
                                                size_t *count)
{
    return cudaStreamGetCaptureInfo_v3(stream, state, number, graph, dependencies, NULL, count);
}
SMK_EXPORT_AS(cudaStreamGetCaptureInfo_v2_ptsz, cudaStreamGetCaptureInfo_v2);

/* What CUDA 13 has no more ---------------------------------------------------------------------------------- */

extern smk_cuda cudaDeviceSynchronize(void);
extern smk_cuda cudaDeviceReset(void);
extern smk_cuda cudaDeviceGetLimit(size_t *value, int number);
extern smk_cuda cudaDeviceSetLimit(int number, size_t value);
extern smk_cuda cudaDeviceGetCacheConfig(int *config);
extern smk_cuda cudaDeviceSetCacheConfig(int config);
extern smk_cuda cudaLaunchCooperativeKernel(const void *function, smk_dim3 grid, smk_dim3 block, void **parameters,
                                            size_t shared_bytes, smk_cuda_stream_handle stream);

SMK_EXPORT smk_cuda cudaThreadSynchronize(void)
{
    return cudaDeviceSynchronize();
}

SMK_EXPORT smk_cuda cudaThreadExit(void)
{
    return cudaDeviceReset();
}

SMK_EXPORT smk_cuda cudaThreadGetLimit(size_t *value, int number)
{
    return cudaDeviceGetLimit(value, number);
}

SMK_EXPORT smk_cuda cudaThreadSetLimit(int number, size_t value)
{
    return cudaDeviceSetLimit(number, value);
}

SMK_EXPORT smk_cuda cudaThreadGetCacheConfig(int *config)
{
    return cudaDeviceGetCacheConfig(config);
}

SMK_EXPORT smk_cuda cudaThreadSetCacheConfig(int config)
{
    return cudaDeviceSetCacheConfig(config);
}

/* Every device that CUDA 12 serves has doubles: there is nothing to convert. */
SMK_EXPORT smk_cuda cudaSetDoubleForDevice(double *value)
{
    (void)value;
    return SMK_CUDA_Success;
}
SMK_EXPORT_AS(cudaSetDoubleForHost, cudaSetDoubleForDevice);

/* There is one device. */
SMK_EXPORT smk_cuda cudaLaunchCooperativeKernelMultiDevice(const smk_cuda12_launch *launches, unsigned count,
                                                           unsigned flags)
{
    (void)flags;
    if (launches == NULL || count != 1) {
        return SMK_CUDA_ErrorInvalidValue;
    }
    return cudaLaunchCooperativeKernel(launches->function, launches->grid, launches->block, launches->parameters,
                                       launches->shared_bytes, launches->stream);
}
