/* Predicting rows: passes by the device model, steps by simulation, collectives by their cost
 * model. */
#include "fit/predict.h"

#include <math.h>
#include <string.h>

#include "cost/collective.h"
#include "cost/kernel.h"
#include "plan/framework.h"
#include "plan/plan.h"
#include "sim/sim.h"

/* The first devices of a place, for one kind of collective. */
struct predicted_group {
    int place, devices;
    enum comm_kind comm;
    const struct comm_model *model; /* NULL: not made yet */
};

static int find_group(struct predictor *p, const struct measured_row *row)
{
    for (int g = 0; g < p->n_groups; g++)
        if (p->group[g].place == row->place && p->group[g].devices == row->devices &&
            p->group[g].comm == row->comm)
            return g;
    p->group[p->n_groups] =
        (struct predicted_group){ row->place, row->devices, row->comm, NULL };
    return p->n_groups++;
}

static void forget(struct predictor *p)
{
    for (int i = 0; i < p->measured->n_places; i++) {
        hypar_machine_free(p->machine[i]);
        p->machine[i] = NULL;
    }
    for (int g = 0; g < p->n_groups; g++)
        p->group[g].model = NULL;
    hp_arena_free(&p->models);
    p->models = (struct arena){ 0 };
}

/* Kernels that were measured one by one, with pauses, keep no power limit. */
static struct hypar_device burst_device(const struct part *part)
{
    struct hypar_device device = hp_part_device(part);
    device.power_limit_w = 0;
    return device;
}

void hp_predictor_begin(struct predictor *p, const struct measured *measured,
                        const struct part *part)
{
    *p = (struct predictor){ .measured = measured, .part = *part };
    p->machine = NEW(&p->arena, struct hypar_machine *, measured->n_places);
    p->group = NEW(&p->arena, struct predicted_group, measured->n_rows);
    p->group_of = NEW(&p->arena, int, measured->n_rows);
    for (int i = 0; i < measured->n_rows; i++)
        if (measured->row[i].kind == MEASURED_COLLECTIVE)
            p->group_of[i] = find_group(p, &measured->row[i]);
    for (int f = 0; f < FIGURE_COUNT; f++)
        p->value[f] = NAN;
    p->device = burst_device(&p->part);
}

void hp_predictor_end(struct predictor *p)
{
    forget(p);
    hp_arena_free(&p->arena);
}

static bool same(const double *a, const double *b)
{
    for (int f = 0; f < FIGURE_COUNT; f++)
        if (a[f] != b[f] && !(isnan(a[f]) && isnan(b[f])))
            return false;
    return true;
}

void hp_predictor_set(struct predictor *p, const double value[FIGURE_COUNT])
{
    struct part part = p->part;
    if (same(p->value, value))
        return;
    memcpy(p->value, value, sizeof p->value);
    for (int o = 0; o < OPTION_COUNT; o++)
        if (!isnan(value[o]))
            part.value[o] = value[o];
    p->device = burst_device(&part);
    forget(p);
}

static struct kernel_place place_of(const struct predictor *p, const struct measured_row *row,
                                    enum hypar_precision precision)
{
    const struct hypar_framework framework = { .kernels = row->framework };
    return hp_kernel_place(&p->device, precision, &framework);
}

static double op_seconds(const struct predictor *p, const struct measured_row *row)
{
    const struct nest *nest = row->op.op->nest;
    struct range range[MAX_AXES];
    for (int a = 0; a < nest->n_axes; a++)
        range[a] = (struct range){ 0, nest->axis[a].extent };
    struct kernel_place at = place_of(p, row, row->precision);
    return hp_op_seconds(nest, row->op.passes, range, hp_present(row->op.op), &at);
}

/* The update is a kernel of its own here; in a step one kernel updates many parameters. */
static double update_seconds(const struct predictor *p, const struct measured_row *row)
{
    struct kernel_place at = place_of(p, row, hp_master_precision(row->precision));
    struct work work =
        hp_update_work(row->elements, row->precision, row->precision, row->optimizer);
    return hp_runs_kernels(&at)
               ? hp_kernel_seconds(&(struct kernel){ .bytes = work.bytes }, &at)
               : hp_stream_seconds(&work, &at);
}

static struct hypar_framework framework_of(const struct predictor *p,
                                           const struct measured_row *row)
{
    struct hypar_framework framework =
        p->framework ? *p->framework : row->plan->simulation.framework;
    const char *key;
    double *time;
    for (int i = 0; p->framework && (time = hp_framework_time(&framework, i, &key)); i++)
        if (!isnan(p->value[OPTION_COUNT + i]))
            *time = p->value[OPTION_COUNT + i];
    framework.kernels = row->framework;
    return framework;
}

static enum hypar_status step_seconds(const struct predictor *p, const struct measured_row *row,
                                      double *seconds, struct hypar_error *err)
{
    struct hypar_machine *machine;
    struct hypar_plan plan = *row->plan; /* a copy for another machine, of as many devices */
    TRY(hp_machine_with(&machine, row->plan->machine, p->part.type.device.name, p->value, err));
    plan.machine = machine;
    struct hypar_sim_options how = hypar_as_planned(&plan, NULL);
    how.framework = framework_of(p, row);
    how.framework_given = true;
    enum hypar_status status = hp_simulated_seconds(&plan, &how, seconds, err);
    hypar_machine_free(machine);
    return status;
}

static enum hypar_status collective_seconds(struct predictor *p, int i, double *seconds,
                                            struct hypar_error *err)
{
    const struct measured_row *row = &p->measured->row[i];
    struct predicted_group *g = &p->group[p->group_of[i]];
    struct hypar_machine **machine = &p->machine[row->place];
    if (!*machine)
        TRY(hp_machine_with(machine, p->measured->place[row->place].machine,
                            p->part.type.device.name, p->value, err));
    if (!g->model) {
        int *device = NEW(&p->models, int, row->devices);
        for (int d = 0; d < row->devices; d++)
            device[d] = d;
        g->model =
            hp_comm_model(&p->models, *machine,
                          &(struct comm_group){
                              .kind = row->comm, .n_devices = row->devices, .device = device });
    }
    const struct comm_way *way = hp_comm_best_way(g->model, row->bytes);
    *seconds = way->fixed_s + row->bytes * way->s_per_byte;
    return HYPAR_OK;
}

enum hypar_status hp_predict_row(struct predictor *p, int i, double *seconds,
                                 struct hypar_error *err)
{
    const struct measured_row *row = &p->measured->row[i];
    switch (row->kind) {
    case MEASURED_OP:
        *seconds = op_seconds(p, row);
        return HYPAR_OK;
    case MEASURED_UPDATE:
        *seconds = update_seconds(p, row);
        return HYPAR_OK;
    case MEASURED_STEP:
        return step_seconds(p, row, seconds, err);
    default:
        return collective_seconds(p, i, seconds, err);
    }
}

/* Does the option set launches of a framework that did not run the row? Kernels alone have no
 * launches. */
static bool is_other_launch(const struct measured_row *row, int option)
{
    enum hypar_kernel_mode framework =
        row->kind == MEASURED_STEP ? row->framework : HYPAR_KERNELS_NONE;
    return (option == OPTION_EAGER_LAUNCH && framework != HYPAR_KERNELS_EAGER) ||
           (option == OPTION_COMPILED_LAUNCH && framework != HYPAR_KERNELS_COMPILED);
}

/* Is it a figure of messages and comms, not of kernels? */
static bool is_of_comms(int option)
{
    return hp_machine_options[option].scope != SCOPE_DEVICE || option == OPTION_COMM_LATENCY ||
           option == OPTION_COPY;
}

bool hp_row_depends(const struct predictor *p, int i, int figure)
{
    const struct measured_row *row = &p->measured->row[i];
    if (figure >= OPTION_COUNT)
        return row->kind == MEASURED_STEP && p->framework;
    bool of_comms = is_of_comms(figure);
    if (is_other_launch(row, figure))
        return false;
    if (row->kind == MEASURED_STEP)
        return !of_comms || hypar_machine_device_count(row->plan->machine) > 1;
    return of_comms == (row->kind == MEASURED_COLLECTIVE);
}
