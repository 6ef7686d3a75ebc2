/* The arithmetic handlers for AVX2 with fused products. */
#if defined(__x86_64__) && defined(__GNUC__)
#if !defined(__AVX2__)
#error "csrc/compile_c.py lists the flags that this file needs"
#endif

#define SMK_ALU_CLONE smk_alu_avx2
#include "sim/exec/alu_body.h"
#else
typedef int smk_alu_avx2_is_for_x86; /* a translation unit may not be empty */
#endif
