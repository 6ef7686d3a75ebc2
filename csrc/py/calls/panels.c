/* A product c = a @ b over several devices.
 *
 * Each device computes some rows of c, a panel, from the same rows of a and from all of b. What of them lives on the
 * device is used in place. The rest comes in pieces by copies on a stream of their own, while the device multiplies the
 * piece before: pieces of the columns of b and of c, or of the rows of a and of c where b is in place. Pieces of c that
 * do not live on the device go to their place by copies on a third stream. The first piece is small, since nothing
 * hides its copy; later ones grow, and the last one is small again, since nothing hides the copy of its result.
 *
 * Of NumPy operands b goes to the first device, and from there to the others as above. The rows of a go to their devices
 * directly, each while the devices before it multiply, and the rows of c come back directly.
 */
#include "py/calls/panels.h"

#include "py/arrays/array.h"
#include "py/arrays/transfer.h"
#include "py/backends/device.h"
#include "py/backends/selection.h"
#include "py/calls/family_plan.h"
#include "py/calls/family_run.h"
#include "py/error.h"

#include "base/heap.h"

enum { PIECES_MAX = 5, GRANULE_MAX = 128, GRANULES_MIN = 4, OPERANDS = 3 };
enum { OPERAND_A, OPERAND_B, OPERAND_OUT };

/* Lengths of the pieces in parts of 16. */
static const int piece_parts[PIECES_MAX] = {1, 2, 4, 8, 1};

typedef struct range {
    npy_intp first, count;
} range;

/* A device's part of the product. The arrays are owned. */
typedef struct panel {
    int device;
    smk_array *operand[OPERANDS]; /* a, b and out: whole, or of NumPy operands this panel's rows of a and out */
    npy_intp first;               /* the panel's first row in a and out */
    bool in_place[OPERANDS];
    bool by_columns;
    range rows;
    range piece[PIECES_MAX]; /* of the columns, or of the panel's rows */
    size_t pieces;
    npy_intp rows_fetched; /* of a */
    smk_array *a;          /* the panel's rows */
    smk_array *b[PIECES_MAX], *out[PIECES_MAX];
    uint64_t streams[2]; /* for copies to the device and from it */
} panel;

typedef struct product {
    const smk_family_call *call;
    const char *variant;
    const smk_backend *backend;
    npy_intp rows, depth, columns; /* of a and out; of b; of b and out */
    panel *panels;
    size_t count;
} product;

/* Devices ----------------------------------------------------------------------------------------- */

/* Reads one device of the list; all of them, and the arrays of the call, are of one machine. */
static int read_device(smk_family_call *call, PyObject *item, PyObject *backend, int *number)
{
    const char *family = call->family->name;
    const smk_backend *named = NULL;
    if (smk_device_read(call->state, family, item, &named, number) < 0) {
        return -1;
    }
    if (call->backend == NULL && smk_device_choose(call->state, family, item, backend, &call->backend, number) < 0) {
        return -1;
    }
    if (named != NULL && named != call->backend) {
        smk_error_fail(call->state, SMK_ARGUMENT, "%s: devices has %R, and the call is for '%s'", family, item,
                       call->backend->name);
        return -1;
    }
    if (*number == SMK_DEVICE_PRESENT) {
        smk_error error = {0};
        if (smk_backend_device(call->backend, number, &error) != SMK_OK) {
            smk_error_raise(call->state, &error);
            return -1;
        }
    }
    return smk_device_check(call->state, family, call->backend, *number);
}

/* Checks that all device arrays are of one machine, which becomes that of the call. */
static int choose_machine(smk_family_call *call, PyObject *backend)
{
    const smk_backend *named = NULL;
    if (backend != NULL && smk_selection_choose(call->state, backend, &named) < 0) {
        return -1;
    }
    for (size_t i = 0; call->on_device && i <= call->inputs; i++) {
        const smk_array *array = smk_array_cast(call->state, i < call->inputs ? call->operands[i] : call->out);
        named = named == NULL ? array->backend : named;
        if (array != NULL && array->backend != named) {
            smk_error_fail(call->state, SMK_ARGUMENT, "%s: %s lives on '%s', the call is for '%s'", call->family->name,
                           smk_family_call_name(call, i), array->backend->name, named->name);
            return -1;
        }
    }
    call->backend = named;
    return 0;
}

int smk_panels_choose(smk_family_call *call, PyObject *devices, PyObject *backend, smk_panels_devices *chosen)
{
    const char *family = call->family->name;
    PyObject *list = NULL;
    int status = -1;
    if (!PyList_Check(devices) && !PyTuple_Check(devices)) {
        smk_error_fail(call->state, SMK_TYPE, "%s: devices must be a list or a tuple of devices, not %.100s", family,
                       Py_TYPE(devices)->tp_name);
        return -1;
    }
    list = PySequence_Tuple(devices);
    if (list == NULL || choose_machine(call, backend) < 0) {
        goto done;
    }
    chosen->count = (size_t)PyTuple_GET_SIZE(list);
    chosen->numbers = smk_heap_allocate(chosen->count + 1, sizeof *chosen->numbers);
    if (chosen->count == 0 || chosen->numbers == NULL) {
        smk_error_fail(call->state, chosen->count == 0 ? SMK_ARGUMENT : SMK_MEMORY,
                       chosen->count == 0 ? "%s: devices is empty" : "%s: no memory left", family);
        goto done;
    }
    status = 0;
    for (size_t i = 0; status == 0 && i < chosen->count; i++) {
        status = read_device(call, PyTuple_GET_ITEM(list, (Py_ssize_t)i), backend, &chosen->numbers[i]);
    }
done:
    Py_XDECREF(list);
    return status;
}

/* Division ---------------------------------------------------------------------------------------- */

/* Boundaries between parts are multiples of this, a tile where the parts are long enough. */
static npy_intp find_granule(npy_intp length, npy_intp parts)
{
    npy_intp granule = GRANULE_MAX;
    while (granule > 1 && length < granule * parts * GRANULES_MIN) {
        granule /= 2;
    }
    return granule;
}

static npy_intp round_up(npy_intp value, npy_intp granule, npy_intp most)
{
    const npy_intp rounded = (value + granule - 1) / granule * granule;
    return rounded < most ? rounded : most;
}

/* The rows of panel i of `count`. */
static range divide_rows(npy_intp rows, size_t i, size_t count)
{
    const npy_intp parts = (npy_intp)count, granule = find_granule(rows, parts);
    const npy_intp share = rows / parts, rest = rows % parts, k = (npy_intp)i;
    const npy_intp first = round_up(share * k + rest * k / parts, granule, rows);
    const npy_intp end = round_up(share * (k + 1) + rest * (k + 1) / parts, granule, rows);
    return (range){first, end - first};
}

/* Divides a panel's columns or rows into pieces; a single one where nothing has to be copied. */
static void divide_pieces(panel *p, npy_intp columns)
{
    enum { PARTS = 16 };
    const npy_intp length = p->by_columns ? columns : p->rows.count, granule = find_granule(length, PARTS);
    const bool whole = p->in_place[OPERAND_A] && p->in_place[OPERAND_B] && p->in_place[OPERAND_OUT];
    npy_intp first = 0;
    int parts = 0;
    for (size_t i = 0; i < PIECES_MAX && !whole; i++) {
        parts += piece_parts[i];
        const npy_intp end = round_up(length / PARTS * parts + length % PARTS * parts / PARTS, granule, length);
        if (end > first) {
            p->piece[p->pieces++] = (range){first, end - first};
        }
        first = end;
    }
    if (whole && length > 0) {
        p->piece[p->pieces++] = (range){0, length};
    }
}

/* Arrays ------------------------------------------------------------------------------------------ */

/* A view of rows of a contiguous matrix. A new reference, or NULL with an exception set. */
static smk_array *view_rows(const smk_family_call *call, smk_array *matrix, range rows)
{
    const npy_intp shape[2] = {rows.count, matrix->shape[1]};
    const smk_array_layout layout = {matrix->descr, 2, shape, NULL};
    const npy_intp offset = rows.first * matrix->shape[1] * PyDataType_ELSIZE(matrix->descr);
    return smk_array_wrap(call->state, matrix->backend, matrix->device, (PyObject *)matrix,
                          matrix->address + (uint64_t)offset, &layout);
}

/* target[first:first + count] of a NumPy array, a new reference. */
static PyObject *take_rows(PyObject *target, range rows)
{
    PyObject *first = PyLong_FromSsize_t(rows.first), *last = PyLong_FromSsize_t(rows.first + rows.count);
    PyObject *slice = first == NULL || last == NULL ? NULL : PySlice_New(first, last, NULL);
    PyObject *view = slice == NULL ? NULL : PyObject_GetItem(target, slice);
    Py_XDECREF(first);
    Py_XDECREF(last);
    Py_XDECREF(slice);
    return view;
}

static smk_array *create_matrix(const product *work, const panel *p, npy_intp rows, npy_intp columns)
{
    const npy_intp shape[2] = {rows, columns};
    return smk_array_create(work->call->state, work->call->family->name, work->backend, p->device,
                            work->call->result_descr, 2, shape);
}

/* Makes all arrays of a panel before its first launch: memory that is allocated behind a launch may be used behind it
 * alone. Returns 0, or -1 with an exception set. */
static int create_arrays(const product *work, panel *p)
{
    const range own = {p->first, p->rows.count};
    if (p->operand[OPERAND_A] != NULL) { /* NULL: it is uploaded later */
        p->a = p->in_place[OPERAND_A] ? view_rows(work->call, p->operand[OPERAND_A], own)
                                      : create_matrix(work, p, p->rows.count, work->depth);
        if (p->a == NULL) {
            return -1;
        }
    }
    for (size_t i = 0; i < p->pieces; i++) {
        const range piece = p->piece[i];
        const range rows = p->by_columns ? own : (range){p->first + piece.first, piece.count};
        const npy_intp width = p->by_columns ? piece.count : work->columns;
        p->b[i] = p->in_place[OPERAND_B] ? (smk_array *)Py_NewRef((PyObject *)p->operand[OPERAND_B])
                                         : create_matrix(work, p, work->depth, width);
        p->out[i] = p->in_place[OPERAND_OUT] && width == work->columns
                        ? view_rows(work->call, p->operand[OPERAND_OUT], rows)
                        : create_matrix(work, p, rows.count, width);
        if (p->b[i] == NULL || p->out[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

static void release_arrays(panel *p)
{
    Py_CLEAR(p->a);
    for (size_t i = 0; i < PIECES_MAX; i++) {
        Py_CLEAR(p->b[i]);
        Py_CLEAR(p->out[i]);
    }
    for (int j = 0; j < OPERANDS; j++) {
        Py_CLEAR(p->operand[j]);
    }
}

/* Copies ------------------------------------------------------------------------------------------ */

/* Rows and columns of a contiguous matrix, from there to its end. */
static smk_backend_rows find_region(const smk_array *matrix, npy_intp row, npy_intp column)
{
    const npy_intp item_bytes = PyDataType_ELSIZE(matrix->descr), pitch = matrix->shape[1] * item_bytes;
    return (smk_backend_rows){.device = matrix->device,
                              .address = matrix->address + (uint64_t)(row * pitch + column * item_bytes),
                              .pitch = (uint64_t)pitch};
}

static smk_status copy_region(const product *work, smk_backend_rows to, smk_backend_rows from, npy_intp rows,
                              npy_intp columns, uint64_t stream, smk_error *error)
{
    const npy_intp item_bytes = PyDataType_ELSIZE(work->call->result_descr);
    return work->backend->copy_rows(&to, &from, (uint64_t)(columns * item_bytes), (uint64_t)rows, stream, error);
}

/* Makes a stream of a device wait for what another one has so far. */
static smk_status follow(const product *work, int waiting_device, uint64_t waiting, int awaited_device,
                         uint64_t awaited, smk_error *error)
{
    return work->backend->follow_device == NULL
               ? SMK_OK
               : work->backend->follow_device(waiting_device, waiting, awaited_device, awaited, error);
}

static uint64_t get_stream(const product *work, int device)
{
    return work->backend->present_stream == NULL ? SMK_STREAM_DEFAULT : work->backend->present_stream(device);
}

/* Copies wait for what their devices do so far: they make the operands, and read an `out` of before. Needs no GIL. */
static smk_status begin(const product *work, panel *p, smk_error *error)
{
    smk_status status = SMK_OK;
    for (int i = 0; i < 2 && status == SMK_OK && work->backend->copy_stream != NULL; i++) {
        status = work->backend->copy_stream(p->device, i, &p->streams[i], error);
        for (int j = 0; j < OPERANDS && status == SMK_OK; j++) {
            const int device = p->operand[j] != NULL ? p->operand[j]->device : p->device;
            status = follow(work, p->device, p->streams[i], device, get_stream(work, device), error);
        }
        if (status == SMK_OK) {
            status = follow(work, p->device, p->streams[i], p->device, get_stream(work, p->device), error);
        }
    }
    return status;
}

/* What the devices do later waits for the copies: only then may operands change, and blocks be freed. Needs no GIL. */
static smk_status end(const product *work, const panel *p, smk_error *error)
{
    smk_status status = SMK_OK;
    for (int i = 0; i < 2 && status == SMK_OK && p->streams[i] != SMK_STREAM_DEFAULT; i++) {
        for (int j = 0; j < OPERANDS && status == SMK_OK; j++) {
            const int device = p->operand[j] != NULL ? p->operand[j]->device : p->device;
            status = follow(work, device, get_stream(work, device), p->device, p->streams[i], error);
        }
        if (status == SMK_OK) {
            status = follow(work, p->device, get_stream(work, p->device), p->device, p->streams[i], error);
        }
    }
    return status;
}

/* Copies to the device what a piece needs and is not there. Needs no GIL. */
static smk_status fetch(const product *work, panel *p, size_t i, smk_error *error)
{
    const range piece = p->piece[i];
    const smk_array *a = p->operand[OPERAND_A], *b = p->operand[OPERAND_B];
    const npy_intp rows_end = p->by_columns ? p->rows.count : piece.first + piece.count;
    smk_status status = SMK_OK;
    if (!p->in_place[OPERAND_B]) {
        status = copy_region(work, find_region(p->b[i], 0, 0), find_region(b, 0, piece.first), b->shape[0], piece.count,
                             p->streams[0], error);
    }
    if (status == SMK_OK && !p->in_place[OPERAND_A] && rows_end > p->rows_fetched) {
        status = copy_region(work, find_region(p->a, p->rows_fetched, 0), find_region(a, p->first + p->rows_fetched, 0),
                             rows_end - p->rows_fetched, a->shape[1], p->streams[0], error);
        p->rows_fetched = rows_end;
    }
    return status == SMK_OK ? follow(work, p->device, get_stream(work, p->device), p->device, p->streams[0], error)
                            : status;
}

/* Copies a piece of the result to its place. Needs no GIL. */
static smk_status deliver(const product *work, const panel *p, size_t i, smk_error *error)
{
    const smk_array *out = p->operand[OPERAND_OUT], *piece = p->out[i];
    const npy_intp row = p->first + (p->by_columns ? 0 : p->piece[i].first);
    const npy_intp column = p->by_columns ? p->piece[i].first : 0;
    if (piece->owner != NULL) { /* a view of the result itself */
        return SMK_OK;
    }
    smk_status status = follow(work, p->device, p->streams[1], p->device, get_stream(work, p->device), error);
    return status == SMK_OK ? copy_region(work, find_region(out, row, column), find_region(piece, 0, 0),
                                          piece->shape[0], piece->shape[1], p->streams[1], error)
                            : status;
}

/* Products ---------------------------------------------------------------------------------------- */

/* out = a @ b of arrays of one device, enqueued there. Returns 0, or -1 with an exception set. */
static int multiply(const product *work, const panel *p, smk_array *a, smk_array *b, smk_array *out)
{
    smk_family_call call = *work->call; /* with borrowed references */
    const smk_signature *signature = &call.signature;
    call.operands[OPERAND_A] = (PyObject *)a;
    call.operands[OPERAND_B] = (PyObject *)b;
    call.out = (PyObject *)out;
    call.on_device = true;
    call.device = p->device;
    call.dimensions[signature->axis[OPERAND_A][0]] = (int64_t)out->shape[0];
    call.dimensions[signature->axis[OPERAND_B][1]] = (int64_t)out->shape[1];
    call.out_shape[0] = out->shape[0];
    call.out_shape[1] = out->shape[1];
    if (smk_family_call_describe_machine(&call) < 0 || smk_family_plan_make(&call, work->variant) < 0) {
        return -1;
    }
    PyObject *result = smk_family_run(&call, work->variant);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static int multiply_piece(const product *work, const panel *p, size_t i)
{
    if (p->by_columns) {
        return multiply(work, p, p->a, p->b[i], p->out[i]);
    }
    smk_array *a = view_rows(work->call, p->a, p->piece[i]);
    const int status = a == NULL ? -1 : multiply(work, p, a, p->b[i], p->out[i]);
    Py_XDECREF(a);
    return status;
}

/* Enqueues the work of a panel. Returns 0, or -1 with an exception set. */
static int run_panel(const product *work, panel *p)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    for (size_t i = 0; i < p->pieces; i++) {
        Py_BEGIN_ALLOW_THREADS
        status = fetch(work, p, i, &error);
        Py_END_ALLOW_THREADS
        if (status != SMK_OK) {
            break;
        }
        if (multiply_piece(work, p, i) < 0) {
            return -1;
        }
        Py_BEGIN_ALLOW_THREADS
        status = deliver(work, p, i, &error);
        Py_END_ALLOW_THREADS
        if (status != SMK_OK) {
            break;
        }
    }
    if (status != SMK_OK) {
        smk_error_raise(work->call->state, &error);
        return -1;
    }
    return 0;
}

/* Uploads the panel's rows of a NumPy operand. Returns 0, or -1 with an exception set. */
static int upload_rows(const product *work, panel *p)
{
    const smk_family_call *call = work->call;
    PyObject *rows = take_rows(call->operands[OPERAND_A], p->rows);
    if (rows != NULL) {
        p->a = smk_transfer_upload(call->state, smk_family_call_name(call, OPERAND_A), rows, call->result_descr,
                                   work->backend, p->device);
        Py_DECREF(rows);
    }
    return p->a == NULL ? -1 : 0;
}

/* Runs the panels: of device arrays those first whose copies the others would delay; of NumPy operands in their order,
 * since the first has b in place. Returns 0, or -1 with an exception set. */
static int run_each(const product *work)
{
    const bool uploads = !work->call->on_device;
    int result = 0;
    for (int pass = 0; pass < (uploads ? 1 : 2); pass++) {
        for (size_t i = 0; result == 0 && i < work->count; i++) {
            panel *p = &work->panels[i];
            if (p->pieces > 0 && uploads) {
                result = upload_rows(work, p);
            }
            if (result == 0 && (uploads || p->in_place[OPERAND_B] == (pass == 1))) {
                result = run_panel(work, p);
            }
        }
    }
    return result;
}

/* Begins, runs and ends all panels. Returns 0, or -1 with an exception set. */
static int run_panels(const product *work)
{
    smk_error error = {0}, late = {0};
    smk_status status = SMK_OK, ending = SMK_OK;
    for (size_t i = 0; i < work->count; i++) {
        if (create_arrays(work, &work->panels[i]) < 0) {
            return -1;
        }
    }
    Py_BEGIN_ALLOW_THREADS
    for (size_t i = 0; i < work->count && status == SMK_OK; i++) {
        status = begin(work, &work->panels[i], &error);
    }
    Py_END_ALLOW_THREADS
    const int result = status == SMK_OK ? run_each(work) : 0;
    Py_BEGIN_ALLOW_THREADS
    for (size_t i = 0; i < work->count; i++) { /* whatever has failed: the arrays are freed behind the copies */
        const smk_status ended = end(work, &work->panels[i], &late);
        ending = ending == SMK_OK ? ended : ending;
    }
    Py_END_ALLOW_THREADS
    if (result == 0 && (status != SMK_OK || ending != SMK_OK)) {
        smk_error_raise(work->call->state, status != SMK_OK ? &error : &late);
        return -1;
    }
    return result;
}

/* Calls --------------------------------------------------------------------------------------------- */

/* Divides the work. `b` is the operand on a device; `a` and `out` are the others, or NULL where each panel has its own
 * rows of them. A device that is named again copies as another one would. Returns 0, or -1 with an exception set. */
static int divide(product *work, const smk_panels_devices *devices, smk_array *a, smk_array *b, smk_array *out)
{
    work->panels = smk_heap_allocate(devices->count, sizeof *work->panels);
    if (work->panels == NULL) {
        smk_error_fail(work->call->state, SMK_MEMORY, "%s: no memory left", work->call->family->name);
        return -1;
    }
    work->count = devices->count;
    for (size_t i = 0; i < work->count; i++) {
        panel *p = &work->panels[i];
        bool again = false;
        p->device = devices->numbers[i];
        for (size_t j = 0; j < i; j++) {
            again = again || devices->numbers[j] == p->device;
        }
        p->rows = divide_rows(work->rows, i, work->count);
        p->first = out != NULL ? p->rows.first : 0;
        p->operand[OPERAND_A] = (smk_array *)Py_XNewRef((PyObject *)a);
        p->operand[OPERAND_B] = (smk_array *)Py_NewRef((PyObject *)b);
        p->operand[OPERAND_OUT] = out != NULL ? (smk_array *)Py_NewRef((PyObject *)out)
                                              : create_matrix(work, p, p->rows.count, work->columns);
        if (p->operand[OPERAND_OUT] == NULL) {
            return -1;
        }
        for (int j = 0; j < OPERANDS; j++) {
            const smk_array *operand = p->operand[j];
            const bool own = operand == NULL || (j == OPERAND_OUT && out == NULL);
            p->in_place[j] = own || (!again && operand->device == p->device);
        }
        p->by_columns = !p->in_place[OPERAND_B];
        if (p->rows.count > 0) {
            divide_pieces(p, work->columns);
        }
    }
    return 0;
}

static void release(product *work)
{
    for (size_t i = 0; work->panels != NULL && i < work->count; i++) {
        release_arrays(&work->panels[i]);
    }
    smk_heap_free(work->panels);
}

static product describe(const smk_family_call *call, const char *variant)
{
    const smk_signature *signature = &call->signature;
    return (product){
        .call = call,
        .variant = variant,
        .backend = call->backend,
        .rows = (npy_intp)call->dimensions[signature->axis[OPERAND_A][0]],
        .depth = (npy_intp)call->dimensions[signature->axis[OPERAND_B][0]],
        .columns = (npy_intp)call->dimensions[signature->axis[OPERAND_B][1]],
    };
}

static PyObject *run_on_devices(smk_family_call *call, const char *variant, const smk_panels_devices *devices)
{
    product work = describe(call, variant);
    smk_array *a = smk_array_cast(call->state, call->operands[OPERAND_A]);
    smk_array *b = smk_array_cast(call->state, call->operands[OPERAND_B]);
    smk_array *out = (smk_array *)Py_XNewRef((PyObject *)smk_array_cast(call->state, call->out));
    if (out == NULL) {
        out = smk_array_create(call->state, call->family->name, call->backend, devices->numbers[0], call->result_descr,
                               call->out_rank, call->out_shape);
    }
    if (out != NULL && (divide(&work, devices, a, b, out) < 0 || run_panels(&work) < 0)) {
        Py_CLEAR(out);
    }
    release(&work);
    return (PyObject *)out;
}

/* Copies the panels' rows of the result to a NumPy array. Returns 0, or -1 with an exception set. */
static int fetch_rows(const product *work, PyObject *target)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < work->count; i++) {
        const panel *p = &work->panels[i];
        PyObject *rows = take_rows(target, p->rows);
        PyObject *taken = rows == NULL ? NULL : smk_transfer_fetch(work->call->state, p->operand[OPERAND_OUT], rows);
        status = taken == NULL ? -1 : 0;
        Py_XDECREF(rows);
        Py_XDECREF(taken);
    }
    return status;
}

static PyObject *run_on_host(smk_family_call *call, const char *variant, const smk_panels_devices *devices)
{
    product work = describe(call, variant);
    PyObject *result = NULL, *target = Py_XNewRef(call->out);
    smk_array *b = smk_transfer_upload(call->state, smk_family_call_name(call, OPERAND_B), call->operands[OPERAND_B],
                                       call->result_descr, call->backend, devices->numbers[0]);
    if (target == NULL) {
        Py_INCREF(call->result_descr); /* PyArray_NewFromDescr steals a reference */
        target = PyArray_NewFromDescr(&PyArray_Type, call->result_descr, call->out_rank, call->out_shape, NULL, NULL, 0,
                                      NULL);
    }
    if (b != NULL && target != NULL && divide(&work, devices, NULL, b, NULL) == 0 && run_panels(&work) == 0 &&
        fetch_rows(&work, target) == 0) {
        result = Py_NewRef(target);
    }
    release(&work);
    Py_XDECREF(target);
    Py_XDECREF(b);
    return result;
}

PyObject *smk_panels_run(smk_family_call *call, const char *variant, const smk_panels_devices *devices)
{
    return call->on_device ? run_on_devices(call, variant, devices) : run_on_host(call, variant, devices);
}
