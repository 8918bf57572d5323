/* The kernels that the tasks of a fusion group run on devices with a kernel model: which passes
 * share a kernel, and which tensors never reach memory. */
#include <math.h>

#include "graph/modules.h"
#include "sim/timing.h"

/* Do all passes of an operator process operand `o` element by element, in the forward half
 * only? */
static bool passes_through(const struct nest *nest, int o)
{
    for (int p = 0; p < nest->n_passes; p++) {
        const struct pass *pass = &nest->pass[p];
        enum kernel_class class = hp_kernel_class(nest, p);
        if ((pass->reads | pass->writes) >> o & 1 &&
            (pass->backward || class == KERNEL_PRODUCT || class >= KERNEL_WINDOW))
            return false;
    }
    return true;
}

bool hp_is_passed_on(const struct hypar_graph *g, int t)
{
    const struct tensor *tensor = &g->tensors[t];
    if (tensor->kind != TENSOR_ACTIVATION || tensor->is_output ||
        g->use_start[t + 1] - g->use_start[t] != 1)
        return false;
    const struct use *use = &g->use[g->use_start[t]];
    const struct op *writer = &g->ops[tensor->producer];
    return passes_through(writer->nest, hp_output_operand(writer, t)) &&
           passes_through(g->ops[use->op].nest, use->operand);
}

/* By place: the exchange that hands a tensor inside a kernel to its reader. A place with
 * several readers, one of which may be repeated, lies in memory. */
static void find_passed_on(struct timing *s)
{
    const struct hypar_graph *g = s->lowering->graph;
    const struct training_graph *k = &s->lowering->training;
    enum { NOT_SEEN = -2, NOT_PASSED_ON = -1 };
    int n_places = HP_PLACES * g->n_tensors;
    s->passed_on = NEW(&s->arena, int, n_places);
    for (int i = 0; i < n_places; i++)
        s->passed_on[i] = NOT_SEEN;
    for (int e = 0; e < k->n_exchanges; e++) {
        const struct exchange *exchange = &k->exchange[e];
        int *place = &s->passed_on[hp_place_index(exchange->place)];
        bool passed_on = *place == NOT_SEEN && !exchange->place.grad &&
                         s->costs->settings.framework.kernels != HYPAR_KERNELS_EAGER &&
                         hp_is_passed_on(g, exchange->place.tensor);
        *place = passed_on ? e : NOT_PASSED_ON;
    }
}

bool hp_may_pass_on(const struct timing *s, int exchange)
{
    const struct training_graph *k = &s->lowering->training;
    return s->passed_on && exchange < k->n_exchanges &&
           s->passed_on[hp_place_index(k->exchange[exchange].place)] == exchange;
}

/* Is the value of a place handed to its reader on the same device, unchanged? */
static bool is_never_in_memory(const struct timing *s, int b, int place)
{
    int exchange = s->passed_on[place];
    return exchange >= 0 && s->lowering->body[b].pattern[exchange]->aligned;
}

/* By pass of an operator: the gradients to which it adds, because an earlier pass wrote
 * them. */
static void find_added(struct timing *s)
{
    const struct lowering *lowering = s->lowering;
    const struct training_graph *k = &lowering->training;
    struct arena scratch = { 0 };
    bool *written = NEW(&scratch, bool, HP_PLACES * lowering->graph->n_tensors);
    s->added = NEW(&s->arena, operand_set, k->n_op_passes);
    for (int i = 0; i < k->n_op_passes; i++) {
        const struct op_pass *what = &k->op_pass[i];
        const struct op *op = &lowering->graph->ops[what->op];
        operand_set left = op->nest->pass[what->pass].writes_grad & hp_present(op);
        for (; left && !what->resend; left &= left - 1) {
            int o = __builtin_ctzll(left);
            bool *place =
                &written[hp_place_index(hp_operand_place(lowering, what, o, true, true))];
            if (*place)
                s->added[i] |= (operand_set)1 << o;
            *place = true;
        }
    }
    hp_arena_free(&scratch);
}

static void find_roles(struct timing *s)
{
    const struct training_graph *k = &s->lowering->training;
    s->role = NEW(&s->arena, struct kernel_role, k->n_op_passes);
    for (int i = 0; i < k->n_op_passes; i++) {
        const struct op_pass *what = &k->op_pass[i];
        s->role[i] = hp_kernel_role(s->lowering->graph->ops[what->op].nest, what->pass);
    }
}

/* Facts that follow from the graph, not from the plan. */
static void find_once(struct timing *s)
{
    if (s->added)
        return;
    find_roles(s);
    find_added(s);
    find_passed_on(s);
}

/* The passes of a fusion group, one after another. */
struct group_walk {
    struct kernel_walk kernels;
    const struct op_pass *before; /* the last pass that takes a kernel; NULL: none yet */
};

static struct group_walk walk_of(const struct timing *s)
{
    return (
        struct group_walk){ .kernels = { .kernels = s->costs->settings.framework.kernels } };
}

static enum kernel_step next_pass(const struct timing *s, struct group_walk *walk, int i)
{
    const struct op_pass *what = &s->lowering->training.op_pass[i], *before = walk->before;
    bool same_op = before && before->op == what->op && before->again == what->again &&
                   before->backward == what->backward;
    enum kernel_step step =
        what->resend ? STEP_FREE
                     : hp_kernel_step(&walk->kernels, &s->role[i], same_op ? TIE_OP : TIE_TASK);
    if (step != STEP_FREE)
        walk->before = what;
    return step;
}

/* Does a pass add to errors in a separate kernel? */
static bool adds_apart(const struct timing *s, int i)
{
    return s->added[i] && s->costs->settings.framework.kernels == HYPAR_KERNELS_EAGER;
}

/* The last kernel of a group so far, and the tensors that it has touched. */
struct kernel_run {
    int body;
    int *place; /* hp_place_index() */
    int n_places;
    struct kernel *kernel;      /* by task */
    double *seconds;            /* by task, without the last kernel */
    struct work_energy *energy; /* likewise */
};

/* The operands of a set that the kernel touches for the first time. */
static operand_set touch(struct kernel_run *run, const struct timing *timing,
                         const struct op_pass *what, operand_set operands, bool grad,
                         operand_set written)
{
    const struct lowering *s = timing->lowering;
    operand_set fresh = 0;
    for (operand_set left = operands; left; left &= left - 1) {
        int o = __builtin_ctzll(left), i = 0;
        int place = hp_place_index(hp_operand_place(s, what, o, grad, written >> o & 1));
        if (is_never_in_memory(timing, run->body, place))
            continue;
        while (i < run->n_places && run->place[i] != place)
            i++;
        if (i < run->n_places)
            continue;
        run->place[run->n_places++] = place;
        fresh |= (operand_set)1 << o;
    }
    return fresh;
}

static void add_kernel(struct kernel_run *run, int task, const struct kernel *kernel,
                       const struct kernel_place *at)
{
    struct work_energy e = hp_kernel_energy(kernel, at->device);
    double seconds = hp_kernel_seconds(kernel, at);
    run->seconds[task] += seconds;
    run->energy[task].arithmetic_j += e.arithmetic_j + seconds * hp_running_w(at->device);
    run->energy[task].dram_j += e.dram_j;
}

static void end_kernel(struct timing *s, const struct op_parts *l, struct kernel_run *run)
{
    for (int part = 0; part < l->n_parts; part++) {
        if (l->empty[part] || !s->costs->runs_kernels[l->device[part]])
            continue;
        struct kernel_place at = hp_costs_place(s->costs, l->device[part]);
        struct kernel *kernel = &run->kernel[l->rank[part]];
        add_kernel(run, l->rank[part], kernel, &at);
        *kernel = (struct kernel){ 0 };
    }
    run->n_places = 0;
}

/* The conversions of precision that the framework makes for a pass, on every device. */
static operand_set casts_of(const struct timing *s, const struct op_pass *what)
{
    const struct op *op = &s->lowering->graph->ops[what->op];
    struct kernel_place anywhere = hp_costs_place(s->costs, 0);
    return what->resend ? 0 : hp_casts(op->nest, what->pass, hp_present(op), &anywhere);
}

static void add_casts(struct timing *s, const struct op_pass *what, const struct op_parts *l,
                      struct kernel_run *run)
{
    operand_set casts = casts_of(s, what);
    const struct kernel_pass *const *of =
        casts ? hp_kernel_passes(s->costs, what->pass, l) : NULL;
    for (int part = 0; casts && part < l->n_parts; part++) {
        if (l->empty[part] || !s->costs->runs_kernels[l->device[part]])
            continue;
        struct kernel_place at = hp_costs_place(s->costs, l->device[part]);
        for (operand_set left = casts; left; left &= left - 1) {
            struct kernel cast = hp_cast_kernel(of[part], __builtin_ctzll(left));
            add_kernel(run, l->rank[part], &cast, &at);
        }
    }
}

static int more_steps(const struct timing *s, const struct op_pass *what)
{
    struct kernel_place anywhere = hp_costs_place(s->costs, 0);
    return what->resend
               ? 0
               : hp_more_steps(s->lowering->graph->ops[what->op].nest, what->pass, &anywhere);
}

/* The kernels of an operator that the model writes out, but for the one that every pass has. */
static void add_steps(struct timing *s, const struct op_pass *what, const struct op_parts *l,
                      struct kernel_run *run)
{
    int n = more_steps(s, what);
    const struct kernel_pass *const *of =
        n > 0 ? hp_kernel_passes(s->costs, what->pass, l) : NULL;
    for (int part = 0; n > 0 && part < l->n_parts; part++) {
        if (l->empty[part] || !s->costs->runs_kernels[l->device[part]])
            continue;
        struct kernel_place at = hp_costs_place(s->costs, l->device[part]);
        struct kernel step = hp_step_kernel(l->nest, what->pass, of[part]);
        for (int i = 0; i < n; i++)
            add_kernel(run, l->rank[part], &step, &at);
    }
}

/* Copies around messages ------------------------------------------------------------------ */

/* Do replicas share the samples of an operator, so that its gradients are summed? */
static bool has_replicas(const struct op_parts *l)
{
    int sample = hp_sample_axis(l->nest);
    return l->n_parts > l->n_each || (sample >= 0 && hp_degree(l->split, sample) > 1);
}

/* Is it the first pass of its operator in this half, for which parameters are gathered? Those
 * that are gathered to compute a value again stay for the backward half. */
static bool begins_half(const struct timing *s, const struct op_pass *what)
{
    const struct training_graph *k = &s->lowering->training;
    const struct op *op = &s->lowering->graph->ops[what->op];
    bool again = s->lowering->plan->ops[what->op].recompute;
    if (what->backward && !what->again && again)
        return false;
    for (int p = 0; p < what->pass; p++)
        if (op->nest->pass[p].backward == op->nest->pass[what->pass].backward &&
            hp_op_pass(k, what->op, p, what->again) >= 0)
            return false;
    return true;
}

/* Bytes that the framework copies for a pass of a part, beside messages: of parameters that it
 * gathers before the pass, and of gradients that the pass hands over to be summed. */
static double copied_bytes(const struct timing *s, const struct op_pass *what,
                           const struct op_parts *l, int part)
{
    const struct hypar_framework *as = &s->costs->settings.framework;
    const struct hypar_graph *g = s->lowering->graph;
    const struct op *op = &g->ops[what->op];
    bool gathers = s->lowering->plan->ops[what->op].shard == HYPAR_SHARD_PARAMETERS &&
                   begins_half(s, what);
    double sum = 0;
    for (int o = 0; o < l->nest->n_inputs; o++) {
        int t = op->tensor[o];
        if (t < 0 || g->tensors[t].kind != TENSOR_PARAM)
            continue;
        bool summed = l->nest->pass[what->pass].writes_grad >> o & 1 && !what->again;
        struct box box = hp_region(l->nest, o, l->range + part * l->nest->n_axes);
        sum += (double)hp_box_elements(&box) *
               ((gathers ? as->gather_copy_bytes : 0) + (summed ? as->sum_copy_bytes : 0));
    }
    return sum;
}

static void add_copies(struct timing *s, const struct op_pass *what, const struct op_parts *l,
                       struct kernel_run *run)
{
    const struct hypar_framework *as = &s->costs->settings.framework;
    if (!(as->gather_copy_bytes + as->sum_copy_bytes > 0) || what->resend || !has_replicas(l))
        return;
    for (int part = 0; part < l->n_parts; part++) {
        if (l->empty[part] || !s->costs->runs_kernels[l->device[part]])
            continue;
        struct kernel_place at = hp_costs_place(s->costs, l->device[part]);
        struct work work = { .bytes = copied_bytes(s, what, l, part) };
        double seconds = hp_stream_seconds(&work, &at);
        run->seconds[l->rank[part]] += seconds;
        run->energy[l->rank[part]].arithmetic_j += seconds * hp_running_w(at.device);
        run->energy[l->rank[part]].dram_j +=
            hp_work_energy(&work, at.device, at.precision).dram_j;
    }
}

/* A compiled kernel reads the existing error and adds to it. In eager mode another kernel reads
 * both and writes the sum. */
static void add_to_errors(struct timing *s, const struct op_pass *what,
                          const struct op_parts *l, struct kernel_run *run)
{
    int i = (int)(what - s->lowering->training.op_pass);
    operand_set added = s->added[i];
    bool apart = adds_apart(s, i);
    const struct kernel_pass *const *of =
        added ? hp_kernel_passes(s->costs, what->pass, l) : NULL;
    for (int part = 0; added && part < l->n_parts; part++) {
        if (l->empty[part] || !s->costs->runs_kernels[l->device[part]])
            continue;
        struct kernel_place at = hp_costs_place(s->costs, l->device[part]);
        struct kernel sum = { 0 };
        for (operand_set left = added; left; left &= left - 1)
            sum.bytes += hp_handed_bytes(of[part], __builtin_ctzll(left));
        if (!apart)
            run->kernel[l->rank[part]].bytes += sum.bytes;
        sum.bytes *= 3;
        if (apart)
            add_kernel(run, l->rank[part], &sum, &at);
    }
}

static void add_pass(struct timing *s, const struct op_pass *what, const struct op_parts *l,
                     struct kernel_run *run)
{
    const struct op *op = &s->lowering->graph->ops[what->op];
    const struct pass *p = &op->nest->pass[what->pass];
    const struct kernel_pass *const *of = hp_kernel_passes(s->costs, what->pass, l);
    operand_set present = hp_present(op);
    operand_set values =
        touch(run, s, what, (p->reads | p->writes) & present, false, p->writes);
    operand_set grads =
        touch(run, s, what, (p->reads_grad | p->writes_grad) & present, true, p->writes_grad);
    enum kernel_class class = s->role[what - s->lowering->training.op_pass].class;
    for (int part = 0; part < l->n_parts; part++)
        if (!l->empty[part] && s->costs->runs_kernels[l->device[part]])
            hp_kernel_add(&run->kernel[l->rank[part]], of[part], class, values, grads);
}

/* Walk through the kernels of a group, in the arena's scratch memory. */
static struct kernel_run run_kernels(struct timing *s, int b, int group)
{
    struct arena *scratch = &s->costs->scratch;
    const struct training_graph *k = &s->lowering->training;
    const struct op_parts *first = hp_pass_parts(s->blocks, b, group);
    struct kernel_run run = { .body = b,
                              .kernel = NEW(scratch, struct kernel, first->n_parts),
                              .seconds = NEW(scratch, double, first->n_parts),
                              .energy = NEW(scratch, struct work_energy, first->n_parts) };
    int n_places = 0;
    find_once(s);
    for (int i = group; i >= 0; i = s->blocks->next[b][i])
        n_places += 2 * s->lowering->graph->ops[k->op_pass[i].op].nest->n_operands;
    run.place = NEW(scratch, int, n_places);
    struct group_walk walk = walk_of(s);
    for (int i = group; i >= 0; i = s->blocks->next[b][i]) {
        bool any = walk.before != NULL;
        enum kernel_step step = next_pass(s, &walk, i);
        add_casts(s, &k->op_pass[i], hp_pass_parts(s->blocks, b, i), &run);
        add_copies(s, &k->op_pass[i], hp_pass_parts(s->blocks, b, i), &run);
        add_steps(s, &k->op_pass[i], hp_pass_parts(s->blocks, b, i), &run);
        if (step == STEP_FREE)
            continue;
        if (step == STEP_BEGINS && any)
            end_kernel(s, first, &run);
        add_pass(s, &k->op_pass[i], hp_pass_parts(s->blocks, b, i), &run);
        add_to_errors(s, &k->op_pass[i], hp_pass_parts(s->blocks, b, i), &run);
    }
    end_kernel(s, first, &run);
    return run;
}

void hp_kernel_tasks(struct timing *s, int b, int group, struct sim_task *task)
{
    struct arena_mark mark = hp_arena_mark(&s->costs->scratch);
    const struct op_parts *first = hp_pass_parts(s->blocks, b, group);
    struct kernel_run run = run_kernels(s, b, group);
    for (int part = 0; part < first->n_parts; part++)
        if (!first->empty[part] && s->costs->runs_kernels[first->device[part]])
            task[first->rank[part]].duration =
                hp_busy_ticks(s->costs, first->device[part], run.seconds[first->rank[part]]);
    hp_arena_release(&s->costs->scratch, mark);
}

struct work_energy hp_kernels_energy(struct timing *s, int b, int group)
{
    struct arena_mark mark = hp_arena_mark(&s->costs->scratch);
    const struct op_parts *first = hp_pass_parts(s->blocks, b, group);
    struct kernel_run run = run_kernels(s, b, group);
    struct work_energy sum = { 0 };
    for (int part = 0; part < first->n_parts; part++)
        if (!first->empty[part] && hp_energy_by_kernel(s->costs, first->device[part])) {
            sum.arithmetic_j += run.energy[first->rank[part]].arithmetic_j;
            sum.dram_j += run.energy[first->rank[part]].dram_j;
        }
    hp_arena_release(&s->costs->scratch, mark);
    return sum;
}

static int kernels_of_group(const struct timing *s, int b, int group)
{
    struct group_walk walk = walk_of(s);
    int n = 0;
    for (int i = group; i >= 0; i = s->blocks->next[b][i]) {
        enum kernel_step step = next_pass(s, &walk, i);
        n += step == STEP_BEGINS;
        n += step != STEP_FREE && adds_apart(s, i);
        n += __builtin_popcountll(casts_of(s, &s->lowering->training.op_pass[i]));
        n += more_steps(s, &s->lowering->training.op_pass[i]);
    }
    return n;
}

/* Launches --------------------------------------------------------------------------------- */

/* Receives the host's work for task `local` of a block, on `device`. */
typedef void take_launches(void *who, int block, int local, int device, double kernels,
                           double seconds);

/* The host launches the kernels of a group, part by part. */
static void launch_group(struct timing *s, int b, int group, take_launches *take, void *who)
{
    const struct op_parts *l = hp_pass_parts(s->blocks, b, group);
    int n = kernels_of_group(s, b, group), block = hp_pass_block(s->blocks, b, group);
    for (int part = 0; n > 0 && part < l->n_parts; part++)
        if (!l->empty[part] && s->costs->runs_kernels[l->device[part]])
            take(who, block, l->rank[part], l->device[part], n,
                 n * s->costs->launch_s[l->device[part]]);
}

/* By layer and half: the passes of a body. A pass that is computed again is one of the forward
 * half. */
static int *count_layer_passes(const struct training_graph *k, const int *layer_of, int n_ops,
                               struct arena *arena)
{
    int *n = NEW(arena, int, 2 * n_ops + 2);
    for (int i = 0; i < k->n_op_passes; i++) {
        int layer = layer_of[k->op_pass[i].op];
        if (layer >= 0 && !k->op_pass[i].again)
            n[2 * layer + k->op_pass[i].backward]++;
    }
    return n;
}

/* The time of the host that a pass takes in addition. */
static void launch_pass(struct timing *s, int b, int op_pass, double seconds,
                        take_launches *take, void *who)
{
    const struct op_parts *l = hp_pass_parts(s->blocks, b, op_pass);
    for (int part = 0; part < l->n_parts; part++)
        if (!l->empty[part])
            take(who, hp_pass_block(s->blocks, b, op_pass), l->rank[part], l->device[part], 0,
                 seconds);
}

/* The host's time for a slot of a stage, before the slot's first pass: the framework handles
 * the pipeline's schedule and messages. 0 without stages. */
static void launch_slots(struct timing *s, int b, take_launches *take, void *who)
{
    const struct lowering *lowering = s->lowering;
    const struct training_graph *k = &lowering->training;
    double slot_s = lowering->plan->n_stages > 1 ? s->costs->settings.framework.slot_s : 0;
    struct arena scratch = { 0 };
    bool *begun = NEW(&scratch, bool, hp_action_count(&lowering->schedule));
    for (int i = 0; slot_s > 0 && i < k->n_op_passes; i++) {
        int action = hp_pass_action(lowering, i);
        if (begun[action] || k->op_pass[i].resend || s->blocks->head[b][i] != i)
            continue;
        begun[action] = true;
        launch_pass(s, b, i, slot_s, take, who);
    }
    hp_arena_free(&scratch);
}

/* The hosts' work for the tasks of a body, once. Each pass has its share of the host's time for
 * a layer, so recomputing a part of a layer adds the share of that part. */
static void launch_body(struct timing *s, int b, take_launches *take, void *who)
{
    const struct training_graph *k = &s->lowering->training;
    struct arena scratch = { 0 };
    double layer_s = s->costs->settings.framework.layer_s;
    const struct hypar_graph *g = s->lowering->graph;
    const int *layer_of = layer_s > 0 ? hp_find_layers(g, &scratch) : NULL;
    const int *passes = layer_of ? count_layer_passes(k, layer_of, g->n_ops, &scratch) : NULL;
    find_once(s);
    for (int i = 0; i < k->n_op_passes; i++) {
        int layer = layer_of ? layer_of[k->op_pass[i].op] : -1;
        if (s->costs->any_kernels && s->blocks->head[b][i] == i)
            launch_group(s, b, i, take, who);
        int n = layer >= 0 ? passes[2 * layer + k->op_pass[i].backward] : 0;
        if (n > 0)
            launch_pass(s, b, i, layer_s / n, take, who);
    }
    launch_slots(s, b, take, who);
    hp_arena_free(&scratch);
}

/* An exchange of a parameter or its gradient; of a bucket, the first. */
static void add_exchange(struct timing *s, int b, int exchange, double each_s, double *host_s)
{
    const struct training_graph *k = &s->lowering->training;
    const struct pattern *p = hp_exchange_pattern(s->lowering, b, exchange);
    const struct buckets *buckets = &s->blocks->buckets;
    int tail = exchange - k->n_exchanges;
    bool bucketed = tail >= 0 && buckets->lead;
    if (!p ||
        s->lowering->graph->tensors[k->exchange[exchange].place.tensor].kind != TENSOR_PARAM)
        return;
    for (int c = 0; c < p->n_comms; c++) {
        int me = bucketed ? buckets->base[tail] + c : -1;
        if (bucketed && buckets->lead[me] >= 0 && buckets->lead[me] != me)
            continue;
        for (int i = 0; i < p->comm[c].n_devices; i++)
            host_s[p->comm[c].device[i]] += each_s;
    }
}

/* Parameters that are gathered after their update, copied piece by piece. */
static void add_pieces(struct timing *s, int exchange, double *kernels, double *host_s)
{
    const struct pattern *p = hp_exchange_pattern(s->lowering, 0, exchange);
    bool gathered = s->lowering->training.exchange[exchange].division == DIVIDE_GATHER;
    for (int c = 0; gathered && c < p->n_comms; c++)
        for (int i = 0; i < p->comm[c].n_devices; i++) {
            int device = p->comm[c].device[i], pieces = p->comm[c].n_devices;
            kernels[device] += pieces;
            host_s[device] += pieces * s->costs->launch_s[device];
        }
}

/* The time of the hosts in a step, by device. */
struct launches {
    double *kernels, *seconds;
    double times; /* how often the body at hand is run */
};

static void count_launches(void *who, int block, int local, int device, double kernels,
                           double seconds)
{
    struct launches *l = who;
    (void)block;
    (void)local;
    l->kernels[device] += l->times * kernels;
    l->seconds[device] += l->times * seconds;
}

/* The hosts of stages that one micro-batch goes through, where each waits for its device before
 * the next begins, work one after another: the sum over stages of the longest. */
static double stages_in_turn_s(const struct timing *s, const double *seconds)
{
    const struct lowering *lowering = s->lowering;
    const struct hypar_plan *plan = lowering->plan;
    struct arena scratch = { 0 };
    double *stage_s = NEW(&scratch, double, plan->n_stages + 1), sum = 0;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        double *longest = &stage_s[lowering->schedule.stage_of_op[op]];
        for (int i = 0; i < plan->ops[op].n_devices; i++)
            *longest = fmax(*longest, seconds[plan->ops[op].device[i]]);
    }
    for (int i = 0; i < plan->n_stages; i++)
        sum += stage_s[i];
    hp_arena_free(&scratch);
    return sum;
}

double hp_count_kernels(struct timing *s, double *launch_s)
{
    const struct training_graph *k = &s->lowering->training;
    const struct iteration *r = &s->lowering->iteration;
    double bucket_s = s->costs->settings.framework.bucket_s, most = 0;
    struct arena scratch = { 0 };
    struct launches all = { .kernels = NEW(&scratch, double, s->costs->n_devices),
                            .seconds = NEW(&scratch, double, s->costs->n_devices) };
    *launch_s = 0;
    for (int b = 0; b < r->n_bodies; b++) {
        all.times = (double)hp_body_times(r, b) / r->n_batches;
        launch_body(s, b, count_launches, &all);
        for (int e = 0; bucket_s > 0 && e < k->n_exchanges; e++)
            add_exchange(s, b, e, bucket_s * all.times, all.seconds);
    }
    for (int x = 0; bucket_s > 0 && x < k->n_tail; x++)
        add_exchange(s, 0, k->n_exchanges + x, bucket_s, all.seconds);
    for (int x = 0; s->costs->settings.framework.gathers_by_piece && x < k->n_tail; x++)
        add_pieces(s, k->n_exchanges + x, all.kernels, all.seconds);
    for (int d = 0; d < s->costs->n_devices; d++)
        if (all.seconds[d] > *launch_s ||
            (all.seconds[d] == *launch_s && all.kernels[d] > most)) {
            *launch_s = all.seconds[d];
            most = all.kernels[d];
        }
    if (s->costs->settings.framework.host_waits && s->lowering->plan->n_stages > 1 &&
        !hp_has_order(s->lowering))
        *launch_s = stages_in_turn_s(s, all.seconds);
    hp_arena_free(&scratch);
    return most;
}

/* The host's time for each task. */
struct task_launches {
    const struct blocks *blocks;
    ticks *launch; /* by task */
};

static void note_launches(void *who, int block, int local, int device, double kernels,
                          double seconds)
{
    const struct task_launches *l = who;
    ticks *launch = &l->launch[l->blocks->first[block] + local];
    (void)device;
    (void)kernels;
    *launch = hp_later(*launch, hp_ticks(seconds));
}

ticks *hp_task_launches(struct timing *s, int n_tasks, struct arena *arena)
{
    if (!s->costs->tasks_launch)
        return NULL;
    struct task_launches all = { s->blocks, NEW(arena, ticks, n_tasks) };
    for (int b = 0; b < s->lowering->iteration.n_bodies; b++)
        launch_body(s, b, note_launches, &all);
    return all.launch;
}

ticks *hp_ahead(const struct timing *s, struct arena *arena)
{
    ticks *ahead = NEW(arena, ticks, s->costs->n_devices);
    for (int d = 0; d < s->costs->n_devices; d++) {
        double launch_s = s->costs->launch_s[d]; /* 0: nothing fills the queue */
        ahead[d] = launch_s > 0 ? hp_ticks(HP_QUEUED_LAUNCHES * launch_s) : HP_MAX_TICKS;
    }
    return ahead;
}

bool hp_hosts_wait(const struct timing *s)
{
    return s->costs->settings.framework.host_waits && s->lowering->plan->n_stages > 1;
}
