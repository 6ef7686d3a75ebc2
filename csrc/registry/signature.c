/* Signatures in NumPy's gufunc language: parsing, and binding of shapes to dimensions. */
#include "registry/registry.h"

#include <stdio.h>
#include <string.h>

/* Parsing ------------------------------------------------------------------------------------------ */

typedef struct reader {
    const char *text; /* all of it, for messages */
    const char *next;
} reader;

static void skip_spaces(reader *r)
{
    while (*r->next == ' ' || *r->next == '\t') {
        r->next++;
    }
}

static bool take(reader *r, const char *word)
{
    skip_spaces(r);
    size_t length = strlen(word);
    if (strncmp(r->next, word, length) != 0) {
        return false;
    }
    r->next += length;
    return true;
}

static smk_status fail_at(const reader *r, const char *problem, smk_error *error)
{
    return smk_status_fail(error, SMK_ARGUMENT, "signature '%.100s': %s at character %zu", r->text, problem,
                           (size_t)(r->next - r->text) + 1);
}

/* ASCII only: what a C identifier may hold, whatever the locale. */
static bool is_name_character(char c, bool first)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return letter || (!first && c >= '0' && c <= '9');
}

/* The dimension's number; new names are added in the order of first appearance. */
static smk_status parse_dimension(reader *r, smk_signature *signature, size_t *index, smk_error *error)
{
    skip_spaces(r);
    char name[SMK_DIMENSION_NAME_MAX] = {0};
    size_t length = 0;
    while (is_name_character(r->next[length], length == 0)) {
        length++;
        if (length >= sizeof name) {
            return fail_at(r, "a dimension's name that is too long", error);
        }
    }
    if (length == 0) {
        return fail_at(r, "a dimension's name is missing", error);
    }
    memcpy(name, r->next, length);
    size_t found = 0;
    while (found < signature->dimension_count && strcmp(signature->dimension[found], name) != 0) {
        found++;
    }
    if (found == SMK_DIMENSIONS_MAX) {
        return fail_at(r, "too many dimensions", error);
    }
    if (found == signature->dimension_count) {
        memcpy(signature->dimension[found], name, sizeof name);
        signature->dimension_count++;
    }
    r->next += length;
    *index = found;
    return SMK_OK;
}

/* "(m,k)" into operand `operand`. */
static smk_status parse_operand(reader *r, smk_signature *signature, size_t operand, smk_error *error)
{
    if (!take(r, "(")) {
        return fail_at(r, "'(' is missing", error);
    }
    if (operand == SMK_OPERANDS_MAX_FAMILY) {
        return fail_at(r, "too many operands", error);
    }
    size_t rank = 0;
    bool more = !take(r, ")");
    while (more) {
        if (rank == SMK_RANK_MAX) {
            return fail_at(r, "too many dimensions of one operand", error);
        }
        smk_status status = parse_dimension(r, signature, &signature->axis[operand][rank], error);
        if (status != SMK_OK) {
            return status;
        }
        rank++;
        more = take(r, ",");
        if (!more && !take(r, ")")) {
            return fail_at(r, "',' or ')' is missing", error);
        }
    }
    signature->rank[operand] = rank;
    return SMK_OK;
}

static smk_status parse_operands(reader *r, smk_signature *signature, size_t *operand, smk_error *error)
{
    do {
        smk_status status = parse_operand(r, signature, *operand, error);
        if (status != SMK_OK) {
            return status;
        }
        (*operand)++;
    } while (take(r, ","));
    return SMK_OK;
}

smk_status smk_signature_parse(const char *text, smk_signature *signature, smk_error *error)
{
    smk_signature parsed;
    memset(&parsed, 0, sizeof parsed);
    reader r = {text, text};
    size_t operands = 0;
    smk_status status = parse_operands(&r, &parsed, &operands, error);
    if (status != SMK_OK) {
        return status;
    }
    parsed.input_count = operands;
    if (!take(&r, "->")) {
        return fail_at(&r, "',' or '->' is missing", error);
    }
    status = parse_operands(&r, &parsed, &operands, error);
    if (status != SMK_OK) {
        return status;
    }
    parsed.output_count = operands - parsed.input_count;
    skip_spaces(&r);
    if (*r.next != '\0') {
        return fail_at(&r, "unexpected text", error);
    }
    *signature = parsed;
    return SMK_OK;
}

/* Binding ------------------------------------------------------------------------------------------ */

/* "(k, n)" of an operand, as messages write it. */
static void write_operand(const smk_signature *signature, size_t operand, char *text, size_t text_bytes)
{
    size_t used = (size_t)snprintf(text, text_bytes, "(");
    for (size_t i = 0; i < signature->rank[operand] && used < text_bytes; i++) {
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", i == 0 ? "" : ", ",
                                 signature->dimension[signature->axis[operand][i]]);
    }
    if (used < text_bytes) {
        (void)snprintf(text + used, text_bytes - used, ")");
    }
}

/* Which operand gave a dimension its size first; SMK_OPERANDS_MAX_FAMILY: none yet. */
typedef struct binding {
    const smk_signature *signature;
    const char *family;
    const char *const *names;
    int64_t size[SMK_DIMENSIONS_MAX];
    size_t giver[SMK_DIMENSIONS_MAX];
} binding;

static smk_status bind_operand(binding *b, size_t operand, size_t rank, const int64_t *shape, smk_error *error)
{
    const smk_signature *signature = b->signature;
    const char *name = b->names[operand];
    if (rank != signature->rank[operand]) {
        char wanted[128];
        write_operand(signature, operand, wanted, sizeof wanted);
        return smk_status_fail(error, SMK_SHAPE, "%.60s: %.60s has %zu dimension%s, %s needs %zu", b->family, name,
                               rank, rank == 1 ? "" : "s", wanted, signature->rank[operand]);
    }
    for (size_t i = 0; i < rank; i++) {
        size_t d = signature->axis[operand][i];
        long long size = (long long)shape[i];
        if (size < 0) {
            return smk_status_fail(error, SMK_SHAPE, "%.60s: %s is %lld in %.60s, a size cannot be negative", b->family,
                                   signature->dimension[d], size, name);
        }
        if (b->giver[d] == SMK_OPERANDS_MAX_FAMILY) {
            b->giver[d] = operand;
            b->size[d] = shape[i];
        } else if (b->size[d] != shape[i] && b->giver[d] == operand) {
            return smk_status_fail(error, SMK_SHAPE, "%.60s: %s is both %lld and %lld in %.60s", b->family,
                                   signature->dimension[d], (long long)b->size[d], size, name);
        } else if (b->size[d] != shape[i]) {
            return smk_status_fail(error, SMK_SHAPE, "%.60s: %s is %lld in %.60s and %lld in %.60s", b->family,
                                   signature->dimension[d], (long long)b->size[d], b->names[b->giver[d]], size, name);
        }
    }
    return SMK_OK;
}

static smk_status check_sizes(const binding *b, smk_error *error)
{
    const smk_signature *signature = b->signature;
    for (size_t d = 0; d < signature->dimension_count; d++) {
        if (b->giver[d] == SMK_OPERANDS_MAX_FAMILY) {
            return smk_status_fail(error, SMK_ARGUMENT, "%.60s: no operand says how large %s is", b->family,
                                   signature->dimension[d]);
        }
    }
    for (size_t operand = 0; operand < signature->input_count + signature->output_count; operand++) {
        int64_t ignored = 0;
        smk_status status =
            smk_signature_bytes(signature, b->family, operand, b->size, SMK_ITEM_BYTES_MAX, &ignored, error);
        if (status != SMK_OK) {
            return status;
        }
    }
    return SMK_OK;
}

smk_status smk_signature_bind(const smk_signature *signature, const char *family, const char *const *names,
                              const size_t *ranks, const int64_t *const *shapes, size_t operand_count,
                              int64_t dimensions[SMK_DIMENSIONS_MAX], smk_error *error)
{
    size_t all = signature->input_count + signature->output_count;
    if (operand_count < signature->input_count || operand_count > all) {
        return smk_status_fail(error, SMK_ARGUMENT, "%.60s: %zu operands, it takes %zu to %zu", family, operand_count,
                               signature->input_count, all);
    }
    binding b = {.signature = signature, .family = family, .names = names};
    for (size_t d = 0; d < SMK_DIMENSIONS_MAX; d++) {
        b.giver[d] = SMK_OPERANDS_MAX_FAMILY;
    }
    for (size_t operand = 0; operand < operand_count; operand++) {
        smk_status status = bind_operand(&b, operand, ranks[operand], shapes[operand], error);
        if (status != SMK_OK) {
            return status;
        }
    }
    smk_status status = check_sizes(&b, error);
    if (status == SMK_OK) {
        memcpy(dimensions, b.size, sizeof b.size);
    }
    return status;
}

smk_status smk_signature_bytes(const smk_signature *signature, const char *family, size_t operand,
                               const int64_t *dimensions, int64_t item_bytes, int64_t *bytes, smk_error *error)
{
    int64_t product = item_bytes;
    bool overflow = false;
    for (size_t i = 0; i < signature->rank[operand]; i++) {
        int64_t size = dimensions[signature->axis[operand][i]];
        if (size == 0) {
            *bytes = 0;
            return SMK_OK;
        }
        overflow = overflow || product > INT64_MAX / size;
        product = overflow ? product : product * size;
    }
    if (overflow) {
        char shape[128];
        write_operand(signature, operand, shape, sizeof shape);
        return smk_status_fail(error, SMK_SHAPE, "%.60s: an array of shape %s would have more bytes than 64 bits count",
                               family, shape);
    }
    *bytes = product;
    return SMK_OK;
}
