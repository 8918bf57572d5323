/* Naming what moves: cells that go between the same devices in the same way are one comm. */
#include <string.h>

#include "base/table.h"
#include "program/exchange.h"

/* How a cell moves: from whom, to whom; both sets ascending. */
struct movement {
    const int *from, *to;
    int n_from, n_to;
};

struct namer {
    struct arena *arena;
    struct arena *scratch;
    struct pattern *pattern;
    const bool *keeps;         /* by device: it reads some of the tensor that does not move */
    struct movement *movement; /* of each cell */
    int *class_of;             /* comm under construction for each cell, -1 */
    struct table keys;
    struct draft *draft;
    int n_drafts, capacity;
    int last; /* the cell before that moves, -1 */
};

/* A comm being put together: the cells that share a key. */
struct draft {
    enum comm_kind kind;
    const int *device;
    int n_devices, n_cells;
    int sources;     /* how many different devices are a cell's only source (or only reader) */
    bool *is_source; /* by place in device[] */
};

/* Devices that contribute to a cell, ascending, each once. */
static const int *sources_of(struct namer *n, const struct cell *cell, int *count)
{
    int *list = NEW(n->scratch, int, cell->n_contributions);
    *count = 0;
    for (int i = 0; i < cell->n_contributions; i++) {
        int device = cell->contribution[i].device, at = *count;
        while (at > 0 && list[at - 1] > device)
            at--;
        if (at > 0 && list[at - 1] == device)
            continue;
        memmove(list + at + 1, list + at, (size_t)(*count - at) * sizeof *list);
        list[at] = device;
        ++*count;
    }
    return list;
}

/* The union of two ascending lists. */
static const int *merge(struct namer *n, const struct movement *m, int *count)
{
    int *all = NEW(n->scratch, int, m->n_from + m->n_to), i = 0, k = 0;
    *count = 0;
    while (i < m->n_from || k < m->n_to) {
        int a = i < m->n_from ? m->from[i] : INT32_MAX, b = k < m->n_to ? m->to[k] : INT32_MAX;
        all[(*count)++] = a < b ? a : b;
        i += a <= b;
        k += b <= a;
    }
    return all;
}

static bool is_member(int device, const int *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i] == device)
            return true;
    return false;
}

/* Every element of a cell is sent by contributors that do not own it, and to readers likewise.
 */
static double sent_elements(const struct cell *cell, const struct movement *m)
{
    double elements = (double)hp_box_elements(&cell->box);
    if (!cell->n_owners)
        return elements * m->n_to; /* one source has it all */
    double owners_that_contribute = 0;
    for (int i = 0; i < cell->n_owners; i++)
        owners_that_contribute += is_member(cell->owner[i], m->from, m->n_from);
    return elements * (m->n_from - owners_that_contribute / cell->n_owners + m->n_to - 1);
}

/* The draft of this kind over `device`; where more decides (who sends, who receives), that is
 * in `further`. */
static int find_draft(struct namer *n, enum comm_kind kind, const int *device, int n_devices,
                      const int *further, int n_further)
{
    int *key = NEW(n->scratch, int, n_devices + n_further + 1);
    key[0] = (int)kind;
    memcpy(key + 1, device, (size_t)n_devices * sizeof *key);
    if (n_further)
        memcpy(key + 1 + n_devices, further, (size_t)n_further * sizeof *key);
    size_t bytes = (size_t)(n_devices + n_further + 1) * sizeof *key;
    int found = hp_table_put(&n->keys, n->scratch, key, bytes, n->n_drafts);
    if (found == n->n_drafts) {
        n->draft = GROW(n->scratch, struct draft, n->draft, n->n_drafts, &n->capacity);
        n->draft[n->n_drafts++] = (struct draft){
            .kind = kind,
            .device = device,
            .n_devices = n_devices,
            .is_source = NEW(n->scratch, bool, n_devices),
        };
    }
    return found;
}

static void put_cell(struct namer *n, int c, int draft, int one)
{
    struct draft *d = &n->draft[draft];
    d->n_cells++;
    for (int i = 0; one >= 0 && i < d->n_devices; i++)
        if (d->device[i] == one && !d->is_source[i]) {
            d->is_source[i] = true;
            d->sources++;
        }
    n->class_of[c] = draft;
}

static bool same_movement(const struct movement *a, const struct movement *b)
{
    return a->n_from == b->n_from && a->n_to == b->n_to &&
           memcmp(a->from, b->from, (size_t)a->n_from * sizeof *a->from) == 0 &&
           memcmp(a->to, b->to, (size_t)a->n_to * sizeof *a->to) == 0;
}

/* First guess: cells with the same group of devices together, if each of them would be a piece
 * of a gather, a scatter or a reduction over that group. */
static void sort_cell(struct namer *n, int c)
{
    const struct movement *m = &n->movement[c];
    int n_all;
    if (n->last >= 0 && same_movement(m, &n->movement[n->last])) { /* as its neighbour */
        n->draft[n->class_of[n->last]].n_cells++;
        n->class_of[c] = n->class_of[n->last];
        return;
    }
    n->last = c;
    const int *all = merge(n, m, &n_all);
    bool same = m->n_from == m->n_to && n_all == m->n_from;
    if (m->n_from > 1 && same)
        put_cell(n, c, find_draft(n, COMM_ALL_REDUCE, all, n_all, NULL, 0), -1);
    else if (m->n_from > 1 && m->n_to == 1 && n_all == m->n_from)
        put_cell(n, c, find_draft(n, COMM_REDUCE_SCATTER, all, n_all, NULL, 0), m->to[0]);
    else if (m->n_from > 1)
        put_cell(n, c,
                 find_draft(n, m->n_to == 1 ? COMM_REDUCE : COMM_EXCHANGE, all, n_all, m->to,
                            m->n_to),
                 -1);
    else
        put_cell(n, c, find_draft(n, COMM_ALL_GATHER, all, n_all, NULL, 0), m->from[0]);
}

/* Was every member of the group a source (a reader) of some cell? */
static bool complete(const struct draft *d)
{
    return d->sources == d->n_devices;
}

/* Second look: a gather that not all take part in is broadcasts or sends; a scatter to some is
 * reductions. Two devices that only swap borders are two sends, not a gather. */
static void settle_name(struct namer *n, int c)
{
    const struct movement *m = &n->movement[c];
    struct draft *d = &n->draft[n->class_of[c]];
    bool gather = d->kind == COMM_ALL_GATHER && !complete(d);
    bool borders = d->kind == COMM_ALL_GATHER && d->n_devices == 2 &&
                   (n->keeps[d->device[0]] || n->keeps[d->device[1]]);
    bool scatter = d->kind == COMM_REDUCE_SCATTER && !complete(d);
    if (!gather && !borders && !scatter)
        return;
    int n_all;
    const int *all = merge(n, m, &n_all);
    enum comm_kind kind = scatter ? COMM_REDUCE : m->n_to == 1 ? COMM_SEND : COMM_BROADCAST;
    n->draft[n->class_of[c]].n_cells--;
    put_cell(n, c, find_draft(n, kind, all, n_all, scatter ? m->to : m->from, 1), -1);
}

/* Every device that takes part in a send, ascending; NULL if there is anything but sends. */
static int *senders(struct namer *n, int *n_devices, int *n_sends)
{
    int last = 0;
    for (int i = 0; i < n->n_drafts; i++) {
        const struct draft *d = &n->draft[i];
        if (d->n_cells && d->kind != COMM_SEND)
            return NULL;
        last = d->device[d->n_devices - 1] > last ? d->device[d->n_devices - 1] : last;
    }
    bool *seen = NEW(n->scratch, bool, last + 1);
    int *list = NEW(n->scratch, int, last + 1);
    for (int i = 0; i < n->n_drafts; i++)
        for (int k = 0; n->draft[i].n_cells && k < 2; k++)
            seen[n->draft[i].device[k]] = true;
    *n_devices = *n_sends = 0;
    for (int i = 0; i < n->n_drafts; i++)
        *n_sends += n->draft[i].n_cells > 0;
    for (int d = 0; d <= last; d++)
        if (seen[d])
            list[(*n_devices)++] = d;
    return list;
}

/* Sends between every two of a group, both ways, are an all-to-all. */
static void find_all_to_all(struct namer *n)
{
    int n_devices, n_sends, *all = senders(n, &n_devices, &n_sends);
    if (!all || n_devices < 3 || n_sends != n_devices * (n_devices - 1))
        return;
    int draft = find_draft(n, COMM_ALL_TO_ALL, all, n_devices, NULL, 0);
    for (int c = 0; c < n->pattern->n_cells; c++)
        if (n->class_of[c] >= 0) {
            n->draft[n->class_of[c]].n_cells--;
            put_cell(n, c, draft, -1);
        }
}

/* Number the drafts that have cells, in order, and hand them over. */
static void finish(struct namer *n)
{
    struct pattern *p = n->pattern;
    int *number = NEW(n->scratch, int, n->n_drafts);
    for (int i = 0; i < n->n_drafts; i++)
        number[i] = n->draft[i].n_cells ? p->n_comms++ : -1;
    p->comm = NEW(n->arena, struct comm, p->n_comms);
    int **list = NEW(n->scratch, int *, p->n_comms);
    for (int i = 0; i < n->n_drafts; i++) {
        const struct draft *d = &n->draft[i];
        if (number[i] < 0)
            continue;
        int *device = NEW(n->arena, int, d->n_devices);
        memcpy(device, d->device, (size_t)d->n_devices * sizeof *device);
        list[number[i]] = NEW(n->arena, int, d->n_cells);
        p->comm[number[i]] =
            (struct comm){ d->kind, d->n_devices, device, 0, list[number[i]], 0 };
    }
    for (int c = 0; c < p->n_cells; c++) {
        if (n->class_of[c] < 0)
            continue;
        int k = number[n->class_of[c]];
        p->cell[c].comm = k;
        p->comm[k].sent_elements += sent_elements(&p->cell[c], &n->movement[c]);
        list[k][p->comm[k].n_cells++] = c;
    }
}

/* Devices that read a cell which stays where it is. */
static const bool *keepers(struct namer *n)
{
    int last = 0;
    for (int c = 0; c < n->pattern->n_cells; c++) {
        const struct cell *cell = &n->pattern->cell[c];
        for (int i = 0; i < cell->n_kept + cell->n_receivers + cell->n_contributions; i++) {
            int k = i - cell->n_kept, j = k - cell->n_receivers;
            int device = k < 0   ? cell->kept[i]
                         : j < 0 ? cell->receiver[k]
                                 : cell->contribution[j].device;
            last = device > last ? device : last;
        }
    }
    bool *keeps = NEW(n->scratch, bool, last + 1);
    for (int c = 0; c < n->pattern->n_cells; c++)
        for (int i = 0; !n->pattern->cell[c].n_receivers && i < n->pattern->cell[c].n_kept; i++)
            keeps[n->pattern->cell[c].kept[i]] = true;
    return keeps;
}

static bool anything_moves(const struct pattern *p)
{
    for (int c = 0; c < p->n_cells; c++)
        if (p->cell[c].n_receivers && p->cell[c].n_contributions)
            return true;
    return false;
}

void hp_name_comms(struct arena *arena, struct arena *scratch, struct pattern *pattern)
{
    struct namer n = { .arena = arena, .scratch = scratch, .pattern = pattern, .last = -1 };
    if (!anything_moves(pattern))
        return;
    n.keeps = keepers(&n);
    n.movement = NEW(n.scratch, struct movement, pattern->n_cells);
    n.class_of = NEW(n.scratch, int, pattern->n_cells);
    for (int c = 0; c < pattern->n_cells; c++) {
        const struct cell *cell = &pattern->cell[c];
        n.class_of[c] = -1;
        if (!cell->n_receivers || !cell->n_contributions)
            continue;
        struct movement *m = &n.movement[c];
        m->from = sources_of(&n, cell, &m->n_from);
        m->to = cell->receiver;
        m->n_to = cell->n_receivers;
        sort_cell(&n, c);
    }
    for (int c = 0; c < pattern->n_cells; c++)
        if (n.class_of[c] >= 0)
            settle_name(&n, c);
    find_all_to_all(&n);
    finish(&n);
}
