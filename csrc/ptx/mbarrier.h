/* The word of an mbarrier, whose inside PTX does not specify:
 *
 *   bits 0 to 19    how many arrivals complete a phase
 *   bits 20 to 60   2^41 minus what is missing in this phase: 2^21 for each arrival, and 1 for each byte that
 *                   asynchronous copies are expected to write and have not written yet
 *   bits 61 to 63   phases that are complete
 *
 * Arrivals and copied bytes add to the middle field, and expected bytes are taken off it; copies may complete before
 * anyone expects them, since an arrival is then missing, which counts for more than all bytes. The last arrival or byte
 * of a phase carries into the number of phases, and puts the missing arrivals of the next phase back. */
#ifndef SMK_PTX_MBARRIER_H
#define SMK_PTX_MBARRIER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SMK_MBARRIER_COUNT_BITS = 20, /* of a number of arrivals; of a number of bytes without its sign */
    SMK_MBARRIER_BYTES_BITS = SMK_MBARRIER_COUNT_BITS + 1,
    SMK_MBARRIER_MISSING_BITS = SMK_MBARRIER_COUNT_BITS + SMK_MBARRIER_BYTES_BITS,
    SMK_MBARRIER_PHASE_BIT = SMK_MBARRIER_COUNT_BITS + SMK_MBARRIER_MISSING_BITS
};
#define SMK_MBARRIER_BYTES_MAX ((INT64_C(1) << SMK_MBARRIER_COUNT_BITS) - 1)
#define SMK_MBARRIER_COUNT_MASK ((INT64_C(1) << SMK_MBARRIER_COUNT_BITS) - 1)
#define SMK_MBARRIER_MISSING_MASK ((INT64_C(1) << SMK_MBARRIER_MISSING_BITS) - 1)

/* The middle field for so many missing arrivals, at its place in the word. */
static inline uint64_t smk_mbarrier_missing(uint64_t arrivals)
{
    return ((0 - (arrivals << SMK_MBARRIER_BYTES_BITS)) & (uint64_t)SMK_MBARRIER_MISSING_MASK)
           << SMK_MBARRIER_COUNT_BITS;
}

/* The bytes that the phase still waits for; below 0 where more have been copied than expected so far. */
static inline int64_t smk_mbarrier_bytes(uint64_t word)
{
    const uint64_t missing = (0 - (word >> SMK_MBARRIER_COUNT_BITS)) & (uint64_t)SMK_MBARRIER_MISSING_MASK;
    const uint64_t low = missing & ((UINT64_C(1) << SMK_MBARRIER_BYTES_BITS) - 1);
    return low >> SMK_MBARRIER_COUNT_BITS != 0 ? (int64_t)low - (INT64_C(1) << SMK_MBARRIER_BYTES_BITS) : (int64_t)low;
}

/* The word once a copy has written so many bytes. */
static inline uint64_t smk_mbarrier_complete(uint64_t word, uint32_t bytes)
{
    const uint64_t middle = (word >> SMK_MBARRIER_COUNT_BITS & (uint64_t)SMK_MBARRIER_MISSING_MASK) + bytes;
    const bool full = middle == (uint64_t)SMK_MBARRIER_MISSING_MASK + 1;
    word += (uint64_t)bytes << SMK_MBARRIER_COUNT_BITS;
    return full ? word + smk_mbarrier_missing(word & (uint64_t)SMK_MBARRIER_COUNT_MASK) : word;
}

#endif
