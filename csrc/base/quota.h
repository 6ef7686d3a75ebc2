/* How much of the machine this process may use: what containers, batch systems and taskset leave of it. */
#ifndef SMK_BASE_QUOTA_H
#define SMK_BASE_QUOTA_H

#include <stdint.h>

/* What control groups allow, the smallest of all groups that the process is in. */
typedef struct smk_quota {
    uint64_t memory_bytes; /* UINT64_MAX: no limit */
    unsigned cores;        /* that may be busy at once, rounded up; 0: no limit */
} smk_quota;

/* Reads <root>/proc/self/cgroup, <root>/proc/self/mountinfo, and below <root> the folders that they name, of both versions
 * of control groups. `root` is "" but in tests. What cannot be read limits nothing. */
smk_quota smk_quota_read(const char *root);

/* The host's memory, cut by control groups; 0 where it is not known. Read once a process. */
uint64_t smk_quota_memory(void);

/* The cores that the calling thread may run on, cut by control groups, whose quota is read once a process; at least
 * 1. */
unsigned smk_quota_cores(void);

#endif
