/* A slice of a text that it does not own. */
#ifndef SMK_BASE_TEXT_H
#define SMK_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct smk_text {
    const char *start; /* not terminated */
    size_t length;
} smk_text;

/* For "%.*s": the slice's length as printf wants it, cut to what an error message can hold. */
#define SMK_TEXT_PRINT(text) smk_text_print_length(text), (text).start

int smk_text_print_length(smk_text text);
/* Compares as memcmp; a prefix comes before the longer text. */
int smk_text_compare(smk_text a, smk_text b);
bool smk_text_equal(smk_text a, smk_text b);
bool smk_text_is(smk_text text, const char *word);

#endif
