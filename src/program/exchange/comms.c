/* Grouping the cells that move into comms. Cells that move between the same devices in the same
 * way form one comm: a send, a broadcast or a collective. */
#include <string.h>

#include "base/table.h"
#include "program/exchange/exchange.h"

/* How neighbouring cells move: senders and receivers, both ascending. */
struct movement {
    const struct contribution *contribution; /* which the pieces of a cell may share */
    const int *from, *to;
    int n_from, n_to;
    int n_cells;
    int draft;
};

/* A comm under construction: the cells that share a key. */
struct draft {
    enum comm_kind kind;
    const int *key; /* kind, devices, and senders or receivers where they matter */
    int length;
    const int *device;
    int n_devices, n_cells;
    int sources;     /* how many devices are the only source (or only reader) of a cell */
    bool *is_source; /* by position in device[] */
};

struct namer {
    struct arena *arena;
    struct arena *scratch;
    struct pattern *pattern;
    const bool *keeps; /* by device: it reads some of the tensor that does not move */
    bool *seen;        /* by device; false between cells */
    int *movement_of;  /* by cell, -1 */
    struct movement *movement;
    int n_movements, movement_capacity;
    struct table keys; /* used once there are many drafts */
    struct draft *draft;
    int n_drafts, draft_capacity;
    int *ints, n_ints; /* room for lists */
};

/* Room for `count` numbers. The next call gets the same room unless the caller keeps it. */
static int *room_for(struct namer *n, int count)
{
    enum { PIECE = 128 };
    if (n->n_ints < count) {
        n->n_ints = count > PIECE ? count : PIECE;
        n->ints = NEW(n->scratch, int, n->n_ints);
    }
    return n->ints;
}

static void keep(struct namer *n, int count)
{
    n->ints += count;
    n->n_ints -= count;
}

/* The devices that contribute to a cell, ascending, each once; not kept yet. */
static const int *sources_of(struct namer *n, const struct cell *cell, int *count)
{
    int *list = room_for(n, cell->n_contributions), k = 0;
    for (int i = 0; i < cell->n_contributions; i++) {
        int device = cell->contribution[i].device;
        if (!n->seen[device])
            list[k++] = device;
        n->seen[device] = true;
    }
    for (int i = 0; i < k; i++)
        n->seen[list[i]] = false;
    hp_sort_devices(list, k);
    *count = k;
    return list;
}

/* The union of two ascending lists; returns its length. */
static int merge(const struct movement *m, int *all)
{
    int i = 0, k = 0, n = 0;
    while (i < m->n_from || k < m->n_to) {
        int a = i < m->n_from ? m->from[i] : INT32_MAX, b = k < m->n_to ? m->to[k] : INT32_MAX;
        all[n++] = a < b ? a : b;
        i += a <= b;
        k += b <= a;
    }
    return n;
}

/* How often an element of a cell is sent: by contributors that do not own it, and to readers
 * that do not own it. Either all owners contribute or none does. */
static int times_sent(const struct cell *cell, const struct movement *m)
{
    if (!cell->n_owners)
        return m->n_to; /* one source has the whole cell */
    return m->n_from - hp_is_in(m->from, m->n_from, cell->owner[0]) + m->n_to -
           hp_is_in(m->to, m->n_to, cell->owner[0]);
}

/* Drafts ------------------------------------------------------------------------------ */

/* Devices, ascending, within a key that is not kept yet: behind the kind, before further
 * numbers. */
struct group {
    int *key, n_devices;
};

static struct group group_of(struct namer *n, const struct movement *m)
{
    struct group group = { .key = room_for(n, 1 + 2 * (m->n_from + m->n_to)) };
    group.n_devices = merge(m, group.key + 1);
    return group;
}

/* The draft with this key; if there is none, the number of the next draft. */
static int find_key(struct namer *n, const int *key, int length)
{
    enum { FEW = 8 };
    size_t bytes = (size_t)length * sizeof *key;
    if (n->n_drafts > FEW) {
        for (int i = n->keys.used; i < n->n_drafts; i++)
            hp_table_put(&n->keys, n->scratch, n->draft[i].key,
                         (size_t)n->draft[i].length * sizeof *key, i);
        int known = hp_table_get(&n->keys, key, bytes);
        return known < 0 ? n->n_drafts : known;
    }
    int i = 0;
    while (i < n->n_drafts && (n->draft[i].length != length || n->draft[i].key[0] != key[0] ||
                               memcmp(n->draft[i].key, key, bytes) != 0))
        i++;
    return i;
}

/* The draft of this kind over the group. `further` holds the senders or receivers where they
 * matter. */
static int find_draft(struct namer *n, enum comm_kind kind, struct group group,
                      const int *further, int n_further)
{
    int length = 1 + group.n_devices + n_further;
    group.key[0] = (int)kind;
    for (int i = 0; i < n_further; i++)
        group.key[1 + group.n_devices + i] = further[i];
    int found = find_key(n, group.key, length);
    if (found == n->n_drafts) {
        keep(n, length);
        n->draft = GROW(n->scratch, struct draft, n->draft, n->n_drafts, &n->draft_capacity);
        n->draft[n->n_drafts++] = (struct draft){
            .kind = kind,
            .key = group.key,
            .length = length,
            .device = group.key + 1,
            .n_devices = group.n_devices,
        };
    }
    return found;
}

static void put(struct namer *n, struct movement *m, int draft)
{
    n->draft[draft].n_cells += m->n_cells;
    m->draft = draft;
}

static void put_elsewhere(struct namer *n, struct movement *m, int draft)
{
    n->draft[m->draft].n_cells -= m->n_cells;
    put(n, m, draft);
}

/* Put a cell into a draft in which each cell has one source, or one reader: `one`. */
static void put_with_source(struct namer *n, struct movement *m, int draft, int one)
{
    struct draft *d = &n->draft[draft];
    int at = hp_place_in(d->device, d->n_devices, one);
    if (!d->is_source)
        d->is_source = NEW(n->scratch, bool, d->n_devices);
    d->sources += !d->is_source[at];
    d->is_source[at] = true;
    put(n, m, draft);
}

/* First guess: cells with the same group of devices belong together, if each could be one piece
 * of a gather, a scatter or a reduction over the group. */
static void name(struct namer *n, struct movement *m)
{
    struct group all = group_of(n, m);
    bool among_sources = all.n_devices == m->n_from;
    if (m->n_from == 1)
        put_with_source(n, m, find_draft(n, COMM_ALL_GATHER, all, NULL, 0), m->from[0]);
    else if (among_sources && m->n_to == m->n_from)
        put(n, m, find_draft(n, COMM_ALL_REDUCE, all, NULL, 0));
    else if (among_sources && m->n_to == 1)
        put_with_source(n, m, find_draft(n, COMM_REDUCE_SCATTER, all, NULL, 0), m->to[0]);
    else
        put(n, m,
            find_draft(n, m->n_to == 1 ? COMM_REDUCE : COMM_EXCHANGE, all, m->to, m->n_to));
}

static bool is_movement(const struct movement *m, const int *from, int n_from,
                        const struct cell *cell)
{
    return m->n_from == n_from && m->n_to == cell->n_receivers &&
           memcmp(m->from, from, (size_t)n_from * sizeof *from) == 0 &&
           memcmp(m->to, cell->receiver, (size_t)m->n_to * sizeof *m->to) == 0;
}

/* Add a cell that moves: to its neighbour's draft, or to its own. */
static void add_cell(struct namer *n, int c)
{
    const struct cell *cell = &n->pattern->cell[c];
    struct movement *last = n->n_movements ? &n->movement[n->n_movements - 1] : NULL;
    bool shared = last && last->contribution == cell->contribution;
    int n_from = shared ? last->n_from : 0;
    const int *from = shared ? last->from : sources_of(n, cell, &n_from);
    n->movement_of[c] = n->n_movements - 1;
    if (last && is_movement(last, from, n_from, cell)) {
        last->n_cells++;
        n->draft[last->draft].n_cells++;
        return;
    }
    if (!shared)
        keep(n, n_from);
    n->movement =
        GROW(n->scratch, struct movement, n->movement, n->n_movements, &n->movement_capacity);
    struct movement *m = &n->movement[n->n_movements];
    n->movement_of[c] = n->n_movements++;
    *m = (struct movement){ .contribution = cell->contribution,
                            .from = from,
                            .to = cell->receiver,
                            .n_from = n_from,
                            .n_to = cell->n_receivers,
                            .n_cells = 1,
                            .draft = -1 };
    name(n, m);
}

/* Was every member of the group the source (the reader) of some cell? */
static bool complete(const struct draft *d)
{
    return d->sources == d->n_devices;
}

/* Correct the kind of a comm: a gather without all devices becomes broadcasts or sends; a
 * scatter to some devices becomes reductions. Two devices that only swap borders make two
 * sends, not a gather. */
static void settle_name(struct namer *n, struct movement *m)
{
    const struct draft *d = &n->draft[m->draft];
    bool gather = d->kind == COMM_ALL_GATHER && !complete(d);
    bool borders = d->kind == COMM_ALL_GATHER && d->n_devices == 2 &&
                   (n->keeps[d->device[0]] || n->keeps[d->device[1]]);
    bool scatter = d->kind == COMM_REDUCE_SCATTER && !complete(d);
    if (!gather && !borders && !scatter)
        return;
    enum comm_kind kind = scatter ? COMM_REDUCE : m->n_to == 1 ? COMM_SEND : COMM_BROADCAST;
    put_elsewhere(n, m, find_draft(n, kind, group_of(n, m), scatter ? m->to : m->from, 1));
}

/* Are there only sends? *n_sends is their number. */
static bool only_sends(const struct namer *n, int *n_sends)
{
    *n_sends = 0;
    for (int i = 0; i < n->n_drafts; i++) {
        if (n->draft[i].n_cells && n->draft[i].kind != COMM_SEND)
            return false;
        *n_sends += n->draft[i].n_cells > 0;
    }
    return true;
}

/* All devices that take part in a send, ascending. */
static struct group senders(struct namer *n)
{
    int last = 0;
    for (int i = 0; i < n->n_drafts; i++)
        if (n->draft[i].n_cells && n->draft[i].device[1] > last)
            last = n->draft[i].device[1];
    bool *seen = NEW(n->scratch, bool, last + 1);
    for (int i = 0; i < n->n_drafts; i++)
        for (int k = 0; n->draft[i].n_cells && k < 2; k++)
            seen[n->draft[i].device[k]] = true;
    struct group all = { .key = room_for(n, last + 2) };
    for (int d = 0; d <= last; d++)
        if (seen[d])
            all.key[1 + all.n_devices++] = d;
    return all;
}

/* Sends between every two devices of a group, both ways, form an all-to-all. */
static void find_all_to_all(struct namer *n)
{
    enum { FEWEST = 6 }; /* of three devices */
    int n_sends;
    if (!only_sends(n, &n_sends) || n_sends < FEWEST)
        return;
    struct group all = senders(n);
    if (n_sends != (int64_t)all.n_devices * (all.n_devices - 1))
        return;
    int draft = find_draft(n, COMM_ALL_TO_ALL, all, NULL, 0);
    for (int i = 0; i < n->n_movements; i++)
        put_elsewhere(n, &n->movement[i], draft);
}

/* Result ------------------------------------------------------------------------------ */

/* Number the drafts that have cells, in order, and make room for their lists. */
static int *make_comms(struct namer *n)
{
    struct pattern *p = n->pattern;
    int *number = room_for(n, n->n_drafts), total = 0;
    for (int i = 0; i < n->n_drafts; i++) {
        const struct draft *d = &n->draft[i];
        number[i] = d->n_cells ? p->n_comms++ : -1;
        total += d->n_cells ? d->n_devices + d->n_cells : 0;
    }
    p->comm = NEW(n->arena, struct comm, p->n_comms);
    p->comm_feed = NEW(n->arena, int, p->n_comms + 1 + total);
    int *list = p->comm_feed + p->n_comms + 1;
    for (int i = 0; i < n->n_drafts; i++) {
        const struct draft *d = &n->draft[i];
        if (number[i] < 0)
            continue;
        memcpy(list, d->device, (size_t)d->n_devices * sizeof *list);
        p->comm[number[i]] =
            (struct comm){ d->kind, d->n_devices, list, 0, list + d->n_devices, 0, 0 };
        list += d->n_devices + d->n_cells;
    }
    return number;
}

static void finish(struct namer *n)
{
    struct pattern *p = n->pattern;
    const int *number = make_comms(n);
    int *list = p->comm_feed + p->n_comms + 1, latest = -1, sent = 0;
    for (int c = 0; c < p->n_cells; c++) {
        if (n->movement_of[c] < 0)
            continue;
        const struct movement *m = &n->movement[n->movement_of[c]];
        if (n->movement_of[c] != latest)
            sent = times_sent(&p->cell[c], m);
        latest = n->movement_of[c];
        int k = number[m->draft];
        struct comm *comm = &p->comm[k];
        p->cell[c].comm = k;
        p->cell[c].sent = sent;
        list[comm->cell - list + comm->n_cells] = c;
        comm->n_cells++;
    }
}

void hp_name_comms(struct arena *arena, struct arena *scratch, struct pattern *pattern,
                   const bool *keeps, int n_devices)
{
    struct namer n = { .arena = arena, .scratch = scratch, .pattern = pattern, .keeps = keeps };
    n.seen = NEW(scratch, bool, n_devices);
    n.movement_of = NEW(scratch, int, pattern->n_cells);
    for (int c = 0; c < pattern->n_cells; c++) {
        const struct cell *cell = &pattern->cell[c];
        n.movement_of[c] = -1;
        if (cell->n_receivers && cell->n_contributions)
            add_cell(&n, c);
    }
    for (int i = 0; i < n.n_movements; i++)
        settle_name(&n, &n.movement[i]);
    find_all_to_all(&n);
    finish(&n);
}
