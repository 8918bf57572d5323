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
static void note(struct instant *most, struct instant at, double more)
{
    at.temporary += more;
    if (total(&at) > total(most))
        *most = at;
}

static void compute(const struct pass_memory *t, struct instant *at, struct instant *most)
{
    at->kept += t->kept;
    at->rebuilt += t->rebuilt;
    at->temporary += t->temporary - t->replaced;
    note(most, *at, 0);
    at->kept -= t->end_kept;
    at->rebuilt -= t->end_rebuilt;
    at->temporary -= t->end_temporary - t->replaced;
}

/* What a comm takes on each device while it goes on, and `more`. */
static void communicate(struct memory_maker *m, int task, double more,
                        const struct instant *now, struct instant *most)
{
    const struct pattern *pattern = hp_task_pattern(m->program, task);
    const struct comm_room *room = hp_memory_room(m, pattern);
    int comm = m->program->task[task].comm;
    double size = hp_message_bytes(m->program->plan, hp_task_place(m->program, task).tensor);
    for (int r = room->start[comm]; r < room->start[comm + 1]; r++) {
        int device = room->room[r].device;
        note(&most[device], now[device], size * (double)room->room[r].elements + more);
    }
}

/* Go through a body in the order of its tasks, every device at once; the forward half of a
 * device comes first. Both halves are looked at where they begin, too: all that is kept is
 * there even if nothing is done. */
static void walk(struct memory_maker *m, struct body_memory *body)
{
    const struct hypar_program *p = m->program;
    int n = m->model->n_devices, number = 0;
    struct instant *now = NEW(&m->scratch, struct instant, n);
    for (int h = 0; h < 2; h++)
        body->most[h] = NEW(&m->scratch, struct instant, n);
    for (int d = 0; d < n; d++)
        body->most[1][d] = body->between[d];
    for (int t = p->first[body->body]; t < p->first[body->body + 1]; t++) {
        const struct task *task = &p->task[t];
        struct instant *most = body->most[task->backward];
        if (task->kind == TASK_COMM)
            communicate(m, t, 0, now, most);
        else
            for (int i = body->order->stride[task->index]; i > 0; i--)
                compute(&body->pass[number++], &now[task->device], &most[task->device]);
    }
}

double *hp_memory_buckets(struct memory_maker *m)
{
    const struct hypar_program *p = m->program;
    int first = p->first[p->n_bodies];
    double *others = NEW(&m->scratch, double, p->n_tasks - first);
    for (int t = first; t < p->n_tasks; t++) {
        const struct task *task = &p->task[t];
        if (task->kind != TASK_COMM || task->bucket < 0 || task->bucket == t)
            continue;
        const struct pattern *pattern = hp_task_pattern(p, t);
        const struct comm_room *room = hp_memory_room(m, pattern);
        int64_t largest = 0;
        for (int r = room->start[task->comm]; r < room->start[task->comm + 1]; r++)
            largest = room->room[r].elements > largest ? room->room[r].elements : largest;
        others[task->bucket - first] +=
            hp_message_bytes(p->plan, hp_task_place(p, t).tensor) * (double)largest;
    }
    return others;
}

/* When an update period ends gradients and the loss are summed. */
static void walk_tail(struct memory_maker *m)
{
    const struct hypar_program *p = m->program;
    const double *bucket = hp_memory_buckets(m);
    struct instant *none = NEW(&m->scratch, struct instant, m->model->n_devices);
    m->tail = NEW(&m->scratch, struct instant, m->model->n_devices);
    for (int t = p->first[p->n_bodies]; t < p->n_tasks; t++)
        if (p->task[t].kind == TASK_COMM)
            communicate(m, t, bucket[t - p->first[p->n_bodies]], none, m->tail);
}

/* Slots ------------------------------------------------------------------------------ */

/* A slot, and how many other micro-batches are in flight. */
struct flight {
    int body; /* an update has none */
    enum phase phase;
    int *others; /* by body */
};

struct flights {
    struct flight *flight;
    int n, capacity;
    int versions; /* of weights, the most of any of its stages */
};

/* Has `a` no less of anything than `b`? */
static bool no_less(const struct memory_maker *m, const struct flight *a,
                    const struct flight *b)
{
    if (a->body != b->body || a->phase != b->phase)
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
    int *flying = NEW(&m->scratch, int, m->program->n_bodies), n = 0;
    for (int i = 0; i < list->n_slots; i++) {
        const struct slot *slot = &list->slot[i];
        bool update = slot->phase == PHASE_UPDATE;
        int b = update ? 0 : hp_body_number(m->program->iteration, slot->micro);
        if (slot->phase == PHASE_BACKWARD) {
            flying[b]--;
            n--;
        }
        add_flight(m, &f, (struct flight){ b, slot->phase, flying });
        if (slot->phase == PHASE_FORWARD && !m->program->iteration->forward) {
            flying[b]++;
            n++;
        }
        if (n > model->in_flight[slot->stage])
            model->in_flight[slot->stage] = n;
        if (model->versions[slot->stage] > f.versions)
            f.versions = model->versions[slot->stage];
    }
    return f;
}

static struct instant in_flight(const struct memory_maker *m, const struct flight *f,
                                int device)
{
    struct instant at =
        f->phase == PHASE_UPDATE ? m->tail[device] : m->body[f->body].most[f->phase][device];
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
        note(&most, in_flight(m, &f->flight[i], device), 0);
    out->weight_versions = (f->versions - 1) * out->parameters;
    out->activations = most.kept + m->shared[device];
    out->buffers = most.temporary;
    out->recompute_saves = most.rebuilt;
    double lasting = out->parameters + out->gradients + out->optimizer + out->weight_versions;
    m->model->fixed[device] = lasting + m->shared[device];
    out->peak = lasting + out->activations + out->buffers;
}

static void finish_devices(struct memory_maker *m)
{
    const struct schedule *schedule = m->program->schedule;
    m->model->in_flight = NEW(&m->model->arena, int, schedule->n_stages);
    m->model->versions = NEW(&m->model->arena, int, schedule->n_stages);
    for (int s = 0; s < schedule->n_stages; s++)
        m->model->versions[s] = m->options.versions
                                    ? m->options.versions[s]
                                    : hp_versions_kept(m->program->iteration, s);
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
    const struct hypar_program *p = m->program;
    const struct training_graph *k = &p->lowering->training;
    struct body_memory *body = &m->body[b];
    m->model->order[b] = hp_pass_order(p->blocks, b, &m->model->arena);
    body->body = b;
    body->order = &m->model->order[b];
    body->has_grad = NEW(&m->scratch, bool, m->graph->n_tensors);
    body->pass = NEW(&m->scratch, struct pass_memory, body->order->n);
    body->between = NEW(&m->scratch, struct instant, m->model->n_devices);
    for (int d = 0; d < k->n_exchanges; d++)
        if (k->exchange[d].place.grad)
            body->has_grad[m->seen_as[k->exchange[d].place.tensor]] = true;
}

/* What users of the model want of a body. */
static void hand_over(struct memory_maker *m, int b)
{
    struct memory_model *model = m->model;
    const struct body_memory *body = &m->body[b];
    model->kept[b] = NEW(&model->arena, double, model->n_devices);
    model->delta[b] = NEW(&model->arena, struct memory_delta, body->order->n);
    for (int d = 0; d < model->n_devices; d++)
        model->kept[b][d] = body->between[d].kept;
    for (int i = 0; i < body->order->n; i++) {
        const struct pass_memory *t = &body->pass[i];
        model->delta[b][i] =
            (struct memory_delta){ t->kept + t->temporary - t->replaced,
                                   t->end_kept + t->end_temporary - t->replaced, t->end_kept };
    }
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
    model->n_devices = hypar_machine_device_count(program->plan->machine);
    model->device = NEW(&model->arena, struct hypar_memory, model->n_devices);
    model->fixed = NEW(&model->arena, double, model->n_devices);
    m.shared = NEW(&m.scratch, double, model->n_devices);
    m.store_of = NEW(&m.scratch, int, model->n_devices);
    memset(m.store_of, -1, (size_t)model->n_devices * sizeof *m.store_of);
    hp_memory_find_names(&m);
    m.body = NEW(&m.scratch, struct body_memory, program->n_bodies);
    model->kept = NEW(&model->arena, double *, program->n_bodies);
    model->order = NEW(&model->arena, struct pass_order, program->n_bodies);
    model->delta = NEW(&model->arena, struct memory_delta *, program->n_bodies);
    for (int b = 0; b < program->n_bodies; b++)
        begin_body(&m, b);
    hp_memory_stores(&m);
    for (int b = 0; b < program->n_bodies; b++) {
        walk(&m, &m.body[b]);
        hand_over(&m, b);
    }
    walk_tail(&m);
    finish_devices(&m);
    hp_arena_free(&m.stores);
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
