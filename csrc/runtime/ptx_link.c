#include "runtime/ptx_link.h"

#include "base/heap.h"
#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 1 << 16, NAMES_FIRST = 64, NUMBER_BYTES = 32 };

/* A statement of the module: a directive, a declaration or a definition. */
typedef struct statement {
    smk_text text; /* with its end */
    smk_text name; /* of what it declares; empty where it declares nothing */
    bool is_function, has_body, is_header, is_section;
    bool is_extern, is_local; /* local: no other file sees it */
} statement;

typedef struct linker {
    char *out;
    size_t used, room;
    smk_text *defined; /* names of functions with a body, and of variables */
    size_t defined_count, defined_room;
    smk_text *renamed; /* names of the present text that stand for others */
    size_t renamed_count, renamed_room;
    size_t number; /* of the present text */
    unsigned long files, files_before;
    bool failed; /* no memory */
} linker;

static void add(linker *link, const char *text, size_t length)
{
    if (length >= link->room - link->used) {
        const size_t wanted = 2 * (link->room + length) + ROOM_FIRST;
        char *grown = smk_heap_resize(link->out, link->used, wanted);
        if (grown == NULL) {
            link->failed = true;
            return;
        }
        link->out = grown;
        link->room = wanted;
    }
    memcpy(link->out + link->used, text, length);
    link->used += length;
    link->out[link->used] = '\0';
}

static bool has(const smk_text *names, size_t count, smk_text name)
{
    for (size_t i = 0; i < count; i++) {
        if (smk_text_equal(names[i], name)) {
            return true;
        }
    }
    return false;
}

static void add_name(linker *link, smk_text **names, size_t *count, size_t *room, smk_text name)
{
    if (*count == *room) {
        const size_t wanted = *room == 0 ? NAMES_FIRST : 2 * *room;
        smk_text *grown = smk_heap_resize(*names, *room * sizeof name, wanted * sizeof name);
        if (grown == NULL) {
            link->failed = true;
            return;
        }
        *names = grown;
        *room = wanted;
    }
    (*names)[(*count)++] = name;
}

/* Statements ----------------------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static smk_text read_word(const char *at)
{
    size_t length = 0;
    while (is_letter(at[length])) {
        length++;
    }
    return (smk_text){at, length};
}

static const char *skip_blanks(const char *at)
{
    for (;;) {
        while (isspace((unsigned char)*at)) {
            at++;
        }
        if (at[0] == '/' && at[1] == '/') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end == NULL ? at + strlen(at) : end + 2;
        } else {
            return at;
        }
    }
}

/* Takes a word of the statement: linkage, and the name of what is declared, which is the last word before its type of
 * list. */
static void take_word(statement *found, smk_text word, int depth)
{
    if (word.start[0] == '.') {
        found->is_function = found->is_function || smk_text_is(word, ".func") || smk_text_is(word, ".entry");
        found->is_extern = found->is_extern || smk_text_is(word, ".extern");
        found->is_local = found->is_local && !smk_text_is(word, ".visible") && !smk_text_is(word, ".weak") &&
                          !smk_text_is(word, ".extern") && !smk_text_is(word, ".common");
    } else if (depth == 0 && found->name.length == 0 && !isdigit((unsigned char)word.start[0])) {
        found->name = word;
    }
}

/* Reads the statement at `at` up to its end: a semicolon, the end of a body, or the end of the line of a header. */
static const char *read_statement(const char *at, statement *found)
{
    const char *start = at;
    int braces = 0, parentheses = 0;
    const smk_text first = read_word(at);
    *found = (statement){.is_local = true};
    found->is_header = smk_text_is(first, ".version") || smk_text_is(first, ".target") ||
                       smk_text_is(first, ".address_size") || smk_text_is(first, ".file");
    found->is_section = smk_text_is(first, ".section");
    while (*at != '\0') {
        const smk_text word = read_word(at);
        if (found->is_header && *at == '\n') {
            break;
        }
        if (word.length > 0) {
            if (!found->has_body && !found->is_header) {
                take_word(found, word, braces + parentheses);
            }
            at += word.length;
            continue;
        }
        const char c = *at++;
        braces += c == '{' ? 1 : c == '}' ? -1 : 0;
        parentheses += c == '(' ? 1 : c == ')' ? -1 : 0;
        found->has_body = found->has_body || c == '{';
        const bool ends = c == ';' || (c == '}' && (found->is_function || found->is_section));
        if (ends && braces == 0 && parentheses == 0) {
            break;
        }
    }
    found->text = (smk_text){start, (size_t)(at - start)};
    return at;
}

/* Output --------------------------------------------------------------------------------------------------- */

/* Copies .loc with the number of its file; what tells of inlining names labels of a section that is left out. */
static const char *copy_location(linker *link, const char *at, const char *end)
{
    char number[NUMBER_BYTES], *behind = NULL;
    const char *line = memchr(at, '\n', (size_t)(end - at));
    line = line == NULL ? end : line;
    const unsigned long file = strtoul(at, &behind, 10) + link->files_before;
    const int length = snprintf(number, sizeof number, "\t%lu", file);
    const char *comma = memchr(behind, ',', (size_t)(line - behind));
    add(link, number, (size_t)length);
    add(link, behind, (size_t)((comma == NULL ? line : comma) - behind));
    return line;
}

static void copy_statement(linker *link, const statement *found)
{
    const char *at = found->text.start, *end = at + found->text.length;
    while (at < end) {
        const smk_text word = read_word(at);
        const char *next = at + (word.length == 0 ? 1 : word.length);
        add(link, at, (size_t)(next - at));
        if (smk_text_is(word, ".loc")) {
            next = copy_location(link, next, end);
        } else if (word.length > 0 && has(link->renamed, link->renamed_count, word)) {
            char suffix[NUMBER_BYTES];
            const int length = snprintf(suffix, sizeof suffix, "$file%zu", link->number);
            add(link, suffix, (size_t)length);
        }
        at = next;
    }
    add(link, "\n", 1);
}

static void copy_file(linker *link, const statement *found)
{
    char number[NUMBER_BYTES], *behind = NULL;
    const unsigned long file = strtoul(found->text.start + strlen(".file"), &behind, 10) + link->files_before;
    const int length = snprintf(number, sizeof number, ".file\t%lu", file);
    link->files = file > link->files ? file : link->files;
    add(link, number, (size_t)length);
    add(link, behind, found->text.length - (size_t)(behind - found->text.start));
    add(link, "\n", 1);
}

/* A first pass finds the local variables whose names other texts have. */
static void rename_locals(linker *link, const char *text)
{
    statement found;
    link->renamed_count = 0;
    for (const char *at = skip_blanks(text); *at != '\0'; at = skip_blanks(at)) {
        at = read_statement(at, &found);
        if (found.is_local && !found.is_header && !found.is_section && found.name.length > 0 &&
            has(link->defined, link->defined_count, found.name)) {
            add_name(link, &link->renamed, &link->renamed_count, &link->renamed_room, found.name);
        }
    }
}

static void join(linker *link, const char *text)
{
    statement found;
    rename_locals(link, text);
    link->files_before = link->files;
    for (const char *at = skip_blanks(text); *at != '\0' && !link->failed; at = skip_blanks(at)) {
        at = read_statement(at, &found);
        const bool file = found.is_header && strncmp(found.text.start, ".file", strlen(".file")) == 0;
        if (found.is_section || (found.is_header && !file && link->number > 0)) {
            continue;
        }
        if (file) {
            copy_file(link, &found);
            continue;
        }
        const bool defines = !found.is_header && !found.is_extern && (!found.is_function || found.has_body);
        if (defines && !found.is_local && has(link->defined, link->defined_count, found.name)) {
            continue;
        }
        if (defines && !has(link->renamed, link->renamed_count, found.name)) {
            add_name(link, &link->defined, &link->defined_count, &link->defined_room, found.name);
        }
        copy_statement(link, &found);
    }
}

smk_status smk_ptx_link_join(char *const *texts, size_t count, char **linked, smk_error *error)
{
    linker link = {0};
    for (size_t i = 0; i < count; i++) {
        link.number = i;
        join(&link, texts[i]);
    }
    smk_heap_free(link.defined);
    smk_heap_free(link.renamed);
    if (link.failed || link.out == NULL) {
        smk_heap_free(link.out);
        return smk_status_fail(error, SMK_MEMORY, "no memory to join the PTX of %zu files", count);
    }
    *linked = link.out;
    return SMK_OK;
}
