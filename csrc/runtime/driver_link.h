/* The driver's linker: joins PTX texts. */
#ifndef SMK_RUNTIME_DRIVER_LINK_H
#define SMK_RUNTIME_DRIVER_LINK_H

#include "runtime/abi.h"

typedef struct smk_cuda_link smk_cuda_link;

extern smk_cuda cuLinkCreate_v2(unsigned count, const int *options, void **values, smk_cuda_link **made);
extern smk_cuda cuLinkAddData_v2(smk_cuda_link *made, int type, const void *data, size_t bytes, const char *name,
                                 unsigned count, const int *options, void **values);
extern smk_cuda cuLinkComplete(smk_cuda_link *made, void **code, size_t *bytes);
extern smk_cuda cuLinkDestroy(smk_cuda_link *made);

/* Says that machine code was to be linked. */
void smk_cuda_link_refuse(void);

/* Says that the logs of the compiler, where options ask for them, are empty: messages go to stderr. */
void smk_cuda_link_empty_logs(unsigned count, const int *options, void **values);

#endif
