/* What `smemkit run` asks of the stand-in, by environment variables. */
#ifndef SMK_RUNTIME_SETTINGS_H
#define SMK_RUNTIME_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum smk_settings_mode { SMK_SETTINGS_RUN, SMK_SETTINGS_CHECK, SMK_SETTINGS_PROFILE } smk_settings_mode;

typedef struct smk_settings {
    smk_settings_mode mode; /* SMEMKIT_RUN_MODE: "check", "profile", else run */
    const char *report;     /* SMEMKIT_RUN_REPORT: the file that the report is added to; NULL: none */
    const char *card;       /* SMEMKIT_RUN_CARD: the name of the card to be; NULL: H200 */
    bool lockstep;          /* SMEMKIT_INDEPENDENT is 0: no independent thread scheduling */
    uint64_t max_steps;     /* SMEMKIT_MAX_STEPS: of a launch */
} smk_settings;

/* Read once, when first asked for. */
const smk_settings *smk_settings_get(void);

#endif
