/* The arithmetic handlers for AVX-512 (the F, DQ, VL parts) with fused products. Vectors of 256 bits: a row that one
 * handler has just written is read by the next, and that passes through the store buffer faster in halves. Without BW:
 * gcc 13 fails on masked 16-bit extremes, and 16-bit rows gain little from it. */
#if defined(__x86_64__) && defined(__GNUC__)
#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma,prefer-vector-width=256")
#if !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define SMK_ALU_CLONE smk_alu_avx512
#include "sim/exec/alu_body.h"
#else
typedef int smk_alu_avx512_is_for_x86; /* a translation unit may not be empty */
#endif
