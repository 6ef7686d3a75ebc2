#include "sim/code/texture_object.h"

#define MARK UINT64_C(0x6563616672757374)

/* From the first texel to the last one's end. */
static uint64_t count_bytes(const smk_texture *texture)
{
    const smk_texture_shape *shape = &texture->shape;
    smk_texture last;
    if (texture->levels > 1) {
        const unsigned level = texture->levels - 1U;
        smk_texture_object_take_level(texture, level, &last);
        return texture->level[level].offset + count_bytes(&last);
    }
    return (smk_texture_slices(shape) - 1) * texture->slice_bytes +
           (shape->size[1] - UINT64_C(1)) * texture->row_bytes +
           (uint64_t)shape->size[0] * smk_texture_texel_bytes(shape);
}

void smk_texture_object_take_level(const smk_texture *texture, unsigned level, smk_texture *taken)
{
    *taken = *texture;
    taken->levels = 0;
    if (texture->levels == 0) {
        return;
    }
    taken->row_bytes = texture->level[level].row_bytes;
    taken->slice_bytes = texture->level[level].slice_bytes;
    for (unsigned axis = 0; axis < 3; axis++) {
        const uint32_t size = texture->shape.size[axis] >> level;
        taken->shape.size[axis] = size > 0 ? size : 1;
    }
}

smk_status smk_texture_object_create(smk_memory *memory, const smk_texture *texture, uint64_t *object, smk_error *error)
{
    static const char name[] = "a texture object";
    smk_texture made = *texture;
    made.mark = MARK;
    const smk_memory_variable variable = {
        .name = {name, sizeof name - 1}, .bytes = sizeof made, .constant = true, .managed = false};
    smk_status status = smk_texture_check(&made.shape, error);
    if (status == SMK_OK) {
        status = smk_memory_allocate_variable(memory, &variable, object, error);
    }
    return status == SMK_OK ? smk_memory_write(memory, *object, &made, sizeof made, error) : status;
}

smk_status smk_texture_object_describe(smk_memory *memory, uint64_t object, smk_texture *texture, smk_error *error)
{
    uint64_t start = 0, bytes = 0;
    bool shared;
    const bool found =
        smk_memory_find(memory, object, &start, &bytes, &shared) && start == object && bytes == sizeof *texture &&
        smk_memory_read(memory, object, texture, sizeof *texture, error) == SMK_OK && texture->mark == MARK;
    return found ? SMK_OK
                 : smk_status_fail(error, SMK_ARGUMENT, "0x%llx is not a texture or surface object",
                                   (unsigned long long)object);
}

smk_status smk_texture_object_free(smk_memory *memory, uint64_t object, smk_error *error)
{
    smk_texture texture;
    smk_status status = smk_texture_object_describe(memory, object, &texture, error);
    return status == SMK_OK ? smk_memory_free(memory, object, error) : status;
}

const smk_texture *smk_texture_object_find(const smk_memory_view *view, uint64_t object)
{
    const smk_allocation *found = smk_memory_view_find(view, object);
    const smk_texture *texture = NULL;
    if (found != NULL && found->address == object && found->bytes == sizeof *texture && found->constant) {
        texture = (const smk_texture *)(const void *)found->host;
    }
    return texture != NULL && texture->mark == MARK ? texture : NULL;
}

unsigned char *smk_texture_object_texels(const smk_memory_view *view, const smk_texture *texture)
{
    const smk_allocation *found = smk_memory_view_find(view, texture->address);
    if (found == NULL || found->bytes - (texture->address - found->address) < count_bytes(texture)) {
        return NULL;
    }
    return found->host + (texture->address - found->address);
}
