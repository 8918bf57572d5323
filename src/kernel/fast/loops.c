/* Merging axes into loops, and loops into matrix products. */
#include "kernel/fast/loops.h"

#include <string.h>

#include "base/number.h"

/* Remove from `range` the indices at which a position lies outside its tensor. */
static bool clip(const struct walk *w, int axis, struct range *range)
{
    for (int m = 0; m < w->n_maps; m++)
        for (int e = 0; e < w->map[m].n_edges; e++) {
            const struct walk_edge *edge = &w->map[m].edge[e];
            if (edge->taps >= 0)
                return false;
            if (edge->axis != axis)
                continue;
            int64_t lo = hp_divide_up(edge->pad, edge->stride);
            int64_t hi = hp_divide_up(edge->size + edge->pad, edge->stride);
            range->lo = range->lo > lo ? range->lo : lo;
            range->hi = range->hi < hi ? range->hi : hi;
        }
    return true;
}

static void add_loop(struct loops *l, const struct walk *w, int axis, int64_t extent)
{
    int i = l->n++;
    l->extent[i] = extent;
    for (int m = 0; m < l->n_maps; m++)
        l->step[m][i] = w->map[m].step[axis];
}

/* Loop i lies outside loop j: it has longer steps. */
static bool outside(const struct loops *l, int i, int j)
{
    int64_t most_i = 0, most_j = 0;
    for (int m = 0; m < l->n_maps; m++) {
        most_i = l->step[m][i] > most_i ? l->step[m][i] : most_i;
        most_j = l->step[m][j] > most_j ? l->step[m][j] : most_j;
    }
    return most_i != most_j ? most_i > most_j : l->step[0][i] > l->step[0][j];
}

static void swap_loops(struct loops *l, int i, int j)
{
    int64_t extent = l->extent[i];
    l->extent[i] = l->extent[j];
    l->extent[j] = extent;
    for (int m = 0; m < l->n_maps; m++) {
        int64_t step = l->step[m][i];
        l->step[m][i] = l->step[m][j];
        l->step[m][j] = step;
    }
}

/* Merge loops i and i + 1 if every map continues from one to the next without a gap. */
static bool merge(struct loops *l, int i)
{
    for (int m = 0; m < l->n_maps; m++)
        if (l->step[m][i] != l->step[m][i + 1] * l->extent[i + 1])
            return false;
    l->extent[i] *= l->extent[i + 1];
    for (int m = 0; m < l->n_maps; m++)
        l->step[m][i] = l->step[m][i + 1];
    l->n--;
    for (int k = i + 1; k < l->n; k++)
        swap_loops(l, k, k + 1);
    return true;
}

bool hp_loops(struct loops *l, const struct walk *w)
{
    l->n_maps = w->n_maps;
    l->n = 0;
    l->empty = l->started = false;
    for (int m = 0; m < w->n_maps; m++)
        l->at[m] = w->map[m].start;
    for (int a = 0; a < WALK_AXES; a++) {
        struct range range = w->range[a];
        if (!(w->axes >> a & 1))
            continue;
        if (!clip(w, a, &range))
            return false;
        l->empty |= hp_range_empty(range);
        for (int m = 0; m < w->n_maps; m++)
            l->at[m] += w->map[m].step[a] * range.lo;
        if (range.hi - range.lo > 1)
            add_loop(l, w, a, range.hi - range.lo);
    }
    for (int i = 1; i < l->n; i++)
        for (int j = i; j > 0 && outside(l, j, j - 1); j--)
            swap_loops(l, j, j - 1);
    for (int i = l->n - 2; i >= 0; i--)
        merge(l, i);
    return true;
}

int64_t hp_loops_points(const struct loops *l)
{
    int64_t points = !l->empty;
    for (int i = 0; i < l->n; i++)
        points *= l->extent[i];
    return points;
}

int64_t hp_loops_elements(const struct loops *l, int m)
{
    int64_t elements = !l->empty;
    for (int i = 0; i < l->n; i++)
        elements *= l->step[m][i] ? l->extent[i] : 1;
    return elements;
}

static bool start(struct loops *l)
{
    int last = l->n - 1;
    l->started = true;
    memset(l->index, 0, sizeof l->index);
    l->count = last < 0 ? 1 : l->extent[last];
    for (int m = 0; m < l->n_maps; m++)
        l->run[m] = last < 0 ? 0 : l->step[m][last];
    return !l->empty;
}

bool hp_loops_next(struct loops *l)
{
    if (!l->started)
        return start(l);
    for (int i = l->n - 2; i >= 0; i--) {
        for (int m = 0; m < l->n_maps; m++)
            l->at[m] += l->step[m][i];
        if (++l->index[i] < l->extent[i])
            return true;
        for (int m = 0; m < l->n_maps; m++)
            l->at[m] -= l->step[m][i] * l->extent[i];
        l->index[i] = 0;
    }
    return false;
}

/* Products ------------------------------------------------------------------------------ */

/* The role of a loop in a product, by the maps that it moves. */
enum role { ROLE_BATCH, ROLE_M, ROLE_N, ROLE_K, ROLE_NONE };

static enum role role_of(const struct loops *l, int i)
{
    static const enum role roles[8] = { ROLE_NONE, ROLE_NONE, ROLE_NONE, ROLE_M,
                                        ROLE_NONE, ROLE_N,    ROLE_K,    ROLE_BATCH };
    return roles[(l->step[0][i] != 0) | (l->step[1][i] != 0) << 1 | (l->step[2][i] != 0) << 2];
}

/* One dimension of the matrices: a loop, or none. */
struct side {
    int loop;
    int64_t extent, step[3];
};

static struct side side_of(const struct loops *l, int i)
{
    if (i < 0)
        return (struct side){ -1, 1, { 1, 1, 1 } };
    return (struct side){ i, l->extent[i], { l->step[0][i], l->step[1][i], l->step[2][i] } };
}

/* The layout of a matrix in map `m` with these rows and columns; false: it is no matrix. */
static bool stored(const struct side *rows, const struct side *columns, int m, bool *transposed,
                   int64_t *ld)
{
    *transposed = !(columns->extent == 1 || columns->step[m] == 1);
    const struct side *inner = *transposed ? rows : columns;
    const struct side *outer = *transposed ? columns : rows;
    if (inner->extent > 1 && inner->step[m] != 1)
        return false;
    *ld = outer->extent > 1 ? outer->step[m] : inner->extent;
    return *ld >= inner->extent && *ld <= INT32_MAX;
}

static bool fits(struct product *p, const struct side *m, const struct side *n,
                 const struct side *k)
{
    bool z_transposed;
    if (m->extent > INT32_MAX || n->extent > INT32_MAX || k->extent > INT32_MAX ||
        !stored(m, n, 0, &z_transposed, &p->ldc) ||
        !stored(m, k, 1, &p->a_transposed, &p->lda) ||
        !stored(k, n, 2, &p->b_transposed, &p->ldb))
        return false;
    p->m = m->extent;
    p->n = n->extent;
    p->k = k->extent;
    p->swapped = z_transposed;
    return true;
}

/* z' = b' a' */
static void swap_factors(struct product *p)
{
    struct product old = *p;
    p->m = old.n;
    p->n = old.m;
    p->lda = old.ldb;
    p->ldb = old.lda;
    p->a_transposed = !old.b_transposed;
    p->b_transposed = !old.a_transposed;
}

/* The loops of a role that may be a side: all, or "none" if there are none. */
static int candidates(const struct loops *l, enum role role, int *list)
{
    int n = 0;
    for (int i = 0; i < l->n; i++)
        if (role_of(l, i) == role)
            list[n++] = i;
    if (n == 0)
        list[n++] = -1;
    return n;
}

static void leave_outer(struct product *p, const struct loops *l, const int chosen[3])
{
    p->outer = *l;
    p->outer.n = 0;
    for (int sums = 0; sums < 2; sums++) /* loops that sum come inside of loops that do not */
        for (int i = 0; i < l->n; i++) {
            if (i == chosen[0] || i == chosen[1] || i == chosen[2] ||
                sums != (l->step[0][i] == 0))
                continue;
            int to = p->outer.n++;
            p->sums[to] = sums;
            p->outer.extent[to] = l->extent[i];
            for (int m = 0; m < 3; m++)
                p->outer.step[m][to] = l->step[m][i];
        }
    /* one more, so that each run is one product */
    int last = p->outer.n++;
    p->sums[last] = true;
    p->outer.extent[last] = 1;
    for (int m = 0; m < 3; m++)
        p->outer.step[m][last] = 0;
}

/* Merge loops of one role that every map traverses without a gap. */
static void merge_roles(struct loops *l)
{
    for (int i = 0; i < l->n; i++)
        for (int j = i + 1; j < l->n; j++) {
            if (role_of(l, i) != role_of(l, j))
                continue;
            for (int k = j; k > i + 1; k--)
                swap_loops(l, k, k - 1);
            if (merge(l, i)) {
                i = -1;
                break;
            }
        }
}

bool hp_product(struct product *p, const struct loops *loops)
{
    struct loops l = *loops;
    int m[WALK_AXES], n[WALK_AXES], k[WALK_AXES], chosen[3] = { -1, -1, -1 };
    double best = 0;
    merge_roles(&l);
    for (int i = 0; i < l.n; i++)
        if (role_of(&l, i) == ROLE_NONE)
            return false;
    int n_m = candidates(&l, ROLE_M, m), n_n = candidates(&l, ROLE_N, n);
    int n_k = candidates(&l, ROLE_K, k);
    for (int i = 0; i < n_m * n_n * n_k; i++) {
        int choice[3] = { m[i / (n_n * n_k)], n[i / n_k % n_n], k[i % n_k] };
        struct side sides[3];
        for (int s = 0; s < 3; s++)
            sides[s] = side_of(&l, choice[s]);
        double size =
            (double)sides[0].extent * (double)sides[1].extent * (double)sides[2].extent;
        struct product tried;
        if (size > best && fits(&tried, &sides[0], &sides[1], &sides[2])) {
            best = size;
            memcpy(chosen, choice, sizeof chosen);
            *p = tried;
        }
    }
    if (best == 0)
        return false;
    leave_outer(p, &l, chosen);
    if (p->swapped)
        swap_factors(p);
    return true;
}
