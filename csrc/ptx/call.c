/* call: its syntax, and the check of its arguments against the callee's parameters. */
#include "ptx/instruction.h"
#include "ptx/verify.h"

#include <string.h>

static void slot_of(smk_parser *parser, smk_token *at)
{
    at->text.length = (size_t)(parser->module->text.start + parser->last_end - at->text.start);
}

/* The callee, a function by name or the register that holds its address. */
static smk_status parse_callee(smk_parser *parser, smk_statement *statement)
{
    statement->operand_at[1] = parser->token;
    if (parser->token.kind != SMK_TOKEN_WORD) {
        return smk_parse_unexpected(parser, "a function");
    }
    SMK_TRY(smk_instruction_parse_operand(parser, &statement->instruction.operands[1]));
    slot_of(parser, &statement->operand_at[1]);
    return SMK_OK;
}

static smk_status parse_table(smk_parser *parser, smk_statement *statement)
{
    statement->operand_at[3] = parser->token;
    SMK_TRY(smk_instruction_parse_table(parser, &statement->instruction.operands[3]));
    statement->instruction.operand_count = 4;
    return SMK_OK;
}

/* {(results),} callee {, (arguments)} {, table} */
static smk_status parse_parts(smk_parser *parser, smk_statement *statement)
{
    smk_instruction *instruction = &statement->instruction;
    bool more = false;
    instruction->operands[0].kind = SMK_OPERAND_LIST;
    instruction->operands[2].kind = SMK_OPERAND_LIST;
    instruction->operand_count = 3;
    statement->operand_at[0] = parser->token;
    statement->operand_at[2] = parser->token;
    if (smk_parse_at(parser, '(')) {
        SMK_TRY(smk_instruction_parse_list(parser, ')', &instruction->operands[0]));
        slot_of(parser, &statement->operand_at[0]);
        SMK_TRY(smk_parse_expect(parser, ','));
    }
    SMK_TRY(parse_callee(parser, statement));
    SMK_TRY(smk_parse_accept(parser, ',', &more));
    if (more && smk_parse_at(parser, '(')) {
        statement->operand_at[2] = parser->token;
        SMK_TRY(smk_instruction_parse_list(parser, ')', &instruction->operands[2]));
        slot_of(parser, &statement->operand_at[2]);
        SMK_TRY(smk_parse_accept(parser, ',', &more));
    }
    return more ? parse_table(parser, statement) : SMK_OK;
}

static const smk_function *function_at(const smk_parser *parser, uint32_t index)
{
    return (const smk_function *)parser->functions.items + index;
}

/* The signature of an indirect call. */
static smk_status find_prototype(smk_parser *parser, const smk_statement *statement, const smk_function **signature)
{
    const smk_instruction *instruction = &statement->instruction;
    const smk_token *at = &statement->operand_at[1];
    const smk_operand *callee = &instruction->operands[1];
    const smk_register *registers = parser->registers.items;
    if (callee->kind != SMK_OPERAND_REGISTER || callee->offset != 0) {
        return smk_parse_fail(parser, at, SMK_PTX, "'%.*s' is not a function", SMK_TEXT_PRINT(at->text));
    }
    if (!smk_operand_fits((smk_type)registers[callee->index].type, SMK_TYPE_U64, false)) {
        return smk_parse_fail(parser, at, SMK_PTX_TYPE, "'%.*s' cannot hold the address of a function",
                              SMK_TEXT_PRINT(at->text));
    }
    if (instruction->operand_count < 4) {
        return smk_parse_fail(parser, at, SMK_PTX, "an indirect call needs a prototype or a table of functions");
    }
    const smk_label *label = (const smk_label *)parser->labels.items + instruction->operands[3].index;
    if (label->prototype != SMK_NO_INDEX) {
        *signature = (const smk_function *)parser->prototypes.items + label->prototype;
        return SMK_OK;
    }
    if (label->table != NULL && label->of_functions) {
        *signature = function_at(parser, label->table[0]);
        return SMK_OK;
    }
    at = &statement->operand_at[3];
    return smk_parse_fail(parser, at, SMK_PTX, "'%.*s' is neither a prototype nor a table of functions",
                          SMK_TEXT_PRINT(at->text));
}

static smk_status wrong_argument(smk_parser *parser, const smk_token *at, const char *noun, uint32_t index,
                                 const smk_variable *parameter, const smk_function *callee)
{
    return smk_parse_fail(parser, at, SMK_PTX_TYPE,
                          "call of '%.*s': %s %u of '%.*s' does not fit its %llu bytes of .%s",
                          SMK_TEXT_PRINT(callee->name), noun, index + 1, SMK_TEXT_PRINT(at->text),
                          (unsigned long long)parameter->bytes, smk_module_type_name((smk_type)parameter->type));
}

/* A call moves bits: a function may be declared with .u64 and defined with .b64. */
static uint8_t bits_type(smk_type type)
{
    switch (smk_module_type_bits(type)) {
    case 8:
        return SMK_TYPE_B8;
    case 16:
        return SMK_TYPE_B16;
    case 32:
        return SMK_TYPE_B32;
    case 64:
        return SMK_TYPE_B64;
    default:
        return (uint8_t)type;
    }
}

/* Does an argument or result fit the callee's parameter? */
static bool fits_parameter(const smk_parser *parser, smk_operand *operand, const smk_variable *parameter,
                           bool is_result)
{
    smk_type type = (smk_type)parameter->type;
    bool scalar = parameter->bytes == (smk_module_type_bits(type) + 7) / 8;
    const smk_register *registers = parser->registers.items;
    uint64_t bits = 0;
    switch ((smk_operand_kind)operand->kind) {
    case SMK_OPERAND_REGISTER:
        operand->type = bits_type(type);
        return scalar && !operand->negate && smk_operand_fits((smk_type)registers[operand->index].type, type, false);
    case SMK_OPERAND_IMMEDIATE:
        if (is_result || !scalar || !smk_operand_convert(operand, type, &bits)) {
            return false;
        }
        operand->bits = bits;
        operand->type = bits_type(type);
        return true;
    case SMK_OPERAND_VARIABLE: {
        const smk_variable *variable = smk_parse_variable(parser, operand->index);
        operand->type = bits_type(type);
        return variable->space == SMK_SPACE_PARAM && parameter->space == SMK_SPACE_PARAM && operand->offset == 0 &&
               operand->base_kind == SMK_OPERAND_NONE && variable->bytes == parameter->bytes;
    }
    case SMK_OPERAND_SINK:
        return is_result;
    case SMK_OPERAND_NONE:
    case SMK_OPERAND_SPECIAL:
    case SMK_OPERAND_FUNCTION:
    case SMK_OPERAND_LABEL:
    case SMK_OPERAND_ADDRESS:
    case SMK_OPERAND_LIST:
        break;
    }
    return false;
}

static smk_status check_list(smk_parser *parser, const smk_statement *statement, const smk_function *callee,
                             bool is_result)
{
    unsigned list_index = is_result ? 0 : 2;
    const smk_operand *list = &statement->instruction.operands[list_index];
    const smk_token *at = &statement->operand_at[list_index];
    const char *noun = is_result ? "result" : "argument";
    uint32_t count = is_result ? callee->result_count : callee->parameter_count;
    const smk_variable *parameters = callee->variables + (is_result ? 0 : callee->result_count);
    if (count != 0 && parameters[count - 1].unsized) {
        return smk_parse_fail(parser, at, SMK_UNSUPPORTED,
                              "'%.*s' takes any number of arguments, which is not supported",
                              SMK_TEXT_PRINT(callee->name));
    }
    if (list->count != count) {
        return smk_parse_fail(parser, at, SMK_PTX, "call of '%.*s': %u %ss are wanted, %u are given",
                              SMK_TEXT_PRINT(callee->name), (unsigned)count, noun, (unsigned)list->count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!fits_parameter(parser, &list->element[i], &parameters[i], is_result)) {
            return wrong_argument(parser, at, noun, i, &parameters[i], callee);
        }
    }
    return SMK_OK;
}

smk_status smk_call_parse(smk_parser *parser, smk_statement *statement)
{
    smk_instruction *instruction = &statement->instruction;
    const smk_function *callee = NULL;
    SMK_TRY(smk_verify_words(parser, statement));
    SMK_TRY(parse_parts(parser, statement));
    if (instruction->operands[1].kind == SMK_OPERAND_FUNCTION) {
        callee = function_at(parser, instruction->operands[1].index);
        if (callee->is_entry) {
            return smk_parse_fail(parser, &statement->operand_at[1], SMK_PTX,
                                  "'%.*s' is an entry, which cannot be called", SMK_TEXT_PRINT(callee->name));
        }
    } else {
        SMK_TRY(find_prototype(parser, statement, &callee));
        instruction->operands[1].type = SMK_TYPE_U64;
    }
    SMK_TRY(check_list(parser, statement, callee, true));
    return check_list(parser, statement, callee, false);
}
