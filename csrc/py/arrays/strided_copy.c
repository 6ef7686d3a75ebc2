#include "py/arrays/strided_copy.h"

#include "py/error.h"

#include <stdio.h>
#include <string.h>

enum {
    UNIT_MAX = 16,      /* bytes of the largest element that the kernels move */
    ROW_MIN = 256,      /* elements of a row that is worth a block */
    TILE_SIDE_MIN = 16, /* elements of a side that is worth a tile */
    SQUARES_MIN = 48,   /* the same of array/squares, whose edges go by elements */
};

/* A block of array/rows or array/tiles moves 256 elements or more, and there are fewer than 2^31 blocks. */
#define ELEMENTS_MAX ((npy_intp)INT32_MAX * 256)

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

/* Elements of a vector of array/squares: 4, 8 or 16 bytes. */
static npy_intp count_lanes(npy_intp unit)
{
    return unit < UNIT_MAX / 2 ? 4 : UNIT_MAX / unit;
}

/* Do the addresses of tiles that find_tiles found, their sides, and all strides but those of contiguous axes, suit
 * vectors? */
static bool suits_vectors(const copy_shape *shape)
{
    const uint64_t bytes = (uint64_t)(count_lanes(shape->unit) * shape->unit);
    const axis across = shape->axes[shape->rank - 2], down = shape->axes[shape->rank - 1];
    uint64_t bits = shape->to | shape->from;
    for (int i = 0; i < shape->rank; i++) {
        bits |= i == shape->rank - 1 ? 0 : (uint64_t)shape->axes[i].to;
        bits |= i == shape->rank - 2 ? 0 : (uint64_t)shape->axes[i].from;
    }
    return bits % bytes == 0 && across.from > 0 && across.length >= SQUARES_MIN && down.length >= SQUARES_MIN;
}

static npy_intp count_parts(npy_intp length, uint32_t part)
{
    return (length + (npy_intp)part - 1) / (npy_intp)part;
}

/* Launches ---------------------------------------------------------------------------------------- */

/* Adds a parameter. It points into `copy`, which must not move. */
static void add_parameter(smk_strided_copy *copy, void *value)
{
    copy->parameters[copy->launch.parameter_count++] = value;
}

/* The blocks of array/tiles or array/squares, whose tiles have this side. */
static npy_intp prepare_turned(smk_strided_copy *copy, const copy_shape *shape, uint32_t side)
{
    const npy_intp across = count_parts(shape->axes[shape->rank - 2].length, side);
    const npy_intp down = count_parts(shape->axes[shape->rank - 1].length, side);
    copy->number[0] = (unsigned)across;
    copy->number[1] = (unsigned)down;
    add_parameter(copy, &copy->number[0]);
    add_parameter(copy, &copy->number[1]);
    return across * down * count_elements(shape, shape->rank - 2);
}

/* Tiles of the largest elements have half the row's side, as in the kernel. */
static npy_intp prepare_tiles(smk_strided_copy *copy, const copy_shape *shape)
{
    return prepare_turned(copy, shape, copy->variant->tile_x / (shape->unit == UNIT_MAX ? 2 : 1));
}

/* The same, and those of single bytes have twice as much. */
static npy_intp prepare_squares(smk_strided_copy *copy, const copy_shape *shape)
{
    const uint32_t side = copy->variant->tile_x;
    return prepare_turned(copy, shape, shape->unit == 1 ? 2 * side : shape->unit == UNIT_MAX ? side / 2 : side);
}

static npy_intp prepare_rows(smk_strided_copy *copy, const copy_shape *shape)
{
    const npy_intp pieces = count_parts(shape->axes[shape->rank - 1].length, copy->variant->tile_x);
    copy->number[0] = (unsigned)pieces;
    add_parameter(copy, &copy->number[0]);
    return pieces * count_elements(shape, shape->rank - 1);
}

static npy_intp prepare_copy(smk_strided_copy *copy, const copy_shape *shape)
{
    copy->count = (long long)count_elements(shape, shape->rank);
    add_parameter(copy, &copy->count);
    return count_parts((npy_intp)copy->count, copy->variant->tile_x);
}

/* Adds what a kernel takes between the arrays and the layout; returns the number of blocks. */
typedef npy_intp (*preparer)(smk_strided_copy *copy, const copy_shape *shape);

/* Chooses the kernel by what the axes are; its variant by name. */
static preparer choose(copy_shape *shape, const char **variant)
{
    const bool fits = count_elements(shape, shape->rank) <= ELEMENTS_MAX;
    if (fits && find_tiles(shape)) {
        const bool by_vectors = suits_vectors(shape);
        *variant = by_vectors ? "squares" : "tiles";
        return by_vectors ? prepare_squares : prepare_tiles;
    }
    if (fits && shape->axes[shape->rank - 1].length >= ROW_MIN) {
        *variant = "rows";
        return prepare_rows;
    }
    *variant = "copy";
    return prepare_copy;
}

/* The launch for at most AXES_MAX axes. */
static smk_status prepare(copy_shape *shape, smk_strided_copy *copy, smk_error *error)
{
    const char *variant = NULL;
    char type[16];
    const preparer add = choose(shape, &variant);
    *copy = (smk_strided_copy){.to = shape->to, .from = shape->from, .layout = {.rank = shape->rank}};
    (void)snprintf(type, sizeof type, "bits%d", 8 * (int)shape->unit);
    smk_status status = smk_registry_select("array", variant, type, &copy->variant, error);
    if (status != SMK_OK) {
        return status;
    }
    smk_registry_entry(copy->variant, "", "", type, copy->entry, sizeof copy->entry);
    for (int i = 0; i < shape->rank; i++) {
        copy->layout.length[i] = shape->axes[i].length;
        copy->layout.to[i] = shape->axes[i].to / shape->unit;
        copy->layout.from[i] = shape->axes[i].from / shape->unit;
    }
    add_parameter(copy, &copy->to);
    add_parameter(copy, &copy->from);
    copy->launch.grid = (smk_dim3){(uint32_t)add(copy, shape), 1, 1};
    copy->launch.block = (smk_dim3){copy->variant->block_x, copy->variant->block_y, 1};
    add_parameter(copy, &copy->layout);
    copy->launch.parameters = copy->parameters;
    return SMK_OK;
}

static void simplify(const smk_array *to, const smk_array *from, copy_shape *shape)
{
    take_axes(to, from, shape);
    join_axes(shape);
    choose_unit(shape, PyDataType_ELSIZE(to->descr));
}

smk_status smk_strided_copy_prepare(const smk_array *to, const smk_array *from, smk_strided_copy *copy,
                                    smk_error *error)
{
    copy_shape shape;
    simplify(to, from, &shape);
    if (shape.rank > SMK_STRIDED_COPY_AXES) {
        return smk_status_fail(error, SMK_SHAPE, "transpose: %d axes change places, at most %d can in one call",
                               shape.rank, SMK_STRIDED_COPY_AXES);
    }
    return prepare(&shape, copy, error);
}

/* Launches once where a kernel takes all axes, else for each place along the first of them. */
static smk_status launch(const smk_state *state, const smk_backend *backend, copy_shape *shape, smk_error *error)
{
    const smk_run_options options = {.max_steps = UINT64_MAX};
    smk_status status = SMK_OK;
    if (shape->rank <= SMK_STRIDED_COPY_AXES) {
        smk_strided_copy copy;
        smk_kernel_binary *binary = NULL;
        smk_backend_code *code = NULL;
        status = prepare(shape, &copy, error);
        status = status != SMK_OK ? status : smk_package_kernels_get(state, copy.variant, &binary, error);
        status = status != SMK_OK ? status : smk_kernel_binary_code(binary, backend, copy.entry, &code, error);
        return status != SMK_OK ? status : backend->launch(code, copy.entry, &copy.launch, &options, error);
    }
    for (npy_intp i = 0; i < shape->axes[0].length && status == SMK_OK; i++) {
        copy_shape part = *shape;
        part.rank--;
        memmove(part.axes, shape->axes + 1, (size_t)part.rank * sizeof part.axes[0]);
        part.to = shape->to + (uint64_t)(i * shape->axes[0].to);
        part.from = shape->from + (uint64_t)(i * shape->axes[0].from);
        status = launch(state, backend, &part, error);
    }
    return status;
}

static smk_status run(const smk_state *state, const smk_array *to, const smk_array *from, smk_error *error)
{
    copy_shape shape;
    int before = 0;
    simplify(to, from, &shape);
    smk_status status = smk_backend_enter(to->backend, to->device, &before, error);
    if (status == SMK_OK) {
        status = launch(state, to->backend, &shape, error);
        smk_backend_leave(to->backend, to->device, before);
    }
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
