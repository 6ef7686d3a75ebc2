/* Matrix products for AVX2 with fused products. */
#if defined(__x86_64__) && defined(__GNUC__)
#pragma GCC target("avx2,fma")
#if !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define SMK_MMA_CLONE smk_mma_avx2
#include "sim/exec/mma_body.h"
#else
typedef int smk_mma_avx2_is_for_x86; /* a translation unit may not be empty */
#endif
