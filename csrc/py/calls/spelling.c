#include "py/calls/spelling.h"

const char *smk_spelling_space(smk_space space)
{
    static const char *const words[] = {
        [SMK_SPACE_GENERIC] = "generic", [SMK_SPACE_GLOBAL] = "global", [SMK_SPACE_SHARED] = "shared",
        [SMK_SPACE_LOCAL] = "local",     [SMK_SPACE_CONST] = "const",   [SMK_SPACE_PARAM] = "param",
    };
    return words[space];
}

const char *smk_spelling_role(smk_fusion_role role)
{
    static const char *const words[] = {
        [SMK_FUSION_ALONE] = "alone",
        [SMK_FUSION_LEADER] = "leader",
        [SMK_FUSION_MEMBER] = "member",
        [SMK_FUSION_GONE] = "gone",
    };
    return words[role];
}
