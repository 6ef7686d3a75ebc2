#include "py/backends/capture.h"

#include "base/heap.h"
#include "sim/code/memory.h"

#include <stdatomic.h>

static _Thread_local smk_capture *current;
static _Thread_local smk_capture own; /* of a watch: the records of a thread without a capture */
static atomic_bool watched;

static smk_capture *get_current(void)
{
    return current == NULL ? &own : current;
}

void smk_capture_watch(bool on)
{
    atomic_store(&watched, on);
}

void smk_capture_begin(smk_capture *capture)
{
    current = capture;
    smk_memory_pad(capture->padding);
}

void smk_capture_end(void)
{
    smk_capture_record *record = NULL;
    smk_memory_pad(0);
    while ((record = smk_capture_take()) != NULL) {
        smk_capture_free(record);
    }
    current = NULL;
}

const smk_capture *smk_capture_current(void)
{
    return get_current();
}

smk_capture_mode smk_capture_mode_now(void)
{
    if (current != NULL) {
        return current->mode;
    }
    return atomic_load_explicit(&watched, memory_order_relaxed) ? SMK_CAPTURE_CHECK : SMK_CAPTURE_OFF;
}

void smk_capture_note_clear(uint64_t bytes)
{
    get_current()->cleared_bytes += bytes;
}

bool smk_capture_simulates(void)
{
    return current != NULL && (current->mode == SMK_CAPTURE_PROFILE || current->mode == SMK_CAPTURE_CHECK);
}

smk_capture_record *smk_capture_open(smk_capture_mode mode, const char *kernel, const smk_launch *launch,
                                     smk_error *error)
{
    smk_capture_record *record = smk_heap_allocate(1, sizeof *record);
    if (record == NULL) {
        (void)smk_status_fail(error, SMK_MEMORY, "no memory left to watch a launch");
        return NULL;
    }
    record->mode = mode;
    record->cleared_bytes = get_current()->cleared_bytes;
    get_current()->cleared_bytes = 0;
    record->kernel = kernel;
    record->grid = launch->grid;
    record->block = launch->block;
    record->begins_early = launch->begins_early;
    return record;
}

void smk_capture_close(smk_capture_record *record, smk_status status)
{
    if (record == NULL || status != SMK_OK) {
        smk_capture_free(record);
        return;
    }
    smk_capture_record **end = &get_current()->records;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = record;
}

smk_capture_record *smk_capture_take(void)
{
    smk_capture_record *record = get_current()->records;
    if (record != NULL) {
        get_current()->records = record->next;
    }
    return record;
}

void smk_capture_free(smk_capture_record *record)
{
    if (record != NULL) {
        smk_count_free(&record->count);
        smk_check_free(&record->check);
        smk_heap_free(record->lines);
        smk_heap_free(record);
    }
}
