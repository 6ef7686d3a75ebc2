#include "registry/occupancy.h"

#include <stdlib.h>

/* The lowest compute capability that kernels are built for. */
enum { BUILT_MAJOR = 7, BUILT_MINOR = 5 };

static const smk_limits table[] = {
#define SMK_LIMITS(major_, minor_, threads, blocks, barriers, registers_sm_k, registers_block_k, registers_thread_,    \
                   partitions_, shared_sm_kb, shared_optin_kb, reserved_kb, unit, carveouts, source_)                  \
    {                                                                                                                  \
        .major = major_,                                                                                               \
        .minor = minor_,                                                                                               \
        .threads_sm = threads,                                                                                         \
        .warps_sm = (threads) / SMK_WARP_SIZE,                                                                         \
        .blocks_sm = blocks,                                                                                           \
        .barriers_sm = barriers,                                                                                       \
        .registers_sm = (registers_sm_k)*1024,                                                                         \
        .registers_block = (registers_block_k)*1024,                                                                   \
        .registers_thread = registers_thread_,                                                                         \
        .partitions = partitions_,                                                                                     \
        .shared_sm = (shared_sm_kb)*1024,                                                                              \
        .shared_optin = (shared_optin_kb)*1024,                                                                        \
        .shared_reserved = (reserved_kb)*1024,                                                                         \
        .shared_unit = unit,                                                                                           \
        .carveouts_kb = carveouts,                                                                                     \
        .source = source_,                                                                                             \
    },
#include "registry/limits.def"
#undef SMK_LIMITS
};

size_t smk_occupancy_limits_count(void)
{
    return sizeof table / sizeof table[0];
}

const smk_limits *smk_occupancy_limits(size_t index)
{
    return &table[index];
}

const smk_limits *smk_occupancy_find(int major, int minor)
{
    for (size_t i = 0; i < smk_occupancy_limits_count(); i++) {
        if (table[i].major == major && table[i].minor == minor) {
            return &table[i];
        }
    }
    return NULL;
}

bool smk_occupancy_has_kernels(const smk_limits *limits)
{
    return limits->major > BUILT_MAJOR || (limits->major == BUILT_MAJOR && limits->minor >= BUILT_MINOR);
}

const char *smk_occupancy_limit_name(smk_occupancy_limit limit)
{
    static const char *const names[SMK_OCCUPANCY_LIMIT_COUNT] = {
        [SMK_OCCUPANCY_THREADS] = "threads",     [SMK_OCCUPANCY_BLOCKS] = "blocks",
        [SMK_OCCUPANCY_REGISTERS] = "registers", [SMK_OCCUPANCY_SHARED_MEMORY] = "shared_memory",
        [SMK_OCCUPANCY_BARRIERS] = "barriers",
    };
    return limit >= 0 && limit < SMK_OCCUPANCY_LIMIT_COUNT ? names[limit] : "?";
}

/* Does not overflow: all inputs are below 2^40. */
static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint32_t limit_by_threads(const smk_limits *limits, const smk_block_use *use, uint32_t warps)
{
    bool too_many =
        use->threads > SMK_OCCUPANCY_BLOCK_THREADS_MAX || (use->threads_max != 0 && use->threads > use->threads_max);
    return too_many ? 0 : limits->warps_sm / warps;
}

static uint32_t limit_by_barriers(const smk_limits *limits, const smk_block_use *use)
{
    return limits->barriers_sm == 0 || use->barriers == 0 ? SMK_OCCUPANCY_NONE : limits->barriers_sm / use->barriers;
}

/* A warp takes its registers from one partition, so each partition is filled separately. A block is refused if it
 * would not fit with its warps distributed evenly over the partitions. */
static uint32_t limit_by_registers(const smk_limits *limits, uint32_t registers, uint32_t warps, uint32_t partitions,
                                   uint64_t warp_registers)
{
    if (registers > limits->registers_thread ||
        warp_registers * round_up(warps, partitions) > (uint64_t)limits->registers_block) {
        return 0;
    }
    if (registers == 0) {
        return SMK_OCCUPANCY_NONE;
    }
    uint64_t resident = limits->registers_sm / limits->partitions / warp_registers * limits->partitions;
    return (uint32_t)(resident / warps);
}

/* The number of blocks that shared memory admits, with `given` bytes for each. */
static uint32_t limit_by_shared_memory(const smk_limits *limits, const smk_block_use *use, uint64_t given)
{
    /* compared one by one first, so that the sum cannot overflow */
    if (use->shared_static > limits->shared_optin || use->shared_dynamic > limits->shared_optin ||
        use->shared_static + use->shared_dynamic > limits->shared_optin) {
        return 0;
    }
    return given == 0 ? SMK_OCCUPANCY_NONE : (uint32_t)(limits->shared_sm / given);
}

static uint64_t give_shared_memory(const smk_limits *limits, const smk_block_use *use)
{
    const uint64_t most = UINT64_MAX / 4;
    uint64_t fixed = use->shared_static < most ? use->shared_static : most;
    uint64_t dynamic = use->shared_dynamic < most ? use->shared_dynamic : most;
    return round_up(fixed + dynamic + limits->shared_reserved, limits->shared_unit);
}

/* The further bytes that a block may request while `blocks` of them stay resident. */
static uint64_t find_spare(const smk_limits *limits, const smk_block_use *use, uint32_t blocks)
{
    if (blocks == 0) {
        return 0;
    }
    uint64_t share = limits->shared_sm / blocks / limits->shared_unit * limits->shared_unit;
    uint64_t most = share > limits->shared_reserved ? share - limits->shared_reserved : 0;
    most = most < limits->shared_optin ? most : limits->shared_optin;
    uint64_t used = use->shared_static + use->shared_dynamic;
    return most > used ? most - used : 0;
}

static uint64_t find_carveout(const smk_limits *limits, uint64_t needed)
{
    const char *word = limits->carveouts_kb;
    char *end = NULL;
    while (*word != '\0') {
        uint64_t bytes = (uint64_t)strtoul(word, &end, 10) * 1024;
        if (end == word || bytes >= needed) {
            return bytes;
        }
        word = end;
    }
    return limits->shared_sm;
}

smk_status smk_occupancy_count(const smk_limits *limits, const smk_block_use *use, smk_occupancy *result,
                               smk_error *error)
{
    if (use->threads == 0) {
        return smk_status_fail(error, SMK_ARGUMENT, "a block of 0 threads; 1 or more are needed");
    }
    smk_occupancy found = {0};
    const uint32_t warps = use->threads / SMK_WARP_SIZE + (use->threads % SMK_WARP_SIZE != 0);
    const uint64_t warp_registers = round_up((uint64_t)use->registers * SMK_WARP_SIZE, SMK_OCCUPANCY_REGISTER_UNIT);
    found.registers_block = warp_registers * warps;
    found.shared_block = give_shared_memory(limits, use);
    found.limit[SMK_OCCUPANCY_THREADS] = limit_by_threads(limits, use, warps);
    found.limit[SMK_OCCUPANCY_BLOCKS] = limits->blocks_sm;
    /* CUDA refuses on 6.0, whose register file has 2 partitions, what its relatives with 4 cannot run */
    const uint32_t partitions = limits->major == 6 ? 4 : limits->partitions;
    found.limit[SMK_OCCUPANCY_REGISTERS] =
        limit_by_registers(limits, use->registers, warps, partitions, warp_registers);
    found.limit[SMK_OCCUPANCY_SHARED_MEMORY] = limit_by_shared_memory(limits, use, found.shared_block);
    found.limit[SMK_OCCUPANCY_BARRIERS] = limit_by_barriers(limits, use);
    found.blocks = SMK_OCCUPANCY_NONE;
    for (int i = 0; i < SMK_OCCUPANCY_LIMIT_COUNT; i++) {
        found.blocks = found.limit[i] < found.blocks ? found.limit[i] : found.blocks;
    }
    for (int i = 0; i < SMK_OCCUPANCY_LIMIT_COUNT; i++) {
        found.limited_by |= found.limit[i] == found.blocks ? 1U << i : 0;
    }
    found.warps = found.blocks * warps;
    found.threads = found.blocks * use->threads;
    found.shared_spare = find_spare(limits, use, found.blocks);
    found.carveout = find_carveout(limits, found.shared_block * found.blocks);
    *result = found;
    return SMK_OK;
}

uint32_t smk_occupancy_next_block(uint32_t threads, uint32_t threads_max)
{
    uint32_t top = threads_max != 0 && threads_max < SMK_OCCUPANCY_BLOCK_THREADS_MAX ? threads_max
                                                                                     : SMK_OCCUPANCY_BLOCK_THREADS_MAX;
    if (threads == 0) {
        return top;
    }
    return (threads - 1) / SMK_WARP_SIZE * SMK_WARP_SIZE;
}
