#include "py/calls/family_choice.h"

#include "py/calls/family_items.h"
#include "py/calls/family_plan.h"
#include "py/dict.h"
#include "py/error.h"

#include "registry/slowdowns.h"

#include <string.h>

/* (kernel, grid, block, dynamic shared memory) of each launch. */
static PyObject *describe_launches(const smk_family_call *call, const smk_variant *row, const smk_plan *plan)
{
    PyObject *launches = PyTuple_New((Py_ssize_t)plan->step_count);
    for (size_t i = 0; launches != NULL && i < plan->step_count; i++) {
        const smk_step *step = &plan->step[i];
        char entry[SMK_FAMILY_CALL_ENTRY_BYTES];
        smk_registry_entry(row, step->part != NULL ? step->part : "", call->choice,
                           step->type != NULL ? step->type : call->type, entry, sizeof entry);
        PyObject *item = Py_BuildValue("s(III)(III)n", entry, step->grid.x, step->grid.y, step->grid.z, step->block.x,
                                       step->block.y, step->block.z, (Py_ssize_t)step->shared_bytes);
        if (item == NULL) {
            Py_CLEAR(launches);
        } else {
            PyTuple_SET_ITEM(launches, (Py_ssize_t)i, item);
        }
    }
    return launches;
}

static PyObject *count_or_none(int64_t count)
{
    return count > 0 ? PyLong_FromLongLong(count) : Py_NewRef(Py_None);
}

static PyObject *describe_tile(const smk_plan *plan)
{
    return plan->tile_rows > 0 ? Py_BuildValue("LL", (long long)plan->tile_rows, (long long)plan->tile_columns)
                               : Py_NewRef(Py_None);
}

/* The launches run so many times, for items of a stack. */
static int64_t count_repeats(const smk_family_call *call, const smk_plan *plan)
{
    int64_t repeats = call->stack != NULL && !plan->takes_stack ? call->items.stack : 1;
    for (size_t i = 0; call->stack != NULL && i < call->items.loops; i++) {
        repeats *= call->items.count[i];
    }
    return repeats;
}

static PyObject *describe_candidate(const smk_family_call *call, const smk_candidate *candidate)
{
    const smk_variant *row = candidate->variant;
    const smk_plan *plan = &candidate->plan;
    const bool has_plan = candidate->refusal.status == SMK_OK, takes_part = row->speed > 0;
    const bool copies = call->stack != NULL && !plan->takes_layout && !smk_family_items_in_order(call);
    PyObject *made = PyDict_New();
    if (made == NULL || smk_dict_set(made, "variant", PyUnicode_FromString(row->name)) < 0 ||
        smk_dict_set(made, "summary", PyUnicode_FromString(row->summary)) < 0 ||
        smk_dict_set(made, "takes_part", PyBool_FromLong(takes_part)) < 0 ||
        smk_dict_set(made, "refusal",
                     has_plan ? Py_NewRef(Py_None) : PyUnicode_FromString(candidate->refusal.message)) < 0 ||
        smk_dict_set(made, "time_us",
                     candidate->time_us > 0.0 ? PyFloat_FromDouble(candidate->time_us) : Py_NewRef(Py_None)) < 0 ||
        smk_dict_set(made, "speed", PyFloat_FromDouble(candidate->speed)) < 0 ||
        smk_dict_set(made, "launches", describe_launches(call, row, plan)) < 0 ||
        smk_dict_set(made, "repeats", PyLong_FromLongLong(count_repeats(call, plan))) < 0 ||
        smk_dict_set(made, "copies", PyBool_FromLong(has_plan && copies)) < 0 ||
        smk_dict_set(made, "workspace_bytes", PyLong_FromUnsignedLongLong(plan->workspace_bytes)) < 0 ||
        smk_dict_set(made, "tile", describe_tile(plan)) < 0 ||
        smk_dict_set(made, "parts", count_or_none(plan->parts)) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* All rows, and the name of the one that the choice takes. */
static PyObject *describe_candidates(smk_family_call *call, const smk_variant **taken)
{
    smk_request request = smk_family_plan_request(call);
    smk_plan_trust(&request);
    PyObject *list = PyList_New(0);
    double best = 0.0;
    for (size_t i = 0; list != NULL && i < smk_registry_variant_count(); i++) {
        smk_candidate candidate;
        if (!smk_plan_weigh(&request, smk_registry_variant(i), &candidate)) {
            continue;
        }
        PyObject *made = describe_candidate(call, &candidate);
        if (made == NULL || PyList_Append(list, made) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(made);
        if (candidate.refusal.status == SMK_OK && candidate.speed > best) {
            best = candidate.speed;
            *taken = candidate.variant;
        }
    }
    return list;
}

static PyObject *describe_dimensions(const smk_family_call *call)
{
    PyObject *made = PyDict_New();
    for (size_t i = 0; made != NULL && i < call->signature.dimension_count; i++) {
        if (smk_dict_set(made, call->signature.dimension[i], PyLong_FromLongLong(call->dimensions[i])) < 0) {
            Py_CLEAR(made);
        }
    }
    return made;
}

PyObject *smk_family_choice_describe(smk_family_call *call)
{
    const smk_variant *taken = NULL;
    PyObject *candidates = describe_candidates(call, &taken), *made = candidates == NULL ? NULL : PyDict_New();
    if (made == NULL || smk_dict_set(made, "family", PyUnicode_FromString(call->family->name)) < 0 ||
        smk_dict_set(made, "type", PyUnicode_FromString(call->type)) < 0 ||
        smk_dict_set(made, "choice", PyUnicode_FromString(call->choice)) < 0 ||
        smk_dict_set(made, "dimensions", describe_dimensions(call)) < 0 ||
        smk_dict_set(made, "stack", PyLong_FromLongLong(call->stack != NULL ? call->items.stack : 1)) < 0 ||
        smk_dict_set(made, "flops", PyFloat_FromDouble(call->family->flops(call->dimensions))) < 0 ||
        smk_dict_set(made, "backend", PyUnicode_FromString(call->backend->name)) < 0 ||
        smk_dict_set(made, "capability", PyLong_FromLong(call->machine->capability)) < 0 ||
        smk_dict_set(made, "multiprocessors", PyLong_FromUnsignedLong(call->machine->multiprocessors)) < 0 ||
        smk_dict_set(made, "card",
                     call->machine->slowdown == NULL ? Py_NewRef(Py_None)
                                                     : PyUnicode_FromString(call->machine->slowdown->name)) < 0 ||
        smk_dict_set(made, "taken", taken == NULL ? Py_NewRef(Py_None) : PyUnicode_FromString(taken->name)) < 0 ||
        smk_dict_set(made, "candidates", Py_NewRef(candidates)) < 0) {
        Py_CLEAR(made);
    }
    Py_XDECREF(candidates);
    return made;
}
