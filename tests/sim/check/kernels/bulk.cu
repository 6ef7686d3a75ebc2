// Compile with: -arch=compute_90
// cp.async.bulk: a copy has landed for threads that have seen its mbarrier complete; a group for its thread, once it waits.

#define ADDRESS(of) ((unsigned)__cvta_generic_to_shared(of))
#define INIT(bar) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(ADDRESS(bar)) : "memory")
#define FENCE() asm volatile("fence.proxy.async;" ::: "memory")
#define LOAD(to, from, bar)                                                                                            \
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(     \
                     ADDRESS(to)),                                                                                     \
                 "l"(from), "r"(ADDRESS(bar))                                                                          \
                 : "memory")
#define EXPECT(bar)                                                                                                    \
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], 256; }" ::"r"(ADDRESS(bar)) : "memory")
#define STORE(to, from)                                                                                                \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(to), "r"(ADDRESS(from)) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT() asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
#define WAIT_READ() asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")

__device__ void wait(unsigned long long *bar, int parity)
{
    int done = 0;
    while (!done) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(ADDRESS(bar)), "r"(parity)
                     : "memory");
    }
}

// A barrier is no wait.
extern "C" __global__ void bulk_no_wait(const int *in, int *out)
{
    __shared__ alignas(16) int tile[64];
    __shared__ unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) {
        INIT(&bar);
        FENCE();
        LOAD(tile, in, &bar); // <- async_read: second
        EXPECT(&bar);
    }
    __syncthreads();
    out[t] = tile[63 - t]; // <- async_read: first
}

extern "C" __global__ void bulk_waited(const int *in, int *out)
{
    __shared__ alignas(16) int tile[64];
    __shared__ unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) {
        INIT(&bar);
        FENCE();
        LOAD(tile, in, &bar);
        EXPECT(&bar);
    }
    __syncthreads();
    wait(&bar, 0);
    out[t] = tile[63 - t];
}

// The last phase is complete already, which says nothing of this one.
extern "C" __global__ void bulk_wrong_phase(const int *in, int *out)
{
    __shared__ alignas(16) int tile[64];
    __shared__ unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) {
        INIT(&bar);
        FENCE();
        LOAD(tile, in, &bar); // <- async_read: second
        EXPECT(&bar);
    }
    __syncthreads();
    wait(&bar, 1);
    out[t] = tile[63 - t]; // <- async_read: first
}

extern "C" __global__ void bulk_stored(const int *in, int *out)
{
    __shared__ alignas(16) int tile[64];
    int t = threadIdx.x;
    tile[63 - t] = in[t];
    FENCE();
    __syncthreads();
    if (t == 0) {
        STORE(out, tile);
        COMMIT();
        WAIT_READ();
    }
    __syncthreads();
    tile[t] = 5;
}

// The copy may read the tile until its thread has waited.
extern "C" __global__ void bulk_overwrite(const int *in, int *out)
{
    __shared__ alignas(16) int tile[64];
    int t = threadIdx.x;
    tile[63 - t] = in[t];
    FENCE();
    __syncthreads();
    if (t == 0) {
        STORE(out, tile); // <- async_read: second
        COMMIT();
    }
    __syncthreads();
    tile[t] = 5; // <- async_read: first
    __syncthreads();
    if (t == 0) {
        WAIT();
    }
}

extern "C" __global__ void bulk_written(const int *in, int *out)
{
    __shared__ alignas(16) int tile[64];
    int t = threadIdx.x;
    tile[63 - t] = in[t];
    FENCE();
    __syncthreads();
    if (t == 0) {
        STORE(out, tile);
        COMMIT();
        WAIT();
    }
    __syncthreads();
    int other = out[63 - t];
    out[64 + t] = other;
}

// That the tile has been read does not mean that the result is written.
extern "C" __global__ void bulk_read_only(const int *in, int *out)
{
    __shared__ alignas(16) int tile[64];
    int t = threadIdx.x;
    tile[63 - t] = in[t];
    FENCE();
    __syncthreads();
    if (t == 0) {
        STORE(out, tile); // <- async_read: second
        COMMIT();
        WAIT_READ();
    }
    __syncthreads();
    int other = out[63 - t]; // <- async_read: first
    out[64 + t] = other;
}
