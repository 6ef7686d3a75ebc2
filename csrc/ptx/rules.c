#include "ptx/rules.h"

#include "ptx/opcode.h"
#include "ptx/refuse.h"

#include <string.h>

enum { WARP = 32, BITS_OF_ONE = 0x3f800000, BULK_BYTES = 16 };

/* Words that do not stand together. */
typedef struct rule {
    smk_opcode opcode;
    const char *first, *second;
} rule;

static const rule rules[] = {
#define SMK_PTX_APART(opcode, first, second) {SMK_OPCODE_##opcode, first, second},
#include "ptx/rules.def"
};

enum { RULE_COUNT = sizeof rules / sizeof rules[0] };

/* The first word of the instruction that a list "a|b|c" has; NULL where it has none. */
static const char *find_word(const smk_instruction *instruction, const char *list)
{
    for (unsigned i = 0; i < instruction->word_count; i++) {
        const smk_word *word = &instruction->words[i];
        const char *name = word->is_type ? "" : smk_module_modifier_name((smk_modifier)word->value);
        const size_t length = strlen(name);
        for (const char *at = list; length > 0 && at != NULL; at = strchr(at, '|'), at = at == NULL ? NULL : at + 1) {
            if (strncmp(at, name, length) == 0 && (at[length] == '|' || at[length] == '\0')) {
                return name;
            }
        }
    }
    return NULL;
}

static const smk_token *find_token(const smk_statement *statement, smk_modifier modifier)
{
    for (unsigned i = 0; i < statement->instruction.word_count; i++) {
        const smk_word *word = &statement->instruction.words[i];
        if (!word->is_type && word->value == modifier) {
            return &statement->word_at[i];
        }
    }
    return &statement->opcode_at;
}

static smk_status check_words(smk_parser *parser, const smk_statement *statement)
{
    const smk_instruction *instruction = &statement->instruction;
    for (unsigned i = 0; i < RULE_COUNT && instruction->word_count > 2; i++) {
        if (rules[i].opcode != (smk_opcode)instruction->opcode) {
            continue;
        }
        const char *first = find_word(instruction, rules[i].first);
        const char *second = first == NULL ? NULL : find_word(instruction, rules[i].second);
        if (second != NULL) {
            return smk_refuse_unknown(parser, smk_parse_fail(parser, &statement->opcode_at, SMK_PTX,
                                                             "'%s' does not take '.%s' together with '.%s'",
                                                             smk_module_opcode_name((smk_opcode)instruction->opcode),
                                                             second, first));
        }
    }
    return SMK_OK;
}

smk_text smk_rules_words(const smk_statement *statement)
{
    smk_text whole = statement->opcode_at.text;
    unsigned count = statement->instruction.word_count;
    if (count != 0) {
        const smk_token *last = &statement->word_at[count - 1];
        whole.length = (size_t)(last->text.start + last->text.length - whole.start);
    }
    return whole;
}

smk_status smk_rules_need_target(smk_parser *parser, const smk_statement *statement, unsigned least)
{
    smk_text whole = smk_rules_words(statement);
    return smk_parse_fail(parser, &statement->opcode_at, SMK_PTX, "'%.*s' needs .target sm_%u or later, this is sm_%u",
                          SMK_TEXT_PRINT(whole), least, (unsigned)parser->module->target);
}

/* Vectors of more than 128 bits: sm_100 has loads and stores of 256, of global memory. */
static smk_status check_wide(smk_parser *parser, const smk_statement *statement, unsigned bits)
{
    enum { SM_OF_WIDE = 100 };
    const smk_instruction *instruction = &statement->instruction;
    const smk_text whole = smk_rules_words(statement);
    if (bits > 256 || instruction->type == SMK_TYPE_B128 || instruction->opcode == SMK_OPCODE_MOV ||
        instruction->opcode == SMK_OPCODE_LDU || smk_module_has(instruction, SMK_MODIFIER_MMIO)) {
        return smk_parse_fail(parser, &statement->opcode_at, SMK_PTX,
                              "'%.*s' is a vector of %u bits, it takes up to 128", SMK_TEXT_PRINT(whole), bits);
    }
    if (instruction->space != SMK_SPACE_GENERIC && instruction->space != SMK_SPACE_GLOBAL) {
        return smk_parse_fail(parser, &statement->opcode_at, SMK_PTX,
                              "'%.*s' is a vector of %u bits, which only global memory takes", SMK_TEXT_PRINT(whole),
                              bits);
    }
    return parser->module->target >= SM_OF_WIDE || parser->expands
               ? SMK_OK
               : smk_rules_need_target(parser, statement, SM_OF_WIDE);
}

static smk_status check_copy(smk_parser *parser, const smk_statement *statement)
{
    const smk_operand *operands = statement->instruction.operands;
    const uint64_t bytes = operands[2].bits;
    const bool whole_line = smk_module_has(&statement->instruction, SMK_MODIFIER_CG);
    if (whole_line ? bytes != 16 : bytes != 4 && bytes != 8 && bytes != 16) {
        return smk_parse_fail(parser, &statement->operand_at[2], SMK_PTX, "'cp.async' copies %s bytes, not %llu",
                              whole_line ? "16" : "4, 8 or 16", (unsigned long long)bytes);
    }
    if (statement->instruction.operand_count > 3 && operands[3].kind == SMK_OPERAND_IMMEDIATE &&
        operands[3].type == SMK_TYPE_U32 && operands[3].bits > bytes) {
        return smk_parse_fail(parser, &statement->operand_at[3], SMK_PTX,
                              "'cp.async' of %llu bytes cannot read %llu bytes", (unsigned long long)bytes,
                              (unsigned long long)operands[3].bits);
    }
    return SMK_OK;
}

/* The target stands before the source, and a constant size is a multiple of 16. */
static smk_status check_bulk(smk_parser *parser, const smk_statement *statement)
{
    const smk_instruction *instruction = &statement->instruction;
    const bool prefetches = smk_module_has(instruction, SMK_MODIFIER_PREFETCH);
    const unsigned at = prefetches ? 1 : 2;
    const smk_modifier target = prefetches || smk_module_has(instruction, SMK_MODIFIER_BULK_GROUP) ? SMK_MODIFIER_GLOBAL
                                : smk_module_has(instruction, SMK_MODIFIER_SHARED_CLUSTER) ? SMK_MODIFIER_SHARED_CLUSTER
                                                                                           : SMK_MODIFIER_SHARED_CTA;
    const char *first = find_word(instruction, "global|shared::cta|shared::cluster");
    if (first != NULL && strcmp(first, smk_module_modifier_name(target)) != 0) {
        return smk_parse_fail(parser, find_token(statement, target), SMK_PTX,
                              "'cp.async.bulk' names the space of the target, '.%s', before that of the source",
                              smk_module_modifier_name(target));
    }
    if (instruction->operand_count > at && instruction->operands[at].kind == SMK_OPERAND_IMMEDIATE &&
        instruction->operands[at].bits % BULK_BYTES != 0) {
        return smk_parse_fail(parser, &statement->operand_at[at], SMK_PTX,
                              "'cp.async.bulk' copies a multiple of %d bytes, not %llu", BULK_BYTES,
                              (unsigned long long)instruction->operands[at].bits);
    }
    return SMK_OK;
}

/* The number of threads that a barrier expects: whole warps. */
static smk_status check_barrier(smk_parser *parser, const smk_statement *statement)
{
    const smk_instruction *instruction = &statement->instruction;
    const bool reduces = smk_module_has(instruction, SMK_MODIFIER_RED);
    const unsigned at = instruction->result_count + 1U;
    const char *opcode = smk_module_opcode_name((smk_opcode)instruction->opcode);
    if (smk_module_has(instruction, SMK_MODIFIER_WARP)) {
        return SMK_OK;
    }
    if (smk_module_has(instruction, SMK_MODIFIER_CTA) &&
        (instruction->words[0].is_type || instruction->words[0].value != SMK_MODIFIER_CTA)) {
        return smk_parse_fail(parser, find_token(statement, SMK_MODIFIER_CTA), SMK_PTX,
                              "'.cta' stands right behind '%s'", opcode);
    }
    if (instruction->operand_count <= at + reduces || instruction->operands[at].kind != SMK_OPERAND_IMMEDIATE) {
        return SMK_OK;
    }
    const uint64_t threads = instruction->operands[at].bits;
    if (threads % WARP != 0 || (threads == 0 && smk_module_has(instruction, SMK_MODIFIER_ARRIVE))) {
        return smk_parse_fail(parser, &statement->operand_at[at], SMK_PTX,
                              "'%s' counts whole warps: %llu threads are no multiple of %d above 0", opcode,
                              (unsigned long long)threads, WARP);
    }
    return SMK_OK;
}

/* An arrival adds 1 at least. */
static smk_status check_arrival(smk_parser *parser, const smk_statement *statement)
{
    const smk_instruction *instruction = &statement->instruction;
    const bool arrives =
        smk_module_has(instruction, SMK_MODIFIER_ARRIVE) || smk_module_has(instruction, SMK_MODIFIER_ARRIVE_DROP);
    if (arrives && !smk_module_has(instruction, SMK_MODIFIER_EXPECT_TX) && instruction->operand_count > 2 &&
        instruction->operands[2].kind == SMK_OPERAND_IMMEDIATE && instruction->operands[2].bits == 0) {
        return smk_parse_fail(parser, &statement->operand_at[2], SMK_PTX, "'mbarrier' counts 1 arrival or more, not 0");
    }
    return SMK_OK;
}

/* A generic address: of no variable but a global one. */
static smk_status check_uniform(smk_parser *parser, const smk_statement *statement)
{
    const smk_operand *address = &statement->instruction.operands[0];
    if (address->base_kind == SMK_OPERAND_VARIABLE &&
        smk_parse_variable(parser, address->index)->space != SMK_SPACE_GLOBAL) {
        return smk_parse_fail(parser, &statement->operand_at[0], SMK_PTX,
                              "'prefetchu' takes a generic address, not %.*s",
                              SMK_TEXT_PRINT(statement->operand_at[0].text));
    }
    return SMK_OK;
}

static smk_status check_table(smk_parser *parser, const smk_statement *statement)
{
    const smk_label *label = (const smk_label *)parser->labels.items + statement->instruction.operands[1].index;
    if (label->table != NULL && !label->of_functions) {
        return SMK_OK;
    }
    return smk_parse_fail(parser, &statement->operand_at[1], SMK_PTX, "'%.*s' is not a table of branch targets",
                          SMK_TEXT_PRINT(statement->operand_at[1].text));
}

static smk_status check_alignment(smk_parser *parser, const smk_statement *statement)
{
    const uint64_t alignment = statement->instruction.operands[2].bits;
    if (alignment != 0 && (alignment & (alignment - 1)) == 0) {
        return SMK_OK;
    }
    return smk_parse_fail(parser, &statement->operand_at[2], SMK_PTX, "'alloca' aligns to a power of two, not to %llu",
                          (unsigned long long)alignment);
}

/* Where scales of a product stand: the first byte of a register, and a lane of a group, or a pair of lanes for a. */
static smk_status check_scales(smk_parser *parser, const smk_statement *statement)
{
    const smk_instruction *instruction = &statement->instruction;
    const bool four = smk_module_has(instruction, SMK_MODIFIER_SCALE_VEC_4X),
               single = smk_module_has(instruction, SMK_MODIFIER_KIND_MXF8F6F4);
    for (unsigned i = 0; i < 2; i++) {
        const unsigned at = instruction->operand_count - (i == 0 ? 3U : 1U);
        const smk_operand *selectors = instruction->operands[at].element;
        const uint64_t lanes = i == 0 ? 2 : 4, step = four ? 4 : single ? 1 : 2;
        if (selectors[0].kind == SMK_OPERAND_IMMEDIATE && (selectors[0].bits > 3 || selectors[0].bits % step != 0)) {
            return smk_parse_fail(parser, &statement->operand_at[at], SMK_PTX,
                                  "'mma' finds scales from byte %s on with these words, not from byte %llu",
                                  four     ? "0"
                                  : single ? "0, 1, 2 or 3"
                                           : "0 or 2",
                                  (unsigned long long)selectors[0].bits);
        }
        if (selectors[1].kind == SMK_OPERAND_IMMEDIATE && selectors[1].bits >= lanes) {
            return smk_parse_fail(parser, &statement->operand_at[at], SMK_PTX,
                                  "'mma' finds scales of %s, numbered from 0 to %llu, not in %llu",
                                  i == 0 ? "a in a pair of lanes of a group" : "b in a lane of a group",
                                  (unsigned long long)lanes - 1, (unsigned long long)selectors[1].bits);
        }
    }
    return SMK_OK;
}

/* A part of the accesses that is above 0, and of a range no more than the whole of it. */
static smk_status check_policy(smk_parser *parser, const smk_statement *statement)
{
    const smk_instruction *instruction = &statement->instruction;
    const smk_operand *operands = instruction->operands;
    const bool is_part = smk_module_has(instruction, SMK_MODIFIER_FRACTIONAL) && instruction->operand_count > 1 &&
                         operands[1].kind == SMK_OPERAND_IMMEDIATE,
               is_range = smk_module_has(instruction, SMK_MODIFIER_RANGE) && instruction->operand_count > 3 &&
                          operands[2].kind == SMK_OPERAND_IMMEDIATE && operands[3].kind == SMK_OPERAND_IMMEDIATE;
    if (is_part && (operands[1].bits == 0 || operands[1].bits > BITS_OF_ONE)) {
        return smk_parse_fail(parser, &statement->operand_at[1], SMK_PTX,
                              "'createpolicy' takes a part above 0 and of at most 1, not %.*s",
                              SMK_TEXT_PRINT(statement->operand_at[1].text));
    }
    if (is_range && operands[2].bits > operands[3].bits) {
        return smk_parse_fail(parser, &statement->operand_at[2], SMK_PTX,
                              "'createpolicy' of %llu bytes cannot begin with %llu bytes of the first kind",
                              (unsigned long long)operands[3].bits, (unsigned long long)operands[2].bits);
    }
    return SMK_OK;
}

smk_status smk_rules_check(smk_parser *parser, const smk_statement *statement)
{
    const smk_instruction *instruction = &statement->instruction;
    const unsigned bits = smk_module_type_bits((smk_type)instruction->type) * instruction->vector;
    const smk_class class = smk_opcode_class(instruction);
    const bool memory = class == SMK_CLASS_LOAD || class == SMK_CLASS_STORE;
    if ((memory || instruction->opcode == SMK_OPCODE_MOV) && bits > 128) {
        SMK_TRY(check_wide(parser, statement, bits));
    }
    if (instruction->opcode == SMK_OPCODE_BRX) {
        return check_table(parser, statement);
    }
    if (smk_module_has(instruction, SMK_MODIFIER_BULK)) {
        return check_bulk(parser, statement);
    }
    if (instruction->opcode == SMK_OPCODE_CP && instruction->operand_count > 2) {
        return check_copy(parser, statement);
    }
    if (parser->expands) { /* what an instruction is short for keeps the rest */
        return SMK_OK;
    }
    if (instruction->opcode == SMK_OPCODE_BAR || instruction->opcode == SMK_OPCODE_BARRIER) {
        return check_barrier(parser, statement);
    }
    if (smk_module_has(instruction, SMK_MODIFIER_BLOCK_SCALE)) {
        return check_scales(parser, statement);
    }
    if (instruction->opcode == SMK_OPCODE_CREATEPOLICY) {
        return check_policy(parser, statement);
    }
    if (instruction->opcode == SMK_OPCODE_ALLOCA && instruction->operand_count > 2) {
        return check_alignment(parser, statement);
    }
    if (instruction->opcode == SMK_OPCODE_PREFETCHU) {
        return check_uniform(parser, statement);
    }
    if (instruction->opcode == SMK_OPCODE_MBARRIER) {
        return check_arrival(parser, statement);
    }
    return memory || class == SMK_CLASS_ATOMIC ? check_words(parser, statement) : SMK_OK;
}
