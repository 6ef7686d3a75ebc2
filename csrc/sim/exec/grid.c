#include "sim/exec/grid.h"

#include "base/heap.h"
#include "base/poll.h"
#include "base/quota.h"
#include "base/workers.h"
#include "sim/code/bits.h"
#include "sim/code/observer.h"
#include "sim/code/program.h"
#include "sim/exec/access.h"
#include "sim/exec/block.h"
#include "sim/exec/block_order.h"
#include "sim/exec/cover_count.h"
#include "sim/exec/grid_setup.h"
#include "sim/exec/kernel_heap.h"
#include "sim/exec/livelock.h"

#include <fenv.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
    TURN_STEPS = 16384,       /* between two checks of the time and the flags */
    ROTATION_STEPS = 1 << 18, /* steps of a block before the next one starts beside it */
    ORPHAN_STEPS = 1 << 26,   /* further steps of a launch in which blocks may wait for a failed one */
    RESIDENT_FIRST = 16,      /* blocks beside each other while one of them may still end */
    RESIDENT_MOST = 1024 /* and where all wait: a GPU that holds 8 of them on each multiprocessor has about so many */
};

/* The worker pool of a launch: what its host threads share. */
typedef struct worker_pool {
    const smk_run *run;
    uint64_t blocks;        /* number of blocks to run */
    unsigned resident_max;  /* of an ordered launch: blocks that take turns */
    unsigned resident_most; /* and how many may where they wait for others */
    bool interleaved;       /* blocks wait for each other */
    uint64_t grid_blocks;   /* number of blocks of the grid */
    _Atomic uint64_t max_steps;
    _Atomic uint64_t next; /* index of the next block to start */
    _Atomic uint64_t steps;
    _Atomic uint64_t done;   /* number of blocks that have ended */
    _Atomic uint64_t failed; /* lowest failed block; blocks above it need not run */
    _Atomic bool stop;
    pthread_mutex_t lock; /* guards what follows, and the observer where it creates and frees */
    bool has_error;
    uint64_t error_block; /* the block of `error` */
    smk_error error;
    /* used by the caller's thread alone */
    bool interrupted;
    bool orphaned; /* the present process is a fork of the one that started the launch */
    smk_workers *workers;
} worker_pool;

static void record(worker_pool *pool, uint64_t block, const smk_error *error)
{
    (void)pthread_mutex_lock(&pool->lock);
    if (!pool->has_error || block < pool->error_block) {
        pool->error = *error;
        pool->error_block = block;
        pool->has_error = true;
    }
    (void)pthread_mutex_unlock(&pool->lock);
}

/* Polls the caller. Runs on its thread alone. */
static void poll_caller(worker_pool *pool)
{
    smk_run_progress *progress = pool->run->options->progress;
    if (progress != NULL) {
        progress->blocks_done = atomic_load_explicit(&pool->done, memory_order_relaxed);
        progress->steps = atomic_load_explicit(&pool->steps, memory_order_relaxed);
    }
    if (!pool->interrupted && smk_poll_stop_now()) {
        pool->interrupted = true;
        atomic_store(&pool->stop, true);
    }
    if (!pool->orphaned && smk_workers_are_lost(pool->workers)) {
        /* a fork has no other threads, and one of them may have held the lock */
        pool->orphaned = true;
        atomic_store(&pool->stop, true);
        (void)pthread_mutex_init(&pool->lock, NULL);
    }
}

/* Fails the launch, whose step budget is spent, with the present location of this block. */
static void fail_budget(worker_pool *pool, smk_block *block)
{
    uint32_t index = block->live == 0 ? 0 : smk_bits_first(block->ready != 0 ? block->ready : block->live);
    smk_warp *warp = &block->warp[index];
    /* a warp that has not started has no active lanes yet */
    uint32_t mask = warp->active != 0 ? warp->active : warp->control->lanes;
    (void)smk_warp_fail(warp, warp->control->pc, mask, SMK_STEP_BUDGET,
                        "the kernel executed more than %" PRIu64
                        " warp instructions, its step budget: either a loop never "
                        "ends (this is where it was), or the launch needs a larger max_steps, or SMEMKIT_MAX_STEPS",
                        atomic_load(&pool->max_steps));
    record(pool, UINT64_MAX, &block->error);
    atomic_store(&pool->stop, true);
}

/* Tests a block that has run for long for a livelock. Other blocks may run at the same time, where their order does
 * not matter. */
static smk_block_state check_livelock(worker_pool *pool, smk_block *block)
{
    bool livelocked = false;
    block->next_livelock_check = 2 * block->steps;
    const bool alone = pool->run->options->alone && pool->grid_blocks == 1;
    smk_block_state state = SMK_BLOCK_RUNNING;
    for (unsigned turn = 0; turn == 0 || (livelocked && smk_livelock_pass_time(block, turn - 1)); turn++) {
        state = smk_livelock_find(block, alone, &livelocked);
    }
    if (livelocked) {
        smk_livelock_fail(block, 0);
        state = SMK_BLOCK_FAILED;
    }
    return state;
}

/* Runs a block for about `steps`; RUNNING where it has not ended, or was abandoned (`stop`, or a lower block
 * failed). */
static smk_block_state advance(worker_pool *pool, smk_block *block, uint64_t steps, bool caller)
{
    uint64_t begin = block->steps;
    for (;;) {
        uint64_t before = block->steps;
        smk_block_state state = smk_block_run(block, TURN_STEPS);
        if (state == SMK_BLOCK_RUNNING && block->steps >= block->next_livelock_check && !pool->run->ordered) {
            state = check_livelock(pool, block);
        }
        uint64_t spent = block->steps - before;
        uint64_t total = atomic_fetch_add(&pool->steps, spent) + spent;
        if (caller) {
            poll_caller(pool);
        }
        if (state == SMK_BLOCK_FAILED) {
            return state;
        }
        if (total > atomic_load_explicit(&pool->max_steps, memory_order_relaxed)) {
            fail_budget(pool, block);
            return SMK_BLOCK_RUNNING;
        }
        if (state == SMK_BLOCK_DONE) {
            atomic_fetch_add(&pool->done, 1);
            return state;
        }
        if (atomic_load_explicit(&pool->stop, memory_order_relaxed) ||
            atomic_load_explicit(&pool->failed, memory_order_relaxed) < block->number ||
            block->steps - begin >= steps) {
            return SMK_BLOCK_RUNNING;
        }
    }
}

/* These four call the observer where a block's memory is created and freed, and where a block starts and ends. */
static bool open_block(worker_pool *pool, smk_block **block)
{
    const smk_observer *observer = pool->run->observer;
    smk_error error;
    smk_status status = smk_block_create(pool->run, block, &error);
    if (status == SMK_OK && observer != NULL && observer->open != NULL) {
        (void)pthread_mutex_lock(&pool->lock);
        status = observer->open(observer->context, *block, &(*block)->observer_state, &error);
        (void)pthread_mutex_unlock(&pool->lock);
        if (status != SMK_OK) {
            smk_block_free(*block);
            *block = NULL;
        }
    }
    if (status != SMK_OK) {
        record(pool, UINT64_MAX - 1, &error);
        atomic_store(&pool->stop, true);
    }
    return status == SMK_OK;
}

static void close_block(worker_pool *pool, smk_block *block)
{
    const smk_observer *observer = pool->run->observer;
    if (block != NULL && observer != NULL && observer->close != NULL) {
        (void)pthread_mutex_lock(&pool->lock);
        observer->close(observer->context, block->observer_state);
        (void)pthread_mutex_unlock(&pool->lock);
    }
    smk_block_free(block);
}

/* Starts the i-th block to run: of all blocks, or of evenly spread ones. */
static void begin_block(const worker_pool *pool, smk_block *block, uint64_t i)
{
    const smk_observer *observer = pool->run->observer;
    uint64_t step = pool->grid_blocks / pool->blocks, rest = pool->grid_blocks % pool->blocks,
             number = i * step + i * rest / pool->blocks;
    smk_block_start(block, pool->run->options->reverse ? pool->grid_blocks - 1 - number : number);
    if (observer != NULL && observer->begin != NULL) {
        observer->begin(block->observer_state, block);
    }
}

/* True where the launch goes on although the block has failed. */
static bool end_block(worker_pool *pool, smk_block *block, bool failed)
{
    const smk_observer *observer = pool->run->observer;
    if (observer == NULL || observer->end == NULL) {
        return false;
    }
    bool forgiven = observer->end(block->observer_state, block, failed) && failed;
    if (forgiven && pool->run->ordered) {
        /* others may wait for what it will never do */
        uint64_t most = atomic_load(&pool->steps) + ORPHAN_STEPS;
        atomic_store(&pool->max_steps, atomic_load(&pool->max_steps) < most ? atomic_load(&pool->max_steps) : most);
    }
    return forgiven;
}

static void note_failure(worker_pool *pool, const smk_block *block)
{
    record(pool, block->number, &block->error);
    uint64_t lowest = atomic_load(&pool->failed);
    while (block->number < lowest && !atomic_compare_exchange_weak(&pool->failed, &lowest, block->number)) {
    }
}

/* Runs one block after another until none is left that must run. */
static void work(worker_pool *pool, bool caller)
{
    smk_block *block = NULL;
    if (!open_block(pool, &block)) {
        return;
    }
    /* The simulator needs rounding to nearest and subnormals; other code of this process may have set another mode. */
    fenv_t before;
    (void)fegetenv(&before);
    (void)fesetenv(FE_DFL_ENV);
    while (!atomic_load(&pool->stop)) {
        uint64_t number = atomic_fetch_add(&pool->next, 1);
        if (number >= pool->blocks) {
            break;
        }
        begin_block(pool, block, number);
        if (block->number > atomic_load(&pool->failed)) {
            if (pool->run->options->reverse) { /* lower blocks follow */
                continue;
            }
            break;
        }
        smk_block_state state = advance(pool, block, UINT64_MAX, caller);
        if (state != SMK_BLOCK_RUNNING && !end_block(pool, block, state == SMK_BLOCK_FAILED) &&
            state == SMK_BLOCK_FAILED) {
            note_failure(pool, block);
        }
    }
    (void)fesetenv(&before);
    close_block(pool, block);
}

static void run_worker(void *context)
{
    work(context, false);
}

static void poll_while_waiting(void *context)
{
    poll_caller(context);
}

static unsigned run_parallel(worker_pool *pool, unsigned threads)
{
    const unsigned given = smk_workers_run(pool->workers, threads - 1, run_worker, pool);
    work(pool, true);
    smk_workers_wait(pool->workers, 0, poll_while_waiting, pool);
    return given + 1;
}

/* Starts the next block in a slot; false where there is no further block, or no memory. */
static bool admit(worker_pool *pool, smk_block **block)
{
    uint64_t number = atomic_load(&pool->next);
    if (number >= pool->blocks || (*block == NULL && !open_block(pool, block))) {
        return false;
    }
    atomic_store(&pool->next, number + 1);
    begin_block(pool, *block, number);
    return true;
}

/* Do all resident blocks wait for ever? Returns the lowest of them, and NULL where one does not. *failed: one that
 * failed in the test, and is returned. */
static smk_block *find_waiting(worker_pool *pool, smk_block *const *resident, const bool *busy, unsigned slots,
                               bool *failed)
{
    smk_block *first = NULL;
    bool livelocked = true;
    for (unsigned i = 0; i < slots && livelocked; i++) {
        if (!busy[i]) {
            continue;
        }
        uint64_t before = resident[i]->steps;
        smk_block_state state = smk_livelock_find(resident[i], pool->run->options->alone, &livelocked);
        atomic_fetch_add(&pool->steps, resident[i]->steps - before);
        if (state == SMK_BLOCK_FAILED) {
            *failed = true;
            return resident[i];
        }
        first = first == NULL || resident[i]->number < first->number ? resident[i] : first;
    }
    return livelocked ? first : NULL;
}

/* Puts the clocks of all resident blocks ahead that read them; false where none does. */
static bool pass_time(smk_block *const *resident, const bool *busy, unsigned slots, unsigned turn)
{
    bool passed = false;
    for (unsigned i = 0; i < slots; i++) {
        passed |= busy[i] && smk_livelock_pass_time(resident[i], turn);
    }
    return passed;
}

/* Tests all resident blocks for a livelock. Returns a failed block: the lowest one where no resident block can ever
 * end. NULL: all may go on. */
static smk_block *find_livelock(worker_pool *pool, smk_block *const *resident, const bool *busy, unsigned slots)
{
    smk_block *first = NULL;
    bool failed = false;
    uint64_t begun = atomic_load(&pool->next);
    if (slots != pool->resident_max && begun < pool->blocks) { /* the next block starts, and may end the wait */
        return NULL;
    }
    for (unsigned turn = 0; turn == 0 || (first != NULL && !failed && pass_time(resident, busy, slots, turn - 1));
         turn++) {
        first = find_waiting(pool, resident, busy, slots, &failed);
    }
    if (first == NULL || failed) {
        return first;
    }
    if (begun < pool->blocks &&
        pool->resident_max < pool->resident_most) { /* they may wait for one that has not begun */
        pool->resident_max = pool->resident_most;
        pool->interleaved = true;
        return NULL;
    }
    smk_livelock_fail(first, begun < pool->blocks ? pool->blocks - begun : 0);
    return first;
}

/* Tests for a livelock after many steps, and whenever their number has doubled. */
static void check_livelocks(worker_pool *pool, smk_block *const *resident, const bool *busy, unsigned slots,
                            uint64_t *next_livelock_check)
{
    uint64_t steps = atomic_load(&pool->steps);
    if (steps < *next_livelock_check || atomic_load(&pool->stop)) {
        return;
    }
    *next_livelock_check = 2 * steps;
    smk_block *failed = find_livelock(pool, resident, busy, slots);
    if (failed != NULL) {
        if (!end_block(pool, failed, true)) {
            note_failure(pool, failed);
        }
        atomic_store(&pool->stop, true);
    }
}

/* Runs blocks in turns until all have ended or the launch stops. */
static void rotate(worker_pool *pool, smk_block **resident, bool *busy)
{
    unsigned slots = 0;
    uint64_t next_livelock_check = SMK_LIVELOCK_STEPS_FIRST;
    do {
        bool more = slots < pool->resident_max;
        while (more && admit(pool, &resident[slots])) {
            busy[slots++] = true;
            more = pool->interleaved && slots < pool->resident_max;
        }
        for (unsigned i = 0; i < slots && !atomic_load(&pool->stop); i++) {
            while (busy[i] && !atomic_load(&pool->stop)) {
                smk_block_state state = advance(pool, resident[i], pool->interleaved ? 1 : ROTATION_STEPS, true);
                if (state == SMK_BLOCK_RUNNING) {
                    break;
                }
                if (!end_block(pool, resident[i], state == SMK_BLOCK_FAILED) && state == SMK_BLOCK_FAILED) {
                    note_failure(pool, resident[i]);
                    atomic_store(&pool->stop, true); /* others may wait for what it will never do */
                    break;
                }
                busy[i] = admit(pool, &resident[i]);
            }
        }
        bool any = false;
        for (unsigned i = 0; i < slots; i++) {
            any = any || busy[i];
        }
        if (!any) {
            break;
        }
        check_livelocks(pool, resident, busy, slots, &next_livelock_check);
    } while (!atomic_load(&pool->stop));
}

/* Runs the blocks in order on one host thread. A block usually runs to its end before the next one starts. One that
 * runs for long may wait for later blocks, so the next one starts and resident blocks take turns. Where all of them
 * wait, as many as a GPU may hold begin. Those of a cooperative launch are all resident from the start. Blocks that wait
 * for each other have short turns. */
static void run_ordered(worker_pool *pool)
{
    const bool cooperative = pool->run->launch->cooperative;
    pool->interleaved = cooperative;
    pool->resident_most = cooperative || pool->blocks < RESIDENT_MOST ? (unsigned)pool->blocks : RESIDENT_MOST;
    pool->resident_max = cooperative || pool->resident_most < RESIDENT_FIRST ? pool->resident_most : RESIDENT_FIRST;
    smk_block **resident = smk_heap_allocate(pool->resident_most, sizeof(smk_block *));
    bool *busy = smk_heap_allocate(pool->resident_most, sizeof *busy);
    if (resident == NULL || busy == NULL) {
        smk_error error;
        (void)smk_status_fail(&error, SMK_MEMORY, "no memory for %u blocks at once", pool->resident_most);
        record(pool, UINT64_MAX - 1, &error);
    } else {
        rotate(pool, resident, busy);
    }
    for (unsigned i = 0; i < pool->resident_most && resident != NULL; i++) {
        close_block(pool, resident[i]);
    }
    smk_heap_free((void *)resident);
    smk_heap_free(busy);
}

/* The requested number of threads: of the options, else of SMEMKIT_THREADS, else 0. */
static smk_status read_threads(const smk_run_options *options, uint64_t *asked, smk_error *error)
{
    *asked = options->threads;
    return options->threads != 0 ? SMK_OK : smk_workers_read_environment(asked, error);
}

static unsigned count_threads(uint64_t asked, uint64_t blocks)
{
    if (blocks == 1) {
        return 1; /* without asking the system for its cores, which takes as long as a short launch */
    }
    uint64_t threads = asked == 0 ? smk_quota_cores() : asked;
    threads = threads > SMK_WORKERS_MAX ? SMK_WORKERS_MAX : threads;
    return (unsigned)(threads > blocks ? blocks : threads);
}

static smk_status finish(worker_pool *pool, unsigned threads, smk_run_result *result, smk_error *error)
{
    if (pool->orphaned) {
        return smk_status_fail(error, SMK_LAUNCH,
                               "the process was forked in the middle of this launch (by a signal's handler), and the "
                               "child cannot finish it; launches that the child begins itself run");
    }
    if (pool->interrupted) {
        return smk_status_fail(error, SMK_INTERRUPTED,
                               "the simulation was interrupted after %" PRIu64 " warp instructions",
                               atomic_load(&pool->steps));
    }
    if (pool->has_error) {
        if (error != NULL) {
            *error = pool->error;
        }
        return pool->error.status;
    }
    if (result != NULL) {
        *result = (smk_run_result){atomic_load(&pool->steps), atomic_load(&pool->done), threads};
    }
    return SMK_OK;
}

static smk_status run_blocks(const smk_run *run, uint64_t blocks, smk_run_result *result, smk_error *error)
{
    const smk_dim3 *grid = &run->launch->grid;
    uint64_t asked = 0;
    smk_status status = read_threads(run->options, &asked, error);
    if (status != SMK_OK) {
        return status;
    }
    worker_pool pool = {.run = run, .grid_blocks = (uint64_t)grid->x * grid->y * grid->z};
    blocks = run->launch->cooperative ? 0 : blocks; /* all of them, as they wait for each other */
    pool.blocks = blocks == 0 || blocks > pool.grid_blocks ? pool.grid_blocks : blocks;
    atomic_init(&pool.max_steps, run->options->max_steps == 0 ? SMK_RUN_STEPS_DEFAULT : run->options->max_steps);
    atomic_init(&pool.failed, UINT64_MAX);
    if (pthread_mutex_init(&pool.lock, NULL) != 0) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for a launch");
    }
    smk_workers own;
    const bool kept = run->options->workers != NULL && !smk_workers_are_lost(run->options->workers);
    pool.workers = kept ? run->options->workers : &own;
    if (!kept && !smk_workers_create(&own)) {
        (void)pthread_mutex_destroy(&pool.lock);
        return smk_status_fail(error, SMK_MEMORY, "no memory for a launch");
    }
    smk_run_progress *progress = run->options->progress;
    if (progress != NULL) {
        const smk_text name = run->image->module->functions[run->image->entry].name;
        *progress = (smk_run_progress){name.start, name.length, progress->launch + 1, 0, pool.blocks, 0};
    }
    unsigned threads = 1;
    if (run->ordered) {
        run_ordered(&pool);
    } else {
        threads = run_parallel(&pool, count_threads(asked, pool.blocks));
    }
    if (progress != NULL) {
        progress->blocks = 0;
    }
    status = finish(&pool, threads, result, error);
    if (!kept) {
        smk_workers_free(&own);
    }
    (void)pthread_mutex_destroy(&pool.lock);
    return status;
}

smk_status smk_grid_launch(smk_program *program, const smk_image *image, const smk_launch *launch,
                           const smk_run_options *options, const struct smk_observer *observer, uint64_t blocks,
                           smk_run_result *result, smk_error *error)
{
    static const smk_run_options defaults = {0};
    smk_run run = {.image = image,
                   .launch = launch,
                   .options = options == NULL ? &defaults : options,
                   .observer = observer,
                   .compare = smk_access_comparer(),
                   .grid_id = 1};
    unsigned char *parameters = NULL;
    smk_memory_view *view = NULL;
    smk_status status = smk_grid_setup_check(image, launch, &run.shared_bytes, &run.dynamic_bytes, error);
    if (status == SMK_OK) {
        status = smk_grid_setup_pack(image, launch, &parameters, error);
    }
    if (status == SMK_OK && launch->cooperative) {
        status = smk_grid_setup_barrier(program->memory, &launch->grid, &run.grid_barrier, error);
    }
    if (status == SMK_OK && image->allocates) {
        status = smk_kernel_heap_prepare(program, error);
    }
    if (status == SMK_OK) {
        status = smk_memory_view_create(program->memory, launch, &view, error);
    }
    if (status == SMK_OK && run.options->constant.address != 0) {
        const smk_run_constant *constant = &run.options->constant;
        status = smk_memory_view_replace(view, constant->address, constant->bytes, constant->count, error);
    }
    if (status == SMK_OK) {
        smk_cover_count_launch(image);
        run.parameters = parameters;
        run.view = view;
        run.ordered = launch->cooperative || smk_block_order_matters(image, launch, view);
        status = run_blocks(&run, blocks, result, error);
    }
    if (view != NULL && (observer == NULL || !observer->tracks)) {
        smk_memory_view_mark_all_initialized(program->memory, view);
    }
    smk_memory_view_free(program->memory, view);
    (void)smk_memory_free(program->memory, run.grid_barrier, NULL);
    smk_heap_free(parameters);
    if (status != SMK_OK) {
        smk_grid_setup_name_kernel(image, error);
    }
    return status;
}
