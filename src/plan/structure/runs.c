/* Finds repetitions in a sequence: compares the sequence with itself at many distances. */
#include "plan/structure/runs.h"

#include <stdbool.h>

enum { MOST_COMPARED = 100 * 1000 * 1000 };

struct finder {
    struct arena *arena;
    const int *token;
    const int64_t *border;
    int *last;        /* by token: its last position, plus one */
    int *tried;       /* by distance: the last search that tried it */
    int search;       /* the number of the current search */
    int64_t compared; /* comparisons of all searches */
    struct run *run;
    int n, capacity;
};

static void add_run(struct finder *f, int first, int period, int count)
{
    if (period == 0)
        return;
    f->run = GROW(f->arena, struct run, f->run, f->n, &f->capacity);
    f->run[f->n++] = (struct run){ first, period, count };
}

/* Find the longest run with this period in from .. to - 1, if it covers more than the best so
 * far. *spare members after it continue the pattern. */
static void look_for(struct finder *f, int from, int to, int period, struct run *best,
                     int *spare)
{
    int same = 0;
    for (int i = from + period; i <= to; i++) {
        if (i < to && f->token[i] == f->token[i - period]) {
            same++;
            continue;
        }
        int count = same / period + 1;
        int more = count * period - best->count * best->period;
        if (count > 1 && (more > 0 || (more == 0 && period < best->period))) {
            *best = (struct run){ i - same - period, period, count };
            *spare = same % period;
        }
        same = 0;
    }
    f->compared += to - from;
}

static struct run find_best(struct finder *f, int from, int to)
{
    struct run best = { 0 };
    int spare = 0, shift = 0;
    f->search++;
    for (int i = from; i < to; i++)
        f->last[f->token[i]] = 0;
    for (int i = from; i < to && f->compared < MOST_COMPARED; i++) {
        int *before = &f->last[f->token[i]], period = *before ? i + 1 - *before : 0;
        *before = i + 1;
        if (period && f->tried[period] != f->search)
            look_for(f, from, to, period, &best, &spare);
        f->tried[period] = f->search;
    }
    int second = best.first + best.period;
    for (int s = 1; s <= spare && f->border; s++)
        shift = f->border[second + s] < f->border[second + shift] ? s : shift;
    best.first += shift;
    return best;
}

/* The recursion goes only to the left, where every run covers less than the run after it. */
static void find_all(struct finder *f, int from, int to)
{
    for (;;) {
        struct run best = find_best(f, from, to);
        if (best.count < 2)
            break;
        find_all(f, from, best.first);
        add_run(f, best.first, best.period, best.count);
        from = best.first + best.period * best.count;
    }
    add_run(f, from, to - from, 1);
}

struct run *hp_find_runs(struct arena *arena, const int *token, int n, const int64_t *border,
                         int *n_runs)
{
    int most = 0;
    for (int i = 0; i < n; i++)
        most = token[i] > most ? token[i] : most;
    struct finder f = { .arena = arena,
                        .token = token,
                        .border = border,
                        .last = NEW(arena, int, most + 1),
                        .tried = NEW(arena, int, n + 1) };
    find_all(&f, 0, n);
    *n_runs = f.n;
    return f.run;
}
