/* The arithmetic handlers for AVX-512 (the F, DQ, VL parts) with fused products. Vectors of 256 bits: a row that one
 * handler has just written is read by the next, and that passes through the store buffer faster in halves. Without BW:
 * gcc 13 fails on masked 16-bit extremes, and 16-bit rows gain little from it. */
#if defined(__x86_64__) && defined(__GNUC__)
#if !defined(__AVX512F__)
#error "csrc/compile_c.py lists the flags that this file needs"
#endif

#define SMK_ALU_CLONE smk_alu_avx512
#include "sim/exec/alu_body.h"
#else
typedef int smk_alu_avx512_is_for_x86; /* a translation unit may not be empty */
#endif
