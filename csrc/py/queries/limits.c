#include "py/queries/limits.h"

#include "py/backends/selection.h"
#include "py/dict.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/queries/config.h"

#include "registry/cards.h"

#include <stdlib.h>

/* Compute capabilities ------------------------------------------------------------------------------ */

static int refuse_form(const smk_state *state, const char *function, PyObject *value)
{
    smk_error_fail(state, SMK_TYPE, "%s: compute_capability must be a text like \"9.0\" or a tuple like (9, 0), not %R",
                   function, value);
    return -1;
}

/* "9.0": digits, a point, digits. */
static bool parse_text(const char *text, int *major, int *minor)
{
    int *const parts[] = {major, minor};
    for (int i = 0; i < 2; i++) {
        int value = 0, digits = 0;
        for (; *text >= '0' && *text <= '9' && digits < 4; text++, digits++) {
            value = value * 10 + (*text - '0');
        }
        if (digits == 0 || (i == 0 && *text++ != '.')) {
            return false;
        }
        *parts[i] = value;
    }
    return *text == '\0';
}

/* The name of a card: digits come first in a compute capability. */
static int find_card(const smk_state *state, const char *function, PyObject *value, const char *text, int *major,
                     int *minor)
{
    const smk_card *card = smk_cards_find(text);
    if (card == NULL) {
        smk_error_fail(state, SMK_ARGUMENT,
                       "%s: compute_capability is %R, which is neither written like \"9.0\" nor a card of the table; "
                       "developer.nvidia.com/cuda-gpus has all of them",
                       function, value);
        return -1;
    }
    *major = card->major;
    *minor = card->minor;
    return 0;
}

static int parse_value(const smk_state *state, const char *function, PyObject *value, int *major, int *minor)
{
    if (PyUnicode_Check(value)) {
        const char *text = smk_keywords_text(state, function, "compute_capability", value);
        if (text == NULL) {
            return -1;
        }
        return parse_text(text, major, minor) ? 0 : find_card(state, function, value, text, major, minor);
    }
    if ((!PyTuple_Check(value) && !PyList_Check(value)) || PySequence_Size(value) != 2) {
        return refuse_form(state, function, value);
    }
    int *const parts[] = {major, minor};
    for (Py_ssize_t i = 0; i < 2; i++) {
        PyObject *item = PySequence_GetItem(value, i);
        PyObject *integer = item == NULL ? NULL : smk_keywords_index(item);
        if (integer == NULL && PyErr_Occurred()) {
            Py_XDECREF(item);
            return -1;
        }
        long number = integer == NULL ? -1 : PyLong_AsLong(integer);
        Py_XDECREF(item);
        Py_XDECREF(integer);
        PyErr_Clear(); /* a number that is too large for a long */
        if (integer == NULL) {
            return refuse_form(state, function, value);
        }
        *parts[i] = number >= 0 && number < 10000 ? (int)number : -1;
    }
    return 0;
}

/* "3.0, 3.2, ..., 12.1" */
static PyObject *list_known(void)
{
    PyObject *result = PyUnicode_FromString("");
    for (size_t i = 0; result != NULL && i < smk_occupancy_limits_count(); i++) {
        const smk_limits *row = smk_occupancy_limits(i);
        PyObject *extended = PyUnicode_FromFormat("%U%s%d.%d", result, i == 0 ? "" : ", ", row->major, row->minor);
        Py_SETREF(result, extended);
    }
    return result;
}

static int refuse_unknown(const smk_state *state, const char *function, PyObject *value, int capability)
{
    PyObject *versions = list_known();
    if (versions != NULL && value != NULL) {
        smk_error_fail(state, SMK_ARGUMENT, "%s: compute capability %S is not in the table; known are %U", function,
                       value, versions);
    } else if (versions != NULL) {
        smk_error_fail(state, SMK_ARGUMENT,
                       "%s: the present device has compute capability %d.%d, which is not in the table; known are %U",
                       function, capability / 10, capability % 10, versions);
    }
    Py_XDECREF(versions);
    return -1;
}

/* The compute capability of the machine in use, times ten; -1 with an exception set. */
static int ask_machine(const smk_state *state, const smk_backend **backend)
{
    const smk_machine *machine = NULL;
    smk_error error = {0};
    smk_status status = SMK_OK;
    if (smk_selection_choose(state, NULL, backend) < 0) {
        return -1;
    }
    const smk_backend *chosen = *backend;
    Py_BEGIN_ALLOW_THREADS
    status = chosen->machine(&machine, &error);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return machine->capability;
}

int smk_limits_read(const smk_state *state, const char *function, PyObject *value, const smk_limits **limits,
                    const smk_backend **present)
{
    const smk_backend *backend = NULL;
    int major = 0, minor = 0;
    if (value != NULL && parse_value(state, function, value, &major, &minor) < 0) {
        return -1;
    }
    int capability = ask_machine(state, &backend);
    if (capability < 0 && (value == NULL || !PyErr_ExceptionMatches(state->root))) {
        return -1;
    }
    PyErr_Clear(); /* without a machine the table can still be read */
    if (value == NULL) {
        major = capability / 10;
        minor = capability % 10;
    }
    *limits = smk_occupancy_find(major, minor);
    if (*limits == NULL) {
        return refuse_unknown(state, function, value, capability);
    }
    *present = capability == major * 10 + minor ? backend : NULL;
    return 0;
}

/* The table ----------------------------------------------------------------------------------------- */

/* The sizes in bytes, for a list in KiB such as "0 8 16". */
static PyObject *list_carveouts(const smk_limits *limits)
{
    PyObject *list = PyList_New(0);
    const char *text = limits->carveouts_kb;
    unsigned long bytes = limits->shared_sm;
    bool more = list != NULL;
    while (more) {
        char *end = NULL;
        if (*text != '\0') {
            bytes = strtoul(text, &end, 10) * 1024;
            text = end;
        }
        PyObject *size = PyLong_FromUnsignedLong(bytes);
        if (size == NULL || PyList_Append(list, size) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(size);
        more = list != NULL && *text != '\0';
    }
    PyObject *tuple = list == NULL ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return tuple;
}

/* The facts under the names of device_info, where it has them too. */
static PyObject *describe(const smk_limits *limits)
{
    const struct {
        const char *name;
        uint32_t value;
    } numbers[] = {
        {"warp_lanes", SMK_WARP_SIZE},
        {"threads_per_block_max", SMK_OCCUPANCY_BLOCK_THREADS_MAX},
        {"threads_per_multiprocessor_max", limits->threads_sm},
        {"warps_per_multiprocessor_max", limits->warps_sm},
        {"blocks_per_multiprocessor_max", limits->blocks_sm},
        {"registers_per_multiprocessor", limits->registers_sm},
        {"registers_per_block", limits->registers_block},
        {"registers_per_thread_max", limits->registers_thread},
        {"register_allocation_unit", SMK_OCCUPANCY_REGISTER_UNIT},
        {"warp_allocation_granularity", limits->partitions},
        {"shared_bytes_per_block", SMK_OCCUPANCY_SHARED_DEFAULT},
        {"shared_bytes_per_block_optin", limits->shared_optin},
        {"shared_bytes_per_multiprocessor", limits->shared_sm},
        {"shared_bytes_per_block_reserved", limits->shared_reserved},
        {"shared_allocation_unit_bytes", limits->shared_unit},
    };
    const bool built = smk_occupancy_has_kernels(limits);
    PyObject *facts = PyDict_New();
    if (facts == NULL ||
        smk_dict_set(facts, "compute_capability", PyUnicode_FromFormat("%d.%d", limits->major, limits->minor)) < 0) {
        Py_CLEAR(facts);
    }
    for (size_t i = 0; facts != NULL && i < sizeof numbers / sizeof numbers[0]; i++) {
        if (smk_dict_set(facts, numbers[i].name, PyLong_FromUnsignedLong(numbers[i].value)) < 0) {
            Py_CLEAR(facts);
        }
    }
    if (facts != NULL &&
        (smk_dict_set(facts, "shared_carveout_bytes", list_carveouts(limits)) < 0 ||
         smk_dict_set(facts, "kernels", PyBool_FromLong(built)) < 0 ||
         smk_dict_set(facts, "source",
                      PyUnicode_FromFormat("programming guide of CUDA %s; units: cuda_occupancy.h of CUDA "
                                           "13.0%s",
                                           limits->source, built ? "" : "; for reading: no kernel is built for it")) <
             0)) {
        Py_CLEAR(facts);
    }
    return facts;
}

/* A dict {name: (table, device)} of all facts that differ. */
static PyObject *find_differences(PyObject *facts, PyObject *device)
{
    PyObject *result = PyDict_New(), *name = NULL, *expected = NULL;
    Py_ssize_t position = 0;
    while (result != NULL && PyDict_Next(facts, &position, &name, &expected)) {
        PyObject *actual = PyDict_GetItemWithError(device, name); /* borrowed */
        int equal = actual == NULL ? (PyErr_Occurred() ? -1 : 1) : PyObject_RichCompareBool(expected, actual, Py_EQ);
        PyObject *pair = equal == 0 ? PyTuple_Pack(2, expected, actual) : NULL;
        if (equal < 0 || (equal == 0 && (pair == NULL || PyDict_SetItem(result, name, pair) < 0))) {
            Py_CLEAR(result);
        }
        Py_XDECREF(pair);
    }
    return result;
}

/* Sets the item "differences": None where the machine in use has another compute capability. */
static int compare(const smk_state *state, PyObject *facts, const smk_backend *present)
{
    PyObject *device = NULL, *differences = NULL;
    int status = -1;
    if (present == NULL) {
        return PyDict_SetItemString(facts, "differences", Py_None);
    }
    device = smk_config_device_info(state, NULL, NULL);
    differences = device == NULL ? NULL : find_differences(facts, device);
    if (differences != NULL && PyDict_SetItemString(facts, "differences", differences) == 0) {
        status = PyDict_GET_SIZE(differences) == 0
                     ? 0
                     : PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                                        "smemkit.limits: the present device differs from the table "
                                        "(table, device): %R",
                                        differences);
    }
    Py_XDECREF(device);
    Py_XDECREF(differences);
    return status;
}

static const char limits_doc[] =
    "limits(compute_capability=None)\n--\n\n"
    "What a multiprocessor of a compute capability holds, from NVIDIA's table.\n\n"
    "Parameters\n----------\n"
    "compute_capability : str or tuple of two ints, optional\n"
    "    \"9.0\" or (9, 0), 3.0 to 12.1, or the name of a card, as \"RTX 3060\"; by default the present machine's\n"
    "    (the simulator's is 9.0).\n\n"
    "Shapes\n------\n"
    "None.\n\n"
    "Returns\n-------\n"
    "dict, under the names of device_info where it knows the fact too: threads of a block; threads, warps, blocks,\n"
    "registers (32 bits) and shared bytes of a multiprocessor; registers of a block and of a thread; shared bytes of\n"
    "a block, with opt-in, and those that the driver takes of each block; the units in which registers (of a warp),\n"
    "warps and shared bytes are given; the sizes of the shared part of the L1 storage. \"kernels\" says whether this\n"
    "package has kernels for it (from 7.5 up; older rows are for reading), \"source\" where the row comes from, and\n"
    "\"differences\", where the present machine has that compute capability, in which facts its own query differs:\n"
    "{name: (table, device)}, which also gives a RuntimeWarning where it is not empty.\n\n"
    "Raises\n------\n"
    "ArgumentError (ValueError) for one that is not in the table, ArgumentTypeError (TypeError), BackendError.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> facts = smemkit.limits(\"8.6\")\n"
    ">>> facts[\"threads_per_multiprocessor_max\"], facts[\"shared_bytes_per_block_optin\"] // 1024\n"
    "(1536, 99)\n";

static PyObject *call_limits(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"compute_capability"};
    static const smk_keywords accepted = {"limits", names, 1, 1, 0};
    const smk_limits *limits = NULL;
    const smk_backend *present = NULL;
    PyObject *values[1];
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0 ||
        smk_limits_read(smk_state_of_module(module), "limits", smk_keywords_optional(values[0]), &limits, &present) <
            0) {
        return NULL;
    }
    PyObject *facts = describe(limits);
    if (facts != NULL && compare(smk_state_of_module(module), facts, present) < 0) {
        Py_CLEAR(facts);
    }
    return facts;
}

/* The names of the cards of a compute capability, a new tuple. */
static PyObject *list_cards(const smk_limits *limits)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < smk_cards_count(); i++) {
        const smk_card *card = smk_cards_row(i);
        if (card->major == limits->major && card->minor == limits->minor) {
            PyObject *name = PyUnicode_FromString(card->name);
            if (name == NULL || PyList_Append(list, name) < 0) {
                Py_CLEAR(list);
            }
            Py_XDECREF(name);
        }
    }
    PyObject *tuple = list == NULL ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return tuple;
}

/* _limits_table() -> (((major, minor), whether kernels are built for it, (name of a card, ...)), ...) */
static const char limits_table_doc[] = "_limits_table()\n--\n\n";

static PyObject *call_limits_table(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    PyObject *rows = PyTuple_New((Py_ssize_t)smk_occupancy_limits_count());
    for (size_t i = 0; rows != NULL && i < smk_occupancy_limits_count(); i++) {
        const smk_limits *limits = smk_occupancy_limits(i);
        PyObject *row = Py_BuildValue("((ii)NN)", limits->major, limits->minor,
                                      PyBool_FromLong(smk_occupancy_has_kernels(limits)), list_cards(limits));
        if (row == NULL) {
            Py_CLEAR(rows);
        } else {
            PyTuple_SET_ITEM(rows, (Py_ssize_t)i, row);
        }
    }
    return rows;
}

/* _card_rates() -> ((owner, quantity, value, source), ...), the rows of card_rates.def */
static const char card_rates_doc[] = "_card_rates()\n--\n\n";

static PyObject *call_card_rates(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    PyObject *rows = PyTuple_New((Py_ssize_t)smk_cards_rate_count());
    for (size_t i = 0; rows != NULL && i < smk_cards_rate_count(); i++) {
        const smk_card_rate *rate = smk_cards_rate(i);
        PyObject *row = Py_BuildValue("(ssds)", rate->owner, rate->quantity, rate->value, rate->source);
        if (row == NULL) {
            Py_CLEAR(rows);
        } else {
            PyTuple_SET_ITEM(rows, (Py_ssize_t)i, row);
        }
    }
    return rows;
}

PyMethodDef smk_limits_methods[] = {
    {"_card_rates", call_card_rates, METH_NOARGS, card_rates_doc},
    {"_limits_table", call_limits_table, METH_NOARGS, limits_table_doc},
    {"limits", SMK_PY_FUNCTION(call_limits), SMK_PY_FAST, limits_doc},
    {NULL, NULL, 0, NULL},
};
