// Values that nobody has defined: shuffles from lanes that have no part in them, local memory that was never written.

extern "C" __global__ void undefined_mask(const int *in, int *out)
{
    int t = threadIdx.x, value = in[t];
    if (t < 16) {
        value = __shfl_down_sync(0xffff, value, 8); // <- shuffle: first
        out[t] = value;                             // <- shuffle: second
    }
}

extern "C" __global__ void undefined_mask_wide(const int *in, int *out)
{
    int t = threadIdx.x, value = in[t];
    value = __shfl_down_sync(0xffffffff, value, 8);
    if (t < 16) {
        out[t] = value;
    }
}

// Lanes of a full mask have left.
extern "C" __global__ void undefined_exited(const int *in, int *out, int count)
{
    int t = threadIdx.x;
    if (t >= count) {
        return;
    }
    int sum = in[t];
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, step); // <- shuffle: first
    }
    if (t == 0) {
        out[0] = sum; // <- shuffle: second
    }
}

// The threads of the last warp are not all there: they bring zeros.
extern "C" __global__ void undefined_stayed(const int *in, int *out, int count)
{
    int t = threadIdx.x;
    int sum = t < count ? in[t] : 0;
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    }
    if (t == 0) {
        out[0] = sum;
    }
}

// A branch, and an address.
extern "C" __global__ void undefined_branch(const int *in, int *out)
{
    int t = threadIdx.x;
    if (t < 8) {
        int limit = __shfl_sync(0xff, in[t], 8); // <- shuffle: first
        for (int i = 0; i < limit % 3; i++) {    // <- shuffle: second
            out[t + 32 * i] = i;
        }
    }
}

extern "C" __global__ void undefined_address(const int *in, int *out)
{
    int t = threadIdx.x;
    if (t < 8) {
        int at = __shfl_sync(0xff, t, 9) & 7; // <- shuffle: first
        out[t] = in[at];                      // <- shuffle: second
    }
}

extern "C" __global__ void undefined_taken(const int *in, int *out)
{
    int t = threadIdx.x;
    if (t < 8) {
        int limit = __shfl_sync(0xff, in[t], 7), at = __shfl_sync(0xff, t, 5) & 7;
        for (int i = 0; i < limit % 3; i++) {
            out[t + 32 * i] = in[at];
        }
    }
}

// The last lanes take what is not there, and do not use it: by a branch, a selection, a mask, a factor.
extern "C" __global__ void undefined_dropped(const int *in, int *out, int count)
{
    int t = threadIdx.x;
    if (t >= count) {
        return;
    }
    unsigned mask = (1u << count) - 1;
    int most = in[t], sum = in[t], bits = in[t], product = 0;
    for (int step = 16; step > 0; step /= 2) {
        int other = __shfl_down_sync(mask, most, step), more = __shfl_down_sync(mask, sum, step);
        int far = __shfl_down_sync(mask, bits, step);
        bool inside = t + step < count;
        if (inside && other > most) {
            most = other;
        }
        sum += inside ? more : 0;
        bits |= far & (inside ? -1 : 0);
        product += far * (int)inside;
    }
    if (t == 0) {
        out[0] = most;
        out[1] = sum;
        out[2] = bits;
        out[3] = product;
    }
}

extern "C" __global__ void undefined_scan(const int *in, int *out)
{
    int t = threadIdx.x, sum = in[t];
    for (int step = 1; step < 32; step *= 2) {
        int before = __shfl_up_sync(0xffffffff, sum, step);
        sum += t % 32 >= step ? before : 0;
    }
    out[t] = sum;
}

// The array is filled up to a count, and read beyond it.
extern "C" __global__ void undefined_local(const int *in, int *out, int count)
{
    int list[16], t = threadIdx.x;
    for (int i = 0; i < count; i++) {
        list[i] = in[i];
    }
    out[t] = list[t & 15]; // <- uninitialized: first
}

// Nobody has written the counters' first value.
extern "C" __global__ void undefined_counters(const int *in, int *out, int count)
{
    int bins[8], t = threadIdx.x;
    for (int i = 0; i < count; i++) {
        bins[in[t + i] & 7] += 1;
    }
    for (int i = 0; i < 8; i++) {
        out[t * 8 + i] = bins[i]; // <- uninitialized: first
    }
}

// A copy of what was never written is no better.
extern "C" __global__ void undefined_copied(const int *in, int *out, int count)
{
    int list[16], copy[16], t = threadIdx.x;
    for (int i = 0; i < count; i++) {
        list[in[i] & 15] = i; // not all of them
    }
    for (int i = 0; i < 16; i++) {
        copy[(i + count) & 15] = list[i];
    }
    if (copy[t & 15] > 3) { // <- uninitialized: first
        out[t] = 1;
    }
}

extern "C" __global__ void undefined_local_filled(const int *in, int *out, int count)
{
    int list[16], copy[16], bins[8], t = threadIdx.x;
    struct {
        signed char small;
        int large;
        double number;
    } record[4], other[4];
    for (int i = 0; i < 16; i++) {
        list[i] = i < count ? in[i] : 0;
        bins[i & 7] = 0;
        record[i & 3].small = (signed char)i;
        record[i & 3].large = i;
        record[i & 3].number = i;
    }
    for (int i = 0; i < 16; i++) {
        copy[(i + count) & 15] = list[i];
        bins[list[i] & 7] += 1;
        other[(i + count) & 3] = record[i & 3];
    }
    out[t] = copy[t & 15] + bins[t & 7] + other[t & 3].small + other[(t + count) & 3].large;
}

// Only what was written is read.
extern "C" __global__ void undefined_stack(const int *in, int *out, int count)
{
    int stack[32], top = 0, t = threadIdx.x, sum = 0;
    for (int i = 0; i < count; i++) {
        if (in[(t + i) & 63] % 3 != 0 || top == 0) {
            stack[top++] = i + t;
        } else {
            sum += stack[--top];
        }
    }
    while (top > 0) {
        sum ^= stack[--top];
    }
    out[t] = sum;
}
