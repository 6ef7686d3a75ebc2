#include "sim/exec/block_order.h"

#include "sim/code/program.h"

#include <string.h>

/* The allocation that a root points to in this launch; NULL where its value is no pointer. */
static const smk_allocation *find_allocation(const smk_image *image, const smk_image_root *root,
                                             const smk_launch *launch, const smk_memory_view *view)
{
    uint64_t address = 0;
    if (root->is_variable) {
        address = image->program->addresses[root->index];
    } else {
        memcpy(&address, (const unsigned char *)launch->parameters[root->index] + root->offset, sizeof address);
    }
    return smk_memory_view_find(view, address);
}

/* Can two sets of roots lead to one allocation? A set without a pointer can lead to any. */
static bool may_overlap(const smk_allocation *const *allocation, uint64_t a, uint64_t b)
{
    bool a_known = false, b_known = false;
    if (((a | b) & SMK_IMAGE_ANYWHERE) != 0) {
        return true;
    }
    for (unsigned i = 0; i < SMK_IMAGE_ROOTS_MAX; i++) {
        a_known = a_known || ((a >> i & 1) != 0 && allocation[i] != NULL);
        b_known = b_known || ((b >> i & 1) != 0 && allocation[i] != NULL);
        for (unsigned k = 0; k < SMK_IMAGE_ROOTS_MAX && (a >> i & 1) != 0 && allocation[i] != NULL; k++) {
            if ((b >> k & 1) != 0 && allocation[i] == allocation[k]) {
                return true;
            }
        }
    }
    return !a_known || !b_known;
}

bool smk_block_order_matters(const smk_image *image, const smk_launch *launch, const smk_memory_view *view)
{
    const smk_allocation *allocation[SMK_IMAGE_ROOTS_MAX] = {NULL};
    const smk_function *function = &image->module->functions[image->entry];
    if (image->ordered || image->update_count == 0 || launch->parameter_count != function->parameter_count) {
        return image->ordered;
    }
    for (uint32_t i = 0; i < image->root_count; i++) {
        allocation[i] = find_allocation(image, &image->root[i], launch, view);
    }
    for (uint32_t i = 0; i < image->update_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const smk_image_update *a = &image->update[i], *b = &image->update[k];
            if (a->kind != b->kind && may_overlap(allocation, a->roots, b->roots)) {
                return true;
            }
        }
    }
    return false;
}
