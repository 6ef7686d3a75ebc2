#include "sim/exec/texture_access.h"

#include "sim/code/bits.h"
#include "sim/exec/block.h"
#include "sim/exec/mipmap.h"

#include <string.h>

enum { FACES = 6, OFFSET_BITS = 4, GATHER_OFFSET_BITS = 6 };

static void refuse(smk_warp *warp, const smk_operation *op, unsigned lane, uint64_t object, const char *reason)
{
    (void)smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_EXECUTION, "0x%llx %s", (unsigned long long)object, reason);
}

/* Has the texture the shape that the instruction names? Faces of cubes are reached as layers, too. */
static bool fits(const smk_texture *texture, uint32_t shape)
{
    const smk_texture_shape *own = &texture->shape;
    const bool layered = (shape & SMK_TEXTURE_LAYERED) != 0;
    if ((shape & SMK_TEXTURE_AXES) == 0) { /* a question */
        return true;
    }
    if ((shape & SMK_TEXTURE_CUBE) != 0) {
        return own->cube != 0 && layered == (own->layers > 0);
    }
    return own->axes == (shape & SMK_TEXTURE_AXES) && layered == (own->layers > 0 || own->cube != 0);
}

/* Reads the texture as a sampler says, or as another texture is read. False after a failure. */
static bool set_sampler(smk_warp *warp, const smk_operation *op, unsigned lane, smk_found_object *found)
{
    smk_texture_shape *shape = &found->sampled.shape;
    smk_sampler sampler;
    found->sampled = *found->texture;
    if (smk_texture_unpack_sampler(found->sampler, &sampler)) {
        const bool numbers = shape->kind == SMK_TEXEL_FLOAT || (shape->reads_floats != 0 && shape->bits < 32);
        if (sampler.mode[0] > SMK_TEXTURE_BORDER || sampler.mode[1] > SMK_TEXTURE_BORDER ||
            sampler.mode[2] > SMK_TEXTURE_BORDER) {
            refuse(warp, op, lane, found->sampler, "is a sampler with clamp_ogl, which is not simulated");
            return false;
        }
        memcpy(shape->mode, sampler.mode, sizeof shape->mode);
        shape->filters = sampler.filters != 0 && numbers && !found->sampled.linear;
        shape->normalized = sampler.unnormalized == 0;
    } else {
        const smk_memory_view *view = warp->control->block->run->view;
        const smk_texture *other = smk_texture_object_find(view, found->sampler);
        if (other == NULL || other->shape.surface != 0) {
            refuse(warp, op, lane, found->sampler, "is not a sampler");
            return false;
        }
        memcpy(shape->mode, other->shape.mode, sizeof shape->mode);
        memcpy(shape->border, other->shape.border, sizeof shape->border);
        shape->filters = other->shape.filters;
        shape->normalized = other->shape.normalized;
        found->sampled.filters_levels = other->filters_levels;
        found->sampled.bias = other->bias;
        found->sampled.least = other->least;
        found->sampled.most = other->most;
    }
    found->texture = &found->sampled;
    return true;
}

bool smk_texture_access_find(smk_warp *warp, const smk_operation *op, unsigned lane, bool surface,
                             smk_found_object *found)
{
    const smk_memory_view *view = warp->control->block->run->view;
    const uint32_t *rows = op->u.detail->rows;
    const bool sampled = (op->element & SMK_TEXTURE_SAMPLED) != 0;
    const uint64_t object = SMK_ROW(uint64_t, warp, rows[SMK_TEXTURE_OBJECT])[lane];
    const uint64_t sampler = sampled ? SMK_ROW(uint64_t, warp, rows[SMK_TEXTURE_SAMPLER])[lane] : 0;
    if (found->texture != NULL && found->object == object && found->sampler == sampler) {
        return true;
    }
    found->object = object;
    found->sampler = sampler;
    found->texture = smk_texture_object_find(view, object);
    if (found->texture == NULL || (found->texture->shape.surface != 0) != surface) {
        refuse(warp, op, lane, object,
               object == 0 ? "is no object: is a reference of the module bound to nothing?"
               : surface   ? "is not a surface object"
                           : "is not a texture object");
        return false;
    }
    found->texels = smk_texture_object_texels(view, found->texture);
    if (found->texels == NULL) {
        refuse(warp, op, lane, object, "is an object whose texels have been freed");
        return false;
    }
    if (!fits(found->texture, op->element)) {
        refuse(warp, op, lane, object, "is an object of another shape: its axes, layers or faces are not those here");
        return false;
    }
    return !sampled || set_sampler(warp, op, lane, found);
}

uint32_t smk_texture_access_word(const smk_warp *warp, const smk_operation *op, unsigned row, unsigned lane)
{
    return SMK_ROW(uint32_t, warp, op->u.detail->rows[row])[lane];
}

static float read_float(const smk_warp *warp, const smk_operation *op, unsigned row, unsigned lane)
{
    return SMK_ROW(float, warp, op->u.detail->rows[row])[lane];
}

void smk_texture_access_write(const smk_warp *warp, const smk_operation *op, unsigned value, unsigned lane,
                              uint64_t bits)
{
    const uint32_t row = op->u.detail->rows[SMK_TEXTURE_VALUE + value];
    if (op->d2 == 16) {
        SMK_ROW(uint16_t, warp, row)[lane] = (uint16_t)bits;
    } else if (op->d2 == 32) {
        SMK_ROW(uint32_t, warp, row)[lane] = (uint32_t)bits;
    } else {
        SMK_ROW(uint64_t, warp, row)[lane] = bits;
    }
}

uint64_t smk_texture_access_value(const smk_warp *warp, const smk_operation *op, unsigned value, unsigned lane)
{
    const uint32_t row = op->u.detail->rows[SMK_TEXTURE_VALUE + value];
    return op->d2 == 16   ? SMK_ROW(uint16_t, warp, row)[lane]
           : op->d2 == 32 ? SMK_ROW(uint32_t, warp, row)[lane]
                          : SMK_ROW(uint64_t, warp, row)[lane];
}

/* Reads ---------------------------------------------------------------------------------------------------------- */

/* The number of a layer is clamped without a sign: a negative one is the last. Faces of cubes are layers too. */
static uint32_t clamp_layer(const smk_texture *texture, uint32_t layer, bool cube)
{
    const uint32_t slices = (uint32_t)smk_texture_slices(&texture->shape), layers = cube ? slices / FACES : slices;
    return layer < layers ? layer : layers - 1;
}

/* The low bits of a word as a number with a sign: texture units take no more of an offset. */
static int32_t cut_offset(uint32_t word, unsigned bits)
{
    const uint32_t half = UINT32_C(1) << (bits - 1);
    return (int32_t)((word & (2 * half - 1)) ^ half) - (int32_t)half;
}

static smk_sample_point read_point(const smk_warp *warp, const smk_operation *op, const smk_texture *texture,
                                   unsigned lane, unsigned offset_bits)
{
    const uint32_t flags = op->element, axes = flags & SMK_TEXTURE_AXES;
    const unsigned layered = (flags & SMK_TEXTURE_LAYERED) != 0 ? 1 : 0, first = SMK_TEXTURE_COORDINATE;
    const bool cube = (flags & SMK_TEXTURE_CUBE) != 0;
    smk_sample_point point = {.layer = 0};
    if (layered != 0) {
        point.layer = clamp_layer(texture, smk_texture_access_word(warp, op, first, lane), cube);
    }
    for (unsigned i = 0; i < axes; i++) {
        point.at[i] = read_float(warp, op, first + layered + i, lane);
        if ((flags & SMK_TEXTURE_MOVED) != 0) {
            point.offset[i] = cut_offset(smk_texture_access_word(warp, op, SMK_TEXTURE_OFFSET + i, lane), offset_bits);
        }
    }
    if ((flags & SMK_TEXTURE_MOVED) != 0 && axes == 1 && layered == 0) { /* the bits behind x are those of y */
        point.offset[1] =
            cut_offset(smk_texture_access_word(warp, op, SMK_TEXTURE_OFFSET, lane) >> offset_bits, offset_bits);
    }
    return point;
}

/* The number of the level that an instruction names, or by which it lets the unit choose. */
static float read_level(const smk_warp *warp, const smk_operation *op, const smk_texture *texture, unsigned lane)
{
    const unsigned axes = op->element & SMK_TEXTURE_AXES;
    float gradient[2][3] = {{0}};
    if (texture->levels < 2 || (op->element & (SMK_TEXTURE_LEVELED | SMK_TEXTURE_GRADED)) == 0) {
        return SMK_MIPMAP_LARGEST;
    }
    if ((op->element & SMK_TEXTURE_LEVELED) != 0) {
        return read_float(warp, op, SMK_TEXTURE_LEVEL, lane);
    }
    for (unsigned i = 0; i < axes; i++) {
        gradient[0][i] = read_float(warp, op, SMK_TEXTURE_GRADIENT + i, lane);
        gradient[1][i] = read_float(warp, op, SMK_TEXTURE_GRADIENT + 4 + i, lane);
    }
    return smk_mipmap_choose_level(texture, gradient);
}

const smk_operation *smk_texture_access_read(smk_warp *warp, const smk_operation *op)
{
    smk_found_object found;
    found.texture = NULL;
    for (uint32_t left = smk_operation_mask(warp, op); left != 0; left &= left - 1) {
        const unsigned lane = smk_bits_first(left);
        uint32_t value[SMK_SAMPLE_CHANNELS];
        if (!smk_texture_access_find(warp, op, lane, false, &found)) {
            return NULL;
        }
        const smk_sample_point point = read_point(warp, op, found.texture, lane, OFFSET_BITS);
        if ((op->element & SMK_TEXTURE_WHOLE) != 0) {
            int32_t at[3];
            memcpy(at, point.at, sizeof at);
            for (unsigned i = 0; i < 3; i++) {
                const int32_t moved = found.texture->linear ? 0 : point.offset[i];
                at[i] = (int32_t)((uint32_t)at[i] + (uint32_t)moved);
            }
            const bool named = (op->element & SMK_TEXTURE_LEVELED) != 0;
            const uint32_t level = named ? smk_texture_access_word(warp, op, SMK_TEXTURE_LEVEL, lane) : 0;
            smk_mipmap_fetch(found.texture, found.texels, at, point.layer, named, level, value);
        } else {
            const float level = read_level(warp, op, found.texture, lane);
            const bool cube = (op->element & SMK_TEXTURE_CUBE) != 0;
            smk_mipmap_read(found.texture, found.texels, &point, cube, level, value);
        }
        for (unsigned i = 0; i < SMK_SAMPLE_CHANNELS; i++) {
            smk_texture_access_write(warp, op, i, lane, value[i]);
        }
    }
    return op + 1;
}

const smk_operation *smk_texture_access_gather(smk_warp *warp, const smk_operation *op)
{
    smk_found_object found;
    found.texture = NULL;
    for (uint32_t left = smk_operation_mask(warp, op); left != 0; left &= left - 1) {
        const unsigned lane = smk_bits_first(left);
        uint32_t value[4];
        if (!smk_texture_access_find(warp, op, lane, false, &found)) {
            return NULL;
        }
        const smk_sample_point point = read_point(warp, op, found.texture, lane, GATHER_OFFSET_BITS);
        const smk_sample_level level = {found.texture, found.texels};
        smk_sample_gather(&level, &point, (op->element & SMK_TEXTURE_CUBE) != 0, op->slot, value);
        for (unsigned i = 0; i < 4; i++) {
            smk_texture_access_write(warp, op, i, lane, value[i]);
        }
    }
    return op + 1;
}

/* Questions ------------------------------------------------------------------------------------------------------ */

/* As an H200 answers: layers count as the axis behind those of the texture, cubes of layers one each, but faces where a
 * surface is asked; an axis that is not there is 0, but the height of a texture of one axis, which is 1. */
static uint32_t ask(const smk_texture *texture, smk_modifier asked, uint32_t level)
{
    const smk_texture_shape *shape = &texture->shape;
    const unsigned axis = asked == SMK_MODIFIER_WIDTH ? 0 : asked == SMK_MODIFIER_HEIGHT ? 1 : 2;
    const bool is_layers = axis == shape->axes, surface = shape->surface != 0;
    if (level > 0 && level >= texture->levels) {
        return 0;
    }
    if (axis < shape->axes) {
        const uint32_t size = shape->size[axis] >> level;
        return size > 0 ? size : 1;
    }
    if (is_layers && shape->cube != 0 && surface) {
        return (uint32_t)smk_texture_slices(shape);
    }
    if (is_layers && shape->layers > 0) {
        return shape->layers;
    }
    return axis == 1 && !surface && !texture->linear ? 1 : 0;
}

const smk_operation *smk_texture_access_ask(smk_warp *warp, const smk_operation *op)
{
    smk_found_object found;
    found.texture = NULL;
    for (uint32_t left = smk_operation_mask(warp, op); left != 0; left &= left - 1) {
        const unsigned lane = smk_bits_first(left);
        const bool named = (op->element & SMK_TEXTURE_LEVELED) != 0;
        if (!smk_texture_access_find(warp, op, lane, op->u.detail->row != 0, &found)) {
            return NULL;
        }
        const uint32_t level = named ? smk_texture_access_word(warp, op, SMK_TEXTURE_LEVEL, lane) : 0;
        smk_texture_access_write(warp, op, 0, lane, ask(found.texture, (smk_modifier)op->slot, level));
    }
    return op + 1;
}

/* istypep: row a is the object, d the predicate, slot the bit of the object that says what it is. */
const smk_operation *smk_texture_access_is_kind(smk_warp *warp, const smk_operation *op)
{
    const uint32_t mask = smk_operation_mask(warp, op);
    const uint64_t *objects = SMK_ROW(uint64_t, warp, op->a);
    uint32_t *d = SMK_ROW(uint32_t, warp, op->d), is = 0;
    for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
        is |= (uint32_t)(objects[lane] >> op->slot & 1) << lane;
    }
    *d = (*d & ~mask) | (is & mask);
    return op + 1;
}
