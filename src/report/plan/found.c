/* Reports the result of a search, and the list of planners. */
#include <hypar/report.h>

#include <string.h>

#include "plan/plan.h"
#include "report/plan/found.h"
#include "report/plan/words.h"

static const struct column planner_columns[] = {
    { "planner", "name", AS_TEXT, AT(struct hypar_planner_info, name) },
    { "", "summary", AS_TEXT, AT(struct hypar_planner_info, summary), WRAPS },
    { "after", "source", AS_TEXT, AT(struct hypar_planner_info, source) },
    { 0 },
};

void hypar_report_planners(FILE *to, enum hypar_format format)
{
    struct json_writer w = { .file = to };
    struct table_writer table = { .column = planner_columns,
                                  .to = to,
                                  .json = format == HYPAR_JSON ? &w : NULL };
    const struct hypar_planner_info *info;
    hp_table_begin(&table, NULL);
    for (int i = 0; (info = hypar_planner(i)); i++)
        hp_table_row(&table, info);
    hp_table_end(&table);
}

/* JSON -------------------------------------------------------------------------------- */

static void put_view(struct json_writer *w, const struct hypar_partition_view *view)
{
    hp_json_begin_object(w, "hypar", false);
    hp_json_begin_array(w, "levels", false);
    for (int h = 0; h < view->n_levels; h++)
        hp_json_put_string(w, NULL, view->level[h]);
    hp_json_end_array(w);
    hp_json_begin_array(w, "level_elements", true);
    for (int h = 0; h < view->n_levels; h++)
        hp_json_put_number(w, NULL, view->level_elements[h]);
    hp_json_end_array(w);
    PUT(w, NUMBER("total_elements", view->total_elements),
        NUMBER("total_bytes", view->total_bytes));
    hp_json_end_object(w);
}

/* The statistics of planners that make proposals. */
static void put_proposals(struct json_writer *w, const struct hypar_search_info *info)
{
    if (info->chains || info->proposals) {
        PUT(w, INT("proposals", info->proposals), INT("accepted", info->accepted));
    }
    if (!info->chains)
        return;
    PUT(w, INT("chains", info->chains), NUMBER("beta", info->beta), TEXT("start", info->start),
        NUMBER("start_s", info->start_s));
}

/* The relative distance of the simulated step from the bound; -1: not known. */
static double gap_of(const struct hypar_found *found)
{
    struct hypar_bound bound = hypar_found_info(found).bound;
    const struct hypar_simulated *s = hypar_found_simulated(found);
    double step_s = s ? s->step.step_s : hypar_found_info(found).part.step_s;
    return step_s > 0 && bound.step_s > 0 ? step_s / bound.step_s - 1 : -1;
}

char *hp_bound_text(struct arena *arena, const struct hypar_bound *bound, double step_s)
{
    double times = step_s / bound->step_s, gap = times - 1;
    const char *how_far =
        times >= 10 ? hp_arena_printf(arena, "this step takes %.0f times as long", times)
                    : hp_arena_printf(arena, "gap %.*f %%", gap < 0.1, 100 * gap);
    return hp_arena_printf(
        arena, "Lower bound %s (%s): no plan is faster by this model of the device; %s.",
        hp_time_text(arena, bound->step_s), bound->by, how_far);
}

void hp_put_bound(struct json_writer *w, const struct hypar_bound *b)
{
    if (!(b->step_s > 0))
        hp_json_put_null(w, "lower_bound");
    else
        PUT_OBJECT(w, "lower_bound", true, NUMBER("step_s", b->step_s), TEXT("by", b->by),
                   NUMBER("work_s", b->work_s), NUMBER("arithmetic_s", b->arithmetic_s),
                   NUMBER("traffic_s", b->traffic_s), NUMBER("way_s", b->way_s));
}

/* The search for the largest batch that fits. */
static void put_largest(struct json_writer *w, const struct hypar_largest *l)
{
    if (!l->batch)
        return;
    PUT_OBJECT(w, "largest_batch", false, INT("batch", l->batch),
               INT("micro_batches", l->micro_batches),
               ONLY_IF(l->beyond, INT("beyond", l->beyond)),
               NUMBER("need_bytes", l->need_bytes > 0 ? l->need_bytes : NAN),
               NUMBER("has_bytes", l->has_bytes > 0 ? l->has_bytes : NAN),
               ONLY_IF(*l->why.text, TEXT("why", l->why.text)), INT("tried", l->tried));
}

/* "dp: weights, gradients and sgd state need ...; owt: ..." */
static const char *refusals_text(struct arena *arena, const struct hypar_search_info *info)
{
    const char *text = "";
    for (int i = 0; i < info->n_left_out; i++)
        text = hp_arena_printf(arena, "%s%s%s: %s", text, i ? "; " : "",
                               info->left_out[i].planner, info->left_out[i].why);
    return text;
}

static void found_json(FILE *to, const struct hypar_found *found)
{
    struct json_writer w = { .file = to };
    const struct hypar_plan *plan = hypar_found_plan(found);
    struct hypar_search_info info = hypar_found_info(found);
    struct arena arena = { 0 };
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "model", hypar_plan_model(plan));
    hp_plan_put_machine(&w, plan);
    hp_json_put_int(&w, "batch", plan->graph->batch);
    put_largest(&w, &info.largest);
    PUT(&w, TEXT("planner", info.planner),
        ONLY_IF(info.made_for, TEXT("made_for", info.made_for)),
        ONLY_IF(info.target, TEXT("for", info.target)));
    const struct hypar_layerwise_view *layerwise = hypar_found_layerwise(found);
    hp_put_predicted(&w, found);
    hp_json_begin_object(&w, "search", false);
    PUT(&w, NUMBER("seconds", info.seconds), NUMBER("processor_s", info.processor_s),
        NUMBER("evaluated", info.evaluated >= 0 ? (double)info.evaluated : NAN),
        NUMBER("lower_bound_s", info.lower_bound_s > 0 ? info.lower_bound_s : NAN),
        NUMBER("lower_bound_elements",
               info.lower_bound_elements > 0 ? info.lower_bound_elements : NAN));
    hp_put_bound(&w, &info.bound);
    PUT(&w, NUMBER("gap", gap_of(found) >= 0 ? gap_of(found) : NAN), FLAG("exact", info.exact),
        ONLY_IF(info.interrupted, FLAG("interrupted", true)),
        ONLY_IF(info.for_target, TEXT("for_target", info.for_target)),
        ONLY_IF(info.restricted, TEXT("restricted", info.restricted)),
        ONLY_IF(info.safer, TEXT("safer", info.safer)),
        ONLY_IF(info.simpler, TEXT("simpler", info.simpler)),
        ONLY_IF(info.idle, TEXT("idle", info.idle)),
        ONLY_IF(info.left_out, TEXT("refused", refusals_text(&arena, &info))));
    if (info.n_others)
        hp_put_others(&w, info.other, info.n_others);
    put_proposals(&w, &info);
    hp_json_end_object(&w);
    if (hypar_found_partition(found))
        put_view(&w, hypar_found_partition(found));
    if (hypar_found_pipeline(found))
        hp_put_pipeline(&w, found);
    if (layerwise)
        hp_put_layerwise(&w, layerwise);
    if (hypar_plan_layout(plan))
        hp_plan_put_layout(&w, hypar_plan_layout(plan));
    hp_plan_put_ops(&w, plan);
    hp_plan_put_stages(&w, plan);
    hp_plan_put_schedule(&w, plan);
    hp_put_simulation(&w, &plan->simulation);
    hp_json_end_object(&w);
    hp_arena_free(&arena);
}

/* Text -------------------------------------------------------------------------------- */

/* Figures of the whole plan, below the levels. */
enum figure { ALL, EXACT, STATE, MEMORY, STEP, N_FIGURES };

static const struct {
    const char *name;
    enum hypar_unit unit;
} figures[N_FIGURES] = {
    [ALL] = { "all", HYPAR_UNIT_BYTES },     [EXACT] = { "exact", HYPAR_UNIT_BYTES },
    [STATE] = { "state", HYPAR_UNIT_BYTES }, [MEMORY] = { "memory", HYPAR_UNIT_BYTES },
    [STEP] = { "step", HYPAR_UNIT_SECONDS },
};

/* The figures of a plan; -1: not known. The steps of all plans are simulated, or all are closed
 * forms. With simulated steps, state and memory are those of the fullest device. */
static void figures_of(const struct hypar_found *found, bool simulated, double value[N_FIGURES])
{
    const struct hypar_simulated *s = hypar_found_simulated(found);
    struct hypar_prediction p = hypar_found_prediction(found);
    value[ALL] = hypar_found_partition(found)->total_bytes;
    value[EXACT] = hp_exact_bytes(found);
    value[STATE] = simulated
                       ? s->fullest.parameters + s->fullest.gradients + s->fullest.optimizer
                       : p.state_bytes;
    value[MEMORY] = simulated ? s->fullest.peak : -1;
    value[STEP] = simulated ? s->step.step_s : p.step_s;
}

/* Was the step simulated in part? Then it is not comparable with closed forms. */
static bool is_of_part(const struct hypar_found *found)
{
    return hypar_found_info(found).part.step_s > 0;
}

enum { MOST_PLANS = 4 }; /* side by side */

/* The bytes of each level, all groups together, for each planner; then the whole. */
static void level_table(FILE *to, struct arena *arena, const struct hypar_found *const *all,
                        int n_all, bool simulated)
{
    const struct hypar_partition_view *first = hypar_found_partition(all[0]);
    struct table_writer table = { .to = to, .texts = "level|>ways" };
    const char *row[2 + MOST_PLANS];
    double value[MOST_PLANS][N_FIGURES];
    for (int i = 0; i < n_all; i++)
        table.texts =
            hp_arena_printf(arena, "%s|>%s", table.texts, hypar_found_info(all[i]).planner);
    hp_table_begin(&table, NULL);
    double groups = 1;
    for (int h = 0; h < first->n_levels; h++) {
        row[0] = hp_arena_printf(arena, "H%d", h + 1);
        row[1] = hp_arena_printf(arena, "%d", first->ways[h]);
        for (int i = 0; i < n_all; i++)
            row[2 + i] = hp_bytes_text(
                arena, 8 * groups * hypar_found_partition(all[i])->level_elements[h]);
        hp_table_row(&table, row);
        groups *= first->ways[h];
    }
    for (int i = 0; i < n_all; i++)
        figures_of(all[i], simulated, value[i]);
    for (int f = 0; f < N_FIGURES; f++) {
        if ((f == MEMORY && !simulated) || (f == STEP && is_of_part(all[0])))
            continue;
        row[0] = figures[f].name;
        row[1] = "";
        for (int i = 0; i < n_all; i++)
            row[2 + i] =
                value[i][f] < 0 ? "-" : hp_figure_text(arena, value[i][f], figures[f].unit);
        hp_table_row(&table, row);
    }
    hp_table_end(&table);
}

/* The map and the table of a plan with HyPar's view, and the steps of other plans that have it:
 * a plan that was changed for a framework has not. */
static void partition_text(FILE *to, struct arena *arena, const struct hypar_found *found,
                           const struct hypar_found *const *others, int n_others)
{
    const struct hypar_found *all[MOST_PLANS] = { found };
    int n = 1;
    for (int i = 0; i < n_others && n < MOST_PLANS; i++)
        if (hypar_found_partition(others[i]))
            all[n++] = others[i];
    bool simulated = true, owt = false;
    for (int i = 0; i < n; i++) {
        simulated &= hypar_found_simulated(all[i]) != NULL;
        owt |= strcmp(hypar_found_info(all[i]).planner, "owt") == 0;
    }
    hp_draw_levels(to, arena, hypar_found_partition(found), hypar_found_plan(found)->graph);
    level_table(to, arena, all, n, simulated);
    fputc('\n', to);
    hp_put_line(to,
                "Levels as the paper counts them: fp32, both directions, every group. Exact: "
                "what the plan's program sends, %s (hypar lower). %s%s",
                hp_sent_text(hypar_found_plan(found)),
                simulated           ? "Memory and step: simulated."
                : is_of_part(found) ? "The others are not simulated, as that takes long."
                                    : "Step: in closed form.",
                owt ? " The plan of owt splits outputs (k) where its levels count mp." : "");
}

/* "data 8 x tensor 8 x pipeline 16 (3 chunks), 192 micro-batches, 1f1b, by sequence" */
static void layout_text(FILE *to, struct arena *arena, const struct hypar_layout *layout)
{
    const char *chunks =
        layout->chunks > 1 ? hp_arena_printf(arena, " (%d chunks)", layout->chunks) : "";
    const char *again =
        layout->recompute == HYPAR_RECOMPUTE_NONE
            ? ""
            : hp_arena_printf(arena, ", recompute %s", hypar_recompute_text(layout->recompute));
    const char *shard =
        layout->shard == HYPAR_SHARD_NONE
            ? ""
            : hp_arena_printf(arena, ", shard %s", hypar_shard_text(layout->shard));
    hp_put_line(to, "data %d x tensor %d x pipeline %d%s, %s, schedule %s%s%s%s", layout->data,
                layout->tensor, layout->pipeline, chunks,
                hp_count(arena, layout->micro_batches, "micro-batch"),
                hypar_schedule_text(layout->schedule),
                layout->sequence_parallel ? ", sequence parallel" : "", again, shard);
    fputc('\n', to);
}

static const char *verdict(struct arena *arena, const struct hypar_found *found)
{
    struct hypar_search_info info = hypar_found_info(found);
    if (!info.chooses || hypar_plan_layout(hypar_found_plan(found)))
        return "";
    if (info.exact)
        return hp_arena_printf(arena, "; %s", hypar_planner_find(info.planner)->exact);
    return hypar_found_partition(found) && !hypar_found_prediction(found).simulated
               ? "; each level from the top (--joint: all levels at once)"
               : "";
}

/* Describe a search by proposals. */
static void proposals_text(FILE *to, struct arena *arena, const struct hypar_search_info *info,
                           double step_s)
{
    char seed[32] = "";
    if (!info->chains && info->proposals)
        hp_put_line(to, "%s, %.0f %% accepted.", hp_count(arena, info->proposals, "proposal"),
                    100 * (double)info->accepted / (double)info->proposals);
    if (!info->chains)
        return;
    if (info->seed)
        snprintf(seed, sizeof seed, " --seed %lld", (long long)info->seed);
    hp_put_line(to,
                "Began with %s (%s): now %.2f times as fast. %s in %s, %.0f %% "
                "accepted, beta %.0f; --proposals %lld%s repeats it.",
                strcmp(info->start, "start") == 0 ? "the plan of --start" : info->start,
                hp_time_text(arena, info->start_s), info->start_s / step_s,
                hp_count(arena, info->proposals, "proposal"),
                hp_count(arena, info->chains, "chain"),
                info->proposals ? 100 * (double)info->accepted / (double)info->proposals : 0,
                info->beta, (long long)info->proposals, seed);
}

/* "The others: owt 119 ms, 1f1b 149 ms", in the unit of the objective. */
static void others_text(FILE *to, struct arena *arena, const struct hypar_search_info *info)
{
    const char *text = "";
    for (int i = 0; i < info->n_others; i++) {
        const struct hypar_other *o = &info->other[i];
        const char *figure = info->objective == HYPAR_COMM ? hp_bytes_text(arena, o->comm_bytes)
                             : info->objective == HYPAR_ENERGY
                                 ? hp_energy_text(arena, o->energy_j)
                                 : hp_time_text(arena, o->step_s);
        const char *same = !o->same_as ? ""
                           : strcmp(o->same_as, info->planner) == 0
                               ? " (this plan)"
                               : hp_arena_printf(arena, " (that of %s)", o->same_as);
        text = hp_arena_printf(arena, "%s%s%s %s%s", text, i ? ", " : "", o->planner, figure,
                               same);
    }
    fputs("The others: ", to);
    hp_wrap(to, hp_arena_printf(arena, "%s.", text), 12);
}

static void bound_text(FILE *to, struct arena *arena, const struct hypar_found *found)
{
    struct hypar_bound bound = hypar_found_info(found).bound;
    double gap = gap_of(found);
    if (gap >= 0)
        hp_put_line(to, "%s", hp_bound_text(arena, &bound, (1 + gap) * bound.step_s));
}

/* " in 32 micro-batches" for a plan without stages; plans with stages report them with the
 * stages. */
static const char *accumulated(struct arena *arena, const struct hypar_plan *plan)
{
    int64_t n = plan->schedule.micro_batches;
    if (n <= 1 || hypar_plan_stage_count(plan) || hypar_plan_layout(plan))
        return "";
    return hp_arena_printf(arena, " in %s", hp_count(arena, n, "micro-batch"));
}

/* "; 1,664 needs 81.2 GB of 80 GB", "; 1,544 needs 27.3 MB more than 80 GB" */
static const char *beyond_text(struct arena *arena, const struct hypar_largest *l)
{
    if (!l->beyond)
        return "; no batch may be larger";
    const char *batch = hp_thousands(arena, l->beyond);
    if (!(l->need_bytes > 0))
        return hp_arena_printf(arena, "; of %s: %s", batch, l->why.text);
    const char *need = hp_bytes_text(arena, l->need_bytes);
    const char *has = hp_bytes_text(arena, l->has_bytes);
    const char *lacks = hp_bytes_text(arena, l->need_bytes - l->has_bytes);
    if (strcmp(need, has) == 0)
        return hp_arena_printf(arena, "; %s needs %s more than %s", batch, lacks, has);
    return hp_arena_printf(arena, "; %s needs %s of %s", batch, need, has);
}

/* " (the largest that fits; 1,664 needs 81.2 GB of 80 GB)" */
static const char *largest_text(struct arena *arena, const struct hypar_largest *l)
{
    const char *in = "";
    if (!l->batch)
        return "";
    if (l->micro_batches > 1)
        in = hp_arena_printf(arena, " in %s", hp_count(arena, l->micro_batches, "micro-batch"));
    return hp_arena_printf(arena, " (the largest that fits%s%s)", in, beyond_text(arena, l));
}

/* The planners without a plan and their reasons; if this takes more than three lines, their
 * names and the reason of the first. */
static void left_out_text(FILE *to, struct arena *arena, const struct hypar_search_info *info)
{
    enum { THREE_LINES = 195 };
    const char *text = refusals_text(arena, info), *names = "";
    for (int i = 0; i < info->n_left_out; i++) {
        if (strlen(names) > THREE_LINES / 2) {
            names = hp_arena_printf(arena, "%s and %d more", names, info->n_left_out - i);
            break;
        }
        names = hp_joined(arena, names, ", ", hp_shown(arena, info->left_out[i].planner));
    }
    if (strlen(text) > THREE_LINES)
        text = hp_arena_printf(
            arena, "%s; %s: %s; --planner NAME tells why of each, and so does --json", names,
            hp_shown(arena, info->left_out[0].planner), hp_shown(arena, info->left_out[0].why));
    fputs("Left out: ", to);
    hp_wrap(to, text, 10);
}

static void found_text(FILE *to, const struct hypar_found *found,
                       const struct hypar_found *const *others, int n_others)
{
    const struct hypar_plan *plan = hypar_found_plan(found);
    const struct hypar_partition_view *view = hypar_found_partition(found);
    const struct hypar_layerwise_view *layerwise = hypar_found_layerwise(found);
    struct hypar_prediction p = hypar_found_prediction(found);
    struct hypar_search_info info = hypar_found_info(found);
    struct arena arena = { 0 };

    const char *heading = hp_arena_printf(
        &arena, "%s, batch %lld%s%s, on %s%s%s: planner %s%s%s", hp_model_words(&arena, plan),
        (long long)plan->graph->batch,
        info.largest.batch ? largest_text(&arena, &info.largest) : accumulated(&arena, plan),
        hp_settings_text(&arena, plan->precision, hp_plan_gradients(plan), plan->optimizer),
        hp_count(&arena, hypar_machine_device_count(plan->machine), "device"),
        info.target ? ", for " : "", info.target ? info.target : "", info.planner,
        info.made_for ? ", as for " : "", info.made_for ? info.made_for : "");
    if (info.largest.batch)
        hp_wrap(to, heading, 0);
    else
        fprintf(to, "%s\n", heading);
    fputc('\n', to);
    if (view && view->n_levels)
        partition_text(to, &arena, found, others, n_others);
    if (hypar_found_pipeline(found))
        hp_pipeline_text(to, &arena, found);
    if (layerwise)
        hp_layerwise_text(to, &arena, plan, layerwise);
    if (hypar_plan_layout(plan))
        layout_text(to, &arena, hypar_plan_layout(plan));
    bool viewed = view || layerwise || hypar_found_pipeline(found);
    if (p.simulated || hypar_plan_layout(plan) || !viewed) { /* the plan shows the choices */
        hypar_report_plan(to, plan, NULL, HYPAR_TEXT);
        fputc('\n', to);
    } else if (!layerwise) {
        struct plan_structure structure = hp_plan_structure(&arena, plan);
        if (structure.n_idle)
            hp_wrap(to, hp_idle_text(&arena, &structure), 0);
    }
    hp_predicted_text(to, &arena, found);
    bound_text(to, &arena, found);
    proposals_text(to, &arena, &info, p.step_s);
    hp_put_line(to, "Searched in %s%s.", hp_time_text(&arena, info.seconds),
                layerwise ? hp_layerwise_verdict(&arena, &info, p.step_s, layerwise)
                          : verdict(&arena, found));
    if (info.n_others)
        others_text(to, &arena, &info);
    if (info.idle)
        hp_put_line(to, "%d of %d devices idle: %s.", hypar_plan_idle_devices(plan),
                    hypar_machine_device_count(plan->machine), info.idle);
    if (info.for_target)
        hp_put_line(to, "For %s: %s.", info.target, info.for_target);
    if (info.safer)
        hp_put_line(to, "Of equals: %s.", info.safer);
    if (info.simpler)
        hp_put_line(to, "Simpler: %s.", info.simpler);
    if (info.restricted)
        hp_put_line(to, "Only planners that take %s were tried.", info.restricted);
    if (info.n_left_out)
        left_out_text(to, &arena, &info);
    hp_arena_free(&arena);
}

void hypar_report_found(FILE *to, const struct hypar_found *found,
                        const struct hypar_found *const *others, int n_others,
                        enum hypar_format format)
{
    if (format == HYPAR_JSON)
        found_json(to, found);
    else
        found_text(to, found, others, n_others);
}
