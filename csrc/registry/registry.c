#include "base/near.h"
#include "registry/plan.h"

#include <stdio.h>
#include <string.h>

/* Operations as the table writes them: d[] holds the dimensions as doubles. */
#define SMK_KERNEL_GROUP(name, sentence)
#define SMK_FAMILY(name, signature, inputs, result, grid_x, grid_y, flops, sentence)                                   \
    static double count_##name(const int64_t *dimensions)                                                              \
    {                                                                                                                  \
        double d[SMK_DIMENSIONS_MAX];                                                                                  \
        for (size_t i = 0; i < SMK_DIMENSIONS_MAX; i++) {                                                              \
            d[i] = (double)dimensions[i];                                                                              \
        }                                                                                                              \
        return flops;                                                                                                  \
    }
#include "registry/families.def"
#undef SMK_FAMILY
#undef SMK_KERNEL_GROUP

static const smk_family families[] = {
#define SMK_KERNEL_GROUP(name, sentence) {#name, NULL, NULL, NULL, NULL, NULL, NULL, sentence},
#define SMK_FAMILY(name, signature, inputs, result, grid_x, grid_y, flops, sentence)                                   \
    {#name, signature, inputs, result, grid_x, grid_y, count_##name, sentence},
#include "registry/families.def"
#undef SMK_FAMILY
#undef SMK_KERNEL_GROUP
};

static const smk_variant variants[] = {
#define SMK_VARIANT(family, name, block_x, block_y, tile_x, tile_y, types, arch, plan, speed, summary)                 \
    {#family, #name, block_x, block_y, tile_x, tile_y, types, arch, smk_plan_##plan, speed, summary},
#include "registry/variants.def"
#undef SMK_VARIANT
};

static const smk_attribute attributes[] = {
#define SMK_ATTRIBUTE(family, name, kind, choices, meaning) {#family, #name, SMK_ATTRIBUTE_##kind, choices, meaning},
#include "registry/attributes.def"
#undef SMK_ATTRIBUTE
};

static const smk_stack stacks[] = {
#define SMK_STACK(family, item, fold) {#family, item, fold},
#include "registry/stacks.def"
#undef SMK_STACK
};

/* A row of choices.def, without the columns that only the build uses. */
typedef struct choice_row {
    const char *family, *choice, *type, *result;
} choice_row;

static const choice_row choices[] = {
#define SMK_CHOICE(family, choice, type, result, expression, neutral) {#family, #choice, #type, #result},
#define SMK_AXIS_CHOICE(family, choice, type, result, accumulator, expression, keep, neutral, finish)                  \
    SMK_CHOICE(family, choice, type, result, expression, neutral)
#include "registry/choices.def"
#undef SMK_AXIS_CHOICE
#undef SMK_CHOICE
};

typedef struct sum_row {
    const char *family, *type, *sum;
} sum_row;

static const sum_row sums[] = {
#define SMK_SUM(family, type, sum) {#family, #type, #sum},
#include "registry/sums.def"
#undef SMK_SUM
};

enum {
    FAMILY_COUNT = sizeof families / sizeof families[0],
    VARIANT_COUNT = sizeof variants / sizeof variants[0],
    ATTRIBUTE_COUNT = sizeof attributes / sizeof attributes[0],
    CHOICE_COUNT = sizeof choices / sizeof choices[0],
    SUM_COUNT = sizeof sums / sizeof sums[0]
};

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

static bool find_word(const char *list, const char *wanted, size_t wanted_length, int64_t *index)
{
    const char *word = NULL;
    size_t length = 0;
    for (int64_t i = 0; next_word(&list, &word, &length); i++) {
        if (length == wanted_length && memcmp(word, wanted, length) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

static bool accepts_word(const smk_variant *variant, const char *type, size_t type_length)
{
    int64_t ignored = 0;
    return find_word(variant->types, type, type_length, &ignored);
}

bool smk_registry_lists(const char *list, const char *word, int64_t *index)
{
    return find_word(list, word, strlen(word), index);
}

bool smk_registry_word(const char *list, size_t index, char *word, size_t word_bytes)
{
    const char *found = NULL;
    size_t length = 0;
    for (size_t i = 0; next_word(&list, &found, &length); i++) {
        if (i == index) {
            (void)snprintf(word, word_bytes, "%.*s", (int)length, found);
            return true;
        }
    }
    return false;
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

static bool is_instead(const char *family, const char *word, size_t length);

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

/* A type in messages: bits32 is any type of four bytes. */
static void add_type(listing *l, const char *word, size_t length)
{
    static const struct {
        const char *type, *words;
    } sizes[] = {{"tf32", "float32"},        {"bits8", "1-byte items"},  {"bits16", "2-byte items"},
                 {"bits32", "4-byte items"}, {"bits64", "8-byte items"}, {"bits128", "16-byte items"}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (strlen(sizes[i].type) == length && memcmp(sizes[i].type, word, length) == 0) {
            word = sizes[i].words;
            length = strlen(word);
            break;
        }
    }
    add_word(l, word, length);
}

static void add_types(listing *l, const smk_variant *variant)
{
    const char *list = variant->types;
    const char *word = NULL;
    size_t length = 0;
    while (next_word(&list, &word, &length)) {
        add_type(l, word, length);
    }
}

/* The word of a listing that a misspelt one is most like. */
typedef struct nearest {
    const char *word;
    size_t distance;
} nearest;

static void offer(nearest *found, const char *misspelt, const char *word)
{
    const size_t distance = smk_near_distance(misspelt, word);
    if (distance < found->distance && smk_near_is_meant(misspelt, distance)) {
        *found = (nearest){word, distance};
    }
}

/* "did you mean 'tiled'? There are", or "there are" where no word is near. */
static const char *write_hint(const nearest *found, char hint[SMK_NAME_MAX + 32])
{
    if (found->word == NULL) {
        return "there are";
    }
    (void)snprintf(hint, SMK_NAME_MAX + 32, "did you mean '%s'? There are", found->word);
    return hint;
}

static smk_status fail_family(const char *family, smk_error *error)
{
    listing known = {.separator = ", "};
    nearest found = {NULL, SIZE_MAX};
    char hint[SMK_NAME_MAX + 32];
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        add_word(&known, families[i].name, strlen(families[i].name));
        offer(&found, family, families[i].name);
    }
    return smk_status_fail(error, SMK_ARGUMENT, "no kernel family '%.60s'; %s: %s", family, write_hint(&found, hint),
                           known.text);
}

smk_status smk_registry_refuse_variant(const char *family, const char *variant, bool is_file, smk_error *error)
{
    listing known = {.separator = ", "};
    nearest found = {NULL, SIZE_MAX};
    char hint[SMK_NAME_MAX + 32];
    if (!is_file) {
        add_word(&known, "auto", 4);
    }
    for (size_t i = 0; i < VARIANT_COUNT; i++) {
        if (strcmp(variants[i].family, family) == 0) {
            add_word(&known, variants[i].name, strlen(variants[i].name));
            offer(&found, variant, variants[i].name);
        }
    }
    if (is_file && strcmp(variant, "auto") == 0) {
        return smk_status_fail(error, SMK_ARGUMENT, "%.60s: name one variant, not 'auto'; there are: %s", family,
                               known.text);
    }
    return smk_status_fail(error, SMK_ARGUMENT, "%.60s has no variant '%.60s'; %s: %s", family, variant,
                           write_hint(&found, hint), known.text);
}

/* Types of the family: each once, from the first row that has it. */
static void add_family_types(listing *accepted, const char *family)
{
    for (size_t i = 0; i < VARIANT_COUNT; i++) {
        const char *list = variants[i].types;
        const char *word = NULL;
        size_t length = 0;
        while (is_taken_by_auto(&variants[i], family) && next_word(&list, &word, &length)) {
            if (!is_accepted_before(i, family, word, length) && !is_instead(family, word, length)) {
                add_type(accepted, word, length);
            }
        }
    }
}

void smk_registry_types(const char *family, char *text, size_t text_bytes)
{
    listing accepted = {.separator = ", "};
    add_family_types(&accepted, family);
    (void)snprintf(text, text_bytes, "%s", accepted.text);
}

static smk_status fail_auto(const char *family, const char *type, smk_error *error)
{
    listing accepted = {.separator = " or "};
    add_family_types(&accepted, family);
    return smk_status_fail(error, SMK_TYPE, "%.60s takes arrays of %s, not %.60s", family, accepted.text, type);
}

static smk_status select_first(const char *family, const char *type, const smk_variant **selected, smk_error *error)
{
    for (size_t i = 0; i < VARIANT_COUNT; i++) {
        if (is_taken_by_auto(&variants[i], family) && accepts_word(&variants[i], type, strlen(type))) {
            *selected = &variants[i];
            return SMK_OK;
        }
    }
    return fail_auto(family, type, error);
}

smk_status smk_registry_select(const char *family, const char *variant, const char *type, const smk_variant **selected,
                               smk_error *error)
{
    if (smk_registry_find_family(family) == NULL) {
        return fail_family(family, error);
    }
    if (strcmp(variant, "auto") == 0) {
        return select_first(family, type, selected, error);
    }
    const smk_variant *found = NULL;
    for (size_t i = 0; i < VARIANT_COUNT && found == NULL; i++) {
        if (strcmp(variants[i].family, family) == 0 && strcmp(variants[i].name, variant) == 0) {
            found = &variants[i];
        }
    }
    if (found == NULL) {
        return smk_registry_refuse_variant(family, variant, false, error);
    }
    if (!accepts_word(found, type, strlen(type))) {
        listing accepted = {.separator = " or "};
        add_types(&accepted, found);
        return smk_status_fail(error, SMK_TYPE, "%.60s variant '%.60s' takes arrays of %s, not %.60s", family, variant,
                               accepted.text, type);
    }
    *selected = found;
    return SMK_OK;
}

/* "x:flat:int64" into `input`. */
static bool read_input(const char *word, size_t length, smk_input *input)
{
    memset(input, 0, sizeof *input);
    for (size_t part = 0; length > 0; part++) {
        const char *colon = memchr(word, ':', length);
        size_t used = colon == NULL ? length : (size_t)(colon - word);
        if (used == 0 || used >= SMK_NAME_MAX) {
            return false;
        }
        if (part == 0) {
            memcpy(input->name, word, used);
        } else if (used == 4 && memcmp(word, "flat", 4) == 0) {
            input->is_flat = true;
        } else {
            memcpy(input->type, word, used);
        }
        used += colon != NULL;
        word += used;
        length -= used;
    }
    return input->name[0] != '\0';
}

smk_status smk_registry_inputs(const smk_family *family, smk_input inputs[SMK_OPERANDS_MAX_FAMILY], size_t *count,
                               smk_error *error)
{
    const char *list = family->inputs == NULL ? "" : family->inputs;
    const char *word = NULL;
    size_t length = 0, found = 0;
    while (next_word(&list, &word, &length)) {
        if (found + 1 >= SMK_OPERANDS_MAX_FAMILY || !read_input(word, length, &inputs[found])) {
            return smk_status_fail(error, SMK_INTERNAL, "families.def: the inputs of %s are malformed", family->name);
        }
        found++;
    }
    *count = found;
    return SMK_OK;
}

const smk_stack *smk_registry_stack(const char *family)
{
    for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
        if (strcmp(stacks[i].family, family) == 0) {
            return &stacks[i];
        }
    }
    return NULL;
}

const smk_attribute *smk_registry_attribute(const char *family, size_t index)
{
    for (size_t i = 0; i < ATTRIBUTE_COUNT; i++) {
        if (strcmp(attributes[i].family, family) == 0 && index-- == 0) {
            return &attributes[i];
        }
    }
    return NULL;
}

/* Is the word a choice of an attribute of kind TYPE, and not the first? */
static bool is_instead(const char *family, const char *word, size_t length)
{
    for (size_t i = 0; i < ATTRIBUTE_COUNT; i++) {
        int64_t index = 0;
        if (strcmp(attributes[i].family, family) == 0 && attributes[i].kind == SMK_ATTRIBUTE_TYPE &&
            find_word(attributes[i].choices, word, length, &index) && index > 0) {
            return true;
        }
    }
    return false;
}

const char *smk_registry_type(const smk_variant *variant, const char *type)
{
    int64_t index = 0;
    if (find_word(variant->types, type, strlen(type), &index)) {
        return type;
    }
    for (size_t i = 0; i < SUM_COUNT; i++) { /* rounded: the sums have the type of the array */
        const char *rounded = sums[i].type;
        if (strcmp(sums[i].family, variant->family) == 0 && strcmp(sums[i].sum, type) == 0 &&
            is_instead(variant->family, rounded, strlen(rounded)) && accepts_word(variant, rounded, strlen(rounded))) {
            return rounded;
        }
    }
    return NULL;
}

const char *smk_registry_result(const smk_family *family, const char *choice, const char *type)
{
    if (strcmp(family->result, "same") == 0) {
        return type;
    }
    if (strcmp(family->result, "sum") == 0) {
        for (size_t i = 0; i < SUM_COUNT; i++) {
            if (strcmp(sums[i].family, family->name) == 0 && strcmp(sums[i].type, type) == 0) {
                return sums[i].sum;
            }
        }
        return type;
    }
    if (strcmp(family->result, "choice") != 0) {
        return family->result;
    }
    for (size_t i = 0; i < CHOICE_COUNT; i++) {
        const choice_row *row = &choices[i];
        if (strcmp(row->family, family->name) == 0 && strcmp(row->choice, choice) == 0 &&
            strcmp(row->type, type) == 0) {
            return row->result;
        }
    }
    return NULL;
}

void smk_registry_entry(const smk_variant *variant, const char *part, const char *choice, const char *type, char *entry,
                        size_t entry_bytes)
{
    (void)snprintf(entry, entry_bytes, "%s_%s%s%s%s%s_%s", variant->family, variant->name, part[0] != '\0' ? "_" : "",
                   part, choice[0] != '\0' ? "_" : "", choice, type);
}
