/* Load and store handlers for AVX2. */
#if defined(__x86_64__)
#if !defined(__AVX2__)
#error "csrc/compile_c.py lists the flags that this file needs"
#endif

#include "sim/code/bits.h"

#include <immintrin.h>
#include <stdint.h>

#define NAME(x) x##_avx2
#define HAVE_LANES

SMK_ALWAYS_INLINE __m256i load256(const void *row, unsigned index)
{
    return _mm256_loadu_si256((const __m256i *)row + index);
}

SMK_ALWAYS_INLINE uint32_t lanes_equal32(const uint32_t *row, uint32_t first, uint32_t step)
{
    __m256i wanted =
        _mm256_add_epi32(_mm256_set1_epi32((int)first),
                         _mm256_mullo_epi32(_mm256_set1_epi32((int)step), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
    const __m256i advance = _mm256_set1_epi32((int)(8 * step));
    uint32_t equal = 0;
    for (unsigned i = 0; i < 4; i++) {
        __m256i same = _mm256_cmpeq_epi32(load256(row, i), wanted);
        equal |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(same)) << (8 * i);
        wanted = _mm256_add_epi32(wanted, advance);
    }
    return equal;
}

SMK_ALWAYS_INLINE uint32_t lanes_equal64(const uint64_t *row, uint64_t first, uint64_t step)
{
    __m256i wanted = _mm256_setr_epi64x((long long)first, (long long)(first + step), (long long)(first + 2 * step),
                                        (long long)(first + 3 * step));
    const __m256i advance = _mm256_set1_epi64x((long long)(4 * step));
    uint32_t equal = 0;
    for (unsigned i = 0; i < 8; i++) {
        __m256i same = _mm256_cmpeq_epi64(load256(row, i), wanted);
        equal |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(same)) << (4 * i);
        wanted = _mm256_add_epi64(wanted, advance);
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
        __m256i same = _mm256_cmpeq_epi32(load256(row, i), wanted);
        equal |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(same)) << (8 * i);
    }
    return equal;
}

SMK_ALWAYS_INLINE uint32_t lanes_grouped64(const uint64_t *row, uint64_t step)
{
    uint32_t equal = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t first = row[i / 2 * 8] + i % 2 * 4 * step;
        __m256i wanted = _mm256_setr_epi64x((long long)first, (long long)(first + step), (long long)(first + 2 * step),
                                            (long long)(first + 3 * step));
        __m256i same = _mm256_cmpeq_epi64(load256(row, i), wanted);
        equal |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(same)) << (4 * i);
    }
    return equal;
}

SMK_ALWAYS_INLINE uint32_t lanes_inside32(const uint32_t *row, uint32_t add, uint32_t last, uint32_t odd)
{
    const __m256i added = _mm256_set1_epi32((int)add), end = _mm256_set1_epi32((int)last);
    const __m256i bits = _mm256_set1_epi32((int)odd);
    uint32_t inside = 0;
    for (unsigned i = 0; i < 4; i++) {
        __m256i target_offset = _mm256_add_epi32(load256(row, i), added);
        __m256i low = _mm256_cmpeq_epi32(_mm256_max_epu32(target_offset, end), end);
        __m256i even = _mm256_cmpeq_epi32(_mm256_and_si256(target_offset, bits), _mm256_setzero_si256());
        inside |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_and_si256(low, even))) << (8 * i);
    }
    return inside;
}

SMK_ALWAYS_INLINE uint32_t lanes_inside64(const uint64_t *row, uint64_t add, uint64_t last, uint64_t odd)
{
    /* the comparison is a signed one: shift both sides */
    const __m256i shift = _mm256_set1_epi64x((long long)(UINT64_C(1) << 63));
    const __m256i added = _mm256_set1_epi64x((long long)add);
    const __m256i end = _mm256_xor_si256(_mm256_set1_epi64x((long long)last), shift);
    const __m256i bits = _mm256_set1_epi64x((long long)odd);
    uint32_t inside = 0;
    for (unsigned i = 0; i < 8; i++) {
        __m256i target_offset = _mm256_add_epi64(load256(row, i), added);
        __m256i high = _mm256_cmpgt_epi64(_mm256_xor_si256(target_offset, shift), end);
        __m256i even = _mm256_cmpeq_epi64(_mm256_and_si256(target_offset, bits), _mm256_setzero_si256());
        __m256i good = _mm256_andnot_si256(high, even);
        inside |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(good)) << (4 * i);
    }
    return inside;
}

#include "sim/exec/access_body.h"
#else
typedef int smk_access_avx2_is_for_x86; /* a translation unit may not be empty */
#endif
