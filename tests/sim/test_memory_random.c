/* The memory model against counting element by element, for random graphs and plans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "program/memory/parts.h"
#include "tests/random_plan.h"

enum { PAIRS = 1500, MAX_MACHINE = 6 };

struct pair {
    uint64_t seed;
    struct random random;
    struct hypar_graph *graph;
    struct hypar_plan *plan;
    struct hypar_program *program;
    struct memory_model *model;
    struct arena arena;
    int *seen_as; /* by tensor: what it is another name of */
    bool renames; /* some tensor is another's other name */
    bool inexact; /* ... and a part of it was counted by whole rows */
};

static enum hypar_status lower(struct hypar_program **program, struct hypar_plan *plan)
{
    enum hypar_status status = hypar_lower(program, plan, NULL, NULL);
    if (status != HYPAR_UNSUPPORTED || plan->schedule.micro_batches == 1)
        return status;
    struct hypar_schedule schedule = plan->schedule; /* an operator that mixes samples */
    schedule.micro_batches = 1;
    hp_plan_set_schedule(plan, &schedule);
    return hypar_lower(program, plan, NULL, NULL);
}

static void draw_pair(struct pair *pair, const struct hypar_machine *machine)
{
    struct plan_focus none = { -1, -1, -1, false };
    enum op_kind kind = (enum op_kind)(pair->seed % OP_KIND_COUNT);
    pair->random = (struct random){ pair->seed * 0x2545f4914f6cdd1d };
    pair->graph = random_graph(&pair->random, kind == OP_OPAQUE ? OP_KIND_COUNT : kind);
    pair->plan = random_plan(&pair->random, pair->graph, machine, &none);
    if (lower(&pair->program, pair->plan))
        fail_msg("seed %llu: cannot be lowered", (unsigned long long)pair->seed);
    pair->model = hp_memory(pair->program, NULL);
    struct memory_maker names = { .graph = pair->graph };
    hp_memory_find_names(&names);
    pair->seen_as = NEW(&pair->arena, int, pair->graph->n_tensors);
    for (int t = 0; t < pair->graph->n_tensors; t++) {
        pair->seen_as[t] = names.seen_as[t];
        pair->renames |= names.seen_as[t] != t;
    }
    hp_arena_free(&names.scratch);
}

static void release(struct pair *pair)
{
    hp_memory_free(pair->model);
    hypar_program_free(pair->program);
    hypar_plan_free(pair->plan);
    hypar_graph_free(pair->graph);
    hp_arena_free(&pair->arena);
}

/* Element by element ------------------------------------------------------------------- */

/* What one device has of a place: which elements its tasks touch, which of them the backward
 * half reads, and the tasks. Another name of a tensor has its elements in the same order. */
struct held {
    bool *all, *kept;
    int first[2], last[2];
};

struct oracle {
    struct pair *pair;
    int body;
    const struct pass_order *order;
    struct range samples;
    struct held *held; /* [(device * n_tensors + tensor) * 2 + grad] */
};

static struct held *held_at(const struct oracle *o, int device, int tensor, bool grad)
{
    return &o->held[((size_t)device * (size_t)o->pair->graph->n_tensors + (size_t)tensor) * 2 +
                    grad];
}

static void mark(const struct hypar_shape *shape, const struct box *box, bool *set)
{
    int64_t n = hp_shape_elements(shape);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i;
        bool inside = true;
        for (int d = shape->n_dims - 1; d >= 0; d--) {
            int64_t at = rest % shape->dim[d];
            inside &= box->dim[d].lo <= at && at < box->dim[d].hi;
            rest /= shape->dim[d];
        }
        set[i] |= inside;
    }
}

static const struct op_pass *pass_at(const struct oracle *o, int number)
{
    return &o->pair->program->lowering->training.op_pass[o->order->at[number].op_pass];
}

static const struct part_layout *layout_at(const struct oracle *o, int number)
{
    return o->pair->program->lowering->body[o->body].layout[pass_at(o, number)->op];
}

static int device_at(const struct oracle *o, int number)
{
    return layout_at(o, number)->device[o->order->at[number].part];
}

static void touch(struct oracle *o, int number, int operand, bool grad, bool reads)
{
    const struct hypar_graph *g = o->pair->graph;
    const struct op_pass *op_pass = pass_at(o, number);
    int tensor = g->ops[op_pass->op].tensor[operand];
    struct range range[MAX_AXES];
    hp_micro_ranges(g, op_pass->op, &o->pair->plan->ops[op_pass->op].split,
                    o->order->at[number].part, o->samples, range);
    struct box box = hp_region(g->ops[op_pass->op].nest, operand, range);
    if (tensor < 0 || hp_box_empty(&box))
        return;
    const struct hypar_shape *shape = &g->tensors[tensor].shape;
    struct held *h = held_at(o, device_at(o, number), o->pair->seen_as[tensor], grad);
    if (!h->all) {
        h->all = NEW(&o->pair->arena, bool, hp_shape_elements(shape));
        h->kept = NEW(&o->pair->arena, bool, hp_shape_elements(shape));
        h->first[0] = h->first[1] = INT32_MAX;
        h->last[0] = h->last[1] = -1;
    }
    mark(shape, &box, h->all);
    if (op_pass->backward && reads && !grad)
        mark(shape, &box, h->kept);
    int half = op_pass->backward;
    h->first[half] = number < h->first[half] ? number : h->first[half];
    h->last[half] = number > h->last[half] ? number : h->last[half];
}

static void touch_all(struct oracle *o)
{
    const struct hypar_graph *g = o->pair->graph;
    for (int i = 0; i < o->order->n; i++) {
        const struct op_pass *op_pass = pass_at(o, i);
        const struct pass *pass = &g->ops[op_pass->op].nest->pass[op_pass->pass];
        bool adds = hp_adds_after(layout_at(o, i), op_pass->pass, o->order->at[i].part);
        operand_set reads = adds ? pass->reads : pass->reads & ~pass->adds;
        for (int q = 0; q < g->ops[op_pass->op].nest->n_operands; q++) {
            if ((reads | pass->writes) >> q & 1)
                touch(o, i, q, false, reads >> q & 1);
            if ((pass->reads_grad | pass->writes_grad) >> q & 1)
                touch(o, i, q, true, true);
        }
    }
}

static double count(const bool *set, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += set[i];
    return sum;
}

/* Is it counted with the body at all? Gradients are where they are computed for somebody. */
static bool counts(const struct oracle *o, int tensor, bool grad)
{
    const struct tensor *t = &o->pair->graph->tensors[tensor];
    bool settled = !grad;
    const struct training_graph *k = &o->pair->program->lowering->training;
    for (int d = 0; d < k->n_exchanges; d++) {
        struct place place = k->exchange[d].place;
        settled |= place.grad && o->pair->seen_as[place.tensor] == tensor;
    }
    return settled && t->kind != TENSOR_PARAM &&
           (t->kind != TENSOR_INPUT || t->sample_dim >= 0);
}

/* Bytes on the device after pass `number` has ended (-1: between the halves). */
static double bytes_after(const struct oracle *o, int device, int number)
{
    const struct hypar_graph *g = o->pair->graph;
    double sum = 0;
    int half = number >= 0 && pass_at(o, number)->backward;
    for (int t = 0; t < g->n_tensors; t++)
        for (int grad = 0; grad < 2; grad++) {
            const struct held *h = held_at(o, device, t, grad);
            if (!h->all || !counts(o, t, grad))
                continue;
            int64_t n = hp_shape_elements(&g->tensors[t].shape);
            double kept = count(h->kept, n), all = count(h->all, n), live = 0;
            if (h->last[0] >= 0 && half == 0)
                live = h->last[0] > number && number >= 0 ? all : kept;
            else if (h->last[0] >= 0)
                live = h->last[1] > number ? kept : 0;
            else
                live = h->last[1] > number ? all : 0;
            bool begun = number < 0 ? h->last[0] >= 0
                                    : h->first[half] <= number || (half && h->last[0] >= 0);
            sum += begun ? live * hp_message_bytes(o->pair->plan, t) : 0;
        }
    return sum;
}

/* Checks ------------------------------------------------------------------------------- */

static void fail_pair(struct pair *pair, const char *what, int device, double is,
                      double expected)
{
    fail_msg("seed %llu, device %d: %s: %.0f bytes, expected %.0f",
             (unsigned long long)pair->seed, device, what, is, expected);
}

/* A part of a renamed tensor may begin or end within a row, and is counted by whole rows then.
 */
static void check_bytes(struct pair *pair, const char *what, int device, double is,
                        double expected)
{
    pair->inexact |= is != expected;
    if (is < expected || (!pair->renames && is != expected))
        fail_pair(pair, what, device, is, expected);
}

static void check_body(struct pair *pair, int b)
{
    int n_devices = pair->model->n_devices, n_tensors = pair->graph->n_tensors;
    struct oracle o = { .pair = pair, .body = b, .order = &pair->model->order[b] };
    o.samples = hp_micro_samples(pair->program, hp_first_micro(pair->program->iteration, b));
    o.held = NEW(&pair->arena, struct held, n_devices * n_tensors * 2);
    double *now = NEW(&pair->arena, double, n_devices);
    touch_all(&o);
    for (int i = 0; i < o.order->n; i++) {
        struct memory_delta delta = pair->model->delta[b][i];
        int device = device_at(&o, i);
        assert_true(delta.alloc >= 0 && delta.free >= 0);
        now[device] += delta.alloc - delta.free;
        check_bytes(pair, "after a pass", device, now[device], bytes_after(&o, device, i));
    }
    for (int d = 0; d < n_devices; d++) {
        check_bytes(pair, "kept", d, pair->model->kept[b][d], bytes_after(&o, d, -1));
        if (now[d] != 0)
            fail_pair(pair, "after the backward half", d, now[d], 0);
    }
}

/* What the passes of a slot do to what lies on each device. */
static void pass_slot(struct pair *pair, const struct slot *slot, double *now, double *most)
{
    const struct hypar_program *p = pair->program;
    int b = hp_body_number(p->iteration, slot->micro);
    struct oracle o = { .pair = pair, .body = b, .order = &pair->model->order[b] };
    for (int t = 0; t < o.order->n; t++) {
        if (pass_at(&o, t)->backward != (slot->phase == PHASE_BACKWARD) ||
            p->schedule->stage_of_op[pass_at(&o, t)->op] != slot->stage)
            continue;
        struct memory_delta delta = pair->model->delta[b][t];
        int device = device_at(&o, t);
        double full = now[device] + delta.alloc;
        most[device] = full > most[device] ? full : most[device];
        now[device] = full - delta.free;
    }
}

/* Go through all slots, pass by pass: a device is never fuller than the model says; it is as
 * full where nothing is sent. */
static void check_slots(struct pair *pair)
{
    int n_devices = pair->model->n_devices;
    double *now = NEW(&pair->arena, double, n_devices);
    double *most = NEW(&pair->arena, double, n_devices);
    const struct schedule *s = pair->program->schedule;
    for (int l = 0; l < s->n_lists; l++)
        for (int i = 0; i < s->list[l].n_slots; i++)
            if (s->list[l].slot[i].phase != PHASE_UPDATE)
                pass_slot(pair, &s->list[l].slot[i], now, most);
    for (int d = 0; d < n_devices; d++) {
        double says = pair->model->device[d].peak - pair->model->fixed[d];
        if (says < most[d] || (n_devices == 1 && says != most[d]))
            fail_pair(pair, "fullest", d, says, most[d]);
    }
}

/* What the program holds of parameters is no more than what the plan's splits say. */
static void check_state(struct pair *pair)
{
    double *state = NEW(&pair->arena, double, pair->model->n_devices);
    hypar_plan_state_bytes(pair->plan, state);
    for (int d = 0; d < pair->model->n_devices; d++) {
        const struct hypar_memory *m = &pair->model->device[d];
        double sum = m->parameters + m->gradients + m->optimizer;
        if (sum > state[d])
            fail_pair(pair, "parameters, at most", d, sum, state[d]);
        assert_true(m->peak == sum + m->weight_versions + m->activations + m->buffers);
        assert_true(m->recompute_saves >= 0 && m->recompute_saves <= m->activations);
    }
}

/* Windows with gaps between them: what lies in the gaps is read, as regions are boxes, but not
 * that between the parts of a split. */
static bool has_gaps(const struct hypar_graph *graph)
{
    for (int i = 0; i < graph->n_nests; i++)
        for (int o = 0; o < graph->nests[i]->n_operands; o++)
            for (int d = 0; d < graph->nests[i]->operand[o].n_dims; d++)
                if (graph->nests[i]->operand[o].dim[d].stride >
                    graph->nests[i]->operand[o].dim[d].span)
                    return true;
    return false;
}

/* All devices together hold no less than one device does if nothing is split. */
static void check_sum(struct pair *pair)
{
    struct plan_settings settings = { .precision = pair->plan->precision,
                                      .optimizer = pair->plan->optimizer };
    struct hypar_plan *whole = hp_plan_new(pair->graph, pair->plan->machine, &settings);
    hp_plan_set_schedule(
        whole, &(struct hypar_schedule){ .micro_batches = pair->plan->schedule.micro_batches });
    struct hypar_program *program;
    assert_int_equal(hypar_lower(&program, whole, NULL, NULL), HYPAR_OK);
    struct memory_model *one = hp_memory(program, NULL);
    for (int b = 0; b < program->n_bodies; b++) {
        double kept = 0, held = 0;
        for (int d = 0; d < pair->model->n_devices; d++) {
            kept += pair->model->kept[b][d];
            held += pair->model->device[d].parameters;
        }
        if (kept < one->kept[b][0])
            fail_pair(pair, "kept by all, at least", -1, kept, one->kept[b][0]);
        if (held < one->device[0].parameters)
            fail_pair(pair, "parameters of all, at least", -1, held, one->device[0].parameters);
    }
    hp_memory_free(one);
    hypar_program_free(program);
    hypar_plan_free(whole);
}

static void element_by_element(void **state)
{
    (void)state;
    struct hypar_machine *machine[MAX_MACHINE];
    int renamed = 0, inexact = 0;
    for (int i = 0; i < MAX_MACHINE; i++) {
        char word[32];
        snprintf(word, sizeof word, "full:%d", i + 1);
        assert_int_equal(hypar_machine_read(&machine[i], word, NULL), HYPAR_OK);
    }
    for (uint64_t seed = 1; seed <= PAIRS; seed++) {
        struct pair pair = { .seed = seed };
        draw_pair(&pair, machine[seed % MAX_MACHINE]);
        for (int b = 0; b < pair.program->n_bodies; b++)
            check_body(&pair, b);
        check_slots(&pair);
        check_state(&pair);
        if (!has_gaps(pair.graph))
            check_sum(&pair);
        renamed += pair.renames;
        inexact += pair.inexact;
        release(&pair);
    }
    print_message("  %d pairs, %d of them with tensors under several names, %d by whole rows\n",
                  PAIRS, renamed, inexact);
    assert_true(renamed > PAIRS / 4 && inexact < renamed / 10);
    for (int i = 0; i < MAX_MACHINE; i++)
        hypar_machine_free(machine[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(element_by_element) };
    return cmocka_run_group_tests_name("sim: memory, at random", tests, NULL, NULL);
}
