#include "ptx/reference.h"

#include "base/texture.h"

#include <string.h>

enum { WORD_BYTES = 8, AXES = 3 };

/* Modes of addressing by their words; the place is the number in a sampler. */
static const char *const modes[] = {[SMK_TEXTURE_WRAP] = "wrap",
                                    [SMK_TEXTURE_CLAMP] = "clamp_to_edge",
                                    [SMK_TEXTURE_MIRROR] = "mirror",
                                    [SMK_TEXTURE_BORDER] = "clamp_to_border",
                                    [SMK_SAMPLER_CLAMP_OGL] = "clamp_ogl"};

/* What is written behind a name: a word, or a number. */
static smk_status parse_value(smk_parser *parser, smk_text *word, uint64_t *number)
{
    *word = (smk_text){"", 0};
    if (parser->token.kind == SMK_TOKEN_WORD) {
        *word = parser->token.text;
        return smk_parse_next(parser);
    }
    return smk_constant_parse_count(parser, "a property of a texture or sampler", UINT32_MAX, number);
}

static smk_status set_property(smk_parser *parser, const smk_token *name, smk_sampler *sampler)
{
    static const char prefix[] = "addr_mode_";
    const smk_token at = parser->token;
    const size_t length = sizeof prefix - 1;
    uint64_t number = 0;
    smk_text word;
    SMK_TRY(parse_value(parser, &word, &number));
    if (smk_text_is(name->text, "filter_mode")) {
        sampler->filters = smk_text_is(word, "linear");
    } else if (smk_text_is(name->text, "force_unnormalized_coords")) {
        sampler->unnormalized = number != 0;
    } else if (name->text.length == length + 1 && memcmp(name->text.start, prefix, length) == 0) {
        const unsigned axis = (unsigned)(name->text.start[length] - '0');
        unsigned mode = 0;
        while (mode <= SMK_SAMPLER_CLAMP_OGL && !smk_text_is(word, modes[mode])) {
            mode++;
        }
        if (axis >= AXES || mode > SMK_SAMPLER_CLAMP_OGL) {
            return smk_parse_fail(parser, &at, SMK_PTX, "'%.*s' is no mode of addressing", SMK_TEXT_PRINT(at.text));
        }
        sampler->mode[axis] = (uint8_t)mode;
    }
    return SMK_OK;
}

smk_status smk_reference_parse(smk_parser *parser, smk_variable *variable)
{
    smk_sampler sampler = {.mode = {SMK_TEXTURE_CLAMP, SMK_TEXTURE_CLAMP, SMK_TEXTURE_CLAMP}};
    bool more = true;
    SMK_TRY(smk_parse_expect(parser, '{'));
    while (more) {
        smk_token name;
        SMK_TRY(smk_parse_name(parser, &name));
        SMK_TRY(smk_parse_expect(parser, '='));
        SMK_TRY(set_property(parser, &name, &sampler));
        SMK_TRY(smk_parse_accept(parser, ',', &more));
    }
    SMK_TRY(smk_parse_expect(parser, '}'));
    if (variable->type == SMK_TYPE_SAMPLERREF) {
        const uint64_t word = smk_texture_pack_sampler(&sampler);
        variable->initializer = smk_arena_allocate(&parser->module->arena, WORD_BYTES, 1);
        if (variable->initializer == NULL) {
            return smk_parse_memory(parser);
        }
        memcpy(variable->initializer, &word, sizeof word);
        parser->initializer_bytes += WORD_BYTES;
    }
    return SMK_OK;
}
