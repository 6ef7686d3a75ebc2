#include "registry.h"

#include <stdio.h>
#include <string.h>

/* Operations as the table writes them: d[] holds the dimensions as doubles. */
#define SMK_FAMILY(name, signature, grid_x, grid_y, flops, sentence)                                                   \
    static double count_##name(const int64_t *dimensions)                                                              \
    {                                                                                                                  \
        double d[SMK_DIMENSIONS_MAX];                                                                                  \
        for (size_t i = 0; i < SMK_DIMENSIONS_MAX; i++) {                                                              \
            d[i] = (double)dimensions[i];                                                                              \
        }                                                                                                              \
        return flops;                                                                                                  \
    }
#include "families.def"
#undef SMK_FAMILY

static const smk_family families[] = {
#define SMK_FAMILY(name, signature, grid_x, grid_y, flops, sentence)                                                   \
    {#name, signature, grid_x, grid_y, sentence, count_##name},
#include "families.def"
#undef SMK_FAMILY
};

static const smk_variant variants[] = {
#define SMK_VARIANT(family, name, block_x, block_y, tile_x, tile_y, types, speed, shows)                               \
    {#family, #name, block_x, block_y, tile_x, tile_y, types, speed, shows},
#include "variants.def"
#undef SMK_VARIANT
};

enum { FAMILY_COUNT = sizeof families / sizeof families[0], VARIANT_COUNT = sizeof variants / sizeof variants[0] };

size_t smk_registry_family_count(void)
{
    return FAMILY_COUNT;
}

const smk_family *smk_registry_family(size_t index)
{
    return index < FAMILY_COUNT ? &families[index] : NULL;
}

const smk_family *smk_registry_find_family(const char *name)
{
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        if (strcmp(families[i].name, name) == 0) {
            return &families[i];
        }
    }
    return NULL;
}

size_t smk_registry_variant_count(void)
{
    return VARIANT_COUNT;
}

const smk_variant *smk_registry_variant(size_t index)
{
    return index < VARIANT_COUNT ? &variants[index] : NULL;
}

/* The next word of a list that spaces separate; false at its end. */
static bool next_word(const char **list, const char **word, size_t *length)
{
    *list += strspn(*list, " ");
    *word = *list;
    *length = strcspn(*list, " ");
    *list += *length;
    return *length != 0;
}

static bool accepts_word(const smk_variant *variant, const char *type, size_t type_length)
{
    const char *list = variant->types;
    const char *word = NULL;
    size_t length = 0;
    while (next_word(&list, &word, &length)) {
        if (length == type_length && memcmp(word, type, length) == 0) {
            return true;
        }
    }
    return false;
}

bool smk_registry_accepts(const smk_variant *variant, const char *type)
{
    return accepts_word(variant, type, strlen(type));
}

static bool is_taken_by_auto(const smk_variant *variant, const char *family)
{
    return variant->speed > 0 && strcmp(variant->family, family) == 0;
}

/* True where "auto" takes a row before `index` that accepts the type. */
static bool is_accepted_before(size_t index, const char *family, const char *type, size_t length)
{
    for (size_t i = 0; i < index; i++) {
        if (is_taken_by_auto(&variants[i], family) && accepts_word(&variants[i], type, length)) {
            return true;
        }
    }
    return false;
}

/* Words with a separator between them, as far as an error message can hold them. */
typedef struct listing {
    const char *separator;
    char text[512];
    size_t used;
    size_t words;
} listing;

static void add_word(listing *l, const char *word, size_t length)
{
    size_t room = sizeof l->text - l->used;
    int wrote = snprintf(l->text + l->used, room, "%s%.*s", l->words == 0 ? "" : l->separator, (int)length, word);
    if (wrote > 0 && (size_t)wrote < room) {
        l->used += (size_t)wrote;
        l->words++;
    } else {
        memcpy(l->text + sizeof l->text - 4, "...", 4);
        l->used = sizeof l->text - 1;
    }
}

static void add_types(listing *l, const smk_variant *variant)
{
    const char *list = variant->types;
    const char *word = NULL;
    size_t length = 0;
    while (next_word(&list, &word, &length)) {
        add_word(l, word, length);
    }
}

static smk_status fail_family(const char *family, smk_error *error)
{
    listing known = {.separator = ", "};
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        add_word(&known, families[i].name, strlen(families[i].name));
    }
    return smk_status_fail(error, SMK_ARGUMENT, "no kernel family '%.60s'; there are: %s", family, known.text);
}

static smk_status fail_variant(const char *family, const char *variant, smk_error *error)
{
    listing known = {.separator = ", "};
    add_word(&known, "auto", 4);
    for (size_t i = 0; i < VARIANT_COUNT; i++) {
        if (strcmp(variants[i].family, family) == 0) {
            add_word(&known, variants[i].name, strlen(variants[i].name));
        }
    }
    return smk_status_fail(error, SMK_ARGUMENT, "%.60s has no variant '%.60s'; there are: %s", family, variant,
                           known.text);
}

static smk_status fail_auto(const char *family, const char *type, smk_error *error)
{
    /* types of the family: each once, from the first row that has it */
    listing accepted = {.separator = " or "};
    for (size_t i = 0; i < VARIANT_COUNT; i++) {
        const char *list = variants[i].types;
        const char *word = NULL;
        size_t length = 0;
        while (is_taken_by_auto(&variants[i], family) && next_word(&list, &word, &length)) {
            if (!is_accepted_before(i, family, word, length)) {
                add_word(&accepted, word, length);
            }
        }
    }
    return smk_status_fail(error, SMK_TYPE, "%.60s takes arrays of %s, not %.60s", family, accepted.text, type);
}

static smk_status select_fastest(const char *family, const char *type, const smk_variant **selected, smk_error *error)
{
    const smk_variant *best = NULL;
    for (size_t i = 0; i < VARIANT_COUNT; i++) {
        const smk_variant *v = &variants[i];
        if (is_taken_by_auto(v, family) && smk_registry_accepts(v, type) && (best == NULL || v->speed > best->speed)) {
            best = v;
        }
    }
    if (best == NULL) {
        return fail_auto(family, type, error);
    }
    *selected = best;
    return SMK_OK;
}

smk_status smk_registry_select(const char *family, const char *variant, const char *type, const smk_variant **selected,
                               smk_error *error)
{
    if (smk_registry_find_family(family) == NULL) {
        return fail_family(family, error);
    }
    if (strcmp(variant, "auto") == 0) {
        return select_fastest(family, type, selected, error);
    }
    const smk_variant *found = NULL;
    for (size_t i = 0; i < VARIANT_COUNT && found == NULL; i++) {
        if (strcmp(variants[i].family, family) == 0 && strcmp(variants[i].name, variant) == 0) {
            found = &variants[i];
        }
    }
    if (found == NULL) {
        return fail_variant(family, variant, error);
    }
    if (!smk_registry_accepts(found, type)) {
        listing accepted = {.separator = " or "};
        add_types(&accepted, found);
        return smk_status_fail(error, SMK_TYPE, "%.60s variant '%.60s' takes arrays of %s, not %.60s", family, variant,
                               accepted.text, type);
    }
    *selected = found;
    return SMK_OK;
}

void smk_registry_entry(const smk_variant *variant, const char *type, char *entry, size_t entry_bytes)
{
    (void)snprintf(entry, entry_bytes, "%s_%s_%s", variant->family, variant->name, type);
}
