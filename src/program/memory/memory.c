/* What lies on each device when it is fullest. */
#include "program/memory/memory.h"

#include <string.h>

#include "program/memory/parts.h"

/* Halves ----------------------------------------------------------------------------- */

static double total(const struct instant *at)
{
    return at->kept + at->temporary;
}

/* A fuller instant takes the place of the fullest so far. */
static void note(struct instant *most, struct instant at)
{
    if (total(&at) > total(most))
        *most = at;
}

static void compute(const struct pass_memory *t, struct instant *at, struct instant *most)
{
    at->kept += t->kept;
    at->rebuilt += t->rebuilt;
    at->temporary += t->temporary;
    note(most, *at);
    at->kept -= t->end_kept;
    at->rebuilt -= t->end_rebuilt;
    at->temporary -= t->end_temporary;
}

/* Go through the passes of a half, every device at once. */
static void walk_half(struct memory_maker *m, struct body_memory *body, bool backward,
                      struct instant *now)
{
    body->most[backward] = NEW(&m->scratch, struct instant, m->model->n_devices);
    for (int i = 0; i < body->passes->order.n; i++)
        if (hp_pass_at(body->passes, i)->backward == backward) {
            int device = hp_device_at(body->passes, i);
            compute(&body->pass[i], &now[device], &body->most[backward][device]);
        }
}

/* Halves are looked at between them, too: what is kept is there even if nothing is done. */
static void walk(struct memory_maker *m, struct body_memory *body)
{
    struct instant *now = NEW(&m->scratch, struct instant, m->model->n_devices);
    walk_half(m, body, false, now);
    for (int d = 0; d < m->model->n_devices; d++) {
        now[d].kept += body->late[d].kept;
        now[d].rebuilt += body->late[d].rebuilt;
        note(&body->most[0][d], now[d]);
    }
    for (int d = 0; d < m->model->n_devices; d++) {
        now[d].kept -= body->waits[d].kept;
        now[d].rebuilt -= body->waits[d].rebuilt;
    }
    walk_half(m, body, true, now);
}

/* Slots ------------------------------------------------------------------------------ */

/* A slot, the one before it, and how many other micro-batches are in flight. */
struct flight {
    int body; /* an update has none */
    enum phase phase;
    int before;  /* the body, if that ended a micro-batch; -1 */
    int *others; /* by body */
};

struct flights {
    struct flight *flight;
    int n, capacity;
};

/* Has `a` no less of anything than `b`? */
static bool no_less(const struct memory_maker *m, const struct flight *a,
                    const struct flight *b)
{
    if (a->body != b->body || a->phase != b->phase ||
        (b->before >= 0 && a->before != b->before))
        return false;
    for (int i = 0; i < m->program->n_bodies; i++)
        if (a->others[i] < b->others[i])
            return false;
    return true;
}

/* Kept unless another has no less of anything. */
static void add_flight(struct memory_maker *m, struct flights *f, struct flight new)
{
    int kept = 0;
    for (int i = f->n - 1; i >= 0; i--)
        if (no_less(m, &f->flight[i], &new))
            return;
    for (int i = 0; i < f->n; i++)
        if (!no_less(m, &new, &f->flight[i]))
            f->flight[kept++] = f->flight[i];
    f->n = kept;
    size_t bytes = (size_t)m->program->n_bodies * sizeof *new.others;
    int *others = NEW(&m->scratch, int, m->program->n_bodies);
    memcpy(others, new.others, bytes);
    new.others = others;
    f->flight = GROW(&m->scratch, struct flight, f->flight, f->n, &f->capacity);
    f->flight[f->n++] = new;
}

static struct flights find_flights(struct memory_maker *m, const struct slot_list *list)
{
    struct memory_model *model = m->model;
    struct flights f = { 0 };
    int *flying = NEW(&m->scratch, int, m->program->n_bodies), n = 0, before = -1;
    for (int i = 0; i < list->n_slots; i++) {
        const struct slot *slot = &list->slot[i];
        bool update = slot->phase == PHASE_UPDATE;
        int b = update ? 0 : hp_body_number(m->program->iteration, slot->micro);
        if (slot->phase == PHASE_BACKWARD) {
            flying[b]--;
            n--;
        }
        add_flight(m, &f, (struct flight){ b, slot->phase, before, flying });
        before = slot->phase == hp_last_half(m->program->iteration) ? b : -1;
        if (slot->phase == PHASE_FORWARD && !m->program->iteration->forward) {
            flying[b]++;
            n++;
        }
        if (n > model->in_flight[slot->stage])
            model->in_flight[slot->stage] = n;
    }
    return f;
}

static struct instant in_flight(const struct memory_maker *m, const struct flight *f,
                                int device)
{
    struct instant at = { 0 };
    if (f->phase != PHASE_UPDATE)
        at = m->body[f->body].most[f->phase][device];
    if (f->before >= 0)
        at.temporary += m->model->over[f->before][device];
    for (int b = 0; b < m->program->n_bodies; b++) {
        at.kept += f->others[b] * m->body[b].between[device].kept;
        at.rebuilt += f->others[b] * m->body[b].between[device].rebuilt;
    }
    return at;
}

static void finish_device(struct memory_maker *m, int device, const struct flights *f)
{
    struct hypar_memory *out = &m->model->device[device];
    struct instant most = { 0 };
    for (int i = 0; i < f->n; i++)
        note(&most, in_flight(m, &f->flight[i], device));
    out->activations = most.kept + m->shared[device];
    out->buffers = most.temporary;
    out->recompute_saves = most.rebuilt;
    double lasting = out->parameters + out->gradients + out->optimizer + out->weight_versions;
    out->framework = m->program->plan->framework_bytes;
    m->model->fixed[device] = lasting + m->shared[device] + out->framework;
    out->peak = lasting + out->activations + out->buffers + out->framework;
}

static void finish_devices(struct memory_maker *m)
{
    const struct schedule *schedule = m->program->schedule;
    for (int l = 0; l < schedule->n_lists; l++) {
        struct arena_mark mark = hp_arena_mark(&m->scratch);
        struct flights f = find_flights(m, &schedule->list[l]);
        for (int i = 0; i < schedule->list[l].n_devices; i++)
            finish_device(m, schedule->list[l].device[i], &f);
        hp_arena_release(&m->scratch, mark);
    }
    for (int d = 0; d < m->model->n_devices; d++)
        m->model->device[d].limit =
            (double)hypar_machine_device(m->program->plan->machine, d)->memory_bytes;
}

/* The whole -------------------------------------------------------------------------- */

static void begin_body(struct memory_maker *m, int b)
{
    struct memory_model *model = m->model;
    struct body_memory *body = &m->body[b];
    model->order[b] = hp_pass_order(m->program->blocks, b, &model->arena);
    model->over[b] = NEW(&model->arena, double, model->n_devices);
    body->passes = &m->finder.body[b];
    body->pass = NEW(&m->scratch, struct pass_memory, body->passes->order.n);
    body->between = NEW(&m->scratch, struct instant, model->n_devices);
    body->late = NEW(&m->scratch, struct instant, model->n_devices);
    body->waits = NEW(&m->scratch, struct instant, model->n_devices);
}

/* What users of the model want of a body. */
static void hand_over(struct memory_maker *m, int b)
{
    struct memory_model *model = m->model;
    const struct body_memory *body = &m->body[b];
    model->kept[b] = NEW(&model->arena, double, model->n_devices);
    model->late[b] = NEW(&model->arena, double, model->n_devices);
    model->waits[b] = NEW(&model->arena, double, model->n_devices);
    model->delta[b] = NEW(&model->arena, struct memory_delta, model->order[b].n);
    for (int d = 0; d < model->n_devices; d++) {
        model->kept[b][d] = body->between[d].kept;
        model->late[b][d] = body->late[d].kept;
        model->waits[b][d] = body->waits[d].kept;
    }
    for (int i = 0; i < model->order[b].n; i++) {
        const struct pass_memory *t = &body->pass[i];
        model->delta[b][i] =
            (struct memory_delta){ t->kept + t->temporary, t->end_kept + t->end_temporary,
                                   t->end_kept };
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
    model->kept = NEW(&model->arena, double *, p->n_bodies);
    model->late = NEW(&model->arena, double *, p->n_bodies);
    model->waits = NEW(&model->arena, double *, p->n_bodies);
    model->over = NEW(&model->arena, double *, p->n_bodies);
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
    struct held_as held = hp_held_as(program, true, &m.scratch);
    hp_finder_begin(&m.finder, program, &held, -1, true);
    m.shared = NEW(&m.scratch, double, model->n_devices);
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
    struct arena arena = model->arena; /* the model lives in it */
    hp_arena_free(&arena);
}

enum hypar_status hypar_check_fullest(const struct hypar_memory *m, int device,
                                      struct hypar_error *err)
{
    if (m->peak <= m->limit)
        return HYPAR_OK;
    struct memory_text text = hp_memory_text(m->peak, m->limit);
    return hp_fail(err, HYPAR_INFEASIBLE, "device %d needs %s of memory, has %s", device,
                   text.need, text.has);
}

int hypar_fullest_memory(const struct hypar_memory *memory, int n_devices, double limit_bytes,
                         struct hypar_memory *fullest)
{
    struct fullest most = { .device = -1 };
    for (int d = 0; d < n_devices; d++)
        hp_look_at_memory(&most, d, memory[d].peak,
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
        status = hypar_check_fullest(&most, device, err);
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
    return hp_plan_memory(plan, options, NULL, memory, err);
}

enum hypar_status hp_plan_memory(const struct hypar_plan *plan,
                                 const struct hypar_lower_options *options,
                                 struct layout_cache *cache, struct hypar_memory *memory,
                                 struct hypar_error *err)
{
    struct hypar_program *program;
    TRY(hp_lower(&program, plan, options, cache, err));
    struct memory_model *model = hp_memory(program, NULL);
    memcpy(memory, model->device, (size_t)model->n_devices * sizeof *memory);
    hp_memory_free(model);
    hypar_program_free(program);
    return HYPAR_OK;
}
