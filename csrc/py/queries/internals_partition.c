#include "py/queries/internals_partition.h"

#include "py/error.h"
#include "py/state.h"

#include "base/heap.h"
#include "sim/issue/partition.h"

#include <math.h>

/* Columns of the array of steps, in the order of smk_partition_step. */
enum {
    KIND,
    QUEUED,
    SERVICE,
    LATENCY,
    STALL,
    WRITE_BARRIER,
    READ_BARRIER,
    WAIT_MASK,
    IS_BARRIER,
    GROUP,
    LEFT,
    EVEN,
    ODD,
    SHARE,
    IDLE,
    MORE,
    MISSES,
    COLUMNS,
};

enum { STEPS, FIRST, PHASES, LENGTHS, BLOCKS, BUFFERS };

/* The arguments of a call: the buffers, and what is made of them. */
typedef struct partition_query {
    Py_buffer buffer[BUFFERS];
    smk_partition_step *steps;
    smk_partition_path *paths;
    double *lost;
    size_t causes;
    smk_partition_work work;
} partition_query;

static const size_t item_bytes[BUFFERS] = {COLUMNS * sizeof(double), sizeof(uint32_t), sizeof(double), sizeof(uint32_t),
                                           sizeof(uint32_t)};

static size_t count_items(const partition_query *query, int which)
{
    return (size_t)query->buffer[which].len / item_bytes[which];
}

/* A number of a column that is a whole one up to a limit. */
static uint32_t to_whole(double number, uint32_t most, bool *good)
{
    *good = *good && number >= 0.0 && number <= most && floor(number) >= number;
    return *good ? (uint32_t)number : 0;
}

static bool read_step(const double *row, smk_partition_step *step)
{
    bool good = true;
    step->kind = to_whole(row[KIND], UINT32_MAX, &good);
    step->queued = to_whole(row[QUEUED], 1, &good) != 0;
    step->service = row[SERVICE];
    step->latency = row[LATENCY];
    step->stall = row[STALL];
    step->write_barrier = (uint8_t)to_whole(row[WRITE_BARRIER], UINT8_MAX, &good);
    step->read_barrier = (uint8_t)to_whole(row[READ_BARRIER], UINT8_MAX, &good);
    step->wait_mask = (uint8_t)to_whole(row[WAIT_MASK], UINT8_MAX, &good);
    step->is_barrier = to_whole(row[IS_BARRIER], 1, &good) != 0;
    step->group = (smk_partition_group)to_whole(row[GROUP], SMK_PARTITION_GROUPS - 1, &good);
    step->left = to_whole(row[LEFT], UINT32_MAX, &good);
    step->even = row[EVEN];
    step->odd = row[ODD];
    step->share = row[SHARE];
    step->idle = row[IDLE];
    step->more = row[MORE];
    step->misses = row[MISSES];
    return good;
}

/* Makes steps and paths of the buffers. */
static smk_status read_work(partition_query *query, smk_error *error)
{
    smk_partition_work *work = &query->work;
    const size_t steps = count_items(query, STEPS), paths = count_items(query, PHASES);
    const uint32_t *lengths = query->buffer[LENGTHS].buf, *blocks = query->buffer[BLOCKS].buf;
    const double *rows = query->buffer[STEPS].buf, *phases = query->buffer[PHASES].buf;
    bool good = count_items(query, FIRST) > 0 && count_items(query, LENGTHS) == paths;
    for (int i = 0; i < BUFFERS; i++) {
        good = good && (size_t)query->buffer[i].len % item_bytes[i] == 0 && count_items(query, i) < UINT32_MAX;
    }
    if (!good) {
        return smk_status_fail(error, SMK_ARGUMENT, "the arrays of a partition do not fit together");
    }
    work->first = query->buffer[FIRST].buf;
    work->blocks = (uint32_t)count_items(query, FIRST) - 1;
    query->causes = (size_t)SMK_PARTITION_CAUSES * work->kinds + SMK_PARTITION_MORE_CAUSES;
    query->steps = smk_heap_allocate(steps + 1, sizeof *query->steps);
    query->paths = smk_heap_allocate(paths + 1, sizeof *query->paths);
    query->lost = smk_heap_allocate(query->causes, sizeof *query->lost);
    if (query->steps == NULL || query->paths == NULL || query->lost == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for %zu steps", steps);
    }
    for (size_t i = 0; i < steps && good; i++) {
        good = read_step(rows + i * COLUMNS, &query->steps[i]);
    }
    size_t begin = 0;
    for (size_t i = 0; i < paths && good; i++) {
        query->paths[i] = (smk_partition_path){phases[i], blocks + begin, lengths[i]};
        begin += lengths[i];
        good = begin <= count_items(query, BLOCKS);
    }
    if (!good || work->first[work->blocks] > steps) {
        return smk_status_fail(error, SMK_ARGUMENT, "a step or a path of a partition is out of range");
    }
    work->steps = query->steps;
    work->paths = query->paths;
    work->path_count = (uint32_t)paths;
    return SMK_OK;
}

static PyObject *make_result(const partition_query *query, const smk_partition_times *times)
{
    PyObject *lost = PyList_New((Py_ssize_t)query->causes);
    for (size_t i = 0; lost != NULL && i < query->causes; i++) {
        PyObject *number = PyFloat_FromDouble(query->lost[i]);
        if (number == NULL) {
            Py_CLEAR(lost);
        } else {
            PyList_SET_ITEM(lost, (Py_ssize_t)i, number);
        }
    }
    return lost == NULL ? NULL : Py_BuildValue("(ddN)", times->clocks, times->issued, lost);
}

/* _time_partition(steps, first, phases, lengths, blocks, counts, clocks) -> (clocks, issued, clocks lost by cause):
 * steps float64 (n, 16), first uint32, phases float64, lengths and blocks uint32; counts and clocks are tuples of the
 * last members of smk_partition_work */
static const char time_doc[] = "_time_partition(steps, first, phases, lengths, blocks, counts, clocks, /)\n--\n\n";

static PyObject *call_time(PyObject *module, PyObject *arguments)
{
    partition_query query = {0};
    smk_partition_work *work = &query.work;
    Py_buffer *buffer = query.buffer;
    smk_error error = {0};
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*(IIII)(ddddddddd):_time_partition", &buffer[STEPS], &buffer[FIRST],
                          &buffer[PHASES], &buffer[LENGTHS], &buffer[BLOCKS], &work->kinds, &work->slots, &work->block,
                          &work->rounds, &work->queue, &work->partitions, &work->window, &work->branch, &work->read,
                          &work->barrier, &work->start, &work->warp_start, &work->arrival)) {
        return NULL;
    }
    smk_status status = read_work(&query, &error);
    smk_partition_times times = {0.0, 0.0, query.lost};
    if (status == SMK_OK) {
        Py_BEGIN_ALLOW_THREADS
        status = smk_partition_run(work, &times, &error);
        Py_END_ALLOW_THREADS
    }
    result = status == SMK_OK ? make_result(&query, &times) : smk_error_raise(smk_state_of_module(module), &error);
    smk_heap_free(query.lost);
    smk_heap_free(query.paths);
    smk_heap_free(query.steps);
    for (int i = 0; i < BUFFERS; i++) {
        PyBuffer_Release(&buffer[i]);
    }
    return result;
}

PyMethodDef smk_internals_partition_methods[] = {
    {"_time_partition", call_time, METH_VARARGS, time_doc},
    {NULL, NULL, 0, NULL},
};
