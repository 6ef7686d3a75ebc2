#include "sim/code/array_name.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { INDEX_MAX = 8, NAME_LENGTH_MAX = 48 }; /* axes that a message shows; bytes of a parameter's name */

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static void
append(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* Appends the element type by NumPy's name: float32, bool, V24. */
static void append_type(const smk_launch_array *array, char *text, size_t size)
{
    const char *word = NULL;
    switch (array->kind) {
    case 'b':
        append(text, size, "bool");
        return;
    case 'i':
        word = "int";
        break;
    case 'u':
        word = "uint";
        break;
    case 'f':
        word = "float";
        break;
    case 'c':
        word = "complex";
        break;
    default:
        append(text, size, "%c%" PRIu64, array->kind, array->element_bytes);
        return;
    }
    append(text, size, "%s%" PRIu64, word, 8 * array->element_bytes);
}

const smk_launch_array *smk_array_name_write(const smk_launch *launch, uint64_t address, char *text, size_t size)
{
    size_t index = 0;
    while (launch->arrays != NULL && index < launch->parameter_count &&
           (launch->arrays[index].element_bytes == 0 || *(const uint64_t *)launch->parameters[index] != address)) {
        index++;
    }
    if (launch->arrays == NULL || index == launch->parameter_count) {
        return NULL;
    }
    const smk_launch_array *array = &launch->arrays[index];
    const size_t length = array->name.length < NAME_LENGTH_MAX ? array->name.length : NAME_LENGTH_MAX;
    if (array->operand) {
        (void)snprintf(text, size, "%.*s (", (int)length, array->name.start);
    } else {
        (void)snprintf(text, size, "args[%zu] (%.*s%s", index, (int)length, array->name.start, length > 0 ? ", " : "");
    }
    append_type(array, text, size);
    append(text, size, "[");
    for (unsigned i = 0; i < array->rank && i < INDEX_MAX; i++) {
        append(text, size, "%s%" PRIu64, i > 0 ? "," : "", array->shape[i]);
    }
    append(text, size, array->rank > INDEX_MAX ? ",...])" : "])");
    return array;
}

bool smk_array_name_write_workspace(const smk_launch *launch, uint64_t address, char *text, size_t size)
{
    if (launch->workspace == NULL || *launch->workspace != address) {
        return false;
    }
    (void)snprintf(text, size, "the workspace of %s", launch->family);
    return true;
}

void smk_array_name_write_element(const smk_launch_array *array, int64_t offset, char *text, size_t size)
{
    const int64_t bytes = (int64_t)array->element_bytes;
    int64_t position[INDEX_MAX] = {0};
    int64_t index = offset / bytes - (offset % bytes < 0);
    const int64_t byte = offset - index * bytes;
    text[0] = '\0';
    append(text, size, "element ");
    if (array->rank <= 1 || array->rank > INDEX_MAX) {
        append(text, size, "%" PRId64, index);
    } else {
        for (unsigned i = array->rank - 1; i > 0; i--) { /* the first index may be outside of the array */
            const int64_t length = array->shape[i] > 0 ? (int64_t)array->shape[i] : 1;
            const int64_t rest = index % length + (index % length < 0 ? length : 0);
            position[i] = rest;
            index = (index - rest) / length;
        }
        position[0] = index;
        for (unsigned i = 0; i < array->rank; i++) {
            append(text, size, "%s%" PRId64, i == 0 ? "[" : ", ", position[i]);
        }
        append(text, size, "]");
    }
    if (byte != 0) {
        append(text, size, ", byte %" PRId64 " of it", byte);
    }
}
