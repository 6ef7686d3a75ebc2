/* Watched calls: what smemkit.profile and smemkit.check are made of.
 *
 * _watch installs a watch on its thread and calls a Python function; each launch that the thread makes meanwhile
 * leaves a record, which becomes a dict as soon as the launch is over.
 */
#ifndef SMK_PY_BACKENDS_CAPTURE_H
#define SMK_PY_BACKENDS_CAPTURE_H

#include "py/state.h"

#include "base/launch.h"
#include "sim/check/check.h"
#include "sim/profile/report.h"

typedef enum smk_capture_mode {
    SMK_CAPTURE_PROFILE,
    SMK_CAPTURE_CHECK,
    SMK_CAPTURE_TIME,
    SMK_CAPTURE_MODE_COUNT
} smk_capture_mode;

/* One launch. What it points to lives as long as the launch's execution. */
typedef struct smk_capture_record {
    struct smk_capture_record *next;
    smk_capture_mode mode;
    const char *kernel;
    const smk_module *module; /* NULL: of mode TIME */
    smk_dim3 grid, block;
    uint64_t shared_bytes;
    smk_count_result count;
    smk_report_line *lines;
    uint32_t line_count;
    smk_check_result check;
    double time_ms;
} smk_capture_record;

/* True while this thread's launches must run on the simulator; and the exception for one that cannot: -1. */
bool smk_capture_simulates(void);
int smk_capture_refuse(const smk_state *state);

/* smk_grid_run as this thread's watch wants it (sim), without the GIL. */
smk_status smk_capture_run(smk_program *program, const smk_module *module, uint32_t entry, const char *kernel,
                           const smk_launch *launch, const smk_run_options *options, smk_run_result *result,
                           smk_error *error);

/* True where this thread's launches on the GPU are timed; and the record of one. Without the GIL. */
bool smk_capture_times(void);
smk_status smk_capture_note_time(const char *kernel, const smk_launch *launch, uint64_t shared_bytes, double time_ms,
                                 smk_error *error);

/* With the GIL, at the end of each execution: this thread's new records become dicts (`keep`) or are dropped. 0, or -1
 * with an exception. */
int smk_capture_collect(const smk_state *state, bool keep);

/* A launch of that kernel has ended with an error, which the watched function may hide: it is noted beside the launches,
 * so that no report speaks of the rest alone. 0, or -1 with an exception. */
int smk_capture_note_refusal(const char *kernel, const char *message);

/* watch_dict.c: a record as a dict, a new reference; NULL with an exception. `text` is the PTX as a str. */
PyObject *smk_capture_describe(const smk_state *state, const smk_capture_record *record, PyObject *text);

extern PyMethodDef smk_capture_methods[];

#endif
