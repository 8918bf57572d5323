/* First writes: whether a pass overwrites its buffer, or adds to it. */
#include "run/exec/rank.h"

#include "base/error.h"

/* Boxes of a buffer that have been written, under one tensor's name; the others are views. */
struct written {
    int tensor;
    struct box *box;
    int n, capacity;
};

/* Is the write the first one at its place (fresh), or does it repeat an earlier box? If
 * neither, the whole buffer starts at zero. */
static void place_write(struct rank *rank, struct arena *scratch, struct written *written,
                        struct rank_operand *o)
{
    struct written *w = &written[o->view.buffer];
    const struct box *box = &o->view.box;
    bool apart = true, inside = false, other_name = w->n > 0 && w->tensor != o->place.tensor;
    for (int i = 0; i < w->n && !other_name; i++) {
        struct box both = hp_box_intersect(&w->box[i], box);
        apart &= hp_box_empty(&both);
        inside |= hp_box_contains(&w->box[i], box);
    }
    o->fresh = apart;
    if (o->apart || other_name || (!apart && !inside))
        rank->clear[o->view.buffer] = true;
    w->box = GROW(scratch, struct box, w->box, w->n, &w->capacity);
    w->box[w->n++] = *box;
    w->tensor = o->place.tensor;
}

enum hypar_status hp_rank_first_writes(struct rank *rank, int body, struct hypar_error *err)
{
    struct arena scratch = { 0 };
    struct written *written = NEW(&scratch, struct written, rank->buffers.n);
    struct rank_part *part = &rank->body[body];
    enum hypar_status status = HYPAR_OK;
    for (int i = 0; i < part->n_passes; i++)
        for (int k = 0; k < part->pass[i].n_operands; k++) {
            struct rank_operand *o = &part->pass[i].operand[k];
            if (!o->written || o->view.buffer < 0 || part->pass[i].moves_nothing)
                continue;
            place_write(rank, &scratch, written, o);
            bool stat = rank->graph->tensors[o->place.tensor].kind == TENSOR_STAT;
            if (part->pass[i].own_statistics && stat && !o->fresh)
                status = hp_fail(err, HYPAR_UNSUPPORTED,
                                 "device %d has two parts of '%s', each with statistics of its "
                                 "own",
                                 rank->device, rank->graph->ops[part->pass[i].op].name);
        }
    hp_arena_free(&scratch);
    return status;
}

/* Does the first body write the whole of `o`? */
static bool is_begun(const struct rank_part *first, const struct rank_operand *o)
{
    for (int i = 0; i < first->n_passes; i++)
        for (int k = 0; k < first->pass[i].n_operands; k++) {
            const struct rank_operand *other = &first->pass[i].operand[k];
            if (other->written && other->view.buffer == o->view.buffer &&
                other->place.tensor == o->place.tensor &&
                hp_box_contains(&other->view.box, &o->view.box))
                return true;
        }
    return false;
}

void hp_rank_later_writes(struct rank *rank, int body)
{
    const struct rank_part *part = &rank->body[body];
    for (int i = 0; i < part->n_passes; i++)
        for (int k = 0; k < part->pass[i].n_operands; k++) {
            const struct rank_operand *o = &part->pass[i].operand[k];
            if (o->written && o->view.buffer >= 0 && o->view.buffer < rank->buffers.first[0] &&
                !is_begun(&rank->body[0], o))
                rank->clear[o->view.buffer] = true;
        }
}

void hp_rank_zeros(struct rank *rank, int body, int exchange)
{
    const struct lowering *s = rank->program->lowering;
    const struct pattern *p = hp_exchange_pattern(s, body, exchange);
    struct place place = s->training.exchange[exchange].place;
    struct place held = place;
    held.tensor = rank->buffers.held.tensor[hp_place_kind(place)][place.tensor];
    for (int c = 0; place.grad && c < p->n_cells; c++) {
        if (p->cell[c].n_contributions > 0)
            continue;
        struct box box = hp_cell_box(p, c);
        box = hp_held_box(rank->graph, &rank->buffers.held, place, box);
        bool lasts =
            hp_held_lasts(&rank->buffers.held, rank->graph, rank->buffers.forward, place);
        int at = hp_buffers_at(rank->graph, lasts ? 0 : 1 + body, held);
        for (int i = rank->buffers.start[at]; i < rank->buffers.start[at + 1]; i++) {
            struct box both = hp_box_intersect(&rank->buffers.buffer[i].box, &box);
            rank->clear[i] |= !hp_box_empty(&both);
        }
    }
}
