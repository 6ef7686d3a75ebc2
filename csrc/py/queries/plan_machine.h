/* The machine that calls of a thread on the simulator are planned for. */
#ifndef SMK_PY_QUERIES_PLAN_MACHINE_H
#define SMK_PY_QUERIES_PLAN_MACHINE_H

#include "py/state.h"

extern PyMethodDef smk_plan_machine_methods[];

#endif
