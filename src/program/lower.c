#include "program/lower.h"

/* Micro-batches: contiguous, sizes differ by at most one, the larger ones first. */
struct range hp_micro_samples(const struct hypar_program *p, int micro)
{
    int64_t batch = p->plan->graph->batch;
    return p->rhythm->delayed ? (struct range){ 0, batch }
                              : hp_even_part(batch, p->rhythm->n_micro, micro);
}

const struct task_list *hp_program_list(const struct hypar_program *p, int i)
{
    return i < p->n_bodies ? &p->body[i].list : i == p->n_bodies ? &p->tail : NULL;
}

double hp_task_times(const struct hypar_program *p, int i, int t)
{
    const struct rhythm *r = p->rhythm;
    int times = i < p->n_bodies ? hp_body_times(r, i) : hp_round_count(r, p->tail_group[t]);
    return (double)times / r->n_steps;
}

int hp_tail_body(const struct hypar_program *p, int after)
{
    int low = 0, high = p->n_bodies;
    while (low < high) { /* the first whose end is beyond it */
        int middle = (low + high) / 2;
        if (after < p->tail_base[middle + 1])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

__extension__ typedef __int128 wide; /* a product of two extents */

/* Part i of an axis of `extent` restricted to a stretch of `length` that begins at `begin`:
 * even, or in proportion to the sizes given for the whole. */
static struct range part_within(const struct split *split, int axis, int64_t extent, int i,
                                int64_t begin, int64_t length)
{
    int degree = split->degree[axis] ? split->degree[axis] : 1;
    struct range r = hp_even_part(length, degree, i);
    if (split->sizes[axis]) {
        int64_t before = split->begins[axis][i];
        r.lo = (int64_t)((wide)before * length / extent);
        r.hi = (int64_t)((wide)(before + split->sizes[axis][i]) * length / extent);
    }
    return (struct range){ begin + r.lo, begin + r.hi };
}

bool hp_micro_ranges(const struct hypar_graph *g, int op, const struct split *split, int part,
                     struct range samples, struct range range[MAX_AXES])
{
    const struct nest *nest = g->ops[op].nest;
    bool whole = samples.lo == 0 && samples.hi == g->batch;
    bool any = hp_part_ranges(nest, split, part, range);
    int coordinate[MAX_AXES];
    if (whole)
        return any;
    hp_part_coordinates(nest, split, part, coordinate);
    any = true;
    for (int a = 0; a < nest->n_axes; a++) {
        if (nest->axis[a].role == HYPAR_SAMPLE) {
            int64_t rows = nest->axis[a].extent / g->batch;
            range[a] = part_within(split, a, nest->axis[a].extent, coordinate[a],
                                   samples.lo * rows, (samples.hi - samples.lo) * rows);
        }
        any &= nest->axis[a].role == HYPAR_COPY || !hp_range_empty(range[a]);
    }
    return any;
}

struct box hp_micro_box(const struct hypar_program *p, const struct exchange *exchange,
                        const struct box *box, int micro)
{
    const struct tensor *t = &p->plan->graph->tensors[exchange->place.tensor];
    struct box out = *box;
    int first = hp_first_micro(p->rhythm, hp_body_number(p->rhythm, micro));
    if (t->sample_dim >= 0) {
        int64_t rows = t->shape.dim[t->sample_dim] / p->plan->graph->batch;
        int64_t shift = (hp_micro_samples(p, micro).lo - hp_micro_samples(p, first).lo) * rows;
        out.dim[t->sample_dim].lo += shift;
        out.dim[t->sample_dim].hi += shift;
    }
    return out;
}

int hp_message_bytes(const struct hypar_plan *plan, int tensor)
{
    if (plan->graph->tensors[tensor].index || tensor == plan->graph->loss)
        return 4;
    return plan->precision == HYPAR_FP64 ? 8 : plan->precision == HYPAR_BF16 ? 2 : 4;
}

enum hypar_status hp_check_lowerable(const struct hypar_plan *plan, struct hypar_error *err)
{
    TRY(hypar_plan_check(plan, err));
    for (int op = 0; op < plan->graph->n_ops; op++)
        if (plan->ops[op].shard_state || plan->ops[op].recompute)
            return hp_fail(err, HYPAR_UNSUPPORTED, "'%s': %s cannot be lowered yet",
                           plan->graph->ops[op].name,
                           plan->ops[op].recompute ? "recompute" : "shard_state");
    return HYPAR_OK;
}

static struct hypar_program *write_out(struct sketch *s)
{
    struct arena arena = { 0 };
    struct hypar_program *p = NEW(&arena, struct hypar_program, 1);
    p->arena = arena;
    p->plan = s->plan;
    p->sketch = s;
    p->rhythm = &s->rhythm;
    p->n_bodies = s->n_bodies;
    p->body = NEW(&p->arena, struct body, p->n_bodies);
    for (int b = 0; b < s->n_bodies; b++)
        hp_write_body(p, b);
    hp_write_tail(p);
    hp_make_schedule(p);
    return p;
}

enum hypar_status hp_lower(struct hypar_program **out, const struct hypar_plan *plan,
                           const struct hypar_lower_options *options, struct stock *stock,
                           struct hypar_error *err)
{
    struct hypar_lower_options planned = { .bucket_bytes = plan->simulation.bucket_bytes,
                                           .local_bn = plan->simulation.local_bn };
    struct sketch *sketch;
    *out = NULL;
    TRY(hp_check_lowerable(plan, err));
    TRY(hp_sketch_make(&sketch, plan, options ? options : &planned, stock, err));
    *out = write_out(sketch);
    return HYPAR_OK;
}

enum hypar_status hypar_lower(struct hypar_program **out, const struct hypar_plan *plan,
                              const struct hypar_lower_options *options,
                              struct hypar_error *err)
{
    return hp_lower(out, plan, options, NULL, err);
}

void hypar_program_free(struct hypar_program *program)
{
    if (!program)
        return;
    hp_sketch_free(program->sketch);
    struct arena arena = program->arena; /* the program lives in it */
    hp_arena_free(&arena);
}
