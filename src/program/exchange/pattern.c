/* Questions about a cell of a pattern: its box, and its messages. */
#include "program/program.h"

struct box hp_cell_box(const struct pattern *p, int cell)
{
    struct box box = { .n_dims = p->n_dims };
    int number = p->cell[cell].box;
    const int64_t *border = p->border;
    for (int d = 0; d < p->n_dims; d++)
        border += p->n_intervals[d] + 1;
    for (int d = p->n_dims - 1; d >= 0; d--) {
        int i = number % p->n_intervals[d];
        border -= p->n_intervals[d] + 1;
        box.dim[d] = (struct range){ border[i], border[i + 1] };
        number /= p->n_intervals[d];
    }
    return box;
}

/* Contributions on one device are added there first. */
static void send_to_owner(const struct cell *cell, int owner, bool *seen, hp_send_visit *visit,
                          void *who)
{
    for (int i = 0; i < cell->n_contributions; i++) {
        int from = cell->contribution[i].device;
        if (!seen[from] && from != owner)
            visit(who, 0, from, owner, cell->n_owners);
        seen[from] = true;
    }
    for (int i = 0; i < cell->n_contributions; i++)
        seen[cell->contribution[i].device] = false;
}

void hp_cell_sends(const struct cell *cell, bool *seen, hp_send_visit *visit, void *who)
{
    int pieces = cell->n_owners ? cell->n_owners : 1;
    for (int o = 0; o < pieces; o++) {
        int owner = cell->n_owners ? cell->owner[o] : cell->contribution[0].device;
        if (cell->n_owners)
            send_to_owner(cell, owner, seen, visit, who);
        for (int i = 0; i < cell->n_receivers; i++)
            if (cell->receiver[i] != owner)
                visit(who, 1, owner, cell->receiver[i], pieces);
    }
}
