/* Matrix products for AVX2 with fused products. */
#if defined(__x86_64__) && defined(__GNUC__)
#if !defined(__AVX2__)
#error "csrc/compile_c.py lists the flags that this file needs"
#endif

#define SMK_MMA_CLONE smk_mma_avx2
#include "sim/exec/mma_body.h"
#else
typedef int smk_mma_avx2_is_for_x86; /* a translation unit may not be empty */
#endif
