/* Parts that compute copies: which of their results a rank needs.
 *
 * Of parts that write the same (split along the axis of copies, or along an axis that has no
 * part in a pass) one counts as a contribution. A rank keeps the result of its part if this one
 * counts, or if the rank reads its own copy or sends it again. */
#include "run/exec/rank.h"

/* A writer of an exchange in a body, or (tail) in all bodies. */
struct writer_at {
    const struct hypar_program *program;
    const struct source *from;
    int body;        /* -1: the tail */
    bool sent_later; /* its value will be sent again */
};

/* Has the writer's part something to do, in the body or, for the tail, in any body? */
static bool takes_part(const struct writer_at *w, int part)
{
    const struct lowering *s = w->program->lowering;
    for (int b = 0; b < w->program->n_bodies; b++) {
        int live = w->body < 0 ? hp_live_part(s, w->from->op, part, b) : part;
        bool here = w->body < 0 || w->body == b;
        if (here && live >= 0 && !s->body[b].parts[w->from->op]->empty[live])
            return true;
    }
    return false;
}

/* The first part on `device` that computes a copy of `part` of the writer; -1: none. The parts
 * of the tail belong to several replicas, which compute different values. */
static int copy_on(const struct writer_at *w, int part, int device)
{
    const struct hypar_program *p = w->program;
    const struct nest *nest = p->plan->graph->ops[w->from->op].nest;
    const struct op_plan *plan = &p->plan->ops[w->from->op];
    int mine[MAX_AXES], other[MAX_AXES];
    int replica = part / plan->n_parts; /* of the tail; a body has one replica */
    if (w->body >= 0)
        replica = hp_replica_of(p->iteration, p->schedule->stage_of_op[w->from->op], w->body);
    int first = w->body < 0 ? replica * plan->n_parts : 0;
    hp_part_coordinates(nest, &plan->split, part % plan->n_parts, mine);
    for (int i = first; i < first + plan->n_parts; i++) {
        int at = replica * plan->n_parts + i % plan->n_parts;
        if (plan->device[at] != device || !takes_part(w, i))
            continue;
        bool same = true;
        hp_part_coordinates(nest, &plan->split, i % plan->n_parts, other);
        for (int a = 0; a < nest->n_axes; a++)
            same &= mine[a] == other[a] ||
                    hp_write_kind(nest, w->from->pass, w->from->operand, a) == WRITE_COPY;
        if (same)
            return i;
    }
    return -1;
}

/* Does the device need the part of the cell that `part` wrote? */
static bool is_wanted(const struct writer_at *w, int writer, int part, int device,
                      const struct cell *cell)
{
    for (int c = 0; c < cell->n_contributions; c++)
        if (cell->contribution[c].writer == writer && cell->contribution[c].part == part)
            return true;
    if (!hp_is_in(cell->kept, cell->n_kept, device) && !w->sent_later)
        return false;
    for (int c = 0; c < cell->n_contributions; c++)
        if (cell->contribution[c].writer == writer &&
            copy_on(w, cell->contribution[c].part, device) == part)
            return true;
    return false;
}

static int most_taken(const struct pattern *p)
{
    bool divided = false;
    for (int c = 0; c < p->n_cells; c++)
        divided |= p->cell[c].pieces > 1;
    return p->n_cells * (divided ? MAX_FLAT_BOXES : 1);
}

bool hp_rank_taken(struct rank *rank, int body, const struct rank_pass *pass,
                   const struct box *box, struct rank_operand *out)
{
    const struct hypar_program *p = rank->program;
    const struct lowering *s = p->lowering;
    int key = hp_place_index(out->place), op = pass->op, part = pass->part;
    bool tail = rank->exchange_of[key] < 0;
    int d = tail ? rank->exchange_of_tail[key] : rank->exchange_of[key], writer = 0;
    if (d < 0)
        return false;
    const struct exchange *x = &s->training.exchange[d];
    const struct pattern *pattern = hp_exchange_pattern(s, body, d);
    while (x->writer[writer].op != op || x->writer[writer].pass != pass->pass ||
           x->writer[writer].operand != out->operand)
        writer++;
    if (!pattern->copied)
        return false;
    bool sent_later = hp_place_kind(out->place) == PLACE_VALUE && p->plan->ops[op].resend &&
                      !p->plan->ops[op].recompute && s->training.has_again[out->place.tensor];
    struct writer_at w = { p, &x->writer[writer], tail ? -1 : body, sent_later };
    if (tail) {
        int n = s->tail_parts[op]->n_parts / s->tail_parts[op]->n_each;
        part += body % n * s->tail_parts[op]->n_each;
    }
    struct box *taken = NEW(&rank->arena, struct box, most_taken(pattern));
    bool all = true;
    for (int c = 0; c < pattern->n_cells; c++) {
        struct box cell = hp_cell_box(pattern, c), both = hp_box_intersect(&cell, box);
        if (hp_box_empty(&both))
            continue;
        if (!is_wanted(&w, writer, part, rank->device, &pattern->cell[c]))
            all = false;
        else if (pattern->cell[c].pieces == 1)
            taken[out->n_taken++] = both;
        else
            out->n_taken += hp_flat_boxes(&cell, pattern->cell[c].lo,
                                          pattern->cell[c].lo + pattern->cell[c].elements,
                                          taken + out->n_taken);
    }
    out->taken = taken;
    return !all;
}
