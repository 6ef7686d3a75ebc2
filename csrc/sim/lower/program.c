/* Programs: module-scope variables in memory, images of entries, and runs. */
#include "sim/sim.h"

#include "base/heap.h"
#include "base/poll.h"
#include "sim/code/coverage.h"
#include "sim/code/isa.h"
#include "sim/code/memory_view.h"
#include "sim/code/program.h"
#include "sim/exec/grid.h"
#include "sim/exec/kernel_heap.h"
#include "sim/lower/link.h"

#include <inttypes.h>
#include <string.h>

static bool lives_in_memory(const smk_variable *variable)
{
    return (variable->space == SMK_SPACE_GLOBAL || variable->space == SMK_SPACE_CONST) &&
           !(variable->is_extern && (variable->unsized || variable->initializer == NULL));
}

static smk_status fail_variable(smk_error *error, const smk_variable *variable, smk_status status, const char *problem)
{
    (void)smk_status_fail(error, status, "the variable %.*s %s", SMK_TEXT_PRINT(variable->name), problem);
    if (error != NULL) {
        error->ptx_line = variable->line;
    }
    return status;
}

static smk_status allocate_variables(smk_program *program, smk_error *error)
{
    const smk_module *module = program->module;
    for (uint32_t i = 0; i < module->variable_count; i++) {
        const smk_variable *variable = &module->variables[i];
        if (!lives_in_memory(variable)) {
            continue;
        }
        smk_status status = smk_poll_check(error);
        if (status != SMK_OK) {
            return status;
        }
        const smk_memory_variable wanted = {.name = variable->name,
                                            .bytes = variable->bytes,
                                            .constant = variable->space == SMK_SPACE_CONST,
                                            .managed = variable->is_managed};
        status = smk_memory_allocate_variable(program->memory, &wanted, &program->addresses[i], error);
        if (status == SMK_OK && variable->initializer != NULL) {
            status =
                smk_memory_write(program->memory, program->addresses[i], variable->initializer, variable->bytes, error);
        }
        if (status != SMK_OK) {
            return status;
        }
        program->const_bytes += variable->space == SMK_SPACE_CONST ? variable->bytes : 0;
    }
    return SMK_OK;
}

/* The address that a relocation stores. */
static smk_status relocation_value(const smk_program *program, const smk_variable *owner, const smk_relocation *at,
                                   uint64_t *value, smk_error *error)
{
    if (at->is_function) {
        *value = SMK_WINDOW_FUNCTION + UINT64_C(16) * at->index + (uint64_t)at->addend;
        return SMK_OK;
    }
    if (at->index >= program->module->variable_count || program->addresses[at->index] == 0) {
        return fail_variable(error, owner, SMK_UNSUPPORTED,
                             "is initialised with an address that is not known before launch");
    }
    *value = program->addresses[at->index] + (uint64_t)at->addend;
    return SMK_OK;
}

static smk_status relocate(smk_program *program, smk_error *error)
{
    const smk_module *module = program->module;
    for (uint32_t i = 0; i < module->variable_count; i++) {
        const smk_variable *variable = &module->variables[i];
        for (uint32_t j = 0; j < variable->relocation_count && program->addresses[i] != 0; j++) {
            const smk_relocation *at = &variable->relocations[j];
            uint64_t value = 0;
            smk_status status = relocation_value(program, variable, at, &value, error);
            if (status == SMK_OK && (at->bytes > sizeof value || at->offset > variable->bytes ||
                                     at->bytes > variable->bytes - at->offset)) {
                status = fail_variable(error, variable, SMK_PTX, "is initialised with an address outside itself");
            }
            if (status == SMK_OK) {
                status =
                    smk_memory_write(program->memory, program->addresses[i] + at->offset, &value, at->bytes, error);
            }
            if (status != SMK_OK) {
                return status;
            }
        }
    }
    return SMK_OK;
}

/* Finds what images are made from: callable functions, and variables in shared memory. */
static bool find_parts(smk_program *program)
{
    const smk_module *module = program->module;
    program->callable = smk_heap_allocate((size_t)module->function_count + 1, sizeof *program->callable);
    program->callable_index = smk_heap_allocate((size_t)module->function_count + 1, sizeof *program->callable_index);
    program->shared_index = smk_heap_allocate((size_t)module->variable_count + 1, sizeof *program->shared_index);
    if (program->callable == NULL || program->callable_index == NULL || program->shared_index == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < module->function_count; i++) {
        bool callable = !module->functions[i].is_entry && module->functions[i].is_defined;
        program->callable_index[i] = callable ? program->callable_count : SMK_NO_INDEX;
        if (callable) {
            program->callable[program->callable_count++] = i;
        }
    }
    for (uint32_t i = 0; i < module->variable_count; i++) {
        bool shared = module->variables[i].space == SMK_SPACE_SHARED;
        program->shared_index[i] = shared ? program->shared_count++ : SMK_NO_INDEX;
    }
    return true;
}

smk_status smk_program_create(const smk_module *module, smk_memory *memory, smk_program **program, smk_error *error)
{
    smk_status status = smk_isa_check(error);
    if (status != SMK_OK) {
        return status;
    }
    smk_program *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for a program");
    }
    made->module = module;
    made->memory = memory;
    made->addresses = smk_heap_allocate((size_t)module->variable_count + 1, sizeof *made->addresses);
    made->image = smk_heap_allocate((size_t)module->function_count + 1, sizeof *made->image);
    made->covered_image = smk_heap_allocate((size_t)module->function_count + 1, sizeof *made->covered_image);
    if (made->addresses == NULL || made->image == NULL || made->covered_image == NULL || !find_parts(made)) {
        status = smk_status_fail(error, SMK_MEMORY, "no memory for a program");
    }
    if (status == SMK_OK) {
        status = allocate_variables(made, error);
    }
    if (status == SMK_OK) {
        status = relocate(made, error);
    }
    if (status != SMK_OK) {
        smk_program_free(made);
        return status;
    }
    *program = made;
    return SMK_OK;
}

void smk_program_free(smk_program *program)
{
    if (program == NULL) {
        return;
    }
    smk_kernel_heap_free(program);
    for (uint32_t i = 0; program->image != NULL && i < program->module->function_count; i++) {
        smk_image_free(atomic_load(&program->image[i]));
    }
    for (uint32_t i = 0; program->covered_image != NULL && i < program->module->function_count; i++) {
        smk_image_free(atomic_load(&program->covered_image[i]));
    }
    if (program->addresses != NULL) {
        smk_memory_free_all(program->memory, program->addresses, program->module->variable_count);
    }
    smk_heap_free((void *)program->image);
    smk_heap_free((void *)program->covered_image);
    smk_heap_free(program->callable);
    smk_heap_free(program->callable_index);
    smk_heap_free(program->shared_index);
    smk_heap_free(program->addresses);
    smk_heap_free(program);
}

void smk_program_set_source(smk_program *program, const char *source, const char *folder)
{
    program->source = source;
    program->folder = folder;
}

smk_status smk_program_cover(smk_program *program, smk_coverage_module **covered, smk_error *error)
{
    *covered = NULL;
    if (!smk_coverage_is_on()) {
        return SMK_OK;
    }
    *covered = atomic_load(&program->covered);
    if (*covered != NULL) {
        return SMK_OK;
    }
    smk_status status = smk_coverage_find(program->module, program->source, program->folder, covered, error);
    if (status == SMK_OK) {
        atomic_store(&program->covered, *covered);
    }
    return status;
}

/* The image of an entry without an observer, lowered at first use, so that unused entries of a module cost nothing.
 * Two threads may lower the entry at the same time; one result is kept. That is cheaper than a lock. */
static smk_status find_image(smk_program *program, uint32_t entry, const smk_image **image, smk_error *error)
{
    const smk_module *module = program->module;
    if (entry >= module->function_count || !module->functions[entry].is_entry || !module->functions[entry].is_defined) {
        return smk_status_fail(error, SMK_ARGUMENT, "the module has no kernel of number %u", entry);
    }
    struct smk_coverage_module *covered = NULL;
    smk_status status = smk_program_cover(program, &covered, error);
    if (status != SMK_OK) {
        return status;
    }
    smk_image *_Atomic *slot = covered == NULL ? &program->image[entry] : &program->covered_image[entry];
    smk_image *fresh = NULL, *present = atomic_load(slot);
    if (present == NULL) {
        status = smk_link_create(program, entry, NULL, covered, &fresh, error);
        if (status != SMK_OK) {
            return status;
        }
        if (atomic_compare_exchange_strong(slot, &present, fresh)) {
            present = fresh;
        } else {
            smk_image_free(fresh);
        }
    }
    *image = present;
    return SMK_OK;
}

smk_status smk_program_query(smk_program *program, uint32_t entry, smk_program_attributes *attributes, smk_error *error)
{
    const smk_image *image = NULL;
    smk_status status = find_image(program, entry, &image, error);
    if (status != SMK_OK) {
        return status;
    }
    *attributes = (smk_program_attributes){0};
    const smk_function *function = &program->module->functions[entry];
    const smk_dim3 *bounds[2] = {&function->maxntid, &function->reqntid};
    attributes->shared_bytes = image->shared_bytes;
    attributes->local_bytes = image->entry_code->local_bytes;
    attributes->const_bytes = (size_t)program->const_bytes;
    attributes->max_threads = SMK_SIM_BLOCK_THREADS_MAX;
    for (int i = 0; i < 2; i++) {
        uint64_t threads = (uint64_t)bounds[i]->x * bounds[i]->y;
        threads = threads > UINT32_MAX ? UINT32_MAX : threads * bounds[i]->z;
        if (threads != 0 && threads < attributes->max_threads) {
            attributes->max_threads = (uint32_t)threads;
        }
    }
    return SMK_OK;
}

smk_status smk_program_global(const smk_program *program, const char *name, uint64_t *address, uint64_t *bytes,
                              smk_error *error)
{
    const smk_module *module = program->module;
    for (uint32_t i = 0; i < module->variable_count; i++) {
        if (program->addresses[i] != 0 && smk_text_is(module->variables[i].name, name)) {
            *address = program->addresses[i];
            *bytes = module->variables[i].bytes;
            return SMK_OK;
        }
    }
    return smk_status_fail(error, SMK_ARGUMENT, "the module has no variable %.80s in global or constant memory", name);
}

smk_status smk_program_run(smk_program *program, uint32_t entry, const smk_launch *launch,
                           const smk_run_options *options, smk_run_result *result, smk_error *error)
{
    const smk_image *image = NULL;
    smk_status status = find_image(program, entry, &image, error);
    return status == SMK_OK ? smk_grid_launch(program, image, launch, options, NULL, 0, result, error) : status;
}
