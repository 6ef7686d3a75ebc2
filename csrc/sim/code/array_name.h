/* Names of a launch's arrays, of their elements and of its workspace, for messages. */
#ifndef SMK_SIM_CODE_ARRAY_NAME_H
#define SMK_SIM_CODE_ARRAY_NAME_H

#include "base/launch.h"

/* Writes "args[1] (y, float32[99])", or "b (float32[8,8])" for an operand of a call of a family, for the argument that
 * points to `address`. Returns the array, or NULL with no text written where no argument with a known array points
 * there. */
const smk_launch_array *smk_array_name_write(const smk_launch *launch, uint64_t address, char *text, size_t size);

/* Writes "the workspace of reduce" for the address of the memory that the call of a family has for itself. Returns false,
 * with no text written, for other addresses. */
bool smk_array_name_write_workspace(const smk_launch *launch, uint64_t address, char *text, size_t size);

/* Writes "element 99", or "element [3, 5]" for arrays of more axes, for the element at an offset in bytes, which may
 * lie outside of the array. Inside an element the byte is added. */
void smk_array_name_write_element(const smk_launch_array *array, int64_t offset, char *text, size_t size);

#endif
