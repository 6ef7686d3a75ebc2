#include "runtime/settings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Of a launch: hours of many processors. The launches of programs are as large as a GPU admits, and loops that never end
 * are found as livelocks long before. */
#define MAX_STEPS UINT64_C(2000000000000)

static smk_settings settings;

static const char *read_text(const char *name)
{
    const char *text = getenv(name);
    return text == NULL || text[0] == '\0' ? NULL : text;
}

static void read_all(void)
{
    const char *mode = read_text("SMEMKIT_RUN_MODE"), *steps = read_text("SMEMKIT_MAX_STEPS");
    if (mode != NULL) {
        settings.mode = strcmp(mode, "check") == 0     ? SMK_SETTINGS_CHECK
                        : strcmp(mode, "profile") == 0 ? SMK_SETTINGS_PROFILE
                                                       : SMK_SETTINGS_RUN;
    }
    settings.report = read_text("SMEMKIT_RUN_REPORT");
    settings.card = read_text("SMEMKIT_RUN_CARD");
    const char *independent = read_text("SMEMKIT_INDEPENDENT");
    settings.lockstep = independent != NULL && strcmp(independent, "0") == 0;
    settings.max_steps = steps == NULL ? MAX_STEPS : strtoull(steps, NULL, 10);
}

const smk_settings *smk_settings_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, read_all);
    return &settings;
}
