/* Sectors of global memory: 32 aligned bytes, the unit that the L1 cache moves. */
#ifndef SMK_SIM_COST_SECTOR_H
#define SMK_SIM_COST_SECTOR_H

#include "base/launch.h"

#include <stdint.h>

/* The number of sectors that a warp-wide access of `bytes` (1 to 16) touches. */
uint32_t smk_sector_count(const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask);

#endif
