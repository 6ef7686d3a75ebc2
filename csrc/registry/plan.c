#include "registry/plan.h"

#include "registry/slowdowns.h"

#include <math.h>
#include <string.h>

/* The limits of every GPU since compute capability 3.0, and of the simulator. */
#define GRID_X_MAX INT64_C(2147483647)
#define GRID_Y_MAX INT64_C(65535)
#define GRID_YZ_MAX (GRID_Y_MAX * INT64_C(65535))

/* A copy of an operand into C order, by prediction: a launch, in microseconds, and bytes a microsecond. */
static const double COPY_START = 2.6, COPY_PACE = 1.4e6;

/* By so much a kernel must be faster, by slowdowns, than the one that an H200's order takes: what smk_plan_trust keeps. Of
 * two kernels the predicted times may err by as much, one against the other. */
static const double TRUST = 1.3;

static bool has_empty_output(const smk_signature *signature, const int64_t *dimensions)
{
    /* one output with elements needs a launch */
    for (size_t i = 0; i < signature->output_count; i++) {
        size_t operand = signature->input_count + i;
        bool empty = false;
        for (size_t j = 0; j < signature->rank[operand]; j++) {
            empty = empty || dimensions[signature->axis[operand][j]] == 0;
        }
        if (!empty) {
            return false;
        }
    }
    return true;
}

/* Blocks along an axis; "" is an axis that the family does not use. At least one, since an output with elements must
 * be written even where the reduced axis is empty. */
static smk_status count_blocks(const smk_family *family, const smk_signature *signature, const char *axis,
                               uint32_t tile, const int64_t *dimensions, int64_t *blocks, smk_error *error)
{
    if (axis[0] == '\0') {
        *blocks = 1;
        return SMK_OK;
    }
    for (size_t d = 0; d < signature->dimension_count; d++) {
        if (strcmp(signature->dimension[d], axis) == 0) {
            int64_t size = dimensions[d];
            int64_t needed = smk_plan_divide_up(size, (int64_t)tile);
            *blocks = needed > 0 ? needed : 1;
            return SMK_OK;
        }
    }
    return smk_status_fail(error, SMK_INTERNAL, "%s: its grid walks %s, which is not a dimension of %s", family->name,
                           axis, family->signature);
}

static smk_status check_input(const smk_family *family, const smk_variant *variant, const smk_signature *signature,
                              const int64_t *dimensions, smk_error *error)
{
    if (variant->tile_x == 0 || variant->tile_y == 0 || strcmp(variant->family, family->name) != 0) {
        return smk_status_fail(error, SMK_INTERNAL, "%s has no usable row for %s", family->name, variant->name);
    }
    for (size_t d = 0; d < signature->dimension_count; d++) {
        if (dimensions[d] < 0) {
            return smk_status_fail(error, SMK_ARGUMENT, "%s: %s is %lld, a size cannot be negative", family->name,
                                   signature->dimension[d], (long long)dimensions[d]);
        }
    }
    return SMK_OK;
}

static smk_status fail_size(const smk_family *family, const smk_variant *variant, const char *axis, int64_t blocks,
                            uint32_t tile, int64_t limit, smk_error *error)
{
    return smk_status_fail(error, SMK_LAUNCH, "%s variant '%s': %s needs %lld blocks of %u, a grid has %lld at most",
                           family->name, variant->name, axis, (long long)blocks, tile, (long long)limit);
}

smk_status smk_plan_grid(const smk_family *family, const smk_variant *variant, const int64_t *dimensions,
                         smk_dim3 *grid, smk_dim3 *block, bool *empty, smk_error *error)
{
    smk_signature signature;
    smk_status status = smk_signature_parse(family->signature, &signature, error);
    if (status == SMK_OK) {
        status = check_input(family, variant, &signature, dimensions, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    const smk_dim3 threads = {variant->block_x, variant->block_y, 1};
    if (has_empty_output(&signature, dimensions)) {
        *grid = (smk_dim3){0, 0, 0};
        *block = threads;
        *empty = true;
        return SMK_OK;
    }
    int64_t x = 0;
    int64_t y = 0;
    status = count_blocks(family, &signature, family->grid_x, variant->tile_x, dimensions, &x, error);
    if (status == SMK_OK) {
        status = count_blocks(family, &signature, family->grid_y, variant->tile_y, dimensions, &y, error);
    }
    if (status != SMK_OK) {
        return status;
    }
    if (x > GRID_X_MAX) {
        return fail_size(family, variant, family->grid_x, x, variant->tile_x, GRID_X_MAX, error);
    }
    if (y > GRID_YZ_MAX) {
        return fail_size(family, variant, family->grid_y, y, variant->tile_y, GRID_YZ_MAX, error);
    }
    /* spread evenly over as few layers as hold it, so that fewer blocks than layers find nothing to do */
    int64_t z = (y + GRID_Y_MAX - 1) / GRID_Y_MAX;
    y = (y + z - 1) / z;
    *grid = (smk_dim3){(uint32_t)x, (uint32_t)y, (uint32_t)z};
    *block = threads;
    *empty = false;
    return SMK_OK;
}

static smk_layout order_axes(const smk_request *request, size_t operand)
{
    const smk_signature *signature = request->signature;
    smk_layout layout = {.is_aligned = 1};
    int64_t stride = 1;
    for (size_t i = signature->rank[operand]; i-- > 0;) {
        layout.axis[i] = stride;
        stride *= request->dimensions[signature->axis[operand][i]];
    }
    layout.stack = stride;
    return layout;
}

smk_layout smk_plan_layout(const smk_request *request, size_t operand)
{
    return request->layout != NULL ? request->layout[operand] : order_axes(request, operand);
}

static bool is_in_order(const smk_request *request, size_t operand)
{
    const smk_layout layout = smk_plan_layout(request, operand), order = order_axes(request, operand);
    return memcmp(layout.axis, order.axis, request->signature->rank[operand] * sizeof layout.axis[0]) == 0;
}

bool smk_plan_in_order(const smk_request *request)
{
    bool in_order = true;
    for (size_t i = 0; i < request->signature->input_count; i++) {
        in_order = in_order && is_in_order(request, i);
    }
    return in_order;
}

smk_status smk_plan_stack_grid(const smk_request *request, smk_step *step, smk_error *error)
{
    const int64_t stack = smk_plan_stack(request);
    if (stack > GRID_YZ_MAX) {
        return smk_status_fail(error, SMK_LAUNCH, "%s variant '%s': a stack of %lld, a grid has %lld at most",
                               request->family->name, request->variant->name, (long long)stack, (long long)GRID_YZ_MAX);
    }
    const int64_t z = smk_plan_divide_up(stack, GRID_Y_MAX);
    step->grid.y = (uint32_t)smk_plan_divide_up(stack, z);
    step->grid.z = (uint32_t)z;
    return SMK_OK;
}

void smk_plan_add(smk_step *step, smk_source source, int64_t value)
{
    if (step->parameter_count < SMK_PLAN_PARAMETERS_MAX) { /* the launch counts parameters and refuses one too many */
        step->parameter[step->parameter_count] = (smk_parameter){source, value};
        step->parameter_count++;
    }
}

/* All that a kernel of the family takes: operands, dimensions, numbers. */
static void add_all(smk_step *step, const smk_request *request)
{
    const smk_signature *signature = request->signature;
    for (size_t i = 0; i < signature->input_count + signature->output_count; i++) {
        smk_plan_add(step, SMK_SOURCE_OPERAND, (int64_t)i);
    }
    for (size_t i = 0; i < signature->dimension_count; i++) {
        smk_plan_add(step, SMK_SOURCE_NUMBER, request->dimensions[i]);
    }
    for (size_t i = 0; i < request->number_count; i++) {
        smk_plan_add(step, SMK_SOURCE_NUMBER, request->numbers[i]);
    }
}

smk_status smk_plan_single(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_plan made = {.step_count = 1};
    bool empty = false;
    smk_step *step = &made.step[0];
    smk_status status =
        smk_plan_grid(request->family, request->variant, request->dimensions, &step->grid, &step->block, &empty, error);
    if (status != SMK_OK) {
        return status;
    }
    if (empty) {
        made.step_count = 0;
    } else {
        add_all(step, request);
    }
    *plan = made;
    return SMK_OK;
}

/* Can the row's kernel run on the machine? */
static smk_status check_machine(const smk_variant *variant, const smk_machine *machine, smk_error *error)
{
    if (machine->capability < variant->arch) {
        return smk_status_fail(error, SMK_BACKEND,
                               "%s variant '%s' needs compute capability %d.%d, this device has %d.%d", variant->family,
                               variant->name, variant->arch / 10, variant->arch % 10, machine->capability / 10,
                               machine->capability % 10);
    }
    return SMK_OK;
}

smk_status smk_plan_make(const smk_request *request, smk_plan *plan, smk_error *error)
{
    smk_status status = check_machine(request->variant, request->machine, error);
    return status == SMK_OK ? request->variant->plan(request, plan, error) : status;
}

/* The fraction of the machine that the blocks keep busy, on average over their rounds: 33 blocks on 32 multiprocessors
 * take two rounds, the second nearly idle. Where blocks wait for memory alone, the few of that round have all of it. */
static double measure_use(const smk_plan *plan, uint32_t multiprocessors)
{
    double blocks = 0.0;
    for (size_t i = 0; i < plan->step_count; i++) {
        const smk_dim3 *grid = &plan->step[i].grid;
        double here = plan->step[i].part == NULL ? (double)grid->x * (double)grid->y * (double)grid->z : 0.0;
        blocks = here > blocks ? here : blocks; /* the largest step */
    }
    if (multiprocessors == 0 || blocks < 1.0) {
        return 1.0;
    }
    double rounds = ceil(blocks / (double)multiprocessors);
    if (plan->shares_memory && rounds > 1.0) {
        return 1.0;
    }
    return blocks / (rounds * (double)multiprocessors);
}

/* Judges what only smk_plan_choose asks of a plan. */
static smk_status check_wishes(const smk_request *request, const smk_plan *made, smk_error *error)
{
    if (request->workspace_below > 0 && made->workspace_bytes >= request->workspace_below) {
        return smk_status_fail(error, SMK_MEMORY, "%s variant '%s' wants %llu bytes of memory beside its arrays",
                               request->family->name, request->variant->name,
                               (unsigned long long)made->workspace_bytes);
    }
    if (request->repeatable && made->symbol != NULL) {
        return smk_status_fail(error, SMK_ARGUMENT, "%s variant '%s' cannot be captured in a CUDA graph",
                               request->family->name, request->variant->name);
    }
    return SMK_OK;
}

/* The predicted time of the plan, with the repeats and the copies of operands that it needs; 0 where it predicts none. */
static double predict_whole(const smk_request *request, const smk_plan *made)
{
    double time_us = made->time_us * (made->takes_stack ? 1.0 : (double)smk_plan_stack(request));
    for (size_t i = 0; time_us > 0.0 && !made->takes_layout && i < request->signature->input_count; i++) {
        if (!is_in_order(request, i)) {
            const double bytes = (double)order_axes(request, i).stack * (double)request->item_bytes;
            time_us += COPY_START + 2.0 * bytes * (double)smk_plan_stack(request) / COPY_PACE *
                                        smk_slowdowns_memory(request->machine);
        }
    }
    return time_us;
}

bool smk_plan_weigh(const smk_request *given, const smk_variant *row, smk_candidate *candidate)
{
    int64_t index = 0;
    if (strcmp(row->family, given->family->name) != 0 || !smk_registry_lists(row->types, given->type, &index)) {
        return false;
    }
    smk_request request = *given;
    request.variant = row;
    memset(candidate, 0, sizeof *candidate);
    candidate->variant = row;
    smk_plan *made = &candidate->plan;
    if (smk_plan_make(&request, made, &candidate->refusal) != SMK_OK ||
        check_wishes(&request, made, &candidate->refusal) != SMK_OK) {
        return true;
    }
    const double use = measure_use(made, request.machine->multiprocessors);
    const double slowdown = smk_slowdowns_variant(request.machine, row, request.type);
    const double speed = (double)row->speed / slowdown * use * (made->efficiency > 0.0 ? made->efficiency : 1.0);
    candidate->time_us = predict_whole(&request, made);
    candidate->speed = row->speed <= 0 ? 0.0 : candidate->time_us > 0.0 ? 1.0 / candidate->time_us : speed;
    candidate->speed *= row == request.trusted ? TRUST : 1.0;
    return true;
}

void smk_plan_trust(smk_request *request)
{
    request->trusted = NULL;
    if (request->machine->slowdown == NULL) {
        return;
    }
    smk_machine machine = *request->machine;
    machine.slowdown = NULL;
    smk_request measured = *request;
    measured.machine = &machine;
    smk_candidate candidate;
    double best_speed = 0.0;
    for (size_t i = 0; i < smk_registry_variant_count(); i++) {
        const smk_variant *row = smk_registry_variant(i);
        if (row->speed > 0 && smk_plan_weigh(&measured, row, &candidate) && candidate.refusal.status == SMK_OK &&
            candidate.speed > best_speed) {
            request->trusted = row;
            best_speed = candidate.speed;
        }
    }
}

smk_status smk_plan_choose(smk_request *request, smk_plan *plan, smk_error *error)
{
    const smk_variant *best = NULL;
    smk_candidate candidate;
    smk_error refusal = {0};
    double best_speed = 0.0;
    int refused_speed = 0;
    smk_plan_trust(request);
    for (size_t i = 0; i < smk_registry_variant_count(); i++) {
        const smk_variant *row = smk_registry_variant(i);
        if (row->speed <= 0 || !smk_plan_weigh(request, row, &candidate)) {
            continue;
        }
        if (candidate.refusal.status != SMK_OK) {
            if (row->speed > refused_speed) {
                refused_speed = row->speed;
                refusal = candidate.refusal;
            }
            continue;
        }
        if (best == NULL || candidate.speed > best_speed) {
            best = row;
            best_speed = candidate.speed;
            *plan = candidate.plan;
        }
    }
    request->variant = best;
    if (best == NULL) {
        if (error != NULL) {
            *error = refusal;
        }
        return refusal.status != SMK_OK ? refusal.status : SMK_INTERNAL;
    }
    return SMK_OK;
}
