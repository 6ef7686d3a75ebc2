/* The instruction set whose clones of the handlers this processor runs. */
#ifndef SMK_SIM_CODE_ISA_H
#define SMK_SIM_CODE_ISA_H

#include "base/status.h"

typedef enum smk_isa { SMK_ISA_BASELINE, SMK_ISA_AVX2, SMK_ISA_AVX512, SMK_ISA_COUNT } smk_isa;

/* The best set that the processor has; SMEMKIT_ISA=baseline|avx2 lowers it. */
smk_isa smk_isa_current(void);

/* Its name: "baseline", "avx2" or "avx512". */
const char *smk_isa_name(void);

/* ARGUMENT where SMEMKIT_ISA is an unknown word. */
smk_status smk_isa_check(smk_error *error);

#endif
