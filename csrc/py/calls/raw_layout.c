#include "py/calls/raw_layout.h"

#include "py/backends/backend.h"
#include "py/backends/backend_cuda.h"
#include "py/error.h"

#include <string.h>

/* The type of a parameter by the value given: a float of its size for a Python float; else bits, which hold integers,
 * structures and addresses. */
static smk_type choose_type(PyObject *value, size_t bytes)
{
    const bool is_float = PyFloat_Check(value) && !PyArray_CheckScalar(value);
    switch (bytes) {
    case 1:
        return SMK_TYPE_B8;
    case 2:
        return is_float ? SMK_TYPE_F16 : SMK_TYPE_B16;
    case 4:
        return is_float ? SMK_TYPE_F32 : SMK_TYPE_B32;
    case 8:
        return is_float ? SMK_TYPE_F64 : SMK_TYPE_B64;
    default:
        return SMK_TYPE_B8; /* an array of bytes: a structure */
    }
}

/* Asks the GPU for the sizes. */
static smk_status ask(smk_kernel_binary *binary, const char *entry, size_t room, size_t *bytes, size_t *count,
                      smk_error *error)
{
    const smk_backend *backend = &smk_backend_cuda;
    smk_backend_code *code = NULL;
    smk_status status = SMK_OK;
    Py_BEGIN_ALLOW_THREADS
    status = smk_kernel_binary_code(binary, backend, entry, &code, error);
    if (status == SMK_OK) {
        status = backend->parameters(code, entry, room, bytes, count, error);
    }
    Py_END_ALLOW_THREADS
    return status;
}

int smk_raw_layout_make(const smk_state *state, smk_kernel_binary *binary, const char *entry, PyObject *tuple,
                        smk_arena *arena, const smk_function **function)
{
    static const char name[] = "parameter";
    smk_error error = {0};
    size_t count = 0;
    const size_t given = (size_t)PyTuple_GET_SIZE(tuple);
    size_t *bytes = smk_arena_allocate(arena, given, sizeof *bytes);
    smk_variable *variables = smk_arena_allocate(arena, given, sizeof *variables);
    smk_function *made = smk_arena_allocate(arena, 1, sizeof *made);
    if (bytes == NULL || variables == NULL || made == NULL) {
        smk_error_fail(state, SMK_MEMORY, "%s: no memory left for %zu arguments", entry, given);
        return -1;
    }
    if (ask(binary, entry, given, bytes, &count, &error) != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    for (size_t i = 0; i < given && i < count; i++) {
        variables[i] = (smk_variable){
            .name = {.start = name, .length = sizeof name - 1},
            .space = SMK_SPACE_PARAM,
            .type = (uint8_t)choose_type(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i), bytes[i]),
            .bytes = bytes[i],
        };
    }
    made->name = (smk_text){.start = entry, .length = strlen(entry)};
    made->is_entry = true;
    made->variables = variables; /* not read where the number of values is wrong */
    made->parameter_count = (uint32_t)count;
    *function = made;
    return 0;
}
