/* Reports a pipeline and its stages. */
#include "report/plan/pipeline.h"

#include <math.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/schedules.h"
#include "report/columns.h"
#include "report/structure/words.h"

static bool is_pipedream(const struct hypar_plan *plan)
{
    return hp_is_delayed(plan);
}

static const char *name(const struct hypar_plan *plan, int op)
{
    return plan->graph->ops[op].name;
}

static void put_stage(struct json_writer *w, const struct hypar_plan *plan,
                      const struct hypar_pipeline_stage *about,
                      const struct hypar_simulated *simulated, int s)
{
    struct hypar_stage stage = hypar_plan_stage(plan, s);
    hp_json_begin_object(w, NULL, true);
    hp_json_begin_array(w, "ops", true);
    for (int i = 0; i < stage.n_ops; i++)
        hp_json_put_string(w, NULL, name(plan, stage.op[i]));
    hp_json_end_array(w);
    hp_json_put_int(w, "replicas", about->replicas);
    hp_json_put_number(w, "time_s", about->time_s);
    hp_json_put_int(w, "in_flight", about->in_flight);
    hp_json_put_int(w, "versions", about->versions);
    hp_json_put_int(w, "delay", about->delay);
    hp_json_put_number(w, "weight_bytes", about->weight_bytes);
    hp_json_put_number(w, "activation_bytes", about->activation_bytes);
    hp_json_put_number(w, "memory_bytes", about->memory_bytes);
    if (about->tensor) {
        hp_json_put_int(w, "tensor", about->tensor);
        hp_json_put_int(w, "recomputed", about->recomputed);
    }
    if (simulated) {
        hp_json_put_number(w, "simulated_busy_s", simulated->stage[s].busy_s);
        hp_json_put_number(w, "simulated_memory_bytes", simulated->stage[s].peak_memory_bytes);
    }
    hp_json_end_object(w);
}

void hp_put_pipeline(struct json_writer *w, const struct hypar_found *found)
{
    const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
    const struct hypar_plan *plan = hypar_found_plan(found);
    hp_json_begin_object(w, is_pipedream(plan) ? "pipedream" : "pipeline", false);
    hp_json_put_number(w, "bottleneck_s", view->bottleneck_s);
    hp_json_put_number(w, "one_worker_s", view->one_worker_s);
    if (!view->per_sample)
        hp_json_put_number(w, "dp_bottleneck_s", view->dp_bottleneck_s);
    hp_json_put_int(w, "noam", view->noam);
    hp_json_put_number(w, "transfer_bytes", view->transfer_bytes);
    hp_json_put_number(w, "sync_bytes", view->sync_bytes);
    hp_json_put_int(w, "states", view->n_states);
    hp_json_put_bool(w, "all_states", view->all_states);
    hp_json_put_int(w, "states_left_out", view->states_left_out);
    hp_json_put_int(w, "states_parted", view->states_parted);
    hp_json_begin_array(w, "stages", false);
    for (int s = 0; s < view->n_stages; s++)
        put_stage(w, plan, &view->stage[s], hypar_found_simulated(found), s);
    hp_json_end_array(w);
    hp_json_end_object(w);
}

/* Text --------------------------------------------------------------------------------- */

/* "conv1 .. relu3", or the only operator, or "-". */
static char *ops_text(struct arena *arena, const struct hypar_plan *plan,
                      const struct hypar_stage *stage)
{
    if (stage->n_ops == 0)
        return hp_arena_strdup(arena, "-");
    const char *first = name(plan, stage->op[0]);
    if (stage->n_ops == 1)
        return hp_arena_strdup(arena, first);
    return hp_arena_printf(arena, "%s .. %s", first, name(plan, stage->op[stage->n_ops - 1]));
}

/* Figures of a stage. */
enum figure { AGAIN, REPLICAS, TENSOR, BUSY, IN_FLIGHT, WEIGHTS, ACTIVATIONS, MEMORY };

/* The table of a simulated plan, of a plan in closed form, and of measured choices. */
struct figures {
    const char *align, *head[8];
    int n;
    enum figure list[8];
};
static const struct figures
    of_simulated = { "rwrrrrrr",
                     { "replicas", "busy", "in flight", "weights", "memory" },
                     5,
                     { REPLICAS, BUSY, IN_FLIGHT, WEIGHTS, MEMORY } },
    of_closed_form = { "rwrrrrrrr",
                       { "replicas", "time", "in flight", "weights", "activations", "memory" },
                       6,
                       { REPLICAS, BUSY, IN_FLIGHT, WEIGHTS, ACTIVATIONS, MEMORY } },
    of_choices = { "rwrrrrrrrr",
                   { "again", "replicas", "tensor", "in flight", "time", "weights", "memory" },
                   7,
                   { AGAIN, REPLICAS, TENSOR, IN_FLIGHT, BUSY, WEIGHTS, MEMORY } };

static const struct figures *figures_of(const struct hypar_found *found)
{
    return hypar_found_pipeline(found)->per_sample ? &of_choices
           : hypar_found_simulated(found)          ? &of_simulated
                                                   : &of_closed_form;
}

static double figure(const struct hypar_found *found, int s, enum figure which)
{
    const struct hypar_pipeline_stage *about = &hypar_found_pipeline(found)->stage[s];
    const struct hypar_simulated *sim = hypar_found_simulated(found);
    switch (which) {
    case AGAIN:
        return about->recomputed;
    case REPLICAS:
        return about->replicas;
    case TENSOR:
        return about->tensor;
    case BUSY:
        return sim ? sim->stage[s].busy_s : about->time_s;
    case IN_FLIGHT:
        return sim ? sim->stage[s].in_flight : about->in_flight;
    case WEIGHTS:
        return about->weight_bytes;
    case ACTIVATIONS:
        return about->activation_bytes;
    default:
        return sim ? sim->stage[s].peak_memory_bytes : about->memory_bytes;
    }
}

static char *figure_text(struct arena *arena, enum figure which, double value)
{
    char b[32];
    if (which == AGAIN || which == REPLICAS || which == TENSOR || which == IN_FLIGHT)
        return hp_arena_printf(arena, "%.0f", value);
    return hp_arena_strdup(
        arena,
        hypar_format_quantity(b, value, which == BUSY ? HYPAR_UNIT_SECONDS : HYPAR_UNIT_BYTES));
}

/* "174 MB", or for several stages "76.1 to 174 MB", "up to 1.74 GB". */
static void figure_cell(struct columns *table, struct arena *arena,
                        const struct hypar_found *found, const int stages[2], enum figure which)
{
    double least = figure(found, stages[0], which), most = least;
    for (int s = stages[0] + 1; s <= stages[1]; s++) {
        double value = figure(found, s, which);
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    const char *low = figure_text(arena, which, least), *high = figure_text(arena, which, most);
    size_t digits = strcspn(low, " ");
    if (strcmp(low, high) == 0)
        hp_cell(table, arena, "%s", low);
    else if (strcmp(low + digits, high + strcspn(high, " ")) == 0)
        hp_cell(table, arena, "%.*s to %s", (int)digits, low, high);
    else
        hp_cell(table, arena, "up to %s", high);
}

/* One row: stages[0] .. stages[1]. */
static void stage_row(struct columns *table, struct arena *arena,
                      const struct hypar_found *found, const int stages[2], const char *layers)
{
    int n_ops = 0;
    for (int s = stages[0]; s <= stages[1]; s++)
        n_ops += hypar_plan_stage(hypar_found_plan(found), s).n_ops;
    if (stages[0] == stages[1])
        hp_cell(table, arena, "%d", stages[0]);
    else
        hp_cell(table, arena, "%d-%d", stages[0], stages[1]);
    hp_cell(table, arena, "%s", layers);
    hp_cell(table, arena, "(%d)", n_ops);
    const struct figures *figures = figures_of(found);
    for (int f = 0; f < figures->n; f++)
        figure_cell(table, arena, found, stages, figures->list[f]);
}

enum {
    MOST_STAGES = 12, /* with more stages, equal stages share a row; */
    MOST_UNLIKE = 24  /* ... up to this number only stages of the same operators do, because a
                       * row hides cuts */
};

/* Do all stages first .. last have operators of the same kinds? */
static bool same_kinds(const struct hypar_plan *plan, int first, int last)
{
    struct hypar_stage a = hypar_plan_stage(plan, first);
    for (int s = first + 1; s <= last; s++) {
        struct hypar_stage b = hypar_plan_stage(plan, s);
        if (b.n_ops != a.n_ops)
            return false;
        for (int i = 0; i < a.n_ops; i++)
            if (plan->graph->ops[a.op[i]].kind != plan->graph->ops[b.op[i]].kind)
                return false;
    }
    return true;
}

static void single_rows(struct columns *table, struct arena *arena,
                        const struct hypar_found *found, int first, int last)
{
    for (int i = first; i <= last; i++) {
        struct hypar_stage stage = hypar_plan_stage(hypar_found_plan(found), i);
        stage_row(table, arena, found, (int[]){ i, i },
                  ops_text(arena, hypar_found_plan(found), &stage));
    }
}

static void stage_rows(struct columns *table, struct arena *arena,
                       const struct hypar_found *found)
{
    const struct hypar_plan *plan = hypar_found_plan(found);
    int n_stages = hypar_plan_stage_count(plan);
    struct plan_structure s = { 0 };
    if (n_stages > MOST_STAGES)
        s = hp_plan_structure(arena, plan);
    if (n_stages > MOST_STAGES && s.n_blocks == n_stages) {
        for (int g = 0; g < s.n_groups; g++) {
            const struct plan_block *block = &s.block[s.group[g].first];
            int first = block->stage[0], last = block[s.group[g].count - 1].stage[0];
            if (n_stages <= MOST_UNLIKE && !same_kinds(plan, first, last))
                single_rows(table, arena, found, first, last);
            else
                stage_row(table, arena, found, (int[]){ first, last },
                          hp_group_words(arena, &s, g).layers);
        }
        return;
    }
    single_rows(table, arena, found, 0, n_stages - 1);
}

static void stage_table(FILE *to, struct arena *arena, const struct hypar_found *found)
{
    static const char *const first[] = { "stage", "operators", "" };
    const struct figures *figures = figures_of(found);
    struct columns table = { .align = figures->align };
    for (int i = 0; i < 3; i++)
        hp_cell(&table, arena, "%s", first[i]);
    for (int i = 0; i < figures->n; i++)
        hp_cell(&table, arena, "%s", figures->head[i]);
    stage_rows(&table, arena, found);
    hp_columns_print(&table, to);
    fputc('\n', to);
    hp_wrap(to,
            figures == &of_simulated
                ? "Busy computing in a step, and memory: simulated, of the busiest and of the "
                  "fullest device of a stage."
            : figures == &of_closed_form
                ? "Time and memory of a stage: in closed form."
                : "Time for each sample of a batch, weights and memory of a device, operators "
                  "that are computed again: as they were measured.",
            0);
}

/* "stage 0 by 3, stage 1 by 1": the stages with delayed weights; or "none". */
static char *delays_text(struct arena *arena, const struct hypar_pipeline_view *view)
{
    char *text = hp_arena_strdup(arena, "");
    int listed = 0;
    for (int s = 0; s < view->n_stages; s++) {
        if (view->stage[s].delay == 0)
            continue;
        if (++listed > 8)
            return hp_arena_printf(arena, "%s, ...", text);
        text = hp_arena_printf(arena, "%s%sstage %d by %d", text, *text ? ", " : "", s,
                               view->stage[s].delay);
    }
    return *text ? text : hp_arena_strdup(arena, "no stage");
}

/* Is it a straight pipeline on all devices with a stage that is much shorter than another? */
static bool is_straight_and_uneven(const struct hypar_pipeline_view *view,
                                   const struct hypar_plan *plan)
{
    enum { MUCH = 4 };
    double least_s = INFINITY, most_s = 0;
    bool straight = view->n_stages == hypar_machine_device_count(plan->machine);
    for (int s = 0; s < view->n_stages; s++) {
        straight &= view->stage[s].replicas == 1;
        least_s = fmin(least_s, view->stage[s].time_s);
        most_s = fmax(most_s, view->stage[s].time_s);
    }
    return straight && MUCH * least_s < most_s;
}

/* Explain which weights a minibatch uses (section 3.3 of the paper). */
static void pipedream_text(FILE *to, struct arena *arena,
                           const struct hypar_pipeline_view *view,
                           const struct hypar_plan *plan)
{
    char noam[64];
    const char *sync =
        plan->schedule.vertical_sync
            ? "all stages use the weights of the same updates, those that the first stage had "
              "when the minibatch entered"
            : "the backward pass uses the same version, which is kept";
    hp_put_line(to,
                "%s in flight (NOAM) on each replica of the first stage. A stage of r "
                "replicas updates its weights once for r minibatches; a forward "
                "pass sees them so many updates late: %s; %s.",
                hp_count(noam, view->noam, "minibatch", "minibatches"),
                delays_text(arena, view), sync);
    if (is_straight_and_uneven(view, plan))
        hp_put_line(to,
                    "The stages are uneven: a straight pipeline has a stage on each device, "
                    "and of all cuts with the same slowest stage or transfer the planner "
                    "takes the first. --use-fewer leaves out devices that do not make the "
                    "slowest faster.");
    if (!hypar_machine_is_uniform(plan->machine))
        hp_put_line(to, "The stages are cut as if all devices were as slow as the slowest.");
}

static void flush_text(FILE *to, struct arena *arena, const struct hypar_found *found)
{
    const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
    const struct hypar_plan *plan = hypar_found_plan(found);
    const struct hypar_simulated *sim = hypar_found_simulated(found);
    double busy_s = sim ? sim->compute_s : view->bottleneck_s;
    double step_s = sim ? sim->step.step_s : hypar_found_prediction(found).step_s;
    char closed[32], count[64];
    hypar_format_quantity(closed, view->dp_bottleneck_s, HYPAR_UNIT_SECONDS);
    hp_put_line(to, "%s; the busiest stage computes %s of a step, %.0f %% of it.%s",
                hp_count(count, plan->schedule.micro_batches, "micro-batch", "micro-batches"),
                hp_time_text(arena, busy_s), step_s > 0 ? 100 * busy_s / step_s : 0,
                sim ? "" /* a closed form is not comparable with a simulated step */
                    : hp_arena_printf(arena, " Data parallel: %s.", closed));
}

static void choices_text(FILE *to, struct arena *arena, const struct hypar_pipeline_view *view)
{
    hp_put_line(to,
                "One sample every %s, no bubble counted; replicas take samples in turn, of "
                "which each is a micro-batch.",
                hp_time_text(arena, view->bottleneck_s));
}

void hp_pipeline_text(FILE *to, struct arena *arena, const struct hypar_found *found)
{
    const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
    const struct hypar_plan *plan = hypar_found_plan(found);
    char count[64];
    stage_table(to, arena, found);
    if (view->per_sample)
        choices_text(to, arena, view);
    else if (is_pipedream(plan))
        pipedream_text(to, arena, view, plan);
    else
        flush_text(to, arena, found);
    if (view->states_parted)
        hp_put_line(to,
                    "%s to cut would part operators that share a parameter, which "
                    "this schedule does not allow.",
                    hp_count(count, view->states_parted, "place", "places"));
    /* in a plan for a framework, stages begin only at its modules: few places, and all of them
     * were tried */
    if (!view->all_states && (view->states_left_out || !hypar_found_info(found).target))
        hp_put_line(
            to,
            "The graph has too many branches to look at every cut: its operators were "
            "taken in one order, and cut at %s of it%s; --planner hybrid cuts at others.",
            hp_count(count, view->n_states, "place", "places"),
            view->states_left_out
                ? hp_arena_printf(arena, " (%d more left out)", view->states_left_out)
                : "");
}
