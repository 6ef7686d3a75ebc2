#include "sim/exec/texture_access.h"

#include "sim/code/bits.h"
#include "sim/code/texture_object.h"
#include "sim/exec/block.h"
#include "sim/exec/sample.h"

#include <string.h>

enum { FACES = 6, OBJECT = 0, FIRST = 1, VALUES = FIRST + SMK_TEXTURE_COORDINATES };

/* The texture or surface of one lane. Most launches have the same one in all lanes, so it is looked up again only where
 * the object is another one. */
typedef struct found_object {
    uint64_t object;
    const smk_texture *texture; /* NULL before the first */
    unsigned char *texels;
} found_object;

static const smk_operation *refuse(smk_warp *warp, const smk_operation *op, unsigned lane, const char *reason)
{
    const uint64_t object = SMK_ROW(uint64_t, warp, op->u.detail->rows[OBJECT])[lane];
    return smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_EXECUTION, "0x%llx %s", (unsigned long long)object, reason);
}

/* Has the texture the shape that the instruction names? Faces of cubes are reached as layers, too. */
static bool fits(const smk_texture *texture, uint32_t shape)
{
    const smk_texture_shape *own = &texture->shape;
    const bool layered = (shape & SMK_TEXTURE_LAYERED) != 0;
    if ((shape & SMK_TEXTURE_CUBE) != 0) {
        return own->cube != 0 && layered == (own->layers > 0);
    }
    return own->axes == (shape & SMK_TEXTURE_AXES) && layered == (own->layers > 0 || own->cube != 0);
}

/* False after a failure. */
static bool find(smk_warp *warp, const smk_operation *op, unsigned lane, bool surface, found_object *found)
{
    const smk_memory_view *view = warp->control->block->run->view;
    const uint64_t object = SMK_ROW(uint64_t, warp, op->u.detail->rows[OBJECT])[lane];
    if (found->texture != NULL && found->object == object) {
        return true;
    }
    found->object = object;
    found->texture = smk_texture_object_find(view, object);
    if (found->texture == NULL || (found->texture->shape.surface != 0) != surface) {
        (void)refuse(warp, op, lane, surface ? "is not a surface object" : "is not a texture object");
        return false;
    }
    found->texels = smk_texture_object_texels(view, found->texture);
    if (found->texels == NULL) {
        (void)refuse(warp, op, lane, "is an object whose texels have been freed");
        return false;
    }
    if (!fits(found->texture, op->element)) {
        (void)refuse(warp, op, lane, "is an object of another shape: its axes, layers or faces are not those here");
        return false;
    }
    return true;
}

static uint32_t read_word(const smk_warp *warp, const smk_operation *op, unsigned at, unsigned lane)
{
    return SMK_ROW(uint32_t, warp, op->u.detail->rows[at])[lane];
}

static float read_float(const smk_warp *warp, const smk_operation *op, unsigned at, unsigned lane)
{
    return SMK_ROW(float, warp, op->u.detail->rows[at])[lane];
}

static void write_value(const smk_warp *warp, const smk_operation *op, unsigned i, unsigned lane, uint64_t value)
{
    const uint32_t row = op->u.detail->rows[VALUES + i];
    if (op->d2 == 16) {
        SMK_ROW(uint16_t, warp, row)[lane] = (uint16_t)value;
    } else if (op->d2 == 32) {
        SMK_ROW(uint32_t, warp, row)[lane] = (uint32_t)value;
    } else {
        SMK_ROW(uint64_t, warp, row)[lane] = value;
    }
}

static uint64_t read_value(const smk_warp *warp, const smk_operation *op, unsigned i, unsigned lane)
{
    const uint32_t row = op->u.detail->rows[VALUES + i];
    return op->d2 == 16   ? SMK_ROW(uint16_t, warp, row)[lane]
           : op->d2 == 32 ? SMK_ROW(uint32_t, warp, row)[lane]
                          : SMK_ROW(uint64_t, warp, row)[lane];
}

/* Textures ------------------------------------------------------------------------------------------------------- */

/* The number of a layer is clamped without a sign: a negative one is the last. Faces of cubes are layers too. */
static uint32_t clamp_layer(const smk_texture *texture, uint32_t layer, bool cube)
{
    const uint32_t slices = (uint32_t)smk_texture_slices(&texture->shape), layers = cube ? slices / FACES : slices;
    return layer < layers ? layer : layers - 1;
}

static smk_sample_point read_point(const smk_warp *warp, const smk_operation *op, const smk_texture *texture,
                                   unsigned lane)
{
    const bool layered = (op->element & SMK_TEXTURE_LAYERED) != 0;
    const unsigned first = layered ? FIRST + 1 : FIRST, axes = op->element & SMK_TEXTURE_AXES;
    const bool cube = (op->element & SMK_TEXTURE_CUBE) != 0;
    smk_sample_point point = {.layer = layered ? clamp_layer(texture, read_word(warp, op, FIRST, lane), cube) : 0};
    for (unsigned i = 0; i < axes; i++) {
        point.at[i] = read_float(warp, op, first + i, lane);
    }
    return point;
}

const smk_operation *smk_texture_access_read(smk_warp *warp, const smk_operation *op)
{
    found_object found = {0};
    for (uint32_t left = smk_operation_mask(warp, op); left != 0; left &= left - 1) {
        const unsigned lane = smk_bits_first(left);
        uint32_t value[SMK_SAMPLE_CHANNELS];
        if (!find(warp, op, lane, false, &found)) {
            return NULL;
        }
        const smk_sample_point point = read_point(warp, op, found.texture, lane);
        if ((op->element & SMK_TEXTURE_WHOLE) != 0) {
            int32_t at[3];
            memcpy(at, point.at, sizeof at);
            smk_sample_fetch(found.texture, found.texels, at, point.layer, value);
        } else {
            smk_sample_read(found.texture, found.texels, &point, (op->element & SMK_TEXTURE_CUBE) != 0, value);
        }
        for (unsigned i = 0; i < SMK_SAMPLE_CHANNELS; i++) {
            write_value(warp, op, i, lane, value[i]);
        }
    }
    return op + 1;
}

const smk_operation *smk_texture_access_gather(smk_warp *warp, const smk_operation *op)
{
    found_object found = {0};
    for (uint32_t left = smk_operation_mask(warp, op); left != 0; left &= left - 1) {
        const unsigned lane = smk_bits_first(left);
        uint32_t value[4];
        if (!find(warp, op, lane, false, &found)) {
            return NULL;
        }
        const smk_sample_point point = read_point(warp, op, found.texture, lane);
        smk_sample_gather(found.texture, found.texels, &point, op->slot, value);
        for (unsigned i = 0; i < 4; i++) {
            write_value(warp, op, i, lane, value[i]);
        }
    }
    return op + 1;
}

/* Surfaces ------------------------------------------------------------------------------------------------------- */

/* Where a lane's access begins; NULL where it has none. *fails: it lies outside, and the kernel fails. x counts bytes,
 * the other coordinates texels. */
static unsigned char *locate(const smk_warp *warp, const smk_operation *op, const found_object *found, unsigned lane,
                             bool *fails)
{
    const smk_texture *t = found->texture;
    const smk_texture_shape *shape = &t->shape;
    const bool layered = (op->element & SMK_TEXTURE_LAYERED) != 0;
    const unsigned first = layered ? FIRST + 1 : FIRST, axes = op->element & SMK_TEXTURE_AXES;
    const uint64_t bytes = (uint64_t)op->u.detail->bytes * op->count;
    const uint64_t row = (uint64_t)shape->size[0] * smk_texture_texel_bytes(shape);
    const uint64_t room[4] = {row >= bytes ? row - bytes + 1 : 0, shape->size[1], shape->size[2],
                              smk_texture_slices(shape)};
    uint64_t at[4] = {0};
    for (unsigned i = 0; i < 4; i++) {
        const bool used = i < axes || (i == 3 && layered);
        const int64_t wanted = !used ? 0 : (int32_t)read_word(warp, op, i == 3 ? FIRST : first + i, lane);
        const bool outside = used && (wanted < 0 || (uint64_t)wanted >= room[i]);
        if (outside && (op->slot != SMK_SURFACE_CLAMP || room[i] == 0)) {
            *fails = op->slot == SMK_SURFACE_TRAP;
            return NULL;
        }
        at[i] = !outside ? (uint64_t)wanted : wanted < 0 ? 0 : room[i] - 1;
    }
    return found->texels + at[0] + at[1] * t->row_bytes + (at[2] + at[3]) * t->slice_bytes;
}

static const smk_operation *leave_surface(smk_warp *warp, const smk_operation *op, unsigned lane)
{
    return smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_OUT_OF_BOUNDS,
                         "an access of %u bytes lies outside the surface (x counts bytes, not elements)",
                         op->u.detail->bytes * op->count);
}

/* Reads or writes the elements of one lane. Outside a surface that does not fail, reads give 0 and writes are lost. */
static void access_lane(const smk_warp *warp, const smk_operation *op, unsigned lane, unsigned char *at, bool store)
{
    const unsigned bytes = op->u.detail->bytes;
    for (unsigned i = 0; i < op->count; i++) {
        uint64_t value = store ? read_value(warp, op, i, lane) : 0;
        if (at != NULL && store) {
            memcpy(at + (size_t)i * bytes, &value, bytes);
        } else if (!store) {
            if (at != NULL) {
                memcpy(&value, at + (size_t)i * bytes, bytes);
            }
            write_value(warp, op, i, lane, value);
        }
    }
}

static const smk_operation *access_surface(smk_warp *warp, const smk_operation *op, bool store)
{
    found_object found = {0};
    for (uint32_t left = smk_operation_mask(warp, op); left != 0; left &= left - 1) {
        const unsigned lane = smk_bits_first(left);
        bool fails = false;
        if (!find(warp, op, lane, true, &found)) {
            return NULL;
        }
        unsigned char *at = locate(warp, op, &found, lane, &fails);
        if (fails) {
            return leave_surface(warp, op, lane);
        }
        access_lane(warp, op, lane, at, store);
    }
    return op + 1;
}

const smk_operation *smk_texture_access_load(smk_warp *warp, const smk_operation *op)
{
    return access_surface(warp, op, false);
}

const smk_operation *smk_texture_access_store(smk_warp *warp, const smk_operation *op)
{
    return access_surface(warp, op, true);
}
