#include "registry/slabs.h"

#include <stdlib.h>
#include <string.h>

/* Slabs begin at multiples of GRANULE, which is one of the height of every tile, too. */
enum { GRANULE = 256, ALIGNMENT = 256, STEP_MIN = 16, HALO_PART = 4 };

typedef struct slabs_row {
    const char *family, *dimension, *halo, *except;
} slabs_row;

static const slabs_row rows[] = {
#define SMK_SLABS(family, dimension, halo, except, reason) {#family, dimension, halo, except},
#include "registry/slabs.def"
#undef SMK_SLABS
};

static const slabs_row *find_row(const char *family)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].family, family) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* The index of a dimension of that name; the number of dimensions where there is none. */
static size_t find_dimension(const smk_signature *signature, const char *name)
{
    size_t i = 0;
    while (i < signature->dimension_count && strcmp(signature->dimension[i], name) != 0) {
        i++;
    }
    return i;
}

static bool is_excepted(const smk_family *family, const smk_variant *variant, const slabs_row *row,
                        const int64_t *numbers)
{
    const smk_attribute *attribute = NULL;
    size_t number = 0;
    if (strcmp(row->except, variant->name) == 0) {
        return true;
    }
    for (size_t i = 0; row->except[0] != '\0' && (attribute = smk_registry_attribute(family->name, i)) != NULL; i++) {
        int64_t index = 0;
        if (attribute->kind != SMK_ATTRIBUTE_NUMBER) {
            continue;
        }
        if (smk_registry_lists(attribute->choices, row->except, &index) && numbers[number] == index) {
            return true;
        }
        number++;
    }
    return false;
}

int smk_slabs_axis(const smk_slabs *slabs, const smk_signature *signature, size_t operand)
{
    for (size_t i = 0; i < signature->rank[operand]; i++) {
        if (signature->axis[operand][i] == slabs->dimension) {
            return (int)i;
        }
    }
    return -1;
}

/* The bytes of all cut operands for each index of the dimension. */
static double measure_slice(const smk_slabs *slabs, const smk_signature *signature, const int64_t *dimensions,
                            const size_t *item_bytes)
{
    double sum = 0.0;
    for (size_t i = 0; i < signature->input_count + signature->output_count; i++) {
        double bytes = (double)item_bytes[i];
        for (size_t j = 0; j < signature->rank[i]; j++) {
            bytes *= signature->axis[i][j] == slabs->dimension ? 1.0 : (double)dimensions[signature->axis[i][j]];
        }
        sum += smk_slabs_axis(slabs, signature, i) >= 0 ? bytes : 0.0;
    }
    return sum;
}

static int64_t round_up(int64_t value, int64_t step)
{
    return (value + step - 1) / step * step;
}

/* The smallest power of 2 of indices of the dimension, from STEP_MIN on, whose bytes are a multiple of ALIGNMENT in every
 * cut input. */
static int64_t find_step(const smk_slabs *slabs, const smk_signature *signature, const int64_t *dimensions,
                         const size_t *item_bytes)
{
    uint64_t bits = ALIGNMENT; /* its lowest one is that of all the products together */
    for (size_t i = 0; i < signature->input_count; i++) {
        uint64_t bytes = item_bytes[i];
        for (size_t j = 1; j < signature->rank[i]; j++) {
            bytes *= (uint64_t)dimensions[signature->axis[i][j]];
        }
        bits |= smk_slabs_axis(slabs, signature, i) == 0 ? bytes : 0;
    }
    const int64_t step = (int64_t)(ALIGNMENT / (bits & (~bits + 1)));
    return step < STEP_MIN ? STEP_MIN : step;
}

void smk_slabs_cut(const smk_family *family, const smk_variant *variant, const smk_signature *signature,
                   const int64_t *dimensions, const int64_t *numbers, const size_t *item_bytes, uint64_t slab_bytes,
                   smk_slabs *slabs)
{
    const slabs_row *row = find_row(family->name);
    *slabs = (smk_slabs){.count = 0};
    if (row == NULL || is_excepted(family, variant, row, numbers)) {
        return;
    }
    slabs->dimension = find_dimension(signature, row->dimension);
    const size_t halo_dimension = find_dimension(signature, row->halo);
    const int64_t whole = dimensions[slabs->dimension];
    const int64_t reach =
        halo_dimension < signature->dimension_count ? dimensions[halo_dimension] : (int64_t)atoi(row->halo);
    const double bytes = measure_slice(slabs, signature, dimensions, item_bytes) * (double)whole;
    const double wanted = bytes / (double)slab_bytes;
    const int64_t pieces = wanted > SMK_SLABS_MAX ? SMK_SLABS_MAX : (int64_t)wanted;
    if (pieces < 2 || reach > whole) {
        return;
    }
    const int64_t halo = round_up(reach, find_step(slabs, signature, dimensions, item_bytes));
    const int64_t count = round_up(whole / pieces + (whole % pieces != 0), GRANULE);
    if (count >= whole || halo > count / HALO_PART) {
        return; /* more would be computed twice than the overlap of copies gains */
    }
    for (int64_t first = 0; first < whole; first += count) {
        const int64_t end = first + count < whole ? first + count : whole;
        const int64_t from = first > halo ? first - halo : 0, to = end + halo < whole ? end + halo : whole;
        slabs->slab[slabs->count++] = (smk_slab){from, to - from, first, end - first};
    }
}
