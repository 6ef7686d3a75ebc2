#include "sim/exec/warp.h"

#include "base/heap.h"
#include "sim/exec/block.h"
#include "sim/exec/independent.h"
#include "sim/exec/park.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FRESH_BYTE = 0xA5, LOCAL_STEP = 256, STACK_STEP = 16384 };

void smk_warp_advance(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    const smk_operation *op = control->pc;
    while (op != NULL) {
        op = op->run(warp, op);
    }
}

void smk_warp_run(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    control->turn_begin = control->steps;
    control->turn_end = control->steps + SMK_WARP_SLICE_STEPS;
    do {
        control->slice_end = control->watch_at < control->turn_end ? control->watch_at : control->turn_end;
        smk_warp_advance(warp);
    } while (control->state == SMK_WARP_READY && control->steps >= control->watch_at && smk_independent_look(warp));
}

/* The value of a special register in a lane. */
static uint64_t special_value(const smk_warp_control *control, smk_special special, uint32_t lane)
{
    const smk_block *block = control->block;
    const smk_run *run = block->run;
    const smk_dim3 *grid = &run->launch->grid, *size = &run->launch->block;
    uint32_t thread = control->index * SMK_WARP_SIZE + lane;
    uint32_t bit = UINT32_C(1) << lane;
    switch (special) {
    case SMK_SPECIAL_TID_X:
        return thread % size->x;
    case SMK_SPECIAL_TID_Y:
        return thread / size->x % size->y;
    case SMK_SPECIAL_TID_Z:
        return thread / size->x / size->y;
    case SMK_SPECIAL_NTID_X:
        return size->x;
    case SMK_SPECIAL_NTID_Y:
        return size->y;
    case SMK_SPECIAL_NTID_Z:
        return size->z;
    case SMK_SPECIAL_CTAID_X:
    case SMK_SPECIAL_CLUSTERID_X: /* each block is a cluster of its own */
        return block->index[0];
    case SMK_SPECIAL_CTAID_Y:
    case SMK_SPECIAL_CLUSTERID_Y:
        return block->index[1];
    case SMK_SPECIAL_CTAID_Z:
    case SMK_SPECIAL_CLUSTERID_Z:
        return block->index[2];
    case SMK_SPECIAL_NCTAID_X:
    case SMK_SPECIAL_NCLUSTERID_X:
        return grid->x;
    case SMK_SPECIAL_NCTAID_Y:
    case SMK_SPECIAL_NCLUSTERID_Y:
        return grid->y;
    case SMK_SPECIAL_NCTAID_Z:
    case SMK_SPECIAL_NCLUSTERID_Z:
        return grid->z;
    case SMK_SPECIAL_LANEID:
        return lane;
    case SMK_SPECIAL_WARPID:
        return control->index;
    case SMK_SPECIAL_NWARPID:
        return SMK_SIM_BLOCK_THREADS_MAX / SMK_WARP_SIZE;
    case SMK_SPECIAL_CLUSTER_CTAID_X:
    case SMK_SPECIAL_CLUSTER_CTAID_Y:
    case SMK_SPECIAL_CLUSTER_CTAID_Z:
    case SMK_SPECIAL_CLUSTER_CTARANK:
    case SMK_SPECIAL_SMID:
        return 0;
    case SMK_SPECIAL_CLUSTER_NCTAID_X:
    case SMK_SPECIAL_CLUSTER_NCTAID_Y:
    case SMK_SPECIAL_CLUSTER_NCTAID_Z:
    case SMK_SPECIAL_CLUSTER_NCTARANK:
    case SMK_SPECIAL_NSMID:
        return 1;
    case SMK_SPECIAL_GRIDID:
        return run->grid_id;
    case SMK_SPECIAL_LANEMASK_EQ:
        return bit;
    case SMK_SPECIAL_LANEMASK_LT:
        return bit - 1;
    case SMK_SPECIAL_LANEMASK_LE:
        return bit | (bit - 1);
    case SMK_SPECIAL_LANEMASK_GT:
        return UINT32_MAX & ~(bit | (bit - 1));
    case SMK_SPECIAL_LANEMASK_GE:
        return UINT32_MAX & ~(bit - 1);
    case SMK_SPECIAL_DYNAMIC_SMEM_SIZE:
        return run->dynamic_bytes;
    case SMK_SPECIAL_TOTAL_SMEM_SIZE:
    case SMK_SPECIAL_AGGR_SMEM_SIZE:
        return run->shared_bytes;
    case SMK_SPECIAL_ENVREG1: /* where the blocks of a cooperative launch wait for each other: high and low half */
        return run->grid_barrier >> 32;
    case SMK_SPECIAL_ENVREG2:
        return (uint32_t)run->grid_barrier;
    case SMK_SPECIAL_CLOCK: /* their values come from smk_control_clock */
    case SMK_SPECIAL_CLOCK_HI:
    case SMK_SPECIAL_CLOCK64:
    case SMK_SPECIAL_GLOBALTIMER:
    case SMK_SPECIAL_GLOBALTIMER_LO:
    case SMK_SPECIAL_GLOBALTIMER_HI:
    case SMK_SPECIAL_COUNT:
        break;
    }
    return 0;
}

static bool differs_by_lane(smk_special special)
{
    switch ((int)special) {
    case SMK_SPECIAL_TID_X:
    case SMK_SPECIAL_TID_Y:
    case SMK_SPECIAL_TID_Z:
    case SMK_SPECIAL_LANEID:
    case SMK_SPECIAL_LANEMASK_EQ:
    case SMK_SPECIAL_LANEMASK_LT:
    case SMK_SPECIAL_LANEMASK_LE:
    case SMK_SPECIAL_LANEMASK_GT:
    case SMK_SPECIAL_LANEMASK_GE:
        return true;
    default: /* the others are one value for the warp */
        return false;
    }
}

static void fill_special(smk_warp *warp, const smk_special_row *row)
{
    const bool wide = smk_module_special_bits(row->special) == 64;
    uint32_t *to = SMK_ROW(uint32_t, warp, row->offset);
    uint64_t *to_wide = SMK_ROW(uint64_t, warp, row->offset);
    if (!differs_by_lane(row->special)) { /* most of them, and at the start of every block */
        const uint64_t value = special_value(warp->control, row->special, 0);
        for (uint32_t lane = 0; lane < SMK_WARP_SIZE && !wide; lane++) {
            to[lane] = (uint32_t)value;
        }
        for (uint32_t lane = 0; lane < SMK_WARP_SIZE && wide; lane++) {
            to_wide[lane] = value;
        }
        return;
    }
    for (uint32_t lane = 0; lane < SMK_WARP_SIZE; lane++) {
        const uint64_t value = special_value(warp->control, row->special, lane);
        if (wide) {
            to_wide[lane] = value;
        } else {
            to[lane] = (uint32_t)value;
        }
    }
}

static bool differs_by_block(smk_special special)
{
    switch ((int)special) {
    case SMK_SPECIAL_CTAID_X:
    case SMK_SPECIAL_CTAID_Y:
    case SMK_SPECIAL_CTAID_Z:
    case SMK_SPECIAL_CLUSTERID_X:
    case SMK_SPECIAL_CLUSTERID_Y:
    case SMK_SPECIAL_CLUSTERID_Z:
        return true;
    default: /* the others are the same in all blocks */
        return false;
    }
}

/* Fills the rows of a new frame: constants and special registers, unless an earlier call has left them, and zeros for
 * rows that may be read before they are written. */
static void fill_frame(smk_warp *warp, const smk_code *code, bool filled, bool new_block)
{
    unsigned char *registers = warp->registers;
    if (!filled) {
        memcpy(registers + code->constant_rows_offset, code->constant_rows,
               code->frame_bytes - code->constant_rows_offset);
    }
    for (uint32_t i = 0; i < code->special_count; i++) {
        if (!filled || (new_block && differs_by_block(code->special[i].special))) {
            fill_special(warp, &code->special[i]);
        }
    }
    for (uint32_t i = 0; i < code->cleared_count; i++) {
        memset(registers + code->cleared[i].offset, 0, code->cleared[i].bytes);
    }
}

/* True where the rows of the present level hold the constants of `code` already; records that they will. */
static bool note_level(smk_warp_control *control, const smk_code *code)
{
    smk_level *level = &control->level[control->frame_count];
    if (control->frame_count < control->level_count && level->code == code &&
        level->offset == control->registers_offset) {
        return true;
    }
    *level = (smk_level){code, control->registers_offset};
    control->level_count = control->frame_count + 1;
    return false;
}

void smk_warp_start(smk_warp *warp, const smk_code *code)
{
    smk_warp_control *control = warp->control;
    warp->registers = control->entry_registers;
    warp->active = control->lanes;
    warp->carry = 0;
    control->state = SMK_WARP_READY;
    control->pc = code->operation;
    control->reconvergence = NULL;
    control->code = code;
    control->live = control->lanes;
    control->since = 0;
    control->steps = 0;
    control->wait_loop = UINT64_MAX;
    control->depth = 0;
    control->base = 0;
    smk_park_clear(control);
    control->park_count = 0;
    smk_independent_start(control);
    control->frame_count = 0;
    control->level_count = 0;
    control->registers_offset = 0;
    control->pending_count = 0;
    if (control->grouped) {
        memset(control->group, 0, sizeof control->group);
        control->grouped = false;
    }
    if (control->local != NULL) {
        memset(control->local, FRESH_BYTE, (size_t)control->local_used * SMK_WARP_SIZE);
    }
    control->local_base = 0;
    control->local_top = code->local_bytes;
    control->local_used = code->local_bytes;
    fill_frame(warp, code, control->entry_filled, true);
    control->entry_filled = true;
}

void smk_warp_free(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    smk_heap_free(control->frame);
    smk_heap_free(control->level);
    smk_heap_free(control->callee_frames);
    smk_heap_free(control->local);
    smk_heap_free(control->pending);
    smk_park_clear(control);
    smk_heap_free(control->parked);
}

smk_status smk_warp_reserve_local(smk_warp *warp, uint32_t bytes, smk_error *error)
{
    smk_warp_control *control = warp->control;
    if (bytes <= control->local_capacity) {
        return SMK_OK;
    }
    uint32_t capacity = bytes + (control->local_capacity == 0 ? 0 : control->local_capacity);
    capacity = (capacity + LOCAL_STEP - 1) / LOCAL_STEP * LOCAL_STEP;
    size_t old_bytes = (size_t)control->local_capacity * SMK_WARP_SIZE, new_bytes = (size_t)capacity * SMK_WARP_SIZE;
    unsigned char *grown = smk_heap_resize(control->local, old_bytes, new_bytes);
    if (grown == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for %u bytes of local memory a thread", capacity);
    }
    memset(grown + old_bytes, FRESH_BYTE, new_bytes - old_bytes);
    control->local = grown;
    control->local_capacity = capacity;
    return SMK_OK;
}

const smk_operation *smk_warp_yield(smk_warp *warp, const smk_operation *op, const smk_operation *next)
{
    smk_warp_control *control = warp->control;
    smk_warp_count(control, op, next);
    control->pc = next;
    control->turn_end = control->steps;
    return NULL;
}

const smk_operation *smk_warp_diverge(smk_warp *warp, const smk_operation *op, uint32_t taken,
                                      const smk_operation *target, const smk_operation *other,
                                      const smk_operation *reconvergence)
{
    smk_warp_control *control = warp->control;
    if (control->depth + 2 > SMK_WARP_SIMT_STACK_MAX) {
        return smk_warp_fail(warp, op, taken, SMK_INTERNAL, "the SIMT stack of the warp is full");
    }
    uint32_t rest = warp->active & ~taken;
    if (control->reconvergence != reconvergence) {
        if (reconvergence != NULL) {
            control->simt_stack[control->depth++] =
                (smk_simt_entry){reconvergence, control->reconvergence, warp->active};
        }
        control->reconvergence = reconvergence;
    }
    /* lanes at the reconvergence point just wait there */
    if (other == reconvergence) {
        warp->active = taken;
        return target;
    }
    if (target != reconvergence) {
        control->simt_stack[control->depth++] = (smk_simt_entry){target, reconvergence, taken};
    }
    warp->active = rest;
    return other;
}

static const smk_operation *finish(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    control->state = SMK_WARP_DONE;
    control->pending_count = 0;
    warp->active = 0;
    smk_block_leave(control->block, control->index);
    return NULL;
}

/* A word of local memory, of all lanes. */
static uint32_t *local_word(const smk_warp_control *control, uint32_t offset)
{
    return (uint32_t *)(void *)(control->local + (size_t)offset * SMK_WARP_SIZE);
}

static uint64_t read_row(const unsigned char *row, uint32_t bits, uint32_t lane)
{
    switch (bits) {
    case 1:
        return *(const uint32_t *)(const void *)row >> lane & 1;
    case 16:
        return ((const uint16_t *)(const void *)row)[lane];
    case 32:
        return ((const uint32_t *)(const void *)row)[lane];
    default:
        return ((const uint64_t *)(const void *)row)[lane];
    }
}

static void write_row(unsigned char *row, uint32_t bits, uint32_t lane, uint64_t value)
{
    switch (bits) {
    case 1: {
        uint32_t *mask = (uint32_t *)(void *)row, bit = UINT32_C(1) << lane;
        *mask = (value & 1) != 0 ? *mask | bit : *mask & ~bit;
        break;
    }
    case 16:
        ((uint16_t *)(void *)row)[lane] = (uint16_t)value;
        break;
    case 32:
        ((uint32_t *)(void *)row)[lane] = (uint32_t)value;
        break;
    default:
        ((uint64_t *)(void *)row)[lane] = value;
        break;
    }
}

/* One end of a copy between frames. */
typedef struct side {
    unsigned char *registers;
    uint32_t local_base;
    const smk_cell *cell;
} side;

static uint64_t read_side(const smk_warp_control *control, side from, uint32_t lane)
{
    if (from.cell->in_row) {
        return read_row(from.registers + from.cell->offset, from.cell->row_bits, lane);
    }
    uint64_t value = 0;
    for (uint32_t i = 0; i < 2 && 4 * i < from.cell->bytes; i++) {
        value |= (uint64_t)local_word(control, from.local_base + from.cell->offset + 4 * i)[lane] << (32 * i);
    }
    return value;
}

static void write_side(const smk_warp_control *control, side to, uint32_t lane, uint64_t value)
{
    if (to.cell->in_row) {
        write_row(to.registers + to.cell->offset, to.cell->row_bits, lane, value);
        return;
    }
    for (uint32_t i = 0; i < 2 && 4 * i < to.cell->bytes; i++) {
        local_word(control, to.local_base + to.cell->offset + 4 * i)[lane] = (uint32_t)(value >> (32 * i));
    }
}

uint64_t smk_warp_read_cell(const smk_warp *warp, const smk_cell *cell, uint32_t lane)
{
    return read_side(warp->control, (side){warp->registers, warp->control->local_base, cell}, lane);
}

void smk_warp_write_cell(smk_warp *warp, const smk_cell *cell, uint32_t lane, uint64_t value)
{
    write_side(warp->control, (side){warp->registers, warp->control->local_base, cell}, lane, value);
}

/* Copies a parameter or result for the lanes of `mask`. */
static void copy_cell(const smk_warp_control *control, side to, side from, uint32_t mask)
{
    bool both_local = !to.cell->in_row && !from.cell->in_row;
    if (both_local) {
        uint32_t bytes = to.cell->bytes < from.cell->bytes ? to.cell->bytes : from.cell->bytes;
        for (uint32_t i = 0; i < bytes; i += 4) {
            uint32_t *target = local_word(control, to.local_base + to.cell->offset + i);
            const uint32_t *source = local_word(control, from.local_base + from.cell->offset + i);
            for (uint32_t lane = 0; lane < SMK_WARP_SIZE; lane++) {
                target[lane] = (mask >> lane & 1) != 0 ? source[lane] : target[lane];
            }
        }
        return;
    }
    for (uint32_t lane = 0; lane < SMK_WARP_SIZE; lane++) {
        if ((mask >> lane & 1) != 0) {
            write_side(control, to, lane, read_side(control, from, lane));
        }
    }
}

/* Room for one more frame of `code`: its registers and local memory. */
static smk_status grow_frames(smk_warp *warp, const smk_code *code, size_t offset, smk_error *error)
{
    smk_warp_control *control = warp->control;
    if (control->frame_count + 1 >= control->frame_capacity) {
        uint32_t old = control->frame_capacity, wide = old == 0 ? 16 : 2 * old;
        smk_frame *frame = smk_heap_resize(control->frame, old * sizeof *frame, wide * sizeof *frame);
        if (frame != NULL) {
            control->frame = frame;
        }
        smk_level *level = smk_heap_resize(control->level, old * sizeof *level, wide * sizeof *level);
        if (level != NULL) {
            control->level = level;
        }
        if (frame == NULL || level == NULL) {
            return smk_status_fail(error, SMK_MEMORY, "no memory for %u call frames", wide);
        }
        control->frame_capacity = wide;
    }
    size_t need = offset + code->frame_bytes;
    if (need > control->callee_frames_capacity) {
        size_t wide = (need + need / 2 + STACK_STEP - 1) / STACK_STEP * STACK_STEP;
        unsigned char *callee_frames = smk_heap_resize(control->callee_frames, control->callee_frames_capacity, wide);
        if (callee_frames == NULL) {
            return smk_status_fail(error, SMK_MEMORY, "no memory for %zu bytes of call frames", wide);
        }
        if (control->frame_count > 0) {
            warp->registers = callee_frames + control->registers_offset;
        }
        control->callee_frames = callee_frames;
        control->callee_frames_capacity = wide;
    }
    return smk_warp_reserve_local(warp, (uint32_t)control->local_top + code->local_bytes, error);
}

static unsigned char *frame_registers(const smk_warp_control *control, uint32_t frame_count, size_t offset)
{
    return frame_count == 0 ? control->entry_registers : control->callee_frames + offset;
}

smk_status smk_warp_enter(smk_warp *warp, const smk_code *callee, const smk_operation *call,
                          const smk_operation *reconvergence, uint32_t mask, smk_error *error)
{
    smk_warp_control *control = warp->control;
    const size_t offset = control->frame_count == 0 ? 0 : control->registers_offset + control->code->frame_bytes;
    smk_status status = grow_frames(warp, callee, offset, error);
    if (status != SMK_OK) {
        return status;
    }
    control->frame[control->frame_count++] = (smk_frame){
        call, control->code, reconvergence, mask, control->base, control->local_base, control->registers_offset};
    control->registers_offset = offset;
    warp->registers = control->callee_frames + offset;
    control->code = callee;
    control->reconvergence = NULL;
    control->base = control->depth;
    control->local_base = (uint32_t)control->local_top;
    control->local_top += callee->local_bytes;
    if (control->local_top > control->local_used) {
        control->local_used = (uint32_t)control->local_top;
    }
    return SMK_OK;
}

const smk_operation *smk_warp_call(smk_warp *warp, const smk_operation *op, const smk_code *callee, uint32_t mask)
{
    smk_warp_control *control = warp->control;
    const smk_detail *detail = op->u.detail;
    size_t offset = control->frame_count == 0 ? 0 : control->registers_offset + control->code->frame_bytes;
    if (control->frame_count >= SMK_WARP_FRAMES_MAX || offset + callee->frame_bytes > SMK_WARP_STACK_BYTES_MAX ||
        control->local_top + callee->local_bytes > SMK_WARP_LOCAL_BYTES_MAX) {
        return smk_warp_fail(
            warp, op, mask, SMK_EXECUTION,
            "call stack overflow: %u calls deep (the limits are %d calls and %d bytes of local memory a "
            "thread)",
            control->frame_count, SMK_WARP_FRAMES_MAX, SMK_WARP_LOCAL_BYTES_MAX);
    }
    if (callee->parameter_count != detail->argument_count || callee->result_count != detail->result_count) {
        return smk_warp_fail(warp, op, mask, SMK_EXECUTION,
                             "an indirect call passes %u arguments for %u results to %.*s, which has %u and %u",
                             detail->argument_count, detail->result_count, SMK_TEXT_PRINT(callee->function->name),
                             callee->parameter_count, callee->result_count);
    }
    smk_error error;
    smk_status status = smk_warp_enter(warp, callee, op, control->reconvergence, warp->active, &error);
    if (status != SMK_OK) {
        return smk_warp_fail(warp, op, mask, status, "%s", error.message);
    }
    const smk_frame *caller = &control->frame[control->frame_count - 1];
    side from = {frame_registers(control, control->frame_count - 1, caller->registers_offset), caller->local_base,
                 NULL};
    smk_warp_count(control, op, callee->operation);
    warp->active = mask;
    fill_frame(warp, callee, note_level(control, callee), false);
    side to = {warp->registers, control->local_base, NULL};
    for (uint32_t i = 0; i < detail->argument_count; i++) {
        to.cell = &callee->parameter[i];
        from.cell = &detail->argument[i];
        if (!to.cell->in_row && !from.cell->in_row && to.cell->bytes > from.cell->bytes) {
            return smk_warp_fail(warp, op, mask, SMK_EXECUTION, "argument %u has %u bytes where %.*s takes %u", i + 1,
                                 from.cell->bytes, SMK_TEXT_PRINT(callee->function->name), to.cell->bytes);
        }
        copy_cell(control, to, from, mask);
    }
    return callee->operation;
}

const smk_operation *smk_warp_leave(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    const smk_code *callee = control->code;
    side from = {warp->registers, control->local_base, NULL};
    const smk_frame *frame = &control->frame[--control->frame_count];
    const smk_detail *detail = frame->call->u.detail;
    warp->registers = frame_registers(control, control->frame_count, frame->registers_offset);
    control->registers_offset = frame->registers_offset;
    control->code = frame->code;
    control->reconvergence = frame->reconvergence;
    control->base = frame->base;
    control->local_top = control->local_base;
    control->local_base = frame->local_base;
    warp->active = frame->mask & control->live;
    uint32_t returned = smk_operation_mask(warp, frame->call) & control->live;
    if (detail->callee == NULL) {
        returned = warp->active; /* an indirect call has split off the lanes with other callees */
    }
    side to = {warp->registers, control->local_base, NULL};
    for (uint32_t i = 0; i < detail->result_count; i++) {
        to.cell = &detail->result[i];
        from.cell = &callee->result[i];
        if (!to.cell->discarded) {
            copy_cell(control, to, from, returned);
        }
    }
    control->since = frame->call[1].instruction;
    return frame->call + 1;
}

const smk_operation *smk_warp_next(smk_warp *warp)
{
    smk_warp_control *control = warp->control;
    for (;;) {
        if (control->parked_count > 0 && !smk_park_release(warp)) {
            return NULL;
        }
        while (control->depth > control->base) {
            const smk_simt_entry *simt_stack = &control->simt_stack[--control->depth];
            uint32_t mask = simt_stack->mask & control->live;
            if (mask != 0) {
                warp->active = mask;
                control->reconvergence = simt_stack->reconvergence;
                control->since = simt_stack->pc->instruction;
                return simt_stack->pc;
            }
        }
        if (control->parked_count > 0) {
            const smk_operation *next = NULL;
            smk_park_outcome turn = smk_park_next(warp, &next);
            if (turn == SMK_PARK_FAILED || next != NULL) {
                return next;
            }
            if (turn == SMK_PARK_MOVED) {
                continue;
            }
        }
        if (control->frame_count == 0) {
            return finish(warp);
        }
        const smk_operation *next = smk_warp_leave(warp);
        if (warp->active != 0) {
            return next;
        }
    }
}

void smk_warp_describe(const smk_warp *warp, const smk_operation *op, char *text, size_t size)
{
    const smk_module *module = warp->control->block->run->image->module;
    const smk_function *function = &module->functions[op->function];
    if (op->instruction >= function->instruction_count) {
        (void)snprintf(text, size, "the end of %.*s", SMK_TEXT_PRINT(function->name));
        return;
    }
    const smk_instruction *instruction = &function->instructions[op->instruction];
    if (instruction->source_line != 0 && instruction->source_file < module->file_count) {
        (void)snprintf(text, size, "PTX line %u (%.*s:%u)", instruction->line,
                       SMK_TEXT_PRINT(module->files[instruction->source_file]), instruction->source_line);
    } else {
        (void)snprintf(text, size, "PTX line %u", instruction->line);
    }
}

const smk_operation *smk_warp_waiting(const smk_warp *warp, uint32_t mask)
{
    const smk_warp_control *control = warp->control;
    for (uint32_t i = control->depth; i-- > 0;) {
        if ((control->simt_stack[i].mask & mask) != 0) {
            return control->simt_stack[i].pc;
        }
    }
    for (uint32_t i = 0; i < control->parked_count; i++) {
        if ((control->parked[i].lanes & mask) != 0) {
            return control->parked[i].pc;
        }
    }
    return NULL;
}

static void copy_text(char *to, size_t size, smk_text from)
{
    size_t length = from.length < size - 1 ? from.length : size - 1;
    memcpy(to, from.start, length);
    to[length] = '\0';
}

static void locate(const smk_warp *warp, const smk_operation *op, uint32_t lanes, smk_error *error)
{
    const smk_warp_control *control = warp->control;
    const smk_block *block = control->block;
    const smk_image *image = block->run->image;
    const smk_module *module = image->module;
    copy_text(error->kernel, sizeof error->kernel, module->functions[image->entry].name);
    const smk_function *function = &module->functions[op->function];
    if (op->instruction < function->instruction_count) {
        const smk_instruction *instruction = &function->instructions[op->instruction];
        error->ptx_line = instruction->line;
        error->ptx_column = instruction->column;
        if (instruction->source_line != 0 && instruction->source_file < module->file_count) {
            error->source_line = instruction->source_line;
            copy_text(error->source_file, sizeof error->source_file, module->files[instruction->source_file]);
        }
    }
    error->has_thread = true;
    uint32_t lane = 0;
    while (lane < SMK_WARP_SIZE - 1 && (lanes >> lane & 1) == 0) {
        lane++;
    }
    for (uint32_t i = 0; i < 3; i++) {
        error->block[i] = block->index[i];
        error->thread[i] = (uint32_t)special_value(control, (smk_special)(SMK_SPECIAL_TID_X + i), lane);
    }
}

const smk_operation *smk_warp_fail(smk_warp *warp, const smk_operation *op, uint32_t lanes, smk_status status,
                                   const char *format, ...)
{
    smk_warp_control *control = warp->control;
    char message[sizeof control->block->error.message];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    (void)smk_status_fail(&control->block->error, status, "%s", message);
    locate(warp, op, lanes, &control->block->error);
    control->state = SMK_WARP_FAILED;
    return NULL;
}
