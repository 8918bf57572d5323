/* program/sketch.h - a program before its tasks are written out. Internal.
 *
 * Which passes there are, which tensors move between them and who has a stake in each follows
 * from the graph alone: the SKELETON. How each operator's parts lie (its layout) and what has
 * to move between them (a pattern for each deal) follows from the plan: the SKETCH. When one
 * operator's split or placement changes, its layout and the patterns of the deals that it has a
 * stake in change, and nothing else does (hp_sketch_lay_out(), hp_sketch_settle()); layouts and
 * patterns are shared by what decides them and remembered, so a change that was seen before
 * costs a look-up. */
#ifndef PROGRAM_SKETCH_H
#define PROGRAM_SKETCH_H

#include "base/table.h"
#include "program/exchange.h"

/* One pass of one operator. */
struct step {
    int op, pass;
    bool backward;
    int item; /* its place in the order of items */
};

struct source {
    int op, operand, pass;
};

/* A tensor's value or gradient to be settled: its writers and readers. */
struct deal {
    struct place place;
    enum combine combine;
    bool backward; /* it happens in the backward half */
    bool private;  /* each part keeps its own (local batch norm statistics) */
    int n_writers, n_readers;
    const struct source *writer;
    const struct reader *reader;
    int item;     /* its place in the order of items; of a tail's deal: its number */
    int likeness; /* deals with the same have the same pattern if they have the same layouts */
};

/* A body's steps and deals in the order of task numbers. */
struct item {
    bool is_step;
    int index; /* into step[] or deal[] */
};

/* A step waits, as reader `reader`, for a deal. */
struct port {
    int deal, reader;
};

struct skeleton {
    uint32_t *passes; /* by op: bit p, pass p is done */
    int n_items, n_steps, n_deals, n_tail;
    struct item *item;
    struct step *step;
    int (*step_of)[MAX_PASSES]; /* by op and pass; -1 */
    struct deal *deal;          /* the body's, then n_tail of the tail: loss, parameters */
    int *value_deal;            /* by tensor: the deal that settles its value, -1 */
    int *port_start;            /* ports of each step: CSR */
    struct port *port;
    int *touch_start; /* deals that each op has a stake in: CSR, ascending */
    int *touch;
    int most_stakes; /* of any deal: writers and readers */
};

/* The parts of every operator in the micro-batches of one body. */
struct sketch_body {
    struct range samples;              /* of the first of them */
    const struct part_layout **layout; /* by op */
    const struct pattern **pattern;    /* by deal of the body */
};

/* The devices that have some of a parameter, and so update it. */
struct update_devices {
    int n;
    const int *device;
    const double *elements; /* that each has */
    int *of_device;         /* place in the list by device, -1 */
};

/* What has been worked out of a graph, whatever the plan: layouts and patterns by what decides
 * them. Sketches of one graph may share a stock, though not at the same time. Zero-initialised
 * is empty. */
struct stock {
    struct arena arena;
    struct table layout_keys, likenesses, pattern_keys;
    struct part_layout **layouts;
    struct pattern **patterns;
    struct shapes shapes;
    int n_layouts, layout_capacity, n_patterns, pattern_capacity;
    struct update_devices **updates; /* by pattern id, of those of parameters */
    int update_capacity;
};

struct sketch {
    struct arena arena;   /* skeleton, lists */
    struct arena scratch; /* of one call */
    const struct hypar_plan *plan;
    const struct hypar_graph *graph;
    struct hypar_lower_options options;
    struct skeleton skeleton;
    struct rhythm rhythm;
    struct schedule schedule;
    int n_bodies;
    struct sketch_body *body;
    /* The tail: parts that take part in some micro-batch of a round, those of replica 0, then
     * of 1, ...; patterns by deal - n_deals. */
    const struct part_layout **step_layout;
    const struct pattern **tail;
    struct stock own, *stock; /* its own, or one that it shares */
    int32_t *pattern_key;     /* room for most_stakes, and one more */
    int *settled, round;      /* by deal: the change in which it was last settled */
    struct hypar_error *err;  /* of the call at hand */
};

/* HYPAR_UNSUPPORTED for what a plan may say and cannot be lowered yet. */
enum hypar_status hp_check_lowerable(const struct hypar_plan *plan, struct hypar_error *err);

/* Sketch a plan; it must have been checked, and outlive the sketch, as must a `stock` that it
 * shares (NULL: it has its own). On failure *out is NULL. */
enum hypar_status hp_sketch_make(struct sketch **out, const struct hypar_plan *plan,
                                 const struct hypar_lower_options *options, struct stock *stock,
                                 struct hypar_error *err);
void hp_sketch_free(struct sketch *sketch); /* NULL is allowed */

/* hypar_lower() with a stock that is shared, or NULL. */
enum hypar_status hp_lower(struct hypar_program **out, const struct hypar_plan *plan,
                           const struct hypar_lower_options *options, struct stock *stock,
                           struct hypar_error *err);

/* The plan's operators op[] (each once) have been changed: bring the sketch up to date, first
 * their layouts, then the patterns of all that they have a stake in. On failure (a tensor in
 * absurdly many pieces) the caller takes the change back and calls again. */
enum hypar_status hp_sketch_lay_out(struct sketch *sketch, const int *op, int n,
                                    struct hypar_error *err);
enum hypar_status hp_sketch_settle(struct sketch *sketch, const int *op, int n,
                                   struct hypar_error *err);

/* Who updates the parameter whose gradient a deal of the tail sums up; shared, too. */
const struct update_devices *hp_update_devices(struct sketch *sketch, int deal);

/* The parameters that a deal of the tail is updated with (rhythm.h). */
int hp_deal_group(const struct sketch *s, int d);

/* Part `part` of the tail's layout of `op` as a part in body `b`; -1: another replica runs it.
 */
static inline int hp_live_part(const struct sketch *s, int op, int part, int b)
{
    const struct part_layout *l = s->step_layout[op];
    return part / l->n_each == b % (l->n_parts / l->n_each) ? part % l->n_each : -1;
}

/* Deal `d` of the skeleton (body, then tail), and its pattern in body `b` (the tail: any b). */
static inline const struct pattern *hp_deal_pattern(const struct sketch *s, int b, int d)
{
    return d < s->skeleton.n_deals ? s->body[b].pattern[d] : s->tail[d - s->skeleton.n_deals];
}

/* The parts of making one. */
enum hypar_status hp_find_flow(struct sketch *s);
enum hypar_status hp_check_local_bn(const struct sketch *s, int op);
void hp_make_skeleton(struct sketch *s);

/* The operand of its producer that tensor `t` is. */
int hp_operand_of(const struct op *op, int t);

/* The layout of op's parts for `samples` on `n_replicas` replicas of its stage, from the
 * `replica`-th on; shared (stakes.c). */
const struct part_layout *hp_layout_of(struct sketch *s, int op, struct range samples,
                                       int replica, int n_replicas);

/* Parts that one of two layouts has; shared too. */
const struct part_layout *hp_either_layout(struct sketch *s, const struct part_layout *a,
                                           const struct part_layout *b);

int hp_deal_likeness(struct sketch *s, const struct deal *deal);

/* The pattern of a deal, its operators' parts lying as `layout` says; shared. */
enum hypar_status hp_pattern_of(struct sketch *s, const struct deal *deal,
                                const struct part_layout *const *layout,
                                const struct pattern **out);

/* Is `part` the one that adds what a pass adds after partial sums (a bias)? */
bool hp_adds_after(const struct part_layout *layout, int pass, int part);

/* Which parts of op write operand `o` in `pass` only add to it. */
axis_set hp_partial_axes(const struct nest *nest, const struct split *split, int pass, int o);

/* A value is waited for where it is first read: in the forward half if there, else in backward.
 */
uint32_t hp_first_passes(const struct hypar_graph *graph, const struct reader *r);

/* The comms of the tail, numbered: comm c of its deal x is base[x] + c. lead[] is the first one
 * of the bucket that a comm is in, -1: it goes alone; next[] the next one of the bucket, -1;
 * deal[] its deal x; bytes[] of the first ones, all together. */
struct buckets {
    int *base, *lead, *next, *deal;
    double *bytes;
};
struct buckets hp_find_buckets(const struct sketch *s, struct arena *arena);

/* The last forward pass of an op, as a step. */
int hp_last_forward_step(const struct sketch *s, int op);

#endif /* PROGRAM_SKETCH_H */
