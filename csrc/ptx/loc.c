/* .loc: the source line of the instructions that follow.
 *
 * An instruction of an inlined function belongs to the line of the call where that function is of another file than
 * its caller: the user cannot change the line of an intrinsic in a header of the compiler. An inlined function of the
 * same file keeps its own lines.
 */
#include "ptx/parse.h"

#include <string.h>

enum { STEPS_MAX = 64 };

typedef struct location {
    uint32_t file, line, column;
} location;

/* The code at `at`, in a function of that name, was inlined at `outer`. */
typedef struct inlining {
    location at, outer;
    smk_text function;
    uint32_t parent; /* index + 1 of the inlining of `outer`; 0: none */
    uint32_t next;   /* of the bucket: index + 1 */
} inlining;

static bool is_same(const location *a, const location *b)
{
    return a->file == b->file && a->line == b->line && a->column == b->column;
}

static uint32_t *bucket_of(smk_parser *parser, const location *at)
{
    uint32_t hash = (at->line * 31 + at->column) * 31 + at->file;
    return &parser->inlined_bucket[(hash ^ hash >> 9) % SMK_PARSE_BUCKETS];
}

/* Index + 1 of the inlining `wanted`, or with NULL of the last one at a location; 0: none. Searches the first entries
 * of long chains only. */
static uint32_t find(smk_parser *parser, const location *at, const inlining *wanted)
{
    const inlining *items = parser->inlined.items;
    uint32_t index = *bucket_of(parser, at);
    for (unsigned steps = 0; index != 0 && steps < STEPS_MAX; steps++, index = items[index - 1].next) {
        const inlining *found = &items[index - 1];
        if (is_same(&found->at, at) && (wanted == NULL || (is_same(&found->outer, &wanted->outer) &&
                                                           smk_text_equal(found->function, wanted->function)))) {
            return index;
        }
    }
    return 0;
}

/* Adds an inlining if it is new; *index becomes its index + 1. The marks of a new path of inlinings are consecutive;
 * later the last mark of the path stands alone. */
static smk_status note(smk_parser *parser, const inlining *mark, uint32_t *index)
{
    uint32_t known = find(parser, &mark->at, mark), last = parser->inlined_last;
    const inlining *items = parser->inlined.items;
    bool behind =
        last != 0 && parser->inlined_count == parser->instructions.count && is_same(&items[last - 1].at, &mark->outer);
    if (known == 0) {
        uint32_t parent = behind ? last : find(parser, &mark->outer, NULL);
        inlining *made = smk_vector_push(&parser->inlined, sizeof *made);
        if (made == NULL) {
            return smk_parse_memory(parser);
        }
        uint32_t *bucket = bucket_of(parser, &mark->at);
        *made = *mark;
        made->parent = parent;
        made->next = *bucket;
        *bucket = known = (uint32_t)parser->inlined.count;
    } else if (behind) {
        ((inlining *)parser->inlined.items)[known - 1].parent = last;
    }
    parser->inlined_last = *index = known;
    parser->inlined_count = parser->instructions.count;
    return SMK_OK;
}

static smk_status parse_location(smk_parser *parser, location *to)
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
static smk_status parse_attributes(smk_parser *parser, inlining *mark, bool *inlined)
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
            mark->function = word.text;
            SMK_TRY(smk_parse_accept(parser, '+', &moved));
            if (moved) {
                SMK_TRY(smk_constant_parse_count(parser, "the offset", UINT64_MAX, &offset));
            }
        } else if (smk_text_is(word.text, "inlined_at")) {
            SMK_TRY(parse_location(parser, &mark->outer));
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
    parser->inlined.count = parser->inlined_count = 0;
    parser->inlined_last = 0;
    memset(parser->inlined_bucket, 0, sizeof parser->inlined_bucket);
}

/* .loc file line column {, function_name ...} {, inlined_at ...}. Nested inlinings have one mark for each level,
 * before the mark that needs them. */
smk_status smk_loc_parse(smk_parser *parser)
{
    inlining mark = {.parent = 0};
    bool inlined = false;
    uint32_t index = 0, ptx_line = parser->token.line;
    SMK_TRY(smk_parse_next(parser));
    SMK_TRY(parse_location(parser, &mark.at));
    SMK_TRY(parse_attributes(parser, &mark, &inlined));
    if (inlined) {
        SMK_TRY(note(parser, &mark, &index));
    }
    parser->source_mark.file = mark.at.file;
    parser->source_mark.line = mark.at.line;
    parser->source_mark.column = mark.at.column;
    parser->source_mark.ptx_line = ptx_line;
    parser->source_inlined = index;
    parser->source_location = 0;
    if (!parser->has_loc) { /* the first mark of a function has its own file */
        parser->home_number = inlined ? mark.outer.file : mark.at.file;
    }
    location at = mark.at;
    for (unsigned steps = 0; index != 0 && at.file != parser->home_number && steps < STEPS_MAX; steps++) {
        const inlining *step = (const inlining *)parser->inlined.items + (index - 1);
        at = step->outer;
        index = step->parent;
    }
    parser->has_loc = true;
    parser->source_number = at.file;
    parser->source_line = at.line;
    return SMK_OK;
}

smk_status smk_loc_location(smk_parser *parser, uint32_t *number)
{
    const inlining *items = parser->inlined.items;
    if (parser->has_loc && parser->source_location == 0) {
        location at = {parser->source_mark.file, parser->source_mark.line, parser->source_mark.column};
        uint32_t index = parser->source_inlined;
        parser->source_location = (uint32_t)parser->locations.count + 1;
        for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
            smk_source_location *made = smk_vector_push(&parser->locations, sizeof *made);
            if (made == NULL) {
                return smk_parse_memory(parser);
            }
            bool last = index == 0 || steps + 1 == STEPS_MAX;
            *made =
                (smk_source_location){at.file, at.line, at.column, last ? 0 : (uint32_t)parser->locations.count + 1};
            if (last) {
                break;
            }
            at = items[index - 1].outer;
            index = items[index - 1].parent;
        }
    }
    *number = parser->has_loc ? parser->source_location : 0;
    return SMK_OK;
}
