/* The capture of a thread's launches, behind smemkit.profile, smemkit.check and the timing of smemkit.explain.
 *
 * While a thread has a capture, each of its launches leaves a record: it is counted or checked on the simulator, or
 * timed on the GPU. The backends ask smk_capture_mode_now where they launch. While the process is watched, threads
 * without a capture check their launches on the simulator. Nothing here needs the GIL. */
#ifndef SMK_PY_BACKENDS_CAPTURE_H
#define SMK_PY_BACKENDS_CAPTURE_H

#include "base/launch.h"
#include "sim/check/check.h"
#include "sim/profile/report.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum smk_capture_mode {
    SMK_CAPTURE_OFF,
    SMK_CAPTURE_PROFILE, /* on the simulator, counted */
    SMK_CAPTURE_CHECK,   /* on the simulator, checked */
    SMK_CAPTURE_TIME     /* on the GPU, timed */
} smk_capture_mode;

enum { SMK_CAPTURE_MODE_COUNT = SMK_CAPTURE_TIME + 1 };

/* One launch. The pointers are valid until the execution that it belongs to ends. */
typedef struct smk_capture_record {
    struct smk_capture_record *next;
    smk_capture_mode mode;
    const char *kernel;
    const smk_module *module; /* NULL in the mode TIME */
    smk_dim3 grid, block;
    uint64_t shared_bytes;
    smk_count_result count;
    smk_report_line *lines;
    uint32_t line_count;
    smk_check_result check;
    double time_ms;
    uint64_t cleared_bytes; /* of memory that the call has cleared before the launch */
    bool begins_early;      /* as smk_launch.begins_early */
} smk_capture_record;

typedef struct smk_capture {
    smk_capture_mode mode;
    uint64_t blocks;             /* blocks of each launch to simulate; 0: all */
    bool model;                  /* PROFILE: count accesses as ptxas fuses them */
    bool borrow;                 /* PROFILE: what a call reads or writes is not copied, where that can be */
    bool reverse;                /* CHECK: blocks and warps begin with the last */
    uint64_t padding;            /* CHECK: free bytes between variables, and behind what is allocated meanwhile */
    smk_capture_record *records; /* not yet taken, oldest first */
    uint64_t cleared_bytes;      /* since the last launch */
} smk_capture;

/* From here to the end, the launches of the calling thread are captured. Captures do not nest. */
void smk_capture_begin(smk_capture *capture);
void smk_capture_end(void); /* frees the records that have not been taken */

/* Checks each launch on the simulator that no capture of its thread records, or ends that. The records are taken as
 * those of a capture. */
void smk_capture_watch(bool on);

/* The capture of the calling thread. Without one it is the thread's part of the watch, whose options are 0. */
const smk_capture *smk_capture_current(void);

/* Its mode; SMK_CAPTURE_OFF without one, and CHECK where the process is watched. */
smk_capture_mode smk_capture_mode_now(void);

/* Notes that the calling thread clears memory for its next launch. */
void smk_capture_note_clear(uint64_t bytes);

/* Whether a capture demands that the launches of the calling thread run on the simulator; a watch does not. */
bool smk_capture_simulates(void);

/* The record of a launch, with its mode, kernel, grid and block; NULL with a MEMORY error. The caller hands it to
 * smk_capture_close. */
smk_capture_record *smk_capture_open(smk_capture_mode mode, const char *kernel, const smk_launch *launch,
                                     smk_error *error);

/* Keeps the record where the launch went well, else frees it. Accepts NULL. */
void smk_capture_close(smk_capture_record *record, smk_status status);

/* The oldest record that is kept, which the caller frees; NULL where there is none. */
smk_capture_record *smk_capture_take(void);
void smk_capture_free(smk_capture_record *record); /* accepts NULL */

#endif
