/* getpid is POSIX. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "base/mutation.h"

#include "base/heap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static smk_status fail(const char *path, smk_error *error)
{
    return smk_status_fail(error, SMK_ARGUMENT, "the environment variable SMEMKIT_MUTATION: %s: %s", path,
                           strerror(errno));
}

/* The path of a file in the folder; ARGUMENT where it is too long. */
static smk_status join(const char *folder, const char *name, char path[PATH_BYTES], smk_error *error)
{
    if (snprintf(path, PATH_BYTES, "%s/%s", folder, name) >= PATH_BYTES) {
        errno = ENAMETOOLONG;
        return fail(folder, error);
    }
    return SMK_OK;
}

/* Reads a whole file and adds a NUL. *text is NULL where there is no such file. */
static smk_status read_file(const char *path, char **text, size_t *length, smk_error *error)
{
    *text = NULL;
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        return errno == ENOENT ? SMK_OK : fail(path, error);
    }
    smk_status status = SMK_OK;
    long bytes = fseek(stream, 0, SEEK_END) == 0 ? ftell(stream) : -1;
    char *block = NULL;
    if (bytes < 0 || fseek(stream, 0, SEEK_SET) != 0) {
        status = fail(path, error);
    } else if ((block = smk_heap_allocate((size_t)bytes + 1, 1)) == NULL) {
        status = smk_status_fail(error, SMK_MEMORY, "no memory left for PTX of %ld bytes", bytes);
    } else if (fread(block, 1, (size_t)bytes, stream) != (size_t)bytes) {
        status = fail(path, error);
    }
    (void)fclose(stream);
    if (status != SMK_OK) {
        smk_heap_free(block);
        return status;
    }
    *text = block;
    *length = (size_t)bytes;
    return SMK_OK;
}

static smk_status write_file(const char *path, const char *mode, const char *text, size_t length, smk_error *error)
{
    FILE *stream = fopen(path, mode);
    if (stream == NULL) {
        return fail(path, error);
    }
    bool good = fwrite(text, 1, length, stream) == length;
    good = fclose(stream) == 0 && good;
    return good ? SMK_OK : fail(path, error);
}

/* FNV-1a of 64 bits: texts that differ get different names. */
static uint64_t hash(const char *text, size_t length)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < length; i++) {
        sum = (sum ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    }
    return sum;
}

/* Keeps the text as <hash>.ptx. It is written under a name of its own and renamed: several processes may write. */
static smk_status record(const char *folder, const char *text, size_t length, smk_error *error)
{
    static atomic_uint count;
    char name[96], path[PATH_BYTES], temporary[PATH_BYTES];
    (void)snprintf(name, sizeof name, "%016" PRIx64 ".ptx", hash(text, length));
    smk_status status = join(folder, name, path, error);
    if (status != SMK_OK || access(path, F_OK) == 0) {
        return status;
    }
    (void)snprintf(name, sizeof name, "%ld-%u.part", (long)getpid(), atomic_fetch_add(&count, 1));
    status = join(folder, name, temporary, error);
    if (status == SMK_OK) {
        status = write_file(temporary, "wb", text, length, error);
    }
    if (status == SMK_OK && rename(temporary, path) != 0) {
        status = fail(path, error);
    }
    return status;
}

/* The text of after.ptx takes the place of the present one. */
static smk_status replace(const char *folder, char **text, size_t *length, bool *changed, smk_error *error)
{
    char path[PATH_BYTES], *after = NULL;
    size_t after_length = 0;
    smk_status status = join(folder, "after.ptx", path, error);
    if (status == SMK_OK) {
        status = read_file(path, &after, &after_length, error);
    }
    if (status == SMK_OK && after == NULL) {
        errno = ENOENT;
        status = fail(path, error);
    }
    if (status == SMK_OK) {
        status = join(folder, "applied", path, error);
    }
    if (status == SMK_OK) {
        status = write_file(path, "wb", "", 0, error);
    }
    if (status != SMK_OK) {
        smk_heap_free(after);
        return status;
    }
    smk_heap_free(*text);
    *text = after;
    *length = after_length;
    *changed = true;
    return SMK_OK;
}

bool smk_mutation_is_recording(void)
{
    char path[PATH_BYTES];
    const char *folder = getenv("SMEMKIT_MUTATION");
    return folder != NULL && folder[0] != '\0' && join(folder, "before.ptx", path, NULL) == SMK_OK &&
           access(path, F_OK) != 0;
}

smk_status smk_mutation_note(const char *text, size_t length, const char *executed, smk_error *error)
{
    char name[96], path[PATH_BYTES];
    (void)snprintf(name, sizeof name, "%016" PRIx64 ".executed", hash(text, length));
    smk_status status = join(getenv("SMEMKIT_MUTATION"), name, path, error);
    return status == SMK_OK ? write_file(path, "ab", executed, strlen(executed), error) : status;
}

smk_status smk_mutation_apply(char **text, size_t *length, bool *changed, smk_error *error)
{
    const char *folder = getenv("SMEMKIT_MUTATION");
    *changed = false;
    if (folder == NULL || folder[0] == '\0') {
        return SMK_OK;
    }
    char path[PATH_BYTES], *before = NULL;
    size_t before_length = 0;
    smk_status status = join(folder, "before.ptx", path, error);
    if (status == SMK_OK) {
        status = read_file(path, &before, &before_length, error);
    }
    if (status == SMK_OK && before == NULL) {
        return record(folder, *text, *length, error);
    }
    if (status == SMK_OK && before_length == *length && memcmp(before, *text, *length) == 0) {
        status = replace(folder, text, length, changed, error);
    }
    smk_heap_free(before);
    return status;
}
