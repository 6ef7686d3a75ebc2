/* Matrix products for AVX-512 (the F, DQ, VL parts) with fused products: 8 columns in 256 bits. */
#if defined(__x86_64__) && defined(__GNUC__)
#if !defined(__AVX512F__)
#error "csrc/compile_c.py lists the flags that this file needs"
#endif

#define SMK_MMA_CLONE smk_mma_avx512
#include "sim/exec/mma_body.h"
#else
typedef int smk_mma_avx512_is_for_x86; /* a translation unit may not be empty */
#endif
