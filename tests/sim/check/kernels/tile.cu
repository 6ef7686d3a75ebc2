// Staging in shared memory: barriers after writing and before overwriting, halos, two buffers.
// A comment "<- kind: first" marks a line that a finding must name; a kernel without one is clean.

extern "C" __global__ void tile_no_barrier(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = 0;
    __syncthreads();
    tile[t] = in[t];       // <- race: first
    out[t] = tile[63 - t]; // <- race: second
}

extern "C" __global__ void tile_barrier(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = 0;
    __syncthreads();
    tile[t] = in[t];
    __syncthreads();
    out[t] = tile[63 - t];
}

// The writers' warp happens to run first: the output is right.
extern "C" __global__ void tile_lucky(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    if (t < 32) {
        tile[t] = in[t]; // <- race: first
    } else {
        out[t - 32] = tile[t - 32]; // <- race: second
    }
}

extern "C" __global__ void tile_ordered(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    if (t < 32) {
        tile[t] = in[t];
    }
    __syncthreads();
    if (t >= 32) {
        out[t - 32] = tile[t - 32];
    }
}

// The barrier that keeps the next round's writers off is missing. The output is right where warps take turns.
extern "C" __global__ void tile_reused(const int *in, int *out, int rounds)
{
    __shared__ int tile[64];
    int t = threadIdx.x, sum = 0;
    for (int round = 0; round < rounds; ++round) {
        tile[t] = in[round * 64 + t]; // <- race: second
        __syncthreads();
        sum += tile[63 - t]; // <- race: first
    }
    out[t] = sum;
}

extern "C" __global__ void tile_reused_after_barrier(const int *in, int *out, int rounds)
{
    __shared__ int tile[64];
    int t = threadIdx.x, sum = 0;
    for (int round = 0; round < rounds; ++round) {
        tile[t] = in[round * 64 + t];
        __syncthreads();
        sum += tile[63 - t];
        __syncthreads();
    }
    out[t] = sum;
}

// Two buffers need one barrier a round: who writes a buffer again has passed the barrier after its last readers.
extern "C" __global__ void tile_two_buffers(const int *in, int *out, int rounds)
{
    __shared__ int tile[2][64];
    int t = threadIdx.x, sum = 0;
    for (int round = 0; round < rounds; ++round) {
        tile[round & 1][t] = in[round * 64 + t];
        __syncthreads();
        sum += tile[round & 1][63 - t];
    }
    out[t] = sum;
}

// Reads the other buffer, which the next round's writers overwrite without a barrier between.
extern "C" __global__ void tile_wrong_buffer(const int *in, int *out, int rounds)
{
    __shared__ int tile[2][64];
    int t = threadIdx.x, sum = 0;
    tile[1][t] = 0;
    for (int round = 0; round < rounds; ++round) {
        tile[round & 1][t] = in[round * 64 + t]; // <- race: second
        __syncthreads();
        sum += tile[(round + 1) & 1][63 - t]; // <- race: first
    }
    out[t] = sum;
}

// Neighbours fill the halo. Without the barrier neighbours of one warp race too.
extern "C" __global__ void tile_halo_no_barrier(const int *in, int *out)
{
    __shared__ int tile[66];
    int t = threadIdx.x, i = 1 + threadIdx.x;
    tile[t] = 0;
    if (t < 2) {
        tile[64 + t] = 0;
    }
    __syncthreads();
    tile[i] = in[i];                   // <- race 1: first; warp_hazard 1: first
    if (t == 0) {
        tile[0] = in[0];
    }
    if (t == 63) {
        tile[65] = in[65];
    }
    int left = tile[i - 1];            // <- race 1: second; warp_hazard 1: second
    int right = tile[i + 1];           // <- race 1: second; warp_hazard 1: second
    out[t] = left + tile[i] + right;
}

extern "C" __global__ void tile_halo(const int *in, int *out)
{
    __shared__ int tile[66];
    int t = threadIdx.x, i = 1 + threadIdx.x;
    tile[i] = in[i];
    if (t == 0) {
        tile[0] = in[0];
    }
    if (t == 63) {
        tile[65] = in[65];
    }
    __syncthreads();
    out[t] = tile[i - 1] + tile[i] + tile[i + 1];
}

// Everybody reads the word, the last reader of all writes it: none of the readers may be forgotten.
extern "C" __global__ void tile_many_readers(const int *in, int *out)
{
    __shared__ int word;
    int t = threadIdx.x;
    if (t == 0) {
        word = in[0];
    }
    __syncthreads();
    out[t] = word; // <- race: first
    if (t == 64) {
        word = 7; // <- race: second
    }
    __syncthreads();
    out[t + 65] = word;
}

extern "C" __global__ void tile_many_readers_then_barrier(const int *in, int *out)
{
    __shared__ int word;
    int t = threadIdx.x;
    if (t == 0) {
        word = in[0];
    }
    __syncthreads();
    out[t] = word;
    __syncthreads();
    if (t == 64) {
        word = 7;
    }
    __syncthreads();
    out[t + 65] = word;
}

// One reader among the first warp's, many warps that read nothing, a writer in the last.
extern "C" __global__ void tile_one_reader(const int *in, int *out)
{
    __shared__ int word;
    int t = threadIdx.x;
    if (t == 96) {
        word = in[0];
    }
    __syncthreads();
    if (t == 5) {
        out[0] = word; // <- race: first
    }
    if (t == 96) {
        word = 7; // <- race: second
    }
}

// All write the same value: the output is right, the language has no word for it.
extern "C" __global__ void tile_same_value(const int *in, int *out)
{
    __shared__ int found;
    int t = threadIdx.x;
    if (t % 32 == 0) {
        found = in[0]; // <- race: first, second
    }
    __syncthreads();
    out[t] = found;
}

extern "C" __global__ void tile_one_writer(const int *in, int *out)
{
    __shared__ int found;
    int t = threadIdx.x;
    if (t == 0) {
        found = in[0];
    }
    __syncthreads();
    out[t] = found;
}

// Only the last round has no barrier.
extern "C" __global__ void tile_last_round(const int *in, int *out, int rounds)
{
    __shared__ int tile[64];
    int t = threadIdx.x, sum = 0;
    tile[t] = in[t];
    __syncthreads();
    for (int round = 0; round < rounds; ++round) {
        sum += tile[(t + 32) & 63];     // <- race: first
        if (round + 1 < rounds) {
            __syncthreads();
        }
        tile[t] = sum;                  // <- race: second
        __syncthreads();
    }
    out[t] = sum + tile[t];
}

// Two arrays carved from dynamic shared memory; the second begins 16 bytes too early.
extern "C" __global__ void tile_carved_short(const int *in, int *out, int gap)
{
    extern __shared__ int memory[];
    int *first = memory, *second = memory + 32 + gap;
    int t = threadIdx.x;
    if (t < 32) {
        first[t] = in[t]; // <- race: either
    } else {
        second[t - 32] = in[t]; // <- race: either
    }
    __syncthreads();
    if (t < 32) {
        out[t] = first[t] + second[t];
    }
}

extern "C" __global__ void tile_carved(const int *in, int *out, int gap)
{
    extern __shared__ int memory[];
    int *first = memory, *second = memory + 32 + gap;
    int t = threadIdx.x;
    if (t < 32) {
        first[t] = in[t];
    } else {
        second[t - 32] = in[t];
    }
    __syncthreads();
    if (t < 32) {
        out[t] = first[t] + second[t];
    }
}

// Odd threads store to shared memory, even ones to global memory, by one instruction.
extern "C" __global__ void tile_generic(const int *in, int *out, int safe)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    int *at = t & 1 ? tile + t : (int *)out + 64 + t;
    *at = 2 * t; // <- race: first
    if (safe) {
        __syncthreads();
    }
    out[t] = tile[63 - t]; // <- race: second
}

// Two dimensions: the block is 16 x 8, a warp two rows of it.
extern "C" __global__ void tile_square_no_barrier(const int *in, int *out)
{
    __shared__ int tile[8][16];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = 0;
    __syncthreads();
    tile[y][x] = in[y * 16 + x];           // <- race: first
    out[y * 16 + x] = tile[(y + 4) % 8][x]; // <- race: second
}

extern "C" __global__ void tile_square(const int *in, int *out)
{
    __shared__ int tile[8][16];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[y * 16 + x];
    __syncthreads();
    out[y * 16 + x] = tile[(y + 4) % 8][x];
}
