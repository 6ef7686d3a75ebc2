"""Faults that were once planted by hand and that no test saw.

(what, file, text in one line of it, what stands there instead). mutate_c.py --named plants them.
"""

NAMED = [
    (
        "a use of cp.async data by others is unchecked once it has landed",
        "race.c",
        "bool copied = pending || line->issue_time[i] >= race->order.begin;",
        "bool copied = pending;",
    ),
    (
        "a use of cp.async data is unchecked",
        "race.c",
        "bool copied = pending || line->issue_time[i] >= race->order.begin;",
        "bool copied = false;",
    ),
    (
        "the bound of accesses one too large, whole warps",
        "access_body.h",
        "uint64_t last = to->limit - total, odd = total - 1;",
        "uint64_t last = to->limit - total + 1, odd = total - 1;",
    ),
    (
        "the bound of accesses one too large, lane by lane",
        "access.c",
        "address <= limit && bytes <= limit - address;",
        "address <= limit && bytes <= limit - address + 1;",
    ),
    (
        "the bound of atomics in shared memory one too large",
        "atomic.c",
        "control->shared_bytes - address >= bytes &&",
        "control->shared_bytes - address + 1 >= bytes &&",
    ),
    (
        "the bound of atomics in global memory one too large",
        "atomic.c",
        "cached->bytes - offset >= bytes && (address & (bytes - 1)) == 0) {",
        "cached->bytes - offset + 1 >= bytes && (address & (bytes - 1)) == 0) {",
    ),
    (
        "a written range one too long",
        "memory.c",
        "uint64_t whole = (offset + bytes - i) / 8;",
        "uint64_t whole = (offset + bytes - i) / 8 + 1;",
    ),
    (
        "the race record of a weak access",
        "race_note.c",
        "if (strength_of(access->flags) > strength_of(",
        "if (strength_of(access->flags) > 99 + strength_of(",
    ),
    (
        "a shadow spread one too far",
        "shadow.c",
        "bool in = k >= from && k < to;",
        "bool in = k >= from && k <= to;",
    ),
    (
        "voters of a barrier reduction counted as 32",
        "barrier.c",
        "at->voters += smk_bits_count(mask);",
        "at->voters += SMK_WARP_SIZE;",
    ),
    (
        "bar.warp.sync counts exited lanes",
        "park.c",
        "(parked->members & control->live & ~find_matching_lanes(warp, parked)) != 0",
        "(parked->members & ~find_matching_lanes(warp, parked)) != 0",
    ),
    (
        "a shuffle by a lane outside its own mask",
        "warp_exchange.c",
        "wrong |= ((mask & elsewhere) | (~mask & bit)) & smk_bits_spread(executing, lane);",
        "wrong |= (mask & elsewhere) & smk_bits_spread(executing, lane);",
    ),
    (
        "no flush of subnormals in a lone float atomic",
        "atomic.c",
        "return update_alone(host, bytes, op, b, c, !shared);",
        "return update_alone(host, bytes, op, b, c, false);",
    ),
    (
        "the bank shortcut for rows taken for atomics",
        "bank.c",
        "if (mask == UINT32_MAX && !(layout.counts_lanes && bytes < 4)) {",
        "if (mask == UINT32_MAX) {",
    ),
    (
        "the host's rounding mode not restored after a launch",
        "grid.c",
        "(void)fesetenv(&before);",
        "(void)before;",
    ),
]
