/* For affinity masks, sysconf and strtok_r under -std=c11. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "base/quota.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 8192, MASK_CPUS_MAX = 1 << 16 };

/* Version 1 has a hierarchy for each controller or several, version 2 one for all. */
typedef enum hierarchy { MEMORY_1, CPU_1, UNIFIED, HIERARCHIES } hierarchy;

static const char *const controllers[HIERARCHIES] = {[MEMORY_1] = "memory", [CPU_1] = "cpu", [UNIFIED] = ""};

/* The groups of a hierarchy, as text of the two files of /proc; empty where there is none. */
typedef struct groups {
    char own[PATH_BYTES];   /* the process's group, from the hierarchy's root */
    char root[PATH_BYTES];  /* the group that is mounted */
    char mount[PATH_BYTES]; /* the folder where it is */
} groups;

/* Does a list, separated by commas, have the word? */
static bool lists(const char *list, const char *word)
{
    const size_t length = strlen(word);
    while (list != NULL) {
        if (strncmp(list, word, length) == 0 && (list[length] == ',' || list[length] == '\0')) {
            return true;
        }
        list = strchr(list, ',');
        list = list == NULL ? NULL : list + 1;
    }
    return false;
}

/* Reads a line without its end; false at the end of the file. Longer lines than those of interest are cut. */
static bool read_line(FILE *file, char line[LINE_BYTES])
{
    if (fgets(line, LINE_BYTES, file) == NULL) {
        return false;
    }
    size_t length = strlen(line);
    if (length > 0 && line[length - 1] == '\n') {
        line[length - 1] = '\0';
        return true;
    }
    for (int c = fgetc(file); c != EOF && c != '\n';) {
        c = fgetc(file);
    }
    return true;
}

static FILE *open_file(const char *root, const char *folder, const char *name)
{
    char path[3 * PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
    return length > 0 && (size_t)length < sizeof path ? fopen(path, "r") : NULL;
}

/* "4:memory:/docker/1a2b" and, of version 2, "0::/user.slice". */
static void read_own(const char *root, groups found[HIERARCHIES])
{
    char line[LINE_BYTES];
    FILE *file = open_file(root, "/proc/self", "cgroup");
    while (file != NULL && read_line(file, line)) {
        char *list = strchr(line, ':');
        char *path = list == NULL ? NULL : strchr(list + 1, ':');
        if (path == NULL || strlen(path + 1) >= PATH_BYTES) {
            continue;
        }
        *path++ = '\0';
        list++;
        for (int i = 0; i < HIERARCHIES; i++) {
            const bool fits = i == UNIFIED ? list[0] == '\0' : lists(list, controllers[i]);
            if (fits) {
                (void)snprintf(found[i].own, PATH_BYTES, "%s", path);
            }
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

/* Copies a path and decodes its escapes, such as "\040" for a blank. */
static void copy_unescaped(char target[PATH_BYTES], const char *source)
{
    size_t used = 0;
    while (*source != '\0' && used + 1 < PATH_BYTES) {
        const bool octal = source[0] == '\\' && source[1] >= '0' && source[1] <= '3' && source[2] >= '0' &&
                           source[2] <= '7' && source[3] >= '0' && source[3] <= '7';
        target[used++] = octal ? (char)((source[1] - '0') * 64 + (source[2] - '0') * 8 + (source[3] - '0')) : source[0];
        source += octal ? 4 : 1;
    }
    target[used] = '\0';
}

/* "35 31 0:32 /docker/1a2b /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory" */
static void read_mount(char *line, groups found[HIERARCHIES])
{
    enum { ROOT = 3, MOUNT = 4, FIELDS = 5, TYPE = 0, OPTIONS = 2, MORE = 3 };
    char *field[FIELDS] = {NULL}, *more[MORE] = {NULL}, *rest = NULL;
    char *second = strstr(line, " - ");
    if (second == NULL) {
        return;
    }
    *second = '\0';
    field[0] = strtok_r(line, " ", &rest);
    for (int i = 1; i < FIELDS && field[i - 1] != NULL; i++) {
        field[i] = strtok_r(NULL, " ", &rest);
    }
    more[0] = strtok_r(second + strlen(" - "), " ", &rest);
    for (int i = 1; i < MORE && more[i - 1] != NULL; i++) {
        more[i] = strtok_r(NULL, " ", &rest);
    }
    if (field[MOUNT] == NULL || more[TYPE] == NULL) {
        return;
    }
    for (int i = 0; i < HIERARCHIES; i++) {
        const bool fits = i == UNIFIED ? strcmp(more[TYPE], "cgroup2") == 0
                                       : strcmp(more[TYPE], "cgroup") == 0 && more[OPTIONS] != NULL &&
                                             lists(more[OPTIONS], controllers[i]);
        if (fits && found[i].mount[0] == '\0') {
            copy_unescaped(found[i].root, field[ROOT]);
            copy_unescaped(found[i].mount, field[MOUNT]);
        }
    }
}

static void read_mounts(const char *root, groups found[HIERARCHIES])
{
    char line[LINE_BYTES];
    FILE *file = open_file(root, "/proc/self", "mountinfo");
    while (file != NULL && read_line(file, line)) {
        read_mount(line, found);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

/* The number at the beginning of a file, or behind a word at the beginning of one of its lines; false where there is
 * none, as for "max" and -1. */
static bool read_number(const char *root, const char *folder, const char *name, const char *word, uint64_t *number)
{
    char line[LINE_BYTES];
    const size_t length = strlen(word);
    bool found = false;
    FILE *file = open_file(root, folder, name);
    while (file != NULL && !found && read_line(file, line)) {
        const char *text = line + length;
        found = strncmp(line, word, length) == 0 && *text >= '0' && *text <= '9';
        *number = found ? strtoull(text, NULL, 10) : *number;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

/* Version 1 writes no limit as the largest number of pages. */
static void limit_memory(smk_quota *quota, uint64_t bytes)
{
    if (bytes >= UINT64_C(1) << 62) {
        return;
    }
    quota->memory_bytes = bytes < quota->memory_bytes ? bytes : quota->memory_bytes;
}

static void limit_cores(smk_quota *quota, uint64_t busy, uint64_t period)
{
    const uint64_t cores = period == 0 ? 0 : busy / period + (busy % period != 0);
    if (cores > 0 && (quota->cores == 0 || cores < quota->cores)) {
        quota->cores = (unsigned)cores;
    }
}

/* Reads the limits of one group. */
static void read_group(const char *root, const char *folder, hierarchy kind, smk_quota *quota)
{
    uint64_t number = 0, period = 0;
    if (kind == MEMORY_1) {
        if (read_number(root, folder, "memory.limit_in_bytes", "", &number)) {
            limit_memory(quota, number);
        }
        /* includes groups above that a container does not see */
        if (read_number(root, folder, "memory.stat", "hierarchical_memory_limit ", &number)) {
            limit_memory(quota, number);
        }
    } else if (kind == CPU_1) {
        if (read_number(root, folder, "cpu.cfs_quota_us", "", &number) &&
            read_number(root, folder, "cpu.cfs_period_us", "", &period)) {
            limit_cores(quota, number, period);
        }
    } else {
        char line[LINE_BYTES] = "";
        unsigned long long busy = 0, of = 0;
        FILE *file = open_file(root, folder, "cpu.max"); /* "150000 100000" or "max 100000" */
        if (file != NULL && read_line(file, line) && sscanf(line, "%llu %llu", &busy, &of) == 2) {
            limit_cores(quota, busy, of);
        }
        if (file != NULL) {
            (void)fclose(file);
        }
        if (read_number(root, folder, "memory.max", "", &number)) {
            limit_memory(quota, number);
        }
    }
}

/* The group of the process and all above it, up to what is mounted. */
static void read_groups(const char *root, const groups *where, hierarchy kind, smk_quota *quota)
{
    char folder[2 * PATH_BYTES];
    const size_t mounted = strcmp(where->root, "/") == 0 ? 0 : strlen(where->root), least = strlen(where->mount);
    const bool below = strncmp(where->own, where->root, mounted) == 0 &&
                       (where->own[mounted] == '/' || where->own[mounted] == '\0') && strstr(where->own, "/..") == NULL;
    if (where->mount[0] == '\0') {
        return;
    }
    /* a group that lies elsewhere is one of another namespace: the mounted one is the nearest to be seen */
    (void)snprintf(folder, sizeof folder, "%s%s", where->mount, below ? where->own + mounted : "");
    for (;;) { /* each time a folder less */
        read_group(root, folder, kind, quota);
        char *last = strrchr(folder, '/');
        if (last == NULL || (size_t)(last - folder) < least) {
            break;
        }
        *last = '\0';
    }
}

smk_quota smk_quota_read(const char *root)
{
    smk_quota quota = {.memory_bytes = UINT64_MAX};
    groups found[HIERARCHIES] = {0};
    read_own(root, found);
    read_mounts(root, found);
    for (int i = 0; i < HIERARCHIES; i++) {
        read_groups(root, &found[i], (hierarchy)i, &quota);
    }
    return quota;
}

/* Two threads may read it at the same time, with the same result. */
static smk_quota get_quota(void)
{
    static _Atomic uint64_t memory_bytes;
    static atomic_uint cores;
    static atomic_bool known;
    if (!atomic_load(&known)) {
        const smk_quota fresh = smk_quota_read("");
        atomic_store(&memory_bytes, fresh.memory_bytes);
        atomic_store(&cores, fresh.cores);
        atomic_store(&known, true);
    }
    return (smk_quota){atomic_load(&memory_bytes), atomic_load(&cores)};
}

uint64_t smk_quota_memory(void)
{
    const uint64_t allowed = get_quota().memory_bytes;
    uint64_t present = 0;
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    present = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
#endif
    if (allowed == UINT64_MAX) {
        return present;
    }
    return present == 0 || allowed < present ? allowed : present;
}

/* 0 where it is not known. The system refuses a mask that is shorter than the machine's. */
static unsigned count_affinity(void)
{
#if defined(CPU_ALLOC)
    for (size_t cpus = CPU_SETSIZE; cpus <= MASK_CPUS_MAX; cpus *= 4) {
        const size_t bytes = CPU_ALLOC_SIZE(cpus);
        cpu_set_t *mask = CPU_ALLOC(cpus);
        if (mask == NULL) {
            return 0;
        }
        CPU_ZERO_S(bytes, mask);
        const bool read = sched_getaffinity(0, bytes, mask) == 0;
        const int count = read ? CPU_COUNT_S(bytes, mask) : 0;
        CPU_FREE(mask);
        if (read) {
            return (unsigned)count;
        }
    }
#endif
    return 0;
}

unsigned smk_quota_cores(void)
{
    const unsigned allowed = get_quota().cores;
    unsigned cores = count_affinity();
#if defined(_SC_NPROCESSORS_ONLN)
    if (cores == 0) {
        const long online = sysconf(_SC_NPROCESSORS_ONLN);
        cores = online > 0 ? (unsigned)online : 0;
    }
#endif
    cores = cores == 0 ? 1 : cores;
    return allowed != 0 && allowed < cores ? allowed : cores;
}
