/* The functions of the device runtime that a kernel may call without defining them: vprintf and __assertfail. */
#ifndef SMK_SIM_EXEC_PRINTF_H
#define SMK_SIM_EXEC_PRINTF_H

#include "base/text.h"
#include "sim/code/operation.h"

/* The handler of a call to such a function (u.detail: the call's arguments and results), and its number of arguments;
 * NULL where there is none of that name. */
smk_handler smk_printf_find(smk_text name, uint32_t *argument_count);

#endif
