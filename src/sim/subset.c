/* Finding a subset of tasks from which the step time follows: classes of devices by hashes of
 * their work, then closing the subset under contributions and shared links. */
#include "sim/subset.h"

#include <string.h>

#include "base/table.h"

/* Comms that are left out may hold a link that a kept comm needs for at most this share of a
 * device's computing time: the link mostly serves them when it is free anyway. */
static const double NEGLIGIBLE = 2e-3;

struct finding {
    struct timing *timing;
    const struct hypar_program *program;
    int body; /* -1: all bodies */
    struct arena scratch;
    struct task_graph graph;
    int n_devices;
    uint64_t *hash;      /* by device: of all its work; 0: it has none */
    int *class;          /* by device; -1: it has no work */
    int n_classes;       /* a number for each */
    bool *device, *task; /* kept devices; kept comms by task */
    int n_kept,
        *latest; /* by class: the last comm to which a kept device of the class contributes */
    /* By queue: how long kept comms hold it, and how long others do; in a micro-batch, and at
     * the end of a step. */
    ticks *held[2], *foreign[2];
    ticks negligible[2];
    int *link_class, n_link_classes; /* by queue: links that the same comms hold */
    int *chosen; /* by class of links: ALL_KEPT, or a link with comms that are not kept; -1:
                    none */
};

enum { ALL_KEPT = -2 };

static bool is_of_part(const struct finding *f, int task)
{
    return f->body < 0 || hp_is_tail(f->program, task) ||
           hp_task_body(f->program, task) == f->body;
}

static const struct comm *comm_of(const struct finding *f, int task)
{
    return f->program->task[task].kind == TASK_COMM ? hp_task_comm(f->program, task) : NULL;
}

/* Classes of devices ------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Add a task to the hashes of its devices: block, length and number of devices. */
static void add_to_hashes(struct finding *f, int task)
{
    const struct task *what = &f->program->task[task];
    const struct comm *comm = comm_of(f, task);
    uint64_t about = mix(mix((uint64_t)what->block + 1, comm ? (uint64_t)comm->n_devices : 0),
                         (uint64_t)f->graph.task[task].duration);
    for (int i = 0; i < (comm ? comm->n_devices : 1); i++) {
        uint64_t *hash = &f->hash[comm ? comm->device[i] : what->device];
        *hash = mix(*hash + 1, about);
    }
}

static void keep(struct finding *f, int device)
{
    f->n_kept += !f->device[device];
    f->device[device] = true;
}

/* A number for each hash; -1 for hash 0: nothing is known. */
static int *number_hashes(struct finding *f, const uint64_t *hash, int n, int *n_classes)
{
    struct table known = { 0 };
    int *class = NEW(&f->scratch, int, n);
    *n_classes = 0;
    for (int i = 0; i < n; i++) {
        class[i] = hash[i]
                       ? hp_table_put(&known, &f->scratch, &hash[i], sizeof hash[i], *n_classes)
                       : -1;
        *n_classes += class[i] == *n_classes;
    }
    return class;
}

static void find_link_classes(struct finding *f)
{
    uint64_t *hash = NEW(&f->scratch, uint64_t, f->graph.n_queues);
    for (int t = 0; t < f->graph.n_tasks; t++) {
        const struct sim_task *task = &f->graph.task[t];
        uint64_t block = (uint64_t)f->program->task[t].block + 1;
        for (int i = 0; task->hold && is_of_part(f, t) && i < task->n_holds; i++) {
            uint64_t *at = &hash[task->hold[i].queue];
            *at = mix(*at + block, (uint64_t)task->hold[i].busy);
        }
    }
    f->link_class = number_hashes(f, hash, f->graph.n_queues, &f->n_link_classes);
    f->chosen = NEW(&f->scratch, int, f->n_link_classes);
}

/* Keep the first device of each class. */
static void find_classes(struct finding *f)
{
    f->hash = NEW(&f->scratch, uint64_t, f->n_devices);
    f->device = NEW(&f->scratch, bool, f->n_devices);
    for (int t = 0; t < f->graph.n_tasks; t++)
        if (is_of_part(f, t))
            add_to_hashes(f, t);
    f->class = number_hashes(f, f->hash, f->n_devices, &f->n_classes);
    for (int d = 0, n = 0; d < f->n_devices; d++)
        if (f->class[d] == n) {
            n++;
            keep(f, d);
        }
}

/* Further devices ----------------------------------------------------------------------- */

static bool takes_part(const struct finding *f, const struct comm *comm)
{
    for (int i = 0; i < comm->n_devices; i++)
        if (f->device[comm->device[i]])
            return true;
    return false;
}

/* Keep one device of each class that contributes to a comm. */
static void keep_contributors(struct finding *f, int comm)
{
    for (int all = 0; all < 2; all++)
        for (int64_t i = f->graph.after_start[comm]; i < f->graph.after_start[comm + 1]; i++) {
            int from = f->graph.after[i], device = f->program->task[from].device;
            if (device < 0 || !is_of_part(f, from) || (!all && !f->device[device]))
                continue;
            if (f->latest[f->class[device]] != comm)
                keep(f, device);
            f->latest[f->class[device]] = comm;
        }
}

/* Keep the comms of kept devices. Returns whether any comm was added. */
static bool keep_comms(struct finding *f)
{
    bool any = false;
    for (int t = 0; t < f->graph.n_tasks; t++) {
        const struct comm *comm = f->task[t] || !is_of_part(f, t) ? NULL : comm_of(f, t);
        if (!comm || !takes_part(f, comm))
            continue;
        f->task[t] = any = true;
        keep_contributors(f, t);
    }
    return any;
}

static void count_holds(struct finding *f)
{
    int n = f->graph.n_queues;
    for (int tail = 0; tail < 2; tail++) {
        memset(f->held[tail], 0, (size_t)n * sizeof(ticks));
        memset(f->foreign[tail], 0, (size_t)n * sizeof(ticks));
    }
    for (int t = 0; t < f->graph.n_tasks; t++) {
        const struct sim_task *task = &f->graph.task[t];
        int tail = hp_is_tail(f->program, t);
        ticks *to = f->task[t] ? f->held[tail] : f->foreign[tail];
        for (int i = 0; task->hold && is_of_part(f, t) && i < task->n_holds; i++)
            if (task->hold[i].queue >= f->n_devices)
                to[task->hold[i].queue] += task->hold[i].busy;
    }
}

/* Among links that the same comms hold, one is enough if all these comms are kept on it. */
static void choose_links(struct finding *f)
{
    count_holds(f);
    memset(f->chosen, -1, (size_t)f->n_link_classes * sizeof *f->chosen);
    for (int q = f->n_devices; q < f->graph.n_queues; q++) {
        int *chosen = f->link_class[q] < 0 ? NULL : &f->chosen[f->link_class[q]];
        if (!chosen || (!f->held[0][q] && !f->held[1][q]))
            continue;
        if (f->foreign[0][q] <= f->negligible[0] && f->foreign[1][q] <= f->negligible[1])
            *chosen = ALL_KEPT;
        else if (*chosen == -1)
            *chosen = q;
    }
}

/* Does a comm that is left out hold a chosen link? */
static bool is_in_the_way(const struct finding *f, int comm)
{
    const struct sim_task *task = &f->graph.task[comm];
    for (int i = 0; task->hold && i < task->n_holds; i++) {
        int queue = task->hold[i].queue;
        if (queue >= f->n_devices && f->chosen[f->link_class[queue]] == queue)
            return true;
    }
    return false;
}

/* Keep the devices of comms that share links with kept comms. Returns whether there were any.
 */
static bool keep_in_the_way(struct finding *f)
{
    int before = f->n_kept;
    choose_links(f);
    for (int t = 0; t < f->graph.n_tasks; t++) {
        const struct comm *comm = f->task[t] || !is_of_part(f, t) ? NULL : comm_of(f, t);
        if (comm && is_in_the_way(f, t))
            keep(f, comm->device[0]);
    }
    return f->n_kept > before;
}

/* The longest time that a device computes in a micro-batch. */
static ticks longest_busy(struct finding *f)
{
    ticks *busy = NEW(&f->scratch, ticks, f->n_devices), longest = 0;
    for (int t = 0; t < f->program->first[f->program->n_bodies]; t++)
        if (is_of_part(f, t) && f->program->task[t].device >= 0)
            busy[f->program->task[t].device] += f->graph.task[t].duration;
    for (int d = 0; d < f->n_devices; d++)
        longest = hp_latest(longest, busy[d]);
    return longest;
}

static void find_kept(struct finding *f)
{
    int n_queues = f->graph.n_queues;
    f->task = NEW(&f->scratch, bool, f->graph.n_tasks);
    f->latest = NEW(&f->scratch, int, f->n_classes);
    memset(f->latest, -1, (size_t)f->n_classes * sizeof *f->latest);
    for (int tail = 0; tail < 2; tail++) {
        f->held[tail] = NEW(&f->scratch, ticks, n_queues);
        f->foreign[tail] = NEW(&f->scratch, ticks, n_queues);
    }
    double longest = (double)longest_busy(f);
    f->negligible[0] = (ticks)(NEGLIGIBLE * longest);
    f->negligible[1] = (ticks)(NEGLIGIBLE * longest * f->program->iteration->n_micro);
    do {
        while (keep_comms(f)) {
        }
    } while (keep_in_the_way(f));
    for (int t = 0; t < f->graph.n_tasks; t++)
        f->task[t] =
            is_of_part(f, t) && (f->task[t] || (f->program->task[t].device >= 0 &&
                                                f->device[f->program->task[t].device]));
}

/* Result -------------------------------------------------------------------------------- */

static int number_tasks(struct finding *f, struct timeline_part *part, int *place,
                        struct arena *arena)
{
    const struct hypar_program *p = f->program;
    int n = 0, b = 0;
    part->n_bodies = f->body < 0 ? p->n_bodies : 1;
    int *first = NEW(arena, int, part->n_bodies + 2);
    for (int body = 0; body <= p->n_bodies; body++) {
        if (f->body < 0 || body == f->body || body == p->n_bodies)
            first[b++] = n;
        for (int t = p->first[body]; t < p->first[body + 1]; t++)
            place[t] = f->task[t] ? n++ : -1;
    }
    first[b] = n;
    part->first = first;
    return n;
}

/* The action of a compute task in its micro-batch. */
static int action_of(const struct finding *f, const struct task *task)
{
    const struct lowering *s = f->program->lowering;
    if (task->kind != TASK_COMPUTE)
        return -1;
    const struct op_pass *pass = &s->training.op_pass[task->index];
    return s->schedule.stage_of_op[pass->op] * PHASE_UPDATE + (int)pass->phase;
}

/* Fill `gather`, unless it is NULL; returns the number of entries. */
static int list_gathers(const struct finding *f, const int *place, struct part_gather *gather)
{
    const struct lowering *s = f->program->lowering;
    int n = 0;
    for (int t = 0; t < f->program->first[f->program->n_bodies]; t++) {
        const struct comm *comm = f->task[t] ? comm_of(f, t) : NULL;
        const struct exchange *x =
            comm ? &s->training.exchange[f->program->task[t].index] : NULL;
        if (!x || x->division != DIVIDE_GATHER)
            continue;
        int action = s->schedule.stage_of_op[x->first.op] * PHASE_UPDATE +
                     (x->backward ? PHASE_BACKWARD : PHASE_FORWARD);
        for (int i = 0; i < comm->n_devices; i++) {
            if (!f->device[comm->device[i]])
                continue;
            if (gather)
                gather[n] = (struct part_gather){ place[t], action, comm->device[i] };
            n++;
        }
    }
    return n;
}

static void fill_part(struct finding *f, struct timeline_part *part, struct arena *arena)
{
    int *place = NEW(&f->scratch, int, f->graph.n_tasks);
    int n = number_tasks(f, part, place, arena);
    struct sim_task *task = NEW(arena, struct sim_task, n);
    int *action = NEW(arena, int, n);
    int64_t *start = NEW(arena, int64_t, n + 1), edges = 0;
    for (int t = 0; t < f->graph.n_tasks; t++)
        edges += f->task[t] ? f->graph.after_start[t + 1] - f->graph.after_start[t] : 0;
    int *after = NEW(arena, int, edges);
    edges = 0;
    for (int t = 0; t < f->graph.n_tasks; t++) {
        if (!f->task[t])
            continue;
        task[place[t]] = f->graph.task[t];
        action[place[t]] = action_of(f, &f->program->task[t]);
        for (int64_t i = f->graph.after_start[t]; i < f->graph.after_start[t + 1]; i++)
            if (place[f->graph.after[i]] >= 0)
                after[edges++] = place[f->graph.after[i]];
        start[place[t] + 1] = edges;
    }
    part->graph = (struct task_graph){ n, f->graph.n_queues, task, start, after };
    part->action = action;
    const ticks *launch = hp_task_launches(f->timing, f->graph.n_tasks, &f->scratch);
    if (launch) {
        ticks *kept = NEW(arena, ticks, n);
        for (int t = 0; t < f->graph.n_tasks; t++)
            if (f->task[t])
                kept[place[t]] = launch[t];
        part->launch = kept;
        part->ahead = hp_ahead(f->timing, arena);
        part->host_waits = hp_hosts_wait(f->timing);
    }
    part->n_gathers = list_gathers(f, place, NULL);
    struct part_gather *gather = NEW(arena, struct part_gather, part->n_gathers);
    list_gathers(f, place, gather);
    part->gather = gather;
}

struct subset hp_find_subset(struct timing *timing, const struct hypar_program *program,
                             int body, struct arena *arena)
{
    struct subset out = { .n_devices = 0 };
    struct finding f = { .timing = timing,
                         .program = program,
                         .body = body,
                         .n_devices = timing->costs->n_devices };
    f.graph = hp_timed_program(timing, program, &f.scratch);
    find_classes(&f);
    find_link_classes(&f);
    find_kept(&f);
    fill_part(&f, &out.part, arena);
    out.device =
        memcpy(NEW(arena, bool, f.n_devices), f.device, (size_t)f.n_devices * sizeof *f.device);
    out.n_devices = f.n_kept;
    ticks left_out[2] = { 0, 0 };
    for (int q = f.n_devices; q < f.graph.n_queues; q++)
        for (int tail = 0; tail < 2; tail++)
            if ((f.held[0][q] || f.held[1][q]) && f.foreign[tail][q] <= f.negligible[tail])
                left_out[tail] = hp_latest(left_out[tail], f.foreign[tail][q]);
    for (int d = 0; d < f.n_devices; d++)
        out.used_devices += f.class[d] >= 0;
    out.body_s = hp_seconds(left_out[0]);
    out.tail_s = hp_seconds(left_out[1]);
    hp_arena_free(&f.scratch);
    return out;
}
