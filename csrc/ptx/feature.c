#include "ptx/feature.h"

#include <string.h>

typedef struct feature_row {
    const char *id;
    const char *reason;
} feature_row;

static const feature_row features[] = {
#define SMK_PTX_FEATURE(id, name, source, advice) {#id, "the simulator does not execute " source "; " advice},
#include "ptx/unsupported.def"
};

const char *smk_feature_reason(smk_feature feature)
{
    return features[feature].reason;
}

smk_feature smk_feature_find(const char *id)
{
    unsigned i = 0;
    while (i < SMK_FEATURE_COUNT && strcmp(features[i].id, id) != 0) {
        i++;
    }
    return (smk_feature)i;
}

smk_feature smk_feature_of_function(smk_text name)
{
    static const struct {
        const char *name;
        smk_feature feature;
    } functions[] = {
#define SMK_PTX_UNSUPPORTED_FUNCTION(spelling, feature) {spelling, SMK_FEATURE_##feature},
#include "ptx/unsupported.def"
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (smk_text_is(name, functions[i].name)) {
            return functions[i].feature;
        }
    }
    return SMK_FEATURE_COUNT;
}
