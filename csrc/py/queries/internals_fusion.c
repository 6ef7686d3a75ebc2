#include "py/queries/internals_fusion.h"

#include "py/calls/spelling.h"
#include "py/error.h"
#include "py/state.h"

#include "base/heap.h"
#include "ptx/bulk_form.h"
#include "ptx/opcode.h"
#include "sim/ptxas/cfg.h"
#include "sim/ptxas/fusion.h"

static const char *const forms[] = {
    [SMK_FUSION_PLAIN] = "plain", [SMK_FUSION_LOOP] = "spin",     [SMK_FUSION_BOUND] = "bound",
    [SMK_FUSION_COUNT] = "count", [SMK_FUSION_SINGLE] = "single", [SMK_FUSION_SCAN] = "scan",
};

/* True for plain accesses, for cp.async (but not for its commits and waits) and for ldmatrix and stmatrix. */
static bool is_listed(const smk_instruction *instruction)
{
    bool copies = smk_opcode_class(instruction) == SMK_CLASS_COPY && instruction->operand_count > 1 &&
                  !smk_bulk_form_is(instruction);
    return copies || smk_opcode_moves_matrices(instruction) || smk_opcode_accesses(instruction);
}

static PyObject *describe(const smk_module *module, const smk_function *function, const smk_instruction *in,
                          const smk_fusion_access *access, uint32_t block)
{
    unsigned lane_bytes = smk_module_type_bits((smk_type)in->type) / 8 * (in->vector > 1 ? in->vector : 1U);
    if (smk_opcode_class(in) == SMK_CLASS_COPY) {
        lane_bytes = (unsigned)in->operands[2].bits;
    } else if (smk_opcode_moves_matrices(in)) {
        lane_bytes =
            4 * in->operands[in->opcode == SMK_OPCODE_LDMATRIX ? 0 : 1].count; /* a lane holds a word of each matrix */
    }
    unsigned bytes = access->role == SMK_FUSION_LEADER ? access->bytes : lane_bytes;
    PyObject *file = Py_None;
    if (in->source_file != SMK_NO_INDEX && in->source_file < module->file_count) {
        smk_text name = module->files[in->source_file];
        file = PyUnicode_DecodeUTF8(name.start, (Py_ssize_t)name.length, "replace");
    } else {
        Py_INCREF(file);
    }
    return Py_BuildValue(
        "{s:s#,s:I,s:N,s:I,s:s,s:s,s:s,s:I,s:i,s:I,s:s,s:I,s:N}", "function", function->name.start,
        (Py_ssize_t)function->name.length, "ptx_line", in->line, "file", file, "line", in->source_line, "opcode",
        smk_module_opcode_name((smk_opcode)in->opcode), "space", smk_spelling_space((smk_space)in->space), "role",
        smk_spelling_role((smk_fusion_role)access->role), "bytes", bytes, "shift",
        access->role == SMK_FUSION_LEADER ? (int)access->shift : 0, "more_bytes", (unsigned)access->more_bytes, "form",
        forms[access->form], "block", block, "zfill", PyBool_FromLong(access->zfill));
}

static int add_function(const smk_state *state, PyObject *list, const smk_module *module, const smk_function *function)
{
    smk_arena arena = {0};
    smk_error error = {0};
    smk_cfg cfg;
    smk_fusion_access *plan = NULL;
    smk_status status = SMK_OK;
    int result = -1;
    Py_BEGIN_ALLOW_THREADS
    status = smk_cfg_build(function, &arena, &cfg, &error);
    if (status == SMK_OK) {
        status = smk_fusion_plan(module, function, &cfg, &arena, &plan, &error);
    }
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        goto done;
    }
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        if (!is_listed(&function->instructions[i])) {
            continue;
        }
        PyObject *access_dict = describe(module, function, &function->instructions[i], &plan[i], cfg.block_of[i]);
        int bad = access_dict == NULL ? -1 : PyList_Append(list, access_dict);
        Py_XDECREF(access_dict);
        if (bad < 0) {
            goto done;
        }
    }
    result = 0;
done:
    smk_arena_free(&arena);
    return result;
}

/* Marks the functions that an operand names. Returns whether one was not yet marked. */
static bool mark(const smk_operand *operand, uint8_t *reached)
{
    bool found = operand->kind == SMK_OPERAND_FUNCTION && reached[operand->index] == 0;
    if (found) {
        reached[operand->index] = 1;
    }
    for (uint32_t i = 0; operand->kind == SMK_OPERAND_LIST && i < operand->count; i++) {
        found = mark(&operand->element[i], reached) || found;
    }
    return found;
}

static void find_reached(const smk_module *module, uint8_t *reached)
{
    for (bool found = true; found;) {
        found = false;
        for (uint32_t f = 0; f < module->function_count; f++) {
            const smk_function *function = &module->functions[f];
            for (uint32_t i = 0; reached[f] != 0 && i < function->instruction_count; i++) {
                for (unsigned k = 0; k < function->instructions[i].operand_count; k++) {
                    found = mark(&function->instructions[i].operands[k], reached) || found;
                }
            }
        }
    }
}

/* _fuse(ptx, entry) -> list of dicts, one for each load, store, atomic and copy */
static const char fuse_doc[] = "_fuse(ptx, entry, /)\n--\n\n";

static PyObject *call_fuse(PyObject *core, PyObject *const *arguments, Py_ssize_t given)
{
    const smk_state *state = smk_state_of_module(core);
    smk_error error = {0};
    smk_status status = SMK_OK;
    smk_module *module = NULL;
    uint8_t *reached = NULL;
    Py_ssize_t length = 0;
    PyObject *list = NULL, *result = NULL;
    const char *text = given == 2 ? PyUnicode_AsUTF8AndSize(arguments[0], &length) : NULL;
    const char *entry = text != NULL ? PyUnicode_AsUTF8(arguments[1]) : NULL;
    if (entry == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "_fuse(ptx, entry) takes 2 arguments");
        }
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = smk_parse_module(text, (size_t)length, &module, &error);
    Py_END_ALLOW_THREADS
    status = status == SMK_OK ? smk_refused_check_any(module, &error) : status;
    if (status != SMK_OK) {
        smk_module_free(module);
        return smk_error_raise(state, &error);
    }
    uint32_t index = smk_module_find_entry(module, entry);
    if (index == SMK_NO_INDEX) {
        PyErr_Format(PyExc_KeyError, "no entry '%s'", entry);
        goto done;
    }
    reached = smk_heap_allocate((size_t)module->function_count + 1, 1);
    list = reached == NULL ? PyErr_NoMemory() : PyList_New(0);
    if (list == NULL) {
        goto done;
    }
    reached[index] = 1;
    find_reached(module, reached);
    for (uint32_t i = 0; i < module->function_count; i++) {
        if (reached[i] != 0 && module->functions[i].is_defined &&
            add_function(state, list, module, &module->functions[i]) < 0) {
            goto done;
        }
    }
    result = Py_NewRef(list);
done:
    Py_XDECREF(list);
    smk_heap_free(reached);
    smk_module_free(module);
    return result;
}

PyMethodDef smk_internals_fusion_methods[] = {
    {"_fuse", SMK_PY_FUNCTION(call_fuse), METH_FASTCALL, fuse_doc},
    {NULL, NULL, 0, NULL},
};
