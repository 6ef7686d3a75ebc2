#include "gpu/assertion.h"

#include "base/heap.h"
#include "gpu/held.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 256 };

/* What a thread writes; the offsets stand in the PTX below. */
typedef struct assertion_record {
    volatile uint32_t written;
    uint32_t line;
    uint32_t block[3], thread[3];
    char condition[TEXT_BYTES], file[TEXT_BYTES], function[TEXT_BYTES];
} assertion_record;

_Static_assert(sizeof(assertion_record) == 32 + 3 * TEXT_BYTES, "the PTX knows where the texts lie");

static const char ours[] = "smk_asserted", theirs[] = "__assertfail";
_Static_assert(sizeof ours == sizeof theirs, "one name is written over the other");

/* Parameters: condition, file, line, function, size of a character. */
static const char definition[] =
    "\n.global .align 8 .u64 smk_assertion_address;\n"
    ".global .align 4 .u32 smk_assertion_claim;\n"
    ".func smk_asserted(.param .b64 a0, .param .b64 a1, .param .b32 a2, .param .b64 a3, .param .b64 a4)\n"
    "{\n"
    ".reg .pred %p<8>;\n.reg .b16 %h<2>;\n.reg .b32 %r<16>;\n.reg .b64 %d<16>;\n"
    "ld.param.u64 %d0, [a0];\nld.param.u64 %d1, [a1];\nld.param.u32 %r0, [a2];\n"
    "ld.param.u64 %d2, [a3];\nld.param.u64 %d3, [a4];\n"
    "ld.global.u64 %d4, [smk_assertion_address];\n"
    "setp.eq.s64 %p0, %d4, 0;\n@%p0 bra SMK_CALL;\n"
    "atom.global.cas.b32 %r1, [smk_assertion_claim], 0, 1;\n"
    "setp.ne.s32 %p1, %r1, 0;\n@%p1 bra SMK_WAIT;\n"
    "st.u32 [%d4+4], %r0;\n"
    "mov.u32 %r2, %ctaid.x;\nst.u32 [%d4+8], %r2;\nmov.u32 %r2, %ctaid.y;\nst.u32 [%d4+12], %r2;\n"
    "mov.u32 %r2, %ctaid.z;\nst.u32 [%d4+16], %r2;\n"
    "mov.u32 %r2, %tid.x;\nst.u32 [%d4+20], %r2;\nmov.u32 %r2, %tid.y;\nst.u32 [%d4+24], %r2;\n"
    "mov.u32 %r2, %tid.z;\nst.u32 [%d4+28], %r2;\n"
    /* the three texts, one after the other: %d5 is read, %d6 written */
    "mov.u32 %r3, 0;\n"
    "SMK_TEXT:\n"
    "setp.eq.s32 %p2, %r3, 0;\nsetp.eq.s32 %p3, %r3, 1;\n"
    "selp.b64 %d5, %d1, %d2, %p3;\nselp.b64 %d5, %d0, %d5, %p2;\n"
    "mul.wide.u32 %d6, %r3, 256;\nadd.s64 %d6, %d6, %d4;\nadd.s64 %d6, %d6, 32;\n"
    "mov.u32 %r4, 0;\n"
    "SMK_CHARACTER:\n"
    "ld.u8 %h0, [%d5];\nst.u8 [%d6], %h0;\n"
    "add.s64 %d5, %d5, 1;\nadd.s64 %d6, %d6, 1;\nadd.s32 %r4, %r4, 1;\n"
    "setp.ne.s16 %p4, %h0, 0;\nsetp.lt.u32 %p5, %r4, 255;\nand.pred %p4, %p4, %p5;\n@%p4 bra SMK_CHARACTER;\n"
    "add.s32 %r3, %r3, 1;\nsetp.lt.u32 %p6, %r3, 3;\n@%p6 bra SMK_TEXT;\n"
    "membar.sys;\nst.volatile.u32 [%d4], 1;\nmembar.sys;\n"
    "st.volatile.global.u32 [smk_assertion_claim], 2;\n"
    "SMK_WAIT:\n"
    "ld.volatile.global.u32 %r5, [smk_assertion_claim];\nsetp.ne.s32 %p7, %r5, 2;\n@%p7 bra SMK_WAIT;\n"
    "SMK_CALL:\n"
    "{\n"
    ".param .b64 p0;\n.param .b64 p1;\n.param .b32 p2;\n.param .b64 p3;\n.param .b64 p4;\n"
    "st.param.b64 [p0], %d0;\nst.param.b64 [p1], %d1;\nst.param.b32 [p2], %r0;\n"
    "st.param.b64 [p3], %d2;\nst.param.b64 [p4], %d3;\n"
    "call __assertfail, (p0, p1, p2, p3, p4);\n"
    "}\n"
    "ret;\n"
    "}\n";

/* Texts have no bytes beyond ASCII at their beginning; machine code has. */
static bool is_text(const char *image)
{
    for (size_t i = 0; i < 8; i++) {
        const unsigned char byte = (unsigned char)image[i];
        if (byte >= 0x7f || (byte < ' ' && byte != '\n' && byte != '\t' && byte != '\r')) {
            return false;
        }
    }
    return true;
}

char *smk_assertion_rewrite(const void *image)
{
    const char *text = image;
    if (!is_text(text)) {
        return NULL;
    }
    const char *declared = strstr(text, ".extern .func"), *name = NULL;
    for (; declared != NULL; declared = strstr(declared + 1, ".extern .func")) {
        const char *end = strchr(declared, ';');
        name = strstr(declared, theirs);
        if (name != NULL && end != NULL && name < end) {
            break;
        }
    }
    const char *rest = declared == NULL ? NULL : strchr(declared, ';');
    if (rest == NULL || strstr(text, ours) != NULL) {
        return NULL;
    }
    const size_t before = (size_t)(rest + 1 - text), behind = strlen(rest + 1), added = sizeof definition - 1;
    char *copy = smk_heap_allocate(before + added + behind + 1, 1);
    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, text, before);
    memcpy(copy + before, definition, added);
    memcpy(copy + before + added, rest + 1, behind + 1);
    for (char *call = strstr(copy + before + added, theirs); call != NULL; call = strstr(call, theirs)) {
        memcpy(call, ours, sizeof ours - 1);
    }
    return copy;
}

/* The record of the process, of which its first error is the only one: the context is lost by then. */
static assertion_record *record;

static void make_record(void)
{
    void *memory = NULL;
    if (smk_held_pin(&memory, sizeof *record) != cudaSuccess) {
        (void)cudaGetLastError();
        return;
    }
    memset(memory, 0, sizeof *record);
    record = memory;
}

void smk_assertion_arm(cudaLibrary_t library)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    void *variable = NULL;
    size_t bytes = 0;
    (void)pthread_once(&once, make_record);
    if (record == NULL || cudaLibraryGetGlobal(&variable, &bytes, library, "smk_assertion_address") != cudaSuccess ||
        bytes != sizeof record || cudaMemcpy(variable, &record, bytes, cudaMemcpyHostToDevice) != cudaSuccess) {
        (void)cudaGetLastError();
    }
}

bool smk_assertion_report(const char *action, smk_error *error)
{
    if (record == NULL || record->written == 0) {
        return false;
    }
    (void)smk_status_fail(
        error, SMK_ASSERTION,
        "%s: assertion failed: %.200s (%.200s:%u, in %.100s). The CUDA context is lost with everything "
        "in it: restart the process.",
        action, record->condition, record->file, (unsigned)record->line, record->function);
    if (error != NULL) {
        (void)snprintf(error->source_file, sizeof error->source_file, "%s", record->file);
        error->source_line = record->line;
        error->has_thread = true;
        memcpy(error->block, record->block, sizeof error->block);
        memcpy(error->thread, record->thread, sizeof error->thread);
    }
    return true;
}
