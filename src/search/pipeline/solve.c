/* PipeDream's recurrence (section 3.1 and the published optimizer, cost/papers/pipeline.h):
 *
 *     A(i, j, m) = min( stage(i, j, m),
 *                       min over k, m' of max( A(i, k, m - m'), stage(k + 1, j, m'),
 *                                              transfers into and out of that stage ) )
 *
 * The recurrence is solved at each level of the machine; the stage costs of a level are the A
 * of the level below. States are in order of time. A cut k can only be better if the work of
 * each side, divided evenly over its workers, takes less than the best so far. So only a short
 * window of cuts around the balanced cut is evaluated.
 *
 * If there are far more workers than states, each cut is visited once, and bounds exclude most
 * of its m'. A tree keeps the least A(i, k, .) over ranges of m - m', and the cost of the last
 * stage is monotonic in its replicas. */
#include "search/pipeline/solve.h"

#include <math.h>

#include "program/pipedream.h"

/* The factors of a stage's cost for a number of replicas, so that the inner loop needs no
 * division. */
struct factors {
    bool paper;
    double sync_s_per_byte, share, transfer_s_per_byte;
};

/* One level. A(i, j, m) is table[((m - 1) * n_rows + i) * n + j]; i is the state before the
 * range, plus one. */
struct level {
    int n_rows; /* n, or 1 at the top level, which only needs ranges from the start */
    int workers;
    double bytes_per_s;
    double spread; /* workers of one component */
    int below;    /* components of the level below: divides the first stage's synchronisation */
    bool limited; /* memory is limited: at the lowest level, where stages are on single
                   * workers */
    double *table;
    struct factors *factors; /* by replicas */
    /* For each row and m, the best cut of the previous state: a good first guess. */
    int *guess_cut, *guess_replicas;
    int n_leaves; /* leaves of a tree: a power of two, at least `workers`; 0: no trees */
    double *tree; /* tree of row i, state k: nodes from 1 on, at [(i * n + k) * n_leaves] */
};

struct solver {
    const struct pipeline_problem *problem;
    const struct cut_states *states;
    const struct pipeline_states *cost;
    int n, n_levels;
    struct level level[PIPELINE_MAX_LEVELS];
    /* For the current state j, by the state k of the cut: */
    double *inner_s; /* time of the range k + 1 .. j at the level below; INFINITY: no such
                      * range */
    double *weight;  /* weight bytes of the range */
    int *versions;   /* versions that fit in memory; used if the level is limited */
    int64_t evaluated;
    bool tracing; /* tracing back, not filling: no guesses */
};

static double *at(const struct solver *s, const struct level *l, int i, int m)
{
    return l->table + ((size_t)(m - 1) * (size_t)l->n_rows + (size_t)i) * (size_t)s->n;
}

/* The time of states after + 1 .. last at the level below level `l`. */
static double inside_s(const struct solver *s, int l, int after, int last)
{
    if (!hp_state_within(s->states, after, last))
        return INFINITY;
    if (l == 0)
        return hp_range_sum(s->cost->time_s, after, last);
    const struct level *lower = &s->level[l - 1];
    return at(s, lower, after + 1, lower->workers)[last];
}

/* The number of minibatches in flight for which a range fits in one worker's memory. */
static int versions_that_fit(const struct solver *s, int after, int last)
{
    const struct pipeline_states *c = s->cost;
    double limit = s->problem->memory_bytes;
    double fixed = hp_range_sum(c->fixed_bytes, after, last);
    double each = hp_pipeline_memory(hp_range_sum(c->weight_bytes, after, last),
                                     hp_range_sum(c->activation_bytes, after, last), 0, 1);
    if (fixed > limit)
        return 0;
    return each > 0 && (limit - fixed) / each < 1e9 ? (int)((limit - fixed) / each)
                                                    : 1000000000;
}

/* Minibatches in flight at a stage with `replicas`, the last stage of the first m
 * components. */
static int in_flight(const struct level *l, int m, int replicas)
{
    return hp_pipedream_in_flight(l->workers - m + replicas, replicas);
}

static struct factors factors_of(const struct solver *s, const struct level *l, int replicas)
{
    const struct pipeline_rules *rules = &s->problem->rules;
    return (struct factors){
        .paper = rules->paper,
        .sync_s_per_byte = hp_pipeline_sync_s(rules, 1, replicas, l->bytes_per_s),
        .share = 1.0 / replicas,
        .transfer_s_per_byte = hp_pipeline_transfer_s(rules, 1, replicas, l->bytes_per_s),
    };
}

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double cut_s(const struct solver *s, const struct factors *f, const double *head,
                           int k)
{
    double sync_s = f->sync_s_per_byte * s->weight[k];
    double stage_s =
        (f->paper ? larger(s->inner_s[k], sync_s) : s->inner_s[k] + sync_s) * f->share;
    double in_s = f->transfer_s_per_byte * s->cost->cut_bytes[k];
    return larger(larger(head[k], stage_s), in_s);
}

/* The first state in [lo, hi) whose time is above t. */
static int first_above(const double *time_s, int lo, int hi, double t)
{
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (time_s[mid] > t)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* The range being filled: row i, state j, m components. */
struct best_cut {
    const struct level *level;
    int i, j, m;
    double best_s;
    int cut, replicas; /* of its last stage; cut -1: the range is one stage */
};

/* The time to send the last stage's output. The published code counts it, except at the end of
 * the graph. */
static double out_s(const struct solver *s, const struct factors *f, int j)
{
    return f->paper || j == s->n - 1 ? 0 : f->transfer_s_per_byte * s->cost->cut_bytes[j];
}

static void try_cut(const struct solver *s, struct best_cut *c, int k, int replicas)
{
    struct factors f = c->level->factors[replicas];
    if (c->level->limited && s->versions[k] < in_flight(c->level, c->m, replicas))
        return;
    double v =
        larger(cut_s(s, &f, at(s, c->level, c->i, c->m - replicas), k), out_s(s, &f, c->j));
    if (v < c->best_s) {
        c->best_s = v;
        c->cut = k;
        c->replicas = replicas;
    }
}

/* Try all cuts whose last stage has `replicas`. The lower bound is the work of each side,
 * spread evenly over its workers, with a small margin for rounding. */
static void try_cuts(struct solver *s, struct best_cut *c, int replicas)
{
    const double *time_s = s->cost->time_s;
    struct factors f = c->level->factors[replicas];
    double least = out_s(s, &f, c->j), start = c->i ? time_s[c->i - 1] : 0;
    if (least >= c->best_s)
        return;
    double room = c->best_s * c->level->spread * (1 + 1e-9);
    int lo = first_above(time_s, c->i, c->j, time_s[c->j] * (1 - 1e-12) - room * replicas);
    int hi = first_above(time_s, lo, c->j, start + room * (c->m - replicas));
    const double *head = at(s, c->level, c->i, c->m - replicas);
    bool limit = c->level->limited;
    int needed = limit ? in_flight(c->level, c->m, replicas) : 0;
    s->evaluated += hi - lo;
    for (int k = lo; k < hi; k++) {
        double v = larger(cut_s(s, &f, head, k), least);
        if (v < c->best_s && (!limit || s->versions[k] >= needed)) {
            c->best_s = v;
            c->cut = k;
            c->replicas = replicas;
        }
    }
}

/* Many workers --------------------------------------------------------------------------- */

static double *tree_of(const struct solver *s, const struct level *l, int i, int k)
{
    return l->tree + ((size_t)i * (size_t)s->n + (size_t)k) * (size_t)l->n_leaves;
}

/* A node of a tree: heads (ranges before the cut) with lo .. hi - 1 components. */
struct heads {
    int node, lo, hi;
};

static double least_head_s(const struct solver *s, const struct best_cut *c, int k,
                           struct heads h)
{
    if (h.node < c->level->n_leaves)
        return tree_of(s, c->level, c->i, k)[h.node];
    return h.lo <= c->level->workers ? at(s, c->level, c->i, h.lo)[k] : INFINITY;
}

/* Fill the tree of row i, state k: each node has the least A(i, k, m) of its range of m. */
static void grow_tree(const struct solver *s, const struct level *l, int i, int k)
{
    double *tree = tree_of(s, l, i, k);
    struct best_cut c = { .level = l, .i = i };
    for (int node = l->n_leaves - 1; node > 0; node--) {
        int below = 2 * node, first = below - l->n_leaves + 1; /* m of `below`, if a leaf */
        tree[node] = fmin(least_head_s(s, &c, k, (struct heads){ below, first, 0 }),
                          least_head_s(s, &c, k, (struct heads){ below + 1, first + 1, 0 }));
    }
}

/* A lower bound for a cut at k with these heads, if the last stage has at least two replicas.
 * More replicas make the last stage's computation shorter. They also make its synchronisation
 * shorter by the published code's rule, but longer by the paper's rule. */
static double bound_s(const struct solver *s, const struct best_cut *c, int k, struct heads h)
{
    const struct factors *most = &c->level->factors[c->m - h.lo];
    const struct factors *least = &c->level->factors[c->m - h.hi >= 1 ? c->m - h.hi + 1 : 2];
    double stage_s = (s->inner_s[k] + most->sync_s_per_byte * s->weight[k]) * most->share;
    if (most->paper)
        stage_s = larger(s->inner_s[k] * most->share,
                         least->sync_s_per_byte * s->weight[k] * least->share);
    double sent_s =
        larger(most->transfer_s_per_byte * s->cost->cut_bytes[k], out_s(s, most, c->j));
    return larger(larger(stage_s, sent_s), least_head_s(s, c, k, h));
}

static void try_heads(struct solver *s, struct best_cut *c, int k, struct heads h)
{
    int most = c->m - h.lo;
    if (most < 2 || bound_s(s, c, k, h) >= c->best_s)
        return;
    if (c->level->limited && s->versions[k] < in_flight(c->level, c->m, most))
        return; /* fewer replicas have more minibatches in flight */
    s->evaluated++;
    if (h.node >= c->level->n_leaves) {
        try_cut(s, c, k, most);
        return;
    }
    int middle = h.lo + (h.hi - h.lo) / 2;
    struct heads few = { 2 * h.node, h.lo, middle }, many = { 2 * h.node + 1, middle, h.hi };
    bool few_first = c->m - middle < 2 || bound_s(s, c, k, few) < bound_s(s, c, k, many);
    try_heads(s, c, k, few_first ? few : many);
    try_heads(s, c, k, few_first ? many : few);
}

/* Try all cuts, one after another, with the trees. */
static void try_all_heads(struct solver *s, struct best_cut *c)
{
    for (int k = c->i; k < c->j; k++)
        try_cut(s, c, k, 1);
    for (int k = c->i; k < c->j; k++)
        try_heads(s, c, k, (struct heads){ 1, 1, 1 + c->level->n_leaves });
}

/* The time of the whole range as one stage. */
static double one_stage_s(const struct solver *s, int l, int i, int j, int m)
{
    const struct level *level = &s->level[l];
    const struct pipeline_rules *rules = &s->problem->rules;
    if (s->problem->straight && m > 1)
        return INFINITY;
    if (level->limited && versions_that_fit(s, i - 1, j) < in_flight(level, m, m))
        return INFINITY;
    double sync_s = hp_pipeline_sync_s(rules, hp_range_sum(s->cost->weight_bytes, i - 1, j), m,
                                       level->bytes_per_s);
    return hp_pipeline_stage_s(rules, inside_s(s, l, i - 1, j), sync_s / level->below, m);
}

/* Compute A(i, j, m) and its last stage. When tracing back, the choice among equals is the one
 * with the fewest replicas, then the earliest cut. When filling tables, only the value
 * matters. */
static struct best_cut find_best_cut(struct solver *s, int l, int i, int j, int m)
{
    const struct level *level = &s->level[l];
    struct best_cut c = { .level = level, .i = i, .j = j, .m = m, .cut = -1, .replicas = m };
    int most = s->problem->straight ? 1 : m - 1;
    size_t guess = (size_t)i * (size_t)level->workers + (size_t)m - 1;
    c.best_s = one_stage_s(s, l, i, j, m);
    if (m == 1 || (most == 1 && m > j - i + 1 && !s->problem->use_fewer)) /* too few states */
        return c;
    if (s->problem->use_fewer && at(s, level, i, m - 1)[j] < c.best_s) {
        c.best_s = at(s, level, i, m - 1)[j];
        c.replicas = 0; /* the same pipeline as with one component less */
    }
    int near = level->guess_cut[guess];
    if (level->guess_replicas[guess] && !s->tracing)
        try_cut(s, &c, near, level->guess_replicas[guess]);
    if (level->tree && !s->tracing && most > 1)
        try_all_heads(s, &c);
    else
        for (int replicas = 1; replicas <= most; replicas++)
            try_cuts(s, &c, replicas);
    if (c.cut >= 0 && !s->tracing) {
        level->guess_cut[guess] = c.cut;
        level->guess_replicas[guess] = c.replicas;
    }
    return c;
}

/* Prepare the arrays for ranges that end with state j. */
static void prepare_ranges(struct solver *s, int l, int j)
{
    for (int k = 0; k < j; k++) {
        s->inner_s[k] = inside_s(s, l, k, j);
        s->weight[k] = hp_range_sum(s->cost->weight_bytes, k, j);
        if (s->level[l].limited)
            s->versions[k] = versions_that_fit(s, k, j);
    }
}

static void fill_level(struct solver *s, struct arena *arena, int l)
{
    struct level *level = &s->level[l];
    size_t guesses = (size_t)level->n_rows * (size_t)level->workers;
    level->table = NEW(arena, double, guesses *(size_t)s->n);
    level->factors = NEW(arena, struct factors, level->workers + 1);
    for (int r = 1; r <= level->workers; r++)
        level->factors[r] = factors_of(s, level, r);
    level->guess_cut = NEW(arena, int, guesses);
    level->guess_replicas = NEW(arena, int, guesses);
    if (level->n_leaves)
        level->tree =
            NEW(arena, double, (size_t)level->n_rows *(size_t)s->n *(size_t)level->n_leaves);
    for (int j = 0; j < s->n && !hp_stopped(s->problem->stop); j++) {
        prepare_ranges(s, l, j);
        for (int i = 0; i < level->n_rows && i <= j; i++) {
            bool range_there = hp_state_within(s->states, i - 1, j);
            for (int m = 1; m <= level->workers; m++)
                at(s, level, i, m)[j] =
                    range_there ? find_best_cut(s, l, i, j, m).best_s : INFINITY;
            if (level->tree)
                grow_tree(s, level, i, j);
        }
    }
}

/* Trace back ------------------------------------------------------------------------------ */

/* The stages of A(i, j, m) at level l, in order; at most as many as there are states. */
static struct pipeline_stage *trace(struct solver *s, struct arena *arena, int l, int i, int j,
                                    int m, int *n_stages)
{
    struct pipeline_stage *stage = NEW(arena, struct pipeline_stage, m);
    int n = 0;
    while (j >= i && m > 0) {
        double best_s = at(s, &s->level[l], i, m)[j];
        if (s->problem->use_fewer && m > 1 && at(s, &s->level[l], i, m - 1)[j] == best_s &&
            one_stage_s(s, l, i, j, m) > best_s) {
            m--;
            continue;
        }
        prepare_ranges(s, l, j);
        struct best_cut c = find_best_cut(s, l, i, j, m);
        stage[n++] = (struct pipeline_stage){ .after = c.cut < 0 ? i - 1 : c.cut,
                                              .last = j,
                                              .workers = c.replicas };
        m -= c.replicas;
        j = c.cut < 0 ? -1 : c.cut;
    }
    for (int a = 0, b = n - 1; a < b; a++, b--) { /* found from the last to the first */
        struct pipeline_stage swap = stage[a];
        stage[a] = stage[b];
        stage[b] = swap;
    }
    for (int p = 0; l > 0 && p < n; p++)
        stage[p].inner = trace(s, arena, l - 1, stage[p].after + 1, stage[p].last,
                               s->level[l - 1].workers, &stage[p].n_inner);
    *n_stages = n;
    return stage;
}

/* Visits of a cut with a tree: a tree visits about this many nodes instead of all workers. */
enum { VISITS_OF_A_CUT = 32 };

static int leaves(int workers, int n_states)
{
    int n = 1;
    while (n < workers)
        n *= 2;
    return workers / VISITS_OF_A_CUT > n_states ? n : 0;
}

static void set_levels(struct solver *s)
{
    const struct pipeline_machine *machine = &s->problem->machine;
    double spread = 1;
    for (int l = 0; l < s->n_levels; l++) {
        bool first = l == 0 || s->problem->rules.paper;
        s->level[l] = (struct level){ .n_rows = l == s->n_levels - 1 ? 1 : s->n,
                                      .workers = machine->workers[l],
                                      .bytes_per_s = machine->bytes_per_s[l],
                                      .spread = spread,
                                      .below = first ? 1 : machine->workers[l - 1],
                                      .limited = l == 0 && s->problem->memory_bytes > 0,
                                      .n_leaves = leaves(machine->workers[l], s->n) };
        spread *= machine->workers[l];
    }
}

double hp_pipeline_room(const struct pipeline_machine *machine, int n_states)
{
    double room = 0, n = n_states;
    for (int l = 0; l < machine->n_levels; l++)
        room += ((double)machine->workers[l] + leaves(machine->workers[l], n_states)) * n *
                (l == machine->n_levels - 1 ? 1 : n);
    return room;
}

double hp_pipeline_work(const struct pipeline_machine *machine, int n_states)
{
    double evaluations = 0, n = n_states;
    for (int l = 0; l < machine->n_levels; l++) {
        double ranges = l == machine->n_levels - 1 ? n : n * n / 2;
        double m = machine->workers[l];
        evaluations +=
            ranges * m *
            (leaves(machine->workers[l], n_states) ? VISITS_OF_A_CUT * n / 2 : m / 2);
    }
    return evaluations;
}

enum hypar_status hp_pipeline_solve(struct arena *arena, const struct pipeline_problem *problem,
                                    struct pipeline *out, struct hypar_error *err)
{
    struct arena scratch = { 0 };
    struct solver s = { .problem = problem,
                        .states = problem->states,
                        .cost = &problem->states->cost,
                        .n = problem->states->n,
                        .n_levels = problem->machine.n_levels };
    s.inner_s = NEW(&scratch, double, s.n);
    s.weight = NEW(&scratch, double, s.n);
    s.versions = NEW(&scratch, int, s.n);
    set_levels(&s);
    for (int l = 0; l < s.n_levels; l++)
        fill_level(&s, &scratch, l);
    if (hp_stopped(problem->stop)) {
        hp_arena_free(&scratch);
        return hp_check_stop(problem->stop, err);
    }
    const struct level *top = &s.level[s.n_levels - 1];
    *out = (struct pipeline){ .bottleneck_s = at(&s, top, 0, top->workers)[s.n - 1] };
    s.tracing = true;
    if (isfinite(out->bottleneck_s))
        out->stage = trace(&s, arena, s.n_levels - 1, 0, s.n - 1, top->workers, &out->n_stages);
    out->evaluated = s.evaluated;
    hp_arena_free(&scratch);
    if (isfinite(out->bottleneck_s))
        return HYPAR_OK;
    bool bounded = problem->memory_bytes > 0;
    hp_fail(err, HYPAR_INFEASIBLE, "no pipeline on all devices%s",
            bounded ? " fits into memory" : "");
    return hp_about(err, bounded ? HYPAR_CAUSE_MEMORY : HYPAR_CAUSE_OTHER, HYPAR_INFEASIBLE);
}

/* All that a straight cut without a limit of memory depends on. */
struct straight_key {
    uint64_t states;
    int64_t n_stages;
    double bytes_per_s;
};

static uint64_t hash_of(const struct cut_states *states)
{
    size_t n = (size_t)states->n;
    uint64_t hash = hp_hash(HP_HASH_START, states->cost.time_s, n * sizeof(double));
    hash = hp_hash(hash, states->cost.cut_bytes, n * sizeof(double));
    return states->chain
               ? hp_hash(hash, states->through, n * sizeof(int))
               : hp_hash(hash, states->set, n * (size_t)states->n_words * sizeof(uint64_t));
}

const struct pipeline *hp_straight_cut(struct straight_cuts *cuts,
                                       const struct cut_states *states, int n_stages,
                                       double bytes_per_s, const volatile sig_atomic_t *stop)
{
    struct straight_key key = { hash_of(states), n_stages, bytes_per_s };
    void **kept = hp_memo(&cuts->memo, cuts->arena, &key, sizeof key);
    struct pipeline_problem p = {
        .states = states,
        .machine = { .n_levels = 1, .workers = { n_stages }, .bytes_per_s = { bytes_per_s } },
        .straight = true,
        .stop = stop
    };
    if (!*kept) {
        struct pipeline *found = NEW(cuts->arena, struct pipeline, 1);
        if (hp_pipeline_solve(cuts->arena, &p, found, NULL) != HYPAR_OK && hp_stopped(stop))
            return NULL;
        *kept = found;
    }
    const struct pipeline *found = *kept;
    return found->stage ? found : NULL;
}
