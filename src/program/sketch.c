#include "program/sketch.h"

/* Micro-batches: contiguous, sizes differ by at most one, the larger ones first; minibatches
 * are whole batches. */
static void divide_batch(struct sketch *s)
{
    const struct rhythm *r = &s->rhythm;
    int64_t batch = s->graph->batch;
    s->n_bodies = r->n_bodies;
    s->body = NEW(&s->arena, struct sketch_body, s->n_bodies);
    for (int b = 0; b < s->n_bodies; b++)
        s->body[b].samples = r->delayed ? (struct range){ 0, batch }
                                        : hp_even_part(batch, r->n_micro, hp_first_micro(r, b));
}

/* Some 1,000 bytes for a part, and as much again where nothing is shared: 2 GB. */
enum { MAX_LOWERED = 1 << 21, MAX_UNLIKE = 1 << 20 };

/* Asked before anything is laid out. Operators that are alike have most in common. */
static enum hypar_status check_size(const struct sketch *s)
{
    struct arena scratch = { 0 };
    int *most = NEW(&scratch, int, s->graph->n_nests);
    double all = 0, unlike = 0;
    for (int i = 0; i < s->graph->n_ops; i++) {
        int *like = &most[s->graph->ops[i].nest->id], parts = s->plan->ops[i].n_parts;
        all += (double)parts * s->n_bodies;
        unlike += parts > *like ? (double)(parts - *like) * s->n_bodies : 0;
        *like = parts > *like ? parts : *like;
    }
    hp_arena_free(&scratch);
    if (all > MAX_LOWERED)
        return hp_fail(s->err, HYPAR_UNSUPPORTED,
                       "%d operators in %.9g parts, expected at most %d to write them out",
                       s->graph->n_ops, all, MAX_LOWERED);
    if (unlike > MAX_UNLIKE)
        return hp_fail(s->err, HYPAR_UNSUPPORTED,
                       "%d different operators in %.9g parts, expected at most %d to write "
                       "them out",
                       s->graph->n_nests, unlike, MAX_UNLIKE);
    return HYPAR_OK;
}

static void lay_out(struct sketch *s, int op)
{
    const struct rhythm *r = &s->rhythm;
    int stage = s->plan->ops[op].stage < 0 ? 0 : s->plan->ops[op].stage;
    for (int b = 0; b < s->n_bodies; b++)
        s->body[b].layout[op] =
            hp_layout_of(s, op, s->body[b].samples, hp_replica_of(r, stage, b), 1);
    if (r->delayed)
        s->step_layout[op] =
            hp_layout_of(s, op, s->body[0].samples, 0, r->pipe.replicas[stage]);
    else
        s->step_layout[op] = s->n_bodies == 1 ? s->body[0].layout[op]
                                              : hp_either_layout(s, s->body[0].layout[op],
                                                                 s->body[1].layout[op]);
}

/* Parameters are used in one stage if stages update them on their own (hypar_plan_check()). */
int hp_deal_group(const struct sketch *s, int d)
{
    return s->rhythm.delayed ? s->plan->ops[s->skeleton.deal[d].writer[0].op].stage : 0;
}

static enum hypar_status settle(struct sketch *s, int d)
{
    const struct skeleton *k = &s->skeleton;
    if (d >= k->n_deals)
        return hp_pattern_of(s, &k->deal[d], s->step_layout, &s->tail[d - k->n_deals]);
    for (int b = 0; b < s->n_bodies; b++)
        TRY(hp_pattern_of(s, &k->deal[d], s->body[b].layout, &s->body[b].pattern[d]));
    return HYPAR_OK;
}

static enum hypar_status make(struct sketch *s)
{
    const struct skeleton *k = &s->skeleton;
    int n_ops = s->graph->n_ops;
    TRY(hp_rhythm_make(&s->rhythm, &s->arena, s->plan, &s->options, s->err));
    divide_batch(s);
    TRY(check_size(s));
    TRY(hp_find_flow(s));
    hp_make_skeleton(s);
    s->pattern_key = NEW(&s->arena, int32_t, k->most_stakes + 1);
    for (int d = 0; d < k->n_deals + k->n_tail; d++)
        s->skeleton.deal[d].likeness = hp_deal_likeness(s, &k->deal[d]);
    for (int b = 0; b < s->n_bodies; b++) {
        s->body[b].layout = NEW(&s->arena, const struct part_layout *, n_ops);
        s->body[b].pattern = NEW(&s->arena, const struct pattern *, k->n_deals);
    }
    s->step_layout = NEW(&s->arena, const struct part_layout *, n_ops);
    s->tail = NEW(&s->arena, const struct pattern *, k->n_tail);
    s->settled = NEW(&s->arena, int, k->n_deals + k->n_tail);
    for (int op = 0; op < n_ops; op++)
        lay_out(s, op);
    for (int d = 0; d < k->n_deals + k->n_tail; d++)
        TRY(settle(s, d));
    return HYPAR_OK;
}

enum hypar_status hp_sketch_make(struct sketch **out, const struct hypar_plan *plan,
                                 const struct hypar_lower_options *options, struct stock *stock,
                                 struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct sketch *s = NEW(&arena, struct sketch, 1);
    s->arena = arena;
    s->stock = stock ? stock : &s->own;
    s->plan = plan;
    s->graph = plan->graph;
    s->err = err;
    NEW(&s->scratch, char, 1); /* the first block stays */
    if (options)
        s->options = *options;
    enum hypar_status status = make(s);
    if (status != HYPAR_OK) {
        hp_sketch_free(s);
        s = NULL;
    }
    *out = s;
    return status;
}

void hp_sketch_free(struct sketch *s)
{
    if (!s)
        return;
    hp_arena_free(&s->scratch);
    hp_arena_free(&s->own.arena);
    struct arena arena = s->arena; /* the sketch lives in it */
    hp_arena_free(&arena);
}

enum hypar_status hp_sketch_lay_out(struct sketch *s, const int *op, int n,
                                    struct hypar_error *err)
{
    s->err = err;
    for (int i = 0; i < n; i++) {
        TRY(hp_check_local_bn(s, op[i]));
        lay_out(s, op[i]);
    }
    return HYPAR_OK;
}

/* A deal between two of the operators is settled once, when both are laid out. */
enum hypar_status hp_sketch_settle(struct sketch *s, const int *op, int n,
                                   struct hypar_error *err)
{
    const struct skeleton *k = &s->skeleton;
    s->err = err;
    s->round++;
    for (int i = 0; i < n; i++)
        for (int t = k->touch_start[op[i]]; t < k->touch_start[op[i] + 1]; t++) {
            int deal = k->touch[t];
            if (s->settled[deal] == s->round)
                continue;
            s->settled[deal] = s->round;
            TRY(settle(s, deal));
        }
    return HYPAR_OK;
}
