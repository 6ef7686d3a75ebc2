#include "py/arrays/strided_copy.h"

#include "py/backends/package_kernels.h"
#include "py/error.h"

#include <stdio.h>

enum {
    AXES_MAX = 8,       /* as csrc/kernels/array has it */
    UNIT_MAX = 8,       /* bytes of the largest element that the kernels move */
    ROW_MIN = 256,      /* elements of a row that is worth a block */
    TILE_SIDE_MIN = 16, /* elements of a side that is worth a tile */
    PARAMETERS_MAX = 5,
};

/* A block of array/rows or array/tiles moves 256 elements or more, and there are fewer than 2^31 blocks. */
#define ELEMENTS_MAX ((npy_intp)INT32_MAX * 256)

typedef struct kernel_layout {
    long long length[AXES_MAX], to[AXES_MAX], from[AXES_MAX];
    int rank;
} kernel_layout;

typedef struct axis {
    npy_intp length, to, from; /* strides in bytes; that of the target is not negative */
} axis;

/* What is copied, with the axes that are left where neighbours are joined: that of the longest stride of the target comes
 * first. */
typedef struct copy_shape {
    axis axes[NPY_MAXDIMS + 1];
    int rank;
    uint64_t to, from; /* addresses */
    npy_intp unit;     /* bytes that a thread moves at once */
} copy_shape;

typedef struct copy_job {
    const smk_backend *backend;
    const smk_variant *variant;
    smk_backend_code *code;
    const char *entry;
} copy_job;

static npy_intp size_of(npy_intp stride)
{
    return stride < 0 ? -stride : stride;
}

/* Puts an axis behind those with longer strides of the target. */
static void insert_axis(copy_shape *shape, axis added)
{
    int place = shape->rank++;
    for (; place > 0 && shape->axes[place - 1].to < added.to; place--) {
        shape->axes[place] = shape->axes[place - 1];
    }
    shape->axes[place] = added;
}

/* Takes the axes in an order that serves the target, which may be walked backwards where that is forwards in memory. */
static void take_axes(const smk_array *to, const smk_array *from, copy_shape *shape)
{
    *shape = (copy_shape){.to = to->address, .from = from->address};
    for (int i = 0; i < to->rank; i++) {
        axis taken = {to->shape[i], to->strides[i], from->strides[i]};
        if (taken.length == 1) {
            continue;
        }
        if (taken.to < 0) {
            shape->to += (uint64_t)((taken.length - 1) * taken.to);
            shape->from += (uint64_t)((taken.length - 1) * taken.from);
            taken.to = -taken.to;
            taken.from = -taken.from;
        }
        insert_axis(shape, taken);
    }
}

/* Joins each axis with the one before where both arrays continue along it. */
static void join_axes(copy_shape *shape)
{
    int rank = 0;
    for (int i = 0; i < shape->rank; i++) {
        const axis next = shape->axes[i];
        axis *last = rank > 0 ? &shape->axes[rank - 1] : NULL;
        if (last != NULL && last->to == next.length * next.to && last->from == next.length * next.from) {
            *last = (axis){last->length * next.length, next.to, next.from};
        } else {
            shape->axes[rank++] = next;
        }
    }
    shape->rank = rank;
}

/* Chooses the largest unit that divides all addresses and strides. An axis along which both arrays are contiguous is a
 * run of bytes, so its unit may be larger than an element. */
static void choose_unit(copy_shape *shape, npy_intp item_bytes)
{
    axis *run = shape->rank > 0 ? &shape->axes[shape->rank - 1] : NULL;
    if (run == NULL || run->to != item_bytes || run->from != item_bytes) {
        run = &shape->axes[shape->rank++]; /* the bytes of an element */
        *run = (axis){1, item_bytes, item_bytes};
    }
    const npy_intp bytes = run->length * item_bytes;
    uint64_t bits = UNIT_MAX | (uint64_t)bytes | shape->to | shape->from;
    for (const axis *other = shape->axes; other < run; other++) {
        bits |= (uint64_t)other->to | (uint64_t)other->from;
    }
    shape->unit = (npy_intp)(bits & (~bits + 1));
    *run = (axis){bytes / shape->unit, shape->unit, shape->unit};
    shape->rank -= run->length == 1 && shape->rank > 1;
}

/* Kernels ----------------------------------------------------------------------------------------- */

/* The product of the lengths of the first axes. */
static npy_intp count_elements(const copy_shape *shape, int axes)
{
    npy_intp count = 1;
    for (int i = 0; i < axes; i++) {
        count *= shape->axes[i].length;
    }
    return count;
}

/* Puts the axes last that array/tiles turns: that of the source, then that of the target. False where there are no two
 * such axes, or too short ones. */
static bool find_tiles(copy_shape *shape)
{
    const int target = shape->rank - 1;
    int source = 0; /* of its shortest stride */
    for (int i = 1; i < shape->rank; i++) {
        source = size_of(shape->axes[i].from) < size_of(shape->axes[source].from) ? i : source;
    }
    const axis across = shape->axes[source], down = shape->axes[target];
    if (source == target || size_of(across.from) != shape->unit || down.to != shape->unit ||
        across.length < TILE_SIDE_MIN || down.length < TILE_SIDE_MIN) {
        return false;
    }
    for (int i = source; i < target - 1; i++) {
        shape->axes[i] = shape->axes[i + 1];
    }
    shape->axes[target - 1] = across;
    return true;
}

static npy_intp count_parts(npy_intp length, uint32_t part)
{
    return (length + (npy_intp)part - 1) / (npy_intp)part;
}

/* Launches ---------------------------------------------------------------------------------------- */

static smk_status launch(const copy_job *job, const copy_shape *shape, npy_intp blocks, void **parameters, size_t count,
                         smk_error *error)
{
    kernel_layout layout = {.rank = shape->rank};
    for (int i = 0; i < shape->rank; i++) {
        layout.length[i] = shape->axes[i].length;
        layout.to[i] = shape->axes[i].to / shape->unit;
        layout.from[i] = shape->axes[i].from / shape->unit;
    }
    parameters[count++] = &layout;
    const smk_launch one = {
        .grid = {(uint32_t)blocks, 1, 1},
        .block = {job->variant->block_x, job->variant->block_y, 1},
        .parameters = parameters,
        .parameter_count = count,
    };
    const smk_run_options options = {.max_steps = UINT64_MAX};
    return job->backend->launch(job->code, job->entry, &one, &options, error);
}

static smk_status launch_tiles(const copy_job *job, const copy_shape *shape, smk_error *error)
{
    const npy_intp across = count_parts(shape->axes[shape->rank - 2].length, job->variant->tile_x);
    const npy_intp down = count_parts(shape->axes[shape->rank - 1].length, job->variant->tile_y);
    uint64_t to = shape->to, from = shape->from;
    unsigned tiles[] = {(unsigned)across, (unsigned)down};
    void *parameters[PARAMETERS_MAX] = {&to, &from, &tiles[0], &tiles[1]};
    return launch(job, shape, across * down * count_elements(shape, shape->rank - 2), parameters, 4, error);
}

static smk_status launch_rows(const copy_job *job, const copy_shape *shape, smk_error *error)
{
    const npy_intp pieces = count_parts(shape->axes[shape->rank - 1].length, job->variant->tile_x);
    uint64_t to = shape->to, from = shape->from;
    unsigned number = (unsigned)pieces;
    void *parameters[PARAMETERS_MAX] = {&to, &from, &number};
    return launch(job, shape, pieces * count_elements(shape, shape->rank - 1), parameters, 3, error);
}

/* Launches once where the kernel takes all axes, else for each place along the first of them. */
static smk_status launch_copies(const copy_job *job, const copy_shape *shape, smk_error *error)
{
    smk_status status = SMK_OK;
    if (shape->rank <= AXES_MAX) {
        uint64_t to = shape->to, from = shape->from;
        long long count = count_elements(shape, shape->rank);
        void *parameters[PARAMETERS_MAX] = {&to, &from, &count};
        return launch(job, shape, count_parts((npy_intp)count, job->variant->tile_x), parameters, 3, error);
    }
    copy_shape part = *shape;
    part.rank--;
    for (int i = 0; i < part.rank; i++) {
        part.axes[i] = shape->axes[i + 1];
    }
    for (npy_intp i = 0; i < shape->axes[0].length && status == SMK_OK; i++) {
        part.to = shape->to + (uint64_t)(i * shape->axes[0].to);
        part.from = shape->from + (uint64_t)(i * shape->axes[0].from);
        status = launch_copies(job, &part, error);
    }
    return status;
}

typedef smk_status (*launcher)(const copy_job *job, const copy_shape *shape, smk_error *error);

/* Chooses the kernel; its launcher, and its variant by name. */
static launcher choose(copy_shape *shape, const char **variant)
{
    const bool fits = shape->rank <= AXES_MAX && count_elements(shape, shape->rank) <= ELEMENTS_MAX;
    if (fits && find_tiles(shape)) {
        *variant = "tiles";
        return launch_tiles;
    }
    if (fits && shape->axes[shape->rank - 1].length >= ROW_MIN) {
        *variant = "rows";
        return launch_rows;
    }
    *variant = "copy";
    return launch_copies;
}

static smk_status run(const smk_state *state, const smk_array *to, const smk_array *from, smk_error *error)
{
    smk_kernel_binary *binary = NULL;
    copy_shape shape;
    const char *variant = NULL;
    char entry[32], type[16];
    int before = 0;
    take_axes(to, from, &shape);
    join_axes(&shape);
    choose_unit(&shape, PyDataType_ELSIZE(to->descr));
    const launcher launch_it = choose(&shape, &variant);
    copy_job job = {.backend = to->backend, .entry = entry};
    (void)snprintf(type, sizeof type, "bits%d", 8 * (int)shape.unit);
    smk_status status = smk_registry_select("array", variant, type, &job.variant, error);
    if (status == SMK_OK) {
        smk_registry_entry(job.variant, "", "", type, entry, sizeof entry);
        status = smk_package_kernels_get(state, job.variant, &binary, error);
    }
    if (status == SMK_OK) {
        status = smk_backend_enter(to->backend, to->device, &before, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    status = smk_kernel_binary_code(binary, to->backend, entry, &job.code, error);
    if (status == SMK_OK) {
        status = launch_it(&job, &shape, error);
    }
    smk_backend_leave(to->backend, to->device, before);
    return status;
}

int smk_strided_copy_run(const smk_state *state, const smk_array *to, const smk_array *from)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    Py_BEGIN_ALLOW_THREADS
    status = run(state, to, from, &error);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}
