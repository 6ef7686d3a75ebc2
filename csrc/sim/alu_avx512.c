/* The arithmetic handlers for AVX-512 (the F, BW, DQ, VL parts) with fused products. */
#if defined(__x86_64__) && defined(__GNUC__)
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#if !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define SMK_ALU_CLONE smk_alu_avx512
#include "alu_body.h"
#else
typedef int smk_alu_avx512_absent; /* a translation unit may not be empty */
#endif
