/* Sets of lanes as 32-bit masks, and compiler attributes and builtins, each with a portable fallback. */
#ifndef SMK_SIM_CODE_BITS_H
#define SMK_SIM_CODE_BITS_H

#include <stdint.h>

#if defined(__GNUC__)
#define SMK_ALWAYS_INLINE static inline __attribute__((always_inline, unused))
#define SMK_NEVER_INLINE static __attribute__((noinline))
#else
#define SMK_ALWAYS_INLINE static inline
#define SMK_NEVER_INLINE static
#endif

/* For functions that are mostly loops over lanes: one clone for each kind of processor, chosen when the library is
 * loaded. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define SMK_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define SMK_CLONES
#endif

/* The bit of each lane: compilers make vectors of a loop that reads this table, and not of one that shifts by the lane. */
#if defined(__GNUC__)
__attribute__((unused))
#endif
static _Alignas(64) const uint32_t smk_bits_lane[32] = {
    UINT32_C(1) << 0,  UINT32_C(1) << 1,  UINT32_C(1) << 2,  UINT32_C(1) << 3,  UINT32_C(1) << 4,  UINT32_C(1) << 5,
    UINT32_C(1) << 6,  UINT32_C(1) << 7,  UINT32_C(1) << 8,  UINT32_C(1) << 9,  UINT32_C(1) << 10, UINT32_C(1) << 11,
    UINT32_C(1) << 12, UINT32_C(1) << 13, UINT32_C(1) << 14, UINT32_C(1) << 15, UINT32_C(1) << 16, UINT32_C(1) << 17,
    UINT32_C(1) << 18, UINT32_C(1) << 19, UINT32_C(1) << 20, UINT32_C(1) << 21, UINT32_C(1) << 22, UINT32_C(1) << 23,
    UINT32_C(1) << 24, UINT32_C(1) << 25, UINT32_C(1) << 26, UINT32_C(1) << 27, UINT32_C(1) << 28, UINT32_C(1) << 29,
    UINT32_C(1) << 30, UINT32_C(1) << 31,
};

/* All bits where the lane is in the mask, else none: without a branch, so that loops over lanes become vectors. */
SMK_ALWAYS_INLINE uint32_t smk_bits_spread(uint32_t mask, unsigned lane)
{
    return 0 - (uint32_t)((mask & smk_bits_lane[lane]) != 0);
}

/* The lowest lane of a mask, which is not 0. */
SMK_ALWAYS_INLINE unsigned smk_bits_first(uint32_t mask)
{
#if defined(__GNUC__)
    return (unsigned)__builtin_ctz(mask);
#else
    unsigned lane = 0;
    while ((mask >> lane & 1) == 0) {
        lane++;
    }
    return lane;
#endif
}

/* The highest lane of a mask, which is not 0. */
SMK_ALWAYS_INLINE unsigned smk_bits_last(uint32_t mask)
{
#if defined(__GNUC__)
    return 31U - (unsigned)__builtin_clz(mask);
#else
    unsigned lane = 31;
    while ((mask >> lane & 1) == 0) {
        lane--;
    }
    return lane;
#endif
}

SMK_ALWAYS_INLINE uint32_t smk_bits_count(uint32_t mask)
{
#if defined(__GNUC__)
    return (uint32_t)__builtin_popcount(mask);
#else
    uint32_t count = 0;
    for (; mask != 0; mask &= mask - 1) {
        count++;
    }
    return count;
#endif
}

/* The lowest bit of a set of 64, which is not 0. */
SMK_ALWAYS_INLINE uint32_t smk_bits_first64(uint64_t set)
{
    uint32_t low = (uint32_t)set;
    return low != 0 ? smk_bits_first(low) : 32 + smk_bits_first((uint32_t)(set >> 32));
}

#endif
