#include "py/arrays/texture_type.h"

#include "py/backends/device.h"
#include "py/error.h"

/* A texture or surface of a device, with its texels. */
typedef struct texture_object {
    PyObject_HEAD const smk_backend *backend;
    int device;
    smk_texture_shape shape;
    smk_backend_texture texture;
} texture_object;

static texture_object *get_object(PyObject *self)
{
    return (texture_object *)(void *)self;
}

/* Reads the arguments that smemkit.Texture has checked. Returns 0, or -1 with an exception set. */
static int read_shape(PyObject *arguments, smk_texture_shape *shape, PyObject **device, PyObject **machine,
                      Py_buffer *texels)
{
    unsigned size[3], layers, axes, cube, channels, bits, kind, mode[3], filters, normalized, reads_floats, surface;
    if (!PyArg_ParseTuple(arguments, "y*OO(III)IIIIII(III)IIII(ffff):_TextureObject", texels, device, machine, &size[0],
                          &size[1], &size[2], &layers, &axes, &cube, &channels, &bits, &kind, &mode[0], &mode[1],
                          &mode[2], &filters, &normalized, &reads_floats, &surface, &shape->border[0],
                          &shape->border[1], &shape->border[2], &shape->border[3])) {
        return -1;
    }
    for (unsigned i = 0; i < 3; i++) {
        shape->size[i] = size[i];
        shape->mode[i] = (uint8_t)mode[i];
    }
    shape->layers = layers;
    shape->axes = (uint8_t)axes;
    shape->cube = (uint8_t)cube;
    shape->channels = (uint8_t)channels;
    shape->bits = (uint8_t)bits;
    shape->kind = (uint8_t)kind;
    shape->filters = (uint8_t)filters;
    shape->normalized = (uint8_t)normalized;
    shape->reads_floats = (uint8_t)reads_floats;
    shape->surface = (uint8_t)surface;
    return 0;
}

static uint64_t count_bytes(const smk_texture_shape *shape)
{
    return smk_texture_slices(shape) * shape->size[1] * shape->size[0] * smk_texture_texel_bytes(shape);
}

/* Makes the texture on its device. */
static smk_status create_there(texture_object *made, const void *texels, smk_error *error)
{
    int before = 0;
    smk_status status = smk_texture_check(&made->shape, error);
    if (status == SMK_OK) {
        status = smk_backend_enter(made->backend, made->device, &before, error);
    }
    if (status == SMK_OK) {
        status = made->backend->create_texture(&made->shape, texels, &made->texture, error);
        smk_backend_leave(made->backend, made->device, before);
    }
    return status;
}

static PyObject *construct(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    const smk_state *state = PyType_GetModuleState(type);
    smk_texture_shape shape = {.axes = 0};
    const smk_backend *backend = NULL;
    PyObject *device = NULL, *machine = NULL;
    Py_buffer texels = {0};
    smk_error error = {0};
    smk_status status = SMK_OK;
    int number = SMK_DEVICE_PRESENT;
    texture_object *made = NULL;
    (void)keywords;
    if (read_shape(arguments, &shape, &device, &machine, &texels) < 0) {
        return NULL;
    }
    if (smk_device_choose(state, "Texture", device == Py_None ? NULL : device, machine == Py_None ? NULL : machine,
                          &backend, &number) < 0) {
        goto done;
    }
    made = PyObject_New(texture_object, type);
    if (made == NULL) {
        goto done;
    }
    made->backend = backend;
    made->device = number;
    made->shape = shape;
    made->texture = (smk_backend_texture){0};
    Py_BEGIN_ALLOW_THREADS
    if (number == SMK_DEVICE_PRESENT) {
        status = smk_backend_device(backend, &made->device, &error);
    }
    if (status == SMK_OK && (uint64_t)texels.len != count_bytes(&shape)) {
        status = smk_status_fail(&error, SMK_SHAPE, "Texture: %lld bytes for texels of %llu", (long long)texels.len,
                                 (unsigned long long)count_bytes(&shape));
    }
    if (status == SMK_OK) {
        status = create_there(made, texels.buf, &error);
    }
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        made->texture.object = 0;
        Py_CLEAR(made);
        smk_error_raise(state, &error);
    }
done:
    PyBuffer_Release(&texels);
    return (PyObject *)made;
}

static void deallocate(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    const texture_object *own = get_object(self);
    int before = 0;
    if (own->texture.object != 0) {
        Py_BEGIN_ALLOW_THREADS
        if (smk_backend_enter(own->backend, own->device, &before, NULL) == SMK_OK) {
            own->backend->free_texture(&own->texture);
            smk_backend_leave(own->backend, own->device, before);
        }
        Py_END_ALLOW_THREADS
    }
    PyObject_Free(self);
    Py_DECREF(type);
}

static const char copy_doc[] = "read($self, texels, /)\n--\n\nCopies the texels into a writeable buffer.";

static PyObject *copy_texels(PyObject *self, PyObject *target)
{
    const smk_state *state = smk_state_of_instance(self);
    const texture_object *own = get_object(self);
    Py_buffer texels;
    smk_error error = {0};
    smk_status status = SMK_OK;
    int before = 0;
    if (PyObject_GetBuffer(target, &texels, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    if ((uint64_t)texels.len != count_bytes(&own->shape)) {
        status = smk_status_fail(&error, SMK_SHAPE, "read: %lld bytes for texels of %llu", (long long)texels.len,
                                 (unsigned long long)count_bytes(&own->shape));
    }
    if (status == SMK_OK) {
        status = smk_backend_enter(own->backend, own->device, &before, &error);
    }
    if (status == SMK_OK) {
        status = own->backend->read_texture(&own->shape, &own->texture, texels.buf, &error);
        smk_backend_leave(own->backend, own->device, before);
    }
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&texels);
    return status == SMK_OK ? Py_NewRef(Py_None) : smk_error_raise(state, &error);
}

static PyObject *get_value(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(get_object(self)->texture.object);
}

static PyObject *get_device(PyObject *self, void *closure)
{
    char device[SMK_DEVICE_TEXT_BYTES];
    (void)closure;
    smk_device_write(get_object(self)->backend, get_object(self)->device, device);
    return PyUnicode_FromString(device);
}

static const char documentation[] =
    "_TextureObject(texels, /, *description)\n--\n\n"
    "A texture or surface of a device, made of arguments that smemkit.Texture has checked.";

static PyMethodDef methods[] = {
    {"read", copy_texels, METH_O, copy_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"value", get_value, NULL, "What kernels get.", NULL},
    {"device", get_device, NULL, "Where it lives, as \"sim\" or \"cuda:0\".", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, SMK_PY_TEXT(documentation)},
    {Py_tp_new, SMK_PY_SLOT(construct)},
    {Py_tp_dealloc, SMK_PY_SLOT(deallocate)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

PyType_Spec smk_texture_type_spec = {
    .name = "smemkit._core._TextureObject",
    .basicsize = sizeof(texture_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
