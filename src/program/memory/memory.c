/* The contents of each device's memory when it is fullest. */
#include "program/memory/memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "program/memory/parts.h"

/* Halves ----------------------------------------------------------------------------- */

/* A fuller instant takes the place of the fullest so far. */
static void note(struct held_bytes *most, struct held_bytes at)
{
    if (hp_held_sum(&at) > hp_held_sum(most))
        *most = at;
}

static void note_action(struct body_memory *body, int action, const struct held_bytes *at)
{
    struct held_bytes later = *at;
    later.term[TERM_gradients] = 0;
    note(&body->first[action], *at);
    note(&body->most[action], later);
    body->most_saved[action] = fmax(body->most_saved[action], at->saved);
}

/* A pass of an action; gradients that it makes are there already in later micro-batches. */
static void compute(struct body_memory *body, const struct pass_memory *t, int action,
                    struct held_bytes *at)
{
    hp_add_held(at, &t->begin, 1);
    at->term[TERM_gradients] += t->gradients;
    note_action(body, action, at);
    hp_add_held(at, &t->end, -1);
}

/* Go through the passes action by action, on all devices at once. Bytes count from the
 * beginning of an action. The end of an action is an instant, too: an action without passes
 * still has the bytes that it keeps. */
static void walk(struct memory_maker *m, struct body_memory *body)
{
    int n = m->model->actions[m->model->n_devices];
    struct held_bytes *now = NEW(&m->scratch, struct held_bytes, n);
    body->most = NEW(&m->scratch, struct held_bytes, n);
    body->first = NEW(&m->scratch, struct held_bytes, n);
    body->most_saved = NEW(&m->scratch, double, n);
    for (int i = 0; i < n; i++) {
        hp_add_held(&now[i], &body->waits[i], -1);
        body->most[i] = body->first[i] = now[i];
    }
    for (int i = 0; i < body->passes->order.n; i++) {
        int device = hp_device_at(body->passes, i);
        int at =
            hp_memory_at(m->model, device, hp_own_at(m, device, hp_action_at(body->passes, i)));
        compute(body, &body->pass[i], at, &now[at]);
    }
    for (int i = 0; i < n; i++) {
        hp_add_held(&now[i], &body->late[i], 1);
        note_action(body, i, &now[i]);
    }
}

/* Slots ------------------------------------------------------------------------------ */

/* The actions that a micro-batch has done so far. */
struct micro_level {
    int body;
    uint64_t done; /* bit i: action i of the devices */
};

/* A slot, and how much else there is: by level, how many micro-batches; by body and action,
 * how many have been sent and are held. */
struct flight {
    int body;
    int own;        /* action; -1: an update */
    uint64_t grown; /* bit i: action i was done before, and made its gradients */
    int *others;
};

/* What the devices of a list go through. */
struct flights {
    struct flight *flight;
    int n, capacity;
    int n_own; /* actions */
    struct micro_level *level;
    int n_levels, level_capacity;
    uint64_t *done; /* by micro-batch */
    bool *ends;     /* by slot: the micro-batch is over on the devices */
    int n_others;   /* levels, then n_own + 1 for each body */
    uint64_t grown; /* as of a flight, so far */
    int *now;
};

static struct flight flight_of(const struct memory_maker *m, const struct slot_list *list,
                               const struct slot *slot)
{
    const struct schedule *s = m->program->schedule;
    if (slot->phase == PHASE_UPDATE)
        return (struct flight){ .own = -1 };
    int action = hp_action(s, slot->stage, slot->phase);
    return (struct flight){ .body = hp_body_number(m->program->iteration, slot->micro),
                            .own = hp_own_action(s, list, action) };
}

/* The actions that a micro-batch goes through on the devices of a list. */
static uint64_t all_actions(const struct memory_maker *m, const struct flights *f)
{
    int n = m->program->iteration->forward ? f->n_own / 2 : f->n_own;
    return n < 64 ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;
}

static int level_number(const struct flights *f, int body, uint64_t done)
{
    int i = 0;
    while (i < f->n_levels && (f->level[i].body != body || f->level[i].done != done))
        i++;
    return i;
}

/* All levels that micro-batches come to, from the first action to before the last. */
static void find_levels(struct memory_maker *m, const struct slot_list *list, struct flights *f)
{
    for (int i = 0; i < list->n_slots; i++) {
        struct flight at = flight_of(m, list, &list->slot[i]);
        if (at.own < 0)
            continue;
        uint64_t *done = &f->done[list->slot[i].micro];
        *done |= (uint64_t)1 << at.own;
        int number = level_number(f, at.body, *done);
        if (*done == all_actions(m, f))
            *done = 0;
        else if (number == f->n_levels) {
            f->level = GROW(&m->scratch, struct micro_level, f->level, f->n_levels,
                            &f->level_capacity);
            f->level[f->n_levels++] = (struct micro_level){ at.body, *done };
        }
    }
    f->n_others = f->n_levels + m->program->n_bodies * (f->n_own + 1);
    f->now = NEW(&m->scratch, int, f->n_others);
}

/* Has `a` no less of anything than `b`? */
static bool no_less(const struct flights *f, const struct flight *a, const struct flight *b)
{
    if (a->body != b->body || a->own != b->own || b->grown & ~a->grown)
        return false;
    for (int i = 0; i < f->n_others; i++)
        if (a->others[i] < b->others[i])
            return false;
    return true;
}

/* Add a flight, unless a flight of the list has at least as much of everything. Flights that
 * have at most as much of everything as the new one are removed. */
static void add_flight(struct memory_maker *m, struct flights *f, struct flight new)
{
    int kept = 0;
    new.others = f->now;
    for (int i = f->n - 1; i >= 0; i--)
        if (no_less(f, &f->flight[i], &new))
            return;
    for (int i = 0; i < f->n; i++)
        if (!no_less(f, &new, &f->flight[i]))
            f->flight[kept++] = f->flight[i];
    f->n = kept;
    new.others = NEW(&m->scratch, int, f->n_others);
    memcpy(new.others, f->now, (size_t)f->n_others * sizeof *new.others);
    f->flight = GROW(&m->scratch, struct flight, f->flight, f->n, &f->capacity);
    f->flight[f->n++] = new;
}

/* A micro-batch has done another action; returns whether that was its last. */
static bool advance(struct memory_maker *m, struct flights *f, const struct slot *slot,
                    const struct flight *at)
{
    uint64_t *done = &f->done[slot->micro];
    if (*done)
        f->now[level_number(f, at->body, *done)]--;
    *done |= (uint64_t)1 << at->own;
    bool over = *done == all_actions(m, f);
    if (over)
        *done = 0;
    else
        f->now[level_number(f, at->body, *done)]++;
    return over;
}

/* The messages that slot `i` sent are held from now on (+1), or no more (-1). */
static void count_sent(struct memory_maker *m, const struct slot_list *list, struct flights *f,
                       int i, int sign)
{
    const struct slot *slot = &list->slot[i];
    struct flight at = flight_of(m, list, slot);
    if (at.own < 0 || slot->phase < hp_last_half(m->program->iteration))
        return;
    int *sent = f->now + f->n_levels + at.body * (f->n_own + 1);
    sent[at.own] += sign;
    if (f->ends[i])
        sent[f->n_own] += sign;
}

/* Micro-batches of which a stage keeps something. */
static void count_in_flight(struct memory_maker *m, const struct slot *slot, int *flying)
{
    const struct iteration *r = m->program->iteration;
    enum phase last = r->apart ? PHASE_GRADIENT : PHASE_BACKWARD;
    int *most = &m->model->in_flight[slot->stage];
    if (slot->phase == last)
        flying[slot->stage]--;
    if (slot->phase == PHASE_FORWARD && !r->forward)
        flying[slot->stage]++;
    *most = flying[slot->stage] > *most ? flying[slot->stage] : *most;
}

static struct flights find_flights(struct memory_maker *m, const struct slot_list *list,
                                   int *flying)
{
    struct flights f = { .n_own = hp_list_actions(m->program->schedule, list),
                         .done = NEW(&m->scratch, uint64_t, m->program->iteration->n_micro),
                         .ends = NEW(&m->scratch, bool, list->n_slots) };
    int reach = hp_longest_hold(list);
    assert(f.n_own <= 64); /* bits of `done` and `grown`; plan/check_stages.c bounds chunks */
    find_levels(m, list, &f);
    for (int i = 0; i < list->n_slots; i++) {
        const struct slot *slot = &list->slot[i];
        struct flight at = flight_of(m, list, slot);
        at.grown = f.grown;
        add_flight(m, &f, at);
        f.grown |= at.own >= 0 && at.body == 0 ? (uint64_t)1 << at.own : 0;
        f.ends[i] = at.own >= 0 && advance(m, &f, slot, &at);
        count_sent(m, list, &f, i, 1);
        for (int k = i > reach ? i - reach : 0; k < i; k++)
            if (hp_held_until(list, k) == i)
                count_sent(m, list, &f, k, -1);
        if (at.own >= 0)
            count_in_flight(m, slot, flying);
    }
    for (int i = 0; i < list->n_stages; i++)
        flying[list->stage[i]] = 0;
    return f;
}

/* The bytes of a micro-batch at a level on a device: begun before and not ended. */
static struct held_bytes level_bytes(const struct memory_maker *m,
                                     const struct micro_level *level, int n_own, int device)
{
    struct held_bytes at = { 0 };
    for (int b = 0; b < n_own; b++)
        for (int e = 0; level->done >> b & 1 && e <= n_own; e++)
            if (e == n_own || !(level->done >> e & 1))
                hp_add_held(&at, &m->body[level->body].lasts[device][b * (n_own + 1) + e], 1);
    return at;
}

/* What the slot at hand has: in the first micro-batch it makes gradients, later it finds them.
 */
static struct held_bytes slot_bytes(const struct memory_maker *m, const struct flights *f,
                                    const struct flight *flight, int device)
{
    const struct body_memory *body = &m->body[flight->body];
    struct held_bytes at = { 0 };
    int first = hp_memory_at(m->model, device, 0);
    if (flight->own >= 0)
        at = (flight->body > 0 || flight->grown >> flight->own & 1
                  ? body->most
                  : body->first)[first + flight->own];
    for (int i = 0; i < f->n_own; i++)
        at.term[TERM_gradients] += flight->grown >> i & 1 ? m->body[0].gradients[first + i] : 0;
    return at;
}

static struct held_bytes in_flight(const struct memory_maker *m, const struct flights *f,
                                   const struct flight *flight, const struct held_bytes *level,
                                   int device)
{
    struct held_bytes at = slot_bytes(m, f, flight, device);
    for (int i = 0; i < f->n_levels; i++)
        hp_add_held(&at, &level[i], flight->others[i]);
    for (int i = f->n_levels; i < f->n_others; i++) {
        int body = (i - f->n_levels) / (f->n_own + 1), own = (i - f->n_levels) % (f->n_own + 1);
        if (flight->others[i])
            at.term[TERM_buffers] +=
                flight->others[i] * m->body[body].over[hp_memory_at(m->model, device, own)];
    }
    return at;
}

/* Activations that wait at once, at most, for backward halves that read them. */
static double most_saved(const struct memory_maker *m, const struct flights *f,
                         const struct held_bytes *level, int device)
{
    double most = 0;
    for (int i = 0; i < f->n; i++) {
        const struct flight *flight = &f->flight[i];
        double saved = 0;
        if (flight->own >= 0)
            saved =
                m->body[flight->body].most_saved[hp_memory_at(m->model, device, flight->own)];
        for (int k = 0; k < f->n_levels; k++)
            saved += flight->others[k] * level[k].saved;
        most = fmax(most, saved);
    }
    return most;
}

/* `fixed` is there all the time, `peak` at the fullest moment: terms that are no tensors are
 * added to both (plan/memory_terms.c). */
static void finish_device(struct memory_maker *m, int device, const struct flights *f)
{
    struct hypar_memory *out = &m->model->device[device];
    struct held_bytes most = { 0 }, *level = NEW(&m->scratch, struct held_bytes, f->n_levels);
    for (int i = 0; i < f->n_levels; i++)
        level[i] = level_bytes(m, &f->level[i], f->n_own, device);
    for (int i = 0; i < f->n; i++)
        note(&most, in_flight(m, f, &f->flight[i], level, device));
    out->activations += m->shared[device] + m->batch[device];
    out->buffers += m->received[device];
    out->gradients -= m->model->begun[device];
    m->model->fixed[device] = hp_tensor_bytes(out);
    for (int i = 0; i < TENSOR_TERMS; i++)
        hp_add_to_term(out, &hp_memory_terms[i], most.term[i]);
    out->recompute_saves = most.rebuilt;
    out->saved = most_saved(m, f, level, device) + m->shared[device];
    double tensors = hp_tensor_bytes(out);
    hp_add_framework_terms(out, hypar_machine_device(m->program->plan->machine, device),
                           &m->how);
    m->model->fixed[device] += out->peak - tensors;
}

static void finish_devices(struct memory_maker *m)
{
    const struct schedule *schedule = m->program->schedule;
    int *flying = NEW(&m->scratch, int, schedule->n_stages);
    for (int l = 0; l < schedule->n_lists; l++) {
        struct arena_mark mark = hp_arena_mark(&m->scratch);
        struct flights f = find_flights(m, &schedule->list[l], flying);
        for (int i = 0; i < schedule->list[l].n_devices; i++)
            finish_device(m, schedule->list[l].device[i], &f);
        hp_arena_release(&m->scratch, mark);
    }
    for (int d = 0; d < m->model->n_devices; d++)
        m->model->device[d].limit = hp_plan_device_memory(m->program->plan, d, 0);
}

/* The whole -------------------------------------------------------------------------- */

static void begin_body(struct memory_maker *m, int b)
{
    struct memory_model *model = m->model;
    struct body_memory *body = &m->body[b];
    int n = model->actions[model->n_devices];
    model->order[b] = hp_pass_order(m->program->blocks, b, &model->arena);
    body->passes = &m->finder.body[b];
    body->pass = NEW(&m->scratch, struct pass_memory, body->passes->order.n);
    body->late = NEW(&m->scratch, struct held_bytes, n);
    body->waits = NEW(&m->scratch, struct held_bytes, n);
    body->over = NEW(&m->scratch, double, n);
    body->gradients = NEW(&m->scratch, double, n);
    body->lasts = NEW(&m->scratch, struct held_bytes *, model->n_devices);
    for (int d = 0; d < model->n_devices; d++) {
        int own = model->actions[d + 1] - model->actions[d];
        body->lasts[d] = NEW(&m->scratch, struct held_bytes, own * own);
    }
}

/* Fill the members of the model that describe a body. */
static void hand_over(struct memory_maker *m, int b)
{
    struct memory_model *model = m->model;
    const struct body_memory *body = &m->body[b];
    int n = model->actions[model->n_devices];
    model->kept[b] = NEW(&model->arena, double, model->n_devices);
    model->late[b] = NEW(&model->arena, double, n);
    model->waits[b] = NEW(&model->arena, double, n);
    model->over[b] = NEW(&model->arena, double, n);
    model->rest[b] = NEW(&model->arena, double, model->n_devices);
    model->delta[b] = NEW(&model->arena, struct memory_delta, model->order[b].n);
    for (int i = 0; i < n; i++) {
        model->late[b][i] = hp_held_sum(&body->late[i]);
        model->waits[b][i] = hp_held_sum(&body->waits[i]);
        model->over[b][i] = body->over[i];
    }
    for (int d = 0; d < model->n_devices; d++) {
        const struct slot_list *list = hp_slots_of(m->program->schedule, d);
        int n_own = model->actions[d + 1] - model->actions[d] - 1;
        struct micro_level between = { b, ((uint64_t)1 << list->n_stages) - 1 };
        model->kept[b][d] = level_bytes(m, &between, n_own, d).kept;
        for (int i = 0; i < n_own; i++)
            model->rest[b][d] += hp_held_sum(&body->lasts[d][i * (n_own + 1) + n_own]);
    }
    for (int i = 0; i < model->order[b].n; i++) {
        const struct pass_memory *t = &body->pass[i];
        model->delta[b][i] =
            (struct memory_delta){ hp_held_sum(&t->begin), hp_held_sum(&t->end), t->end.kept,
                                   t->gradients };
    }
}

static void begin_model(struct memory_maker *m)
{
    const struct hypar_program *p = m->program;
    struct memory_model *model = m->model;
    int n_stages = p->schedule->n_stages;
    model->n_devices = hypar_machine_device_count(p->plan->machine);
    model->device = NEW(&model->arena, struct hypar_memory, model->n_devices);
    model->fixed = NEW(&model->arena, double, model->n_devices);
    model->begun = NEW(&model->arena, double, model->n_devices);
    model->kept = NEW(&model->arena, double *, p->n_bodies);
    model->late = NEW(&model->arena, double *, p->n_bodies);
    model->waits = NEW(&model->arena, double *, p->n_bodies);
    model->over = NEW(&model->arena, double *, p->n_bodies);
    model->rest = NEW(&model->arena, double *, p->n_bodies);
    model->actions = NEW(&model->arena, int, model->n_devices + 1);
    for (int d = 0; d < model->n_devices; d++)
        model->actions[d + 1] =
            model->actions[d] + 1 + hp_list_actions(p->schedule, hp_slots_of(p->schedule, d));
    model->order = NEW(&model->arena, struct pass_order, p->n_bodies);
    model->delta = NEW(&model->arena, struct memory_delta *, p->n_bodies);
    model->in_flight = NEW(&model->arena, int, n_stages);
    model->versions = NEW(&model->arena, int, n_stages);
    for (int s = 0; s < n_stages; s++)
        model->versions[s] =
            m->options.versions ? m->options.versions[s] : hp_versions_kept(p->iteration, s);
}

struct memory_model *hp_memory(const struct hypar_program *program,
                               const struct memory_options *options)
{
    struct arena arena = { 0 };
    struct memory_model *model = NEW(&arena, struct memory_model, 1);
    struct memory_maker m = { .program = program, .graph = program->plan->graph };
    m.model = model;
    if (options)
        m.options = *options;
    model->arena = arena;
    begin_model(&m);
    m.how = hp_memory_how(program->plan);
    bool eager = program->plan->simulation.framework.kernels == HYPAR_KERNELS_EAGER;
    struct held_as held =
        hp_held_as(program->lowering, eager ? VIEWS_AND_SLICES : VIEWS_ONE, &m.scratch);
    hp_finder_begin(&m.finder, program, &held, -1, true);
    m.finder.some = m.options.devices;
    m.finder.nodes = eager;
    m.finder.host = m.options.host;
    m.shared = NEW(&m.scratch, double, model->n_devices);
    m.batch = NEW(&m.scratch, double, model->n_devices);
    m.received = NEW(&m.scratch, double, model->n_devices);
    m.body = NEW(&m.scratch, struct body_memory, program->n_bodies);
    for (int b = 0; b < program->n_bodies; b++)
        begin_body(&m, b);
    hp_memory_of_passes(&m);
    for (int b = 0; b < program->n_bodies; b++) {
        walk(&m, &m.body[b]);
        hand_over(&m, b);
    }
    finish_devices(&m);
    hp_finder_end(&m.finder);
    hp_arena_free(&m.scratch);
    return model;
}

void hp_memory_free(struct memory_model *model)
{
    if (!model)
        return;
    hp_arena_free(&model->arena);
}

enum hypar_status hypar_check_fullest(const struct hypar_plan *plan,
                                      const struct hypar_memory *m, int device,
                                      struct hypar_error *err)
{
    if (m->peak <= m->limit)
        return HYPAR_OK;
    struct fullest f = { .device = device, .need = m->peak, .has = m->limit };
    return hp_fail_device(&f, hp_limit_words(plan, m->limit), err);
}

int hypar_fullest_memory(const struct hypar_memory *memory, int n_devices, double limit_bytes,
                         struct hypar_memory *fullest)
{
    struct fullest most = { .device = -1 };
    for (int d = 0; d < n_devices; d++)
        hp_note_memory(&most, d, memory[d].peak,
                       limit_bytes > 0 ? limit_bytes : memory[d].limit);
    if (most.device >= 0) {
        *fullest = memory[most.device];
        fullest->limit = most.has;
    }
    return most.device;
}

enum hypar_status hypar_plan_fits(const struct hypar_plan *plan, double limit_bytes,
                                  struct hypar_memory *fullest, struct hypar_error *err)
{
    struct arena scratch = { 0 };
    int n = hypar_machine_device_count(plan->machine);
    struct hypar_memory *memory = NEW(&scratch, struct hypar_memory, n), most;
    enum hypar_status status = hypar_plan_memory(plan, NULL, memory, err);
    if (status == HYPAR_OK) {
        int device = hypar_fullest_memory(memory, n, limit_bytes, &most);
        status = hypar_check_fullest(plan, &most, device, err);
        if (fullest)
            *fullest = most;
    }
    hp_arena_free(&scratch);
    return status;
}

enum hypar_status hypar_plan_memory(const struct hypar_plan *plan,
                                    const struct hypar_lower_options *options,
                                    struct hypar_memory *memory, struct hypar_error *err)
{
    struct hypar_program *program;
    TRY(hp_lower(&program, plan, options, NULL, err));
    struct memory_model *model = hp_memory(program, NULL);
    memcpy(memory, model->device, (size_t)model->n_devices * sizeof *memory);
    hp_memory_free(model);
    hypar_program_free(program);
    return HYPAR_OK;
}
