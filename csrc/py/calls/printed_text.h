/* Text that kernels print, on its way to sys.stdout. */
#ifndef SMK_PY_CALLS_PRINTED_TEXT_H
#define SMK_PY_CALLS_PRINTED_TEXT_H

#include "py/state.h"

typedef struct smk_printed_text {
    PyThread_type_lock lock; /* guards the rest: any thread of the simulation may append */
    char *text;
    size_t length, capacity;
    bool is_lost; /* no memory was left for some of the text */
} smk_printed_text;

/* Returns 0, or -1 with an exception set. */
int smk_printed_text_create(smk_printed_text *printed);
void smk_printed_text_free(smk_printed_text *printed);

/* In the child of a fork: drops the text, which the parent writes, and the lock, which a thread of the parent may hold.
 * Returns 0, or -1 without an exception set. */
int smk_printed_text_renew(smk_printed_text *printed);

/* Appends text to the smk_printed_text `context`. Needs no GIL. */
void smk_printed_text_append(void *context, const char *text, size_t length);

/* Writes the text to sys.stdout. Needs the GIL. Returns 0, or -1 with an exception set. */
int smk_printed_text_flush(smk_printed_text *printed);

/* Has sys.stdout write what Python code has printed: a GPU's driver writes behind it, to the stream of the C library.
 * Returns 0, or -1 with an exception set. */
int smk_printed_text_begin(void);

/* Returns 0, or -1 with an exception set where text was lost. */
int smk_printed_text_check(const smk_state *state, const smk_printed_text *printed);

#endif
