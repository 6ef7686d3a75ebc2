/* Load and store handlers for AVX-512. */
#if defined(__x86_64__)
#if !defined(__AVX512F__)
#error "csrc/compile_c.py lists the flags that this file needs"
#endif

#include "sim/code/bits.h"

#include <immintrin.h>
#include <stdint.h>

#define NAME(x) x##_avx512
#define HAVE_LANES

SMK_ALWAYS_INLINE uint32_t lanes_equal32(const uint32_t *row, uint32_t first, uint32_t step)
{
    const __m512i index = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i wanted = _mm512_set1_epi32((int)first);
    __m512i advance = _mm512_setzero_si512();
    if (step != 0) {
        wanted = _mm512_add_epi32(wanted, _mm512_mullo_epi32(_mm512_set1_epi32((int)step), index));
        advance = _mm512_set1_epi32((int)(16 * step));
    }
    uint32_t low = _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(row), wanted);
    uint32_t high = _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(row + 16), _mm512_add_epi32(wanted, advance));
    return low | high << 16;
}

SMK_ALWAYS_INLINE uint32_t lanes_equal64(const uint64_t *row, uint64_t first, uint64_t step)
{
    const __m512i index = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    __m512i wanted = _mm512_set1_epi64((long long)first);
    __m512i advance = _mm512_setzero_si512();
    if (step != 0) {
        wanted = _mm512_add_epi64(wanted, _mm512_mullo_epi64(_mm512_set1_epi64((long long)step), index));
        advance = _mm512_set1_epi64((long long)(8 * step));
    }
    uint32_t equal = 0;
    for (unsigned i = 0; i < 4; i++) {
        equal |= (uint32_t)_mm512_cmpeq_epi64_mask(_mm512_loadu_si512(row + 8 * i), wanted) << (8 * i);
        wanted = _mm512_add_epi64(wanted, advance);
    }
    return equal;
}

SMK_ALWAYS_INLINE uint32_t lanes_grouped32(const uint32_t *row, uint32_t step)
{
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i steps = _mm256_mullo_epi32(_mm256_set1_epi32((int)step), index);
    uint32_t equal = 0;
    for (unsigned i = 0; i < 4; i++) {
        __m256i wanted = _mm256_add_epi32(_mm256_set1_epi32((int)row[8 * i]), steps);
        equal |= (uint32_t)_mm256_cmpeq_epi32_mask(_mm256_loadu_si256((const __m256i *)(row + 8 * i)), wanted)
                 << (8 * i);
    }
    return equal;
}

SMK_ALWAYS_INLINE uint32_t lanes_grouped64(const uint64_t *row, uint64_t step)
{
    const __m512i index = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i steps = _mm512_mullo_epi64(_mm512_set1_epi64((long long)step), index);
    uint32_t equal = 0;
    for (unsigned i = 0; i < 4; i++) {
        __m512i wanted = _mm512_add_epi64(_mm512_set1_epi64((long long)row[8 * i]), steps);
        equal |= (uint32_t)_mm512_cmpeq_epi64_mask(_mm512_loadu_si512(row + 8 * i), wanted) << (8 * i);
    }
    return equal;
}

SMK_ALWAYS_INLINE uint32_t lanes_inside32(const uint32_t *row, uint32_t add, uint32_t last, uint32_t odd)
{
    const __m512i added = _mm512_set1_epi32((int)add), end = _mm512_set1_epi32((int)last);
    const __m512i bits = _mm512_set1_epi32((int)odd);
    uint32_t inside = 0;
    for (unsigned i = 0; i < 2; i++) {
        __m512i target_offset = _mm512_add_epi32(_mm512_loadu_si512(row + 16 * i), added);
        __mmask16 low = _mm512_cmple_epu32_mask(target_offset, end);
        inside |= (uint32_t)_mm512_mask_testn_epi32_mask(low, target_offset, bits) << (16 * i);
    }
    return inside;
}

SMK_ALWAYS_INLINE uint32_t lanes_inside64(const uint64_t *row, uint64_t add, uint64_t last, uint64_t odd)
{
    const __m512i added = _mm512_set1_epi64((long long)add), end = _mm512_set1_epi64((long long)last);
    const __m512i bits = _mm512_set1_epi64((long long)odd);
    uint32_t inside = 0;
    for (unsigned i = 0; i < 4; i++) {
        __m512i target_offset = _mm512_add_epi64(_mm512_loadu_si512(row + 8 * i), added);
        __mmask8 low = _mm512_cmple_epu64_mask(target_offset, end);
        inside |= (uint32_t)_mm512_mask_testn_epi64_mask(low, target_offset, bits) << (8 * i);
    }
    return inside;
}

#include "sim/exec/access_body.h"
#else
typedef int smk_access_avx512_is_for_x86; /* a translation unit may not be empty */
#endif
