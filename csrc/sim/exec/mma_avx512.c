/* Matrix products for AVX-512 (the F, DQ, VL parts) with fused products: 8 columns in 256 bits. */
#if defined(__x86_64__) && defined(__GNUC__)
#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma,prefer-vector-width=256")
#if !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define SMK_MMA_CLONE smk_mma_avx512
#include "sim/exec/mma_body.h"
#else
typedef int smk_mma_avx512_is_for_x86; /* a translation unit may not be empty */
#endif
