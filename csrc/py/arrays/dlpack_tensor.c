#include "py/arrays/dlpack_tensor.h"

#include "py/arrays/bfloat16.h"
#include "py/error.h"

typedef struct element_row {
    uint8_t code, bits;
    int type;
} element_row;

/* The types that both sides have. */
static const element_row elements[] = {
    {kDLBool, 8, NPY_BOOL},       {kDLInt, 8, NPY_INT8},          {kDLInt, 16, NPY_INT16},
    {kDLInt, 32, NPY_INT32},      {kDLInt, 64, NPY_INT64},        {kDLUInt, 8, NPY_UINT8},
    {kDLUInt, 16, NPY_UINT16},    {kDLUInt, 32, NPY_UINT32},      {kDLUInt, 64, NPY_UINT64},
    {kDLFloat, 16, NPY_FLOAT16},  {kDLFloat, 32, NPY_FLOAT32},    {kDLFloat, 64, NPY_FLOAT64},
    {kDLComplex, 64, NPY_CFLOAT}, {kDLComplex, 128, NPY_CDOUBLE},
};
enum { ELEMENT_ROWS = sizeof elements / sizeof elements[0] };

/* NumPy has no number of its own for this one. */
static const element_row bfloat16 = {kDLBfloat, 16, NPY_NOTYPE};

static int refuse_elements(const smk_state *state, const char *subject, DLDataType type)
{
    smk_error_fail(state, SMK_TYPE, "%s: NumPy has no type for elements of DLPack's code %d with %d bits x %d", subject,
                   (int)type.code, (int)type.bits, (int)type.lanes);
    return -1;
}

int smk_dlpack_tensor_read(const smk_state *state, const char *subject, const DLTensor *tensor, smk_dlpack_view *view)
{
    const element_row *found = NULL;
    for (size_t i = 0; i < ELEMENT_ROWS; i++) {
        if (elements[i].code == tensor->dtype.code && elements[i].bits == tensor->dtype.bits) {
            found = &elements[i];
        }
    }
    if (tensor->dtype.code == bfloat16.code && tensor->dtype.bits == bfloat16.bits) {
        found = &bfloat16;
    }
    if (found == NULL || tensor->dtype.lanes != 1) {
        return refuse_elements(state, subject, tensor->dtype);
    }
    if (tensor->ndim < 0 || tensor->ndim > NPY_MAXDIMS) {
        smk_error_fail(state, SMK_SHAPE, "%s: %d axes, but an array has at most %d", subject, (int)tensor->ndim,
                       NPY_MAXDIMS);
        return -1;
    }
    npy_intp stride = (npy_intp)found->bits / 8;
    view->rank = tensor->ndim;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        view->shape[i] = (npy_intp)tensor->shape[i];
        view->strides[i] = tensor->strides != NULL ? (npy_intp)tensor->strides[i] * (npy_intp)found->bits / 8 : stride;
        stride *= view->shape[i] > 0 ? view->shape[i] : 1;
    }
    view->address = (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset;
    view->device = tensor->device;
    view->descr = found == &bfloat16 ? smk_bfloat16_descr() : PyArray_DescrFromType(found->type);
    return view->descr == NULL ? -1 : 0;
}

DLDevice smk_dlpack_tensor_device(const smk_array *array)
{
    const bool on_host = array->backend->host != NULL;
    return (DLDevice){on_host ? kDLCPU : kDLCUDA, on_host ? 0 : (int32_t)array->device};
}

/* The host address of the first element, for an array of the simulator. */
static int find_host(const smk_state *state, const smk_array *array, void **data)
{
    smk_error error = {0};
    uint64_t bytes = 0, before = 0;
    smk_array_extent(array, &bytes, &before);
    *data = NULL;
    if (bytes == 0) {
        return 0;
    }
    if (array->backend->host(array->address - before, bytes, !array->readonly, data, &error) != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    *data = (char *)*data + before;
    return 0;
}

int smk_dlpack_tensor_write(const smk_state *state, smk_array *array, DLTensor *tensor, int64_t *shape,
                            int64_t *strides)
{
    const npy_intp item_bytes = PyDataType_ELSIZE(array->descr);
    const element_row *found = smk_bfloat16_is(array->descr) ? &bfloat16 : NULL;
    for (size_t i = 0; i < ELEMENT_ROWS; i++) {
        if (PyArray_EquivTypenums(elements[i].type, array->descr->type_num)) {
            found = &elements[i];
        }
    }
    if (found == NULL) {
        PyErr_Format(PyExc_BufferError, "DLPack has no elements of type %S", (PyObject *)array->descr);
        return -1;
    }
    for (int i = 0; i < array->rank; i++) {
        shape[i] = (int64_t)array->shape[i];
        strides[i] = (int64_t)(array->strides[i] / item_bytes);
        if (array->strides[i] % item_bytes != 0) {
            PyErr_SetString(PyExc_BufferError, "DLPack has no strides that are not whole elements; pass d.copy()");
            return -1;
        }
    }
    *tensor = (DLTensor){
        .data = (void *)(uintptr_t)(array->size > 0 ? array->address : 0),
        .device = smk_dlpack_tensor_device(array),
        .ndim = array->rank,
        .dtype = {.code = found->code, .bits = found->bits, .lanes = 1},
        .shape = shape,
        .strides = strides,
    };
    return array->backend->host != NULL ? find_host(state, array, &tensor->data) : 0;
}
