// A counter-based generator of random numbers and a sum of what it gives, a stream a thread.
// Exercises mul.hi and mul.lo pairs, 64-bit xorshift, 16-bit arithmetic, conversions between integers and floats.

extern "C" __global__ void random_walk(unsigned int seed, unsigned int *words, double *sums, short *walks, int rounds)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int c0 = i, c1 = seed, k0 = 0x1234567u;
    unsigned long long state = 0x9e3779b97f4a7c15ull * (i + 1);
    double sum = 0.0;
    short walk = 0;
    for (int round = 0; round < rounds; ++round) {
        unsigned int high = __umulhi(0xd256d193u, c0), low = 0xd256d193u * c0;
        c0 = high ^ c1 ^ k0;
        c1 = low;
        k0 += 0x9e3779b9u;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        sum += (double)(c0 >> 8) * 0.5 + (float)(state >> 40) - (double)(long long)(state >> 20) * 0.25;
        walk = (short)(walk * 31 + (short)state);
    }
    words[i] = c0 ^ c1;
    sums[i] = sum;
    walks[i] = walk;
}
