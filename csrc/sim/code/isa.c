#include "sim/code/isa.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[SMK_ISA_COUNT] = {"baseline", "avx2", "avx512"};

static smk_isa detect(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return SMK_ISA_BASELINE;
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return wide ? SMK_ISA_AVX512 : SMK_ISA_AVX2;
#else
    return SMK_ISA_BASELINE;
#endif
}

smk_status smk_isa_check(smk_error *error)
{
    const char *const wanted = getenv("SMEMKIT_ISA");
    if (wanted == NULL || wanted[0] == '\0')
        return SMK_OK;
    for (int i = 0; i < SMK_ISA_COUNT; i++)
        if (strcmp(wanted, names[i]) == 0)
            return SMK_OK;
    return smk_status_fail(
        error, SMK_ARGUMENT,
        "the environment variable SMEMKIT_ISA is '%.100s'; accepted are 'baseline', 'avx2' and 'avx512'", wanted);
}

/* A set that the processor does not have changes nothing. Unknown words are reported by smk_isa_check. */
smk_isa smk_isa_current(void)
{
    const smk_isa best = detect();
    const char *const wanted = getenv("SMEMKIT_ISA");
    for (int i = 0; wanted != NULL && i < (int)best; i++)
        if (strcmp(wanted, names[i]) == 0)
            return (smk_isa)i;
    return best;
}

const char *smk_isa_name(void)
{
    return names[smk_isa_current()];
}
