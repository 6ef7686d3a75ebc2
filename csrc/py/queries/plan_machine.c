#include "py/queries/plan_machine.h"

#include "py/backends/backend_sim.h"
#include "py/error.h"

#include "registry/occupancy.h"
#include "registry/slowdowns.h"

#include <string.h>

/* (name of the card whose slowdowns are weighed or None, compute capability times ten, multiprocessors); None: an H200. */
static PyObject *describe(const smk_machine *machine)
{
    if (machine == NULL) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("ziI", machine->slowdown != NULL ? machine->slowdown->name : NULL, machine->capability,
                         machine->multiprocessors);
}

static int read_machine(const smk_state *state, PyObject *value, smk_machine *machine)
{
    const char *name = NULL;
    int capability = 0;
    unsigned multiprocessors = 0;
    if (!PyTuple_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "_plan_for takes None or (name, capability, multiprocessors)");
        return -1;
    }
    if (!PyArg_ParseTuple(value, "ziI:_plan_for", &name, &capability, &multiprocessors)) {
        return -1;
    }
    const smk_limits *limits = smk_occupancy_find(capability / 10, capability % 10);
    if (limits == NULL) {
        smk_error_fail(state, SMK_ARGUMENT, "_plan_for: compute capability %d.%d is not in the table", capability / 10,
                       capability % 10);
        return -1;
    }
    *machine = (smk_machine){.capability = capability,
                             .multiprocessors = multiprocessors,
                             .shared_bytes_max = limits->shared_optin,
                             .slowdown = name != NULL ? smk_slowdowns_find(name, capability, multiprocessors) : NULL};
    return 0;
}

/* _plan_for(machine) -> the machine before it. */
static const char plan_for_doc[] = "_plan_for(machine, /)\n--\n\n";

static PyObject *call_plan_for(PyObject *module, PyObject *value)
{
    smk_machine machine = {.capability = 0};
    if (value != Py_None && read_machine(smk_state_of_module(module), value, &machine) < 0) {
        return NULL;
    }
    PyObject *before = describe(smk_backend_sim_pretended());
    if (before != NULL) {
        smk_backend_sim_pretend(value == Py_None ? NULL : &machine);
    }
    return before;
}

PyMethodDef smk_plan_machine_methods[] = {
    {"_plan_for", call_plan_for, METH_O, plan_for_doc},
    {NULL, NULL, 0, NULL},
};
