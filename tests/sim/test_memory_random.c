/* The memory model against counting element by element, for random graphs and plans: the memory
 * that tasks touch is allocated when they run. It may be allocated with its surroundings, and a
 * little longer (buffers.h). The exact amount is the executor's; tests/program/test_proof.c
 * compares it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "program/memory/parts.h"
#include "tests/length.h"
#include "tests/random_plan.h"

enum { MAX_MACHINE = 6 };

struct pair {
    uint64_t seed;
    struct random random;
    struct hypar_graph *graph;
    struct hypar_plan *plan;
    struct hypar_program *program;
    struct memory_model *model;
    struct arena arena;
    struct held_as held;
    bool renames; /* some tensor is another's other name */
    bool inexact; /* more is kept than what is read */
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
    pair->held = hp_held_as(pair->program->lowering, VIEWS_ONE, &pair->arena);
    for (int t = 0; t < pair->graph->n_tensors; t++)
        pair->renames |= pair->held.tensor[0][t] != t;
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

/* What one device has of a place: the first and the last pass of each half that touches an
 * element. Another name of a tensor has its elements in the same order. */
struct held {
    int *first[2], *last[2]; /* by element; no pass: INT32_MAX, -1 */
};

struct oracle {
    struct pair *pair;
    int body;
    const struct pass_order *order;
    struct range samples;
    struct held *held; /* [device * HP_PLACES * n_tensors + place] */
};

static struct held *held_at(const struct oracle *o, int device, struct place place)
{
    return &o->held[device * HP_PLACES * o->pair->graph->n_tensors + hp_place_index(place)];
}

static void mark(const struct hypar_shape *shape, const struct box *box, int number, int *first,
                 int *last)
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
        first[i] = inside && number < first[i] ? number : first[i];
        last[i] = inside && number > last[i] ? number : last[i];
    }
}

static const struct op_pass *pass_at(const struct oracle *o, int number)
{
    return &o->pair->program->lowering->training.op_pass[o->order->at[number].op_pass];
}

static const struct op_parts *parts_at(const struct oracle *o, int number)
{
    return o->pair->program->lowering->body[o->body].parts[pass_at(o, number)->op];
}

static int device_at(const struct oracle *o, int number)
{
    return parts_at(o, number)->device[o->order->at[number].part];
}

static void touch(struct oracle *o, int number, int operand, bool grad, bool written)
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
    struct place place =
        hp_operand_place(o->pair->program->lowering, op_pass, operand, grad, written);
    place.tensor = o->pair->held.tensor[hp_place_kind(place)][tensor];
    struct held *h = held_at(o, device_at(o, number), place);
    int64_t n = hp_shape_elements(shape);
    for (int half = 0; half < 2 && !h->last[half]; half++) {
        h->first[half] = NEW(&o->pair->arena, int, n);
        h->last[half] = NEW(&o->pair->arena, int, n);
        for (int64_t i = 0; i < n; i++) {
            h->first[half][i] = INT32_MAX;
            h->last[half][i] = -1;
        }
    }
    mark(shape, &box, number, h->first[op_pass->backward], h->last[op_pass->backward]);
}

/* Does anybody compute the gradient? Else it counts as zero. */
static bool is_settled(const struct oracle *o, int tensor)
{
    const struct training_graph *k = &o->pair->program->lowering->training;
    for (int d = 0; d < k->n_exchanges; d++)
        if (k->exchange[d].place.grad && k->exchange[d].place.tensor == tensor)
            return true;
    return false;
}

static void touch_all(struct oracle *o)
{
    const struct hypar_graph *g = o->pair->graph;
    for (int i = 0; i < o->order->n; i++) {
        const struct op_pass *op_pass = pass_at(o, i);
        const struct pass *pass = &g->ops[op_pass->op].nest->pass[op_pass->pass];
        bool adds = hp_adds_after(parts_at(o, i), op_pass->pass, o->order->at[i].part);
        struct pass_operands all = hp_pass_operands(o->pair->program->lowering, op_pass);
        operand_set reads = adds || op_pass->resend ? all.reads : all.reads & ~pass->adds;
        for (int q = 0; q < g->ops[op_pass->op].nest->n_operands; q++) {
            if (reads >> q & 1)
                touch(o, i, q, false, false);
            if (all.writes >> q & 1)
                touch(o, i, q, false, true);
            if (all.writes_grad >> q & 1 ||
                (all.reads_grad >> q & 1 && is_settled(o, g->ops[op_pass->op].tensor[q])))
                touch(o, i, q, true, false);
        }
    }
}

/* Is it counted with the body at all? Gradients are where they are computed for somebody. */
static bool counts(const struct oracle *o, struct place what)
{
    const struct tensor *t = &o->pair->graph->tensors[what.tensor];
    bool settled = !what.grad;
    const struct training_graph *k = &o->pair->program->lowering->training;
    for (int d = 0; d < k->n_exchanges; d++) {
        struct place place = k->exchange[d].place;
        settled |= place.grad && o->pair->held.tensor[1][place.tensor] == what.tensor;
    }
    return settled && !hp_place_lasts(o->pair->graph, false, what) && t->kind != TENSOR_PARAM;
}

/* Is an element there after pass `number` (-1: between the halves)? What the backward half
 * reads of a forward value is kept. */
static bool is_there(const struct held *h, int64_t i, int number, bool backward)
{
    if (number < 0)
        return h->last[0][i] >= 0 && h->last[1][i] >= 0;
    if (!backward)
        return h->first[0][i] <= number && (h->last[0][i] > number || h->last[1][i] >= 0);
    return h->last[1][i] > number && (h->last[0][i] >= 0 || h->first[1][i] <= number);
}

/* Bytes on the device after pass `number` has ended. */
static double bytes_after(const struct oracle *o, int device, int number)
{
    const struct hypar_graph *g = o->pair->graph;
    double sum = 0;
    bool backward = number >= 0 && pass_at(o, number)->backward;
    for (int at = 0; at < HP_PLACES * g->n_tensors; at++) {
        struct place place = hp_place_at(at);
        const struct held *h = held_at(o, device, place);
        int64_t n = hp_shape_elements(&g->tensors[place.tensor].shape), there = 0;
        for (int64_t i = 0; h->last[0] && counts(o, place) && i < n; i++)
            there += is_there(h, i, number, backward);
        sum += (double)there * hp_message_bytes(o->pair->plan, place);
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

/* The action of a pass, among those of its device. */
static int own_action(const struct pair *pair, const struct oracle *o, int number)
{
    const struct schedule *s = pair->program->schedule;
    int action = hp_pass_action(pair->program->lowering, o->order->at[number].op_pass);
    return hp_own_action(s, hp_slots_of(s, device_at(o, number)), action);
}

/* What comes and goes between the passes of two actions of a device. */
static double between(const struct memory_model *model, int b, int device, int from, int to)
{
    double sum = 0;
    for (int k = from; k < to; k++)
        sum += model->late[b][hp_memory_at(model, device, k)] -
               model->waits[b][hp_memory_at(model, device, k + 1)];
    return sum;
}

static void check_body(struct pair *pair, int b)
{
    const struct memory_model *model = pair->model;
    int n_devices = model->n_devices, n_tensors = pair->graph->n_tensors;
    struct oracle o = { .pair = pair, .body = b, .order = &model->order[b] };
    o.samples = hp_micro_samples(pair->program, hp_first_micro(pair->program->iteration, b));
    o.held = NEW(&pair->arena, struct held, n_devices * n_tensors * HP_PLACES);
    double *now = NEW(&pair->arena, double, n_devices);
    int *at = NEW(&pair->arena, int, n_devices);
    touch_all(&o);
    for (int i = 0; i < o.order->n; i++) {
        struct memory_delta delta = model->delta[b][i];
        int device = device_at(&o, i), own = own_action(pair, &o, i);
        now[device] += between(model, b, device, at[device], own);
        at[device] = own;
        assert_true(delta.alloc >= 0 && delta.free >= 0);
        now[device] += delta.alloc - delta.free;
        double least = bytes_after(&o, device, i);
        if (now[device] < least)
            fail_pair(pair, "after a pass, at least", device, now[device], least);
    }
    for (int d = 0; d < n_devices; d++) {
        double least = bytes_after(&o, d, -1), over = 0;
        int n_own = model->actions[d + 1] - model->actions[d] - 1;
        if (model->kept[b][d] < least)
            fail_pair(pair, "kept, at least", d, model->kept[b][d], least);
        pair->inexact |= model->kept[b][d] > least;
        now[d] += between(model, b, d, at[d], n_own);
        for (int k = 0; k < n_own; k++)
            over += model->over[b][hp_memory_at(model, d, k)];
        if (now[d] != over + model->rest[b][d])
            fail_pair(pair, "at the end", d, now[d], over + model->rest[b][d]);
    }
}

/* What the passes of a slot do to what lies on each device. */
static void pass_slot(struct pair *pair, const struct slot *slot, double *now, double *most)
{
    const struct hypar_program *p = pair->program;
    int b = hp_body_number(p->iteration, slot->micro);
    struct oracle o = { .pair = pair, .body = b, .order = &pair->model->order[b] };
    for (int t = 0; t < o.order->n; t++) {
        if (pass_at(&o, t)->phase != slot->phase ||
            p->schedule->stage_of_op[pass_at(&o, t)->op] != slot->stage)
            continue;
        struct memory_delta delta = pair->model->delta[b][t];
        int device = device_at(&o, t);
        double full = now[device] + delta.alloc;
        most[device] = full > most[device] ? full : most[device];
        now[device] = full - delta.free;
    }
}

/* Where the memory model has a slot on a device. */
static int slot_place(const struct pair *pair, const struct slot_list *list,
                      const struct slot *slot, int device)
{
    const struct schedule *s = pair->program->schedule;
    return hp_memory_at(pair->model, device,
                        hp_own_action(s, list, hp_action(s, slot->stage, slot->phase)));
}

/* One slot after another on one device. */
static void check_device(struct pair *pair, const struct slot_list *list, int d)
{
    const struct memory_model *model = pair->model;
    const struct iteration *it = pair->program->iteration;
    double *now = NEW(&pair->arena, double, model->n_devices);
    double *most = NEW(&pair->arena, double, model->n_devices);
    double *ends = NEW(&pair->arena, double, list->n_slots + 1); /* with a slot */
    int *left = NEW(&pair->arena, int, it->n_micro);
    for (int i = 0; i < list->n_slots; i++)
        left[list->slot[i].micro] += list->slot[i].phase != PHASE_UPDATE;
    for (int i = 0; i < list->n_slots; i++) {
        const struct slot *slot = &list->slot[i];
        if (slot->phase != PHASE_UPDATE) {
            int b = hp_body_number(it, slot->micro), at = slot_place(pair, list, slot, d);
            int end = model->actions[d + 1] - 1, until = hp_held_until(list, i);
            now[d] -= model->waits[b][at];
            pass_slot(pair, slot, now, most);
            now[d] += model->late[b][at];
            most[d] = now[d] > most[d] ? now[d] : most[d];
            if (slot->phase != PHASE_FORWARD)
                ends[until] += model->over[b][at];
            if (--left[slot->micro] == 0) {
                now[d] -= model->rest[b][d] - model->over[b][end];
                ends[until] += model->over[b][end];
            }
        }
        most[d] = now[d] > most[d] ? now[d] : most[d];
        now[d] -= ends[i];
    }
    double says = model->device[d].peak - model->fixed[d];
    if (says != most[d])
        fail_pair(pair, "fullest", d, says, most[d]);
    if (now[d] != 0)
        fail_pair(pair, "after the step", d, now[d], 0);
}

/* Go through all slots, pass by pass: a device is as full as the model says. */
static void check_slots(struct pair *pair)
{
    const struct schedule *s = pair->program->schedule;
    for (int l = 0; l < s->n_lists; l++)
        for (int k = 0; k < s->list[l].n_devices; k++)
            check_device(pair, &s->list[l], s->list[l].device[k]);
}

static bool shares_params(const struct hypar_graph *g)
{
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].kind == TENSOR_PARAM && g->use_start[t + 1] - g->use_start[t] > 1)
            return true;
    return false;
}

/* What the program holds of parameters is no more than what the plan's splits say, but where
 * operators that share one are split otherwise: it holds the box around boxes that overlap. */
static void check_state(struct pair *pair)
{
    bool shares = shares_params(pair->graph);
    double *state = NEW(&pair->arena, double, pair->model->n_devices);
    hypar_plan_state_bytes(pair->plan, state);
    for (int d = 0; d < pair->model->n_devices; d++) {
        const struct hypar_memory *m = &pair->model->device[d];
        double sum = m->parameters + m->gradients + m->optimizer;
        if (sum > state[d] && !shares)
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
    struct hypar_plan_settings settings = { .precision = pair->plan->precision,
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
    int pairs = (int)length_of("HYPAR_MEMORY_PAIRS", 400, 1500, 1500);
    int renamed = 0, inexact = 0;
    for (int i = 0; i < MAX_MACHINE; i++) {
        char word[32];
        snprintf(word, sizeof word, "full:%d", i + 1);
        assert_int_equal(hypar_machine_read(&machine[i], word, NULL), HYPAR_OK);
    }
    for (uint64_t seed = 1; seed <= (uint64_t)pairs; seed++) {
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
    print_message(
        "  %d pairs, %d of them with tensors under several names; %d keep more than is "
        "read\n",
        pairs, renamed, inexact);
    assert_true(renamed > pairs / 4);
    for (int i = 0; i < MAX_MACHINE; i++)
        hypar_machine_free(machine[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(element_by_element) };
    return cmocka_run_group_tests_name("sim: memory, at random", tests, NULL, NULL);
}
