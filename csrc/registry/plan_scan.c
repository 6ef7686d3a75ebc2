/* Plans of scan: sums of tiles, of tiles of sums ... and back, and one launch whose blocks look back. */
#include "registry/plan_persistent.h"

#include <string.h>

enum { ALIGNMENT = 256 };

/* single_pass: 256 threads with 192 bytes of results each, or 128 where a result has 8; a group of 32 tiles, a section of
 * 32 groups. */
enum { TILE_BYTES = 256 * 192, TILE_BYTES_WIDE = 256 * 128, FAN = 32 };

/* Its part `small` has tiles of 128 bytes a thread, up to as many as a multiprocessor runs at a time. */
enum { TILE_BYTES_SMALL = 256 * 128, TILES_SMALL = 3 };

/* The bytes that an H200 reads and writes while one more launch begins. */
enum { RELAUNCH_BYTES = 1 << 23 };

/* x, out. */
enum { OPERAND_X, OPERAND_OUT };

/* The words of `kind`, in the order of attributes.def. */
enum { KIND_INCLUSIVE, KIND_EXCLUSIVE };

static int64_t align(int64_t bytes)
{
    return smk_plan_divide_up(bytes, ALIGNMENT) * ALIGNMENT;
}

/* The sums of tiles, of tiles of these sums, and so on: how many there are of each, and where they lie. */
typedef struct levels {
    int64_t count[SMK_PLAN_STEPS_MAX], offset[SMK_PLAN_STEPS_MAX];
    size_t used; /* level 0 is x itself */
    int64_t bytes;
} levels;

static smk_status make_levels(const smk_request *request, levels *made, smk_error *error)
{
    const int64_t tile = (int64_t)request->variant->tile_x;
    made->count[0] = request->dimensions[0];
    made->used = 1;
    made->bytes = 0;
    while (made->count[made->used - 1] > tile) {
        if (2 * made->used + 1 > SMK_PLAN_STEPS_MAX) {
            return smk_status_fail(error, SMK_LAUNCH, "scan: %lld elements are too many for tiles of %lld",
                                   (long long)request->dimensions[0], (long long)tile);
        }
        made->count[made->used] = smk_plan_divide_up(made->count[made->used - 1], tile);
        made->offset[made->used] = made->bytes;
        made->bytes += align(made->count[made->used] * SMK_ITEM_BYTES_MAX);
        made->used++;
    }
    return SMK_OK;
}

static void add_level(const levels *all, smk_step *step, size_t level, int64_t operand)
{
    smk_plan_add(step, level == 0 ? SMK_SOURCE_OPERAND : SMK_SOURCE_WORKSPACE,
                 level == 0 ? operand : all->offset[level]);
}

/* (x, out, n, kind, sums): the kernel makes the sums of a level's tiles where out is null, else the level's results,
 * in the place of its input above level 0. */
static void add_step(const smk_request *request, const levels *all, smk_dim3 block, size_t level, bool makes_sums,
                     smk_plan *plan)
{
    smk_step *step = &plan->step[plan->step_count++];
    step->type = level == 0 ? NULL : smk_registry_result(request->family, request->choice, request->type);
    step->grid = (smk_dim3){(uint32_t)smk_plan_divide_up(all->count[level], (int64_t)request->variant->tile_x), 1, 1};
    step->block = block;
    add_level(all, step, level, OPERAND_X);
    if (makes_sums) {
        smk_plan_add(step, SMK_SOURCE_NUMBER, 0);
    } else {
        add_level(all, step, level, OPERAND_OUT);
    }
    smk_plan_add(step, SMK_SOURCE_NUMBER, all->count[level]);
    smk_plan_add(step, SMK_SOURCE_NUMBER,
                 makes_sums   ? KIND_INCLUSIVE
                 : level == 0 ? request->numbers[0]
                              : KIND_EXCLUSIVE);
    if (level + 1 < all->used) {
        add_level(all, step, level + 1, OPERAND_OUT);
    } else {
        smk_plan_add(step, SMK_SOURCE_NUMBER, 0);
    }
}

/* Up: the sums of each level's tiles are the next level. Down: what lies before a tile is the result of the level above
 * it. x is read twice. */
smk_status smk_plan_scan_levels(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_plan made = {.step_count = 0};
    levels all;
    smk_dim3 grid, block;
    bool empty = false;
    smk_status status =
        smk_plan_grid(request->family, request->variant, request->dimensions, &grid, &block, &empty, error);
    if (status == SMK_OK) {
        status = make_levels(request, &all, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    for (size_t level = 0; !empty && level + 1 < all.used; level++) {
        add_step(request, &all, block, level, true, &made);
    }
    for (size_t level = all.used; !empty && level > 0; level--) {
        add_step(request, &all, block, level - 1, false, &made);
    }
    made.workspace_bytes = (uint64_t)all.bytes;
    if (made.step_count > 1) {
        const double bytes = 2.0 * (double)request->dimensions[0] * (double)request->item_bytes;
        made.efficiency = bytes / (bytes + (double)(made.step_count - 1) * RELAUNCH_BYTES);
    }
    *plan = made;
    return SMK_OK;
}

/* (x, out, n, kind, tickets, words): a ticket for the tiles, for each group and for each section; a word for each half
 * of the sums of tiles, groups and sections. The kernel leaves all of it 0. */
smk_status smk_plan_scan_single_pass(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_plan made = {.step_count = 0};
    smk_request results = *request;
    const char *type = smk_registry_result(request->family, request->choice, request->type);
    results.item_bytes = strcmp(type, "int64") == 0 ? sizeof(int64_t) : request->item_bytes; /* sums of int32 too */
    const int64_t result_bytes = (int64_t)results.item_bytes, count = request->machine->multiprocessors;
    const int64_t tile_bytes = result_bytes == 8 ? TILE_BYTES_WIDE : TILE_BYTES;
    const bool is_small = request->dimensions[0] <= TILES_SMALL * count * (TILE_BYTES_SMALL / result_bytes);
    smk_status status = smk_plan_persistent(&results, is_small ? TILE_BYTES_SMALL : tile_bytes, 0, &made, error);
    if (status != SMK_OK || made.step_count == 0) {
        *plan = made;
        return status;
    }
    made.step[0].part = is_small ? "small" : NULL;
    const int64_t tiles = (int64_t)made.step[0].grid.x;
    const int64_t groups = smk_plan_divide_up(tiles, FAN), sections = smk_plan_divide_up(groups, FAN);
    const int64_t tickets = align((1 + groups + sections) * (int64_t)sizeof(uint32_t));
    smk_plan_add(&made.step[0], SMK_SOURCE_WORKSPACE, 0);
    smk_plan_add(&made.step[0], SMK_SOURCE_WORKSPACE, tickets);
    made.restores_workspace = true;
    made.workspace_bytes = (uint64_t)(tickets + align(2 * (tiles + groups + sections) * (int64_t)sizeof(uint64_t)));
    *plan = made;
    return SMK_OK;
}
