/* A product c = a @ b over several devices.
 *
 * Each device computes some rows of c, a panel, from the same rows of a and from all of b. What of them lives on the
 * device is used in place. The rest comes in pieces by copies on a stream of their own, while the device multiplies the
 * piece before: pieces of the columns of b and of c, or of the rows of a and of c where b is in place. Pieces of c that
 * do not live on the device go to their place by copies on a third stream. The first piece is small, since nothing
 * hides its copy; later ones grow as fast as copies keep up, and the last one is small again, since nothing hides the
 * copy of its result. There are few, since a product lays out its operands anew. What copies and pieces cost all the same
 * is made up for by fewer rows.
 *
 * Of NumPy operands b goes to the first device, and from there to the others as above. The rows of a go to their devices
 * directly, each while the devices before it multiply, and the rows of c come back directly.
 */
#include "py/calls/panels.h"

#include "py/arrays/array.h"
#include "py/arrays/transfer.h"
#include "py/backends/device.h"
#include "py/backends/selection.h"
#include "py/calls/family_items.h"
#include "py/calls/family_plan.h"
#include "py/calls/family_run.h"
#include "py/error.h"

#include "base/heap.h"

enum { PIECES_MAX = 8, PARTS = 16, FIRST_ROWS_PART = 4, GRANULE_MAX = 128, GRANULES_MIN = 4, OPERANDS = 3 };
enum { OPERAND_A, OPERAND_B, OPERAND_OUT };

/* In the time of so many products of the main loop an element is copied from one H200 to another by NVLink, and an
 * element of an operand is laid out for tensor cores. */
static const double COPY_PRODUCTS = 380.0, ARRANGE_PRODUCTS = 145.0;

/* The elements of c that the blocks of an H200 make in one round. The last round of a piece is on average half full. */
static const double ROUND_ELEMENTS = SMK_H200_MULTIPROCESSORS * 128.0 * 64.0;

/* A panel that copies everything has so many more pieces, and so many of them lay out its rows of a anew. */
static const double MORE_PIECES = 3.0, MORE_ARRANGED = 2.0;

typedef struct range {
    npy_intp first, count;
} range;

typedef struct piece {
    range rows, columns; /* of the panel */
} piece;

/* A device's part of the product. The arrays are owned. */
typedef struct panel {
    int device;
    smk_array *operand[OPERANDS]; /* a, b and out: whole, or of NumPy operands this panel's rows of a and out */
    npy_intp first;               /* the panel's first row in a and out */
    bool in_place[OPERANDS];
    bool by_columns;
    range rows;
    piece piece[PIECES_MAX];
    size_t pieces;
    size_t fetched;        /* pieces whose operands are on the device or on their way */
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
    if (!PySequence_Check(devices) || PyUnicode_Check(devices) || PyBytes_Check(devices)) {
        smk_error_fail(call->state, SMK_TYPE, "%s: devices must be a list of devices, not %.100s", family,
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

static bool is_whole(const panel *p)
{
    return p->in_place[OPERAND_A] && p->in_place[OPERAND_B] && p->in_place[OPERAND_OUT];
}

/* The rows of the product that a panel which copies everything could compute in the time of what nothing hides: the
 * copies of the first and the last piece, pieces that lay out the panel's rows of a anew, and their last rounds. */
static double estimate_cost(const product *work, double rows, double copies)
{
    const double columns = (double)work->columns, depth = (double)work->depth;
    const double head = COPY_PRODUCTS * copies * (rows / FIRST_ROWS_PART / columns + 1.0 / PARTS);
    const double pieces =
        MORE_ARRANGED * ARRANGE_PRODUCTS * rows / columns + MORE_PIECES / 2.0 * ROUND_ELEMENTS / columns;
    const double cost = head + pieces + COPY_PRODUCTS * rows / PARTS / depth;
    return cost < rows / 4.0 ? cost : rows / 4.0;
}

/* Divides the rows: a panel with everything in place gets more of them than the others. */
static void divide_rows(product *work, bool balances)
{
    const npy_intp granule = find_granule(work->rows, (npy_intp)work->count);
    const double share = (double)work->rows / (double)work->count;
    size_t copying = 0;
    for (size_t i = 0; i < work->count; i++) {
        copying += work->panels[i].in_place[OPERAND_B] ? 0 : 1;
    }
    const double cost = balances && copying > 0 && work->columns > 0 && work->depth > 0
                            ? estimate_cost(work, share, (double)copying)
                            : 0.0;
    const double fewer = share - cost * (double)(work->count - copying) / (double)work->count;
    double sum = 0.0;
    npy_intp first = 0;
    for (size_t i = 0; i < work->count; i++) {
        panel *p = &work->panels[i];
        sum += p->in_place[OPERAND_B] ? fewer + cost : fewer;
        const npy_intp end = i + 1 == work->count ? work->rows : round_up((npy_intp)sum, granule, work->rows);
        p->rows = (range){first, end > first ? end - first : 0};
        first = end > first ? end : first;
    }
}

static void add_piece(panel *p, range rows, range columns)
{
    if (rows.count > 0 && columns.count > 0) {
        p->piece[p->pieces++] = (piece){rows, columns};
    }
}

/* Adds the part of a panel from `first` to `end`, of its columns or rows. The first of them begins with some of the rows,
 * so that it waits for fewer. */
static void add_part(panel *p, npy_intp first, npy_intp end, npy_intp columns)
{
    const range rows = {0, p->rows.count}, part = {first, end - first};
    if (!p->by_columns) {
        add_piece(p, part, (range){0, columns});
    } else if (first > 0 || p->in_place[OPERAND_A]) {
        add_piece(p, rows, part);
    } else {
        const npy_intp granule = find_granule(rows.count, FIRST_ROWS_PART);
        const npy_intp some = round_up(rows.count / FIRST_ROWS_PART, granule, rows.count);
        add_piece(p, (range){0, some}, part);
        add_piece(p, (range){some, rows.count - some}, part);
    }
}

/* Divides a panel into pieces; a single one where nothing has to be copied. `copies` panels copy b at the same time. */
static void divide_pieces(const product *work, panel *p, size_t copies)
{
    const npy_intp length = p->by_columns ? work->columns : p->rows.count, granule = find_granule(length, PARTS);
    const double keeps_up = p->by_columns ? (double)p->rows.count / (COPY_PRODUCTS * (double)copies)
                                          : (double)work->columns / COPY_PRODUCTS;
    const int growth = keeps_up < 2.0 ? 2 : keeps_up > PARTS ? PARTS : (int)keeps_up;
    npy_intp first = 0;
    int parts = 0;
    if (is_whole(p)) {
        add_piece(p, (range){0, p->rows.count}, (range){0, work->columns});
        return;
    }
    for (int next = 1; parts < PARTS; next *= growth) {
        const int left = PARTS - parts;
        parts += left == 1 ? 1 : next < left - 1 ? next : left - 1; /* the last part is one of 16 */
        const npy_intp end = round_up(length / PARTS * parts + length % PARTS * parts / PARTS, granule, length);
        add_part(p, first, end, work->columns);
        first = end;
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

static smk_array *create_matrix(const product *work, const panel *p, PyArray_Descr *descr, npy_intp m, npy_intp n)
{
    const npy_intp shape[2] = {m, n};
    return smk_array_create(work->call->state, work->call->family->name, work->backend, p->device, descr, 2, shape);
}

static bool has_columns_of_last(const panel *p, size_t i)
{
    return i > 0 && p->piece[i].columns.first == p->piece[i - 1].columns.first;
}

/* Makes all arrays of a panel before its first launch: memory that is allocated behind a launch may be used behind it
 * alone. Returns 0, or -1 with an exception set. */
static int create_arrays(const product *work, panel *p)
{
    const range own = {p->first, p->rows.count};
    if (p->operand[OPERAND_A] != NULL) { /* NULL: it is uploaded later */
        p->a = p->in_place[OPERAND_A] ? view_rows(work->call, p->operand[OPERAND_A], own)
                                      : create_matrix(work, p, work->call->descr, p->rows.count, work->depth);
        if (p->a == NULL) {
            return -1;
        }
    }
    for (size_t i = 0; i < p->pieces; i++) {
        const range rows = {p->first + p->piece[i].rows.first, p->piece[i].rows.count};
        const npy_intp width = p->piece[i].columns.count;
        p->b[i] = p->in_place[OPERAND_B]      ? (smk_array *)Py_NewRef((PyObject *)p->operand[OPERAND_B])
                  : has_columns_of_last(p, i) ? (smk_array *)Py_NewRef((PyObject *)p->b[i - 1])
                                              : create_matrix(work, p, work->call->descr, work->depth, width);
        p->out[i] = p->in_place[OPERAND_OUT] && width == work->columns
                        ? view_rows(work->call, p->operand[OPERAND_OUT], rows)
                        : create_matrix(work, p, work->call->result_descr, rows.count, width);
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

static smk_status copy_region(const product *work, const PyArray_Descr *descr, smk_backend_rows to,
                              smk_backend_rows from, npy_intp rows, npy_intp columns, uint64_t stream, smk_error *error)
{
    const npy_intp item_bytes = PyDataType_ELSIZE(descr);
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
    for (int i = 0; i < 2 && status == SMK_OK && work->backend->copy_stream != NULL && !is_whole(p); i++) {
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
    const piece *wanted = &p->piece[i];
    const smk_array *a = p->operand[OPERAND_A], *b = p->operand[OPERAND_B];
    const npy_intp rows_end = wanted->rows.first + wanted->rows.count, fetched = p->rows_fetched;
    smk_status status = SMK_OK;
    if (!p->in_place[OPERAND_B] && !has_columns_of_last(p, i)) {
        status = copy_region(work, b->descr, find_region(p->b[i], 0, 0), find_region(b, 0, wanted->columns.first),
                             work->depth, wanted->columns.count, p->streams[0], error);
    }
    if (status == SMK_OK && !p->in_place[OPERAND_A] && rows_end > fetched) {
        status = copy_region(work, a->descr, find_region(p->a, fetched, 0), find_region(a, p->first + fetched, 0),
                             rows_end - fetched, work->depth, p->streams[0], error);
        p->rows_fetched = rows_end;
    }
    p->fetched = i + 1;
    return status == SMK_OK && !is_whole(p)
               ? follow(work, p->device, get_stream(work, p->device), p->device, p->streams[0], error)
               : status;
}

/* Copies a piece of the result to its place. Needs no GIL. */
static smk_status deliver(const product *work, const panel *p, size_t i, smk_error *error)
{
    const smk_array *out = p->operand[OPERAND_OUT], *result = p->out[i];
    const npy_intp row = p->first + p->piece[i].rows.first, column = p->piece[i].columns.first;
    if (result->owner != NULL) { /* a view of the result itself */
        return SMK_OK;
    }
    smk_status status = follow(work, p->device, p->streams[1], p->device, get_stream(work, p->device), error);
    return status == SMK_OK ? copy_region(work, out->descr, find_region(out, row, column), find_region(result, 0, 0),
                                          result->shape[0], result->shape[1], p->streams[1], error)
                            : status;
}

/* Products ---------------------------------------------------------------------------------------- */

/* out = a @ b of arrays of one device, enqueued there. Returns 0, or -1 with an exception set. */
static int multiply(const product *work, const panel *p, smk_array *a, smk_array *b, smk_array *out)
{
    smk_family_call call = *work->call; /* with borrowed references */
    call.stack = NULL;                  /* the operands of a piece lie in C order */
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
    smk_array *a = view_rows(work->call, p->a, p->piece[i].rows);
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
        status = i < p->fetched ? SMK_OK : fetch(work, p, i, &error);
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
        p->a = smk_transfer_upload(call->state, smk_family_call_name(call, OPERAND_A), rows, call->descr, work->backend,
                                   p->device);
        Py_DECREF(rows);
    }
    return p->a == NULL ? -1 : 0;
}

/* Begins the copies of panels that have none of b; the launches of other panels may then come first. */
static int fetch_first(const product *work)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    Py_BEGIN_ALLOW_THREADS
    for (size_t i = 0; i < work->count && status == SMK_OK; i++) {
        panel *p = &work->panels[i];
        if (p->pieces > 0 && !p->in_place[OPERAND_B]) {
            status = fetch(work, p, 0, &error);
        }
    }
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_error_raise(work->call->state, &error);
    }
    return status == SMK_OK ? 0 : -1;
}

/* Runs the panels, those first that have b in place. Returns 0, or -1 with an exception set. */
static int run_each(const product *work)
{
    int result = fetch_first(work);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; result == 0 && i < work->count; i++) {
            panel *p = &work->panels[i];
            if (p->in_place[OPERAND_B] == (pass == 1)) {
                continue;
            }
            if (p->pieces > 0 && !work->call->on_device) {
                result = upload_rows(work, p);
            }
            if (result == 0) {
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
    size_t copies = 0;
    work->count = devices->count;
    for (size_t i = 0; i < work->count; i++) {
        panel *p = &work->panels[i];
        bool again = false;
        p->device = devices->numbers[i];
        for (size_t j = 0; j < i; j++) {
            again = again || devices->numbers[j] == p->device;
        }
        p->operand[OPERAND_A] = (smk_array *)Py_XNewRef((PyObject *)a);
        p->operand[OPERAND_B] = (smk_array *)Py_NewRef((PyObject *)b);
        p->operand[OPERAND_OUT] = (smk_array *)Py_XNewRef((PyObject *)out);
        for (int j = 0; j < OPERANDS; j++) {
            const smk_array *operand = p->operand[j];
            p->in_place[j] = operand == NULL || (!again && operand->device == p->device);
        }
        p->by_columns = !p->in_place[OPERAND_B];
        copies += p->by_columns ? 1 : 0;
    }
    divide_rows(work, out != NULL);
    for (size_t i = 0; i < work->count; i++) {
        panel *p = &work->panels[i];
        p->first = out != NULL ? p->rows.first : 0;
        if (out == NULL && (p->operand[OPERAND_OUT] = create_matrix(work, p, work->call->result_descr, p->rows.count,
                                                                    work->columns)) == NULL) {
            return -1;
        }
        divide_pieces(work, p, copies);
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
                                       call->descr, call->backend, devices->numbers[0]);
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
    if (smk_family_items_divide(call) < 0) {
        return NULL;
    }
    return call->on_device ? run_on_devices(call, variant, devices) : run_on_host(call, variant, devices);
}
