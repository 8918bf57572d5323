/* Finds the layout whose plan is nearest to a given plan: makes the plans of all layouts and
 * compares them. */
#include "emit/layouts.h"

/* The distance between two plans. */
struct distance {
    int axes;      /* differently split axes of all operators, plus other differences */
    int differing; /* operators with a difference */
    int first;     /* the first of these operators; -1: none */
};

static struct distance measure(const struct hypar_plan *a, const struct hypar_plan *b)
{
    struct distance far = { .first = -1 };
    for (int op = 0; op < a->graph->n_ops; op++) {
        const struct nest *nest = a->graph->ops[op].nest;
        const struct op_plan *x = &a->ops[op], *y = &b->ops[op];
        if (hp_same_op_plan(nest, x, y) && x->stage == y->stage)
            continue;
        far.first = far.first < 0 ? op : far.first;
        far.differing++;
        far.axes += x->stage == y->stage ? 1 : 2;
        for (int axis = 0; axis < nest->n_axes; axis++)
            far.axes += !hp_same_parts(&x->split, &y->split, axis);
    }
    return far;
}

struct nearest {
    const struct target *target;
    const struct hypar_plan *plan;
    struct layout_limits limits;
    struct hypar_plan *best; /* NULL: none yet */
    struct distance far;     /* its distance from the plan */
    struct hypar_error why;  /* why the first layout is refused; "": it is not */
    bool own;                /* ... and this layout is the plan's own */
};

static struct hypar_plan *make(const struct nearest *n, const struct hypar_layout *layout)
{
    const struct hypar_plan_settings settings = hypar_plan_settings(n->plan);
    struct hypar_plan *plan = hp_plan_new(n->plan->graph, n->plan->machine, &settings);
    if (hp_plan_set_layout_at(plan, layout, &n->limits, NULL) == HYPAR_OK &&
        hypar_plan_check(plan, NULL) == HYPAR_OK)
        return plan;
    hypar_plan_free(plan);
    return NULL;
}

/* Is this the plan's layout, apart from the sizes of parts? */
static bool is_of(const struct nearest *n, const struct hypar_layout *layout)
{
    const struct hypar_plan *plan = n->plan;
    struct hypar_plan *made = make(n, layout);
    bool same = made != NULL;
    for (int op = 0; op < plan->graph->n_ops && same; op++) {
        same = plan->ops[op].stage == made->ops[op].stage;
        for (int a = 0; a < plan->graph->ops[op].nest->n_axes; a++)
            same &= hp_degree(&plan->ops[op].split, a) == hp_degree(&made->ops[op].split, a);
    }
    hypar_plan_free(made);
    return same;
}

static void try_layout(struct nearest *n, const struct hypar_layout *layout)
{
    const struct target *target = n->target;
    struct hypar_error *why = n->best || *n->why.text ? NULL : &n->why;
    if (target->allows && target->allows(n->plan, layout, why) != HYPAR_OK) {
        n->own |= why && is_of(n, layout);
        return;
    }
    struct hypar_plan *made = make(n, layout);
    if (!made)
        return;
    struct distance far = measure(n->plan, made);
    if ((n->best && far.axes >= n->far.axes) ||
        (!target->allows && target->check(target, made, NULL) != HYPAR_OK)) {
        hypar_plan_free(made);
        return;
    }
    hypar_plan_free(n->best);
    n->best = made;
    n->far = far;
}

/* The shard setting of most operators with parameters. */
static enum hypar_shard common_shard(const struct hypar_plan *plan)
{
    int n[HYPAR_SHARD_COUNT] = { 0 };
    enum hypar_shard most = HYPAR_SHARD_NONE;
    for (int op = 0; op < plan->graph->n_ops; op++)
        n[plan->ops[op].shard] += hp_op_has_params(plan->graph, op);
    for (int i = 0; i < HYPAR_SHARD_COUNT; i++)
        if (n[i] > n[most])
            most = (enum hypar_shard)i;
    return most;
}

/* The recomputation setting that agrees with most operators. */
static enum hypar_recompute common_recompute(const struct hypar_plan *plan)
{
    struct hypar_plan *copy = hp_plan_copy(plan);
    enum hypar_recompute best = HYPAR_RECOMPUTE_NONE;
    int least = plan->graph->n_ops + 1;
    for (int i = 0; i < HYPAR_RECOMPUTE_COUNT; i++) {
        int differing = 0;
        hp_plan_set_recompute(copy, (enum hypar_recompute)i);
        for (int op = 0; op < plan->graph->n_ops; op++)
            differing += copy->ops[op].recompute != plan->ops[op].recompute;
        if (differing < least) {
            least = differing;
            best = (enum hypar_recompute)i;
        }
    }
    hypar_plan_free(copy);
    return best;
}

/* Try all layouts with these degrees of data, tensor and pipeline. Shard and schedule are those
 * of the plan or, if these are impossible, the next possible ones. */
static void try_degrees(struct nearest *n, struct hypar_layout layout)
{
    const struct hypar_schedule *schedule = &n->plan->schedule;
    bool has = hp_target_has(n->target, schedule->kind);
    layout.chunks = layout.pipeline > 1 && has && schedule->chunks > 1 ? schedule->chunks : 1;
    layout.schedule = hp_layout_schedule(&layout);
    if (layout.pipeline > 1 && has && schedule->kind != HYPAR_SCHEDULE_NONE)
        layout.schedule = schedule->kind;
    if (layout.data == 1)
        layout.shard = HYPAR_SHARD_NONE;
    for (int sequence = 0; sequence < (layout.tensor > 1 ? 2 : 1); sequence++) {
        layout.sequence_parallel = sequence;
        try_layout(n, &layout);
        for (struct hypar_layout less = layout; less.shard > HYPAR_SHARD_NONE && !n->best;) {
            less.shard--;
            try_layout(n, &less);
        }
    }
}

/* Try the degrees that the plan would have if it came from a layout: its groups of devices, and
 * the sample parts of the first operator with samples. */
static void try_own_degrees(struct nearest *n, struct hypar_layout layout)
{
    const struct hypar_plan *plan = n->plan;
    int chunks = plan->schedule.chunks > 1 ? plan->schedule.chunks : 1, sample = -1, op = 0;
    for (; op < plan->graph->n_ops && sample < 0; op++)
        sample = hp_sample_axis(plan->graph->ops[op].nest);
    layout.data = sample < 0 ? 1 : hp_degree(&plan->ops[op - 1].split, sample);
    layout.pipeline = plan->n_stages > chunks ? plan->n_stages / chunks : 1;
    layout.tensor = plan->n_all_devices / layout.data / layout.pipeline;
    if (layout.data * layout.tensor * layout.pipeline == plan->n_all_devices)
        try_degrees(n, layout);
}

/* Find the nearest layout. `any`: if the plan has no layout of its own, try all layouts. */
static struct nearest nearest_layout(const struct target *target, const struct hypar_plan *plan,
                                     const struct layout_limits *limits, bool any)
{
    struct nearest n = { .target = target, .plan = plan, .limits = *limits };
    struct hypar_layout layout = { .micro_batches = plan->schedule.micro_batches,
                                   .recompute = common_recompute(plan),
                                   .shard = common_shard(plan) };
    int all = plan->n_all_devices;
    if (plan->has_layout)
        try_layout(&n, &plan->layout);
    if (!n.best || n.far.differing > 0)
        try_own_degrees(&n, layout);
    if (!any || (n.best && n.far.differing == 0))
        return n;
    for (layout.pipeline = 1; layout.pipeline <= all; layout.pipeline++)
        for (layout.tensor = 1; layout.tensor <= all / layout.pipeline; layout.tensor++) {
            layout.data = all / layout.pipeline / layout.tensor;
            if (layout.data * layout.tensor * layout.pipeline == all)
                try_degrees(&n, layout);
        }
    return n;
}

struct hypar_plan *hp_nearest_layout(const struct target *target, const struct hypar_plan *plan,
                                     int *differing)
{
    struct arena scratch = { 0 };
    struct layout_limits limits = hp_target_limits(target, plan->graph, &scratch);
    struct nearest n = nearest_layout(target, plan, &limits, true);
    hp_arena_free(&scratch);
    *differing = n.far.differing;
    return n.best;
}

/* Refuse a plan whose operator `op` differs from `expected`. */
static enum hypar_status refuse_op(const struct target *target, const struct hypar_plan *plan,
                                   const struct hypar_plan *expected, int op,
                                   struct hypar_error *err)
{
    const struct op_plan *mine = &plan->ops[op], *other = &expected->ops[op];
    const struct nest *nest = plan->graph->ops[op].nest;
    const struct hypar_layout *l = &expected->layout;
    char as[128];
    snprintf(as, sizeof as, "in the nearest that %s can run (data %d, tensor %d, pipeline %d)",
             target->title, l->data, l->tensor, l->pipeline);
    for (int a = 0; a < nest->n_axes; a++) {
        int degree = hp_degree(&mine->split, a), wanted = hp_degree(&other->split, a);
        if (degree == 1 && wanted > 1)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "axis '%c' is not split, expected %d parts, as %s",
                           nest->axis[a].name[0], wanted, as);
        if (degree != wanted)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "axis '%c' is split %d ways, expected %d part%s, as %s",
                           nest->axis[a].name[0], degree, wanted, wanted == 1 ? "" : "s", as);
        if (!hp_same_parts(&mine->split, &other->split, a))
            return hp_fail(err, HYPAR_INFEASIBLE, "axis '%c': sizes are not those %s",
                           nest->axis[a].name[0], as);
    }
    const char *what = mine->stage != other->stage             ? "its stage"
                       : mine->recompute != other->recompute   ? "'recompute'"
                       : mine->shard != other->shard           ? "'shard'"
                       : mine->shard_over != other->shard_over ? "'shard_over'"
                       : mine->resend != other->resend         ? "'resend'"
                                                               : "devices";
    return hp_fail(err, HYPAR_INFEASIBLE, "%s: not as %s", what, as);
}

enum hypar_status hp_as_layout(const struct target *target, const struct hypar_plan *plan,
                               struct hypar_layout *out, struct hypar_error *err)
{
    enum hypar_status status = HYPAR_OK;
    TRY(hp_check_target_schedule(target, plan->schedule.kind, plan->n_stages > 1, err));
    if (plan->has_layout)
        TRY(target->allows(plan, &plan->layout, err));
    struct nearest n = nearest_layout(target, plan, &(struct layout_limits){ 0 }, err != NULL);
    if (!n.best)
        return hp_fail(err, HYPAR_INFEASIBLE, "there is no plan like it that %s can run: %s",
                       target->title, *n.why.text ? n.why.text : "no layout fits the machine");
    if (n.own && n.far.differing > 0)
        status = hp_fail(err, HYPAR_INFEASIBLE, "%s", n.why.text);
    else if (n.far.differing > 0)
        status = hp_in(err, refuse_op(target, plan, n.best, n.far.first, err), "op '%s'",
                       plan->graph->ops[n.far.first].name);
    else if (n.best->schedule.kind != plan->schedule.kind)
        status = hp_fail(err, HYPAR_INFEASIBLE, "schedule '%s', expected '%s'",
                         hypar_schedule_text(plan->schedule.kind),
                         hypar_schedule_text(n.best->schedule.kind));
    *out = n.best->layout;
    hypar_plan_free(n.best);
    return status;
}

enum hypar_status hp_check_as_layout(const struct target *target, const struct hypar_plan *plan,
                                     struct hypar_error *err)
{
    struct hypar_layout layout;
    if (plan->precision == HYPAR_FP64)
        return hp_fail(err, HYPAR_INFEASIBLE, "precision 'fp64', %s has fp32, bf16 and fp16",
                       target->title);
    return hp_as_layout(target, plan, &layout, err);
}

enum hypar_status hp_check_equal_parts(const struct target *target,
                                       const struct hypar_graph *graph,
                                       const struct hypar_layout *l, int layers,
                                       struct hypar_error *err)
{
    int stages = l->pipeline * l->chunks;
    if (l->first_layers || l->last_layers)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "layers of the first or last stage are given, expected as many in each");
    if (l->shard_over && l->shard_over != l->data)
        return hp_fail(err, HYPAR_INFEASIBLE, "shard_over %d, expected all replicas, %d",
                       l->shard_over, l->data);
    TRY(hp_check_target_schedule(target, l->schedule, l->pipeline > 1, err));
    if (l->pipeline > 1 && l->shard > HYPAR_SHARD_OPTIMIZER)
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "shard '%s' in a pipeline, %s divides the optimizer alone there "
                       "(ZeRO-1); expected shard 'optimizer'",
                       hypar_shard_text(l->shard), target->title);
    if (l->pipeline > 1 && (layers == 0 || layers % stages))
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "%d layers in %d stages, %s has as many in each; expected a number of "
                       "stages that divides them",
                       layers, stages, target->title);
    if (graph->batch % (l->data * l->micro_batches))
        return hp_fail(err, HYPAR_INFEASIBLE,
                       "a batch of %lld in %lld micro-batches of %d replicas, %s has as many "
                       "samples in each; expected a batch that they divide",
                       (long long)graph->batch, (long long)l->micro_batches, l->data,
                       target->title);
    return HYPAR_OK;
}
