#include "base/text.h"

#include <string.h>

enum { PRINT_MAX = 80 };

int smk_text_print_length(smk_text text)
{
    return (int)(text.length < PRINT_MAX ? text.length : PRINT_MAX);
}

bool smk_text_equal(smk_text a, smk_text b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.start, b.start, a.length) == 0);
}

int smk_text_compare(smk_text a, smk_text b)
{
    size_t common = a.length < b.length ? a.length : b.length;
    int order = common == 0 ? 0 : memcmp(a.start, b.start, common);
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

bool smk_text_is(smk_text text, const char *word)
{
    smk_text other = {word, strlen(word)};
    return smk_text_equal(text, other);
}
