/* What a kernel calls that is not in the module: vprintf and __assertfail. */
#ifndef SMK_SIM_EXEC_PRINTF_H
#define SMK_SIM_EXEC_PRINTF_H

#include "base/text.h"
#include "sim/code/operation.h"

/* The handler of a call of an undefined function of that name (u.detail: the call's arguments and results), and how
 * many arguments it takes; NULL where there is none. */
smk_handler smk_printf_find(smk_text name, uint32_t *argument_count);

#endif
