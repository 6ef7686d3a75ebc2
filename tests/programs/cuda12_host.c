/* Calls the runtime as a program does that CUDA 12 has compiled: with its structures and parameters. Says what differs
 * from what CUDA 12 gives, and "right" where nothing does. */
#include "runtime/cuda12.h"

#include <stdio.h>
#include <string.h>

extern smk_cuda cudaRuntimeGetVersion(int *version);
extern smk_cuda cudaGetDeviceProperties(void *facts, int device);
extern smk_cuda cudaGetDeviceProperties_v2(smk_cuda12_properties *facts, int device);
extern smk_cuda cudaPointerGetAttributes(smk_cuda12_pointer_facts *facts, const void *address);
extern smk_cuda cudaMalloc(void **address, size_t bytes);
extern smk_cuda cudaMallocManaged(void **address, size_t bytes, unsigned flags);
extern smk_cuda cudaMemPrefetchAsync(const void *address, size_t bytes, int device, smk_cuda_stream_handle stream);
extern smk_cuda cudaMemAdvise(const void *address, size_t bytes, int advice, int device);
extern smk_cuda cudaCreateTextureObject(unsigned long long *object, const void *resource, const void *sampling,
                                        const void *view);
extern smk_cuda cudaGetTextureObjectResourceDesc(void *resource, unsigned long long object);
extern smk_cuda cudaGraphCreate(void **graph, unsigned flags);
extern smk_cuda cudaGraphAddEmptyNode(void **node, void *graph, void *const *dependencies, size_t count);
extern smk_cuda cudaGraphAddDependencies(void *graph, void *const *from, void *const *to, size_t count);
extern smk_cuda cudaGraphNodeGetDependencies(void *node, void **nodes, size_t *count);
extern smk_cuda cudaGraphNodeGetDependentNodes(void *node, void **nodes, size_t *count);
extern smk_cuda cudaGraphGetEdges(void *graph, void **from, void **to, size_t *count);
extern smk_cuda cudaGraphRemoveDependencies(void *graph, void *const *from, void *const *to, size_t count);
extern smk_cuda cudaStreamGetCaptureInfo_v2(smk_cuda_stream_handle stream, int *state, unsigned long long *number,
                                            void **graph, void *const **dependencies, size_t *count);
extern smk_cuda cudaThreadSynchronize(void);
extern smk_cuda cudaGetDriverEntryPoint(const char *name, void **entry, unsigned long long flags, int *found);

enum { GUARD = 0x5a, GUARD_BYTES = 128, EDGES = 4, MANAGED = 3, DEVICE = 2, ADVISED = 1, HOST = -1 };

static int wrong;

static void expect(int holds, const char *what)
{
    if (!holds) {
        printf("wrong: %s\n", what);
        wrong = 1;
    }
}

static int is_untouched(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != GUARD) {
            return 0;
        }
    }
    return 1;
}

static void try_properties(void)
{
    struct {
        smk_cuda12_properties facts;
        unsigned char behind[GUARD_BYTES];
    } now;
    unsigned char before[sizeof(smk_cuda12_properties)];
    const size_t old_bytes = offsetof(smk_cuda12_properties, registers_host_memory);
    _Static_assert(sizeof(smk_cuda12_properties) == 1032, "the structure of CUDA 12");
    memset(&now, GUARD, sizeof now);
    memset(before, GUARD, sizeof before);
    expect(cudaGetDeviceProperties_v2(&now.facts, 0) == 0 && strstr(now.facts.name, "A100") != NULL, "name");
    expect(now.facts.major == 8 && now.facts.minor == 0 && now.facts.multiprocessors == 108, "machine");
    expect(now.facts.clock_khz == 1410000 && now.facts.memory_clock_khz == 1215000, "clocks");
    expect(now.facts.shared_optin == 166912 && now.facts.shared_reserved == 1024, "shared memory");
    expect(now.facts.max_grid[0] == 2147483647 && now.facts.constant_bytes == 65536, "grid and constants");
    expect(now.facts.cooperative_launch == 1 && now.facts.memory_pools == 1, "abilities");
    expect(is_untouched(now.behind, sizeof now.behind), "bytes behind the structure");
    expect(cudaGetDeviceProperties(before, 0) == 0 && old_bytes == 728, "properties of CUDA 11");
    expect(memcmp(before, &now.facts, old_bytes) == 0, "what CUDA 11 has of them");
    expect(is_untouched(before + old_bytes, sizeof before - old_bytes), "bytes behind those of CUDA 11");
}

static void try_memory(void)
{
    struct {
        smk_cuda12_pointer_facts facts;
        unsigned char behind[GUARD_BYTES];
    } now;
    void *address = NULL, *managed = NULL;
    memset(&now, GUARD, sizeof now);
    expect(cudaMalloc(&address, 64) == 0 && cudaPointerGetAttributes(&now.facts, address) == 0, "a pointer");
    expect(now.facts.type == DEVICE && now.facts.device == 0 && now.facts.device_address == address, "its facts");
    expect(is_untouched(now.behind, sizeof now.behind), "bytes behind the facts of a pointer");
    expect(cudaMallocManaged(&managed, 64, 1) == 0 && cudaPointerGetAttributes(&now.facts, managed) == 0, "managed");
    expect(now.facts.type == MANAGED, "the type of managed memory");
    expect(cudaMemPrefetchAsync(managed, 64, 0, NULL) == 0 && cudaMemPrefetchAsync(managed, 64, HOST, NULL) == 0,
           "prefetching");
    expect(cudaMemAdvise(managed, 64, ADVISED, 0) == 0, "advice");
}

static void try_texture(void)
{
    struct {
        unsigned char resource[SMK_CUDA12_RESOURCE_BYTES], behind[GUARD_BYTES];
    } now, given;
    smk_cuda_resource whole = {.type = SMK_RESOURCE_LINEAR};
    const smk_cuda_sampling sampling = {.normalized = 0};
    unsigned long long object = 0;
    whole.as.linear.bytes = 64;
    whole.as.linear.channels = (smk_cuda_channels){{32, 0, 0, 0}, SMK_CHANNELS_FLOAT};
    expect(cudaMalloc(&whole.as.linear.address, 64) == 0, "memory");
    memset(&given, 0xff, sizeof given); /* what lies behind is not the resource's */
    memcpy(given.resource, &whole, sizeof given.resource);
    memset(&now, GUARD, sizeof now);
    expect(cudaCreateTextureObject(&object, &given, &sampling, NULL) == 0, "a texture object");
    expect(cudaGetTextureObjectResourceDesc(&now, object) == 0, "its resource");
    expect(memcmp(now.resource, given.resource, sizeof now.resource) == 0, "what it was made of");
    expect(is_untouched(now.behind, sizeof now.behind), "bytes behind a resource");
}

static void try_graph(void)
{
    void *graph = NULL, *first = NULL, *second = NULL, *from[EDGES] = {0}, *to[EDGES] = {0};
    size_t count = EDGES;
    expect(cudaGraphCreate(&graph, 0) == 0 && cudaGraphAddEmptyNode(&first, graph, NULL, 0) == 0 &&
               cudaGraphAddEmptyNode(&second, graph, NULL, 0) == 0,
           "a graph");
    expect(cudaGraphAddDependencies(graph, &first, &second, 1) == 0, "a dependency");
    expect(cudaGraphNodeGetDependencies(second, from, &count) == 0 && count == 1 && from[0] == first, "dependencies");
    count = EDGES;
    expect(cudaGraphNodeGetDependentNodes(first, to, &count) == 0 && count == 1 && to[0] == second, "dependents");
    count = EDGES;
    expect(cudaGraphGetEdges(graph, from, to, &count) == 0 && count == 1 && from[0] == first, "edges");
    expect(cudaGraphRemoveDependencies(graph, &first, &second, 1) == 0, "a dependency that goes");
    count = EDGES;
    expect(cudaGraphGetEdges(graph, from, to, &count) == 0 && count == 0, "no edges");
}

static void try_driver(void)
{
    void *entry = NULL;
    int found = -1;
    expect(cudaGetDriverEntryPoint("cuMemAlloc", &entry, 0, &found) == 0 && entry != NULL && found == 0, "an entry");
    expect(cudaGetDriverEntryPoint("cuNone", &entry, 0, &found) == 0 && entry == NULL && found == 1, "no entry");
}

int main(void)
{
    int version = 0, state = -1;
    expect(cudaRuntimeGetVersion(&version) == 0 && version / 1000 == 12, "the version");
    try_properties();
    try_memory();
    try_texture();
    try_graph();
    try_driver();
    expect(cudaStreamGetCaptureInfo_v2(NULL, &state, NULL, NULL, NULL, NULL) == 0 && state == 0, "no capture");
    expect(cudaThreadSynchronize() == 0, "a function that CUDA 13 has no more");
    if (!wrong) {
        puts("right");
    }
    return wrong;
}
