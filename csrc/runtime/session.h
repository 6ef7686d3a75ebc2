/* What all calls share: the simulator's memory, and the text that kernels have printed. */
#ifndef SMK_RUNTIME_SESSION_H
#define SMK_RUNTIME_SESSION_H

#include "sim/code/memory.h"

#include <stdbool.h>
#include <stddef.h>

/* The memory of the process; made when first asked for. The process ends where the system has none. */
smk_memory *smk_session_memory(void);

/* The runtime makes the context of the device that of the thread when a program first uses it: the driver then has one
 * without a call of its own. */
void smk_session_use_runtime(void);
bool smk_session_uses_runtime(void);

/* Keeps text that a kernel prints: the print function of a launch. */
void smk_session_print(void *context, const char *text, size_t length);

/* Writes the kept text to stdout, as synchronizing calls do on a GPU. */
void smk_session_flush(void);

/* The bytes that nothing has flushed. */
size_t smk_session_unprinted(void);

#endif
