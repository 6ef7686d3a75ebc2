#include "sim/code/image.h"

#include "base/heap.h"
#include "ptx/opcode.h"

#include <stdlib.h>
#include <string.h>

/* By line of the PTX, which no allocation changes; then by address, since several variables may stand on one line. */
int smk_image_compare_shared(const void *a, const void *b)
{
    const smk_variable *first = ((const smk_shared_variable *)a)->variable;
    const smk_variable *second = ((const smk_shared_variable *)b)->variable;
    const uintptr_t x = (uintptr_t)first, y = (uintptr_t)second;
    return first->line != second->line ? (first->line > second->line) - (first->line < second->line)
                                       : (x > y) - (x < y);
}

const smk_shared_variable *smk_image_find_shared(const smk_image *image, const smk_variable *variable)
{
    smk_shared_variable key = {variable, 0};
    return image->shared_count == 0
               ? NULL
               : bsearch(&key, image->shared, image->shared_count, sizeof key, smk_image_compare_shared);
}

int64_t smk_image_signed_address(uint64_t address)
{
    return address <= UINT32_MAX ? (int32_t)(uint32_t)address : (int64_t)address;
}

uint64_t smk_image_shared_end(const smk_shared_variable *shared, uint64_t shared_bytes)
{
    uint64_t end = shared->variable->unsized ? shared_bytes : shared->offset + shared->variable->bytes;
    return end > shared->offset ? end : shared->offset; /* dynamic memory can lie behind all bytes of the block */
}

/* The first byte behind a variable is nearer to it than the byte before the next one. */
const smk_shared_variable *smk_image_nearest_shared(const smk_image *image, int64_t address, uint64_t shared_bytes)
{
    const smk_shared_variable *nearest = NULL;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < image->shared_count; i++) {
        const smk_shared_variable *shared = &image->shared[i];
        const int64_t start = shared->offset, end = (int64_t)smk_image_shared_end(shared, shared_bytes);
        const uint64_t distance = address < start  ? (uint64_t)start - (uint64_t)address
                                  : address >= end ? (uint64_t)address - (uint64_t)end + 1
                                                   : 0;
        if (distance <= least) {
            nearest = shared;
            least = distance;
        }
    }
    return nearest;
}

bool smk_image_is_reserved(const smk_image *image, uint64_t address)
{
    for (uint32_t i = 0; i < image->shared_count; i++) {
        const smk_shared_variable *shared = &image->shared[i];
        if (address - shared->offset < shared->variable->bytes &&
            smk_text_is(shared->variable->name, "__reserved_smem")) {
            return true;
        }
    }
    return false;
}

smk_text smk_image_source_name(smk_text name)
{
    if (name.length < 3 || memcmp(name.start, "_ZZ", 3) != 0) {
        return name;
    }
    for (size_t i = 3; i + 1 < name.length; i++) {
        size_t length = 0, at = i + 1;
        while (name.start[i] == 'E' && at < name.length && name.start[at] >= '0' && name.start[at] <= '9' &&
               length < name.length) {
            length = 10 * length + (size_t)(name.start[at++] - '0');
        }
        if (length > 0 && at + length == name.length) {
            return (smk_text){name.start + at, length};
        }
    }
    return name;
}

bool smk_image_is_block_scope(const smk_instruction *instruction)
{
    return smk_opcode_accesses(instruction) &&
           (instruction->space == SMK_SPACE_GLOBAL || instruction->space == SMK_SPACE_GENERIC) &&
           (smk_module_has(instruction, SMK_MODIFIER_CTA) || smk_module_has(instruction, SMK_MODIFIER_CLUSTER));
}

smk_code *smk_image_code(const smk_image *image, uint32_t function)
{
    uint32_t low = 0, high = image->code_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (image->code[middle]->index < function) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < image->code_count && image->code[low]->index == function ? image->code[low] : NULL;
}

void smk_image_free(smk_image *image)
{
    if (image != NULL) {
        smk_arena_free(&image->arena);
        smk_heap_free(image);
    }
}
