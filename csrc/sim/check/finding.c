#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "sim/check/finding.h"

#include "base/heap.h"
#include "ptx/bulk_form.h"
#include "ptx/opcode.h"
#include "sim/check/action.h"
#include "sim/exec/access.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_MAX = 1000, SLOTS = 4096, LOCATION_BYTES = 96 };

static const char *const names[] = {
#define SMK_FINDING(id, name, meaning) name,
#include "sim/check/finding.def"
#undef SMK_FINDING
};

const char *smk_finding_name(smk_finding_kind kind)
{
    return kind < SMK_FINDING_COUNT ? names[kind] : "?";
}

const char *smk_finding_meaning(smk_finding_kind kind)
{
    static const char *const meanings[SMK_FINDING_COUNT] = {
#define SMK_FINDING(id, name, meaning) [SMK_FINDING_##id] = (meaning),
#include "sim/check/finding.def"
#undef SMK_FINDING
    };
    return kind < SMK_FINDING_COUNT ? meanings[kind] : "?";
}

smk_status smk_finding_open(smk_finding_sink *sink, smk_error *error)
{
    *sink = (smk_finding_sink){0};
    sink->slot = smk_heap_allocate(SLOTS, sizeof *sink->slot);
    if (sink->slot == NULL || pthread_mutex_init(&sink->lock, NULL) != 0) {
        smk_heap_free(sink->slot);
        return smk_status_fail(error, SMK_MEMORY, "no memory left to check what a kernel does");
    }
    return SMK_OK;
}

void smk_finding_close(smk_finding_sink *sink)
{
    smk_heap_free(sink->slot);
    smk_heap_free(sink->entry);
    (void)pthread_mutex_destroy(&sink->lock);
}

static bool is_alike(const smk_finding_entry *entry, smk_finding_kind kind, uint32_t a, uint32_t b)
{
    return entry->kind == kind && ((entry->first.instruction_id == a && entry->second.instruction_id == b) ||
                                   (entry->first.instruction_id == b && entry->second.instruction_id == a));
}

/* The entry of that kind and those instructions, in either order. Under the lock. */
static smk_finding_entry *find(smk_finding_sink *sink, smk_finding_kind kind, uint32_t a, uint32_t b)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    uint32_t at = (low * 2654435761U ^ high * 40503U ^ (uint32_t)kind * 97U) % SLOTS;
    while (sink->slot[at] != 0) {
        smk_finding_entry *entry = &sink->entry[sink->slot[at] - 1];
        if (is_alike(entry, kind, a, b)) {
            return entry;
        }
        at = (at + 1) % SLOTS;
    }
    if (sink->count == SLOTS / 2) { /* more than the result holds, so that it does not depend on the order of host
                                     * threads */
        sink->truncated = true;
        return NULL;
    }
    if (sink->count == sink->capacity) {
        uint32_t capacity = sink->capacity == 0 ? 32 : 2 * sink->capacity;
        size_t each = sizeof *sink->entry;
        smk_finding_entry *grown = smk_heap_resize(sink->entry, sink->capacity * each, capacity * each);
        if (grown == NULL) {
            sink->failed = true;
            return NULL;
        }
        sink->entry = grown;
        sink->capacity = capacity;
    }
    smk_finding_entry *made = &sink->entry[sink->count++];
    *made = (smk_finding_entry){.kind = kind};
    sink->slot[at] = sink->count;
    return made;
}

void smk_finding_add(smk_finding_sink *sink, smk_finding_kind kind, const smk_finding_event *first,
                     const smk_finding_event *second, uint64_t block, uint64_t order, const char *text)
{
    static const smk_finding_event none = {.instruction_id = SMK_FINDING_NO_INSTRUCTION};
    second = second == NULL ? &none : second;
    (void)pthread_mutex_lock(&sink->lock);
    smk_finding_entry *entry = find(sink, kind, first->instruction_id, second->instruction_id);
    if (entry != NULL) {
        if (entry->count == 0 || block < entry->block || (block == entry->block && order < entry->order)) {
            entry->first = *first;
            entry->second = *second;
            entry->block = block;
            entry->order = order;
            entry->text[0] = '\0';
            if (text != NULL) {
                (void)snprintf(entry->text, sizeof entry->text, "%s", text);
            }
        }
        entry->same_value = (entry->count == 0 || entry->same_value) && second->same_value;
        entry->count++;
    }
    (void)pthread_mutex_unlock(&sink->lock);
}

void smk_finding_repeat(smk_finding_sink *sink, smk_finding_kind kind, uint32_t instruction_id, uint64_t count)
{
    (void)pthread_mutex_lock(&sink->lock);
    smk_finding_entry *entry = find(sink, kind, instruction_id, SMK_FINDING_NO_INSTRUCTION);
    if (entry != NULL) {
        entry->count += count;
    }
    (void)pthread_mutex_unlock(&sink->lock);
}

const smk_instruction *smk_finding_locate(const smk_instruction_ids *ids, uint32_t instruction_id, uint32_t *function,
                                          uint32_t *instruction)
{
    uint32_t low = 0, high = ids->module->function_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (ids->first[middle] <= instruction_id) {
            low = middle;
        } else {
            high = middle;
        }
    }
    while (ids->first[low + 1] <= instruction_id && low + 1 < ids->module->function_count) {
        low++; /* functions without a body have no ids */
    }
    *function = low;
    *instruction = instruction_id - ids->first[low];
    const smk_function *f = &ids->module->functions[low];
    return *instruction < f->instruction_count ? &f->instructions[*instruction] : NULL;
}

/* Messages --------------------------------------------------------------------------------------- */

typedef struct writer {
    const smk_instruction_ids *ids;
    const smk_image *image;
    const smk_launch *launch;
    const smk_memory_view *view;
} writer;

static void name_shared(const writer *w, uint64_t address, char *text, size_t size)
{
    const int64_t at = smk_image_signed_address(address);
    const smk_shared_variable *nearest = smk_image_nearest_shared(w->image, at, UINT32_MAX);
    if (nearest != NULL) {
        (void)snprintf(text, size, "%.*s, byte %" PRId64, SMK_TEXT_PRINT(nearest->variable->name),
                       at - nearest->offset);
    }
}

static void fill_side(const writer *w, const smk_finding_event *event, smk_finding_side *side)
{
    const smk_dim3 *grid = &w->launch->grid, *block = &w->launch->block;
    if (event->instruction_id == SMK_FINDING_NO_INSTRUCTION) {
        return;
    }
    side->present = true;
    side->kind = event->kind;
    (void)smk_finding_locate(w->ids, event->instruction_id, &side->function, &side->instruction);
    side->block[0] = (uint32_t)(event->block % grid->x);
    side->block[1] = (uint32_t)(event->block / grid->x % grid->y);
    side->block[2] = (uint32_t)(event->block / grid->x / grid->y);
    side->thread[0] = event->thread % block->x;
    side->thread[1] = event->thread / block->x % block->y;
    side->thread[2] = event->thread / block->x / block->y;
    side->space = event->space;
    side->address = event->address;
    side->bytes = event->bytes;
    if (event->kind == SMK_FINDING_SYNC || event->kind == SMK_FINDING_WAIT) {
        return;
    }
    if (event->space == SMK_SPACE_SHARED) {
        name_shared(w, event->address, side->variable, sizeof side->variable);
    } else if (event->space == SMK_SPACE_GLOBAL || event->space == SMK_SPACE_CONST) {
        smk_memory_view_name(w->view, event->address, side->variable, sizeof side->variable);
    }
}

static const char *op_name(const smk_finding_side *side)
{
    static const char *const ops[] = {"load", "store", "atomic operation", "copy (cp.async)"};
    return side->kind < sizeof ops / sizeof ops[0] ? ops[side->kind] : "barrier";
}

static void describe_location(const writer *w, const smk_finding_side *side, char *text, size_t size)
{
    const smk_module *module = w->ids->module;
    const smk_function *function = &module->functions[side->function];
    if (side->instruction >= function->instruction_count) {
        (void)snprintf(text, size, "the end of %.*s", SMK_TEXT_PRINT(function->name));
        return;
    }
    const smk_instruction *instruction = &function->instructions[side->instruction];
    if (instruction->source_line != 0 && instruction->source_file < module->file_count) {
        smk_text file = module->files[instruction->source_file];
        for (size_t i = file.length; i > 0; i--) { /* without the folder, which the finding's side holds */
            if (file.start[i - 1] == '/') {
                file = (smk_text){file.start + i, file.length - i};
                break;
            }
        }
        file.length = file.length > LOCATION_BYTES / 2 ? LOCATION_BYTES / 2 : file.length;
        (void)snprintf(text, size, "%.*s:%u", SMK_TEXT_PRINT(file), instruction->source_line);
    } else {
        (void)snprintf(text, size, "PTX line %u", instruction->line);
    }
}

const char *smk_finding_use(const smk_instruction *instruction)
{
    switch (smk_opcode_class(instruction)) {
    case SMK_CLASS_STORE:
        return "store";
    case SMK_CLASS_LOAD:
        return "load";
    case SMK_CLASS_ATOMIC:
        return "atomic";
    case SMK_CLASS_BRANCH:
        return "branch";
    case SMK_CLASS_BARRIER:
        return "barrier";
    case SMK_CLASS_ALU:
    case SMK_CLASS_ADDRESS:
    case SMK_CLASS_COPY:
    case SMK_CLASS_MATRIX:
    case SMK_CLASS_EXCHANGE:
    case SMK_CLASS_TEXTURE:
    case SMK_CLASS_FENCE:
    case SMK_CLASS_CALL:
    case SMK_CLASS_END:
    case SMK_CLASS_PAUSE:
    case SMK_CLASS_HINT:
        break;
    }
    return smk_module_opcode_name((smk_opcode)instruction->opcode);
}

static const char *use_name(const writer *w, const smk_finding_side *side)
{
    return smk_finding_use(&w->ids->module->functions[side->function].instructions[side->instruction]);
}

static const char *space_of(const smk_finding_side *side)
{
    return side->space == SMK_SPACE_SHARED ? "shared" : "global";
}

/* Is a side an access to global memory whose scope is its block? */
static bool is_block_scope(const writer *w, const smk_finding_side *side)
{
    const smk_function *function = &w->ids->module->functions[side->function];
    return side->present && side->instruction < function->instruction_count &&
           smk_image_is_block_scope(&function->instructions[side->instruction]);
}

static void write_race(const writer *w, const smk_finding_entry *entry, smk_finding *finding, const char *here,
                       const char *there)
{
    const smk_finding_side *a = &finding->first, *b = &finding->second;
    bool blocks = memcmp(a->block, b->block, sizeof a->block) != 0;
    bool block_scope = blocks && (is_block_scope(w, a) || is_block_scope(w, b));
    (void)snprintf(finding->message, sizeof finding->message,
                   "The %s at %s and the %s at %s by another thread%s touch the same byte (%s), and %s%s.", op_name(a),
                   here, op_name(b), there, blocks ? " of another block" : "", a->variable,
                   entry->kind == SMK_FINDING_WARP_HAZARD ? "no __syncwarp() orders the lanes of the warp"
                   : block_scope                          ? "the scope of one of them is its own block"
                   : blocks                               ? "nothing orders the blocks"
                                                          : "no barrier orders them",
                   entry->same_value ? "; both write the same value" : "");
}

/* An access to the target of a copy, or a write to its source, which the second side then loads. */
static void write_async(const writer *w, smk_finding *finding, const char *here, const char *there)
{
    const smk_finding_side *a = &finding->first, *b = &finding->second;
    const smk_instruction *copy = &w->ids->module->functions[b->function].instructions[b->instruction];
    const bool bulk = smk_bulk_form_is(copy), reads = b->kind == SMK_ACCESS_LOAD;
    (void)snprintf(finding->message, sizeof finding->message,
                   "The %s at %s touches %s while the %s at %s may still %s it: %s.", op_name(a), here, a->variable,
                   bulk ? "cp.async.bulk" : "cp.async", there, reads ? "read" : "write",
                   bulk && smk_bulk_form_target(copy) == SMK_SPACE_SHARED
                       ? "its thread has not seen the mbarrier complete, nor is it ordered behind one that has"
                       : "its thread has not waited for the copy");
}

static void write_uninitialized(const writer *w, smk_finding *finding, const char *here, const char *there)
{
    const smk_finding_side *a = &finding->first, *b = &finding->second;
    if (b->present) { /* of local memory */
        (void)snprintf(finding->message, sizeof finding->message,
                       "The load at %s reads local memory to which its thread has given no value, and the %s at %s "
                       "uses what it got.",
                       here, use_name(w, b), there);
    } else {
        (void)snprintf(finding->message, sizeof finding->message,
                       "The %s at %s reads %s memory that nobody has written (%s).", op_name(a), here, space_of(a),
                       a->variable);
    }
}

static void write_barrier(const writer *w, smk_finding *finding, const char *here, const char *there)
{
    const smk_finding_side *a = &finding->first, *b = &finding->second;
    const smk_function *f = w->ids->module->functions;
    if (strcmp(here, there) == 0) { /* of one line */
        (void)snprintf(finding->message, sizeof finding->message,
                       "Warps of one block meet at different barriers of %s: some at PTX line %u, others at PTX "
                       "line %u.",
                       here, f[a->function].instructions[a->instruction].line,
                       f[b->function].instructions[b->instruction].line);
    } else {
        (void)snprintf(finding->message, sizeof finding->message,
                       "Warps of one block meet at different barriers: some at %s, others at %s.", here, there);
    }
}

static void write_message(const writer *w, const smk_finding_entry *entry, smk_finding *finding)
{
    const smk_finding_side *a = &finding->first, *b = &finding->second;
    char here[LOCATION_BYTES] = "", there[LOCATION_BYTES] = "";
    char *text = finding->message;
    size_t size = sizeof finding->message;
    describe_location(w, a, here, sizeof here);
    if (b->present) {
        describe_location(w, b, there, sizeof there);
    }
    if (entry->kind != SMK_FINDING_SHUFFLE && entry->text[0] != '\0') {
        (void)snprintf(text, size, "%s", entry->text);
        return;
    }
    switch (entry->kind) {
    case SMK_FINDING_RACE:
    case SMK_FINDING_WARP_HAZARD:
    case SMK_FINDING_GLOBAL_RACE:
        write_race(w, entry, finding, here, there);
        break;
    case SMK_FINDING_UNINITIALIZED:
        write_uninitialized(w, finding, here, there);
        break;
    case SMK_FINDING_ASYNC_READ:
        write_async(w, finding, here, there);
        break;
    case SMK_FINDING_BARRIER:
        write_barrier(w, finding, here, there);
        break;
    case SMK_FINDING_SHUFFLE:
        (void)snprintf(text, size,
                       "In the shfl.sync at %s %.120s: what it gets is undefined, and the %s at %s uses it.", here,
                       entry->text, use_name(w, b), there);
        break;
    case SMK_FINDING_OUT_OF_BOUNDS: /* these come with a text */
    case SMK_FINDING_OVERRUN:
    case SMK_FINDING_MISALIGNED:
    case SMK_FINDING_COUNT:
        break;
    }
}

static int compare(const void *left, const void *right)
{
    const smk_finding *a = left, *b = right;
    const uint32_t x[] = {(uint32_t)a->kind, a->first.function,  a->first.instruction,
                          a->second.present, a->second.function, a->second.instruction};
    const uint32_t y[] = {(uint32_t)b->kind, b->first.function,  b->first.instruction,
                          b->second.present, b->second.function, b->second.instruction};
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

/* An uninitialised read by an instruction that also races: whether the store came first is chance, and the race is
 * reported, so the finding is dropped. */
static bool is_luck(const smk_finding_sink *sink, const smk_finding_entry *entry)
{
    for (uint32_t i = 0; i < sink->count && entry->kind == SMK_FINDING_UNINITIALIZED; i++) {
        const smk_finding_entry *other = &sink->entry[i];
        bool race = other->kind == SMK_FINDING_RACE || other->kind == SMK_FINDING_WARP_HAZARD ||
                    other->kind == SMK_FINDING_GLOBAL_RACE || other->kind == SMK_FINDING_ASYNC_READ;
        if (race && (other->first.instruction_id == entry->first.instruction_id ||
                     other->second.instruction_id == entry->first.instruction_id)) {
            return true;
        }
    }
    return false;
}

/* Findings are sorted by kind, but few races have hazards beside them. */
static void fold_hazards(const smk_action_launch *of, smk_finding *finding, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < KEPT_MAX; i++) {
        for (uint32_t k = 0; k < count && k < KEPT_MAX && finding[i].kind == SMK_FINDING_WARP_HAZARD; k++) {
            if (finding[k].kind == SMK_FINDING_RACE) {
                smk_action_fold(of, &finding[k], &finding[i]);
            }
        }
    }
}

smk_status smk_finding_list(const smk_finding_sink *sink, const smk_instruction_ids *ids, const smk_image *image,
                            const smk_launch *launch, const smk_memory_view *view, smk_check_result *result,
                            smk_error *error)
{
    const writer w = {ids, image, launch, view};
    const smk_action_launch of = {ids, image, launch};
    result->finding = smk_heap_allocate((size_t)sink->count + 1, sizeof *result->finding);
    if (result->finding == NULL || sink->failed) {
        return smk_status_fail(error, SMK_MEMORY, "no memory left for what was found");
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < sink->count; i++) {
        if (is_luck(sink, &sink->entry[i])) {
            continue;
        }
        smk_finding *finding = &result->finding[count++];
        finding->kind = sink->entry[i].kind;
        finding->count = sink->entry[i].count;
        finding->same_value = sink->entry[i].same_value;
        fill_side(&w, &sink->entry[i].first, &finding->first);
        fill_side(&w, &sink->entry[i].second, &finding->second);
        write_message(&w, &sink->entry[i], finding);
        smk_action_write(&of, finding);
    }
    qsort(result->finding, count, sizeof *result->finding, compare);
    fold_hazards(&of, result->finding, count);
    result->truncated = sink->truncated || count > KEPT_MAX;
    result->finding_count = count > KEPT_MAX ? KEPT_MAX : count;
    return SMK_OK;
}
