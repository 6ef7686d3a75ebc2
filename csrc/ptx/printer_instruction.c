/* Prints the bodies of functions: registers, labels, instructions. */
#include "ptx/printer.h"

#include <string.h>

static void print_offset(smk_printer *printer, int64_t offset)
{
    if (offset != 0) {
        smk_printer_add(printer, "+%lld", (long long)offset);
    }
}

static void print_address(smk_printer *printer, const smk_operand *operand)
{
    smk_printer_add(printer, "[");
    if (operand->base_kind == SMK_OPERAND_REGISTER) {
        smk_printer_register(printer, operand->index);
        print_offset(printer, operand->offset);
    } else if (operand->base_kind == SMK_OPERAND_VARIABLE) {
        smk_printer_variable_name(printer, operand->index);
        print_offset(printer, operand->offset);
    } else {
        smk_printer_literal(printer, SMK_TYPE_U64, operand->bits);
    }
    smk_printer_add(printer, "]");
}

static void print_operand(smk_printer *printer, const smk_operand *operand);

static void print_list(smk_printer *printer, const smk_operand *operand, const char *open, const char *close)
{
    smk_printer_add(printer, "%s", open);
    for (uint32_t i = 0; i < operand->count; i++) {
        smk_printer_add(printer, i == 0 ? "" : operand->pair ? "|" : ", ");
        print_operand(printer, &operand->element[i]);
    }
    smk_printer_add(printer, "%s", close);
}

static void print_texel(smk_printer *printer, const smk_operand *operand)
{
    const uint32_t objects = operand->sampled ? 2 : 1;
    smk_operand coordinates = *operand;
    coordinates.element += objects;
    coordinates.count -= objects;
    smk_printer_add(printer, "[");
    for (uint32_t i = 0; i < objects; i++) {
        smk_printer_add(printer, i == 0 ? "" : ", ");
        print_operand(printer, &operand->element[i]);
    }
    if (coordinates.count > 0) {
        smk_printer_add(printer, ", ");
        print_list(printer, &coordinates, "{", "}");
    }
    smk_printer_add(printer, "]");
}

/* .h10 behind a register of a video instruction */
static void print_select(smk_printer *printer, unsigned select)
{
    const unsigned count = select >> SMK_SELECT_COUNT_SHIFT & SMK_SELECT_MASK;
    smk_printer_add(printer, count == 0 ? "" : (select & SMK_SELECT_HALVES) != 0 ? ".h" : ".b");
    for (unsigned i = count; i-- > 0;) {
        smk_printer_add(printer, "%u", select >> i * SMK_SELECT_BITS & SMK_SELECT_MASK);
    }
}

static void print_operand(smk_printer *printer, const smk_operand *operand)
{
    switch ((smk_operand_kind)operand->kind) {
    case SMK_OPERAND_REGISTER:
        smk_printer_add(printer, !operand->negate ? "" : operand->type == SMK_TYPE_PRED ? "!" : "-");
        smk_printer_register(printer, operand->index);
        print_select(printer, operand->select);
        break;
    case SMK_OPERAND_IMMEDIATE:
        smk_printer_literal(printer, (smk_type)operand->type, operand->bits);
        break;
    case SMK_OPERAND_SPECIAL:
        smk_printer_add(printer, "%s", smk_module_special_name((smk_special)operand->index));
        break;
    case SMK_OPERAND_VARIABLE:
        smk_printer_variable_name(printer, operand->index);
        print_offset(printer, operand->offset);
        break;
    case SMK_OPERAND_FUNCTION:
        smk_printer_add_text(printer, printer->module->functions[operand->index].name);
        break;
    case SMK_OPERAND_LABEL:
        smk_printer_label(printer, operand->index);
        break;
    case SMK_OPERAND_ADDRESS:
        print_address(printer, operand);
        break;
    case SMK_OPERAND_LIST:
        if (operand->texel) {
            print_texel(printer, operand);
        } else {
            print_list(printer, operand, operand->pair ? "" : "{", operand->pair ? "" : "}");
        }
        break;
    case SMK_OPERAND_NONE:
    case SMK_OPERAND_SINK:
        smk_printer_add(printer, "_");
        break;
    }
}

static void print_call(smk_printer *printer, const smk_instruction *instruction)
{
    const smk_operand *operands = instruction->operands;
    if (operands[0].count != 0) {
        print_list(printer, &operands[0], "(", "), ");
    }
    print_operand(printer, &operands[1]);
    if (operands[2].count != 0) {
        print_list(printer, &operands[2], ", (", ")");
    }
    if (instruction->operand_count > 3) {
        smk_printer_add(printer, ", ");
        print_operand(printer, &operands[3]);
    }
}

static void print_instruction(smk_printer *printer, const smk_instruction *instruction)
{
    smk_printer_add(printer, "\t");
    if (instruction->guarded) {
        smk_printer_add(printer, instruction->guard_negate ? "@!" : "@");
        smk_printer_register(printer, instruction->guard);
        smk_printer_add(printer, " ");
    }
    smk_printer_add(printer, "%s", smk_module_opcode_name((smk_opcode)instruction->opcode));
    for (unsigned i = 0; i < instruction->word_count; i++) {
        const smk_word *word = &instruction->words[i];
        smk_printer_add(printer, ".%s",
                        word->is_type ? smk_module_type_name((smk_type)word->value)
                                      : smk_module_modifier_name((smk_modifier)word->value));
    }
    smk_printer_add(printer, instruction->operand_count == 0 ? "" : " ");
    if (instruction->opcode == SMK_OPCODE_CALL) {
        print_call(printer, instruction);
    } else {
        for (unsigned i = 0; i < instruction->operand_count; i++) {
            smk_printer_add(printer, i == 0 ? "" : ", ");
            print_operand(printer, &instruction->operands[i]);
        }
    }
    smk_printer_add(printer, ";\n");
}

static void print_label_line(smk_printer *printer, uint32_t index)
{
    const smk_label *label = &printer->function->labels[index];
    smk_printer_label(printer, index);
    smk_printer_add(printer, ":");
    if (label->prototype != SMK_NO_INDEX) {
        smk_printer_add(printer, " .callprototype ");
        smk_printer_signature(printer, &printer->module->functions[label->prototype], true);
        smk_printer_add(printer, ";");
    } else if (label->table != NULL) {
        smk_printer_add(printer, label->of_functions ? " .calltargets " : " .branchtargets ");
        for (uint32_t i = 0; i < label->table_count; i++) {
            smk_printer_add(printer, i == 0 ? "" : ", ");
            if (label->of_functions) {
                smk_printer_add_text(printer, printer->module->functions[label->table[i]].name);
            } else {
                smk_printer_label(printer, label->table[i]);
            }
        }
        smk_printer_add(printer, ";");
    }
    smk_printer_add(printer, "\n");
}

static bool is_parameter_register(const smk_function *function, uint32_t index)
{
    /* .reg parameters take the first numbers, in order */
    for (uint32_t i = 0; i < function->result_count + function->parameter_count; i++) {
        if (function->parameter_registers[i] == index) {
            return true;
        }
        if (function->parameter_registers[i] != SMK_NO_INDEX && function->parameter_registers[i] > index) {
            break;
        }
    }
    return false;
}

static void print_registers(smk_printer *printer)
{
    const smk_function *function = printer->function;
    uint32_t first = 0;
    while (first < function->register_count && is_parameter_register(function, first)) {
        first++;
    }
    for (uint32_t i = first; i < function->register_count && !printer->failed; i++) {
        smk_printer_add(printer, "\t.reg .%s ", smk_module_type_name((smk_type)function->registers[i].type));
        smk_printer_register(printer, i);
        smk_printer_add(printer, ";\n");
    }
}

static void print_loc(smk_printer *printer, const smk_instruction *instruction, const smk_instruction *before)
{
    uint32_t file = before == NULL ? SMK_NO_INDEX : before->source_file;
    uint32_t line = before == NULL ? 0 : before->source_line;
    if (instruction->source_file == file && instruction->source_line == line) {
        return;
    }
    /* 0 is the number of no file here: what an unknown number comes to */
    uint32_t number = instruction->source_file == SMK_NO_INDEX ? 0 : instruction->source_file + 1;
    smk_printer_add(printer, "\t.loc %u %u 0\n", (unsigned)number, (unsigned)instruction->source_line);
}

void smk_printer_body(smk_printer *printer)
{
    const smk_function *function = printer->function;
    uint32_t label = 0;
    print_registers(printer);
    for (uint32_t i = 0; i <= function->instruction_count && !printer->failed; i++) {
        while (label < function->label_count && function->labels[label].target == i) {
            print_label_line(printer, label++);
        }
        if (i < function->instruction_count) {
            const smk_instruction *instruction = &function->instructions[i];
            print_loc(printer, instruction, i == 0 ? NULL : instruction - 1);
            print_instruction(printer, instruction);
        }
    }
}
