/* Fuzz target of the PTX front end and the simulator: whatever parses must print to text that parses to an equal
 * module, and its entries must end in order or in an error: plain, counted or checked, launched in a way that follows
 * from the text's own bytes. build.sh beside this file builds it for libFuzzer.
 *
 * Without libFuzzer (any compiler, -DSMK_FUZZ_MAIN) the program runs each file it is given once; `-truncate` runs
 * every prefix of the files behind it too, `-allocations` makes each allocation fail in turn.
 *
 * Without -DSMK_FUZZ_EXECUTE nothing is run, and csrc/ptx and csrc/base are enough.
 */
#include "base/heap.h"
#include "ptx/module.h"

#ifdef SMK_FUZZ_EXECUTE
#include "sim/check/check.h"
#include "sim/profile/count.h"
#include "sim/profile/report.h"
#include "sim/sim.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stop(const char *what, const smk_error *error)
{
    fprintf(stderr, "%s: line %u, column %u: %s\n", what, (unsigned)error->ptx_line, (unsigned)error->ptx_column,
            error->message);
    abort();
}

/* An error must say what it is and, for faulty text, where. */
static void check_error(smk_status status, const smk_error *error)
{
    bool known = status == SMK_PTX || status == SMK_PTX_TYPE || status == SMK_UNSUPPORTED || status == SMK_MEMORY;
    bool placed = status == SMK_MEMORY || (error->ptx_line != 0 && error->ptx_column != 0);
    if (!known || !placed || error->status != status || error->message[0] == '\0') {
        stop("an error without a place, a kind or a message", error);
    }
}

#ifdef SMK_FUZZ_EXECUTE
enum { STEPS_MAX = 20000, PARAMETER_BYTES_MAX = 32768, PARAMETERS_MAX = 64, BUFFER_BYTES = 1 << 16 };
#define VARIABLE_BYTES_MAX (UINT64_C(1) << 24)

/* A variable that no fuzzer's memory limit has room for says nothing about the executor. */
static bool is_small(const smk_module *module)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < module->variable_count; i++) {
        bytes += module->variables[i].bytes > VARIABLE_BYTES_MAX ? VARIABLE_BYTES_MAX : module->variables[i].bytes;
    }
    return bytes < VARIABLE_BYTES_MAX;
}

/* How the entries of a text are launched and watched: a text of the corpus keeps its launch. */
typedef struct way {
    smk_dim3 grid, block;
    size_t shared_bytes;
    unsigned threads;
    uint64_t blocks;  /* to run; 0: all */
    uint32_t padding; /* of check */
    bool reverse;
    enum { RUN, COUNT, COUNT_AS_WRITTEN, CHECK, WAYS } watch;
} way;

static way choose_way(const uint8_t *data, size_t size)
{
    static const smk_dim3 grids[] = {{2, 1, 1}, {1, 1, 1}, {3, 2, 1}, {1, 2, 2}, {17, 1, 1}};
    static const smk_dim3 blocks[] = {{40, 1, 1}, {32, 1, 1}, {1, 1, 1}, {128, 1, 1}, {8, 4, 3}, {33, 2, 1}};
    static const size_t shared_bytes[] = {256, 0, 16384, 100000};
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
    }
    hash ^= hash >> 32;
    return (way){.grid = grids[hash % 5],
                 .block = blocks[hash / 5 % 6],
                 .shared_bytes = shared_bytes[hash / 30 % 4],
                 .threads = 1 + (unsigned)(hash / 120 % 3),
                 .blocks = hash / 360 % 4 == 0 ? 2 : 0,
                 .padding = hash / 5760 % 3 == 0 ? 64 : 0,
                 .reverse = hash / 17280 % 3 == 0,
                 .watch = (unsigned)(hash / 1440 % WAYS)};
}

static smk_status watch_entry(smk_program *program, const smk_module *module, uint32_t entry, const smk_launch *launch,
                              const smk_run_options *options, const way *w, smk_error *error)
{
    smk_status status = SMK_OK;
    if (w->watch == CHECK) {
        const smk_check_options wanted = {.blocks = w->blocks, .padding = w->padding};
        smk_check_result found;
        status = smk_check_run(program, entry, launch, options, &wanted, &found, error);
        if (status == SMK_OK) {
            smk_check_free(&found);
        }
    } else {
        const smk_count_options wanted = {.blocks = w->blocks, .model = w->watch == COUNT};
        smk_count_result count;
        smk_report_line *lines = NULL;
        uint32_t line_count = 0;
        status = smk_count_run(program, entry, launch, options, &wanted, &count, error);
        if (status == SMK_OK) {
            if (count.total[SMK_COUNTER_INSTRUCTIONS_WARP] > count.run.steps) {
                stop("more instructions were counted than executed", error);
            }
            (void)smk_report_lines(module, &count, &lines, &line_count, error);
            smk_count_free(&count);
            smk_heap_free(lines);
        }
    }
    return status;
}

/* Parameters of 8 bytes and more hold the address of one buffer, over and over; smaller ones a small count. */
static void run_entry(smk_program *program, const smk_module *module, uint32_t entry, uint64_t address, const way *w)
{
    static uint64_t pointers[PARAMETER_BYTES_MAX / sizeof(uint64_t)];
    static uint64_t count = 33;
    void *parameters[PARAMETERS_MAX];
    smk_error error;
    smk_run_result result;
    smk_run_options options = {.max_steps = STEPS_MAX, .threads = w->threads, .reverse = w->reverse};
    smk_launch launch = {.grid = w->grid, .block = w->block, .shared_bytes = w->shared_bytes, .parameters = parameters};
    launch.parameter_count = module->functions[entry].parameter_count;
    if (launch.parameter_count > PARAMETERS_MAX) {
        return;
    }
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
        pointers[i] = address;
    }
    const smk_variable *parameter = module->functions[entry].variables + module->functions[entry].result_count;
    for (size_t i = 0; i < launch.parameter_count; i++) {
        parameters[i] = parameter[i].bytes < sizeof address ? (void *)&count : (void *)pointers;
    }
    memset(&error, 0, sizeof error);
    smk_status status = smk_program_run(program, entry, &launch, &options, &result, &error);
    if (status != SMK_INTERNAL && w->watch != RUN) {
        status = watch_entry(program, module, entry, &launch, &options, w, &error);
    }
    if (status == SMK_INTERNAL) {
        stop("an internal error", &error);
    }
}

static void execute(const smk_module *module, const way *w)
{
    smk_error error;
    smk_memory *memory = NULL;
    smk_program *program = NULL;
    if (!is_small(module) || smk_memory_create(&memory, &error) != SMK_OK) {
        return;
    }
    uint64_t address = 0;
    if (smk_memory_allocate(memory, BUFFER_BYTES, &address, &error) == SMK_OK &&
        smk_program_create(module, memory, &program, &error) == SMK_OK) {
        for (uint32_t i = 0; i < module->function_count; i++) {
            if (module->functions[i].is_entry && module->functions[i].is_defined) {
                run_entry(program, module, i, address, w);
            }
        }
    }
    smk_program_free(program);
    smk_memory_destroy(memory);
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    smk_error error;
    smk_module *first = NULL;
    smk_module *second = NULL;
    char *text = NULL;
    size_t length = 0;
    memset(&error, 0, sizeof error);
    smk_status status = smk_parse_module((const char *)data, size, &first, &error);
    if (status != SMK_OK) {
        check_error(status, &error);
        return 0;
    }
    status = smk_printer_print(first, &text, &length, &error);
    if (status == SMK_OK) {
        status = smk_parse_module(text, length, &second, &error);
        if (status != SMK_OK && status != SMK_MEMORY) {
            stop("the printed module does not parse", &error);
        }
    }
    if (status == SMK_OK && !smk_equal_modules(first, second)) {
        stop("the printed module is another one", &error);
    }
#ifdef SMK_FUZZ_EXECUTE
    const way w = choose_way(data, size);
    execute(first, &w);
#endif
    smk_module_free(second);
    smk_module_free(first);
    smk_heap_free(text);
    return 0;
}

#ifdef SMK_FUZZ_MAIN
/* A copy of exactly that size, so that a read behind the end is seen. */
static void run(const char *bytes, size_t size)
{
    char *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL) {
        abort();
    }
    memcpy(copy, bytes, size);
    (void)LLVMFuzzerTestOneInput((const uint8_t *)copy, size);
    free(copy);
}

static void run_failing(const char *bytes, size_t size)
{
    smk_status status = SMK_MEMORY;
    for (uint64_t n = 1; status == SMK_MEMORY; n++) {
        smk_error error;
        smk_module *module = NULL;
        memset(&error, 0, sizeof error);
        smk_heap_fail_after(n);
        status = smk_parse_module(bytes, size, &module, &error);
        if (status == SMK_OK) {
            char *text = NULL;
            size_t length = 0;
            status = smk_printer_print(module, &text, &length, &error);
            smk_heap_free(text);
        }
        smk_heap_fail_after(0);
        smk_module_free(module);
        if (status != SMK_OK) {
            check_error(status, &error);
        }
    }
}

int main(int count, char **arguments)
{
    bool truncate = false;
    bool failing = false;
    int files = 0;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "-truncate") == 0 || strcmp(arguments[i], "-allocations") == 0) {
            truncate = truncate || arguments[i][1] == 't';
            failing = failing || arguments[i][1] == 'a';
            continue;
        }
        FILE *file = fopen(arguments[i], "rb");
        size_t capacity = (size_t)1 << 24;
        char *bytes = malloc(capacity);
        if (file == NULL || bytes == NULL) {
            fprintf(stderr, "cannot read %s\n", arguments[i]);
            return 1;
        }
        size_t size = fread(bytes, 1, capacity, file);
        (void)fclose(file);
        run(bytes, size);
        for (size_t cut = 0; truncate && cut < size; cut++) {
            run(bytes, cut);
        }
        if (failing) {
            run_failing(bytes, size);
        }
        free(bytes);
        files++;
    }
    printf("%d files\n", files);
    return 0;
}
#endif
