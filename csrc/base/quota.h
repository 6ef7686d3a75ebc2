/* The memory and cores that this process may use, as limited by containers, batch systems and taskset. */
#ifndef SMK_BASE_QUOTA_H
#define SMK_BASE_QUOTA_H

#include <stdint.h>

/* The limits of control groups: the smallest of all groups of the process. */
typedef struct smk_quota {
    uint64_t memory_bytes; /* UINT64_MAX: no limit */
    unsigned cores;        /* that may be busy at once, rounded up; 0: no limit */
} smk_quota;

/* Reads <root>/proc/self/cgroup, <root>/proc/self/mountinfo, and below <root> the folders that they name, of both
 * versions of control groups. `root` is "" except in tests. Files that cannot be read set no limit. */
smk_quota smk_quota_read(const char *root);

/* The host's memory, limited by control groups; 0: not known. Read once a process. */
uint64_t smk_quota_memory(void);

/* The cores of the calling thread's affinity mask, limited by control groups, which are read once a process; at least
 * 1. */
unsigned smk_quota_cores(void);

#endif
