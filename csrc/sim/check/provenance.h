/* Pointer provenance: from which variable or kernel argument the address of an access is computed.
 *
 * An address is the sum of one pointer and of numbers. The analysis follows pointers through the registers of a
 * function, with all definitions of a register taken together: from the address of a variable, and from a kernel
 * parameter whose value lies in an allocation. A value loaded from memory may be a pointer or a number, so its origin
 * is unknown, unless it is added to a known pointer. An access with exactly one origin must stay inside it.
 */
#ifndef SMK_SIM_CHECK_PROVENANCE_H
#define SMK_SIM_CHECK_PROVENANCE_H

#include "sim/check/finding.h"
#include "sim/code/image.h"
#include "sim/code/memory_view.h"

enum { SMK_ORIGIN_MAX = 61, SMK_ORIGIN_NONE = 0 };

/* A variable or an allocation. */
typedef struct smk_origin {
    smk_space space;              /* SHARED, or GLOBAL (constants too) */
    uint64_t start, end;          /* addresses in that space */
    const smk_variable *variable; /* NULL: an allocation that a parameter points to */
    uint32_t parameter;           /* index of that parameter of the entry */
} smk_origin;

typedef struct smk_provenance {
    smk_origin origin[SMK_ORIGIN_MAX];
    uint32_t count;
    uint8_t *origin_of[2]; /* by instruction id: number of the origin, plus 1; NONE: unknown. [1]: of a copy's source */
} smk_provenance;

/* Errors: MEMORY. */
smk_status smk_provenance_create(smk_provenance *provenance, const smk_instruction_ids *ids, const smk_image *image,
                                 const uint64_t *addresses, const smk_launch *launch, const smk_memory_view *view,
                                 smk_error *error);
void smk_provenance_free(smk_provenance *provenance);

/* "a (128 bytes)", "args[1] (y, float32[99])", "the allocation of 64 bytes that args[1] points to". */
void smk_provenance_name(const smk_origin *origin, const smk_launch *launch, char *text, size_t size);

#endif
