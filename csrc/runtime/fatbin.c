#include "runtime/fatbin.h"

#include "base/heap.h"
#include "runtime/decompress.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAGIC UINT32_C(0xba55ed50)
#define FLAG_LZ4 UINT64_C(0x2000)
#define FLAG_ZSTD UINT64_C(0x8000)

enum { KIND_PTX = 1, KIND_MACHINE_CODE = 2, LIST_BYTES = 256, TEXT_BYTES_MAX = 1 << 30 };

/* Before all entries. */
typedef struct fat_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* of all entries */
} fat_header;

/* Before each entry. */
typedef struct fat_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes;        /* of the content, padded */
    uint32_t packed_bytes; /* of compressed content; 0 where it is not compressed */
    uint32_t options_offset;
    uint16_t minor, major;
    uint32_t architecture; /* 90 for sm_90 */
    uint32_t name_offset, name_bytes;
    uint64_t flags, zero;
    uint64_t plain_bytes; /* of compressed content */
} fat_entry;

/* The entry behind the one at `at`, or the first; NULL at the end. */
static const unsigned char *next_entry(const void *image, const unsigned char *at, fat_entry *entry)
{
    fat_header header;
    memcpy(&header, image, sizeof header);
    const unsigned char *start = (const unsigned char *)image + header.header_bytes, *end = start + header.bytes;
    if (header.magic != MAGIC) {
        return NULL;
    }
    if (at != NULL) {
        memcpy(entry, at, sizeof *entry);
        start = at + entry->header_bytes + entry->bytes;
    }
    if (start >= end || (size_t)(end - start) < sizeof *entry) {
        return NULL;
    }
    memcpy(entry, start, sizeof *entry);
    return entry->header_bytes >= sizeof *entry && entry->bytes <= (uint64_t)(end - start) ? start : NULL;
}

/* "machine code for sm_75; PTX for compute_90" */
static void list_entries(const void *image, char *text, size_t size)
{
    fat_entry entry;
    size_t used = 0;
    text[0] = '\0';
    for (const unsigned char *at = next_entry(image, NULL, &entry); at != NULL; at = next_entry(image, at, &entry)) {
        const bool ptx = entry.kind == KIND_PTX;
        const int more = snprintf(text + used, size - used, "%s%s%" PRIu32, used == 0 ? "" : ", ",
                                  ptx ? "PTX for compute_" : "machine code for sm_", entry.architecture);
        used += more > 0 ? (size_t)more : 0;
        used = used < size ? used : size - 1;
    }
}

static smk_status fail_without_ptx(const void *image, int capability, smk_error *error)
{
    char list[LIST_BYTES];
    list_entries(image, list, sizeof list);
    return smk_status_fail(error, SMK_PTX,
                           "the program has no PTX that a GPU of compute capability %d.%d could run (it has %s): "
                           "compile it with nvcc -gencode arch=compute_%d,code=compute_%d",
                           capability / 10, capability % 10, list[0] == '\0' ? "nothing" : list,
                           capability < 75 ? capability : 75, capability < 75 ? capability : 75);
}

static smk_status unpack(const unsigned char *at, const fat_entry *entry, char **text, size_t *length, smk_error *error)
{
    const unsigned char *content = at + entry->header_bytes;
    const bool packed = (entry->flags & (FLAG_LZ4 | FLAG_ZSTD)) != 0;
    const uint64_t bytes = packed ? entry->plain_bytes : entry->bytes;
    char *made = bytes <= TEXT_BYTES_MAX ? smk_heap_allocate((size_t)bytes + 1, 1) : NULL;
    smk_status status = SMK_OK;
    if (made == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for %" PRIu64 " bytes of PTX", bytes);
    }
    if (packed) {
        const smk_decompress_format format = (entry->flags & FLAG_ZSTD) != 0 ? SMK_DECOMPRESS_ZSTD : SMK_DECOMPRESS_LZ4;
        const uint64_t packed_bytes = entry->packed_bytes != 0 ? entry->packed_bytes : entry->bytes;
        status = smk_decompress_run(format, content, (size_t)packed_bytes, made, (size_t)bytes, error);
    } else {
        memcpy(made, content, (size_t)bytes);
    }
    if (status != SMK_OK) {
        smk_heap_free(made);
        return status;
    }
    *text = made;
    *length = strlen(made); /* the content is padded with zeros */
    return SMK_OK;
}

smk_status smk_fatbin_read_ptx(const void *image, int capability, char **text, size_t *length, smk_error *error)
{
    fat_entry entry, best_entry = {0};
    const unsigned char *best = NULL;
    for (const unsigned char *at = next_entry(image, NULL, &entry); at != NULL; at = next_entry(image, at, &entry)) {
        if (entry.kind == KIND_PTX && entry.architecture <= (uint32_t)capability &&
            (best == NULL || entry.architecture > best_entry.architecture)) {
            best = at;
            best_entry = entry;
        }
    }
    return best == NULL ? fail_without_ptx(image, capability, error) : unpack(best, &best_entry, text, length, error);
}
