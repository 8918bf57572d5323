/* The cost of messages between ranks of one computer: the processors that compute copy them. */
#include <math.h>

#include "profile/profile.h"
#include "sim/task_costs.h"
#include "split/split.h"

/* The work of each device for a comm: it copies data that it sends and receives, row by row
 * where it is not contiguous, and adds data that is summed. */
struct copying {
    const struct hypar_profile *profile;
    const struct hypar_machine *machine;
    const struct box *held;  /* by device: the box that it has of the tensor */
    double *busy_s, *rows_s; /* by device: messages and sums; rows */
    double *arrive_s;        /* by device: time since the last message to it was sent */
    bool *held_up;           /* by device: it sends, or adds */
    double element_bytes, scale;
    const struct cell *cell; /* the current cell, and its box */
    struct box box;
    int sender; /* the only sender; -1: none yet, -2: several */
    bool alone; /* all ranks take part, and one of them sends */
    bool sums;
};

bool hp_is_copied(const struct task_costs *a, const struct comm *comm)
{
    return hp_profile_has_links(a->settings.profile,
                                hypar_machine_device(a->machine, comm->device[0])->name);
}

static double curve_s(const struct copying *c, int device, const char *of, double size)
{
    return hp_profile_curve(c->profile, hypar_machine_device(c->machine, device)->name, of,
                            size);
}

/* Ranks that send at the same time share the memory's bandwidth. */
static double message_s(const struct copying *c, int device, double bytes)
{
    double alone = c->alone ? curve_s(c, device, "message alone", bytes) : 0;
    return alone > 0 ? alone : curve_s(c, device, "message", bytes);
}

/* The boxes that devices hold ------------------------------------------------------------- */

static void hold_also(struct box *held, const struct box *box)
{
    if (hp_box_empty(held)) {
        *held = *box;
        return;
    }
    for (int d = 0; d < box->n_dims; d++) {
        struct range *h = &held->dim[d];
        h->lo = box->dim[d].lo < h->lo ? box->dim[d].lo : h->lo;
        h->hi = box->dim[d].hi > h->hi ? box->dim[d].hi : h->hi;
    }
}

/* By device: the bounding box of everything that it writes, sums or reads of the tensor. */
static const struct box *boxes_held(struct task_costs *a, const struct pattern *p)
{
    if (!a->held)
        a->held = NEW(&a->arena, struct box, a->n_devices);
    for (int d = 0; d < a->n_devices; d++)
        a->held[d] = (struct box){ .n_dims = p->n_dims };
    for (int c = 0; c < p->n_cells; c++) {
        const struct cell *cell = &p->cell[c];
        struct box box = hp_cell_box(p, c);
        for (int i = 0; i < cell->n_contributions; i++)
            hold_also(&a->held[cell->contribution[i].device], &box);
        for (int i = 0; i < cell->n_receivers; i++)
            hold_also(&a->held[cell->receiver[i]], &box);
        for (int i = 0; i < cell->n_kept; i++)
            hold_also(&a->held[cell->kept[i]], &box);
    }
    return a->held;
}

/* The number of elements of the box that are contiguous in the held box. */
static int64_t row_of(const struct box *box, const struct box *held)
{
    int64_t row = 1;
    for (int d = box->n_dims - 1; d >= 0; d--) {
        int64_t extent = box->dim[d].hi - box->dim[d].lo;
        row *= extent;
        if (extent < held->dim[d].hi - held->dim[d].lo)
            break;
    }
    return row;
}

/* Gather or scatter this many elements of the current cell. */
static void copy_rows(struct copying *c, int device, double elements)
{
    double row = (double)row_of(&c->box, &c->held[device]);
    if (row < elements)
        c->rows_s[device] +=
            c->scale * elements / row * curve_s(c, device, "row", row * c->element_bytes);
}

/* Costs ---------------------------------------------------------------------------------- */

static void copy_message(void *who, int round, int from, int to, int pieces)
{
    enum { CHUNK_BYTES = 1 << 20 };
    struct copying *c = who;
    double elements = (double)c->cell->elements / pieces;
    double bytes = c->scale * elements * c->element_bytes;
    c->busy_s[from] += message_s(c, from, bytes);
    c->busy_s[to] += message_s(c, to, bytes);
    copy_rows(c, from, elements);
    copy_rows(c, to, elements);
    if (round == 0)
        c->busy_s[to] += curve_s(c, to, "sum", bytes);
    c->sums |= round == 0;
    c->held_up[from] = true;
    c->held_up[to] |= round == 0;
    c->arrive_s[to] = message_s(c, to, bytes < CHUNK_BYTES ? bytes : CHUNK_BYTES);
}

static void note_sender(void *who, int round, int from, int to, int pieces)
{
    struct copying *c = who;
    (void)round, (void)to, (void)pieces;
    c->sender = c->sender == -1 || c->sender == from ? from : -2;
}

/* The ratio of the time of ranks that all send to each other to the time of their messages and
 * sums one by one. Messages that arrive out of order are copied once more; others are still in
 * a cache. Messages without sums among some of the ranks have a part of this factor. */
static double crowding(const struct copying *c, const struct comm *comm, double bytes)
{
    const struct hypar_profile_machine *measured = hp_profile_machine(c->profile);
    int n = measured ? measured->ranks : 1, device = comm->device[0];
    if (c->alone)
        return 1;
    double all = curve_s(c, device, c->sums ? "sum over ranks" : "gather over ranks", bytes);
    if (!(all > 0) || n < 2)
        return 1;
    double piece = bytes / n, message = curve_s(c, device, "message", piece);
    double single = c->sums ? 4 * message + curve_s(c, device, "sum", piece) : 2 * message;
    double crowd = all / ((n - 1) * single);
    return c->sums ? crowd : 1 + (crowd - 1) * (comm->n_devices - 2) / fmax(1, n - 2);
}

static void copy_cells(struct copying *c, struct task_costs *a, const struct pattern *p,
                       const struct comm *comm)
{
    bool *seen = NEW(&a->scratch, bool, a->n_devices);
    c->held = boxes_held(a, p);
    c->busy_s = NEW(&a->scratch, double, a->n_devices);
    c->rows_s = NEW(&a->scratch, double, a->n_devices);
    c->arrive_s = NEW(&a->scratch, double, a->n_devices);
    c->held_up = NEW(&a->scratch, bool, a->n_devices);
    c->sender = -1;
    for (int i = 0; i < comm->n_cells; i++)
        hp_cell_sends(&p->cell[comm->cell[i]], seen, note_sender, c);
    c->alone = c->sender >= 0 && comm->n_devices == a->n_devices;
    for (int i = 0; i < comm->n_cells; i++) {
        c->cell = &p->cell[comm->cell[i]];
        c->box = hp_cell_box(p, comm->cell[i]);
        hp_cell_sends(c->cell, seen, copy_message, c);
    }
}

/* A device that sends or adds is occupied as long as this and its receiving take. A device that
 * only receives waits for the message anyway; its last chunk arrives when it has been sent. */
void hp_copied_cost(struct task_costs *a, struct arena *arena, const struct pattern *p,
                    const struct comm *comm, double element_bytes, double scale,
                    struct comm_cost *cost)
{
    struct arena_mark mark = hp_arena_mark(&a->scratch);
    struct copying c = { .profile = a->settings.profile,
                         .machine = a->machine,
                         .element_bytes = element_bytes,
                         .scale = scale };
    copy_cells(&c, a, p, comm);
    struct hold *hold = NEW(arena, struct hold, comm->n_devices);
    struct sim_task *task = NEW(arena, struct sim_task, 1);
    ticks longest = 0;
    double bytes = hp_comm_elements(p, comm) * element_bytes * scale;
    double crowd = crowding(&c, comm, bytes);
    for (int i = 0; i < comm->n_devices; i++) {
        int d = comm->device[i];
        ticks busy = hp_ticks(c.busy_s[d] * crowd + c.rows_s[d]);
        if (c.held_up[d])
            hold[task->n_holds++] = (struct hold){ d, 0, busy };
        else
            busy = hp_later(busy, hp_ticks(c.arrive_s[d]));
        longest = busy > longest ? busy : longest;
    }
    task->duration = longest;
    task->hold = hold;
    *cost = (struct comm_cost){ .n_tasks = 1,
                                .task = task,
                                .algorithm = "messages",
                                .link_bytes = comm->sent_elements * element_bytes * scale };
    hp_arena_release(&a->scratch, mark);
}
