/* The proof: for random graphs and plans, the program of a plan computes the result of the
 * unsplit graph. Every pair is lowered, checked, and run by the executor, all ranks in one
 * process, in the order of task numbers and in the latest order that the edges allow. Every
 * number that any task reads, and all final values, are compared with the unsplit run.
 *
 *     HYPAR_PROOF_PAIRS   how many pairs (1000 at full length)
 *     HYPAR_PROOF_SEED    1, or another number for other pairs
 *     HYPAR_PROOF_ONLY    one pair, as a failure prints it: "SEED KIND A B"
 *     HYPAR_PROOF_WRITE   a folder that graphs and plans of all pairs are written to, for
 *                         `hypar train` (tests/mpi/random.sh)
 *     HYPAR_PROOF_FP32    ranks compute in single precision
 *     HYPAR_PROOF_BF16    ... and have numbers in bf16, whose bound is an eighth of a tensor's
 *                         largest element: bytes are exact, a wrong part shows
 *     HYPAR_PROOF_CARD    on a card: a stand-in, or with HYPAR_TEST_CARD the machine's own
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/table.h"
#include "base/word.h"
#include "program/lowering.h"
#include "tests/all_ranks.h"
#include "tests/check_program.h"
#include "tests/coverage.h"
#include "tests/length.h"
#include "tests/random_data.h"
#include "tests/random_plan.h"

enum { MAX_MACHINE = 8, GRAPH_DRAWS = 400, BATCHES = 3, DIVIDED = 8 };

#define MOST_SHARD HYPAR_SHARD_PARAMETERS

struct pair {
    uint64_t seed;
    struct goal goal;
    struct random random;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan *plan;
    struct hypar_lower_options options;
    struct hypar_program *program;
    struct arena arena;
    struct run_data data, batch[BATCHES];
    struct delayed_updates delayed;
    int steps, running; /* running statistics of batch norms that were compared */
    struct hypar_error err;
};

struct proof {
    struct coverage coverage;
    struct hypar_machine *machine[MAX_MACHINE + 1];
    int64_t proved, unstable, one_micro, tasks, running;
    int64_t schedules[HYPAR_SCHEDULE_COUNT][2]; /* of one micro-batch, of several */
    int64_t apart[2]; /* slots by hand with gradients apart: one stage on a device, several */
    int64_t delayed[2][2][2]; /* by stashing, vertical sync, whether stages are replicated */
    /* Gradients that are clipped, or were short enough: on one device, on several, in several
     * micro-batches, in stages. */
    int64_t clipped[2][4];
    /* Parameters that are frozen: beside one of the same operator that is not, and so that an
     * operator has no backward half. They are more than the pairs asked for. */
    int64_t frozen, beside, forward_only;
    int64_t again, resent, again_sent, again_staged, again_kind[OP_KIND_COUNT];
    int64_t divided[HYPAR_SHARD_COUNT][DIVIDED]; /* exchanges of parameters that are */
};

/* Drawing a pair ------------------------------------------------------------------- */

static bool splits(const struct nest *nest, char letter, int *axis)
{
    *axis = hp_nest_axis(nest, letter);
    return *axis >= 0 && nest->axis[*axis].splittable &&
           (nest->axis[*axis].extent > 1 || nest->axis[*axis].role == HYPAR_COPY);
}

/* The operator that the goal asks for, -1: the graph has none. */
static struct plan_focus find_focus(const struct hypar_graph *graph, const struct goal *goal)
{
    struct plan_focus focus = { -1, -1, -1, false };
    for (int op = 0; op < graph->n_ops && focus.op < 0; op++)
        if (graph->ops[op].kind == goal->kind &&
            splits(graph->ops[op].nest, goal->a, &focus.a) &&
            splits(graph->ops[op].nest, goal->b, &focus.b))
            focus.op = op;
    return focus;
}

/* Operators that mix samples (a sum over the batch) allow one micro-batch only. */
static enum hypar_status lower(struct proof *proof, struct pair *pair)
{
    static const double buckets[] = { 0, 0, 64, 1e9 };
    pair->options = (struct hypar_lower_options){
        .bucket_bytes = buckets[hp_random_below(&pair->random, 4)],
        .minibatches = draw(&pair->random, 1, 12),
    };
    enum hypar_status status =
        hypar_lower(&pair->program, pair->plan, &pair->options, &pair->err);
    if (status == HYPAR_UNSUPPORTED && pair->plan->schedule.micro_batches > 1) {
        struct hypar_schedule schedule = pair->plan->schedule;
        schedule.micro_batches = 1;
        hp_plan_set_schedule(pair->plan, &schedule);
        proof->one_micro++;
        status = hypar_lower(&pair->program, pair->plan, &pair->options, &pair->err);
    }
    return status;
}

/* In every fourth pair one to three parameters are frozen, if any are left then. */
static void draw_frozen(struct pair *pair)
{
    struct hypar_graph *g = pair->graph;
    struct random random = { pair->seed ^ 0x5851f42d4c957f2d };
    int n = 0, *param = NEW(&pair->arena, int, g->n_tensors);
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].kind == TENSOR_PARAM && g->tensors[t].needs_grad)
            param[n++] = t;
    int frozen = (int)draw(&random, 1, 3);
    char patterns[512] = "";
    if (!one_in(&random, 4) || n <= frozen)
        return;
    for (int i = 0; i < frozen; i++) {
        size_t used = strlen(patterns);
        snprintf(patterns + used, sizeof patterns - used, "%s%s", used ? "," : "",
                 g->tensors[param[hp_random_below(&random, n)]].name);
    }
    if (hp_graph_freeze(g, patterns, &pair->err) != HYPAR_OK)
        fail_msg("%s", pair->err.text);
}

static void note_frozen(struct proof *proof, const struct hypar_graph *g)
{
    bool beside = false, forward_only = false;
    for (int i = 0; i < g->n_ops; i++) {
        int params = 0, trained = 0;
        for (int o = 0; o < g->ops[i].nest->n_inputs; o++) {
            int t = g->ops[i].tensor[o];
            if (t < 0 || g->tensors[t].kind != TENSOR_PARAM)
                continue;
            params++;
            trained += g->tensors[t].needs_grad;
        }
        beside |= trained > 0 && trained < params;
        forward_only |= params > 0 && !hp_op_trained(g, &g->ops[i]);
    }
    proof->frozen++;
    proof->beside += beside;
    proof->forward_only += forward_only;
}

static void check_frozen(const struct proof *p)
{
    print_message("%lld more with frozen parameters: %lld beside trained ones, %lld without a "
                  "backward half\n",
                  (long long)p->frozen, (long long)p->beside, (long long)p->forward_only);
    if (!p->beside || !p->forward_only)
        fail_msg("a case of frozen parameters was not met");
}

static bool shares_params(const struct hypar_graph *g, int op)
{
    for (int o = 0; o < g->ops[op].nest->n_inputs; o++) {
        int t = g->ops[op].tensor[o];
        if (t >= 0 && g->tensors[t].kind == TENSOR_PARAM &&
            g->use_start[t + 1] - g->use_start[t] > 1)
            return true;
    }
    return false;
}

/* Every second pair divides some of its parameters, with one kind or several. */
static void draw_shards(struct pair *pair)
{
    struct hypar_plan *plan = pair->plan;
    struct random random = { pair->seed ^ 0x9e3779b97f4a7c15 };
    enum hypar_shard most = MOST_SHARD;
    if (plan->schedule.kind == HYPAR_SCHEDULE_PIPEDREAM)
        most = HYPAR_SHARD_OPTIMIZER;
    enum hypar_shard kind = (enum hypar_shard)draw(&random, 1, most);
    plan->gather_ahead = (int)hp_random_below(&random, 4);
    int over = one_in(&random, 2) ? 0 : one_in(&random, 3) ? (int)draw(&random, 1, 4) : 2;
    struct hypar_error err;
    if (one_in(&random, 2))
        return;
    if (hypar_plan_shard_all(plan, kind, over, &err) != HYPAR_OK &&
        hypar_plan_shard_all(plan, kind, 0, &err) != HYPAR_OK)
        hypar_plan_shard_all(plan, HYPAR_SHARD_NONE, 0, &err);
    for (int op = 0; one_in(&random, 2) && op < plan->graph->n_ops; op++)
        if (plan->ops[op].shard && one_in(&random, 3) && !shares_params(plan->graph, op)) {
            plan->ops[op].shard = (enum hypar_shard)hp_random_below(&random, kind + 1);
            plan->ops[op].shard_over = plan->ops[op].shard ? plan->ops[op].shard_over : 0;
        }
    plan->simulation.framework.row_shards = one_in(&random, 2);
}

/* Which kinds of dividing were met: over all who hold a piece and over some, of several pieces,
 * with gradients that are clipped, in several micro-batches, in stages. */
static void note_shards(struct proof *proof, const struct pair *pair)
{
    const struct training_graph *k = &pair->program->lowering->training;
    for (int d = 0; d < k->n_exchanges + k->n_tail; d++) {
        const struct exchange *x = &k->exchange[d];
        const struct pattern *p = hp_exchange_pattern(pair->program->lowering, 0, d);
        enum hypar_shard kind =
            x->division ? hp_param_user(pair->plan, x->place.tensor)->shard : HYPAR_SHARD_NONE;
        bool several = false, groups = false, padded = false;
        for (int c = 0; kind && c < p->n_cells; c++) {
            several |= p->cell[c].pieces > 1;
            padded |= p->cell[c].padded > p->cell[c].elements;
            groups |= x->division == DIVIDE_SUM && p->cell[c].pieces > 1 &&
                      p->cell[c].n_receivers + p->cell[c].n_kept > 1;
        }
        if (!several)
            continue;
        int64_t *met = proof->divided[kind];
        met[0]++;
        met[1] += groups;
        met[2] += p->copied;
        met[3] += pair->plan->clip > 0;
        met[4] += pair->program->iteration->n_micro > 1;
        met[5] += pair->plan->n_stages > 1;
        met[6] += pair->options.bucket_bytes > 0;
        met[7] += padded;
    }
}

static void check_divided(const struct proof *p)
{
    static const char *const where[DIVIDED] = {
        "of any kind", "in groups",        "where parts are copies",
        "clipped",     "in micro-batches", "in stages",
        "in buckets",  "padded",
    };
    for (int kind = HYPAR_SHARD_OPTIMIZER; kind <= (int)MOST_SHARD; kind++)
        for (int i = 0; i < DIVIDED; i++) {
            print_message("%s%s %lld %s", i ? ", " : "",
                          i ? "" : hypar_shard_text((enum hypar_shard)kind),
                          (long long)p->divided[kind][i], where[i]);
            if (i == DIVIDED - 1)
                print_message("\n");
            if (!p->divided[kind][i])
                fail_msg("no %s divided %s", hypar_shard_text((enum hypar_shard)kind),
                         where[i]);
        }
}

/* The precision of the ranks: bf16 in memory is fp32 in kernels. */
static bool in_bf16;

static bool proof_narrow(void)
{
    return in_bf16 || getenv("HYPAR_PROOF_BF16") != NULL;
}

static enum real proof_real(void)
{
    return getenv("HYPAR_PROOF_FP32") || proof_narrow() ? REAL_F32 : REAL_F64;
}

static double round_number(double x)
{
    return proof_narrow() ? hp_bf16_number(hp_bf16_bits((float)x)) : (double)(float)x;
}

/* Both runs begin with the same numbers. */
static void round_data(const struct hypar_graph *graph, struct run_data *data)
{
    for (int t = 0; t < graph->n_tensors; t++) {
        const struct view *v = &data->tensor[t];
        int64_t n = graph->tensors[t].index || !v->data ? 0 : hp_box_elements(&v->box);
        for (int64_t i = 0; i < n; i++)
            hp_put(v->data, i, round_number(hp_get(v->data, i, REAL_F64)), REAL_F64);
    }
}

/* Where a gradient is nothing but rounding, Adam makes a full step of it: in single precision
 * that would be seen. */
static struct optimizer proof_optimizer(const struct hypar_plan *plan)
{
    struct optimizer optimizer = hp_optimizer(plan->optimizer);
    if (proof_real() == REAL_F32)
        optimizer.epsilon = 1e-2;
    return optimizer;
}

/* Every third pair clips its gradients, to a norm that most have, or that none has. */
static void draw_clip(struct pair *pair)
{
    static const double norm[] = { 0.01, 0.5, 1e6 };
    struct random random = { pair->seed };
    if (pair->plan->schedule.kind != HYPAR_SCHEDULE_PIPEDREAM && one_in(&random, 3))
        pair->plan->clip = norm[hp_random_below(&random, 3)];
}

/* In every second pair some operators are recomputed, or all; not where a backward half has
 * other weights than the forward half had. */
static void draw_recompute(struct pair *pair)
{
    struct random random = { pair->seed ^ 0x9e3779b97f4a7c15 };
    const struct hypar_schedule *schedule = &pair->plan->schedule;
    int one_of = (int)draw(&random, 1, 3);
    if (one_in(&random, 2) || (schedule->kind == HYPAR_SCHEDULE_PIPEDREAM && !schedule->stash))
        return;
    for (int op = 0; op < pair->graph->n_ops; op++) {
        pair->plan->ops[op].recompute = one_in(&random, one_of);
        pair->plan->ops[op].resend = one_in(&random, 4);
        if (hp_check_resend(pair->plan, &pair->err) != HYPAR_OK)
            pair->plan->ops[op].resend = false;
    }
}

/* Kinds of operators that were computed again, on one device, with messages, in stages. */
static void note_recomputed(struct proof *proof, const struct pair *pair)
{
    const struct training_graph *k = &pair->program->lowering->training;
    bool any = false, sent = false, resent = false;
    for (int op = 0; op < pair->graph->n_ops; op++) {
        any |= k->again[op] != 0;
        proof->again_kind[pair->graph->ops[op].kind] += k->again[op] != 0;
    }
    for (int d = 0; d < k->n_exchanges; d++)
        if (k->exchange[d].place.again && k->exchange[d].n_writers &&
            hp_exchange_pattern(pair->program->lowering, 0, d)->n_comms > 0)
            *(k->op_pass[hp_source_pass(k, k->exchange[d].writer)].resend ? &resent : &sent) =
                true;
    proof->again += any;
    proof->again_sent += sent;
    proof->resent += resent;
    proof->again_staged += any && pair->plan->n_stages > 1;
}

/* An operator whose passes nobody may need: none of the kinds that keep nothing. */
static void check_recomputed(const struct proof *p)
{
    print_message("computed again: in %lld pairs, with messages in %lld, in stages in %lld; "
                  "kept and sent again in %lld\n",
                  (long long)p->again, (long long)p->again_sent, (long long)p->again_staged,
                  (long long)p->resent);
    if (!p->again_sent || !p->again_staged || !p->resent)
        fail_msg("a case of recomputation was not met");
    for (int kind = 0; kind < OP_KIND_COUNT; kind++)
        if (!p->again_kind[kind] && !(hp_op[kind].flags & (ROW_OPAQUE | ROW_LOSS)))
            fail_msg("no %s was computed again", hp_op[kind].name);
}

static void note_clip(struct proof *proof, const struct pair *pair, double scale)
{
    const struct lowering *s = pair->program->lowering;
    if (s->training.norm < 0)
        return;
    int64_t *met = proof->clipped[scale >= 1];
    met[0] += s->norm.n == 1;
    met[1] += s->norm.n > 1;
    met[2] += pair->program->iteration->n_micro > 1;
    met[3] += pair->plan->n_stages > 1;
}

static void note_schedule(struct proof *proof, const struct hypar_program *p)
{
    proof->schedules[p->plan->schedule.kind][p->iteration->n_micro > 1]++;
    if (p->plan->schedule.kind == HYPAR_SCHEDULE_SLOTS && p->schedule->apart)
        proof->apart[p->schedule->several]++;
}

static void check_schedules(const struct proof *p)
{
    for (int i = 0; i < HYPAR_SCHEDULE_COUNT; i++) {
        print_message("%s%s %lld + %lld",
                      i ? ", " : "schedules of one and several micro-batches: ",
                      hypar_schedule_text((enum hypar_schedule_kind)i),
                      (long long)p->schedules[i][0], (long long)p->schedules[i][1]);
        if (!p->schedules[i][1])
            fail_msg("no schedule '%s': add it to tests/random_plan.c",
                     hypar_schedule_text((enum hypar_schedule_kind)i));
    }
    print_message("; by hand with gradients apart %lld, of them %lld with several stages on a "
                  "device\n",
                  (long long)(p->apart[0] + p->apart[1]), (long long)p->apart[1]);
    if (!p->apart[0] || !p->apart[1])
        fail_msg("no slots by hand with gradients apart");
}

static void check_clipped(const struct proof *p)
{
    static const char *const where[] = { "on one device", "on several devices",
                                         "in several micro-batches", "in stages" };
    for (int i = 0; i < 8; i++) {
        print_message("%s%lld %s",
                      i % 4 ? ", "
                      : i   ? "; not clipped: "
                            : "clipped: ",
                      (long long)p->clipped[i / 4][i % 4], where[i % 4]);
        if (!p->clipped[i / 4][i % 4])
            fail_msg("no gradients %s %s", i < 4 ? "clipped" : "short enough", where[i % 4]);
    }
    print_message("\n");
}

/* A model input without samples is the same in every batch. */
static void share_constants(struct pair *pair)
{
    for (int i = 0; i < BATCHES; i++)
        for (int t = 0; t < pair->graph->n_tensors; t++) {
            struct view *view = (struct view *)&pair->batch[i].tensor[t];
            if (pair->graph->tensors[t].kind == TENSOR_INPUT &&
                pair->graph->tensors[t].sample_dim < 0)
                *view = pair->data.tensor[t];
        }
}

static enum hypar_status draw_pair(struct proof *proof, struct pair *pair)
{
    bool any = pair->goal.kind == OP_KIND_COUNT; /* a pipeline, whatever is in it */
    struct plan_focus focus = { -1, -1, -1, false };
    pair->random = (struct random){ pair->seed * 0x2545f4914f6cdd1d };
    for (int tries = 0; tries < GRAPH_DRAWS && focus.op < 0; tries++) {
        hypar_graph_free(pair->graph);
        pair->graph = random_graph(&pair->random, pair->goal.kind);
        if (any)
            break;
        focus = find_focus(pair->graph, &pair->goal);
    }
    focus.delayed = any;
    draw_frozen(pair);
    pair->machine = proof->machine[draw(&pair->random, 1, MAX_MACHINE)];
    pair->plan = random_plan(&pair->random, pair->graph, pair->machine, &focus);
    if (proof_real() == REAL_F32)
        pair->plan->precision = proof_narrow() ? HYPAR_BF16 : HYPAR_FP32;
    draw_clip(pair);
    draw_recompute(pair);
    pair->plan->masks = pair->seed % 2 ? HYPAR_MASKS_KEPT : HYPAR_MASKS_DRAWN;
    draw_shards(pair);
    pair->data = random_data(&pair->arena, pair->graph, REAL_F64, pair->seed);
    for (int i = 0; i < BATCHES; i++)
        pair->batch[i] = random_data(&pair->arena, pair->graph, REAL_F64,
                                     pair->seed + (uint64_t)(i + 1) * 1000003);
    if (proof_real() == REAL_F32) {
        round_data(pair->graph, &pair->data);
        for (int i = 0; i < BATCHES; i++)
            round_data(pair->graph, &pair->batch[i]);
    }
    share_constants(pair);
    pair->steps = pair->plan->optimizer == HYPAR_SGD || one_in(&pair->random, 2) ? 1 : 2;
    return lower(proof, pair);
}

static void release(struct pair *pair)
{
    hypar_program_free(pair->program);
    hypar_plan_free(pair->plan);
    hypar_graph_free(pair->graph);
    hp_arena_free(&pair->arena);
}

/* Comparing ------------------------------------------------------------------------ */

static struct unsplit_run *new_reference(struct pair *pair, double noise, bool rounds)
{
    const struct iteration *r = pair->program->iteration;
    pair->delayed =
        (struct delayed_updates){ .pipe = r->pipe,
                                  .stage_of_op = pair->program->schedule->stage_of_op,
                                  .stash = pair->plan->schedule.stash,
                                  .vertical_sync = pair->plan->schedule.vertical_sync,
                                  .batch = pair->batch,
                                  .n_batches = BATCHES };
    struct unsplit_settings settings = {
        .micro_batches = r->n_micro,
        .delayed = r->delayed ? &pair->delayed : NULL,
        .forward = r->forward,
        .optimizer = proof_optimizer(pair->plan),
        .clip = pair->plan->clip,
        .seed = pair->seed,
        .noise = noise,
        .rounds = rounds,
    };
    return unsplit_run_new(pair->graph, &pair->data, &settings);
}

/* Both runs step by step. `*differs`: everything ran, but the numbers are not the same. */
static enum hypar_status execute(struct proof *proof, struct pair *pair, enum task_order order,
                                 bool *differs)
{
    struct unsplit_run *reference = new_reference(pair, 0, false);
    struct all_ranks_settings settings = { .data = &pair->data,
                                           .batch = pair->batch,
                                           .n_batches = BATCHES,
                                           .order = order,
                                           .optimizer = proof_optimizer(pair->plan),
                                           .seed = pair->seed,
                                           .arrays = getenv("HYPAR_PROOF_CARD") ? ARRAYS_ON_CARD
                                                     : pair->seed & 1           ? ARRAYS_FAR
                                                                                : ARRAYS_HERE,
                                           .fp32 = proof_real() == REAL_F32,
                                           .narrow = proof_narrow(),
                                           .reference = reference };
    struct all_ranks *ranks;
    enum hypar_status status = all_ranks_new(&ranks, pair->program, &settings, &pair->err);
    for (int s = 0; s < pair->steps && status == HYPAR_OK; s++)
        status = hp_in(&pair->err, all_ranks_step(ranks, &pair->err), "step %d", s + 1);
    *differs = ranks && all_ranks_differ(ranks);
    pair->running += ranks ? all_ranks_running(ranks) : 0;
    all_ranks_free(ranks);
    if (status == HYPAR_OK && !pair->program->iteration->delayed)
        note_clip(proof, pair, unsplit_run_scale(reference));
    unsplit_run_free(reference);
    return status;
}

/* Proving -------------------------------------------------------------------------- */

static bool differ(const struct pair *pair, const struct unsplit_run *a,
                   const struct unsplit_run *b, enum real real)
{
    for (int m = 0; m < pair->program->iteration->n_micro; m++)
        for (int t = 0; t < pair->graph->n_tensors; t++)
            for (int grad = 0; grad < 2 && !pair->graph->tensors[t].index; grad++) {
                struct place place = { .tensor = t, .grad = grad };
                const struct view *x = unsplit_run_view(a, place, m);
                const struct view *y = unsplit_run_view(b, place, m);
                int64_t n = hp_box_elements(&x->box);
                double most =
                    tolerance_of(real, proof_narrow()) * scale_of(x->data, n, proof_narrow());
                /* in bf16 one draw of noise says little: it may move numbers less than rounding
                 * does */
                if (first_difference(x->data, y->data, n, proof_narrow() ? most / 4 : most) >=
                    0)
                    return true;
            }
    return false;
}

/* Does the unsplit run itself move by more than the tolerance when what operators write is off
 * in the last digits? Then the pair says nothing: some element sits on the edge of a ReLU, two
 * are as good as equal before a maximum, or a result is a difference of nearly equal numbers.
 */
static bool moves(struct pair *pair, double noise, bool rounds)
{
    enum real real = proof_real();
    struct unsplit_run *a = new_reference(pair, 0, false);
    struct unsplit_run *b = new_reference(pair, noise, rounds);
    bool moved = false;
    for (int s = 0; s < pair->steps; s++) {
        unsplit_run_step(a);
        unsplit_run_step(b);
        moved |= differ(pair, a, b, real);
    }
    unsplit_run_free(a);
    unsplit_run_free(b);
    return moved;
}

/* Rounding to bf16 also makes numbers equal. */
static bool unstable(struct pair *pair)
{
    double noise = proof_narrow() ? 1. / 128 : proof_real() == REAL_F32 ? 1e-6 : 1e-15;
    return moves(pair, noise, false) || (proof_narrow() && moves(pair, 0, true));
}

/* The program in both orders. `*differs`: the numbers are not the same, but a task that cannot
 * run is wrong whatever they are. */
static enum hypar_status prove_program(struct proof *proof, struct pair *pair, bool *differs)
{
    TRY(check_program(pair->program, &pair->err));
    TRY(hp_in(&pair->err, execute(proof, pair, ORDER_NUMBERS, differs), "in order of numbers"));
    return hp_in(&pair->err, execute(proof, pair, ORDER_LATEST, differs), "the latest first");
}

/* The same plan, forward phases alone. */
static enum hypar_status prove_forward(struct proof *proof, struct pair *pair, bool *differs)
{
    pair->options.forward = true;
    hypar_program_free(pair->program);
    pair->program = NULL;
    TRY(hypar_lower(&pair->program, pair->plan, &pair->options, &pair->err));
    for (int l = 0; l < pair->program->schedule->n_lists; l++)
        for (int i = 0; i < pair->program->schedule->list[l].n_slots; i++)
            if (pair->program->schedule->list[l].slot[i].phase != PHASE_FORWARD &&
                pair->program->schedule->list[l].slot[i].phase != PHASE_UPDATE)
                return hp_fail(&pair->err, HYPAR_RUNTIME, "a backward slot");
    return hp_in(&pair->err, prove_program(proof, pair, differs), "forward alone");
}

static enum hypar_status prove(struct proof *proof, struct pair *pair)
{
    TRY(draw_pair(proof, pair));
    note_shards(proof, pair);
    bool differs = false, forward_differs = false;
    enum hypar_status status = prove_program(proof, pair, &differs);
    if (differs && unstable(pair)) {
        proof->unstable++;
        return HYPAR_OK;
    }
    if (pair->graph->frozen) {
        note_frozen(proof, pair->graph);
        return status;
    }
    proof->proved++;
    proof->tasks += hypar_program_totals(pair->program).tasks;
    proof->running += pair->running;
    note_schedule(proof, pair->program);
    coverage_note(&proof->coverage, pair->plan);
    note_recomputed(proof, pair);
    const struct iteration *r = pair->program->iteration;
    if (r->delayed)
        proof->delayed[r->stash][r->sync][r->n_bodies > 1]++;
    if (status == HYPAR_OK)
        status = prove_forward(proof, pair, &forward_differs);
    return forward_differs && unstable(pair) ? HYPAR_OK : status;
}

static void begin(struct proof *proof)
{
    struct hypar_error err;
    *proof = (struct proof){ 0 };
    coverage_begin(&proof->coverage);
    for (int kind = 0; kind < OP_KIND_COUNT; kind++)
        if (!(hp_op[kind].flags & ROW_OPAQUE) && !hp_kernel_exists((enum op_kind)kind))
            fail_msg("operator '%s' has no kernel: add its row to src/kernel/reference.inc",
                     hp_op[kind].name);
    for (int n = 1; n <= MAX_MACHINE; n++) {
        char word[16];
        snprintf(word, sizeof word, "full:%d", n);
        if (hypar_machine_read(&proof->machine[n], word, &err))
            fail_msg("%s", err.text);
    }
}

static void end(struct proof *proof)
{
    for (int n = 1; n <= MAX_MACHINE; n++)
        hypar_machine_free(proof->machine[n]);
    hp_arena_free(&proof->coverage.arena);
}

/* The pair as files: a plan of a graph beside it. */
static void write_pair(struct pair *pair, const char *folder)
{
    char path[512], model[64];
    snprintf(model, sizeof model, "%llu.graph.json", (unsigned long long)pair->seed);
    snprintf(path, sizeof path, "%s/%s", folder, model);
    FILE *graph = fopen(path, "w");
    snprintf(path, sizeof path, "%s/%llu.plan.json", folder, (unsigned long long)pair->seed);
    FILE *plan = fopen(path, "w");
    assert_true(graph && plan);
    pair->plan->model = model;
    hypar_graph_write(pair->graph, graph);
    hypar_plan_write(pair->plan, plan);
    assert_true(fclose(graph) == 0 && fclose(plan) == 0);
}

static void prove_one(struct proof *proof, uint64_t seed, const struct goal *goal)
{
    struct pair pair = { .seed = seed, .goal = *goal };
    if (prove(proof, &pair) != HYPAR_OK) {
        print_error("HYPAR_PROOF_ONLY='%llu %s %c %c'\n", (unsigned long long)seed,
                    goal->kind == OP_KIND_COUNT ? "pipeline" : hp_op[goal->kind].name,
                    goal->a ? goal->a : '-', goal->b ? goal->b : '-');
        if (pair.plan) {
            hypar_graph_write(pair.graph, stderr);
            hypar_plan_write(pair.plan, stderr);
        }
        fail_msg("%s", pair.err.text);
    }
    if (getenv("HYPAR_PROOF_WRITE") && !proof_narrow()) /* they are trained in fp64 */
        write_pair(&pair, getenv("HYPAR_PROOF_WRITE"));
    release(&pair);
}

static enum hypar_status read_kind(const char *name, struct goal *goal, struct hypar_error *err)
{
    const char *names[OP_KIND_COUNT + 1] = { [OP_KIND_COUNT] = "pipeline" };
    char near[128] = "";
    for (int kind = 0; kind < OP_KIND_COUNT; kind++)
        names[kind] = hp_op[kind].name;
    goal->kind = hp_op_find(name);
    if (goal->kind < OP_KIND_COUNT || strcmp(name, "pipeline") == 0)
        return HYPAR_OK;
    bool any = hp_nearest_text(name, names, OP_KIND_COUNT + 1, near, sizeof near);
    return hp_fail(err, HYPAR_USAGE,
                   "HYPAR_PROOF_ONLY: unknown operator '%s'%s%s, expected 'pipeline' or one "
                   "of 'hypar ops'",
                   name, any ? ", did you mean " : "", near);
}

/* "SEED KIND A B", as a failure prints it. */
static enum hypar_status read_only(const struct coverage *coverage, const char *text,
                                   uint64_t *seed, struct goal *goal, struct hypar_error *err)
{
    char kind[32], axes[64], rest;
    unsigned long long number;
    if (sscanf(text, "%llu %31s %c %c %c", &number, kind, &goal->a, &goal->b, &rest) != 4)
        return hp_fail(err, HYPAR_USAGE,
                       "HYPAR_PROOF_ONLY: '%s', expected 'SEED OPERATOR AXIS AXIS'", text);
    *seed = number;
    TRY(read_kind(kind, goal, err));
    if (goal->kind == OP_KIND_COUNT)
        return HYPAR_OK;
    coverage_axes(coverage, goal->kind, axes, sizeof axes);
    for (int i = 0; i < 2; i++) {
        char axis = i ? goal->b : goal->a;
        if (axis == ' ' || !strchr(axes, axis))
            return hp_fail(err, HYPAR_USAGE,
                           "HYPAR_PROOF_ONLY: axis '%c' of %s, expected two of: %s", axis, kind,
                           axes);
    }
    return HYPAR_OK;
}

/* One pair again, as a failure printed it. */
static bool prove_again(struct proof *proof)
{
    const char *text = getenv("HYPAR_PROOF_ONLY");
    uint64_t seed;
    struct goal goal = { 0 };
    struct hypar_error err;
    if (!text)
        return false;
    if (read_only(&proof->coverage, text, &seed, &goal, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    prove_one(proof, seed, &goal);
    return true;
}

static void what_cannot_be_proved_again_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } rows[] = {
        { "605 scatter_add n t", "" },
        { "4294967296 pipeline - -", "" },
        { "605 scater_add n t", "unknown operator 'scater_add', did you mean scatter_add" },
        { "605 nothing n t", "unknown operator 'nothing', expected 'pipeline' or one of" },
        { "605 relu n q", "axis 'q' of relu, expected two of: r n c h w" },
        { "605 opaque n n", "axis 'n' of opaque, expected two of: " },
        { "605 relu n", "'605 relu n', expected 'SEED OPERATOR AXIS AXIS'" },
        { "", "'', expected 'SEED OPERATOR AXIS AXIS'" },
    };
    struct coverage coverage;
    coverage_begin(&coverage);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct goal goal = { 0 };
        struct hypar_error err = { .text = "" };
        uint64_t seed;
        bool fails = read_only(&coverage, rows[i].text, &seed, &goal, &err) != HYPAR_OK;
        if (fails != (rows[i].expected[0] != 0) || !strstr(err.text, rows[i].expected))
            fail_msg("'%s': \"%s\", expected \"%s\"", rows[i].text, err.text, rows[i].expected);
    }
    hp_arena_free(&coverage.arena);
}

static void print_delayed(const struct proof *p)
{
    print_message("straight and replicated: %lld %lld with the newest weights, %lld %lld "
                  "stashed, %lld %lld with vertical sync; %lld tasks\n",
                  (long long)p->delayed[0][0][0], (long long)p->delayed[0][0][1],
                  (long long)p->delayed[1][0][0], (long long)p->delayed[1][0][1],
                  (long long)p->delayed[1][1][0], (long long)p->delayed[1][1][1],
                  (long long)p->tasks);
}

/* Pipelines alone: what a minibatch leaves behind is that of the paper's delayed updates. */
static void delayed_updates_are_emulated(void **state)
{
    (void)state;
    struct proof proof;
    int64_t pairs = length_of("HYPAR_PROOF_PAIRS", 400, 1000, 1000) / 4, n = 0;
    uint64_t seed = number_from("HYPAR_PROOF_SEED", 1) << 32;
    begin(&proof);
    for (; !getenv("HYPAR_PROOF_ONLY") && n < pairs; seed++) {
        n = 0;
        prove_one(&proof, seed, &(struct goal){ .kind = OP_KIND_COUNT });
        for (int i = 0; i < 8; i++)
            n += proof.delayed[i / 4][i / 2 % 2][i % 2];
    }
    if (!getenv("HYPAR_PROOF_ONLY"))
        print_delayed(&proof);
    for (int i = 0; i < 6 && pairs >= 250; i++) /* vertical sync needs stashing */
        if (!getenv("HYPAR_PROOF_ONLY") && !proof.delayed[i > 1][i > 3][i % 2])
            fail_msg("no %s pipeline with %s", i % 2 ? "replicated" : "straight",
                     i > 3   ? "vertical sync"
                     : i > 1 ? "stashing"
                             : "the newest weights");
    end(&proof);
}

/* Seeds of a goal are its own, so that one more operator leaves the others' pairs as they are.
 */
static uint64_t seed_of(const struct goal *goal, uint64_t first)
{
    uint64_t hash =
        hp_hash(HP_HASH_START, hp_op[goal->kind].name, strlen(hp_op[goal->kind].name));
    hash = hp_hash(hash, (char[]){ goal->a, goal->b }, 2);
    return hp_random_u64(&(struct random){ hash + first + (uint64_t)goal->asked }) >> 32;
}

static void every_plan_computes_the_same(void **state)
{
    (void)state;
    struct proof proof;
    char missing[128];
    begin(&proof);
    if (!prove_again(&proof)) {
        int64_t pairs = length_of("HYPAR_PROOF_PAIRS", 400, 1000, 1000);
        uint64_t seed = number_from("HYPAR_PROOF_SEED", 1);
        while (proof.proved < pairs) {
            const struct goal *goal = coverage_next(&proof.coverage);
            prove_one(&proof, seed_of(goal, seed), goal);
        }
        print_message("%lld pairs, %lld tasks; %lld drawn again, %lld left with one "
                      "micro-batch\n",
                      (long long)proof.proved, (long long)proof.tasks,
                      (long long)proof.unstable, (long long)proof.one_micro);
        int n = coverage_missing(&proof.coverage, missing, sizeof missing);
        if (n && pairs >= 1000)
            fail_msg("%d cases are not covered, the first: %s (tests/random_graph.c draws "
                     "operators, tests/random_plan.c splits)",
                     n, missing);
        if (pairs >= 1000) {
            check_clipped(&proof);
            check_frozen(&proof);
            check_recomputed(&proof);
            check_schedules(&proof);
            check_divided(&proof);
        }
        assert_true(proof.unstable * (proof_narrow() ? 8 : 50) <= proof.proved);
        assert_true(proof.running > 0 || pairs < 1000);
    }
    end(&proof);
}

/* Operators in turn, each on some splits. Memory and messages are those of the plan, exactly.
 */
static void bf16_has_the_bytes_of_the_plan(void **state)
{
    (void)state;
    struct proof proof;
    if (getenv("HYPAR_PROOF_ONLY"))
        return;
    in_bf16 = true;
    begin(&proof);
    int64_t pairs = length_of("HYPAR_PROOF_PAIRS", 400, 1000, 1000) / 5;
    while (proof.proved < pairs) {
        const struct goal *goal = coverage_next(&proof.coverage);
        prove_one(&proof, seed_of(goal, number_from("HYPAR_PROOF_SEED", 1)), goal);
    }
    print_message("%lld pairs, %lld drawn again\n", (long long)proof.proved,
                  (long long)proof.unstable);
    assert_true(proof.unstable * 8 <= proof.proved);
    end(&proof);
    in_bf16 = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_computes_the_same),
        cmocka_unit_test(bf16_has_the_bytes_of_the_plan),
        cmocka_unit_test(delayed_updates_are_emulated),
        cmocka_unit_test(what_cannot_be_proved_again_is_refused),
    };
    return cmocka_run_group_tests_name("program: the proof", tests, NULL, NULL);
}
