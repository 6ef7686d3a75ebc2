/* Interprets the forms of opcode.def: which words an instruction takes, and which operands with them. */
#include "ptx/verify.h"

#include "ptx/opcode.h"
#include "ptx/refuse.h"
#include "ptx/rules.h"

#include <stdlib.h>
#include <string.h>

typedef struct form {
    uint16_t opcode;
    const char *types;    /* one slot a type word, in order: "f32|f64 s32" */
    const char *words;    /* slots of modifiers in any order: "rn|rz? ftz? sat?" */
    const char *operands; /* see opcode.def; "! FEATURE" for PTX that is known and refused */
} form;

static const form forms[] = {
#define SMK_PTX_FORM(id, types, words, operands) {SMK_OPCODE_##id, types, words, operands},
#include "ptx/opcode.def"
};

enum { FORM_COUNT = sizeof forms / sizeof forms[0], SLOTS_MAX = 16 };

/* Why a form does not fit: the number of correct words before the first wrong one. */
typedef struct misfit {
    bool any;
    unsigned score;
    unsigned word;    /* index of the wrong word, or word_count where one is missing */
    smk_text missing; /* the slot that is not filled */
    bool type_missing;
} misfit;

/* The next piece of a list that is separated by `separator`; false at its end. */
static bool next_piece(const char **list, char separator, smk_text *piece)
{
    const char *start = *list;
    if (*start == '\0') {
        return false;
    }
    const char *end = start;
    while (*end != '\0' && *end != separator) {
        end++;
    }
    *piece = (smk_text){start, (size_t)(end - start)};
    *list = *end == '\0' ? end : end + 1;
    return true;
}

static bool is_optional(smk_text slot)
{
    return slot.length != 0 && slot.start[slot.length - 1] == '?';
}

/* Is the word one of the slot's alternatives, "rn|rz|rm?" ? */
static bool slot_has(smk_text slot, const char *word)
{
    size_t length = strlen(word);
    size_t end = slot.length - (is_optional(slot) ? 1 : 0);
    size_t start = 0;
    for (size_t i = 0; i <= end; i++) {
        if (i == end || slot.start[i] == '|') {
            if (i - start == length && memcmp(slot.start + start, word, length) == 0) {
                return true;
            }
            start = i + 1;
        }
    }
    return false;
}

static const char *word_name(const smk_word *word)
{
    return word->is_type ? smk_module_type_name((smk_type)word->value)
                         : smk_module_modifier_name((smk_modifier)word->value);
}

static unsigned split(const char *list, smk_text slots[SLOTS_MAX])
{
    unsigned count = 0;
    while (count < SLOTS_MAX && next_piece(&list, ' ', &slots[count])) {
        count++;
    }
    return count;
}

static void note(misfit *worst, unsigned score, unsigned word, smk_text missing, bool type_missing)
{
    if (!worst->any || score > worst->score) {
        *worst = (misfit){true, score, word, missing, type_missing};
    }
}

/* Do the instruction's words fill the form's slots? */
static bool match_words(const form *form_, const smk_instruction *instruction, misfit *worst)
{
    smk_text type_slots[SLOTS_MAX];
    smk_text word_slots[SLOTS_MAX];
    unsigned type_count = split(form_->types, type_slots);
    unsigned slot_count = split(form_->words, word_slots);
    unsigned used = 0;
    unsigned types = 0;
    for (unsigned i = 0; i < instruction->word_count; i++) {
        const smk_word *word = &instruction->words[i];
        const char *name = word_name(word);
        bool good = false;
        if (word->is_type) {
            good = types < type_count && slot_has(type_slots[types], name);
            types += good;
        }
        for (unsigned slot = 0; !word->is_type && !good && slot < slot_count; slot++) {
            good = (used >> slot & 1) == 0 && slot_has(word_slots[slot], name);
            used |= good ? 1U << slot : 0;
        }
        if (!good) {
            note(worst, i, i, (smk_text){"", 0}, false);
            return false;
        }
    }
    for (unsigned slot = 0; slot < slot_count; slot++) {
        if ((used >> slot & 1) == 0 && !is_optional(word_slots[slot])) {
            note(worst, instruction->word_count, instruction->word_count, word_slots[slot], false);
            return false;
        }
    }
    if (types < type_count) {
        note(worst, instruction->word_count, instruction->word_count, type_slots[types], true);
        return false;
    }
    return true;
}

static smk_status refuse_words(smk_parser *parser, const smk_statement *statement, const misfit *worst)
{
    const smk_instruction *instruction = &statement->instruction;
    const char *opcode = smk_module_opcode_name((smk_opcode)instruction->opcode);
    if (worst->word == instruction->word_count) {
        return smk_parse_fail(parser, &statement->opcode_at, SMK_PTX, "'%s' lacks %s: one of %.*s", opcode,
                              worst->type_missing ? "a type" : "a word", (int)worst->missing.length,
                              worst->missing.start);
    }
    const smk_token *at = &statement->word_at[worst->word];
    if (instruction->words[worst->word].is_type) {
        return smk_refuse_unknown(parser,
                                  smk_parse_fail(parser, at, SMK_PTX_TYPE, "'%s' does not take the type '%.*s' here",
                                                 opcode, SMK_TEXT_PRINT(at->text)));
    }
    return smk_refuse_unknown(parser, smk_parse_fail(parser, at, SMK_PTX, "'%s' does not take '%.*s' with these words",
                                                     opcode, SMK_TEXT_PRINT(at->text)));
}

static smk_space space_of(smk_modifier modifier)
{
    switch (modifier) {
    case SMK_MODIFIER_GLOBAL:
        return SMK_SPACE_GLOBAL;
    case SMK_MODIFIER_SHARED:
    case SMK_MODIFIER_SHARED_CTA:
    case SMK_MODIFIER_SHARED_CLUSTER:
        return SMK_SPACE_SHARED;
    case SMK_MODIFIER_LOCAL:
        return SMK_SPACE_LOCAL;
    case SMK_MODIFIER_CONST:
        return SMK_SPACE_CONST;
    case SMK_MODIFIER_PARAM:
    case SMK_MODIFIER_PARAM_ENTRY:
    case SMK_MODIFIER_PARAM_FUNC:
        return SMK_SPACE_PARAM;
    default: /* a word that names no space */
        return SMK_SPACE_GENERIC;
    }
}

/* Fills types, space and vector width from the words. */
static void summarise(smk_instruction *instruction)
{
    unsigned types = 0;
    instruction->type = SMK_TYPE_NONE;
    instruction->space = SMK_SPACE_GENERIC;
    instruction->vector = 1;
    for (unsigned i = 0; i < instruction->word_count; i++) {
        const smk_word *word = &instruction->words[i];
        if (word->is_type) {
            instruction->type = types == 0 ? word->value : instruction->type;
            instruction->source_type = types < 2 ? word->value : instruction->source_type;
            types++;
            continue;
        }
        smk_modifier modifier = (smk_modifier)word->value;
        instruction->vector = modifier == SMK_MODIFIER_V2   ? 2
                              : modifier == SMK_MODIFIER_V4 ? 4
                              : modifier == SMK_MODIFIER_V8 ? 8
                                                            : instruction->vector;
        if (instruction->space == SMK_SPACE_GENERIC) {
            instruction->space = (uint8_t)space_of(modifier);
        }
    }
    if (instruction->opcode == SMK_OPCODE_CP && instruction->space != SMK_SPACE_GENERIC) {
        instruction->space = SMK_SPACE_SHARED; /* of the destination, in any order of words */
    }
}

static smk_type named_type(smk_text name)
{
    for (unsigned i = 1; i < SMK_TYPE_COUNT; i++) {
        if (smk_text_is(name, smk_module_type_name((smk_type)i))) {
            return (smk_type)i;
        }
    }
    return SMK_TYPE_NONE;
}

/* The integer type of twice the width: what mul.wide writes. */
static smk_type wide_type(smk_type type)
{
    switch (type) {
    case SMK_TYPE_U16:
        return SMK_TYPE_U32;
    case SMK_TYPE_S16:
        return SMK_TYPE_S32;
    case SMK_TYPE_U32:
        return SMK_TYPE_U64;
    default: /* .s32: no form makes any other type wider */
        return SMK_TYPE_S64;
    }
}

static smk_type slot_type(const smk_instruction *instruction, smk_text name)
{
    if (name.length == 1) {
        return *name.start == 't'   ? (smk_type)instruction->type
               : *name.start == 'u' ? (smk_type)instruction->source_type
                                    : wide_type((smk_type)instruction->type);
    }
    return named_type(name);
}

static smk_space named_space(smk_text name)
{
    return smk_text_is(name, "shared") ? SMK_SPACE_SHARED : SMK_SPACE_GLOBAL;
}

/* Takes "[0..15]" off the end of a type. */
static void read_range(smk_operand_slot *slot, smk_text *name)
{
    const char *bracket = memchr(name->start, '[', name->length);
    if (bracket != NULL) {
        char *end;
        slot->ranged = true;
        slot->least = strtoull(bracket + 1, &end, 10);
        slot->most = strtoull(end + 2, NULL, 10);
        name->length = (size_t)(bracket - name->start);
    }
}

/* Parses "d_+:t?"; opcode.def explains the letters. */
static smk_operand_slot read_slot(const smk_instruction *instruction, smk_text text)
{
    smk_operand_slot slot = {.role = text.start[0], .space = (smk_space)instruction->space};
    size_t i = 1;
    for (; i < text.length && text.start[i] != ':' && text.start[i] != '?'; i++) {
        char flag = text.start[i];
        slot.count = flag >= '0' && flag <= '9' ? 10 * slot.count + (unsigned)(flag - '0') : slot.count;
        slot.sink |= flag == '_';
        slot.relaxed |= flag == '+';
        slot.vector |= flag == 'v';
        slot.pair |= flag == '|' || flag == '=';
        slot.must_pair |= flag == '=';
        slot.special |= flag == '%';
        slot.layered |= flag == 'l';
        slot.selects |= flag == '#';
        slot.negatable |= flag == '-';
        slot.varying |= flag == '!';
    }
    slot.optional = is_optional(text);
    if (i < text.length && text.start[i] == ':') {
        smk_text name = {text.start + i + 1, text.length - i - 1 - (slot.optional ? 1 : 0)};
        read_range(&slot, &name);
        if (slot.role == 'm') {
            slot.space = named_space(name);
        } else {
            slot.type = slot_type(instruction, name);
        }
    }
    return slot;
}

static smk_status wrong_count(smk_parser *parser, const smk_statement *statement, unsigned least, unsigned most)
{
    unsigned count = statement->instruction.operand_count;
    const smk_token *at = count > most ? &statement->operand_at[most] : &statement->opcode_at;
    return least == most
               ? smk_parse_fail(parser, at, SMK_PTX, "'%s' takes %u operands with these words, found %u",
                                smk_module_opcode_name((smk_opcode)statement->instruction.opcode), most, count)
               : smk_parse_fail(parser, at, SMK_PTX, "'%s' takes %u to %u operands with these words, found %u",
                                smk_module_opcode_name((smk_opcode)statement->instruction.opcode), least, most, count);
}

/* The form's slots for the instruction's operands: without enough operands, optional slots are dropped from the last
 * on. */
static smk_status read_slots(smk_parser *parser, const smk_statement *statement, const form *form_,
                             smk_operand_slot operand_slots[SMK_OPERANDS_MAX])
{
    const smk_instruction *instruction = &statement->instruction;
    smk_text slots[SLOTS_MAX];
    unsigned total = split(form_->operands, slots);
    smk_operand_slot all[SLOTS_MAX + 1];
    unsigned least = 0;
    if (total != 0 && *slots[total - 1].start == '@') {
        total--; /* a target, not a slot */
    }
    for (unsigned i = 0; i < total; i++) {
        all[i] = read_slot(instruction, slots[i]);
        least += !all[i].optional;
    }
    if (smk_module_has(instruction, SMK_MODIFIER_L2_CACHE_HINT) &&
        !smk_module_has(instruction, SMK_MODIFIER_CP_MASK)) {                 /* whose mask stands behind it */
        all[total++] = (smk_operand_slot){.role = 's', .type = SMK_TYPE_B64}; /* the policy */
        least++;
    }
    if (instruction->operand_count < least || instruction->operand_count > total) {
        return wrong_count(parser, statement, least, total);
    }
    unsigned extra = instruction->operand_count - least;
    unsigned count = 0;
    for (unsigned i = 0; i < total; i++) {
        if (all[i].optional && extra == 0) {
            continue;
        }
        extra -= all[i].optional;
        operand_slots[count++] = all[i];
    }
    return SMK_OK;
}

static smk_status check_operands(smk_parser *parser, smk_statement *statement, const form *form_, bool apply)
{
    smk_instruction *instruction = &statement->instruction;
    smk_operand_slot operand_slots[SMK_OPERANDS_MAX];
    if (strncmp(form_->operands, "mov", strlen("mov")) == 0) {
        return instruction->operand_count == 2 ? smk_operand_check_mov(parser, statement, apply)
                                               : wrong_count(parser, statement, 2, 2);
    }
    SMK_TRY(read_slots(parser, statement, form_, operand_slots));
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        SMK_TRY(smk_operand_check(parser, statement, i, &operand_slots[i], &instruction->operands[i], apply));
    }
    return SMK_OK;
}

/* Gives a generic access that names a variable that variable's space. */
static void settle_space(const smk_parser *parser, smk_instruction *instruction)
{
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        const smk_operand *operand = &instruction->operands[i];
        if (instruction->space == SMK_SPACE_GENERIC && operand->kind == SMK_OPERAND_ADDRESS &&
            operand->base_kind == SMK_OPERAND_VARIABLE) {
            instruction->space = smk_parse_variable(parser, operand->index)->space;
        }
    }
}

/* "@80" of the form against the module's .target */
static smk_status check_target(smk_parser *parser, const smk_statement *statement, const form *form_)
{
    const char *at = strchr(form_->operands, '@');
    unsigned least = at == NULL ? 0 : (unsigned)strtoul(at + 1, NULL, 10);
    return parser->module->target >= least || parser->expands ? SMK_OK
                                                              : smk_rules_need_target(parser, statement, least);
}

/* Results stand in front. "mov" writes its first operand, "call" the list of results that it begins with. */
static uint8_t count_results(const form *form_)
{
    smk_text slots[SLOTS_MAX];
    unsigned total = split(form_->operands, slots);
    uint8_t results = 0;
    if (strncmp(form_->operands, "mov", strlen("mov")) == 0 || strcmp(form_->operands, "call") == 0) {
        return 1;
    }
    while (results < total && (*slots[results].start == 'd' || *slots[results].start == '_')) {
        results++;
    }
    return results;
}

/* Stores the form of an instruction. */
static void set_form(smk_instruction *instruction, unsigned row)
{
    instruction->row = (uint16_t)row;
    instruction->result_count = count_results(&forms[row]);
}

static unsigned first_form(uint16_t opcode)
{
    unsigned low = 0;
    unsigned high = FORM_COUNT;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (forms[middle].opcode < opcode) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

smk_status smk_verify_words(smk_parser *parser, smk_statement *statement)
{
    misfit worst = {0};
    for (unsigned i = first_form(statement->instruction.opcode);
         i < FORM_COUNT && forms[i].opcode == statement->instruction.opcode; i++) {
        if (match_words(&forms[i], &statement->instruction, &worst)) {
            set_form(&statement->instruction, i);
            summarise(&statement->instruction);
            return SMK_OK;
        }
    }
    return refuse_words(parser, statement, &worst);
}

smk_status smk_verify_instruction(smk_parser *parser, smk_statement *statement)
{
    smk_instruction *instruction = &statement->instruction;
    misfit worst = {0};
    smk_error first_error;
    smk_status status = SMK_OK;
    smk_error *report = parser->error;
    for (unsigned i = first_form(instruction->opcode); i < FORM_COUNT && forms[i].opcode == instruction->opcode; i++) {
        if (!match_words(&forms[i], instruction, &worst)) {
            continue;
        }
        summarise(instruction);
        if (*forms[i].operands == '!') {
            return smk_refuse_form(parser, &statement->opcode_at, smk_rules_words(statement), forms[i].operands);
        }
        SMK_TRY(check_target(parser, statement, &forms[i]));
        parser->error = status == SMK_OK ? &first_error : NULL; /* the error of the first form is reported */
        smk_status found = check_operands(parser, statement, &forms[i], false);
        parser->error = report;
        if (found == SMK_OK) {
            set_form(instruction, i);
            SMK_TRY(check_operands(parser, statement, &forms[i], true));
            settle_space(parser, instruction);
            return smk_rules_check(parser, statement);
        }
        status = status == SMK_OK ? found : status;
    }
    if (status == SMK_OK) {
        return refuse_words(parser, statement, &worst);
    }
    if (report != NULL) {
        *report = first_error;
    }
    return status;
}
