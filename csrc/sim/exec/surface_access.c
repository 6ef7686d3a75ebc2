/* Reads, writes and updates of surfaces. */
#include "sim/code/bits.h"
#include "sim/exec/atomic.h"
#include "sim/exec/block.h"
#include "sim/exec/convert.h"
#include "sim/exec/texture_access.h"

#include <string.h>

enum { HALF_NAN = 0x7e00 };

/* Where a lane's access begins; NULL where it has none. *fails: it lies outside, and the kernel fails. x counts bytes, or
 * texels where the values are converted; the other coordinates count texels. */
static unsigned char *locate(const smk_warp *warp, const smk_operation *op, const smk_found_object *found,
                             unsigned lane, bool *fails)
{
    const smk_texture *t = found->texture;
    const smk_texture_shape *shape = &t->shape;
    const bool layered = (op->element & SMK_TEXTURE_LAYERED) != 0;
    const bool formatted = (op->element & SMK_TEXTURE_FORMATTED) != 0;
    const unsigned first = SMK_TEXTURE_COORDINATE + (layered ? 1 : 0), axes = op->element & SMK_TEXTURE_AXES;
    const uint64_t texel = smk_texture_texel_bytes(shape), row = shape->size[0] * texel;
    const uint64_t bytes = (uint64_t)op->u.detail->bytes * op->count;
    const uint64_t room[4] = {formatted      ? shape->size[0]
                              : row >= bytes ? row - bytes + 1
                                             : 0,
                              shape->size[1], shape->size[2], smk_texture_slices(shape)};
    uint64_t at[4] = {0};
    for (unsigned i = 0; i < 4; i++) {
        const bool used = i < axes || (i == 3 && layered);
        const unsigned row_number = i == 3 ? SMK_TEXTURE_COORDINATE : first + i;
        const int64_t wanted = !used ? 0 : (int32_t)smk_texture_access_word(warp, op, row_number, lane);
        const bool outside = used && (wanted < 0 || (uint64_t)wanted >= room[i]);
        if (outside && (op->slot != SMK_SURFACE_CLAMP || room[i] == 0)) {
            *fails = op->slot == SMK_SURFACE_TRAP;
            return NULL;
        }
        at[i] = !outside ? (uint64_t)wanted : wanted < 0 ? 0 : room[i] - 1;
    }
    return found->texels + at[0] * (formatted ? texel : 1) + at[1] * t->row_bytes + (at[2] + at[3]) * t->slice_bytes;
}

static const smk_operation *leave_surface(smk_warp *warp, const smk_operation *op, unsigned lane)
{
    const bool formatted = (op->element & SMK_TEXTURE_FORMATTED) != 0;
    return smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_OUT_OF_BOUNDS,
                         "an access of %u bytes lies outside the surface (x counts %s)",
                         op->u.detail->bytes * op->count, formatted ? "elements" : "bytes, not elements");
}

/* Reads or writes the elements of one lane. Outside a surface that does not fail, reads give 0 and writes are lost. */
static void access_lane(const smk_warp *warp, const smk_operation *op, unsigned lane, unsigned char *at, bool store)
{
    const unsigned bytes = op->u.detail->bytes;
    for (unsigned i = 0; i < op->count; i++) {
        uint64_t value = store ? smk_texture_access_value(warp, op, i, lane) : 0;
        if (at != NULL && store) {
            memcpy(at + (size_t)i * bytes, &value, bytes);
        } else if (!store) {
            if (at != NULL) {
                memcpy(&value, at + (size_t)i * bytes, bytes);
            }
            smk_texture_access_write(warp, op, i, lane, value);
        }
    }
}

/* A channel of a texel, of a register of 32 bits: floats are cut to the format, integers to its range. */
static uint32_t convert_channel(const smk_texture_shape *shape, uint32_t value)
{
    const uint32_t top = shape->bits >= 32 ? UINT32_MAX : (UINT32_C(1) << shape->bits) - 1;
    if (shape->kind == SMK_TEXEL_FLOAT) {
        const bool nan = (value & UINT32_C(0x7fffffff)) > UINT32_C(0x7f800000);
        return shape->bits == 32 ? value : nan ? HALF_NAN : smk_narrow_f16(smk_float_f32(value), SMK_ROUND_ZERO, false);
    }
    if (shape->kind == SMK_TEXEL_UNSIGNED || shape->bits == 32) {
        return value < top ? value : top;
    }
    const int32_t most = (int32_t)(top >> 1), number = (int32_t)value;
    return (uint32_t)(number > most ? most : number < -most - 1 ? -most - 1 : number);
}

/* sust.p: a texel of as many channels as the surface has, of the values and zeros behind them. */
static void store_texel(const smk_warp *warp, const smk_operation *op, unsigned lane, const smk_texture *texture,
                        unsigned char *at)
{
    const unsigned bytes = texture->shape.bits / 8U;
    for (unsigned i = 0; at != NULL && i < texture->shape.channels; i++) {
        const uint32_t value = i < op->count ? (uint32_t)smk_texture_access_value(warp, op, i, lane) : 0;
        const uint32_t made = convert_channel(&texture->shape, value);
        memcpy(at + (size_t)i * bytes, &made, bytes);
    }
}

static const smk_operation *access_surface(smk_warp *warp, const smk_operation *op, bool store)
{
    smk_found_object found;
    found.texture = NULL;
    const uint32_t mask = smk_operation_mask(warp, op);
    for (unsigned lane = SMK_WARP_SIZE; lane-- > 0;) { /* of lanes that write the same element the first one wins */
        bool fails = false;
        if ((mask >> lane & 1) == 0) {
            continue;
        }
        if (!smk_texture_access_find(warp, op, lane, true, &found)) {
            return NULL;
        }
        unsigned char *at = locate(warp, op, &found, lane, &fails);
        if (fails) {
            return leave_surface(warp, op, lane);
        }
        if ((op->element & SMK_TEXTURE_FORMATTED) != 0) {
            store_texel(warp, op, lane, found.texture, at);
        } else {
            access_lane(warp, op, lane, at, store);
        }
    }
    return op + 1;
}

const smk_operation *smk_surface_access_load(smk_warp *warp, const smk_operation *op)
{
    return access_surface(warp, op, false);
}

const smk_operation *smk_surface_access_store(smk_warp *warp, const smk_operation *op)
{
    return access_surface(warp, op, true);
}

/* The type in which an element is updated: that of the instruction, or of the surface's texels. */
static smk_type find_type(const smk_operation *op, const smk_texture *texture)
{
    const bool is_signed = texture->shape.kind == SMK_TEXEL_SIGNED;
    if ((op->element & SMK_TEXTURE_FORMATTED) == 0) {
        return (smk_type)op->d;
    }
    return op->u.detail->bytes == 8 ? (is_signed ? SMK_TYPE_S64 : SMK_TYPE_U64)
           : is_signed              ? SMK_TYPE_S32
                                    : SMK_TYPE_U32;
}

const smk_operation *smk_surface_access_reduce(smk_warp *warp, const smk_operation *op)
{
    const bool alone = warp->control->block->run->ordered;
    const smk_modifier operation = (smk_modifier)op->u.detail->row;
    smk_found_object found;
    found.texture = NULL;
    for (uint32_t left = smk_operation_mask(warp, op); left != 0; left &= left - 1) {
        const unsigned lane = smk_bits_first(left), bytes = op->u.detail->bytes;
        bool fails = false;
        if (!smk_texture_access_find(warp, op, lane, true, &found)) {
            return NULL;
        }
        unsigned char *at = locate(warp, op, &found, lane, &fails);
        if (fails) {
            return leave_surface(warp, op, lane);
        }
        if (at != NULL) {
            if ((uintptr_t)(at - found.texels) % bytes != 0) {
                return smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_MISALIGNED,
                                     "an update of %u bytes of a surface at a byte offset that is no multiple of that",
                                     bytes);
            }
            smk_atomic_update(at, bytes, alone, operation, find_type(op, found.texture),
                              smk_texture_access_value(warp, op, 0, lane));
        }
    }
    return op + 1;
}
