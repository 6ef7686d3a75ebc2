"""Kernels in CUDA C with #include, one for each thing of CUDA's headers that people use.

Each runs as one block of 64 threads on x (64 float32, the integers from 0 to 63 in a random order)
and writes y (64 float32). The tests run them, and the site lists them.
"""

import typing

import numpy as np

N = 64


class Kernel(typing.NamedTuple):
    includes: str  # headers, one word each
    body: str  # of the kernel, where i is the thread
    oracle: typing.Callable  # x -> y; or, of numbers drawn at random, y -> whether it is one
    before: str = ""  # what stands before the kernel
    is_random: bool = False
    refused: str = ""  # why the simulator does not run it: a pattern of its message
    arch: str = "90"  # what it is compiled for
    cooperative: bool = False  # all blocks at once


def spread(values):
    """Every thread has the same."""
    return np.full(N, values, np.float32)


def of_warps(function):
    """Every thread has its warp's."""
    return lambda x: np.repeat(function(x.reshape(-1, 32)), 32)


PIPELINE_OF_BLOCK = r"""
__shared__ float tile[64];
__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
auto block = cooperative_groups::this_thread_block();
auto pipe = cuda::make_pipeline(block, &state); pipe.producer_acquire();
cuda::memcpy_async(block, tile, x, sizeof(tile), pipe); pipe.producer_commit();
pipe.consumer_wait(); y[i] = tile[63 - i]; pipe.consumer_release();
"""
WIDE_TILE = r"""
namespace cg = cooperative_groups;
__shared__ cg::block_tile_memory<64> memory;
auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
y[i] = cg::reduce(tile, x[i], cg::plus<float>());
"""
KERNELS = {
    # C's own
    "stdint": Kernel(
        "stdint.h",
        r"""
uint8_t a = 250 + i; y[i] = a + UINT8_MAX;
""",
        lambda x: np.arange(250, 314) % 256 + 255.0,
    ),
    "cstdint": Kernel(
        "cstdint",
        r"""
std::int64_t a = INT64_C(1) << 40; std::uint32_t b = 0u - 1;
y[i] = (a >> 38) + (b == UINT32_MAX);
""",
        lambda x: spread(5),
    ),
    "cfloat": Kernel(
        "cfloat",
        r"""
float least = FLT_MAX; for (int j = 0; j < 64; ++j) least = fminf(least, x[j]);
y[i] = least + (DBL_EPSILON < FLT_EPSILON);
""",
        lambda x: spread(1),
    ),
    "limits": Kernel(
        "climits",
        r"""
y[i] = x[i] < INT_MAX ? CHAR_BIT : 0;
""",
        lambda x: spread(8),
    ),
    "cmath": Kernel(
        "cmath",
        r"""
y[i] = std::sqrt(x[i] * x[i]) + std::abs(-x[i]) + std::isnan(NAN);
""",
        lambda x: 2 * x + 1,
    ),
    "cassert": Kernel(
        "cassert",
        r"""
assert(x[i] >= 0); y[i] = x[i];
""",
        lambda x: x,
    ),
    "cstdio": Kernel(
        "cstdio",
        r"""
if (i == 64) printf("%d\n", i); y[i] = x[i];
""",
        lambda x: x,
    ),
    "inttypes": Kernel(
        "inttypes.h stdio.h",
        r"""
if (x[i] < 0) printf("%" PRIu64, (uint64_t)i); y[i] = 1;
""",
        lambda x: spread(1),
    ),
    "string": Kernel(
        "string.h stddef.h",
        r"""
int bits; memcpy(&bits, x + i, sizeof bits); struct pair { int a, b; };
y[i] = __int_as_float(bits) + offsetof(pair, b);
""",
        lambda x: x + 4,
    ),
    # C++'s
    "algorithm": Kernel(
        "algorithm",
        r"""
y[i] = std::clamp(std::max(x[i], 7.0f), 9.0f, 50.0f);
""",
        lambda x: np.clip(x, 9, 50),
    ),
    "numeric limits": Kernel(
        "limits type_traits",
        r"""
static_assert(std::is_same_v<decltype(x[i] + 1), float>);
y[i] = std::numeric_limits<float>::infinity() > x[i];
""",
        lambda x: spread(1),
    ),
    "array": Kernel(
        "array tuple",
        r"""
std::array<float, 3> a{x[i], 1, 2}; float sum = 0; for (float v : a) sum += v;
y[i] = std::get<1>(std::make_tuple(0.0f, sum));
""",
        lambda x: x + 3,
    ),
    "std complex": Kernel(
        "complex",
        r"""
using namespace std;
std::complex<float> z(3 * x[i], 4 * x[i]); y[i] = std::abs(z) + abs(z) + std::abs(-x[i]);
""",
        lambda x: 11 * x,
    ),
    "driver": Kernel(
        "cuda.h cuda_runtime.h",
        r"""
y[i] = sizeof(CUtensorMap) + (CUDA_VERSION > 0);
""",
        lambda x: spread(129),
    ),
    # CUDA's types
    "runtime": Kernel(
        "cuda_runtime.h device_launch_parameters.h math_constants.h",
        r"""
float4 v = make_float4(x[i], 1, 2, CUDART_INF_F);
y[i] = v.x + v.y + v.z + (v.w > 3);
""",
        lambda x: x + 4,
    ),
    "complex": Kernel(
        "cuComplex.h",
        r"""
cuFloatComplex a = make_cuFloatComplex(x[i], 1); y[i] = cuCrealf(cuCmulf(a, a));
""",
        lambda x: x * x - 1,
    ),
    "half": Kernel(
        "cuda_fp16.h",
        r"""
__half h = __float2half(x[i]); y[i] = __half2float(h * __half(0.5f) + h);
""",
        lambda x: 1.5 * x,
    ),
    "half2": Kernel(
        "cuda_fp16.h",
        r"""
__half2 a = __floats2half2_rn(x[i], 2);
float2 b = __half22float2(__hfma2(a, a, a)); y[i] = b.x + b.y;
""",
        lambda x: (x * x + x).astype(np.float16) + 6,
    ),
    "bfloat16": Kernel(
        "cuda_bf16.h",
        r"""
__nv_bfloat16 h = __float2bfloat16(x[i]);
y[i] = __bfloat162float(__hmax(h, __float2bfloat16(5)));
""",
        lambda x: np.maximum(x, 5),
    ),
    "float8": Kernel(
        "cuda_fp8.h",
        r"""
y[i] = float(__nv_fp8_e4m3(fminf(x[i], 16.0f)));
""",
        lambda x: np.minimum(x, 16),
    ),
    # Cooperative groups
    "thread block": Kernel(
        "cooperative_groups.h",
        r"""
__shared__ float tile[64]; auto block = cg::this_thread_block();
tile[block.thread_rank()] = x[i]; block.sync(); y[i] = tile[block.size() - 1 - i];
""",
        lambda x: x[::-1],
        before="namespace cg = cooperative_groups;",
    ),
    "tiles": Kernel(
        "cooperative_groups.h cooperative_groups/reduce.h",
        r"""
auto tile = cg::tiled_partition<32>(cg::this_thread_block());
y[i] = cg::reduce(tile, x[i], cg::plus<float>());
""",
        of_warps(lambda x: x.sum(1)),
        before="namespace cg = cooperative_groups;",
    ),
    "scan of a tile": Kernel(
        "cooperative_groups.h cooperative_groups/scan.h",
        r"""
auto tile = cg::tiled_partition<16>(cg::this_thread_block());
y[i] = cg::inclusive_scan(tile, x[i], cg::plus<float>());
""",
        lambda x: x.reshape(-1, 16).cumsum(1).ravel(),
        before="namespace cg = cooperative_groups;",
    ),
    "coalesced group": Kernel(
        "cooperative_groups.h",
        r"""
y[i] = 0;
if (i % 4 == 0) {
    auto some = cg::coalesced_threads();
    y[i] = some.size() + some.thread_rank();
}
""",
        lambda x: np.where(np.arange(N) % 4 == 0, 8 + np.arange(N) % 32 // 4, 0),
        before="namespace cg = cooperative_groups;",
    ),
    "copy of a group": Kernel(
        "cooperative_groups.h cooperative_groups/memcpy_async.h",
        r"""
__shared__ float tile[64]; auto block = cg::this_thread_block();
cg::memcpy_async(block, tile, x, sizeof tile); cg::wait(block); y[i] = tile[63 - i];
""",
        lambda x: x[::-1],
        before="namespace cg = cooperative_groups;",
    ),
    # CUB
    "tile of 64 threads": Kernel(
        "cooperative_groups.h cooperative_groups/reduce.h",
        WIDE_TILE,
        lambda x: spread(x.sum()),
    ),
    "tile of 64 threads for sm_75": Kernel(
        "cooperative_groups.h cooperative_groups/reduce.h",
        WIDE_TILE,
        lambda x: spread(x.sum()),
        arch="75",
    ),
    "labeled partition": Kernel(
        "cooperative_groups.h",
        r"""
using namespace cooperative_groups; auto tile = tiled_partition<32>(this_thread_block());
y[i] = labeled_partition(tile, i % 4).size();
""",
        lambda x: spread(8),
    ),
    "ranks of the grid": Kernel(
        "cooperative_groups.h",
        r"""
auto grid = cooperative_groups::this_grid(); y[i] = grid.thread_rank() + grid.size();
""",
        lambda x: np.arange(N) + 64.0,
    ),
    "barrier of the grid": Kernel(
        "cooperative_groups.h",
        r"""
y[i] = x[i]; cooperative_groups::this_grid().sync();
""",
        lambda x: x,
        cooperative=True,
    ),
    "cluster": Kernel(
        "cooperative_groups.h",
        r"""
auto cluster = cooperative_groups::this_cluster(); cluster.sync(); y[i] = cluster.block_rank();
""",
        lambda x: spread(0),
    ),
    "cub": Kernel(
        "cub/cub.cuh",
        r"""
using Reduce = cub::BlockReduce<float, 64>;
__shared__ typename Reduce::TempStorage storage;
float sum = Reduce(storage).Sum(x[i]); __shared__ float all;
if (i == 0) all = sum;
__syncthreads(); y[i] = all;
""",
        lambda x: spread(x.sum()),
    ),
    "cub block reduce": Kernel(
        "cub/block/block_reduce.cuh",
        r"""
using Reduce = cub::BlockReduce<float, 64>;
__shared__ typename Reduce::TempStorage storage;
float most = Reduce(storage).Reduce(x[i], cuda::maximum<>());
__shared__ float all; if (i == 0) all = most;
__syncthreads(); y[i] = all;
""",
        lambda x: spread(x.max()),
        before="#include <cuda/functional>",
    ),
    "cub block scan": Kernel(
        "cub/block/block_scan.cuh",
        r"""
using Scan = cub::BlockScan<float, 64>;
__shared__ typename Scan::TempStorage storage;
float sum; Scan(storage).InclusiveSum(x[i], sum); y[i] = sum;
""",
        np.cumsum,
    ),
    "cub block radix sort": Kernel(
        "cub/block/block_radix_sort.cuh",
        r"""
using Sort = cub::BlockRadixSort<float, 64, 1>;
__shared__ typename Sort::TempStorage storage;
float mine[1] = {x[i]}; Sort(storage).Sort(mine); y[i] = mine[0];
""",
        np.sort,
    ),
    "cub block merge sort": Kernel(
        "cub/block/block_merge_sort.cuh",
        r"""
using Sort = cub::BlockMergeSort<float, 64, 1>;
__shared__ typename Sort::TempStorage storage;
float mine[1] = {x[i]};
Sort(storage).Sort(mine, [](float a, float b) { return is_greater(a, b); });
y[i] = mine[0];
""",
        lambda x: np.sort(x)[::-1],
        before="__device__ bool is_greater(float a, float b) { return a > b; }",
    ),
    "cub block load": Kernel(
        "cub/block/block_load.cuh cub/block/block_store.cuh",
        r"""
using Load = cub::BlockLoad<float, 32, 2, cub::BLOCK_LOAD_TRANSPOSE>;
using Store = cub::BlockStore<float, 32, 2, cub::BLOCK_STORE_TRANSPOSE>;
__shared__ union { typename Load::TempStorage load;
typename Store::TempStorage store; } storage;
if (i >= 32) return;
float mine[2]; Load(storage.load).Load(x, mine); __syncwarp(); mine[0] += mine[1];
Store(storage.store).Store(y, mine);
""",
        lambda x: np.stack([x[::2] + x[1::2], x[1::2]], 1).ravel(),
    ),
    "cub block histogram": Kernel(
        "cub/block/block_histogram.cuh",
        r"""
using Histogram = cub::BlockHistogram<unsigned char, 64, 1, 64, cub::BLOCK_HISTO_ATOMIC>;
__shared__ typename Histogram::TempStorage storage; __shared__ int bins[64];
unsigned char mine[1] = {(unsigned char)(x[i] / 4)};
Histogram(storage).Histogram(mine, bins); __syncthreads(); y[i] = bins[i];
""",
        lambda x: np.bincount((x // 4).astype(int), minlength=N),
    ),
    "cub block exchange": Kernel(
        "cub/block/block_exchange.cuh",
        r"""
using Exchange = cub::BlockExchange<float, 64, 1>;
__shared__ typename Exchange::TempStorage storage;
float mine[1] = {x[i]}; int rank[1] = {63 - i};
Exchange(storage).ScatterToBlocked(mine, mine, rank); y[i] = mine[0];
""",
        lambda x: x[::-1],
    ),
    "cub warp reduce": Kernel(
        "cub/warp/warp_reduce.cuh",
        r"""
using Reduce = cub::WarpReduce<float>;
__shared__ typename Reduce::TempStorage storage[2];
float sum = Reduce(storage[i / 32]).Sum(x[i]);
y[i] = __shfl_sync(~0u, sum, 0);
""",
        of_warps(lambda x: x.sum(1)),
    ),
    "cub warp scan": Kernel(
        "cub/warp/warp_scan.cuh",
        r"""
using Scan = cub::WarpScan<int>; __shared__ typename Scan::TempStorage storage[2];
int sum; Scan(storage[i / 32]).ExclusiveSum((int)x[i], sum); y[i] = sum;
""",
        lambda x: (x.reshape(-1, 32).cumsum(1) - x.reshape(-1, 32)).ravel(),
    ),
    "cub warp merge sort": Kernel(
        "cub/warp/warp_merge_sort.cuh",
        r"""
using Sort = cub::WarpMergeSort<float, 1, 32>;
__shared__ typename Sort::TempStorage storage[2];
float mine[1] = {x[i]};
Sort(storage[i / 32]).Sort(mine, [](float a, float b) { return a < b; });
y[i] = mine[0];
""",
        lambda x: np.sort(x.reshape(-1, 32)).ravel(),
    ),
    # Copies and barriers
    "pipeline primitives": Kernel(
        "cuda_pipeline.h",
        r"""
__shared__ float tile[64]; __pipeline_memcpy_async(tile + i, x + i, 4);
__pipeline_commit();
__pipeline_wait_prior(0); __syncthreads(); y[i] = tile[63 - i];
""",
        lambda x: x[::-1],
    ),
    "pipeline": Kernel(
        "cuda/pipeline",
        r"""
__shared__ float tile[64]; auto pipe = cuda::make_pipeline();
pipe.producer_acquire();
cuda::memcpy_async(tile + i, x + i, cuda::aligned_size_t<4>(4), pipe);
pipe.producer_commit();
pipe.consumer_wait(); __syncthreads(); y[i] = tile[63 - i]; pipe.consumer_release();
""",
        lambda x: x[::-1],
    ),
    "barrier": Kernel(
        "cuda/barrier",
        r"""
__shared__ float tile[64];
__shared__ cuda::barrier<cuda::thread_scope_block> barrier;
if (i == 0) init(&barrier, 64); __syncthreads();
tile[i] = x[i]; barrier.arrive_and_wait(); y[i] = tile[63 - i];
""",
        lambda x: x[::-1],
    ),
    "barrier for sm_75": Kernel(
        "cuda/barrier",
        r"""
__shared__ float tile[64];
__shared__ cuda::barrier<cuda::thread_scope_block> barrier;
if (i == 0) init(&barrier, 64); __syncthreads();
tile[i] = x[i]; barrier.arrive_and_wait(); y[i] = tile[63 - i];
""",
        lambda x: x[::-1],
        arch="75",
    ),
    "pipeline of a block": Kernel(
        "cuda/pipeline cooperative_groups.h",
        PIPELINE_OF_BLOCK,
        lambda x: x[::-1],
    ),
    "pipeline of a block for sm_75": Kernel(
        "cuda/pipeline cooperative_groups.h",
        PIPELINE_OF_BLOCK,
        lambda x: x[::-1],
        arch="75",
    ),
    "barrier primitives": Kernel(
        "cuda_awbarrier_primitives.h",
        r"""
__shared__ float tile[64]; __shared__ __mbarrier_t barrier;
if (i == 0) __mbarrier_init(&barrier, 64);
__syncthreads(); tile[i] = x[i];
__mbarrier_token_t token = __mbarrier_arrive(&barrier);
while (!__mbarrier_test_wait(&barrier, token)) { }
y[i] = tile[63 - i];
""",
        lambda x: x[::-1],
    ),
    # libcu++
    "atomic": Kernel(
        "cuda/atomic",
        r"""
__shared__ int count; if (i == 0) count = 0; __syncthreads();
cuda::atomic_ref<int, cuda::thread_scope_block> all(count);
all.fetch_add((int)x[i]);
__syncthreads(); y[i] = count;
""",
        lambda x: spread(x.sum()),
    ),
    "complex of libcu++": Kernel(
        "cuda/std/complex",
        r"""
cuda::std::complex<float> a(x[i], 1); y[i] = (a * a).real();
""",
        lambda x: x * x - 1,
    ),
    "span": Kernel(
        "cuda/std/span cuda/std/cstdint",
        r"""
cuda::std::span<const float, 64> all(x, 64); y[i] = all.last<32>()[i % 32];
""",
        lambda x: np.tile(x[32:], 2),
    ),
    "mdspan": Kernel(
        "cuda/std/mdspan",
        r"""
cuda::std::mdspan<const float, cuda::std::extents<int, 8, 8>> m(x);
y[i] = m(i % 8, i / 8);
""",
        lambda x: x.reshape(8, 8).T.ravel(),
    ),
    "bit": Kernel(
        "cuda/std/bit",
        r"""
y[i] = cuda::std::popcount((unsigned)x[i]);
""",
        lambda x: np.bitwise_count(x.astype(int)),
    ),
    "ptx": Kernel(
        "cuda/ptx",
        r"""
y[i] = cuda::ptx::get_sreg_laneid() + (cuda::ptx::get_sreg_ntid_x() == 64);
""",
        lambda x: np.arange(N) % 32 + 1,
    ),
    # cuRAND
    "philox": Kernel(
        "curand_kernel.h",
        r"""
curandStatePhilox4_32_10_t state; curand_init(7, i, 0, &state);
y[i] = curand_uniform(&state);
""",
        lambda y: (0 < y).all() and (y <= 1).all() and len(np.unique(y)) > 60,
        is_random=True,
    ),
    "xorwow": Kernel(
        "curand_kernel.h",
        r"""
curandState state; curand_init(7, 0, i, &state); y[i] = curand_normal(&state);
""",
        lambda y: (abs(y) < 6).all() and len(np.unique(y)) > 60,
        is_random=True,
    ),
    # Tensor cores
    "wmma": Kernel(
        "mma.h cuda_fp16.h",
        r"""
using namespace nvcuda::wmma; __shared__ __half a[256]; __shared__ float c[256];
for (int k = i; k < 256; k += 64) a[k] = k / 16 == k % 16 ? x[k % 16] : 0.0f;
__syncthreads();
fragment<matrix_a, 16, 16, 16, __half, row_major> left;
fragment<accumulator, 16, 16, 16, float> sum;
fragment<matrix_b, 16, 16, 16, __half, row_major> right; fill_fragment(sum, 1.0f);
load_matrix_sync(left, a, 16); load_matrix_sync(right, a, 16);
mma_sync(sum, left, right, sum);
store_matrix_sync(c, sum, 16, mem_row_major); __syncthreads(); y[i] = c[i];
""",
        lambda x: np.diag(x[:16] ** 2).ravel()[:N] + 1,
    ),
}
