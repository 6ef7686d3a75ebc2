#include "sim/profile/access_counters.h"

enum { SECTOR_BYTES = 32 };

/* Counters of an access: requests, cost, ideal cost, conflicts, bytes requested, bytes moved. */
enum { REQUESTS, COST, IDEAL, CONFLICTS, BYTES, MOVED, MEASURES };
#define NONE SMK_COUNTER_COUNT

static const smk_counter targets[SMK_BANK_OP_COUNT][SMK_ACCESS_COST_MEMORIES][MEASURES] = {
    [SMK_BANK_LOAD] = {{SMK_COUNTER_SHARED_LOAD_INSTRUCTIONS, SMK_COUNTER_SHARED_LOAD_WAVEFRONTS,
                        SMK_COUNTER_SHARED_LOAD_IDEAL, SMK_COUNTER_SHARED_LOAD_CONFLICTS, SMK_COUNTER_SHARED_LOAD_BYTES,
                        NONE},
                       {SMK_COUNTER_GLOBAL_LOAD_REQUESTS, SMK_COUNTER_GLOBAL_LOAD_SECTORS, NONE, NONE,
                        SMK_COUNTER_GLOBAL_LOAD_BYTES, SMK_COUNTER_GLOBAL_LOAD_BYTES_MOVED},
                       {SMK_COUNTER_LOCAL_LOAD_REQUESTS, SMK_COUNTER_LOCAL_LOAD_SECTORS, NONE, NONE, NONE, NONE},
                       {SMK_COUNTER_CONSTANT_LOAD_REQUESTS, SMK_COUNTER_CONSTANT_LOAD_ADDRESSES, NONE, NONE, NONE,
                        NONE}},
    [SMK_BANK_STORE] = {{SMK_COUNTER_SHARED_STORE_INSTRUCTIONS, SMK_COUNTER_SHARED_STORE_WAVEFRONTS,
                         SMK_COUNTER_SHARED_STORE_IDEAL, SMK_COUNTER_SHARED_STORE_CONFLICTS,
                         SMK_COUNTER_SHARED_STORE_BYTES, NONE},
                        {SMK_COUNTER_GLOBAL_STORE_REQUESTS, SMK_COUNTER_GLOBAL_STORE_SECTORS, NONE, NONE,
                         SMK_COUNTER_GLOBAL_STORE_BYTES, SMK_COUNTER_GLOBAL_STORE_BYTES_MOVED},
                        {SMK_COUNTER_LOCAL_STORE_REQUESTS, SMK_COUNTER_LOCAL_STORE_SECTORS, NONE, NONE, NONE, NONE},
                        {NONE, NONE, NONE, NONE, NONE, NONE}},
    [SMK_BANK_ATOMIC] = {{SMK_COUNTER_SHARED_ATOMIC_INSTRUCTIONS, SMK_COUNTER_SHARED_ATOMIC_WAVEFRONTS,
                          SMK_COUNTER_SHARED_ATOMIC_IDEAL, SMK_COUNTER_SHARED_ATOMIC_CONFLICTS,
                          SMK_COUNTER_SHARED_ATOMIC_BYTES, NONE},
                         {SMK_COUNTER_GLOBAL_ATOMIC_REQUESTS, SMK_COUNTER_GLOBAL_ATOMIC_SECTORS, NONE, NONE,
                          SMK_COUNTER_GLOBAL_ATOMIC_BYTES, SMK_COUNTER_GLOBAL_ATOMIC_BYTES_MOVED},
                         {NONE, NONE, NONE, NONE, NONE, NONE},
                         {NONE, NONE, NONE, NONE, NONE, NONE}},
    [SMK_BANK_ASYNC] = {{SMK_COUNTER_ASYNC_COPIES, SMK_COUNTER_ASYNC_WAVEFRONTS, SMK_COUNTER_ASYNC_IDEAL,
                         SMK_COUNTER_ASYNC_CONFLICTS, NONE, NONE},
                        {SMK_COUNTER_ASYNC_REQUESTS, SMK_COUNTER_ASYNC_SECTORS, NONE, NONE, SMK_COUNTER_ASYNC_BYTES,
                         NONE},
                        {NONE, NONE, NONE, NONE, NONE, NONE},
                        {NONE, NONE, NONE, NONE, NONE, NONE}},
};

static void add_total(uint64_t *value, smk_bank_op op, unsigned memory, const smk_access_cost *t)
{
    const uint64_t conflicts = (t->cost - t->ideal) / (op == SMK_BANK_CAS ? 2 : 1);
    const uint64_t measures[MEASURES] = {t->requests, t->cost, t->ideal, conflicts, t->bytes, t->cost * SECTOR_BYTES};
    for (unsigned i = 0; i < MEASURES; i++) {
        smk_counter counter = targets[smk_bank_kind(op)][memory][i];
        if (counter != NONE) {
            value[counter] += measures[i];
        }
    }
}

void smk_access_counters_add(uint64_t value[SMK_COUNTER_COUNT], const smk_access_cost_plan *access,
                             const smk_access_cost *totals)
{
    for (unsigned memory = 0; memory < SMK_ACCESS_COST_MEMORIES; memory++) {
        if (access->cost_index[memory] != SMK_NO_INDEX) {
            add_total(value, (smk_bank_op)access->op, memory, &totals[access->cost_index[memory]]);
        }
    }
    if (access->loads != SMK_NO_INDEX) {
        add_total(value, SMK_BANK_LOAD, SMK_ACCESS_COST_SHARED, &totals[access->loads]);
    }
}
