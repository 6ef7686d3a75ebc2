// scan / single_pass
//
// What     out[i] = OP of x[0] to x[i] (kind 0), or to x[i - 1] (kind 1), in one launch.
// Idea     x is read once and out is written once: a block keeps its tile in registers while it finds out what lies
//          before it. Each block leaves the sum of its tile in global memory, and looks back at what others have left.
//          A chain of all tiles would be slow, so sums go up a tree: 32 tiles make a group, and its last tile leaves
//          the group's sum; 32 groups make a section, and its last tile leaves the sum of all sections so far. Each
//          lane of a warp reads one word, so that a block waits three times at most.
//          The order of all additions is fixed: the same x gives the same bits again, which a look-back that adds what
//          it happens to find does not promise.
//          A sum and the word that it is there travel together, in 64 bits: nothing is fenced off from anything. Tiles
//          are drawn as tickets, so all tiles before this one have begun, and waiting for them ends. A tile counts
//          itself out once it has what it waited for, and who is the last of a group or a section makes its words 0
//          again: the next call finds them as this one did. A word that nobody would read is not left.
//          A few tiles need no tree (small): their threads read the words of all tiles before their own at
//          once, so that a block waits once. These tiles are smaller, so that there are more of them.
// Differs  from scan/shuffle: one launch; packs of 16 bytes, up to 192 bytes of results a thread; who finds out
//          what lies before a tile.
// Claims   shared.load.conflicts = 0
//          shared.store.conflicts = 0
// Length   it is the fast one.
// Source   D. Merrill, M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016

// A tile is 256 threads with so many bytes of results each.
template <int BYTES, bool IS_SMALL>
static __device__ __forceinline__ void scan_single_pass_make(const T *x, A *out, long long n, long long kind,
                                                             unsigned int *tickets, unsigned long long *words)
{
    constexpr int THREADS = 256, WARPS = THREADS / 32, ITEMS = 16 / sizeof(T), HALVES = sizeof(A) / 4,
                  PACKS = BYTES / (ITEMS * sizeof(A));
    constexpr unsigned ALL = 0xffffffff, FAN = 32; // tiles of a group, groups of a section
    union pack {
        uint4 words;
        T item[ITEMS];
    };
    union result {
        uint4 words[sizeof(A) / sizeof(T)];
        A item[ITEMS];
    };
    union number {
        A value;
        unsigned half[HALVES];
    };
    __shared__ A part[WARPS];
    __shared__ A before_tile[IS_SMALL ? WARPS : 1];
    __shared__ unsigned drawn;

    // Who am I: PACKS packs of a tile, from here a row of the warp apart.
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const unsigned tiles = gridDim.x, groups = (tiles + FAN - 1) / FAN;
    if (thread == 0)
        drawn = atomicInc(tickets, tiles - 1); // the last one makes it 0 again
    // All threads read what thread 0 has drawn: it must be done.
    __syncthreads();
    const unsigned tile = drawn, group = tile / FAN, section = group / FAN;
    const long long first = ((long long)tile * (THREADS * PACKS) + warp * (32 * PACKS) + lane) * ITEMS;

    // Read, all of it before the first is used. Of many tiles nothing is read or written twice: the cache need not keep
    // it.
    auto read_pack = [](const uint4 *from) { return IS_SMALL ? *from : __ldcs(from); };
    auto write_pack = [](uint4 *to, uint4 words) {
        if constexpr (IS_SMALL)
            *to = words;
        else
            __stcs(to, words);
    };
    A item[PACKS][ITEMS];
    const bool whole = ((long long)tile + 1) * (THREADS * PACKS * ITEMS) <= n;
    if (whole) {
        pack read[PACKS];
        for (int j = 0; j < PACKS; ++j)
            read[j].words = read_pack(reinterpret_cast<const uint4 *>(x + first + j * 32 * ITEMS));
        for (int j = 0; j < PACKS; ++j)
            for (int k = 0; k < ITEMS; ++k)
                item[j][k] = (A)read[j].item[k];
    } else {
        for (int j = 0; j < PACKS; ++j)
            for (int k = 0; k < ITEMS; ++k)
                item[j][k] = first + j * 32 * ITEMS + k < n ? (A)x[first + j * 32 * ITEMS + k] : NEUTRAL;
    }

    // Compute in registers: each pack, then the packs of a row, then with the rows before it.
    A front[PACKS], sum = NEUTRAL;
    for (int j = 0; j < PACKS; ++j) {
        for (int k = 1; k < ITEMS; ++k)
            item[j][k] = OP(item[j][k - 1], item[j][k]);
        A upto = item[j][ITEMS - 1];
        for (int reach = 1; reach < 32; reach *= 2) {
            const A left = __shfl_up_sync(ALL, upto, reach);
            if (lane >= reach)
                upto = OP(left, upto);
        }
        const A left = __shfl_up_sync(ALL, upto, 1), last = __shfl_sync(ALL, upto, 31);
        front[j] = lane > 0 ? OP(sum, left) : sum;
        sum = OP(sum, last);
    }
    if (lane == 0)
        part[warp] = sum;
    // All warps read what all wrote: all must be done.
    __syncthreads();
    A before_warp = NEUTRAL;
    for (int w = 0; w < warp; ++w)
        before_warp = OP(before_warp, part[w]);

    // The first warp looks back. The words are those of the tiles, then of the groups, then of the sections.
    auto leave = [&](unsigned long long at, A value) {
        const number parts = {value};
        for (int h = 0; h < HALVES; ++h)
            __nv_atomic_store_n(&words[at * HALVES + h], 1ull << 32 | parts.half[h], __NV_ATOMIC_RELAXED,
                                __NV_THREAD_SCOPE_DEVICE);
    };
    auto clear = [&](unsigned long long at) {
        for (int h = 0; h < HALVES; ++h)
            __nv_atomic_store_n(&words[at * HALVES + h], 0ull, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    };
    auto read_word = [&](unsigned long long at) {
        number found;
        for (int h = 0; h < HALVES; ++h) {
            unsigned long long word;
            do
                word = __nv_atomic_load_n(&words[at * HALVES + h], __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
            while (word == 0);
            found.half[h] = (unsigned)word;
        }
        return found.value;
    };
    auto combine = [&](A mine) { // of all lanes, in the order of a tree
        for (int reach = 16; reach > 0; reach /= 2)
            mine = OP(mine, __shfl_xor_sync(ALL, mine, reach));
        return mine;
    };
    if constexpr (IS_SMALL) {
        A all = before_warp;
        for (int w = warp; w < WARPS; ++w)
            all = OP(all, part[w]);
        if (thread == 0 && tile + 1 < tiles)
            leave(tile, all);
        A mine = NEUTRAL;
        for (unsigned i = thread; i < tile; i += THREADS)
            mine = OP(mine, read_word(i));
        mine = combine(mine);
        if (lane == 0)
            before_tile[warp] = mine;
    } else if (warp == 0 && tiles > 1) {
        A all = NEUTRAL;
        for (int w = 0; w < WARPS; ++w)
            all = OP(all, part[w]);
        const bool leaves = lane == 0 && tile + 1 < tiles;
        const bool ends_group = tile % FAN == FAN - 1, ends_section = ends_group && group % FAN == FAN - 1;
        if (leaves && !ends_group)
            leave(tile, all);
        const A in_group = combine(lane < tile % FAN ? read_word(tile - tile % FAN + lane) : NEUTRAL);
        if (leaves && ends_group && !ends_section)
            leave(tiles + group, OP(in_group, all));
        const A in_section = combine(lane < group % FAN ? read_word(tiles + group - group % FAN + lane) : NEUTRAL);
        A before = OP(in_section, in_group);
        if (section > 0)
            before = OP(read_word(tiles + groups + section - 1), before);
        if (leaves && ends_section)
            leave(tiles + groups + section, OP(before, all));
        if (lane == 0)
            before_tile[0] = before;
    } else if (thread == 0) {
        before_tile[0] = NEUTRAL;
    }
    // All warps read what was found before the tile: all must be done.
    __syncthreads();

    // Count the tile out. It has read its words, so nobody can clear them too early.
    const unsigned tiles_here = IS_SMALL ? tiles : min(FAN, tiles - group * FAN);
    const unsigned groups_here = min(FAN, groups - section * FAN);
    unsigned out_of_group = 0;
    if (thread == 0 && tiles > 1)
        out_of_group = atomicInc(&tickets[IS_SMALL ? 1 : 1 + group], tiles_here - 1);

    // Write.
    A before = before_tile[0];
    for (int w = 1; IS_SMALL && w < WARPS; ++w)
        before = OP(before, before_tile[w]);
    before = OP(before, before_warp);
    for (int j = 0; j < PACKS; ++j) {
        result made;
        const A here = OP(before, front[j]);
        for (int k = 0; k < ITEMS; ++k)
            made.item[k] = OP(here, kind == 0 ? item[j][k] : k > 0 ? item[j][k - 1] : NEUTRAL);
        A *to = out + first + j * 32 * ITEMS;
        if (whole) {
            for (int k = 0; k < sizeof(A) / sizeof(T); ++k)
                write_pack(reinterpret_cast<uint4 *>(to) + k, made.words[k]);
        } else {
            for (int k = 0; k < ITEMS; ++k)
                if (first + j * 32 * ITEMS + k < n)
                    to[k] = made.item[k];
        }
    }

    // Who was the last of a group makes the words of its tiles 0; of a section, those of its groups, and that of the
    // section before it.
    if (warp == 0 && __shfl_sync(ALL, out_of_group, 0) == tiles_here - 1 && tiles > 1) {
        for (unsigned i = lane; IS_SMALL && i + 1 < tiles; i += 32)
            clear(i);
        if constexpr (IS_SMALL)
            return;
        unsigned out_of_section = 0;
        if (lane < tiles_here)
            clear(group * FAN + lane);
        if (lane == 0)
            out_of_section = atomicInc(&tickets[1 + groups + section], groups_here - 1);
        if (__shfl_sync(ALL, out_of_section, 0) == groups_here - 1) {
            if (lane < groups_here)
                clear(tiles + section * FAN + lane);
            if (lane == 0 && section > 0)
                clear(tiles + groups + section - 1);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, 3)
    scan_single_pass_small(const T *x, A *out, long long n, long long kind, unsigned int *tickets,
                           unsigned long long *words)
{
    scan_single_pass_make<128, true>(x, out, n, kind, tickets, words);
}

// As many results as the registers hold.
extern "C" __global__ void __launch_bounds__(256, 3)
    scan_single_pass(const T *x, A *out, long long n, long long kind, unsigned int *tickets, unsigned long long *words)
{
    scan_single_pass_make<sizeof(A) == 4 ? 192 : 128, false>(x, out, n, kind, tickets, words);
}
