#include "py/queries/internals_bus.h"

#include "py/calls/family_slabs.h"

#include "gpu/gpu.h"

/* _bus_set(threads=0, slot_bytes=0, slots=0, part_bytes=0): how copies to a GPU go from now on; 0 chooses */
static const char bus_set_doc[] = "_bus_set(threads=0, slot_bytes=0, slots=0, part_bytes=0)\n--\n\n";

static PyObject *call_bus_set(PyObject *module, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"threads", "slot_bytes", "slots", "part_bytes", NULL};
    unsigned long long slot_bytes = 0, part_bytes = 0;
    smk_bus_settings settings = {0};
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|IKIK", names, &settings.threads, &slot_bytes,
                                     &settings.slots, &part_bytes)) {
        return NULL;
    }
    settings.slot_bytes = slot_bytes;
    settings.part_bytes = part_bytes;
    smk_bus_set(&settings);
    Py_RETURN_NONE;
}

/* _bus_kept() -> (bytes of pinned memory that rings keep, rings, those that copy now) */
static const char bus_kept_doc[] = "_bus_kept()\n--\n\n";

static PyObject *call_bus_kept(PyObject *module, PyObject *ignored)
{
    const smk_ring_memory kept = smk_ring_kept();
    (void)module;
    (void)ignored;
    return Py_BuildValue("(KII)", (unsigned long long)kept.bytes, kept.rings, kept.busy);
}

/* _held() -> what the extension holds of the GPUs: {"blocks": ..., "events": ..., "streams": ..., "pinned": ...} */
static const char held_doc[] = "_held()\n--\n\n";

static PyObject *call_held(PyObject *module, PyObject *ignored)
{
    const smk_held held = smk_held_now();
    (void)module;
    (void)ignored;
    return Py_BuildValue("{sL sL sL sL}", "blocks", (long long)held.blocks, "events", (long long)held.events, "streams",
                         (long long)held.streams, "pinned", (long long)held.pinned);
}

/* _slabs_force(bytes): calls on NumPy arrays go in slabs of so many bytes, on either machine; 0: as is best */
static const char slabs_force_doc[] = "_slabs_force(bytes, /)\n--\n\n";

static PyObject *call_slabs_force(PyObject *module, PyObject *bytes)
{
    const unsigned long long forced = PyLong_AsUnsignedLongLong(bytes);
    (void)module;
    if (PyErr_Occurred()) {
        return NULL;
    }
    smk_family_slabs_force(forced);
    Py_RETURN_NONE;
}

PyMethodDef smk_internals_bus_methods[] = {
    {"_bus_set", SMK_PY_FUNCTION(call_bus_set), METH_VARARGS | METH_KEYWORDS, bus_set_doc},
    {"_bus_kept", call_bus_kept, METH_NOARGS, bus_kept_doc},
    {"_held", call_held, METH_NOARGS, held_doc},
    {"_slabs_force", call_slabs_force, METH_O, slabs_force_doc},
    {NULL, NULL, 0, NULL},
};
