// SHA-256 of one short message a thread.
// Exercises rotations, a constant table of 64 words, byte loads and stores, a local message schedule.

__constant__ unsigned int round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ __forceinline__ unsigned int rotate(unsigned int x, int by)
{
    return (x >> by) | (x << (32 - by));
}

extern "C" __global__ void sha256(const unsigned char *messages, const int *lengths, unsigned char *digests, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    unsigned int w[64];
    int length = lengths[i];
    for (int t = 0; t < 16; ++t) {
        unsigned int word = 0;
        for (int byte = 0; byte < 4; ++byte) {
            int at = t * 4 + byte;
            unsigned int value = at < length ? messages[i * 55 + at] : at == length ? 0x80u : 0u;
            word = (word << 8) | value;
        }
        w[t] = word;
    }
    w[15] = (unsigned int)length * 8;
    for (int t = 16; t < 64; ++t) {
        unsigned int s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ (w[t - 15] >> 3);
        unsigned int s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ (w[t - 2] >> 10);
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    unsigned int start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned int s[8];
    for (int j = 0; j < 8; ++j) {
        s[j] = start[j];
    }
    for (int t = 0; t < 64; ++t) {
        unsigned int e = s[4];
        unsigned int t1 = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + round_constant[t] + w[t];
        unsigned int a = s[0];
        unsigned int t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        for (int j = 7; j > 0; --j) {
            s[j] = s[j - 1];
        }
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int j = 0; j < 8; ++j) {
        unsigned int word = start[j] + s[j];
        for (int byte = 0; byte < 4; ++byte) {
            digests[i * 32 + j * 4 + byte] = (unsigned char)(word >> (24 - 8 * byte));
        }
    }
}
