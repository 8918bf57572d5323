/* Finds repeated layers: runs in the sequence of operators. Equal operators share a nest. */
#include "graph/structure/repeated.h"

/* Runs of a sequence: the sequence is compared with itself at many distances ------------ */

enum { MOST_COMPARED = 100 * 1000 * 1000 };

struct repeat_finder {
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

static void add_run(struct repeat_finder *f, int first, int period, int count)
{
    if (period == 0)
        return;
    f->run = GROW(f->arena, struct run, f->run, f->n, &f->capacity);
    f->run[f->n++] = (struct run){ first, period, count };
}

/* Find the longest run with this period in from .. to - 1, if it covers more than the best so
 * far. *spare members after it continue the pattern. */
static void look_for(struct repeat_finder *f, int from, int to, int period, struct run *best,
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

static struct run find_best(struct repeat_finder *f, int from, int to)
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
static void find_all(struct repeat_finder *f, int from, int to)
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

static struct repeat_finder finder_of(struct arena *arena, const int *token, int n,
                                      const int64_t *border)
{
    int most = 0;
    for (int i = 0; i < n; i++)
        most = token[i] > most ? token[i] : most;
    return (struct repeat_finder){ .arena = arena,
                                   .token = token,
                                   .border = border,
                                   .last = NEW(arena, int, most + 1),
                                   .tried = NEW(arena, int, n + 1) };
}

struct run hp_best_run(const int *token, int n, const int64_t *border)
{
    struct arena scratch = { 0 };
    struct repeat_finder f = finder_of(&scratch, token, n, border);
    struct run best = find_best(&f, 0, n);
    hp_arena_free(&scratch);
    return best;
}

struct run *hp_find_runs(struct arena *arena, const int *token, int n, const int64_t *border,
                         int *n_runs)
{
    struct repeat_finder f = finder_of(arena, token, n, border);
    find_all(&f, 0, n);
    *n_runs = f.n;
    return f.run;
}

/* Layers ------------------------------------------------------------------------------ */

int64_t *hp_crossing(struct arena *arena, const struct hypar_graph *graph, bool elements)
{
    int64_t *crossing = NEW(arena, int64_t, graph->n_ops + 1);
    for (int t = 0; t < graph->n_tensors; t++) {
        const struct tensor *tensor = &graph->tensors[t];
        int from = graph->use_start[t], end = graph->use_start[t + 1];
        if (tensor->kind != TENSOR_ACTIVATION || from == end)
            continue;
        int64_t each = elements ? hp_shape_elements(&tensor->shape) : 1;
        crossing[tensor->producer + 1] += each;
        crossing[graph->use[end - 1].op + 1] -= each;
    }
    for (int i = 1; i <= graph->n_ops; i++)
        crossing[i] += crossing[i - 1];
    return crossing;
}

struct repeated_layers hp_repeated_layers(const struct hypar_graph *graph)
{
    struct arena scratch = { 0 };
    int *nest = NEW(&scratch, int, graph->n_ops);
    for (int op = 0; op < graph->n_ops; op++)
        nest[op] = graph->ops[op].nest->like;
    struct run best = hp_best_run(nest, graph->n_ops, hp_crossing(&scratch, graph, true));
    hp_arena_free(&scratch);
    return (struct repeated_layers){ best.first, best.period, best.count };
}

static bool are_borders(const struct repeated_layers *layers, const bool *borders, int moved)
{
    for (int i = 1; i < layers->count; i++)
        if (!borders[layers->first + moved + i * layers->n_ops])
            return false;
    return true;
}

bool hp_layers_at_borders(const struct repeated_layers *layers, const bool *borders, int *moved)
{
    *moved = 0;
    for (int by = 0; borders && 2 * by <= layers->n_ops; by++)
        for (int sign = 1; sign >= -1; sign -= 2)
            if (are_borders(layers, borders, sign * by)) {
                *moved = sign * by;
                return true;
            }
    return !borders;
}
