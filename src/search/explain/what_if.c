/* Simulates changes that may help: a faster part of the machine, or other settings of the
 * plan. */
#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "machine/machine.h"
#include "plan/schedules.h"
#include "search/explain/changes.h"
#include "search/nearby.h"

/* Machines ------------------------------------------------------------------------------- */

/* Figures of a machine that change together: rates double, times halve. The joules of an
 * operation and of a byte halve, too: a device of twice the speed takes the same power. */
struct figures {
    const char *what;
    enum { OF_LINKS, OF_NODES, OF_DEVICES, OF_POWER, OF_MEMORY, OF_HOSTS } of;
    int n;
    enum option option[24];
};

#define ARITHMETIC                                                                      \
    OPTION_FP32, OPTION_FP64, OPTION_BF16, OPTION_FP16, OPTION_TF32, OPTION_VECTOR,     \
        OPTION_FP32_ENERGY, OPTION_FP64_ENERGY, OPTION_BF16_ENERGY, OPTION_TF32_ENERGY, \
        OPTION_VECTOR_ENERGY
#define MEMORY_TRAFFIC OPTION_MEMORY_BANDWIDTH, OPTION_DRAM

static const struct figures devices = { "devices twice as fast",
                                        OF_DEVICES,
                                        18,
                                        { ARITHMETIC, MEMORY_TRAFFIC, OPTION_COPY,
                                          OPTION_KERNEL, OPTION_REDUCTION_TIME,
                                          OPTION_COLUMN_TIME, OPTION_SUMMED_TIME } };
static const struct figures memory = { "twice the memory", OF_MEMORY, 1, { OPTION_MEMORY } };

static const struct figures *const figures[] = {
    &(const struct figures){ "links twice as fast", OF_LINKS, 1, { OPTION_BANDWIDTH } },
    &(const struct figures){
        "links inside nodes twice as fast", OF_LINKS, 1, { OPTION_INTRA } },
    &(const struct figures){
        "links between nodes twice as fast", OF_NODES, 1, { OPTION_INTER } },
    &(const struct figures){ "arithmetic twice as fast", OF_DEVICES, 11, { ARITHMETIC } },
    &(const struct figures){
        "devices' memory twice as fast", OF_DEVICES, 2, { MEMORY_TRAFFIC } },
    &devices,
    &(const struct figures){ "power limit twice as high", OF_POWER, 1, { OPTION_POWER_LIMIT } },
    &memory,
    &(const struct figures){
        "hosts twice as fast", OF_HOSTS, 2, { OPTION_EAGER_LAUNCH, OPTION_COMPILED_LAUNCH } },
};

enum { N_FIGURES = sizeof figures / sizeof figures[0] };

static void set_factors(const struct figures *f, double factor[OPTION_COUNT])
{
    for (int o = 0; o < OPTION_COUNT; o++)
        factor[o] = 1;
    for (int i = 0; i < f->n; i++) {
        enum option o = f->option[i];
        enum hypar_unit unit = hp_machine_options[o].unit;
        factor[o] = unit == HYPAR_UNIT_SECONDS || unit == HYPAR_UNIT_JOULES ? 0.5 : 2;
    }
}

/* Does the power limit of any device bound its kernels? */
static bool has_power_limit(const struct hypar_machine *machine)
{
    bool has = false;
    for (int r = 0; r < machine->n_runs; r++)
        has |= machine->runs[r].device.power_limit_w > 0;
    return has;
}

/* Does a machine have such figures? Figures between nodes also need several nodes. */
static bool has_figures(const struct hypar_machine *machine, const struct figures *f)
{
    const struct part listed = { .topology = machine->topology };
    bool applies = machine->n_parts == 0 && hp_option_applies(&listed, f->option[0]);
    for (int p = 0; p < machine->n_parts; p++)
        applies |= hp_option_applies(&machine->parts[p], f->option[0]);
    return applies && (f->of != OF_NODES || hp_machine_rows(machine) > 1) &&
           (f->of != OF_POWER || has_power_limit(machine));
}

/* `plan` on a machine with changed figures of the devices of this name (NULL: all). On failure
 * returns NULL and fills `why`. */
static struct hypar_plan *on_faster(const struct hypar_plan *plan, const struct figures *f,
                                    const char *device, struct hypar_error *why)
{
    struct hypar_machine *machine;
    double factor[OPTION_COUNT];
    set_factors(f, factor);
    if (hp_machine_scaled(&machine, plan->machine, device, factor, why) != HYPAR_OK)
        return NULL;
    struct hypar_plan *changed = hp_changed_plan(plan, machine);
    if (f->of == OF_MEMORY)
        changed->memory_limit_bytes *= factor[OPTION_MEMORY];
    return changed;
}

/* The changed plan runs with `part` of the time that the framework adds on the hosts. */
static void add_hosts(struct changes *c, const char *what, struct hypar_plan *changed,
                      enum hypar_launches launches, double part)
{
    struct hypar_sim_options how = c->how;
    c->how.framework.launches = launches;
    c->how.framework.layer_s *= part;
    c->how.framework.slot_s *= part;
    c->how.framework.bucket_s *= part;
    changed->simulation.framework = c->how.framework;
    hp_add_change(c, what, changed);
    c->how = how;
}

static void try_faster(struct changes *c, const char *what, const struct figures *f,
                       const char *device)
{
    struct hypar_error why;
    struct hypar_plan *changed = on_faster(c->plan, f, device, &why);
    if (!changed)
        hp_refuse_change(c, what, why.text);
    else if (f->of == OF_HOSTS)
        add_hosts(c, what, changed, c->how.framework.launches, 0.5);
    else
        hp_add_change(c, what, changed);
}

/* If there are several kinds of devices, change each kind alone. */
static void try_kinds(struct changes *c)
{
    const struct hypar_machine *m = c->plan->machine;
    for (int r = 0; r < m->n_runs && !hypar_machine_is_uniform(m); r++) {
        const char *name = m->runs[r].device.name;
        bool first = true;
        for (int q = 0; q < r; q++)
            first &= strcmp(m->runs[q].device.name, name) != 0;
        if (first)
            try_faster(c, hp_arena_printf(c->arena, "%.60s twice as fast", name), &devices,
                       name);
    }
}

static void try_machines(struct changes *c, const struct hypar_sim_summary *now)
{
    const struct hypar_sim_measured *m = &now->measured;
    if (!c->plan->machine->topology->default_device && c->plan->machine->n_parts > 0) {
        hp_refuse_change(c, "a faster machine", "this computer is as it is");
        return;
    }
    for (int i = 0; i < N_FIGURES; i++) {
        const struct figures *f = figures[i];
        bool links = f->of == OF_LINKS || f->of == OF_NODES;
        bool passes = f->of == OF_DEVICES || f->of == OF_POWER;
        if (!has_figures(c->plan->machine, f) || (f->of == OF_HOSTS && !c->waits_for_hosts))
            continue;
        if (links && m->links)
            hp_refuse_change(c, f->what, "its messages were measured");
        else if (passes && (m->measured || m->interpolated))
            hp_refuse_change(c, f->what, "its passes were measured");
        else
            try_faster(c, f->what, f, NULL);
    }
    if (!m->measured && !m->interpolated)
        try_kinds(c);
}

/* Without devices ------------------------------------------------------------------------- */

/* Does the plan use a device that is left out? */
static bool uses_others(const struct hypar_plan *plan, const struct subset *s)
{
    struct arena scratch = { 0 };
    bool *kept = NEW(&scratch, bool, plan->n_all_devices), uses = false;
    for (int i = 0; i < s->n; i++)
        kept[s->device[i]] = true;
    for (int op = 0; op < plan->graph->n_ops; op++)
        for (int i = 0; i < plan->ops[op].n_devices; i++)
            uses |= !kept[plan->ops[op].device[i]];
    hp_arena_free(&scratch);
    return uses;
}

/* A plan of the planner that made this one, for these devices; NULL: there is none. */
static struct hypar_plan *plan_without(const struct changes *c, const struct problem *problem,
                                       const struct subset *subset)
{
    const struct hypar_plan_search *search = c->plan->search;
    const struct planner *planner = search ? hp_find_planner(search->self.planner) : NULL;
    struct hypar_plan_settings settings = hypar_plan_settings(c->plan);
    struct hypar_plan *changed = NULL;
    struct hypar_found *found;
    struct nearby there;
    bool again = planner && !planner->random_search && !planner->not_in_auto &&
                 planner != &hp_planner_flexflow;
    planner = again ? planner : &hp_planner_hybrid;
    if (!hp_nearby_subset(&there, problem, subset, INFINITY))
        return NULL;
    if (hp_run_planner(planner, &there.problem, &found, NULL) == HYPAR_OK) {
        changed = hp_plan_carry(found->plan, c->plan->machine, subset->device, &settings);
        hypar_found_free(found);
    }
    hp_nearby_end(&there);
    return changed;
}

/* If devices differ: try the plan without each class. */
static void try_without(struct changes *c)
{
    struct arena scratch = { 0 };
    struct hypar_search_options options = hp_options_again(c->plan, &c->how);
    struct problem problem = hp_problem(&scratch, c->plan->graph, c->plan->machine, &options);
    struct subsets s = { 0 };
    if (hp_may_look_nearby(&problem) && !hp_is_delayed(c->plan))
        s = hp_subsets_without_one(&scratch, &problem);
    for (int i = 0; i < s.n && !hp_stopped(c->stop); i++) {
        const char *what = hp_arena_printf(c->arena, "without %s", s.subset[i].without);
        if (!uses_others(c->plan, &s.subset[i]))
            continue;
        struct hypar_plan *changed = plan_without(c, &problem, &s.subset[i]);
        if (changed)
            hp_add_change(c, what, changed);
        else
            hp_refuse_change(c, what, "no plan was found that fits");
    }
    hp_arena_free(&scratch);
}

/* Plans ---------------------------------------------------------------------------------- */

static void try_micro_batches(struct changes *c, int64_t n)
{
    int64_t batch = c->plan->graph->batch;
    char *what =
        hp_arena_printf(c->arena, "%lld micro-batch%s instead of %lld", (long long)n,
                        n == 1 ? "" : "es", (long long)c->plan->schedule.micro_batches);
    if (n > batch) {
        hp_refuse_change(c, what,
                         hp_arena_printf(c->arena, "the batch has %lld sample%s",
                                         (long long)batch, batch == 1 ? "" : "s"));
        return;
    }
    struct hypar_plan *changed = hp_changed_plan(c->plan, NULL);
    changed->schedule.micro_batches = n;
    if (!hp_schedule_of(c->plan)->listed) {
        hp_add_change(c, what, changed);
        return;
    }
    hp_refuse_change(c, what, "the plan lists its slots one by one");
    hypar_plan_free(changed);
}

static void try_more_or_fewer(struct changes *c)
{
    int64_t n = c->plan->schedule.micro_batches;
    if (hp_is_delayed(c->plan)) {
        hp_refuse_change(c, "other micro-batches", "pipedream takes whole minibatches");
        return;
    }
    try_micro_batches(c, 2 * n);
    if (n > 1)
        try_micro_batches(c, n / 2);
}

/* A captured step is replayed: its kernels are launched as one graph, and the framework's own
 * code does not run. */
static void try_captured(struct changes *c)
{
    if (c->waits_for_hosts)
        add_hosts(c, "launches captured (CUDA graphs)", hp_changed_plan(c->plan, NULL),
                  HYPAR_LAUNCHES_CAPTURED, 0);
}

static void try_schedule(struct changes *c, enum hypar_schedule_kind kind)
{
    char *what =
        hp_arena_printf(c->arena, "schedule %s instead of %s", hypar_schedule_text(kind),
                        hypar_schedule_text(c->plan->schedule.kind));
    if (hp_schedule[kind].delayed) {
        hp_refuse_change(c, what, "it delays updates, which is another training");
        return;
    }
    struct hypar_plan *changed = hp_changed_plan(c->plan, NULL);
    changed->schedule =
        (struct hypar_schedule){ .kind = kind,
                                 .micro_batches = c->plan->schedule.micro_batches };
    changed->n_orders = 0;
    hp_add_change(c, what, changed);
}

/* Why the plan's stages allow no other schedule; NULL: they allow others. */
static const char *no_other_schedule(const struct hypar_plan *plan)
{
    if (plan->n_stages < 2)
        return plan->n_stages ? "the plan has one stage" : "the plan has no stages";
    for (int s = 0; s < plan->n_stages; s++)
        if (plan->stages[s].share == HYPAR_SHARE_MINIBATCH)
            return "replicas of its stages take minibatches in turn";
    return hp_schedule_of(plan)->interleaves ? "its devices have several stages" : NULL;
}

static void try_schedules(struct changes *c)
{
    const char *why_not = no_other_schedule(c->plan);
    if (why_not) {
        hp_refuse_change(c, "another schedule", why_not);
        return;
    }
    for (int i = 0; i < hp_n_schedules; i++) {
        enum hypar_schedule_kind kind = (enum hypar_schedule_kind)i;
        if (kind != c->plan->schedule.kind &&
            (hp_is_straight(kind) || hp_schedule[kind].delayed))
            try_schedule(c, kind);
    }
}

static void try_without_recomputing(struct changes *c)
{
    struct hypar_plan *changed = hp_changed_plan(c->plan, NULL);
    bool any = false;
    for (int op = 0; op < changed->graph->n_ops; op++) {
        any |= changed->ops[op].recompute || changed->ops[op].resend;
        changed->ops[op].recompute = changed->ops[op].resend = false;
    }
    if (any) {
        hp_add_change(c, "no recomputation", changed);
        return;
    }
    hp_refuse_change(c, "no recomputation", "nothing is computed again");
    hypar_plan_free(changed);
}

static void try_without_sharding(struct changes *c)
{
    struct hypar_plan *changed = hp_changed_plan(c->plan, NULL);
    bool any = false;
    for (int op = 0; op < changed->graph->n_ops; op++) {
        any |= changed->ops[op].shard != HYPAR_SHARD_NONE;
        changed->ops[op].shard = HYPAR_SHARD_NONE;
        changed->ops[op].shard_over = 0;
    }
    if (any)
        hp_add_change(c, "no sharding of parameters", changed);
    else
        hypar_plan_free(changed);
}

/* Memory --------------------------------------------------------------------------------- */

/* Mark the rows among the first `n` that need more memory than the devices have as impossible.
 * Add a row with twice the memory, for the fastest of them that fits in it. */
static void sort_out_memory(struct changes *c, int n)
{
    int best = -1;
    struct hypar_error why;
    for (int i = 0; i < n; i++) {
        struct hypar_what_if *row = &c->row[i];
        if (row->why_not || row->fits)
            continue;
        struct memory_text text = hp_memory_text(row->peak_memory_bytes, row->limit_bytes);
        row->why_not =
            hp_arena_printf(c->arena, "does not fit: needs %s of %s", text.need, text.has);
        if (row->plan && row->peak_memory_bytes <= 2 * row->limit_bytes &&
            (best < 0 || row->step_s < c->row[best].step_s))
            best = i;
    }
    struct hypar_plan *changed =
        best < 0 ? NULL : on_faster(c->row[best].plan, &memory, NULL, &why);
    if (changed)
        hp_add_change(c,
                      hp_arena_printf(c->arena, "twice the memory, and %s", c->row[best].what),
                      changed);
}

void hp_find_what_ifs(struct changes *c, const struct hypar_sim_summary *now)
{
    c->keep = true;
    try_machines(c, now);
    try_captured(c);
    try_more_or_fewer(c);
    try_schedules(c);
    try_without_recomputing(c);
    try_without_sharding(c);
    try_without(c);
    if (now->fits)
        sort_out_memory(c, c->n);
    hp_sort_changes(c->row, c->n);
}
