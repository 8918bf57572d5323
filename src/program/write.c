/* hypar-program/1: every task instance with what it waits for. */
#include "base/json.h"
#include "program/program.h"

/* A half of a micro-batch on one stage: the tasks that a slot of the schedule runs. */
enum { FORWARD, BACKWARD, HALVES };

/* Instances are numbered slot by slot, in an order in which the slots can run, then the tail.
 * At the end of each slot stands one task for each device of the stage that takes no time: it
 * waits for the slot, and the next slot waits for it, so that the edges alone give the
 * schedule's order. */
struct numbering {
    const struct hypar_program *program;
    struct arena arena;
    int *rank[2];  /* of each body's tasks among those of its stage and half */
    int *size[2];  /* of each body: tasks of [stage * HALVES + half] */
    int64_t *base; /* [(micro * n_stages + stage) * HALVES + half] */
    int *order;    /* the slots, as indices of base, in the order of their numbers */
    int *previous; /* the slot before on the same stage, as index of base; -1 */
    int *tail_rank;
    int64_t tail_base;
    bool gates; /* more than one micro-batch: slots are kept apart */
};

static int slot_index(const struct hypar_program *p, int micro, int stage, int half)
{
    return (micro * p->n_stages + stage) * HALVES + half;
}

/* The stage that runs a task: that of its operator; of a tensor that moves, its producer's. */
static int stage_of(const struct hypar_program *p, const struct task *t)
{
    int op = t->kind == TASK_COMPUTE ? t->op : p->plan->graph->tensors[t->tensor].producer;
    return p->stage_of_op[op];
}

static int stage_devices(const struct hypar_program *p, int stage)
{
    return p->plan->n_stages ? p->plan->stages[stage].n_devices
                             : hypar_machine_device_count(p->plan->machine);
}

static int stage_device(const struct hypar_program *p, int stage, int i)
{
    return p->plan->n_stages ? p->plan->stages[stage].device[i] : i;
}

static void rank_body(struct numbering *n, int b)
{
    const struct hypar_program *p = n->program;
    const struct task_list *list = &p->body[b].list;
    n->rank[b] = NEW(&n->arena, int, list->n_tasks);
    n->size[b] = NEW(&n->arena, int, p->n_stages *HALVES);
    for (int t = 0; t < list->n_tasks; t++) {
        const struct task *task = &list->task[t];
        if (task->kind != TASK_NONE)
            n->rank[b][t] = n->size[b][stage_of(p, task) * HALVES +
                                       (task->backward ? BACKWARD : FORWARD)]++;
    }
}

/* Can slot `i` of `stage` run once the slots numbered so far have? Forward needs the stages
 * before, backward the stages after and its own forward. */
static bool can_run(const struct numbering *n, const bool *done, int stage, struct slot slot)
{
    const struct hypar_program *p = n->program;
    for (int s = 0; s < p->n_stages; s++) {
        bool needed = slot.backward ? s > stage : s < stage;
        if (needed && !done[slot_index(p, slot.micro, s, slot.backward ? BACKWARD : FORWARD)])
            return false;
    }
    return !slot.backward || done[slot_index(p, slot.micro, stage, FORWARD)];
}

static void order_slots(struct numbering *n)
{
    const struct hypar_program *p = n->program;
    int n_micro = (int)p->plan->schedule.micro_batches;
    int n_slots = n_micro * p->n_stages * HALVES, ordered = 0;
    bool *done = NEW(&n->arena, bool, n_slots);
    int *next = NEW(&n->arena, int, p->n_stages);
    n->order = NEW(&n->arena, int, n_slots);
    n->previous = NEW(&n->arena, int, n_slots);
    for (bool moved = true; moved && ordered < n_slots;) {
        moved = false;
        for (int s = 0; s < p->n_stages; s++) {
            const struct slot *slots = p->slot + (size_t)s * (size_t)p->slots_per_stage;
            while (next[s] < p->slots_per_stage && can_run(n, done, s, slots[next[s]])) {
                struct slot slot = slots[next[s]];
                int index = slot_index(p, slot.micro, s, slot.backward);
                struct slot before = next[s] ? slots[next[s] - 1] : slot;
                n->previous[index] =
                    next[s] ? slot_index(p, before.micro, s, before.backward) : -1;
                n->order[ordered++] = index;
                done[index] = moved = true;
                next[s]++;
            }
        }
    }
}

static void number(struct numbering *n)
{
    const struct hypar_program *p = n->program;
    int n_micro = (int)p->plan->schedule.micro_batches;
    int n_slots = n_micro * p->n_stages * HALVES;
    for (int b = 0; b < p->n_bodies; b++)
        rank_body(n, b);
    n->gates = n_micro > 1;
    order_slots(n);
    n->base = NEW(&n->arena, int64_t, n_slots);
    int64_t at = 0;
    for (int i = 0; i < n_slots; i++) {
        int index = n->order[i], micro = index / HALVES / p->n_stages;
        int stage = index / HALVES % p->n_stages, b = hp_body_of(p, micro) != &p->body[0];
        n->base[index] = at;
        at += n->size[b][stage * HALVES + index % HALVES] +
              (n->gates ? stage_devices(p, stage) : 0);
    }
    n->tail_base = at;
    n->tail_rank = NEW(&n->arena, int, p->tail.n_tasks);
    for (int t = 0, rank = 0; t < p->tail.n_tasks; t++)
        n->tail_rank[t] = p->tail.task[t].kind == TASK_NONE ? -1 : rank++;
}

/* The number of task `t` of the body of `micro`. */
static int64_t body_number(const struct numbering *n, int micro, int t)
{
    const struct hypar_program *p = n->program;
    int b = hp_body_of(p, micro) != &p->body[0];
    const struct task *task = &p->body[b].list.task[t];
    return n->base[slot_index(p, micro, stage_of(p, task), task->backward)] + n->rank[b][t];
}

/* What a tail task waits for, as an instance. */
static int64_t tail_number(const struct numbering *n, int after)
{
    const struct hypar_program *p = n->program;
    if (after >= p->tail_base[2])
        return n->tail_base + n->tail_rank[after - p->tail_base[2]];
    int b = after >= p->tail_base[1];
    return body_number(n, p->body[b].first_micro + p->body[b].n_micro - 1,
                       after - p->tail_base[b]);
}

/* The number of the gate at the end of a slot, for the i-th device of its stage. */
static int64_t gate_number(const struct numbering *n, int index, int i)
{
    const struct hypar_program *p = n->program;
    int b = hp_body_of(p, index / HALVES / p->n_stages) != &p->body[0];
    return n->base[index] + n->size[b][index / HALVES % p->n_stages * HALVES + index % HALVES] +
           i;
}

static int place_in_stage(const struct hypar_program *p, int stage, int device)
{
    int i = 0;
    while (stage_device(p, stage, i) != device)
        i++;
    return i;
}

static void put_name(struct json_writer *w, const struct hypar_program *p,
                     const struct task_list *list, const struct task *t, int micro)
{
    const struct hypar_graph *g = p->plan->graph;
    char text[512];
    if (t->kind == TASK_COMPUTE)
        snprintf(text, sizeof text, "%s %s pass %d part %d micro %d", g->ops[t->op].name,
                 t->backward ? "backward" : "forward", t->pass, t->part, micro);
    else if (t->kind == TASK_UPDATE)
        snprintf(text, sizeof text, "update %s", g->tensors[t->tensor].name);
    else
        snprintf(text, sizeof text, "%s %s%s",
                 hp_comm_text(list->exchange[t->exchange].pattern->comm[t->comm].kind),
                 list->exchange[t->exchange].place.grad ? "gradient of " : "",
                 g->tensors[t->tensor].name);
    hp_json_put_string(w, "name", text);
}

/* Who sends it, or who alone reads the sum; -1 where all are alike. */
static int root_of(const struct pattern *pattern, const struct comm *comm)
{
    const struct cell *cell = &pattern->cell[comm->cell[0]];
    if (comm->kind == COMM_SEND || comm->kind == COMM_BROADCAST)
        return cell->contribution[0].device;
    return comm->kind == COMM_REDUCE ? cell->receiver[0] : -1;
}

static void put_where(struct json_writer *w, const struct hypar_program *p,
                      const struct task_list *list, const struct task *t)
{
    if (t->kind != TASK_COMM) {
        hp_json_put_int(w, "on", t->device);
        return;
    }
    const struct exchange *e = &list->exchange[t->exchange];
    const struct comm *comm = &e->pattern->comm[t->comm];
    int first = root_of(e->pattern, comm);
    hp_json_begin_array(w, "on", true);
    if (first >= 0)
        hp_json_put_int(w, NULL, first);
    for (int i = 0; i < comm->n_devices; i++)
        if (comm->device[i] != first)
            hp_json_put_int(w, NULL, comm->device[i]);
    hp_json_end_array(w);
    hp_json_put_string(w, "kind", hp_comm_text(comm->kind));
    if (t->bucket >= 0)
        hp_json_put_int(w, "bucket", t->bucket);
    hp_json_put_number(w, "bytes",
                       comm->sent_elements * hp_message_bytes(p->plan, e->place.tensor));
}

static void put_task(struct json_writer *w, const struct hypar_program *p,
                     const struct task_list *list, const struct task *t, int64_t id, int micro)
{
    hp_json_begin_object(w, NULL, true);
    hp_json_put_int(w, "id", id);
    put_where(w, p, list, t);
    put_name(w, p, list, t, micro);
    hp_json_begin_array(w, "after", true);
}

static void end_task(struct json_writer *w)
{
    hp_json_end_array(w);
    hp_json_end_object(w);
}

/* The tasks of one slot, each after the gates of the slot before on its device. */
static void put_slot(struct json_writer *w, const struct numbering *n, int index)
{
    const struct hypar_program *p = n->program;
    int micro = index / HALVES / p->n_stages, stage = index / HALVES % p->n_stages;
    const struct task_list *list = &hp_body_of(p, micro)->list;
    for (int t = 0; t < list->n_tasks; t++) {
        const struct task *task = &list->task[t];
        if (task->kind == TASK_NONE || stage_of(p, task) != stage ||
            task->backward != (index % HALVES == BACKWARD))
            continue;
        put_task(w, p, list, task, body_number(n, micro, t), micro);
        for (int64_t a = list->after_start[t]; a < list->after_start[t + 1]; a++)
            hp_json_put_int(w, NULL, body_number(n, micro, list->after[a]));
        if (n->gates && n->previous[index] >= 0 && task->kind == TASK_COMPUTE)
            hp_json_put_int(
                w, NULL,
                gate_number(n, n->previous[index], place_in_stage(p, stage, task->device)));
        end_task(w);
    }
    for (int i = 0; n->gates && i < stage_devices(p, stage); i++) {
        int device = stage_device(p, stage, i);
        char name[64];
        snprintf(name, sizeof name, "end of %c%d on stage %d", "FB"[index % HALVES], micro,
                 stage);
        hp_json_begin_object(w, NULL, true);
        hp_json_put_int(w, "id", gate_number(n, index, i));
        hp_json_put_int(w, "on", device);
        hp_json_put_int(w, "seconds", 0);
        hp_json_put_string(w, "name", name);
        hp_json_begin_array(w, "after", true);
        if (n->previous[index] >= 0)
            hp_json_put_int(w, NULL, gate_number(n, n->previous[index], i));
        for (int t = 0; t < list->n_tasks; t++) {
            const struct task *task = &list->task[t];
            if (task->kind == TASK_COMPUTE && task->device == device &&
                stage_of(p, task) == stage && task->backward == (index % HALVES == BACKWARD))
                hp_json_put_int(w, NULL, body_number(n, micro, t));
        }
        end_task(w);
    }
}

static void put_tail(struct json_writer *w, const struct numbering *n)
{
    const struct task_list *list = &n->program->tail;
    for (int t = 0; t < list->n_tasks; t++) {
        if (list->task[t].kind == TASK_NONE)
            continue;
        put_task(w, n->program, list, &list->task[t], n->tail_base + n->tail_rank[t], -1);
        for (int64_t a = list->after_start[t]; a < list->after_start[t + 1]; a++)
            hp_json_put_int(w, NULL, tail_number(n, list->after[a]));
        end_task(w);
    }
}

static void put_schedule(struct json_writer *w, const struct hypar_program *p)
{
    hp_json_begin_array(w, "schedule", false);
    for (int s = 0; s < p->n_stages; s++) {
        hp_json_begin_array(w, NULL, true);
        for (int i = 0; i < p->slots_per_stage; i++) {
            struct slot slot = p->slot[(size_t)s * (size_t)p->slots_per_stage + (size_t)i];
            char text[24];
            snprintf(text, sizeof text, "%c%d", slot.backward ? 'B' : 'F', slot.micro);
            hp_json_put_string(w, NULL, text);
        }
        hp_json_end_array(w);
    }
    hp_json_end_array(w);
}

void hypar_program_write(const struct hypar_program *p, FILE *to)
{
    struct json_writer w = { .file = to };
    int n_micro = (int)p->plan->schedule.micro_batches;
    struct numbering n = { .program = p };
    number(&n);
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "format", "hypar-program/1");
    hp_json_put_string(&w, "model", hypar_plan_model(p->plan));
    hp_json_put_int(&w, "devices", hypar_machine_device_count(p->plan->machine));
    hp_json_put_int(&w, "micro_batches", n_micro);
    put_schedule(&w, p);
    hp_json_begin_array(&w, "tasks", false);
    for (int i = 0; i < n_micro * p->n_stages * HALVES; i++)
        put_slot(&w, &n, n.order[i]);
    put_tail(&w, &n);
    hp_json_end_array(&w);
    hp_json_end_object(&w);
    hp_arena_free(&n.arena);
}
