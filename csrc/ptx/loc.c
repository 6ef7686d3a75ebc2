/* .loc: which source line the instructions behind it belong to.
 *
 * An instruction of a function that was inlined belongs to the line of the call, where that function is of another file than the one
 * that it was inlined into: nobody can change the line of an intrinsic in a header of the compiler's. What stands in the same file is
 * known by its own line.
 */
#include "parse.h"

#include <string.h>

enum { STEPS_MAX = 64 };

typedef struct place {
    uint32_t file, line, column;
} place;

/* What stands at `place` was inlined at `outer`. */
typedef struct inlining {
    place at, outer;
    uint32_t next; /* of the bucket: index + 1 */
} inlining;

static bool is_same(const place *a, const place *b)
{
    return a->file == b->file && a->line == b->line && a->column == b->column;
}

static uint32_t *bucket_of(smk_parser *parser, const place *at)
{
    uint32_t hash = (at->line * 31 + at->column) * 31 + at->file;
    return &parser->inlined_bucket[(hash ^ hash >> 9) % SMK_PARSE_BUCKETS];
}

/* The last one of a place, or NULL. Long chains are not looked through to their ends. */
static inlining *find(smk_parser *parser, const place *at)
{
    inlining *items = parser->inlined.items;
    uint32_t index = *bucket_of(parser, at);
    for (unsigned steps = 0; index != 0 && steps < STEPS_MAX; steps++) {
        inlining *found = &items[index - 1];
        if (is_same(&found->at, at)) {
            return found;
        }
        index = found->next;
    }
    return NULL;
}

static smk_status note(smk_parser *parser, const place *at, const place *outer)
{
    inlining *known = find(parser, at);
    if (known != NULL) {
        known->outer = *outer;
        return SMK_OK;
    }
    inlining *made = smk_vector_push(&parser->inlined, sizeof *made);
    if (made == NULL) {
        return smk_parse_memory(parser);
    }
    uint32_t *bucket = bucket_of(parser, at);
    *made = (inlining){*at, *outer, *bucket};
    *bucket = (uint32_t)parser->inlined.count;
    return SMK_OK;
}

static smk_status parse_place(smk_parser *parser, place *to)
{
    uint32_t *const parts[] = {&to->file, &to->line, &to->column};
    for (unsigned i = 0; i < 3; i++) {
        uint64_t value = 0;
        SMK_TRY(smk_constant_parse_count(parser, "a number of .loc", UINT32_MAX, &value));
        *parts[i] = (uint32_t)value;
    }
    return SMK_OK;
}

/* , function_name label {+ offset} and , inlined_at file line column */
static smk_status parse_attributes(smk_parser *parser, place *outer, bool *inlined)
{
    bool more = false;
    SMK_TRY(smk_parse_accept(parser, ',', &more));
    while (more) {
        smk_token word;
        SMK_TRY(smk_parse_name(parser, &word));
        if (smk_text_is(word.text, "function_name")) {
            bool moved = false;
            uint64_t offset = 0;
            SMK_TRY(smk_parse_name(parser, &word));
            SMK_TRY(smk_parse_accept(parser, '+', &moved));
            if (moved) {
                SMK_TRY(smk_constant_parse_count(parser, "the offset", UINT64_MAX, &offset));
            }
        } else if (smk_text_is(word.text, "inlined_at")) {
            SMK_TRY(parse_place(parser, outer));
            *inlined = true;
        } else {
            return smk_parse_fail(parser, &word, SMK_PTX, "expected 'function_name' or 'inlined_at', found '%.*s'",
                                  SMK_TEXT_PRINT(word.text));
        }
        SMK_TRY(smk_parse_accept(parser, ',', &more));
    }
    return SMK_OK;
}

void smk_loc_begin(smk_parser *parser)
{
    parser->has_loc = false;
    parser->inlined.count = 0;
    memset(parser->inlined_bucket, 0, sizeof parser->inlined_bucket);
}

/* .loc file line column {, function_name ...} {, inlined_at ...}. A place that was inlined twice over has marks of its own on the
 * way, each with one step of it, before or at the mark that needs them. */
smk_status smk_loc_parse(smk_parser *parser)
{
    place at = {0, 0, 0}, outer = {0, 0, 0};
    bool inlined = false;
    SMK_TRY(smk_parse_next(parser));
    SMK_TRY(parse_place(parser, &at));
    SMK_TRY(parse_attributes(parser, &outer, &inlined));
    if (inlined) {
        SMK_TRY(note(parser, &at, &outer));
    }
    if (!parser->has_loc) { /* a function begins with its own line */
        parser->home_number = inlined ? outer.file : at.file;
    }
    for (unsigned steps = 0; inlined && at.file != parser->home_number && steps < STEPS_MAX; steps++) {
        at = outer;
        const inlining *next = find(parser, &at);
        inlined = next != NULL;
        outer = inlined ? next->outer : outer;
    }
    parser->has_loc = true;
    parser->source_number = at.file;
    parser->source_line = at.line;
    return SMK_OK;
}
