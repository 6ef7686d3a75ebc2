// Groups of lanes read one word each: pairs, quads and halves, of 4, 8 and 16 bytes.
// Counts: wide loads join phases where lanes pair up.

extern "C" __global__ void __launch_bounds__(32)
    broadcast_groups(const float4 *in, float4 *out4, float2 *out2, float *out1, int group)
{
    __shared__ float4 four[32];
    __shared__ float2 two[32];
    __shared__ float one[32];
    const int lane = threadIdx.x, i = blockIdx.x * 32 + lane;
    const float4 value = in[i];
    four[lane] = value;
    two[lane] = make_float2(value.y, value.z);
    one[lane] = value.w;
    __syncwarp(); // tables are complete
    out4[i] = four[lane / group];
    out2[i] = two[lane / group * group];
    out1[i] = one[(lane ^ group) % 32];
}
