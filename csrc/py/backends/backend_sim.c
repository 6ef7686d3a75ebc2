#include "py/backends/backend_sim.h"

#include "py/backends/capture.h"
#include "py/backends/executed.h"
#include "sim/code/texture_object.h"

#include "base/heap.h"
#include "base/mutation.h"
#include "registry/cards.h"
#include "registry/occupancy.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Code that the simulator has loaded; callers have it as an smk_backend_code. */
typedef struct sim_code {
    const smk_module *module;
    smk_program *program;
} sim_code;

static sim_code *get_code(smk_backend_code *code)
{
    return (sim_code *)(void *)code;
}

/* One memory for the process: an address means the same in every call. It is never freed, because device arrays may
 * outlive the module. */
static smk_memory *_Atomic memory;

static _Thread_local smk_run_result last_run;

smk_run_result smk_backend_sim_last_run(void)
{
    return last_run;
}

static smk_status get_memory(smk_memory **present, smk_error *error)
{
    smk_memory *created = NULL, *expected = NULL;
    *present = atomic_load(&memory);
    if (*present != NULL) {
        return SMK_OK;
    }
    smk_status status = smk_memory_create(&created, error);
    if (status != SMK_OK) {
        return status;
    }
    if (atomic_compare_exchange_strong(&memory, &expected, created)) {
        *present = created;
    } else {
        smk_memory_destroy(created);
        *present = expected;
    }
    return SMK_OK;
}

/* Where only some blocks of each launch are counted, what the others would have written is read as zeros: the byte that
 * fills fresh memory elsewhere would lead a later launch, that finds it as marks or indices, onto paths it never takes.
 */
static smk_status allocate(uint64_t bytes, uint64_t *address, smk_error *error)
{
    const smk_capture *capture = smk_capture_current();
    const smk_memory_variable zeros = {.name = {"workspace", sizeof "workspace" - 1}, .bytes = bytes, .sparse = true};
    smk_memory *present = NULL;
    smk_status status = get_memory(&present, error);
    if (status != SMK_OK) {
        return status;
    }
    return capture->mode == SMK_CAPTURE_PROFILE && capture->blocks != 0
               ? smk_memory_allocate_variable(present, &zeros, address, error)
               : smk_memory_allocate(present, bytes, address, error);
}

/* Textures: the texels lie one after the other in an allocation. */

static uint64_t count_texel_bytes(const smk_texture_shape *shape)
{
    return smk_texture_slices(shape) * shape->size[1] * shape->size[0] * smk_texture_texel_bytes(shape);
}

static smk_status create_texture(const smk_texture_shape *shape, const void *texels, smk_backend_texture *texture,
                                 smk_error *error)
{
    const uint64_t row = (uint64_t)shape->size[0] * smk_texture_texel_bytes(shape), bytes = count_texel_bytes(shape);
    smk_texture made = {.row_bytes = row, .slice_bytes = row * shape->size[1], .shape = *shape};
    smk_memory *present = NULL;
    smk_status status = get_memory(&present, error);
    if (status == SMK_OK) {
        status = smk_memory_allocate(present, bytes, &made.address, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    texture->memory = made.address;
    status = smk_memory_write(present, made.address, texels, bytes, error);
    if (status == SMK_OK) {
        status = smk_texture_object_create(present, &made, &texture->object, error);
    }
    if (status != SMK_OK) {
        (void)smk_memory_free(present, made.address, NULL);
    }
    return status;
}

static smk_status read_texture(const smk_texture_shape *shape, const smk_backend_texture *texture, void *texels,
                               smk_error *error)
{
    return smk_memory_read(atomic_load(&memory), texture->memory, texels, count_texel_bytes(shape), error);
}

static void free_texture(const smk_backend_texture *texture)
{
    smk_memory *present = atomic_load(&memory);
    (void)smk_texture_object_free(present, texture->object, NULL);
    (void)smk_memory_free(present, texture->memory, NULL);
}

static smk_status release(uint64_t address, smk_error *error)
{
    smk_memory *present = atomic_load(&memory);
    return present == NULL ? SMK_OK : smk_memory_free(present, address, error);
}

static smk_status upload(uint64_t address, const void *host, uint64_t bytes, smk_error *error)
{
    smk_memory *present = NULL;
    smk_status status = get_memory(&present, error);
    return status == SMK_OK && bytes > 0 ? smk_memory_write(present, address, host, bytes, error) : status;
}

static smk_status download(uint64_t address, void *host, uint64_t bytes, smk_error *error)
{
    smk_memory *present = NULL;
    smk_status status = get_memory(&present, error);
    return status == SMK_OK && bytes > 0 ? smk_memory_read(present, address, host, bytes, error) : status;
}

static smk_status find_host(uint64_t address, uint64_t bytes, bool writeable, void **host, smk_error *error)
{
    smk_memory *present = NULL;
    smk_status status = get_memory(&present, error);
    return status == SMK_OK ? smk_memory_host(present, address, bytes, writeable, host, error) : status;
}

static smk_status adopt(void *host, uint64_t bytes, uint64_t *address, smk_error *error)
{
    smk_memory *present = NULL;
    smk_status status = get_memory(&present, error);
    return status == SMK_OK ? smk_memory_adopt(present, host, bytes, address, error) : status;
}

static _Thread_local struct {
    bool is_other; /* than an H200 */
    smk_machine machine;
} simulated;

void smk_backend_sim_pretend(const smk_machine *machine)
{
    simulated.is_other = machine != NULL;
    simulated.machine = machine != NULL ? *machine : (smk_machine){.capability = 0};
}

const smk_machine *smk_backend_sim_pretended(void)
{
    return simulated.is_other ? &simulated.machine : NULL;
}

/* The simulated machine is an H200, with its counts, unless the thread plans for another one. */
static smk_status describe_machine(const smk_machine **machine, smk_error *error)
{
    smk_status status = SMK_OK;
    if (!simulated.is_other) {
        simulated.machine = (smk_machine){.capability = 90, .shared_bytes_max = SMK_SIM_SHARED_BYTES_MAX};
        status = smk_cards_multiprocessors(SMK_H200_MULTIPROCESSORS, &simulated.machine.multiprocessors, error);
    }
    *machine = &simulated.machine;
    return status;
}

enum { CHUNK_BYTES = 1 << 16 };

static smk_status clear(uint64_t address, uint64_t bytes, smk_error *error)
{
    static const unsigned char zeros[CHUNK_BYTES];
    smk_status status = SMK_OK;
    while (bytes > 0 && status == SMK_OK) {
        uint64_t chunk = bytes < CHUNK_BYTES ? bytes : CHUNK_BYTES;
        status = upload(address, zeros, chunk, error);
        address += chunk;
        bytes -= chunk;
    }
    return status;
}

static smk_status borrow(uint64_t bytes, uint64_t *address, smk_error *error)
{
    uint64_t created = 0;
    smk_status status = allocate(bytes, &created, error);
    if (status == SMK_OK) {
        status = clear(created, bytes, error);
    }
    if (status != SMK_OK) {
        (void)release(created, NULL);
        return status;
    }
    *address = created;
    return SMK_OK;
}

static smk_status check_zeros(uint64_t address, uint64_t bytes, smk_error *error)
{
    unsigned char chunk[4096];
    for (uint64_t offset = 0; offset < bytes; offset += sizeof chunk) {
        const uint64_t chunk_bytes = bytes - offset < sizeof chunk ? bytes - offset : sizeof chunk;
        smk_status status = download(address + offset, chunk, chunk_bytes, error);
        if (status != SMK_OK) {
            return status;
        }
        for (uint64_t i = 0; i < chunk_bytes; i++) {
            if (chunk[i] != 0) {
                return smk_status_fail(error, SMK_INTERNAL, "byte %llu of a workspace was to be left 0, and is %d",
                                       (unsigned long long)(offset + i), chunk[i]);
            }
        }
    }
    return SMK_OK;
}

/* While launches are captured, a launch may run a part of the grid, or a kernel that is known to be faulty. */
static smk_status give_back(uint64_t address, uint64_t bytes, smk_error *error)
{
    smk_status status =
        error != NULL && smk_capture_mode_now() == SMK_CAPTURE_OFF ? check_zeros(address, bytes, error) : SMK_OK;
    (void)release(address, NULL);
    return status;
}

static smk_status copy(uint64_t target, uint64_t source, uint64_t bytes, smk_error *error)
{
    unsigned char *chunk = smk_heap_allocate(CHUNK_BYTES, 1);
    smk_status status =
        chunk == NULL ? smk_status_fail(error, SMK_MEMORY, "no memory left to copy on the simulator") : SMK_OK;
    while (bytes > 0 && status == SMK_OK) {
        uint64_t chunk_bytes = bytes < CHUNK_BYTES ? bytes : CHUNK_BYTES;
        status = download(source, chunk, chunk_bytes, error);
        if (status == SMK_OK) {
            status = upload(target, chunk, chunk_bytes, error);
        }
        target += chunk_bytes;
        source += chunk_bytes;
        bytes -= chunk_bytes;
    }
    smk_heap_free(chunk);
    return status;
}

static smk_status copy_rows(const smk_backend_rows *to, const smk_backend_rows *from, uint64_t row_bytes, uint64_t rows,
                            uint64_t stream, smk_error *error)
{
    (void)stream;
    if (to->pitch == row_bytes && from->pitch == row_bytes) {
        return copy(to->address, from->address, row_bytes * rows, error);
    }
    smk_status status = SMK_OK;
    for (uint64_t i = 0; i < rows && status == SMK_OK; i++) {
        status = copy(to->address + i * to->pitch, from->address + i * from->pitch, row_bytes, error);
    }
    return status;
}

static smk_status measure_memory(uint64_t *free_bytes, uint64_t *total_bytes, smk_error *error)
{
    smk_memory *present = NULL;
    smk_status status = get_memory(&present, error);
    if (status == SMK_OK) {
        *total_bytes = smk_memory_limit();
        const uint64_t used = smk_memory_used(present);
        *free_bytes = used < *total_bytes ? *total_bytes - used : 0;
    }
    return status;
}

static void unload(smk_backend_code *code)
{
    if (code != NULL) {
        smk_program_free(get_code(code)->program);
        smk_heap_free(code);
    }
}

static smk_status load(const smk_backend_image *image, const char *entry, smk_backend_code **code, smk_error *error)
{
    smk_memory *present = NULL;
    (void)entry;
    smk_status status = get_memory(&present, error);
    if (status != SMK_OK) {
        return status;
    }
    sim_code *created = smk_heap_allocate(1, sizeof *created);
    if (created == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left to load a kernel");
    }
    created->module = image->module;
    status = smk_program_create(image->module, present, &created->program, error);
    if (status != SMK_OK) {
        unload((smk_backend_code *)(void *)created);
        return status;
    }
    smk_program_set_source(created->program, image->source, image->folder);
    *code = (smk_backend_code *)(void *)created;
    return SMK_OK;
}

static smk_status find(smk_backend_code *code, const char *entry, uint32_t *index, smk_error *error)
{
    *index = smk_module_find_entry(get_code(code)->module, entry);
    if (*index == SMK_NO_INDEX) {
        return smk_status_fail(error, SMK_ARGUMENT, "the module has no kernel %.100s", entry);
    }
    return SMK_OK;
}

static smk_status query(smk_backend_code *code, const char *entry, smk_kernel_facts *facts, smk_error *error)
{
    smk_program_attributes attributes = {0};
    uint32_t index = 0;
    smk_status status = find(code, entry, &index, error);
    if (status == SMK_OK) {
        status = smk_program_query(get_code(code)->program, index, &attributes, error);
    }
    if (status == SMK_OK) {
        *facts = (smk_kernel_facts){
            .registers = -1,
            .shared_bytes = attributes.shared_bytes,
            .local_bytes = attributes.local_bytes,
            .const_bytes = attributes.const_bytes,
            .max_threads = attributes.max_threads,
            .ptx_version = (int)get_code(code)->module->target,
        };
    }
    return status;
}

static smk_status symbol(smk_backend_code *code, const char *name, uint64_t *address, uint64_t *bytes, smk_error *error)
{
    return smk_program_global(get_code(code)->program, name, address, bytes, error);
}

/* Opens the record of a launch, with the shared memory of a block. */
static smk_status open_record(smk_backend_code *code, uint32_t index, const char *entry, const smk_launch *launch,
                              smk_capture_mode mode, smk_capture_record **record, smk_error *error)
{
    smk_program_attributes attributes = {0};
    *record = smk_capture_open(mode, entry, launch, error);
    if (*record == NULL) {
        return SMK_MEMORY;
    }
    smk_status status = smk_program_query(get_code(code)->program, index, &attributes, error);
    (*record)->module = get_code(code)->module;
    (*record)->shared_bytes = attributes.shared_bytes + launch->shared_bytes;
    return status;
}

static smk_status run_and_count(smk_backend_code *code, uint32_t index, const smk_launch *launch,
                                const smk_run_options *options, smk_capture_record *record, smk_error *error)
{
    const smk_capture *capture = smk_capture_current();
    const smk_count_options wanted = {capture->blocks, capture->model, .footprint = true};
    smk_status status = smk_count_run(get_code(code)->program, index, launch, options, &wanted, &record->count, error);
    if (status == SMK_OK && smk_mutation_is_recording()) {
        status = smk_executed_note(get_code(code)->module, index, &record->count, error);
    }
    if (status == SMK_OK) {
        record->shared_bytes = record->count.shared_bytes;
        status = smk_report_lines(get_code(code)->module, &record->count, &record->lines, &record->line_count, error);
    }
    return status;
}

static smk_status run_and_check(smk_backend_code *code, uint32_t index, const smk_launch *launch,
                                const smk_run_options *options, smk_capture_record *record, smk_error *error)
{
    const smk_capture *capture = smk_capture_current();
    const smk_check_options wanted = {capture->blocks, (uint32_t)capture->padding};
    smk_run_options ordered = *options;
    ordered.reverse = capture->reverse;
    if (smk_mutation_is_recording()) {
        smk_status status = smk_executed_note(get_code(code)->module, index, NULL, error);
        if (status != SMK_OK) {
            return status;
        }
    }
    return smk_check_run(get_code(code)->program, index, launch, &ordered, &wanted, &record->check, error);
}

/* A cooperative launch needs all of its blocks on the machine at once. Registers are those of machine code, which the
 * simulator does not know: they are not counted here. */
static smk_status check_cooperative(smk_backend_code *code, const char *entry, const smk_launch *launch,
                                    smk_error *error)
{
    smk_kernel_facts facts = {0};
    smk_occupancy occupancy = {0};
    const uint64_t threads = (uint64_t)launch->block.x * launch->block.y * launch->block.z;
    const uint64_t blocks = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    if (!launch->cooperative || threads == 0 || threads > SMK_SIM_BLOCK_THREADS_MAX) {
        return SMK_OK; /* another test finds it */
    }
    smk_status status = query(code, entry, &facts, error);
    const smk_block_use use = {.threads = (uint32_t)threads,
                               .registers = 1,
                               .shared_static = facts.shared_bytes,
                               .shared_dynamic = launch->shared_bytes};
    if (status == SMK_OK) {
        status = smk_occupancy_count(smk_occupancy_find(9, 0), &use, &occupancy, error);
    }
    uint32_t multiprocessors = 0;
    if (status == SMK_OK) {
        status = smk_cards_multiprocessors(SMK_H200_MULTIPROCESSORS, &multiprocessors, error);
    }
    const uint64_t most = (uint64_t)occupancy.blocks * multiprocessors;
    if (status == SMK_OK && blocks > most && occupancy.blocks > 0) {
        status = smk_status_fail(
            error, SMK_LAUNCH,
            "the launch of %.100s is cooperative, so all of its %llu blocks must be on the machine "
            "at once: it holds %llu, %u on each of its %u multiprocessors; launch fewer blocks, "
            "each of which takes several parts of the work",
            entry, (unsigned long long)blocks, (unsigned long long)most, occupancy.blocks, multiprocessors);
    }
    return status;
}

/* Notes what a launch executes, which is counted for that, where the process is asked to. */
static smk_status run_plain(smk_backend_code *code, uint32_t index, const smk_launch *launch,
                            const smk_run_options *options, smk_run_result *result, smk_error *error)
{
    smk_program *program = get_code(code)->program;
    return smk_mutation_is_recording()
               ? smk_executed_run(program, get_code(code)->module, index, launch, options, result, error)
               : smk_program_run(program, index, launch, options, result, error);
}

/* Here is decided whether a launch runs, is counted or is checked: by the capture of the calling thread. */
static smk_status launch_kernel(smk_backend_code *code, const char *entry, const smk_launch *launch,
                                const smk_run_options *options, smk_error *error)
{
    smk_capture_record *record = NULL;
    smk_run_result result = {0};
    uint32_t index = 0;
    smk_status status = find(code, entry, &index, error);
    if (status == SMK_OK) {
        status = check_cooperative(code, entry, launch, error);
    }
    const smk_capture_mode mode = smk_capture_mode_now(); /* once: another thread may end a watch */
    if (status == SMK_OK && (mode == SMK_CAPTURE_PROFILE || mode == SMK_CAPTURE_CHECK)) {
        status = open_record(code, index, entry, launch, mode, &record, error);
    }
    if (status == SMK_OK) {
        switch (mode) {
        case SMK_CAPTURE_OFF:
        case SMK_CAPTURE_TIME: /* only launches on the GPU are timed */
            status = run_plain(code, index, launch, options, &result, error);
            break;
        case SMK_CAPTURE_PROFILE:
            status = run_and_count(code, index, launch, options, record, error);
            result = record->count.run;
            break;
        case SMK_CAPTURE_CHECK:
            status = run_and_check(code, index, launch, options, record, error);
            result.blocks = record->check.blocks;
            break;
        }
    }
    smk_capture_close(record, status);
    last_run = result;
    return status;
}

/* The launch has ended when it returns. */
static smk_status synchronize(const char *name, smk_error *error)
{
    (void)name;
    (void)error;
    return SMK_OK;
}

static smk_status synchronize_device(smk_error *error)
{
    (void)error;
    return SMK_OK;
}

const smk_backend smk_backend_sim = {
    .id = SMK_BACKEND_SIM,
    .name = "sim",
    .constants_by_launch = true,
    .machine = describe_machine,
    .memory = measure_memory,
    .allocate = allocate,
    .release = release,
    .borrow = borrow,
    .give_back = give_back,
    .upload = upload,
    .download = download,
    .host = find_host,
    .adopt = adopt,
    .clear = clear,
    .copy = copy,
    .copy_rows = copy_rows,
    .create_texture = create_texture,
    .read_texture = read_texture,
    .free_texture = free_texture,
    .load = load,
    .unload = unload,
    .query = query,
    .symbol = symbol,
    .launch = launch_kernel,
    .synchronize = synchronize,
    .synchronize_device = synchronize_device,
};
