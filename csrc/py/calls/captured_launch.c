#include "py/calls/captured_launch.h"

#include "py/calls/spelling.h"
#include "py/dict.h"
#include "py/error.h"
#include "py/mangled.h"

#include "base/heap.h"
#include "sim/cost/bank.h"

#include <string.h>

/* A record, and what its dict is made with. */
typedef struct description {
    const smk_state *state;
    const smk_capture_record *record;
    const smk_module *module;
    size_t *line; /* offset of each line of the PTX, and of its end */
    size_t lines;
    PyObject **names; /* names of the counters */
} description;

/* Text ------------------------------------------------------------------------------------------- */

static PyObject *decode(const char *start, size_t length)
{
    return PyUnicode_DecodeUTF8(start, (Py_ssize_t)length, "replace");
}

static PyObject *make_text(smk_text text)
{
    return text.length == 0 ? PyUnicode_FromString("") : decode(text.start, text.length);
}

static int find_lines(description *d)
{
    const smk_text text = d->module->text;
    size_t count = 1;
    for (size_t i = 0; i < text.length; i++) {
        count += text.start[i] == '\n';
    }
    d->line = smk_heap_allocate(count + 1, sizeof *d->line);
    if (d->line == NULL) {
        smk_error_fail(d->state, SMK_MEMORY, "no memory left to describe a launch");
        return -1;
    }
    for (size_t i = 0; i < text.length; i++) {
        if (text.start[i] == '\n') {
            d->line[++d->lines] = i + 1;
        }
    }
    d->line[++d->lines] = text.length + 1;
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

/* A line of the PTX, counted from 1, without leading and trailing blanks. */
static PyObject *get_line(const description *d, uint32_t number)
{
    if (number == 0 || number > d->lines) {
        return PyUnicode_FromString("");
    }
    const char *start = d->module->text.start + d->line[number - 1];
    const char *end = d->module->text.start + d->line[number] - 1;
    while (start < end && is_blank(*start)) {
        start++;
    }
    while (end > start && is_blank(end[-1])) {
        end--;
    }
    return decode(start, (size_t)(end - start));
}

/* Pieces of dicts -------------------------------------------------------------------------------- */

static PyObject *make_triple(const uint32_t value[3])
{
    return Py_BuildValue("(III)", value[0], value[1], value[2]);
}

static PyObject *make_size(smk_dim3 size)
{
    return Py_BuildValue("(III)", size.x, size.y, size.z);
}

static PyObject *make_file(const smk_module *module, const smk_instruction *instruction)
{
    bool known = instruction->source_file < module->file_count && instruction->source_line != 0;
    return known ? make_text(module->files[instruction->source_file]) : Py_NewRef(Py_None);
}

static PyObject *make_line(uint32_t line)
{
    return line == 0 ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(line);
}

/* Sets the items function, ptx_line, file and line of an instruction, and ptx where wanted. */
static int set_location(const description *d, PyObject *dict, uint32_t function, uint32_t number, bool with_text)
{
    const smk_function *f = &d->module->functions[function];
    const smk_instruction *instruction = &f->instructions[number];
    if (smk_dict_set(dict, "function", make_text(f->name)) < 0 ||
        smk_dict_set(dict, "ptx_line", PyLong_FromUnsignedLong(instruction->line)) < 0 ||
        (with_text && smk_dict_set(dict, "ptx", get_line(d, instruction->line)) < 0) ||
        smk_dict_set(dict, "file", make_file(d->module, instruction)) < 0) {
        return -1;
    }
    return smk_dict_set(dict, "line", make_line(instruction->source_line));
}

/* Counters --------------------------------------------------------------------------------------- */

static int create_names(description *d)
{
    d->names = PyMem_Calloc(smk_counter_row_count, sizeof *d->names);
    if (d->names == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (unsigned i = 0; i < smk_counter_row_count; i++) {
        d->names[i] = PyUnicode_InternFromString(smk_counter_rows[i].name);
        if (d->names[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

static PyObject *make_counter(const smk_counter_row *row, unsigned number, const uint64_t *value)
{
    if (!row->is_ratio) {
        return PyLong_FromUnsignedLongLong(value[number]);
    }
    return value[row->below] == 0
               ? Py_NewRef(Py_None)
               : PyFloat_FromDouble(row->scale * (double)value[row->above] / (double)value[row->below]);
}

/* All counters of counters.def, or only the sums that are not 0. */
static PyObject *make_counters(const description *d, const uint64_t *value, bool all)
{
    PyObject *dict = PyDict_New();
    for (unsigned i = 0; dict != NULL && i < smk_counter_row_count; i++) {
        const smk_counter_row *row = &smk_counter_rows[i];
        if (!all && (row->is_ratio || value[i] == 0)) {
            continue;
        }
        PyObject *number = make_counter(row, i, value);
        if (number == NULL || PyDict_SetItem(dict, d->names[i], number) < 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(number);
    }
    return dict;
}

static PyObject *list_lines(const description *d)
{
    PyObject *list = PyList_New(d->record->line_count);
    for (uint32_t i = 0; list != NULL && i < d->record->line_count; i++) {
        const smk_report_line *line = &d->record->lines[i];
        PyObject *dict =
            Py_BuildValue("{s:N,s:N,s:N}", "file", line->line == 0 ? Py_NewRef(Py_None) : make_text(line->file), "line",
                          make_line(line->line), "counters", make_counters(d, line->value, true));
        if (dict == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, dict);
        }
    }
    return list;
}

/* Between which threads a barrier orders accesses; None for other instructions. */
static PyObject *make_reach(const smk_count_line *line)
{
    static const char *const names[] = {"none", "lanes", "threads"}; /* smk_barrier_reach_kind */
    return line->value[SMK_COUNTER_BARRIER_COUNT] == 0 ? Py_NewRef(Py_None) : PyUnicode_FromString(names[line->reach]);
}

/* (name, offset, bytes) of each variable in shared memory; 0 bytes: as many as the launch asks for. */
static PyObject *list_variables(const description *d)
{
    const smk_count_result *count = &d->record->count;
    PyObject *list = PyList_New(count->variable_count);
    for (uint32_t i = 0; list != NULL && i < count->variable_count; i++) {
        const smk_count_variable *variable = &count->variable[i];
        PyObject *row =
            Py_BuildValue("(NIK)", make_text(variable->name), variable->offset, (unsigned long long)variable->bytes);
        if (row == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, row);
        }
    }
    return list;
}

static PyObject *list_instructions(const description *d)
{
    const smk_count_result *count = &d->record->count;
    PyObject *list = PyList_New(count->line_count);
    for (uint32_t i = 0; list != NULL && i < count->line_count; i++) {
        const smk_count_line *line = &count->line[i];
        PyObject *dict = PyDict_New();
        if (dict == NULL || set_location(d, dict, line->function, line->instruction, true) < 0 ||
            smk_dict_set(dict, "role", PyUnicode_FromString(smk_spelling_role((smk_fusion_role)line->role))) < 0 ||
            smk_dict_set(dict, "reach", make_reach(line)) < 0 ||
            smk_dict_set(dict, "counters", make_counters(d, line->value, false)) < 0) {
            Py_XDECREF(dict);
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, dict);
        }
    }
    return list;
}

static PyObject *make_addresses(const uint64_t address[SMK_WARP_SIZE])
{
    npy_intp length = SMK_WARP_SIZE;
    PyObject *array = PyArray_SimpleNew(1, &length, NPY_UINT64);
    if (array != NULL) {
        memcpy(PyArray_DATA((PyArrayObject *)array), address, SMK_WARP_SIZE * sizeof *address);
    }
    return array;
}

static PyObject *make_sample(const description *d, const smk_count_sample *sample)
{
    PyObject *dict =
        Py_BuildValue("{s:s,s:s,s:s,s:I,s:I,s:I,s:N,s:I,s:N}", "space", sample->shared ? "shared" : "global", "op",
                      smk_bank_name(smk_bank_kind(sample->op)), "rule", smk_bank_name(sample->op), "bytes",
                      (unsigned)sample->bytes, "mask", sample->mask, "cost", sample->cost, "block",
                      make_triple(sample->block), "warp", sample->warp, "addresses", make_addresses(sample->address));
    if (dict != NULL && set_location(d, dict, sample->function, sample->instruction, false) < 0) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *list_samples(const description *d)
{
    const smk_count_result *count = &d->record->count;
    PyObject *list = PyList_New(count->sample_count);
    for (uint32_t i = 0; list != NULL && i < count->sample_count; i++) {
        PyObject *dict = make_sample(d, &count->sample[i]);
        if (dict == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, dict);
        }
    }
    return list;
}

/* (block, index of the instruction, writes, low, high, sectors, pairs, crowd_line, crowd, waves, lines, requests,
 * serial, waits) of each block and access. */
static PyObject *list_footprint(const description *d)
{
    const smk_count_result *count = &d->record->count;
    PyObject *list = PyList_New((Py_ssize_t)count->footprint_count);
    for (size_t i = 0; list != NULL && i < count->footprint_count; i++) {
        const smk_footprint_row *from = &count->footprint[i];
        PyObject *row = Py_BuildValue(
            "(KIOKKKKKKKKKKK)", (unsigned long long)from->block, from->access, from->writes ? Py_True : Py_False,
            (unsigned long long)from->low, (unsigned long long)from->high, (unsigned long long)from->sectors,
            (unsigned long long)from->pairs, (unsigned long long)from->crowd_line, (unsigned long long)from->crowd,
            (unsigned long long)from->waves, (unsigned long long)from->lines, (unsigned long long)from->requests,
            (unsigned long long)from->serial, (unsigned long long)from->waits);
        if (row == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, row);
        }
    }
    return list;
}

/* (instructions of the busiest warp, those of the busiest block, how often that warp executed each instruction). */
static PyObject *make_busiest(const description *d)
{
    const smk_count_result *count = &d->record->count;
    PyObject *list = PyList_New(count->line_count);
    for (uint32_t i = 0; list != NULL && i < count->line_count; i++) {
        PyObject *number = PyLong_FromUnsignedLongLong(count->line[i].busiest);
        if (number == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, number);
        }
    }
    return list == NULL ? NULL
                        : Py_BuildValue("(KKN)", (unsigned long long)count->warp_most,
                                        (unsigned long long)count->block_most, list);
}

static int set_counts(const description *d, PyObject *dict)
{
    const smk_count_result *count = &d->record->count;
    if (smk_dict_set(dict, "blocks", PyLong_FromUnsignedLongLong(count->blocks)) < 0 ||
        smk_dict_set(dict, "blocks_total", PyLong_FromUnsignedLongLong(count->blocks_total)) < 0 ||
        smk_dict_set(dict, "modelled", PyBool_FromLong(count->modelled)) < 0 ||
        smk_dict_set(dict, "counters", make_counters(d, count->total, true)) < 0 ||
        smk_dict_set(dict, "lines", list_lines(d)) < 0 ||
        smk_dict_set(dict, "instructions", list_instructions(d)) < 0 ||
        smk_dict_set(dict, "shared", list_variables(d)) < 0 ||
        (count->warp_most > 0 && smk_dict_set(dict, "busiest", make_busiest(d)) < 0) ||
        (d->record->cleared_bytes > 0 &&
         smk_dict_set(dict, "cleared", PyLong_FromUnsignedLongLong(d->record->cleared_bytes)) < 0) ||
        (d->record->begins_early && smk_dict_set(dict, "early", PyBool_FromLong(true)) < 0) ||
        (count->footprint_count > 0 && smk_dict_set(dict, "footprint", list_footprint(d)) < 0)) {
        return -1;
    }
    return smk_dict_set(dict, "samples", list_samples(d));
}

/* Findings --------------------------------------------------------------------------------------- */

/* The operation of one side: an access, "wait", "barrier", or the word of another instruction that synchronises
 * lanes. */
static const char *name_op(const description *d, const smk_finding_side *side)
{
    static const char *const ops[] = {"load", "store", "atomic", "copy"}; /* smk_access_kind */
    const smk_function *function = &d->module->functions[side->function];
    if (side->kind < sizeof ops / sizeof ops[0]) {
        return ops[side->kind];
    }
    if (side->kind == SMK_FINDING_WAIT) {
        return "wait";
    }
    return smk_finding_use(&function->instructions[side->instruction]);
}

static PyObject *make_side(const description *d, const smk_finding_side *side)
{
    if (!side->present) {
        return Py_NewRef(Py_None);
    }
    PyObject *dict =
        Py_BuildValue("{s:s,s:N,s:N,s:s,s:K,s:I,s:N}", "op", name_op(d, side), "block", make_triple(side->block),
                      "thread", make_triple(side->thread), "space", smk_spelling_space((smk_space)side->space),
                      "address", (unsigned long long)side->address, "bytes", side->bytes, "variable",
                      decode(side->variable, strlen(side->variable)));
    if (dict != NULL && set_location(d, dict, side->function, side->instruction, true) < 0) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *list_findings(const description *d)
{
    const smk_check_result *check = &d->record->check;
    PyObject *list = PyList_New(check->finding_count);
    for (uint32_t i = 0; list != NULL && i < check->finding_count; i++) {
        const smk_finding *finding = &check->finding[i];
        PyObject *dict =
            Py_BuildValue("{s:s,s:N,s:N,s:K,s:O,s:N,s:N}", "kind", smk_finding_name(finding->kind), "message",
                          decode(finding->message, strlen(finding->message)), "action",
                          decode(finding->action, strlen(finding->action)), "count", (unsigned long long)finding->count,
                          "same_value", finding->same_value ? Py_True : Py_False, "first",
                          make_side(d, &finding->first), "second", make_side(d, &finding->second));
        if (dict == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, dict);
        }
    }
    return list;
}

static int set_findings(const description *d, PyObject *dict)
{
    const smk_check_result *check = &d->record->check;
    const smk_error *stopped = &check->stopped;
    if (smk_dict_set(dict, "blocks", PyLong_FromUnsignedLongLong(check->blocks)) < 0 ||
        smk_dict_set(dict, "blocks_total", PyLong_FromUnsignedLongLong(check->blocks_total)) < 0 ||
        smk_dict_set(dict, "truncated", PyBool_FromLong(check->truncated)) < 0 ||
        smk_dict_set(dict, "incomplete", PyLong_FromUnsignedLongLong(check->incomplete)) < 0 ||
        smk_dict_set(dict, "stopped",
                     stopped->status == SMK_OK ? Py_NewRef(Py_None)
                                               : decode(stopped->message, strlen(stopped->message))) < 0) {
        return -1;
    }
    return smk_dict_set(dict, "findings", list_findings(d));
}

/* The whole -------------------------------------------------------------------------------------- */

static int fill(description *d, PyObject *dict, PyObject *text)
{
    if (d->record->mode == SMK_CAPTURE_TIME) {
        return smk_dict_set(dict, "time_ms", PyFloat_FromDouble(d->record->time_ms));
    }
    if (find_lines(d) < 0 || PyDict_SetItemString(dict, "ptx", text) < 0) {
        return -1;
    }
    if (d->record->mode == SMK_CAPTURE_CHECK) {
        return set_findings(d, dict);
    }
    return create_names(d) < 0 ? -1 : set_counts(d, dict);
}

PyObject *smk_captured_launch_describe(const smk_state *state, const smk_capture_record *record, PyObject *text)
{
    description d = {.state = state, .record = record, .module = record->module};
    PyObject *dict =
        Py_BuildValue("{s:N,s:N,s:N,s:K}", "kernel", smk_mangled_read(record->kernel), "grid", make_size(record->grid),
                      "block", make_size(record->block), "shared_bytes", (unsigned long long)record->shared_bytes);
    if (dict != NULL && fill(&d, dict, text) < 0) {
        Py_CLEAR(dict);
    }
    for (unsigned i = 0; d.names != NULL && i < smk_counter_row_count; i++) {
        Py_XDECREF(d.names[i]);
    }
    PyMem_Free(d.names);
    smk_heap_free(d.line);
    return dict;
}
