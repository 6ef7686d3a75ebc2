#include "sim/exec/printf.h"

#include "base/heap.h"
#include "sim/code/bits.h"
#include "sim/exec/access.h"
#include "sim/exec/block.h"

#include <stdio.h>
#include <string.h>

enum { FORMAT_BYTES_MAX = 16384, TEXT_BYTES_MAX = 16384, FIELD_MAX = 4096, ASSERT_TEXT_BYTES = 256 };

/* A growing text; `failed` after there was no memory. */
typedef struct output {
    char *text;
    size_t length, capacity;
    bool failed;
} output;

/* One thread's call of vprintf. */
typedef struct printer {
    smk_warp *warp;
    const smk_operation *op;
    unsigned lane;
    uint64_t arguments; /* address of the next one, before its alignment */
    output *out;
} printer;

static void append(output *out, const char *text, size_t length)
{
    if (out->failed || length == 0) { /* there may be no text yet */
        return;
    }
    if (out->capacity - out->length < length) {
        size_t capacity = 2 * out->capacity + length + 256;
        char *grown = smk_heap_resize(out->text, out->length, capacity);
        if (grown == NULL) {
            out->failed = true;
            return;
        }
        out->text = grown;
        out->capacity = capacity;
    }
    memcpy(out->text + out->length, text, length);
    out->length += length;
}

/* Copies a terminated text of the kernel's memory into `text`, cut to size - 1 bytes; false where the warp has
 * failed. */
static bool read_text(smk_warp *warp, const smk_operation *op, unsigned lane, uint64_t address, char *text, size_t size)
{
    size_t length = 0;
    for (; length < size - 1; length++) {
        if (!smk_access_load_lane(warp, op, lane, SMK_SPACE_GENERIC, address + length, &text[length], 1)) {
            return false;
        }
        if (text[length] == '\0') {
            return true;
        }
    }
    text[length] = '\0';
    return true;
}

/* Reads the next argument: arguments are consecutive, each aligned to its size. */
static bool next_argument(printer *p, unsigned bytes, uint64_t *value)
{
    p->arguments = (p->arguments + bytes - 1) / bytes * bytes;
    *value = 0;
    if (!smk_access_load_lane(p->warp, p->op, p->lane, SMK_SPACE_GENERIC, p->arguments, value, bytes)) {
        return false;
    }
    p->arguments += bytes;
    return true;
}

/* One conversion: the flags as written, width and precision as numbers. */
typedef struct conversion {
    char flags[8];
    size_t flag_count;
    int width, precision; /* -1: none */
    unsigned longs;       /* of l; 2 for ll, j, z and t */
    unsigned shorts;      /* of h */
    char letter;
} conversion;

static bool read_number(printer *p, const char **format, int *number)
{
    if (**format == '*') {
        uint64_t value;
        if (!next_argument(p, 4, &value)) {
            return false;
        }
        int32_t given = (int32_t)(uint32_t)value;
        *number = given > FIELD_MAX ? FIELD_MAX : given < -FIELD_MAX ? -FIELD_MAX : given;
        (*format)++;
        return true;
    }
    int value = 0;
    while (**format >= '0' && **format <= '9') {
        value = value < FIELD_MAX ? value * 10 + (**format - '0') : value;
        (*format)++;
    }
    *number = value > FIELD_MAX ? FIELD_MAX : value;
    return true;
}

static void add_flag(conversion *c, char flag)
{
    if (memchr(c->flags, flag, c->flag_count) == NULL) {
        c->flags[c->flag_count++] = flag;
    }
}

static bool parse_conversion(printer *p, const char **format, conversion *c)
{
    *c = (conversion){.width = -1, .precision = -1};
    while (**format != '\0' && strchr("#0- +", **format) != NULL) {
        add_flag(c, *(*format)++);
    }
    if (**format == '*' || (**format >= '1' && **format <= '9')) {
        if (!read_number(p, format, &c->width)) {
            return false;
        }
        if (c->width < 0) {
            add_flag(c, '-');
            c->width = -c->width;
        }
    }
    if (**format == '.') {
        (*format)++;
        if (!read_number(p, format, &c->precision)) {
            return false;
        }
        c->precision = c->precision < 0 ? -1 : c->precision;
    }
    for (;; (*format)++) {
        if (**format == 'l') {
            c->longs++;
        } else if (**format == 'h') {
            c->shorts++;
        } else if (**format == 'j' || **format == 'z' || **format == 't') {
            c->longs = 2;
        } else if (**format != 'L') {
            break;
        }
    }
    c->letter = **format;
    if (c->letter != '\0') {
        (*format)++;
    }
    return true;
}

/* "%-+12.3" and then `tail` ("lld"). */
static void make_format(const conversion *c, const char *tail, char *format, size_t size)
{
    int length = snprintf(format, size, "%%%.*s", (int)c->flag_count, c->flags);
    size_t used = length > 0 ? (size_t)length : 0;
    if (c->width >= 0) {
        length = snprintf(format + used, size - used, "%d", c->width);
        used += length > 0 ? (size_t)length : 0;
    }
    if (c->precision >= 0) {
        length = snprintf(format + used, size - used, ".%d", c->precision);
        used += length > 0 ? (size_t)length : 0;
    }
    (void)snprintf(format + used, size - used, "%s", tail);
}

/* The format is made from checked parts. */
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
#endif
static void append_field(output *out, const char *format, char letter, uint64_t value, const char *text)
{
    char field[2 * FIELD_MAX + 512]; /* %f of the largest double has 309 digits before the point */
    int length;
    double real;
    memcpy(&real, &value, sizeof real);
    switch (letter) {
    case 'd':
        length = snprintf(field, sizeof field, format, (long long)value);
        break;
    case 'u':
        length = snprintf(field, sizeof field, format, (unsigned long long)value);
        break;
    case 'c':
        length = snprintf(field, sizeof field, format, (int)(unsigned char)value);
        break;
    case 's':
        length = snprintf(NULL, 0, format, text);
        if (length >= (int)sizeof field) {
            append(out, text, strlen(text)); /* longer than any field, so width and precision change nothing */
            return;
        }
        length = snprintf(field, sizeof field, format, text);
        break;
    default:
        length = snprintf(field, sizeof field, format, real);
        break;
    }
    if (length > 0) {
        append(out, field, (size_t)length < sizeof field ? (size_t)length : sizeof field - 1);
    }
}
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

static bool print_integer(printer *p, const conversion *c)
{
    char format[64], tail[4] = {'l', 'l', c->letter, '\0'};
    uint64_t value;
    bool is_signed = c->letter == 'd' || c->letter == 'i';
    if (!next_argument(p, c->longs > 0 ? 8 : 4, &value)) {
        return false;
    }
    if (c->longs == 0) {
        unsigned unused = c->shorts >= 2 ? 56 : c->shorts == 1 ? 48 : 32;
        value = is_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value << unused >> unused;
    }
    make_format(c, tail, format, sizeof format);
    append_field(p->out, format, is_signed ? 'd' : 'u', value, NULL);
    return true;
}

static bool print_text(printer *p, const conversion *c)
{
    char format[64], *text;
    uint64_t address;
    if (!next_argument(p, 8, &address)) {
        return false;
    }
    make_format(c, "s", format, sizeof format);
    if (address == 0) {
        append_field(p->out, format, 's', 0, "(null)");
        return true;
    }
    text = smk_heap_allocate(TEXT_BYTES_MAX, 1);
    if (text == NULL) {
        p->out->failed = true;
        return true;
    }
    bool read = read_text(p->warp, p->op, p->lane, address, text, TEXT_BYTES_MAX);
    if (read) {
        append_field(p->out, format, 's', 0, text);
    }
    smk_heap_free(text);
    return read;
}

static bool print_conversion(printer *p, const conversion *c)
{
    char format[64], tail[2] = {c->letter, '\0'};
    uint64_t value;
    switch (c->letter) {
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
        return print_integer(p, c);
    case 's':
        return print_text(p, c);
    case 'c':
        if (!next_argument(p, 4, &value)) {
            return false;
        }
        make_format(c, "c", format, sizeof format);
        append_field(p->out, format, 'c', value, NULL);
        return true;
    case 'p': {
        conversion hex = *c;
        if (!next_argument(p, 8, &value)) {
            return false;
        }
        add_flag(&hex, '#');
        make_format(&hex, "llx", format, sizeof format);
        append_field(p->out, format, 'u', value, NULL);
        return true;
    }
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
        if (!next_argument(p, 8, &value)) {
            return false;
        }
        make_format(c, tail, format, sizeof format);
        append_field(p->out, format, 'f', value, NULL);
        return true;
    default: /* unknown conversions are printed unchanged */
        append(p->out, "%", 1);
        append(p->out, tail, c->letter == '\0' ? 0 : 1);
        return true;
    }
}

/* Formats one thread's call; *parsed is the number of arguments, which vprintf returns on a GPU. */
static bool print_thread(printer *p, const char *format, uint32_t *parsed)
{
    *parsed = 0;
    while (*format != '\0') {
        size_t plain = strcspn(format, "%");
        append(p->out, format, plain);
        format += plain;
        if (*format == '\0') {
            break;
        }
        format++;
        if (*format == '%') {
            append(p->out, format++, 1);
            continue;
        }
        conversion c;
        if (!parse_conversion(p, &format, &c) || !print_conversion(p, &c)) {
            return false;
        }
        (*parsed)++;
    }
    return true;
}

static bool print_lane(smk_warp *warp, const smk_operation *op, unsigned lane, char *format, output *out)
{
    const smk_detail *detail = op->u.detail;
    uint64_t address = smk_warp_read_cell(warp, &detail->argument[0], lane);
    printer p = {warp, op, lane, smk_warp_read_cell(warp, &detail->argument[1], lane), out};
    uint32_t parsed;
    out->length = 0;
    if (!read_text(warp, op, lane, address, format, FORMAT_BYTES_MAX) || !print_thread(&p, format, &parsed)) {
        return false;
    }
    if (out->failed) {
        (void)smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_MEMORY, "no memory for what the kernel prints");
        return false;
    }
    const smk_run_options *options = warp->control->block->run->options;
    if (options->print != NULL && out->length > 0) {
        options->print(options->print_context, out->text, out->length);
    }
    if (detail->result_count > 0 && !detail->result[0].discarded) {
        smk_warp_write_cell(warp, &detail->result[0], lane, parsed);
    }
    return true;
}

static const smk_operation *run_vprintf(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    if (mask == 0) {
        return op + 1;
    }
    char *format = smk_heap_allocate(FORMAT_BYTES_MAX, 1);
    output out = {NULL, 0, 0, false};
    bool good = format != NULL;
    if (!good) {
        (void)smk_warp_fail(warp, op, mask, SMK_MEMORY, "no memory for what the kernel prints");
    }
    for (unsigned lane = 0; lane < SMK_WARP_SIZE && good; lane++) {
        if ((mask >> lane & 1) != 0) {
            good = print_lane(warp, op, lane, format, &out);
        }
    }
    smk_heap_free(format);
    smk_heap_free(out.text);
    warp->control->block->pause = true;
    return good ? smk_warp_yield(warp, op, op + 1) : NULL;
}

/* __assertfail(message, file, line, function, size of a character) */
static const smk_operation *run_assert(smk_warp *warp, const smk_operation *op)
{
    uint32_t mask = smk_operation_mask(warp, op);
    if (mask == 0) {
        return op + 1;
    }
    const smk_cell *argument = op->u.detail->argument;
    unsigned lane = smk_bits_first(mask);
    char message[ASSERT_TEXT_BYTES], file[ASSERT_TEXT_BYTES], function[ASSERT_TEXT_BYTES];
    uint32_t line = (uint32_t)smk_warp_read_cell(warp, &argument[2], lane);
    if (!read_text(warp, op, lane, smk_warp_read_cell(warp, &argument[0], lane), message, sizeof message) ||
        !read_text(warp, op, lane, smk_warp_read_cell(warp, &argument[1], lane), file, sizeof file) ||
        !read_text(warp, op, lane, smk_warp_read_cell(warp, &argument[3], lane), function, sizeof function)) {
        return NULL;
    }
    (void)smk_warp_fail(warp, op, mask, SMK_ASSERTION, "assertion failed: %s (%s:%u, in %s)", message, file, line,
                        function);
    smk_error *error = &warp->control->block->error;
    if (error->source_line == 0) { /* PTX without line numbers */
        error->source_line = line;
        (void)snprintf(error->source_file, sizeof error->source_file, "%s", file);
    }
    return NULL;
}

smk_handler smk_printf_find(smk_text name, uint32_t *argument_count)
{
    if (smk_text_is(name, "vprintf")) {
        *argument_count = 2;
        return run_vprintf;
    }
    if (smk_text_is(name, "__assertfail")) {
        *argument_count = 5;
        return run_assert;
    }
    return NULL;
}
