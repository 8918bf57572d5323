/* Finds the sets of layers after which a pipeline may be cut: the sets up to an antichain, or
 * prefixes of the layers' order if there are too many antichains. */
#include "search/pipeline/states.h"

#include <string.h>

#include "base/sort.h"
#include "base/table.h"

static bool has(const uint64_t *set, int i)
{
    return set[i / 64] >> (i % 64) & 1;
}

static void add(uint64_t *set, int i)
{
    set[i / 64] |= (uint64_t)1 << (i % 64);
}

bool hp_state_has(const struct cut_states *states, int j, int i)
{
    if (j < 0)
        return false;
    return states->chain ? i <= states->through[j]
                         : has(states->set + (size_t)j * (size_t)states->n_words, i);
}

int hp_stage_layers(const struct cut_states *s, int after, int last, int *layer)
{
    int n = 0;
    if (s->chain) {
        for (int i = after < 0 ? 0 : s->through[after] + 1; i <= s->through[last]; i++)
            layer[n++] = i;
        return n;
    }
    const uint64_t *outer = s->set + (size_t)last * (size_t)s->n_words;
    const uint64_t *inner = after < 0 ? NULL : s->set + (size_t)after * (size_t)s->n_words;
    for (int b = 0; b < s->n_words; b++)
        for (uint64_t left = outer[b] & ~(inner ? inner[b] : 0); left; left &= left - 1)
            layer[n++] = 64 * b + __builtin_ctzll(left);
    return n;
}

/* Layers that stay together --------------------------------------------------------------- */

struct shared_sets {
    int n;
    int *size, *inside; /* number of layers of each set; scratch */
};

static struct shared_sets find_shared_sets(struct arena *arena, const struct pipeline_layers *l)
{
    struct shared_sets g = { 0 };
    for (int i = 0; l->together && i < l->n; i++)
        g.n = l->together[i] >= g.n ? l->together[i] + 1 : g.n;
    g.size = NEW(arena, int, g.n);
    g.inside = NEW(arena, int, g.n);
    for (int i = 0; g.n && i < l->n; i++)
        if (l->together[i] >= 0)
            g.size[l->together[i]]++;
    return g;
}

/* Is each set of layers that stay together on one side of a cut after `set`? */
static bool keeps_together(const struct pipeline_layers *l, struct shared_sets *g,
                           const uint64_t *set)
{
    for (int i = 0; i < g->n; i++)
        g->inside[i] = 0;
    for (int i = 0; g->n && i < l->n; i++)
        if (l->together[i] >= 0 && has(set, i))
            g->inside[l->together[i]]++;
    for (int i = 0; i < g->n; i++)
        if (g->inside[i] != 0 && g->inside[i] != g->size[i])
            return false;
    return true;
}

/* Antichains --------------------------------------------------------------------------- */

struct walk {
    struct arena *arena; /* scratch */
    const struct pipeline_layers *layers;
    int n_words;
    uint64_t *upto;   /* row i: layer i and its ancestors */
    uint64_t **found; /* sets, in the order they are found */
    int n_found, capacity, max;
    struct table known;
    uint64_t *next; /* the set under construction */
};

static uint64_t *row(const struct walk *w, int i)
{
    return w->upto + (size_t)i * (size_t)w->n_words;
}

static void find_ancestors(struct walk *w)
{
    const struct pipeline_layers *l = w->layers;
    w->upto = NEW(w->arena, uint64_t, (size_t)l->n * (size_t)w->n_words);
    for (int i = 0; i < l->n; i++) {
        add(row(w, i), i);
        for (int e = l->after_start[i]; e < l->after_start[i + 1]; e++)
            for (int b = 0; b < w->n_words; b++)
                row(w, l->after[e])[b] |= row(w, i)[b];
    }
}

/* Add the set of `set`, layer `i` and its ancestors. Returns false if there are too many
 * sets. */
static bool reach(struct walk *w, const uint64_t *set, int i)
{
    size_t bytes = (size_t)w->n_words * sizeof *set;
    for (int b = 0; b < w->n_words; b++)
        w->next[b] = (set ? set[b] : 0) | row(w, i)[b];
    if (hp_table_get(&w->known, w->next, bytes) >= 0)
        return true;
    if (w->n_found == w->max)
        return false;
    uint64_t *kept = NEW(w->arena, uint64_t, w->n_words);
    memcpy(kept, w->next, bytes);
    w->found = GROW(w->arena, uint64_t *, w->found, w->n_found, &w->capacity);
    w->found[w->n_found] = kept;
    hp_table_put(&w->known, w->arena, kept, bytes, w->n_found++);
    return true;
}

/* Add all sets that extend `set` by a reader of one of its layers. If no layer outside reads
 * from the set, extend it by the first missing layer. */
static bool expand(struct walk *w, const uint64_t *set)
{
    const struct pipeline_layers *l = w->layers;
    bool grows = false;
    int missing = -1;
    for (int i = l->n - 1; i >= 0; i--) {
        if (!has(set, i)) {
            missing = i;
            continue;
        }
        for (int e = l->after_start[i]; e < l->after_start[i + 1]; e++)
            if (!has(set, l->after[e])) {
                grows = true;
                if (!reach(w, set, l->after[e]))
                    return false;
            }
    }
    return grows || missing < 0 || reach(w, set, missing);
}

/* Are all ancestors of layer `i` in a set? */
static bool may_follow(const struct walk *w, const uint64_t *set, int i)
{
    for (int b = 0; b < w->n_words; b++) {
        uint64_t own = b == i / 64 ? (uint64_t)1 << (i % 64) : 0;
        if (row(w, i)[b] & ~own & ~(set ? set[b] : 0))
            return false;
    }
    return true;
}

/* Add all sets that extend `set` by one layer whose ancestors it has. */
static bool expand_every(struct walk *w, const uint64_t *set)
{
    for (int i = 0; i < w->layers->n; i++)
        if (!(set && has(set, i)) && may_follow(w, set, i) && !reach(w, set, i))
            return false;
    return true;
}

/* Find all sets. Sources other than the first layer join with their readers, as in the
 * published code. */
static bool walk_antichains(struct walk *w)
{
    bool every = w->layers->every;
    w->n_words = (w->layers->n + 63) / 64;
    w->next = NEW(w->arena, uint64_t, w->n_words);
    find_ancestors(w);
    if (!(every ? expand_every(w, NULL) : reach(w, NULL, 0)))
        return false;
    for (int i = 0; i < w->n_found; i++)
        if (!(every ? expand_every : expand)(w, w->found[i]))
            return false;
    return true;
}

/* Costs -------------------------------------------------------------------------------- */

struct sums {
    double *time_s, *weight, *activation, *fixed, *cut;
};

static struct sums new_sums(struct arena *arena, int n)
{
    return (struct sums){ NEW(arena, double, n), NEW(arena, double, n), NEW(arena, double, n),
                          NEW(arena, double, n), NEW(arena, double, n) };
}

static void keep_sums(struct cut_states *s, const struct sums *sums)
{
    s->cost =
        (struct pipeline_states){ s->n,        sums->time_s, sums->weight, sums->activation,
                                  sums->fixed, sums->cut };
}

static void add_layer(const struct pipeline_layers *l, const struct sums *sums, int j, int i)
{
    sums->time_s[j] += l->forward_s[i] + l->backward_s[i];
    sums->weight[j] += l->weight_bytes[i];
    sums->activation[j] += l->output_bytes[i];
    sums->fixed[j] += l->fixed_bytes[i];
}

/* A layer's output crosses the cut if a layer outside reads it, or if no layer reads it. */
static bool crosses(const struct pipeline_layers *l, const uint64_t *set, int i)
{
    bool read = l->after_start[i] < l->after_start[i + 1];
    for (int e = l->after_start[i]; e < l->after_start[i + 1]; e++)
        if (!has(set, l->after[e]))
            return true;
    return !read;
}

/* A set and its sort keys. */
struct sized {
    const uint64_t *set;
    double time_s;
    int count, place;
};

static int by_time(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;
    if (x->time_s != y->time_s)
        return x->time_s < y->time_s ? -1 : 1;
    if (x->count != y->count)
        return x->count - y->count;
    return x->place - y->place;
}

/* Sort the sets by time. A subset has no more time and fewer layers, so it comes before its
 * superset. */
static int sort_sets(struct walk *w, struct sized *sized)
{
    const struct pipeline_layers *l = w->layers;
    struct shared_sets sets = find_shared_sets(w->arena, l);
    int n = 0;
    for (int f = 0; f < w->n_found; f++) {
        if (!keeps_together(l, &sets, w->found[f]))
            continue;
        sized[n] = (struct sized){ .set = w->found[f], .place = f };
        for (int i = 0; i < l->n; i++)
            if (has(w->found[f], i)) {
                sized[n].time_s += l->forward_s[i] + l->backward_s[i];
                sized[n].count++;
            }
        n++;
    }
    hp_sort(sized, n, sizeof *sized, by_time);
    return n;
}

static void find_below(struct arena *arena, struct cut_states *s)
{
    s->n_below = (s->n + 63) / 64;
    s->below = NEW(arena, uint64_t, (size_t)s->n * (size_t)s->n_below);
    for (int j = 0; j < s->n; j++) {
        const uint64_t *outer = s->set + (size_t)j * (size_t)s->n_words;
        for (int k = 0; k < j; k++) {
            const uint64_t *inner = s->set + (size_t)k * (size_t)s->n_words;
            int b = 0;
            while (b < s->n_words && !(inner[b] & ~outer[b]))
                b++;
            if (b == s->n_words)
                add(s->below + (size_t)j * (size_t)s->n_below, k);
        }
    }
}

static void keep_antichains(struct arena *arena, struct cut_states *s, struct walk *w)
{
    const struct pipeline_layers *l = w->layers;
    struct sized *sized = NEW(w->arena, struct sized, w->n_found);
    s->n = sort_sets(w, sized);
    s->n_parted = w->n_found - s->n;
    s->all = true;
    s->n_words = w->n_words;
    s->set = NEW(arena, uint64_t, (size_t)s->n * (size_t)s->n_words);
    struct sums sums = new_sums(arena, s->n);
    for (int j = 0; j < s->n; j++) {
        uint64_t *set = s->set + (size_t)j * (size_t)s->n_words;
        memcpy(set, sized[j].set, (size_t)s->n_words * sizeof *set);
        for (int i = 0; i < l->n; i++)
            if (has(set, i)) {
                add_layer(l, &sums, j, i);
                sums.cut[j] += crosses(l, set, i) ? l->output_bytes[i] : 0;
            }
    }
    keep_sums(s, &sums);
    find_below(arena, s);
}

/* Prefixes ----------------------------------------------------------------------------- */

/* Find the prefixes that part no set and end at a border: may[i] allows a cut after layer i.
 * Returns their number. */
static int allowed_prefixes(struct arena *scratch, const struct pipeline_layers *l, bool *may)
{
    struct shared_sets g = find_shared_sets(scratch, l);
    int open = 0, n = 0;
    for (int i = 0; i < l->n; i++) {
        int set = g.n ? l->together[i] : -1;
        if (set >= 0) {
            open += g.inside[set] == 0;
            open -= ++g.inside[set] == g.size[set];
        }
        may[i] = open == 0 && (!l->borders || i + 1 == l->n || l->borders[i + 1]);
        n += may[i];
    }
    return n;
}

/* The bytes that cross the cut after each layer. */
static void prefix_cuts(const struct pipeline_layers *l, double *cut)
{
    for (int i = 0; i < l->n; i++) { /* first the differences */
        int last = l->after_start[i] == l->after_start[i + 1] ? l->n : 0;
        for (int e = l->after_start[i]; e < l->after_start[i + 1]; e++)
            last = l->after[e] > last ? l->after[e] : last;
        cut[i] += l->output_bytes[i];
        if (last < l->n)
            cut[last] -= l->output_bytes[i];
    }
    for (int i = 1; i < l->n; i++)
        cut[i] += cut[i - 1];
}

/* Reduce the prefixes to `max`: of each run of layers that takes 1/max of the time, keep the
 * cut with the fewest bytes to send. */
static int keep_cheapest_cuts(const struct pipeline_layers *l, const double *cut, bool *may,
                              int max)
{
    double total = 0, done = 0;
    int best = -1, n = 0, bin = 0;
    for (int i = 0; i < l->n; i++)
        total += l->forward_s[i] + l->backward_s[i];
    for (int i = 0; i < l->n; i++) {
        done += l->forward_s[i] + l->backward_s[i];
        int now = total > 0 ? (int)(done / total * (max - 2)) : 0;
        bool wanted = may[i];
        may[i] = false;
        if (now != bin)
            best = -1;
        bin = now;
        if (!wanted && i < l->n - 1)
            continue;
        if (best < 0 || cut[i] <= cut[best]) {
            if (best >= 0)
                may[best] = false;
            n += best < 0;
            may[best = i] = true;
        }
    }
    n += !may[l->n - 1];
    may[l->n - 1] = true;
    return n;
}

static void keep_prefixes(struct arena *arena, struct arena *scratch, struct cut_states *s,
                          const struct pipeline_layers *l, int max)
{
    bool *may = NEW(scratch, bool, l->n);
    double *cut = NEW(scratch, double, l->n);
    struct pipeline_layers anywhere = *l;
    anywhere.borders = NULL;
    s->n_parted = l->n - allowed_prefixes(scratch, &anywhere, may);
    int n = allowed_prefixes(scratch, l, may);
    prefix_cuts(l, cut);
    s->chain = true;
    s->n = n > max ? keep_cheapest_cuts(l, cut, may, max) : n;
    s->n_skipped = n - s->n;
    s->through = NEW(arena, int, s->n);
    struct sums sums = new_sums(arena, s->n);
    for (int i = 0, j = 0; i < l->n; i++) {
        add_layer(l, &sums, j, i);
        if (!may[i])
            continue;
        s->through[j] = i;
        sums.cut[j++] = cut[i];
        if (j < s->n) {
            sums.time_s[j] = sums.time_s[j - 1];
            sums.weight[j] = sums.weight[j - 1];
            sums.activation[j] = sums.activation[j - 1];
            sums.fixed[j] = sums.fixed[j - 1];
        }
    }
    keep_sums(s, &sums);
}

struct cut_states *hp_cut_states(struct arena *arena, const struct pipeline_layers *layers,
                                 int max_antichains, int max_prefixes)
{
    struct arena scratch = { 0 };
    struct cut_states *s = NEW(arena, struct cut_states, 1);
    struct walk walk = { .arena = &scratch, .layers = layers, .max = max_antichains };
    /* each layer but a source ends an antichain: there are hardly fewer of these than layers */
    if (!layers->borders && layers->n <= max_antichains && walk_antichains(&walk))
        keep_antichains(arena, s, &walk);
    else
        keep_prefixes(arena, &scratch, s, layers, max_prefixes);
    hp_arena_free(&scratch);
    return s;
}
