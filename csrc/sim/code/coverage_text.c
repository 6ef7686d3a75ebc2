/* The coverage of the process as JSON. Lists of numbers are flat, since they are long; smemkit/cover/data.py reads
 * them.
 *
 *   {"format": 1, "cwd": path or null, "modules": [{"hash": "...", "source": text or null, "folder": path or null, "files": [...],
 *     "locations": [file, line, column, outer, ...],
 *     "functions": [{"name": ..., "entry": bool, "launches": n, "instructions": n,
 *       "location": [instructions, location, ...],   as runs of equal numbers
 *       "points": [[kind, instruction, target, targets..., ], ...] , "counters": [...]} ...]} ...]}
 */
#include "sim/code/coverage.h"

#include "base/heap.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_BYTES = 1 << 14, PIECE_BYTES = 64, FOLDER_BYTES = 4096 };

/* A text that grows; `failed` where there was no memory. */
typedef struct output {
    char *text;
    size_t length, capacity;
    bool failed;
} output;

static void put(output *out, const char *bytes, size_t length)
{
    if (out->failed) {
        return;
    }
    if (out->capacity - out->length <= length) {
        size_t wanted = out->capacity == 0 ? FIRST_BYTES : 2 * out->capacity;
        wanted = wanted < out->length + length + 1 ? out->length + length + 1 : wanted;
        char *grown = smk_heap_resize(out->text, out->capacity, wanted);
        if (grown == NULL) {
            out->failed = true;
            return;
        }
        out->text = grown;
        out->capacity = wanted;
    }
    memcpy(out->text + out->length, bytes, length);
    out->length += length;
    out->text[out->length] = '\0';
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
print(output *out, const char *format, ...)
{
    char piece[PIECE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    put(out, piece, length < 0 ? 0 : (size_t)length < sizeof piece ? (size_t)length : sizeof piece - 1);
}

static void put_string(output *out, const char *text, size_t length)
{
    put(out, "\"", 1);
    size_t begun = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char letter = (unsigned char)text[i];
        if (letter != '"' && letter != '\\' && letter >= ' ') {
            continue;
        }
        put(out, text + begun, i - begun);
        print(out, "\\u%04x", (unsigned)letter);
        begun = i + 1;
    }
    put(out, text + begun, length - begun);
    put(out, "\"", 1);
}

static void put_optional(output *out, const char *name, const char *text)
{
    print(out, ", \"%s\": ", name);
    if (text == NULL) {
        print(out, "null");
    } else {
        put_string(out, text, strlen(text));
    }
}

static void put_number(output *out, bool first, uint64_t value)
{
    print(out, "%s%" PRIu64, first ? "" : ",", value);
}

static void put_locations(output *out, const smk_coverage_function *function)
{
    bool first = true;
    for (uint32_t i = 0, end = 0; i < function->instruction_count; i = end) {
        for (end = i + 1; end < function->instruction_count && function->location[end] == function->location[i];) {
            end++;
        }
        put_number(out, first, end - i);
        put_number(out, false, function->location[i]);
        first = false;
    }
}

static void put_point(output *out, const smk_coverage_point *point)
{
    print(out, "[%u,%u,%u", (unsigned)point->kind, point->instruction, point->target);
    for (uint32_t i = 0; i < point->target_count; i++) {
        put_number(out, false, point->targets[i]);
    }
    print(out, "]");
}

static void put_function(output *out, const smk_coverage_function *function)
{
    print(out, "{\"name\": ");
    put_string(out, function->name.start, function->name.length);
    print(out, ", \"entry\": %s, \"launches\": %" PRIu64, function->is_entry ? "true" : "false",
          atomic_load(&function->launches));
    print(out, ", \"instructions\": %u, \"location\": [", function->instruction_count);
    put_locations(out, function);
    print(out, "], \"points\": [");
    for (uint32_t i = 0; i < function->point_count; i++) {
        put(out, ",", i == 0 ? 0 : 1);
        put_point(out, &function->point[i]);
    }
    print(out, "], \"counters\": [");
    for (uint32_t i = 0; i < function->counter_count; i++) {
        put_number(out, i == 0, atomic_load_explicit(&function->counter[i], memory_order_relaxed));
    }
    print(out, "]}");
}

static void put_module(output *out, const smk_coverage_module *module)
{
    print(out, "{\"hash\": \"%016" PRIx64 "%zx\"", module->hash, module->length);
    put_optional(out, "source", module->source);
    put_optional(out, "folder", module->folder);
    print(out, ", \"files\": [");
    for (uint32_t i = 0; i < module->file_count; i++) {
        put(out, ",", i == 0 ? 0 : 1);
        put_string(out, module->files[i].start, module->files[i].length);
    }
    print(out, "], \"locations\": [");
    for (uint32_t i = 0; i < module->location_count; i++) {
        const smk_source_location *at = &module->locations[i];
        print(out, "%s%u,%u,%u,%u", i == 0 ? "" : ",", at->file, at->line, at->column, at->outer);
    }
    print(out, "], \"functions\": [");
    bool first = true;
    for (uint32_t i = 0; i < module->function_count; i++) {
        if (module->functions[i].name.start != NULL) {
            put(out, ",\n", first ? 0 : 2);
            put_function(out, &module->functions[i]);
            first = false;
        }
    }
    print(out, "]}");
}

smk_status smk_coverage_text_write(char **text, size_t *length, smk_error *error)
{
    output out = {0};
    char folder[FOLDER_BYTES];
    print(&out, "{\"format\": 1");
    put_optional(&out, "cwd", getcwd(folder, sizeof folder));
    print(&out, ", \"modules\": [");
    bool first = true;
    for (const smk_coverage_module *module = smk_coverage_modules(); module != NULL; module = module->next) {
        put(&out, ",\n", first ? 0 : 2);
        put_module(&out, module);
        first = false;
    }
    print(&out, "]}\n");
    if (out.failed) {
        smk_heap_free(out.text);
        return smk_status_fail(error, SMK_MEMORY, "no memory left to write the coverage of kernels");
    }
    *text = out.text;
    *length = out.length;
    return SMK_OK;
}
