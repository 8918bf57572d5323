/* What messages take besides the tensors that tasks read and write. */
#include "sim/memory_parts.h"

/* By device, of the pattern and the comm at hand. */
struct comm_scratch {
    bool *reads;   /* some cell */
    bool *sends;   /* the cell at hand */
    int64_t *room; /* elements */
};

static void mark_readers(const struct pattern *p, bool *reads, bool value)
{
    for (int c = 0; c < p->n_cells; c++) {
        for (int i = 0; i < p->cell[c].n_receivers; i++)
            reads[p->cell[c].receiver[i]] = value;
        for (int i = 0; i < p->cell[c].n_kept; i++)
            reads[p->cell[c].kept[i]] = value;
    }
}

/* A contributor that reads nothing of the tensor has it until it is sent, once for all of its
 * parts; who adds up has room for one other's part of its share. */
static void add_cell(const struct cell *cell, struct comm_scratch *s)
{
    int64_t elements = cell->elements;
    for (int i = 0; i < cell->n_contributions; i++) {
        int device = cell->contribution[i].device;
        if (!s->reads[device] && !s->sends[device])
            s->room[device] += elements;
        s->sends[device] = true;
    }
    for (int i = 0; i < cell->n_contributions; i++)
        s->sends[cell->contribution[i].device] = false;
    for (int i = 0; i < cell->n_owners; i++)
        s->room[cell->owner[i]] += (elements + cell->n_owners - 1) / cell->n_owners;
}

static struct comm_room *find_room(struct memory_maker *m, const struct pattern *p)
{
    int n = m->model->n_devices, used = 0, capacity = 0;
    struct comm_room *out = NEW(&m->scratch, struct comm_room, 1);
    struct arena scratch = { 0 };
    struct comm_scratch s = { .reads = NEW(&scratch, bool, n),
                              .sends = NEW(&scratch, bool, n),
                              .room = NEW(&scratch, int64_t, n) };
    out->start = NEW(&m->scratch, int, p->n_comms + 1);
    mark_readers(p, s.reads, true);
    for (int c = 0; c < p->n_comms; c++) {
        const struct comm *comm = &p->comm[c];
        for (int i = 0; i < comm->n_cells; i++)
            add_cell(&p->cell[comm->cell[i]], &s);
        for (int i = 0; i < comm->n_devices; i++) {
            int device = comm->device[i];
            if (!s.room[device])
                continue;
            out->room = GROW(&m->scratch, struct room, out->room, used, &capacity);
            out->room[used++] = (struct room){ device, s.room[device] };
            s.room[device] = 0;
        }
        out->start[c + 1] = used;
    }
    hp_arena_free(&scratch);
    return out;
}

const struct comm_room *hp_memory_room(struct memory_maker *m,
                                       const struct pattern *const *pattern)
{
    int known = hp_table_get(&m->patterns, pattern, sizeof *pattern);
    if (known < 0) {
        const struct pattern **key = NEW(&m->scratch, const struct pattern *, 1);
        *key = *pattern; /* the caller's may be gone by the next call */
        known = hp_table_put(&m->patterns, &m->scratch, key, sizeof *key, m->n_rooms);
        m->room = GROW(&m->scratch, struct comm_room *, m->room, m->n_rooms, &m->room_capacity);
        m->room[m->n_rooms++] = find_room(m, *pattern);
    }
    return m->room[known];
}
