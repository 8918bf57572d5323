/* The parts of each operator and the pattern of each exchange, cached by the facts that
 * determine them. */
#include <string.h>

#include "program/lowering.h"

static void *keep(struct lowering *s, const void *key, size_t bytes)
{
    return memcpy(NEW(&s->cache->arena, int32_t, bytes / sizeof(int32_t)), key, bytes);
}

/* Parts ------------------------------------------------------------------------------- */

static void rank_parts(struct lowering *s, struct op_parts *parts)
{
    int *rank = NEW(&s->cache->arena, int, parts->n_parts);
    for (int part = 0; part < parts->n_parts; part++)
        rank[part] = parts->empty[part] ? -1 : parts->n_live++;
    parts->rank = rank;
}

static struct op_parts *add_op_parts(struct lowering *s, const struct op_parts *given)
{
    /* allocated one by one: other objects point to earlier ones */
    struct op_parts *parts = NEW(&s->cache->arena, struct op_parts, 1);
    *parts = *given;
    parts->id = s->cache->n_op_parts;
    parts->n_live = 0;
    rank_parts(s, parts);
    s->cache->op_parts = GROW(&s->cache->arena, struct op_parts *, s->cache->op_parts,
                              s->cache->n_op_parts, &s->cache->op_parts_capacity);
    s->cache->op_parts[s->cache->n_op_parts++] = parts;
    return parts;
}

/* The plan may change later, so its split is copied. */
static struct split *copy_split(struct lowering *s, const struct nest *nest,
                                const struct split *from)
{
    struct split *split = NEW(&s->cache->arena, struct split, 1);
    *split = *from;
    for (int a = 0; a < nest->n_axes; a++) {
        if (!from->sizes[a])
            continue;
        size_t n = (size_t)from->degree[a];
        int64_t *sizes = NEW(&s->cache->arena, int64_t, 2 * n), at = 0;
        for (size_t i = 0; i < n; i++) {
            sizes[i] = from->sizes[a][i];
            sizes[n + i] = at;
            at += sizes[i];
        }
        split->sizes[a] = sizes;
        split->begins[a] = sizes + n;
    }
    return split;
}

static void fill_op_parts(struct lowering *s, int op, struct range samples, const int *placed,
                          int n_parts)
{
    const struct op_plan *plan = &s->plan->ops[op];
    const struct nest *nest = s->graph->ops[op].nest;
    const struct split *split = copy_split(s, nest, &plan->split);
    struct range *range = NEW(&s->cache->arena, struct range, n_parts * nest->n_axes);
    bool *empty = NEW(&s->cache->arena, bool, n_parts);
    int *device = NEW(&s->cache->arena, int, n_parts);
    for (int part = 0; part < n_parts; part++) {
        struct range loops[MAX_AXES];
        empty[part] =
            !hp_micro_ranges(s->graph, op, split, part % plan->n_parts, samples, loops);
        memcpy(range + part * nest->n_axes, loops, (size_t)nest->n_axes * sizeof *range);
        device[part] = placed[part];
    }
    add_op_parts(s, &(struct op_parts){ .nest = nest,
                                        .split = split,
                                        .n_parts = n_parts,
                                        .n_each = plan->n_parts,
                                        .device = device,
                                        .range = range,
                                        .empty = empty });
}

/* The facts that determine an operator's parts, as numbers: nest, samples, devices, degrees,
 * and sizes that are given. Taken from `scratch`; returns how many numbers. */
static int op_parts_key(struct lowering *s, int op, struct range samples, const int *placed,
                        int n_parts, int32_t **out)
{
    const struct nest *nest = s->graph->ops[op].nest;
    const struct split *split = &s->plan->ops[op].split;
    int n = 6 + nest->n_axes + n_parts;
    for (int a = 0; a < nest->n_axes; a++)
        n += split->sizes[a] ? 1 + 2 * split->degree[a] : 0;
    int32_t *key = *out = NEW(&s->scratch, int32_t, n), *at = key;
    *at++ = nest->id;
    *at++ = n_parts; /* marks where devices end and sizes begin */
    memcpy(at, &samples.lo, sizeof samples.lo);
    memcpy(at + 2, &samples.hi, sizeof samples.hi);
    at += 4;
    for (int a = 0; a < nest->n_axes; a++)
        *at++ = hp_degree(split, a);
    memcpy(at, placed, (size_t)n_parts * sizeof *placed);
    at += n_parts;
    for (int a = 0; a < nest->n_axes; a++) {
        if (!split->sizes[a])
            continue;
        *at++ = a;
        memcpy(at, split->sizes[a], (size_t)split->degree[a] * sizeof(int64_t));
        at += 2 * split->degree[a];
    }
    return n;
}

const struct op_parts *hp_parts_of(struct lowering *s, int op, struct range samples,
                                   int replica, int n_replicas)
{
    const struct op_plan *plan = &s->plan->ops[op];
    const int *placed = plan->device + replica * plan->n_parts;
    int n_parts = n_replicas * plan->n_parts;
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    int32_t *key;
    size_t bytes = (size_t)op_parts_key(s, op, samples, placed, n_parts, &key) * sizeof *key;
    int known = hp_table_get(&s->cache->op_parts_keys, key, bytes);
    if (known < 0) {
        known = s->cache->n_op_parts;
        hp_table_put(&s->cache->op_parts_keys, &s->cache->arena, keep(s, key, bytes), bytes,
                     known);
        fill_op_parts(s, op, samples, placed, n_parts);
    }
    hp_arena_release(&s->scratch, mark);
    return s->cache->op_parts[known];
}

/* A part is kept if one of the bodies has it. Its samples no longer matter. */
const struct op_parts *hp_either_parts(struct lowering *s, const struct op_parts *a,
                                       const struct op_parts *b)
{
    int differ = 0;
    for (int part = 0; part < a->n_parts; part++)
        differ += a->empty[part] && !b->empty[part];
    if (!differ)
        return a;
    int32_t key[] = { -1, a->id, b->id }; /* other keys begin with a nest's number */
    int known = hp_table_get(&s->cache->op_parts_keys, key, sizeof key);
    if (known >= 0)
        return s->cache->op_parts[known];
    hp_table_put(&s->cache->op_parts_keys, &s->cache->arena, keep(s, key, sizeof key),
                 sizeof key, s->cache->n_op_parts);
    struct op_parts both = *a;
    size_t n_axes = (size_t)a->nest->n_axes;
    struct range *range = NEW(&s->cache->arena, struct range, (size_t)a->n_parts * n_axes);
    bool *empty = NEW(&s->cache->arena, bool, a->n_parts);
    for (int part = 0; part < a->n_parts; part++) {
        const struct op_parts *from = a->empty[part] ? b : a;
        empty[part] = from->empty[part];
        memcpy(range + (size_t)part * n_axes, from->range + (size_t)part * n_axes,
               n_axes * sizeof *range);
    }
    both.range = range;
    both.empty = empty;
    return add_op_parts(s, &both);
}

/* Patterns ---------------------------------------------------------------------------- */

static struct exchange_side as_writer(const struct source *w,
                                      const struct op_parts *const *parts)
{
    const struct op_parts *l = parts[w->op];
    return (struct exchange_side){
        .parts = l,
        .operand = w->operand,
        .copies = hp_written_axes(l->nest, w->pass, w->operand, WRITE_COPY) &
                  hp_divided_axes(l->nest, l->split),
    };
}

/* The passes in which a reader adds its input after partial sums; none if other passes read
 * it. */
static uint32_t adding_passes(const struct reader *r)
{
    return r->only_adds ? r->passes | r->again : 0;
}

/* The first part of a sum adds the bias: `partial` are the axes of this sum. */
static struct exchange_side as_reader(const struct reader *r,
                                      const struct op_parts *const *parts)
{
    const struct op_parts *l = parts[r->op];
    const struct nest *nest = l->nest;
    struct exchange_side who = { .parts = l, .operand = r->operand };
    uint32_t adding = adding_passes(r);
    for (int p = 0; adding >> p; p++)
        for (int y = 0; adding >> p & 1 && y < nest->n_operands; y++)
            if (nest->pass[p].writes >> y & 1)
                who.partial |= hp_written_axes(nest, p, y, WRITE_PARTIAL);
    who.partial &= who.partial ? hp_divided_axes(nest, l->split) : 0;
    return who;
}

/* Each part keeps its own value: nothing moves. */
static struct pattern *private_pattern(struct lowering *s, const struct exchange_side *who,
                                       int n_readers)
{
    const struct op_parts *parts = who[0].parts;
    struct pattern *p = NEW(&s->cache->arena, struct pattern, 1);
    p->n_writers = 1;
    p->n_readers = n_readers;
    p->aligned = true;
    p->wait = NEW(&s->cache->arena, struct wait, n_readers * parts->n_parts);
    p->reader_wait = NEW(&s->cache->arena, int, n_readers + 1);
    p->comm_feed = NEW(&s->cache->arena, int, 1);
    for (int r = 0; r < n_readers; r++) {
        for (int part = 0; part < parts->n_parts; part++)
            if (!parts->empty[part])
                p->wait[p->n_waits++] = (struct wait){ r, part, -1, 0, part };
        p->reader_wait[r + 1] = p->n_waits;
    }
    return p;
}

/* The stage of a reader of an activation, counted from the stage of the first reader. */
static int reader_stage(const struct lowering *s, const struct exchange *exchange, int i)
{
    const int *stage = s->schedule.stage_of_op;
    int first = stage[exchange->reader[i].op];
    if (s->graph->tensors[exchange->place.tensor].kind == TENSOR_PARAM ||
        exchange->place.tensor == s->graph->loss)
        return 0;
    for (int k = 0; k < exchange->n_readers; k++)
        first = stage[exchange->reader[k].op] < first ? stage[exchange->reader[k].op] : first;
    return stage[exchange->reader[i].op] - first;
}

/* The parameter that messages have all of where its only reader reads a slice: its replicas sum
 * and gather the whole parameter. -1: messages have what readers read. */
static int sent_whole(const struct lowering *s, const struct exchange *exchange)
{
    int t = exchange->place.tensor,
        param = exchange->place.grad && s->graph->tensors[t].producer >= 0
                    ? hp_viewed_param(s->plan, t)
                    : -1;
    bool replicas = exchange->division != DIVIDE_NOT;
    if (s->graph->tensors[t].kind == TENSOR_PARAM)
        param = t;
    if (param < 0 || hp_slice_of_param(s->plan, param) == param)
        return -1;
    for (int i = 0; i < exchange->n_writers; i++) {
        int op = exchange->writer[i].op, sample = hp_sample_axis(s->graph->ops[op].nest);
        replicas |= sample >= 0 && hp_degree(&s->plan->ops[op].split, sample) > 1;
    }
    return replicas ? param : -1;
}

static int *reader_key(const struct reader *reader, int n, int *at)
{
    for (int i = 0; i < n; i++) {
        *at++ = reader[i].operand;
        *at++ = (int)adding_passes(&reader[i]);
    }
    return at;
}

/* The class of an exchange: all facts except the parts that determine its pattern. Exchanges of
 * one class have the same number. */
int hp_pattern_class(struct lowering *s, const struct exchange *exchange)
{
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    int n = 8 + 2 * (exchange->n_writers + exchange->n_holders) + 3 * exchange->n_readers,
        *key = NEW(&s->scratch, int, n);
    int *at = key;
    *at++ = exchange->n_writers;
    *at++ = exchange->n_holders;
    *at++ = exchange->n_readers;
    *at++ = exchange->private;
    *at++ = (int)exchange->division;
    *at++ = exchange->over;
    *at++ = s->plan->simulation.framework.row_shards;
    *at++ = sent_whole(s, exchange);
    for (int i = 0; i < exchange->n_writers; i++) {
        *at++ = exchange->writer[i].operand;
        *at++ = exchange->writer[i].pass;
    }
    at = reader_key(exchange->holder, exchange->n_holders, at);
    at = reader_key(exchange->reader, exchange->n_readers, at);
    for (int i = 0; i < exchange->n_readers; i++)
        *at++ = reader_stage(s, exchange, i);
    size_t bytes = (size_t)n * sizeof *key;
    int known = hp_table_get(&s->cache->pattern_classes, key, bytes);
    if (known < 0)
        known = hp_table_put(&s->cache->pattern_classes, &s->cache->arena, keep(s, key, bytes),
                             bytes, s->cache->pattern_classes.used);
    hp_arena_release(&s->scratch, mark);
    return known;
}

/* The holders of a divided parameter are the same in all bodies. */
static const struct op_parts *const *reader_parts(const struct lowering *s,
                                                  const struct exchange *exchange,
                                                  const struct op_parts *const *parts)
{
    return exchange->division == DIVIDE_SUM || exchange->division == DIVIDE_OWNED
               ? s->tail_parts
               : parts;
}

/* Takes the pattern from `arena`, but a private one or the first of its shape from the cache.
 */
static enum hypar_status find_pattern(struct lowering *s, const struct exchange *exchange,
                                      const struct op_parts *const *parts, struct arena *arena,
                                      struct pattern **out)
{
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    int n_all = exchange->n_writers + exchange->n_holders + exchange->n_readers;
    int n_from =
        exchange->n_writers + (exchange->division == DIVIDE_GATHER ? exchange->n_holders : 0);
    struct exchange_side *who = NEW(&s->scratch, struct exchange_side, n_all);
    bool copied = false;
    for (int i = 0; i < exchange->n_writers; i++) {
        who[i] = as_writer(&exchange->writer[i], parts);
        copied |= who[i].copies != 0;
    }
    for (int i = 0; i < exchange->n_holders; i++)
        who[exchange->n_writers + i] = as_reader(&exchange->holder[i], s->tail_parts);
    for (int i = 0; i < exchange->n_readers; i++) {
        struct exchange_side *reader = &who[exchange->n_writers + exchange->n_holders + i];
        *reader = as_reader(&exchange->reader[i], reader_parts(s, exchange, parts));
        reader->stage = reader_stage(s, exchange, i);
    }
    struct exchange_sides sides = { who,
                                    who + n_from,
                                    n_from,
                                    n_all - n_from,
                                    exchange->division,
                                    exchange->over,
                                    s->plan->simulation.framework.row_shards,
                                    0,
                                    0 };
    int whole = sent_whole(s, exchange);
    if (whole >= 0) {
        int slice = hp_slice_of_param(s->plan, whole);
        sides.whole = hp_shape_elements(&s->graph->tensors[whole].shape);
        sides.slice = hp_shape_elements(&s->graph->tensors[slice].shape);
    }
    enum hypar_status status = HYPAR_OK;
    if (exchange->private)
        *out = private_pattern(s, who, exchange->n_readers);
    else
        status = hp_find_pattern(arena, &s->scratch, &s->cache->shapes, &sides, out, s->err);
    (*out)->copied = copied;
    hp_arena_release(&s->scratch, mark);
    return status;
}

enum hypar_status hp_pattern_of(struct lowering *s, const struct exchange *exchange,
                                const struct op_parts *const *parts, const struct pattern **out)
{
    int32_t *key = s->pattern_key, n = 0;
    key[n++] = exchange->pattern_class;
    for (int i = 0; i < exchange->n_writers; i++)
        key[n++] = parts[exchange->writer[i].op]->id;
    for (int i = 0; i < exchange->n_holders; i++)
        key[n++] = s->tail_parts[exchange->holder[i].op]->id;
    for (int i = 0; i < exchange->n_readers; i++)
        key[n++] = reader_parts(s, exchange, parts)[exchange->reader[i].op]->id;
    size_t bytes = (size_t)n * sizeof *key;
    int known = hp_table_get(&s->cache->pattern_keys, key, bytes);
    if (known < 0) {
        struct pattern *found;
        TRY(find_pattern(s, exchange, parts, &s->cache->arena, &found));
        known = found->id = s->cache->n_patterns;
        hp_table_put(&s->cache->pattern_keys, &s->cache->arena, keep(s, key, bytes), bytes,
                     known);
        s->cache->patterns = GROW(&s->cache->arena, struct pattern *, s->cache->patterns,
                                  s->cache->n_patterns, &s->cache->pattern_capacity);
        s->cache->patterns[s->cache->n_patterns++] = found;
    }
    *out = s->cache->patterns[known];
    return HYPAR_OK;
}

enum hypar_status hp_pattern_once(struct lowering *s, const struct exchange *exchange,
                                  const struct op_parts *const *parts, struct arena *arena,
                                  const struct pattern **out)
{
    struct pattern *found;
    TRY(find_pattern(s, exchange, parts, arena, &found));
    *out = found;
    return HYPAR_OK;
}
