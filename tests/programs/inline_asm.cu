// Instructions that C has no spelling for, as inline PTX: bit fields, permutes, three-input logic, carries.
// Exercises bfe bfi prmt lop3 shf add.cc/addc mad.cc/madc sad dp4a brev bfind fns vote clz mul24 isspacep testp slct.

__device__ __forceinline__ unsigned int permute(unsigned int a, unsigned int b, unsigned int selector)
{
    unsigned int d;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(selector));
    return d;
}

extern "C" __global__ void inline_asm(const unsigned int *a, const unsigned int *b, const unsigned int *c, unsigned int *out,
                                      int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    unsigned int x = a[i], y = b[i], z = c[i], d;
    unsigned int *mine = out + 20 * i;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y & 63), "r"(z & 63));
    mine[0] = d;
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y & 63), "r"(z & 63));
    mine[1] = d;
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(x), "r"(y), "r"(z & 31), "r"((z >> 8) & 31));
    mine[2] = d;
    mine[3] = permute(x, y, z & 0xffff);
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(d) : "r"(x), "r"(y), "r"(z)); // majority
    mine[4] = d;
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
    mine[5] = d;
    asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z & 63));
    mine[6] = d;
    unsigned int low, middle, high;
    asm("{\n\t"
        "add.cc.u32 %0, %3, %4;\n\t"
        "addc.cc.u32 %1, %4, %5;\n\t"
        "addc.u32 %2, 0, 0;\n\t"
        "}"
        : "=r"(low), "=r"(middle), "=r"(high)
        : "r"(x), "r"(y), "r"(z));
    mine[7] = low;
    mine[8] = middle;
    mine[9] = high;
    asm("{\n\t"
        ".reg .u32 t;\n\t"
        "mul.lo.u32 t, %2, %3;\n\t"
        "mad.lo.cc.u32 %0, %2, %3, %4;\n\t"
        "madc.hi.u32 %1, %2, %3, t;\n\t"
        "}"
        : "=&r"(low), "=&r"(high)
        : "r"(x), "r"(y), "r"(z));
    mine[10] = low;
    mine[11] = high;
    asm("sad.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
    mine[12] = d;
    asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
    mine[13] = d;
    mine[14] = __brev(x) ^ (unsigned int)__clz((int)y) ^ ((unsigned int)__ffs((int)z) << 8);
    asm("bfind.s32 %0, %1;" : "=r"(d) : "r"(x));
    mine[15] = d;
    mine[16] = __umul24(x, y) + (unsigned int)__mul24((int)y, (int)z);
    asm("{\n\t"
        ".reg .pred p, q, r;\n\t"
        "setp.ne.u32 r, %3, 12345;\n\t"
        "setp.lt.and.s32 p|q, %1, %2, r;\n\t"
        "selp.u32 %0, %1, %2, p;\n\t"
        "@q xor.b32 %0, %0, %3;\n\t"
        "}"
        : "=&r"(d)
        : "r"(x), "r"(y), "r"(z));
    mine[17] = d;
    asm("slct.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
    mine[18] = d;
    asm("{\n\t"
        ".reg .b16 l, h;\n\t"
        ".reg .b64 w;\n\t"
        "mov.b32 {l, h}, %1;\n\t"
        "mov.b32 %0, {h, l};\n\t"
        "mov.b64 w, {%0, %2};\n\t"
        "shr.u64 w, w, 12;\n\t"
        "cvt.u32.u64 %0, w;\n\t"
        "}"
        : "=&r"(d)
        : "r"(x), "r"(y));
    mine[19] = d;
}
