/* Plans of reduce: a tree of launches, and one launch whose last block finishes. */
#include "registry/plan_persistent.h"

#include <string.h>

enum { ALIGNMENT = 256 };

/* single_pass: 512 threads with four reads of 16 bytes each; blocks of one multiprocessor. */
enum { TILE_BYTES = 512 * 4 * 16, BLOCKS_PER_MULTIPROCESSOR = 4 };

/* The cost of a further launch, as bytes read in the same time (2 us on an H200). */
enum { RELAUNCH_BYTES = 1 << 23 };

/* x, out. */
enum { OPERAND_X, OPERAND_OUT };

static smk_status check_empty(const smk_request *request, smk_error *error)
{
    if (request->dimensions[0] == 0 && strcmp(request->choice, "sum") != 0) {
        return smk_status_fail(error, SMK_ARGUMENT, "reduce: no elements have no %s; give it at least one",
                               request->choice);
    }
    return SMK_OK;
}

/* Bytes of a number of partial results, of any type. */
static int64_t count_bytes(int64_t results)
{
    return (results * SMK_ITEM_BYTES_MAX + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Adds the address that a launch reads or writes. */
static void add_address(smk_step *step, bool is_operand, int64_t operand, int64_t offset)
{
    smk_plan_add(step, is_operand ? SMK_SOURCE_OPERAND : SMK_SOURCE_WORKSPACE, is_operand ? operand : offset);
}

/* The kernel reduces each tile to one result; further launches reduce the results until one is left: (x, out, n).
 * Their input has the type of the results. */
smk_status smk_plan_reduce_tree(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_plan made = {.step_count = 0};
    const int64_t tile = (int64_t)request->variant->tile_x;
    const char *result = smk_registry_result(request->family, request->choice, request->type);
    int64_t left = request->dimensions[0], read_from = 0, write_to = 0;
    smk_dim3 grid, block;
    bool empty = false;
    smk_status status = check_empty(request, error);
    if (status == SMK_OK) {
        status = smk_plan_grid(request->family, request->variant, request->dimensions, &grid, &block, &empty, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    for (bool is_first = true; is_first || left > 1; is_first = false) {
        if (made.step_count == SMK_PLAN_STEPS_MAX) {
            return smk_status_fail(error, SMK_LAUNCH, "reduce: %lld elements are too many for tiles of %lld",
                                   (long long)request->dimensions[0], (long long)tile);
        }
        smk_step *step = &made.step[made.step_count++];
        const int64_t blocks = left > tile ? (left - 1) / tile + 1 : 1;
        step->type = is_first ? NULL : result;
        step->grid = (smk_dim3){(uint32_t)blocks, 1, 1};
        step->block = block;
        add_address(step, is_first, OPERAND_X, read_from);
        add_address(step, blocks == 1, OPERAND_OUT, write_to);
        smk_plan_add(step, SMK_SOURCE_NUMBER, left);
        read_from = write_to;
        write_to += blocks > 1 ? count_bytes(blocks) : 0;
        left = blocks;
    }
    made.workspace_bytes = (uint64_t)write_to;
    if (made.step_count > 1) {
        const double bytes = (double)request->dimensions[0] * (double)request->item_bytes;
        made.efficiency = bytes / (bytes + (double)((made.step_count - 1) * RELAUNCH_BYTES));
    }
    *plan = made;
    return SMK_OK;
}

/* (x, out, n, ticket, words), with a word for each half of a block's result. The kernel leaves all of it 0. */
smk_status smk_plan_reduce_single_pass(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_plan made = {.step_count = 0};
    smk_status status = check_empty(request, error);
    if (status == SMK_OK) {
        status = smk_plan_persistent(request, TILE_BYTES, BLOCKS_PER_MULTIPROCESSOR, &made, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    smk_plan_add(&made.step[0], SMK_SOURCE_WORKSPACE, 0);
    smk_plan_add(&made.step[0], SMK_SOURCE_WORKSPACE, ALIGNMENT);
    made.restores_workspace = true;
    made.workspace_bytes = ALIGNMENT + (uint64_t)count_bytes(2 * (int64_t)made.step[0].grid.x);
    *plan = made;
    return SMK_OK;
}

/* The same; the kernel itself waits for the launches before it. */
smk_status smk_plan_reduce_overlapped(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_plan made;
    smk_status status = smk_plan_reduce_single_pass(request, &made, error);
    if (status == SMK_OK) {
        made.step[0].begins_early = true;
        *plan = made;
    }
    return status;
}
