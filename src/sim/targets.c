#include "sim/targets.h"

struct filling {
    const struct sketch *sketch;
    struct targets targets;
    int *count; /* filling: where the next goes */
    bool fill;
};

static void add_target(struct filling *f, int from, int to)
{
    if (f->fill)
        f->targets.target[f->count[from]++] = to;
    else
        f->count[from]++;
}

/* Whoever reads a value waits for the comms that bring it and for its writers. */
static void list_reader(struct filling *f, int i, const struct reader *reader)
{
    const struct skeleton *k = &f->sketch->skeleton;
    const struct deal *deal = &k->deal[i];
    bool tail = i >= k->n_deals;
    int me = k->n_steps + i;
    uint32_t passes = tail ? reader->passes : hp_first_passes(f->sketch->graph, reader);
    for (int p = 0; passes >> p; p++) {
        int step = passes >> p & 1 ? k->step_of[reader->op][p] : -1;
        if (step < 0)
            continue;
        add_target(f, tail ? step : me, tail ? me + k->n_tail : step);
        for (int w = 0; !tail && w < deal->n_writers; w++)
            add_target(f, k->step_of[deal->writer[w].op][deal->writer[w].pass], step);
    }
}

/* Comms wait for writers; an update for comms, writers, and readers of the old value. */
static void list_deal(struct filling *f, int i)
{
    const struct skeleton *k = &f->sketch->skeleton;
    const struct deal *deal = &k->deal[i];
    int me = k->n_steps + i, update = me + k->n_tail; /* of a tail's deal */
    bool tail = i >= k->n_deals;
    if (tail)
        add_target(f, me, update);
    for (int w = 0; w < deal->n_writers; w++) {
        int step = k->step_of[deal->writer[w].op][deal->writer[w].pass];
        add_target(f, step, me);
        if (tail)
            add_target(f, step, update);
    }
    for (int r = 0; r < deal->n_readers; r++)
        list_reader(f, i, &deal->reader[r]);
}

struct targets hp_find_targets(struct arena *arena, const struct sketch *sketch)
{
    const struct skeleton *k = &sketch->skeleton;
    int n = k->n_steps + k->n_deals + 2 * k->n_tail;
    struct filling f = { .sketch = sketch, .count = NEW(arena, int, n + 1) };
    f.targets.start = NEW(arena, int, n + 1);
    for (int fill = 0; fill < 2; fill++) {
        f.fill = fill;
        for (int i = 0; i < k->n_deals + k->n_tail; i++)
            list_deal(&f, i);
        for (int i = 0; i < k->n_steps; i++)
            if (k->step[i].backward)
                add_target(&f, hp_last_forward_step(sketch, k->step[i].op), i);
        for (int i = 0; !fill && i < n; i++) {
            f.targets.start[i + 1] = f.targets.start[i] + f.count[i];
            f.count[i] = f.targets.start[i];
        }
        if (!fill)
            f.targets.target = NEW(arena, int, f.targets.start[n]);
    }
    return f.targets;
}
