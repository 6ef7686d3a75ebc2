#include "base/source_name.h"

#include <stdio.h>
#include <string.h>

static bool takes(smk_text *rest, const char *start)
{
    const size_t length = strlen(start);
    if (rest->length < length || memcmp(rest->start, start, length) != 0) {
        return false;
    }
    *rest = (smk_text){rest->start + length, rest->length - length};
    return true;
}

/* Reads a decimal number; false where there is none, or one longer than what follows it. */
static bool read_length(smk_text *rest, size_t *length)
{
    smk_text at = *rest;
    *length = 0;
    while (at.length > 0 && at.start[0] >= '0' && at.start[0] <= '9' && *length <= rest->length) {
        *length = 10 * *length + (size_t)(at.start[0] - '0');
        at = (smk_text){at.start + 1, at.length - 1};
    }
    const bool read = at.start != rest->start && *length <= at.length;
    *rest = at;
    return read;
}

smk_text smk_source_name_strip(smk_text name)
{
    smk_text rest = name;
    size_t file = 0;
    if (!takes(&rest, "__nv_static_") || !read_length(&rest, &file) || !takes(&rest, "_") || rest.length <= file + 1 ||
        rest.start[file] != '_') {
        return name;
    }
    return (smk_text){rest.start + file + 1, rest.length - file - 1};
}

/* Writes the parts of a nested name behind _ZN with :: between them; false where it is none of plain names. */
static bool write_parts(smk_text rest, char *text, size_t size)
{
    size_t used = 0, length = 0;
    while (!takes(&rest, "E")) {
        (void)takes(&rest, "L"); /* of internal linkage */
        if (!read_length(&rest, &length)) {
            return false;
        }
        smk_text part = {rest.start, length};
        rest = (smk_text){rest.start + length, rest.length - length};
        if (takes(&part, "_INTERNAL_")) { /* stands for the file */
            continue;
        }
        const char *anonymous = "(anonymous namespace)";
        part = takes(&part, "_GLOBAL__N_") ? (smk_text){anonymous, strlen(anonymous)} : part;
        const int written =
            snprintf(text + used, size - used, "%s%.*s", used == 0 ? "" : "::", (int)part.length, part.start);
        if (written < 0 || (size_t)written >= size - used) {
            return false;
        }
        used += (size_t)written;
    }
    return used > 0 && rest.length == 0;
}

void smk_source_name_write(smk_text name, char *text, size_t size)
{
    const smk_text plain = smk_source_name_strip(name);
    smk_text parts = plain;
    if (!takes(&parts, "_ZN") || !write_parts(parts, text, size)) {
        (void)snprintf(text, size, "%.*s", (int)(plain.length < size ? plain.length : size), plain.start);
    }
}
