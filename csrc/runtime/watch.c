#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* for dl_iterate_phdr under -std=c11 */
#endif

#include "runtime/watch.h"

#include "base/heap.h"
#include "runtime/lost_memory.h"
#include "runtime/outcome.h"
#include "runtime/session.h"
#include "runtime/settings.h"

#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { PAGE_BYTES = 4096 };

/* What was counted of a kernel. */
typedef struct kernel_counts {
    const char *name;
    uint64_t launches, blocks;
    uint64_t total[SMK_COUNTER_COUNT];
    struct kernel_counts *next;
} kernel_counts;

typedef struct missing_function {
    const char *name;
    struct missing_function *next;
} missing_function;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static FILE *file;
static kernel_counts *kernels;
static missing_function *missing;
static _Atomic uint64_t launches, skipped;

/* Under the lock: the report, opened when there is something to say; NULL where none is asked for. Programs that the
 * program starts add to the same file. */
static FILE *open_report(void)
{
    const char *path = smk_settings_get()->report;
    if (file == NULL && path != NULL) {
        file = fopen(path, "ae");
    }
    return file;
}

uint64_t smk_watch_count_launches(void)
{
    return atomic_load_explicit(&launches, memory_order_relaxed);
}

void smk_watch_add_skipped(void)
{
    atomic_fetch_add_explicit(&skipped, 1, memory_order_relaxed);
}

/* A checked launch is told at once, since a program that is killed comes to no end that could tell their number. */
void smk_watch_add_launch(void)
{
    atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
    if (smk_settings_get()->mode == SMK_SETTINGS_CHECK) {
        (void)pthread_mutex_lock(&lock);
        if (open_report() != NULL) {
            (void)fputs("{\"event\": \"launch\"}\n", file);
            (void)fflush(file);
        }
        (void)pthread_mutex_unlock(&lock);
    }
}

/* Writes a JSON string. */
static void write_string(const char *text, size_t length)
{
    (void)fputc('"', file);
    for (size_t i = 0; i < length; i++) {
        const unsigned char letter = (unsigned char)text[i];
        if (letter == '"' || letter == '\\') {
            (void)fprintf(file, "\\%c", letter);
        } else if (letter < ' ') {
            (void)fprintf(file, "\\u%04x", (unsigned)letter);
        } else {
            (void)fputc(letter, file);
        }
    }
    (void)fputc('"', file);
}

static void write_text(const char *name, const char *text)
{
    (void)fprintf(file, ", \"%s\": ", name);
    write_string(text, strlen(text));
}

/* The bytes of a shared variable of a side: 0 where the launch gives them, or it is none. */
static uint64_t find_bytes(const smk_module *module, const smk_finding_side *side)
{
    const smk_function *function = &module->functions[side->function];
    const size_t length = strcspn(side->variable, ",");
    for (uint32_t i = 0; i < module->variable_count + function->variable_count; i++) {
        const smk_variable *variable =
            i < module->variable_count ? &module->variables[i] : &function->variables[i - module->variable_count];
        if (variable->space == SMK_SPACE_SHARED && variable->name.length == length &&
            memcmp(variable->name.start, side->variable, length) == 0) {
            return variable->bytes;
        }
    }
    return 0;
}

static void write_side(const char *name, const smk_module *module, const smk_finding_side *side)
{
    if (!side->present) {
        return;
    }
    const smk_function *function = &module->functions[side->function];
    const smk_instruction *instruction = &function->instructions[side->instruction];
    const bool known = instruction->source_file < module->file_count && instruction->source_line != 0;
    const smk_text source = known ? module->files[instruction->source_file] : (smk_text){"", 0};
    (void)fprintf(file, ", \"%s\": {\"file\": ", name);
    write_string(source.start, source.length);
    (void)fprintf(file, ", \"line\": %u, \"ptx_line\": %u, \"block\": [%u, %u, %u], \"thread\": [%u, %u, %u]",
                  known ? instruction->source_line : 0, instruction->line, side->block[0], side->block[1],
                  side->block[2], side->thread[0], side->thread[1], side->thread[2]);
    (void)fputs(", \"function\": ", file);
    write_string(function->name.start, function->name.length);
    write_text("variable", side->variable);
    if (side->space == SMK_SPACE_SHARED && side->variable[0] != '\0') {
        (void)fprintf(file, ", \"variable_bytes\": %" PRIu64, find_bytes(module, side));
    }
    (void)fputc('}', file);
}

static void write_triple(const char *name, uint32_t x, uint32_t y, uint32_t z)
{
    (void)fprintf(file, ", \"%s\": [%u, %u, %u]", name, x, y, z);
}

static void write_launch(const smk_launch *launch)
{
    write_triple("grid", launch->grid.x, launch->grid.y, launch->grid.z);
    write_triple("block_size", launch->block.x, launch->block.y, launch->block.z);
}

void smk_watch_add_failure(const char *kernel, const smk_launch *launch, bool refused, smk_cuda code,
                           const smk_error *error)
{
    (void)pthread_mutex_lock(&lock);
    if (open_report() != NULL) {
        (void)fprintf(file, "{\"event\": \"failure\", \"outcome\": \"%s\"", refused ? "refused" : "failed");
        write_text("kernel", kernel);
        if (launch != NULL) {
            write_launch(launch);
        }
        write_text("code", smk_outcome_name(code));
        write_text("message", error->message);
        write_text("file", error->source_file);
        (void)fprintf(file, ", \"line\": %u, \"ptx_line\": %u", error->source_line, error->ptx_line);
        if (error->has_thread) {
            write_triple("block", error->block[0], error->block[1], error->block[2]);
            write_triple("thread", error->thread[0], error->thread[1], error->thread[2]);
        }
        (void)fputs("}\n", file);
        (void)fflush(file);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* Is it in a page of managed or pinned memory, or in the one behind it, as an index may be that is too large? */
static bool is_beside_shared(uint64_t address)
{
    const uint64_t page = address / PAGE_BYTES * PAGE_BYTES;
    uint64_t start = 0, bytes = 0;
    bool shared = false;
    return (smk_memory_find(smk_session_memory(), page, &start, &bytes, &shared) && shared) ||
           (smk_memory_find(smk_session_memory(), page - 1, &start, &bytes, &shared) && shared);
}

/* What became of the memory that an access out of bounds meant. */
static void write_lost(const smk_finding *finding)
{
    smk_lost_memory freed = {0};
    if (finding->kind != SMK_FINDING_OUT_OF_BOUNDS || finding->first.space != SMK_SPACE_GLOBAL) {
        return;
    }
    if (smk_lost_memory_find(finding->first.address, &freed)) {
        (void)fprintf(file,
                      ", \"freed\": {\"address\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"launches\": %" PRIu64 "}",
                      freed.address, freed.bytes, freed.launches);
    } else if (!is_beside_shared(finding->first.address) && smk_lost_memory_is_host(finding->first.address)) {
        (void)fputs(", \"host\": true", file);
    }
}

void smk_watch_add_check(const smk_module *module, const char *kernel, const smk_launch *launch,
                         const smk_check_result *result)
{
    (void)pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < result->finding_count && open_report() != NULL; i++) {
        const smk_finding *finding = &result->finding[i];
        (void)fprintf(file, "{\"event\": \"finding\", \"launch\": %" PRIu64 ", \"kind\": \"%s\"",
                      atomic_load(&launches) + 1, smk_finding_name(finding->kind));
        write_text("kernel", kernel);
        write_launch(launch);
        (void)fprintf(file, ", \"count\": %" PRIu64 ", \"same_value\": %s", finding->count,
                      finding->same_value ? "true" : "false");
        write_text("message", finding->message);
        write_text("action", finding->action);
        write_lost(finding);
        write_side("first", module, &finding->first);
        write_side("second", module, &finding->second);
        (void)fputs("}\n", file);
    }
    if (file != NULL) {
        (void)fflush(file);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* Under the lock; NULL where there is no memory. */
static kernel_counts *find_counts(const char *name)
{
    kernel_counts **at = &kernels;
    while (*at != NULL && strcmp((*at)->name, name) != 0) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        *at = smk_heap_allocate(1, sizeof **at);
        if (*at != NULL) {
            (*at)->name = name;
        }
    }
    return *at;
}

void smk_watch_add_counts(const char *kernel, const smk_count_result *result)
{
    (void)pthread_mutex_lock(&lock);
    kernel_counts *counts = find_counts(kernel);
    if (counts != NULL) {
        counts->launches++;
        counts->blocks += result->blocks;
        for (unsigned i = 0; i < SMK_COUNTER_COUNT; i++) {
            counts->total[i] += result->total[i];
        }
    }
    (void)pthread_mutex_unlock(&lock);
}

void smk_watch_add_missing(const char *function)
{
    (void)pthread_mutex_lock(&lock);
    missing_function **at = &missing;
    while (*at != NULL && strcmp((*at)->name, function) != 0) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        *at = smk_heap_allocate(1, sizeof **at);
        if (*at != NULL) {
            (*at)->name = function;
        }
        if (open_report() != NULL) {
            (void)fputs("{\"event\": \"missing\"", file);
            write_text("function", function);
            (void)fputs("}\n", file);
            (void)fflush(file);
        }
    }
    (void)pthread_mutex_unlock(&lock);
}

void smk_watch_add_refused_card(void)
{
    (void)pthread_mutex_lock(&lock);
    if (open_report() != NULL) {
        (void)fputs("{\"event\": \"card\"}\n", file);
        (void)fflush(file);
    }
    (void)pthread_mutex_unlock(&lock);
}

void smk_watch_add_stripped(const char *path)
{
    const char *slash = strrchr(path, '/');
    (void)pthread_mutex_lock(&lock);
    if (open_report() != NULL) {
        (void)fputs("{\"event\": \"stripped\"", file);
        write_text("name", slash == NULL ? path : slash + 1);
        (void)fputs("}\n", file);
        (void)fflush(file);
    }
    (void)pthread_mutex_unlock(&lock);
}

static void write_counts(const kernel_counts *counts)
{
    (void)fputs("{\"event\": \"counts\"", file);
    write_text("kernel", counts->name);
    (void)fprintf(file, ", \"launches\": %" PRIu64 ", \"blocks\": %" PRIu64 ", \"counters\": {", counts->launches,
                  counts->blocks);
    for (unsigned i = 0; i < smk_counter_row_count && !smk_counter_rows[i].is_ratio; i++) {
        (void)fprintf(file, "%s\"%s\": %" PRIu64, i == 0 ? "" : ", ", smk_counter_rows[i].name, counts->total[i]);
    }
    (void)fputs("}}\n", file);
}

/* Under the lock: a library of CUDA whose kernels are machine code alone, which some call of the program may have failed
 * for. */
static int write_library(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char *const names[] = {"libcublas.",   "libcufft.", "libcurand.", "libcusparse.",
                                        "libcusolver.", "libcudnn.", "libnccl.",   "libnpp"};
    const char *slash = info->dlpi_name == NULL ? NULL : strrchr(info->dlpi_name, '/');
    (void)size, (void)context;
    for (size_t i = 0; slash != NULL && i < sizeof names / sizeof *names; i++) {
        if (strncmp(slash + 1, names[i], strlen(names[i])) == 0) {
            (void)fputs("{\"event\": \"library\"", file);
            write_text("name", slash + 1);
            (void)fputs("}\n", file);
        }
    }
    return 0;
}

/* Runs behind the program's own functions for its end. */
__attribute__((destructor)) static void end_report(void)
{
    (void)pthread_mutex_lock(&lock);
    if (open_report() != NULL) {
        for (const kernel_counts *counts = kernels; counts != NULL; counts = counts->next) {
            write_counts(counts);
        }
        (void)dl_iterate_phdr(write_library, NULL);
        (void)fprintf(file,
                      "{\"event\": \"end\", \"launches\": %" PRIu64 ", \"skipped\": %" PRIu64 ", \"unprinted\": %zu}\n",
                      atomic_load(&launches), atomic_load(&skipped), smk_session_unprinted());
        (void)fclose(file);
        file = NULL;
    }
    (void)pthread_mutex_unlock(&lock);
}
