/* Coverage of a whole program: where SMEMKIT_COVERAGE names a file, all launches are counted, and the end of each
 * process writes a file of that name and its number, which `smemkit coverage` reads. */
#include "base/heap.h"
#include "runtime/outcome.h"
#include "sim/code/coverage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static const char *name_files(void)
{
    const char *name = getenv("SMEMKIT_COVERAGE");
    return name == NULL || name[0] == '\0' ? NULL : name;
}

__attribute__((constructor)) static void begin_coverage(void)
{
    if (name_files() != NULL) {
        smk_coverage_start();
    }
}

static void write_file(const char *path, const char *text, size_t length)
{
    FILE *stream = fopen(path, "wxe");
    bool written = stream != NULL && fwrite(text, 1, length, stream) == length;
    written = stream != NULL && fclose(stream) == 0 && written;
    if (!written) {
        smk_outcome_say("coverage cannot be written to %.200s: %s", path, strerror(errno));
    }
}

__attribute__((destructor)) static void end_coverage(void)
{
    char path[PATH_BYTES], *text = NULL;
    size_t length = 0;
    smk_error error = {0};
    if (name_files() == NULL || smk_coverage_modules() == NULL) {
        return;
    }
    const int fits = snprintf(path, sizeof path, "%s.%ld.%lld", name_files(), (long)getpid(), (long long)time(NULL));
    if (fits <= 0 || (size_t)fits >= sizeof path || smk_coverage_text_write(&text, &length, &error) != SMK_OK) {
        smk_outcome_say("coverage cannot be written: %s", text == NULL ? "its name is too long" : error.message);
        return;
    }
    write_file(path, text, length);
    smk_heap_free(text);
}
