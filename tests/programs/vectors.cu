// Loads and stores of 8 and 16 bytes, of packed bytes and shorts, and of structs made of them.
// Exercises ld/st .v2 .v4 of all element widths, read-only loads, cvt of narrow integers with sign.

struct __align__(16) record {
    double2 place;
    int4 tag;
    char4 letters;
    short2 pair;
};

extern "C" __global__ void vectors(const record *in, record *out, const uchar4 *pixels, uchar4 *grey, const float4 *quads,
                                   float2 *pairs, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    record r = in[i];
    double x = r.place.x;
    r.place.x = r.place.y * 2.0;
    r.place.y = x - 1.0;
    r.tag = make_int4(r.tag.w, r.tag.z, r.tag.y, -r.tag.x);
    r.letters.x = (char)(r.letters.x + r.letters.w);
    r.letters.y = (char)(-r.letters.y);
    r.pair.x = (short)(r.pair.x * r.pair.y);
    out[i] = r;
    uchar4 p = __ldg(&pixels[i]);
    unsigned char g = (unsigned char)((p.x * 77 + p.y * 150 + p.z * 29) >> 8);
    grey[i] = make_uchar4(g, g, g, (unsigned char)~p.w);
    float4 q = __ldcs(&quads[i]);
    __stcg(&pairs[i], make_float2(q.x * q.z, q.y - q.w));
}
