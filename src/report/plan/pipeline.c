/* Reports a pipeline and its stages. */
#include "report/plan/found.h"

#include <math.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/schedules.h"
#include "report/plan/words.h"

static const char *name(const struct hypar_plan *plan, int op)
{
    return plan->graph->ops[op].name;
}

/* The tables: of a simulated plan, of a plan in closed form, and of measured choices. */
enum { SIMULATED = 1, IN_CLOSED_FORM = 2, CHOICES = 4 };

struct stage_row {
    const char *numbers, *operators, *count; /* of all stages of a row of text */
    struct hypar_pipeline_stage of;
    struct hypar_sim_stage sim;
};

static const struct column stage_columns[] = {
    { "stage", NULL, AS_TEXT, AT(struct stage_row, numbers), TO_THE_RIGHT },
    { "operators", NULL, AS_TEXT, AT(struct stage_row, operators), WRAPS },
    { "", NULL, AS_TEXT, AT(struct stage_row, count), TO_THE_RIGHT },
    { "again", "recomputed", AS_INT, AT(struct stage_row, of.recomputed), LEFT_OUT | IF_KNOWN,
      .when = CHOICES },
    { "replicas", "replicas", AS_INT, AT(struct stage_row, of.replicas) },
    { "tensor", "tensor", AS_INT, AT(struct stage_row, of.tensor), LEFT_OUT | IF_POSITIVE,
      .when = CHOICES },
    { "busy", "simulated_busy_s", AS_SECONDS, AT(struct stage_row, sim.busy_s), LEFT_OUT,
      .when = SIMULATED },
    { "time", "time_s", AS_SECONDS, AT(struct stage_row, of.time_s), .when = IN_CLOSED_FORM },
    { "in flight", NULL, AS_INT, AT(struct stage_row, sim.in_flight), .when = SIMULATED },
    { "in flight", "in_flight", AS_INT, AT(struct stage_row, of.in_flight),
      .when = IN_CLOSED_FORM | CHOICES },
    { "time", NULL, AS_SECONDS, AT(struct stage_row, of.time_s), .when = CHOICES },
    { NULL, "versions", AS_INT, AT(struct stage_row, of.versions) },
    { NULL, "delay", AS_INT, AT(struct stage_row, of.delay) },
    { "weights", "weight_bytes", AS_BYTES, AT(struct stage_row, of.weight_bytes) },
    { "activations", "activation_bytes", AS_BYTES, AT(struct stage_row, of.activation_bytes),
      .when = IN_CLOSED_FORM },
    { "memory", "simulated_memory_bytes", AS_BYTES, AT(struct stage_row, sim.peak_memory_bytes),
      LEFT_OUT, .when = SIMULATED },
    { "memory", "memory_bytes", AS_BYTES, AT(struct stage_row, of.memory_bytes),
      .when = IN_CLOSED_FORM | CHOICES },
    { 0 },
};

static struct stage_row row_of(const struct hypar_found *found, int s)
{
    const struct hypar_simulated *sim = hypar_found_simulated(found);
    struct stage_row row = { .of = hypar_found_pipeline(found)->stage[s] };
    row.sim = sim ? sim->stage[s]
                  : (struct hypar_sim_stage){ .busy_s = NAN, .peak_memory_bytes = NAN };
    row.of.recomputed = row.of.tensor ? row.of.recomputed : -1;
    return row;
}

static void put_stage(struct json_writer *w, const struct hypar_found *found, int s)
{
    const struct hypar_plan *plan = hypar_found_plan(found);
    struct hypar_stage stage = hypar_plan_stage(plan, s);
    struct stage_row row = row_of(found, s);
    hp_json_begin_object(w, NULL, true);
    hp_json_begin_array(w, "ops", true);
    for (int i = 0; i < stage.n_ops; i++)
        hp_json_put_string(w, NULL, name(plan, stage.op[i]));
    hp_json_end_array(w);
    hp_put_fields(w, stage_columns, &row);
    hp_json_end_object(w);
}

void hp_put_pipeline(struct json_writer *w, const struct hypar_found *found)
{
    const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
    const struct hypar_plan *plan = hypar_found_plan(found);
    /* the keys of PipeDream's planner: of every schedule whose stages update on their own */
    hp_json_begin_object(w, hp_is_delayed(plan) ? "pipedream" : "pipeline", false);
    PUT(w, NUMBER("bottleneck_s", view->bottleneck_s),
        NUMBER("one_worker_s", view->one_worker_s),
        ONLY_IF(!view->per_sample, NUMBER("dp_bottleneck_s", view->dp_bottleneck_s)),
        INT("noam", view->noam), NUMBER("transfer_bytes", view->transfer_bytes),
        NUMBER("sync_bytes", view->sync_bytes), INT("states", view->n_states),
        FLAG("all_states", view->all_states), INT("states_left_out", view->states_left_out),
        INT("states_parted", view->states_parted));
    hp_json_begin_array(w, "stages", false);
    for (int s = 0; s < view->n_stages; s++)
        put_stage(w, found, s);
    hp_json_end_array(w);
    hp_json_end_object(w);
}

/* Text --------------------------------------------------------------------------------- */

/* "conv1 .. relu3", or the only operator, or "-". */
static const char *ops_text(struct arena *arena, const struct hypar_plan *plan,
                            const struct hypar_stage *stage)
{
    if (stage->n_ops == 0)
        return "-";
    const char *first = name(plan, stage->op[0]);
    return stage->n_ops == 1 ? first
                             : hp_arena_printf(arena, "%s .. %s", first,
                                               name(plan, stage->op[stage->n_ops - 1]));
}

/* Add a row for stages first .. last. */
static void add_row(struct table_writer *table, struct arena *arena,
                    const struct hypar_found *found, int first, int last, const char *layers)
{
    struct stage_row *row = NEW(arena, struct stage_row, last - first + 1);
    int n_ops = 0;
    for (int s = first; s <= last; s++) {
        n_ops += hypar_plan_stage(hypar_found_plan(found), s).n_ops;
        row[s - first] = row_of(found, s);
    }
    row->numbers = hp_numbers_text(arena, first, last);
    row->operators = layers;
    row->count = hp_arena_printf(arena, "(%d)", n_ops);
    hp_table_range(table, row, last - first + 1, sizeof *row);
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

static void single_rows(struct table_writer *table, struct arena *arena,
                        const struct hypar_found *found, int first, int last)
{
    for (int i = first; i <= last; i++) {
        struct hypar_stage stage = hypar_plan_stage(hypar_found_plan(found), i);
        add_row(table, arena, found, i, i, ops_text(arena, hypar_found_plan(found), &stage));
    }
}

static void stage_rows(struct table_writer *table, struct arena *arena,
                       const struct hypar_found *found)
{
    const struct hypar_plan *plan = hypar_found_plan(found);
    int n_stages = hypar_plan_stage_count(plan);
    struct plan_structure s = { 0 };
    if (n_stages > MOST_STAGES)
        s = hp_plan_structure(arena, plan);
    if (n_stages <= MOST_STAGES || s.n_blocks != n_stages) {
        single_rows(table, arena, found, 0, n_stages - 1);
        return;
    }
    for (int g = 0; g < s.n_groups; g++) {
        const struct plan_block *block = &s.block[s.group[g].first];
        int first = block->stage[0], last = block[s.group[g].count - 1].stage[0];
        if (n_stages <= MOST_UNLIKE && !same_kinds(plan, first, last))
            single_rows(table, arena, found, first, last);
        else
            add_row(table, arena, found, first, last, hp_group_words(arena, &s, g).layers);
    }
}

static void stage_table(FILE *to, struct arena *arena, const struct hypar_found *found)
{
    struct table_writer table = { .column = stage_columns,
                                  .to = to,
                                  .shows = hypar_found_pipeline(found)->per_sample ? CHOICES
                                           : hypar_found_simulated(found)          ? SIMULATED
                                                                          : IN_CLOSED_FORM };
    hp_table_begin(&table, NULL);
    stage_rows(&table, arena, found);
    hp_table_end(&table);
    fputc('\n', to);
    hp_wrap(to,
            table.shows == SIMULATED
                ? "Busy computing in a step, and memory: simulated, of the busiest and of the "
                  "fullest device of a stage."
            : table.shows == IN_CLOSED_FORM
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
    const char *sync =
        plan->schedule.vertical_sync
            ? "all stages use the weights of the same updates, those that the first stage had "
              "when the minibatch entered"
            : "the backward pass uses the same version, which is kept";
    hp_put_line(to,
                "%s in flight (NOAM) on each replica of the first stage. A stage of r "
                "replicas updates its weights once for r minibatches; a forward "
                "pass sees them so many updates late: %s; %s.",
                hp_count(arena, view->noam, "minibatch"), delays_text(arena, view), sync);
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
    const char *closed = hp_time_text(arena, view->dp_bottleneck_s);
    hp_put_line(to, "%s; the busiest stage computes %s of a step, %.0f %% of it.%s",
                hp_count(arena, plan->schedule.micro_batches, "micro-batch"),
                hp_time_text(arena, busy_s), step_s > 0 ? 100 * busy_s / step_s : 0,
                sim ? "" /* a closed form is not comparable with a simulated step */
                    : hp_arena_printf(arena, " Data parallel: %s.", closed));
}

void hp_pipeline_text(FILE *to, struct arena *arena, const struct hypar_found *found)
{
    const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
    const struct hypar_plan *plan = hypar_found_plan(found);
    stage_table(to, arena, found);
    if (view->per_sample)
        hp_put_line(to,
                    "One sample every %s, no bubble counted; replicas take samples in turn, of "
                    "which each is a micro-batch.",
                    hp_time_text(arena, view->bottleneck_s));
    else if (hp_is_delayed(plan))
        pipedream_text(to, arena, view, plan);
    else
        flush_text(to, arena, found);
    if (view->states_parted)
        hp_put_line(to,
                    "%s to cut would part operators that share a parameter, which "
                    "this schedule does not allow.",
                    hp_count(arena, view->states_parted, "place"));
    /* in a plan for a framework, stages begin only at its modules: few places, and all of them
     * were tried */
    if (!view->all_states && (view->states_left_out || !hypar_found_info(found).target))
        hp_put_line(
            to,
            "The graph has too many branches to look at every cut: its operators were "
            "taken in one order, and cut at %s of it%s; --planner hybrid cuts at others.",
            hp_count(arena, view->n_states, "place"),
            view->states_left_out
                ? hp_arena_printf(arena, " (%d more left out)", view->states_left_out)
                : "");
}
