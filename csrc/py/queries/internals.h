/* Doors for tests and for our own Python, with a leading underscore there: pieces of the layers below, one at a
 * time. */
#ifndef SMK_PY_DOOR_H
#define SMK_PY_DOOR_H

#include "py/state.h"

extern PyMethodDef smk_door_methods[];

#endif
