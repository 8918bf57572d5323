/* hypar-program/1: every task instance with what it waits for. */
#include "base/json.h"
#include "program/blocks.h"

#include <string.h>

/* A half of a micro-batch on one stage: the tasks that a slot of the schedule runs. */
enum { FORWARD, BACKWARD, HALVES };

/* Instances are numbered slot by slot, in an order in which the slots can run, updates
 * included; synchronous ones come last. At the end of each slot stands one task for each device
 * of the stage that takes no time: it waits for the slot, and the next slot waits for it, so
 * that the edges alone give the schedule's order. */
struct numbering {
    const struct hypar_program *program;
    struct arena arena;
    int *rank;      /* of a body's task among those of its stage and half, of the tail's
                       among those of its group */
    int **size;     /* of each body: tasks of [stage * HALVES + half] */
    int *tail_size; /* by group */
    int *update;    /* by group: the entry of its round 0; the others follow */
    /* Entries: halves [(micro * n_stages + stage) * HALVES + half], then the groups' rounds. */
    int n_entries;
    int64_t *base; /* the number of its first task */
    int *order;    /* entries in the order of their numbers */
    int *previous; /* the entry before on the same stage; -1 */
    bool gates;    /* more than one micro-batch: slots are kept apart */
};

static int slot_index(const struct hypar_program *p, int micro, int stage, int half)
{
    return (micro * p->schedule->n_stages + stage) * HALVES + half;
}

/* The stage that runs a task: that of its operator; of a tensor that moves, its producer's. */
static int stage_of(const struct hypar_program *p, int t)
{
    const struct task *task = &p->task[t];
    int op = task->kind == TASK_COMPUTE
                 ? p->sketch->skeleton.step[task->index].op
                 : p->plan->graph->tensors[hp_task_place(p, t).tensor].producer;
    return p->schedule->stage_of_op[op];
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
    n->size[b] = NEW(&n->arena, int, p->schedule->n_stages *HALVES);
    for (int t = p->first[b]; t < p->first[b + 1]; t++)
        n->rank[t] =
            n->size[b][stage_of(p, t) * HALVES + (p->task[t].backward ? BACKWARD : FORWARD)]++;
}

/* Can slot `i` of `stage` run once the slots numbered so far have? Forward needs the stages
 * before, backward the stages after and its own forward. */
static bool can_run(const struct numbering *n, const bool *done, int stage, struct slot slot)
{
    const struct hypar_program *p = n->program;
    for (int s = 0; s < p->schedule->n_stages; s++) {
        bool needed = slot.backward ? s > stage : s < stage;
        if (needed && !done[slot_index(p, slot.micro, s, slot.backward ? BACKWARD : FORWARD)])
            return false;
    }
    return !slot.backward || done[slot_index(p, slot.micro, stage, FORWARD)];
}

static int entry_of(const struct numbering *n, int stage, struct slot slot)
{
    return slot.update ? n->update[hp_slot_group(n->program->rhythm, stage)] + slot.micro
                       : slot_index(n->program, slot.micro, stage, slot.backward);
}

/* All slots of a stage that can run now; returns how many entries there are then. A synchronous
 * update is one of all stages, after all of their slots. */
static int order_stage(struct numbering *n, int stage, int *next, bool *done, int ordered)
{
    const struct hypar_program *p = n->program;
    const struct slot *slot = hp_slots_of(p->schedule, stage);
    for (; *next < hp_slot_count(p->schedule, stage); ++*next) {
        if (slot[*next].update && !p->rhythm->delayed)
            continue;
        if (!slot[*next].update && !can_run(n, done, stage, slot[*next]))
            break;
        int entry = entry_of(n, stage, slot[*next]);
        n->previous[entry] = *next ? entry_of(n, stage, slot[*next - 1]) : -1;
        n->order[ordered++] = entry;
        done[entry] = true;
    }
    return ordered;
}

static void order_slots(struct numbering *n)
{
    const struct hypar_program *p = n->program;
    bool *done = NEW(&n->arena, bool, n->n_entries);
    int *next = NEW(&n->arena, int, p->schedule->n_stages);
    n->order = NEW(&n->arena, int, n->n_entries);
    n->previous = NEW(&n->arena, int, n->n_entries);
    for (int ordered = 0, before = -1; before < ordered;) {
        before = ordered;
        for (int s = 0; s < p->schedule->n_stages; s++)
            ordered = order_stage(n, s, &next[s], done, ordered);
    }
    if (!p->rhythm->delayed)
        n->order[n->n_entries - 1] = n->n_entries - 1;
}

static void rank_tail(struct numbering *n)
{
    const struct hypar_program *p = n->program;
    n->tail_size = NEW(&n->arena, int, p->rhythm->n_groups);
    n->update = NEW(&n->arena, int, p->rhythm->n_groups);
    for (int t = p->first[p->n_bodies]; t < p->n_tasks; t++)
        n->rank[t] = n->tail_size[hp_update_group(p, t)]++;
    n->n_entries = p->rhythm->n_micro * p->schedule->n_stages * HALVES;
    for (int g = 0; g < p->rhythm->n_groups; g++) {
        n->update[g] = n->n_entries;
        n->n_entries += hp_round_count(p->rhythm, g);
    }
}

/* The group whose round an entry is, -1: it is a half. */
static int group_of(const struct numbering *n, int entry)
{
    int g = n->program->rhythm->n_groups - 1;
    while (g >= 0 && entry < n->update[g])
        g--;
    return g;
}

/* Tasks of an entry, gates left out. */
static int entry_size(const struct numbering *n, int entry)
{
    const struct hypar_program *p = n->program;
    int g = group_of(n, entry);
    if (g >= 0)
        return n->tail_size[g];
    int b = hp_body_number(p->rhythm, entry / HALVES / p->schedule->n_stages);
    return n->size[b][entry % (p->schedule->n_stages * HALVES)];
}

/* The stage whose devices have a gate at the end of an entry; -1: there is none. */
static int gated_stage(const struct numbering *n, int entry)
{
    const struct hypar_program *p = n->program;
    int g = group_of(n, entry);
    if (!n->gates || (g >= 0 && !p->rhythm->delayed))
        return -1;
    return g >= 0 ? g : entry / HALVES % p->schedule->n_stages;
}

static void number(struct numbering *n)
{
    const struct hypar_program *p = n->program;
    n->rank = NEW(&n->arena, int, p->n_tasks);
    n->size = NEW(&n->arena, int *, p->n_bodies);
    for (int b = 0; b < p->n_bodies; b++)
        rank_body(n, b);
    rank_tail(n);
    n->gates = p->rhythm->n_micro > 1;
    order_slots(n);
    n->base = NEW(&n->arena, int64_t, n->n_entries);
    int64_t at = 0;
    for (int i = 0; i < n->n_entries; i++) {
        int entry = n->order[i], stage = gated_stage(n, entry);
        n->base[entry] = at;
        at += entry_size(n, entry) + (stage >= 0 ? stage_devices(p, stage) : 0);
    }
}

/* The number of a body's task in `micro`. */
static int64_t body_number(const struct numbering *n, int micro, int t)
{
    const struct hypar_program *p = n->program;
    return n->base[slot_index(p, micro, stage_of(p, t), p->task[t].backward)] + n->rank[t];
}

/* What task `t` of the tail waits for in a round, as an instance; -1: not in this round. */
static int64_t tail_number(const struct numbering *n, int t, int round, int after)
{
    const struct hypar_program *p = n->program;
    int group = hp_update_group(p, t);
    if (hp_is_tail(p, after))
        return n->base[n->update[group] + round] + n->rank[after];
    int micro = hp_last_in_round(p->rhythm, group, round, hp_task_body(p, after));
    return micro < 0 ? -1 : body_number(n, micro, after);
}

/* The number of the gate at the end of an entry, for the i-th device of its stage. */
static int64_t gate_number(const struct numbering *n, int entry, int i)
{
    return n->base[entry] + entry_size(n, entry) + i;
}

static int place_in_stage(const struct hypar_program *p, int stage, int device)
{
    int i = 0;
    while (stage_device(p, stage, i) != device)
        i++;
    return i;
}

/* "conv1+relu1 forward part 3 micro 0" */
static void put_name(struct json_writer *w, const struct hypar_program *p, int t, int micro)
{
    const struct hypar_graph *g = p->plan->graph;
    const struct task *task = &p->task[t];
    char text[512], round[32] = "";
    if (hp_is_tail(p, t) && p->rhythm->delayed)
        snprintf(round, sizeof round, " round %d", micro);
    if (task->kind == TASK_COMPUTE) {
        hp_task_text(p, t, text, sizeof text);
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, " micro %d", micro);
    } else if (task->kind == TASK_UPDATE) {
        snprintf(text, sizeof text, "update %s%s", g->tensors[hp_task_place(p, t).tensor].name,
                 round);
    } else {
        snprintf(text, sizeof text, "%s %s%s%s", hp_comm_text(hp_task_comm(p, t)->kind),
                 hp_task_place(p, t).grad ? "gradient of " : "",
                 g->tensors[hp_task_place(p, t).tensor].name, round);
    }
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

static void put_where(struct json_writer *w, const struct hypar_program *p, int t)
{
    if (p->task[t].kind != TASK_COMM) {
        hp_json_put_int(w, "on", p->task[t].device);
        return;
    }
    const struct comm *comm = hp_task_comm(p, t);
    int first = root_of(hp_task_pattern(p, t), comm);
    hp_json_begin_array(w, "on", true);
    if (first >= 0)
        hp_json_put_int(w, NULL, first);
    for (int i = 0; i < comm->n_devices; i++)
        if (comm->device[i] != first)
            hp_json_put_int(w, NULL, comm->device[i]);
    hp_json_end_array(w);
    hp_json_put_string(w, "kind", hp_comm_text(comm->kind));
    if (p->task[t].bucket >= 0)
        hp_json_put_int(w, "bucket", p->task[t].bucket - p->first[p->n_bodies]);
    hp_json_put_number(w, "bytes", hp_task_bytes(p, t));
}

/* Which passes of which operators a task does, in order. */
static void put_passes(struct json_writer *w, const struct hypar_program *p, int t)
{
    if (p->task[t].kind != TASK_COMPUTE)
        return;
    const int *next = p->blocks->next[hp_task_body(p, t)];
    hp_json_begin_array(w, "passes", true);
    for (int i = p->task[t].index; i >= 0; i = next[i]) {
        const struct step *step = &p->sketch->skeleton.step[i];
        char text[512];
        snprintf(text, sizeof text, "%.480s:%d", p->plan->graph->ops[step->op].name,
                 step->pass);
        hp_json_put_string(w, NULL, text);
    }
    hp_json_end_array(w);
}

static void put_task(struct json_writer *w, const struct hypar_program *p, int t, int64_t id,
                     int micro)
{
    hp_json_begin_object(w, NULL, true);
    hp_json_put_int(w, "id", id);
    put_where(w, p, t);
    put_name(w, p, t, micro);
    put_passes(w, p, t);
    hp_json_begin_array(w, "after", true);
}

static void end_task(struct json_writer *w)
{
    hp_json_end_array(w);
    hp_json_end_object(w);
}

/* Is it one of the tasks that the gates at the end of an entry wait for? */
static bool holds_gate(const struct numbering *n, int t, int entry)
{
    const struct hypar_program *p = n->program;
    const struct task *task = &p->task[t];
    int g = group_of(n, entry);
    if (g >= 0)
        return task->kind == TASK_UPDATE && hp_update_group(p, t) == g;
    return task->kind == TASK_COMPUTE &&
           stage_of(p, t) == entry / HALVES % p->schedule->n_stages &&
           task->backward == (entry % HALVES == BACKWARD);
}

static int64_t instance_number(const struct numbering *n, int entry, int t)
{
    const struct hypar_program *p = n->program;
    return group_of(n, entry) >= 0 ? n->base[entry] + n->rank[t]
                                   : body_number(n, entry / HALVES / p->schedule->n_stages, t);
}

/* One task of no time for each device of the stage: the end of the slot there. */
static void put_gates(struct json_writer *w, const struct numbering *n, int entry)
{
    const struct hypar_program *p = n->program;
    int g = group_of(n, entry), stage = gated_stage(n, entry);
    int micro = entry / HALVES / p->schedule->n_stages;
    int b = g >= 0 ? p->n_bodies : hp_body_number(p->rhythm, micro);
    for (int i = 0; stage >= 0 && i < stage_devices(p, stage); i++) {
        int device = stage_device(p, stage, i);
        char name[64];
        snprintf(name, sizeof name, "end of %c%d on stage %d",
                 g >= 0 ? 'U' : "FB"[entry % HALVES], g >= 0 ? entry - n->update[g] : micro,
                 stage);
        hp_json_begin_object(w, NULL, true);
        hp_json_put_int(w, "id", gate_number(n, entry, i));
        hp_json_put_int(w, "on", device);
        hp_json_put_int(w, "seconds", 0);
        hp_json_put_string(w, "name", name);
        hp_json_begin_array(w, "after", true);
        if (n->previous[entry] >= 0)
            hp_json_put_int(w, NULL, gate_number(n, n->previous[entry], i));
        for (int t = p->first[b]; t < p->first[b + 1]; t++)
            if (p->task[t].device == device && holds_gate(n, t, entry))
                hp_json_put_int(w, NULL, instance_number(n, entry, t));
        end_task(w);
    }
}

/* The tasks of a half of a micro-batch, each after the gates of the slot before on its device.
 */
static void put_half(struct json_writer *w, const struct numbering *n, int entry)
{
    const struct hypar_program *p = n->program;
    int micro = entry / HALVES / p->schedule->n_stages,
        stage = entry / HALVES % p->schedule->n_stages;
    int b = hp_body_number(p->rhythm, micro);
    for (int t = p->first[b]; t < p->first[b + 1]; t++) {
        const struct task *task = &p->task[t];
        if (stage_of(p, t) != stage || task->backward != (entry % HALVES == BACKWARD))
            continue;
        put_task(w, p, t, body_number(n, micro, t), micro);
        for (int64_t a = p->after_start[t]; a < p->after_start[t + 1]; a++)
            hp_json_put_int(w, NULL, body_number(n, micro, p->after[a]));
        if (n->gates && n->previous[entry] >= 0 && task->kind == TASK_COMPUTE)
            hp_json_put_int(
                w, NULL,
                gate_number(n, n->previous[entry], place_in_stage(p, stage, task->device)));
        end_task(w);
    }
}

static void put_round(struct json_writer *w, const struct numbering *n, int entry)
{
    const struct hypar_program *p = n->program;
    int group = group_of(n, entry), round = entry - n->update[group];
    for (int t = p->first[p->n_bodies]; t < p->n_tasks; t++) {
        if (hp_update_group(p, t) != group)
            continue;
        put_task(w, p, t, instance_number(n, entry, t), round);
        for (int64_t a = p->after_start[t]; a < p->after_start[t + 1]; a++) {
            int64_t before = tail_number(n, t, round, p->after[a]);
            if (before >= 0)
                hp_json_put_int(w, NULL, before);
        }
        end_task(w);
    }
}

static void put_schedule(struct json_writer *w, const struct hypar_program *p)
{
    hp_json_begin_array(w, "schedule", false);
    for (int s = 0; s < p->schedule->n_stages; s++) {
        hp_json_begin_array(w, NULL, true);
        for (int i = 0; i < hp_slot_count(p->schedule, s); i++) {
            struct slot slot = hp_slots_of(p->schedule, s)[i];
            char text[24];
            snprintf(text, sizeof text, "%c%d",
                     slot.update     ? 'U'
                     : slot.backward ? 'B'
                                     : 'F',
                     slot.micro);
            if (!slot.update || p->rhythm->delayed) /* the only one comes last */
                hp_json_put_string(w, NULL, text);
        }
        hp_json_end_array(w);
    }
    hp_json_end_array(w);
}

void hypar_program_write(const struct hypar_program *p, FILE *to)
{
    struct json_writer w = { .file = to };
    struct numbering n = { .program = p };
    number(&n);
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "format", "hypar-program/1");
    hp_json_put_string(&w, "model", hypar_plan_model(p->plan));
    hp_json_put_int(&w, "devices", hypar_machine_device_count(p->plan->machine));
    hp_json_put_int(&w, "micro_batches", p->rhythm->n_micro);
    put_schedule(&w, p);
    hp_json_begin_array(&w, "tasks", false);
    for (int i = 0; i < n.n_entries; i++) {
        if (group_of(&n, n.order[i]) >= 0)
            put_round(&w, &n, n.order[i]);
        else
            put_half(&w, &n, n.order[i]);
        put_gates(&w, &n, n.order[i]);
    }
    hp_json_end_array(&w);
    hp_json_end_object(&w);
    hp_arena_free(&n.arena);
}
