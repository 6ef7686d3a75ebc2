/* The global memory that each block of a launch touches: how many sectors, and in which range of addresses, by access.
 * A reuse model of the caches rests on it. */
#ifndef SMK_SIM_PROFILE_FOOTPRINT_H
#define SMK_SIM_PROFILE_FOOTPRINT_H

#include "base/launch.h"
#include "sim/code/observer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one access of one block touches. */
typedef struct smk_footprint_row {
    uint64_t block;  /* its linear index in the grid */
    uint32_t access; /* number of the access */
    bool writes;
    uint64_t low, high;  /* addresses of the first byte, and of the one behind the last */
    uint64_t sectors;    /* that no access of this block of the same kind (reading or writing) has touched before */
    uint64_t pairs;      /* the same of 64 aligned bytes, which memory hands out together */
    uint64_t crowd_line; /* of atomics: the line from which on 512 bytes have most passes of the block's atomics */
    uint64_t crowd;      /* how many they have; the passes of all are the sum of `serial` */
    uint64_t waves;      /* passes of requests through the L1 cache: of the busiest bank, and of four lines each */
    uint64_t lines;      /* 128-byte lines that the requests of the access name, each request on its own */
    uint64_t requests;
    uint64_t serial; /* of atomics: for each request and sector, the lanes that meet at one address, at most */
    uint64_t waits;  /* requests of which the warp had not touched some sector before */
} smk_footprint_row;

/* A set of sectors of one host thread, and the rows of the blocks that it has run. */
typedef struct smk_footprint smk_footprint;

/* For so many accesses; NULL where memory is lacking. */
smk_footprint *smk_footprint_open(uint32_t accesses);
void smk_footprint_close(smk_footprint *footprint); /* accepts NULL */

/* Begins a block of a grid of `total` blocks, of which `run` blocks run, evenly spread (0: all). Of many blocks a few
 * are noted, so that the cost is small. */
void smk_footprint_begin(smk_footprint *footprint, uint64_t block, uint64_t total, uint64_t run);

/* A request of a warp of the block, whose index is below 32. */
void smk_footprint_note(smk_footprint *footprint, uint32_t access, smk_access_kind kind, uint32_t warp,
                        const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask);

/* Appends the rows to a list of `count` rows that the caller frees (smk_heap_free); false where memory was or is
 * lacking. */
bool smk_footprint_collect(smk_footprint *footprint, smk_footprint_row **rows, size_t *count);

/* Sorts rows by access and block, and counts addresses from the first line of all: then they depend neither on host
 * threads nor on where the memory of the launch lies. */
void smk_footprint_settle(smk_footprint_row *rows, size_t count);

#endif
