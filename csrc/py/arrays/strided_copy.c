#include "py/arrays/strided_copy.h"

#include "py/backends/package_kernels.h"
#include "py/error.h"

#include <stdio.h>

enum { AXES_MAX = 8 }; /* as csrc/kernels/array/copy.cu has it */

typedef struct kernel_layout {
    long long length[AXES_MAX], to[AXES_MAX], from[AXES_MAX];
    int rank;
} kernel_layout;

/* The axes that are left where neighbours are joined; strides in bytes. */
typedef struct joined_axes {
    npy_intp length[NPY_MAXDIMS + 1], to[NPY_MAXDIMS + 1], from[NPY_MAXDIMS + 1];
    int rank;
} joined_axes;

typedef struct copy_job {
    const smk_backend *backend;
    const smk_variant *variant;
    smk_backend_code *code;
    const char *entry;
    unsigned unit; /* bytes that a thread moves at once */
} copy_job;

/* Joins each axis with the one before where both arrays continue along it. */
static void join_axes(const smk_array *to, const smk_array *from, joined_axes *axes)
{
    axes->rank = 0;
    for (int i = 0; i < to->rank; i++) {
        const int last = axes->rank - 1;
        if (to->shape[i] == 1) {
            continue;
        }
        if (last >= 0 && axes->to[last] == to->shape[i] * to->strides[i] &&
            axes->from[last] == to->shape[i] * from->strides[i]) {
            axes->length[last] *= to->shape[i];
            axes->to[last] = to->strides[i];
            axes->from[last] = from->strides[i];
            continue;
        }
        axes->length[axes->rank] = to->shape[i];
        axes->to[axes->rank] = to->strides[i];
        axes->from[axes->rank] = from->strides[i];
        axes->rank++;
    }
}

/* The largest power of 2 up to 8 that divides the size of an element, both addresses and all strides. */
static unsigned choose_unit(const smk_array *to, const smk_array *from, const joined_axes *axes)
{
    uint64_t bits = 8 | (uint64_t)PyDataType_ELSIZE(to->descr) | to->address | from->address;
    for (int i = 0; i < axes->rank; i++) {
        bits |= (uint64_t)axes->to[i] | (uint64_t)axes->from[i];
    }
    return (unsigned)(bits & (~bits + 1));
}

/* An element of several units is one more axis. */
static void add_units(const smk_array *to, unsigned unit, joined_axes *axes)
{
    const npy_intp units = PyDataType_ELSIZE(to->descr) / (npy_intp)unit;
    if (units > 1 || axes->rank == 0) {
        axes->length[axes->rank] = units;
        axes->to[axes->rank] = axes->from[axes->rank] = (npy_intp)unit;
        axes->rank++;
    }
}

static smk_status launch(const copy_job *job, const joined_axes *axes, int first, uint64_t to, uint64_t from,
                         smk_error *error)
{
    kernel_layout layout = {.rank = axes->rank - first};
    long long count = 1;
    for (int i = first; i < axes->rank; i++) {
        layout.length[i - first] = axes->length[i];
        layout.to[i - first] = axes->to[i] / (npy_intp)job->unit;
        layout.from[i - first] = axes->from[i] / (npy_intp)job->unit;
        count *= axes->length[i];
    }
    void *parameters[] = {&to, &from, &count, &layout};
    const smk_launch one = {
        .grid = {(uint32_t)((count + job->variant->tile_x - 1) / job->variant->tile_x), 1, 1},
        .block = {job->variant->block_x, 1, 1},
        .parameters = parameters,
        .parameter_count = sizeof parameters / sizeof parameters[0],
    };
    const smk_run_options options = {.max_steps = UINT64_MAX};
    return job->backend->launch(job->code, job->entry, &one, &options, error);
}

/* Launches once where the kernel takes all axes from `first` on, else for each place along the first of them. */
static smk_status launch_all(const copy_job *job, const joined_axes *axes, int first, uint64_t to, uint64_t from,
                             smk_error *error)
{
    smk_status status = SMK_OK;
    if (axes->rank - first <= AXES_MAX) {
        return launch(job, axes, first, to, from, error);
    }
    for (npy_intp i = 0; i < axes->length[first] && status == SMK_OK; i++) {
        status = launch_all(job, axes, first + 1, to + (uint64_t)(i * axes->to[first]),
                            from + (uint64_t)(i * axes->from[first]), error);
    }
    return status;
}

static smk_status run(const smk_state *state, const smk_array *to, const smk_array *from, smk_error *error)
{
    smk_kernel_binary *binary = NULL;
    joined_axes axes;
    char entry[32], type[16];
    int before = 0;
    join_axes(to, from, &axes);
    copy_job job = {.backend = to->backend, .entry = entry, .unit = choose_unit(to, from, &axes)};
    add_units(to, job.unit, &axes);
    (void)snprintf(type, sizeof type, "bits%u", 8 * job.unit);
    smk_status status = smk_registry_select("array", "copy", type, &job.variant, error);
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
        status = launch_all(&job, &axes, 0, to->address, from->address, error);
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
