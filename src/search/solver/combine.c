/* The inner loops of an elimination: add the factors of a group and take the minimum over the
 * states of one variable. The last variable of each table is contiguous, and all factors of a
 * bucket list their variables in the same order. So some neighbouring variables of the result
 * form rows that a loop passes without gaps. */
#include "search/solver/combine.h"

#include <math.h>

enum {
    SHORT_ROW = 16,  /* a shorter row costs more to start than to add */
    LONG_ROW = 1024, /* limit for joining rows: a row stays in the first-level cache */
    LANES = 8
};

/* A factor, as the loops over the variables of the result read it. */
struct term {
    const double *at;
    size_t state_stride; /* distance from one state of the eliminated variable to the next */
    size_t *stride;      /* of each variable of the result; 0: the factor does not have this
                          * variable */
};

static void lower_row(double *restrict out, const double *restrict row, double add, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double x = row[i] + add;
        out[i] = x < out[i] ? x : out[i];
    }
}

/* lower_row() for four rows, `state_stride` apart: `out` is read and written once. */
static void lower_rows(double *restrict out, const double *restrict row, size_t state_stride,
                       const double *restrict add, size_t n)
{
    const double *r1 = row + state_stride, *r2 = r1 + state_stride, *r3 = r2 + state_stride;
    double a0 = add[0], a1 = add[1], a2 = add[2], a3 = add[3];
    for (size_t i = 0; i < n; i++) {
        double x0 = row[i] + a0, x1 = r1[i] + a1, x2 = r2[i] + a2, x3 = r3[i] + a3;
        double y0 = x0 < x1 ? x0 : x1, y1 = x2 < x3 ? x2 : x3;
        double y = y0 < y1 ? y0 : y1;
        out[i] = y < out[i] ? y : out[i];
    }
}

/* Set out[i] to the minimum over n rows of row[i] + the row's entry in `add`. Rows are
 * `state_stride` apart. */
static void lower_all(double *out, const double *row, size_t state_stride, const double *add,
                      int n, size_t length)
{
    for (size_t i = 0; i < length; i++)
        out[i] = INFINITY;
    int x = 0;
    for (; x + 4 <= n; x += 4, row += 4 * state_stride)
        lower_rows(out, row, state_stride, &add[x], length);
    for (; x < n; x++, row += state_stride)
        lower_row(out, row, add[x], length);
}

/* min over i of a[i] + b[i]. The lanes are independent, since a compiler may not reorder a
 * minimum. */
static double least_sum(const double *restrict a, const double *restrict b, int n)
{
    double lane[LANES], least = INFINITY;
    int i = 0;
    if (n >= LANES) {
        for (int l = 0; l < LANES; l++)
            lane[l] = a[l] + b[l];
        for (i = LANES; i + LANES <= n; i += LANES)
            for (int l = 0; l < LANES; l++) {
                double x = a[i + l] + b[i + l];
                lane[l] = x < lane[l] ? x : lane[l];
            }
        for (int l = 0; l < LANES; l++)
            least = lane[l] < least ? lane[l] : least;
    }
    for (; i < n; i++)
        least = a[i] + b[i] < least ? a[i] + b[i] : least;
    return least;
}

/* Advance `digits` and all terms to the next setting of the first n variables; the last
 * variable runs fastest. Returns false after the last setting. */
static bool advance(const struct elimination_group *g, const int *scope, int n, int *digits,
                    struct term *terms, int n_terms)
{
    int d = n - 1;
    for (; d >= 0 && digits[d] + 1 == g->size[scope[d]]; d--) {
        for (int i = 0; i < n_terms; i++)
            terms[i].at -= terms[i].stride[d] * (size_t)digits[d];
        digits[d] = 0;
    }
    if (d < 0)
        return false;
    digits[d]++;
    for (int i = 0; i < n_terms; i++)
        terms[i].at += terms[i].stride[d];
    return true;
}

/* The strides of a factor in the variables `scope`; 0 for a variable that the factor does not
 * have. */
static size_t *strides_in(const struct elimination_group *g,
                          const struct elimination_factor *factor, const int *scope, int n)
{
    size_t *stride = NEW(g->arena, size_t, n);
    for (int d = 0, i = 0; d < n; d++) {
        while (i < factor->n && factor->scope[i] < scope[d])
            i++;
        if (i < factor->n && factor->scope[i] == scope[d])
            stride[d] = factor->stride[i];
    }
    return stride;
}

size_t *hp_elimination_strides(struct arena *arena, const int *size, const int *scope, int n,
                               size_t *n_entries)
{
    size_t *stride = NEW(arena, size_t, n), entries = 1;
    for (int d = n - 1; d >= 0; d--) {
        stride[d] = entries;
        entries *= (size_t)size[scope[d]];
    }
    *n_entries = entries;
    return stride;
}

/* Add a factor to a dense table over `scope`, which contains the factor's scope. The last
 * variables run as one loop if the factor has all of them, contiguous, or none of them. */
static void add_to_table(const struct elimination_group *g, double *table, const int *scope,
                         int n, const struct elimination_factor *factor)
{
    struct term term = { factor->table, 0, strides_in(g, factor, scope, n) };
    int *digits = NEW(g->arena, int, n), first = n - 1;
    size_t length = (size_t)g->size[scope[first]], stride = term.stride[first];
    for (; first > 0 && term.stride[first - 1] == stride * length; first--)
        length *= (size_t)g->size[scope[first - 1]];
    do {
        if (stride == 0)
            for (size_t i = 0; i < length; i++)
                table[i] += *term.at;
        else if (stride == 1)
            for (size_t i = 0; i < length; i++)
                table[i] += term.at[i];
        else
            for (size_t i = 0; i < length; i++)
                table[i] += term.at[i * stride];
        table += length;
    } while (advance(g, scope, first, digits, &term, 1));
}

static bool contains(const struct elimination_factor *outer,
                     const struct elimination_factor *inner)
{
    if (inner->n > outer->n)
        return false;
    int i = 0;
    for (int d = 0; d < outer->n && i < inner->n; d++)
        i += outer->scope[d] == inner->scope[i];
    return i == inner->n;
}

/* For each member, the earlier member that its table is added to, or -1. Members are added if
 * they are parallel (OptCNN Eq. 3), or if a larger member has all their variables and the
 * addition saves work in the inner loop. The order of members is largest scope first. */
static int *find_hosts(const struct elimination_group *g, int last)
{
    int *host = NEW(g->arena, int, g->n_members);
    for (int i = 0; i < g->n_members; i++) {
        const struct elimination_factor *factor = &g->factors[g->members[i]];
        bool in_row = factor->scope[factor->n - 1] == last;
        host[i] = -1;
        for (int j = 0; j < i && host[i] < 0; j++) {
            const struct elimination_factor *other = &g->factors[g->members[j]];
            bool useful = in_row || other->n == factor->n || g->size[last] < SHORT_ROW;
            if (host[j] < 0 && useful && contains(other, factor))
                host[i] = j;
        }
    }
    return host;
}

/* A dense copy of member i, plus all members whose host is i. */
static struct elimination_factor add_up(const struct elimination_group *g, const int *host,
                                        int i)
{
    struct elimination_factor sum = g->factors[g->members[i]];
    size_t entries;
    sum.stride = hp_elimination_strides(g->arena, g->size, sum.scope, sum.n, &entries);
    double *table = NEW(g->arena, double, entries);
    for (int j = i; j < g->n_members; j++)
        if (j == i || host[j] == i)
            add_to_table(g, table, sum.scope, sum.n, &g->factors[g->members[j]]);
    sum.table = table;
    return sum;
}

/* Make the terms of a group of factors; returns their number. A pair whose table has the other
 * variable contiguous is copied in the order of the rows. */
static int make_terms(const struct elimination_group *g, struct term *terms)
{
    int last = g->scope[g->n_scope - 1], n_terms = 0;
    const int *host = find_hosts(g, last);
    for (int i = 0; i < g->n_members; i++) {
        if (host[i] >= 0)
            continue;
        struct elimination_factor factor = g->factors[g->members[i]];
        bool copy = factor.scope[factor.n - 1] == last && factor.stride[factor.n - 1] != 1;
        for (int j = i + 1; j < g->n_members; j++)
            copy |= host[j] == i;
        if (copy)
            factor = add_up(g, host, i);
        terms[n_terms++] = (struct term){ factor.table, factor.stride[0],
                                          strides_in(g, &factor, g->scope, g->n_scope) };
    }
    return n_terms;
}

/* Neighbouring variables of the result. Each term has all of them, contiguous, or none of them,
 * so the inner loops pass over their settings as one row. */
struct run {
    int first, end;
    size_t length;
};

/* The longest run that ends before variable `end`; length 0: there is none. */
static struct run run_before(const struct elimination_group *g, const struct term *terms,
                             int n_terms, int end)
{
    struct run run = { end, end, 1 };
    while (run.first > 0 && run.length < LONG_ROW) {
        for (int i = 0; i < n_terms; i++) {
            const size_t *stride = terms[i].stride;
            if (stride[run.first - 1] != (stride[end - 1] ? run.length : 0)) {
                run.length = run.first == end ? 0 : run.length;
                return run;
            }
        }
        run.length *= (size_t)g->size[g->scope[--run.first]];
    }
    return run;
}

/* The run of the last variables if its rows are long enough, else the longest run. */
static struct run choose_run(const struct elimination_group *g, const struct term *terms,
                             int n_terms)
{
    struct run best = run_before(g, terms, n_terms, g->n_scope);
    for (int end = g->n_scope - 1; end > 0 && best.length < SHORT_ROW; end--) {
        struct run run = run_before(g, terms, n_terms, end);
        if (run.length > best.length)
            best = run;
    }
    return best;
}

/* The inputs of one row of the result. */
struct row {
    const struct term *terms; /* the first n_flat are constant along the row */
    int n_flat, n_terms;
    size_t length;
    double *add, *sum; /* scratch: a number for each state, a row */
};

/* Fill one row: the minimum over the states of the eliminated variable. */
static void lower_by_states(const struct elimination_group *g, const struct row *row,
                            double *out)
{
    int n_states = g->size[g->var], x = 0;
    for (x = 0; x < n_states; x++)
        row->add[x] = g->unary ? g->unary[x] : 0;
    for (int i = 0; i < row->n_flat; i++)
        for (x = 0; x < n_states; x++)
            row->add[x] += row->terms[i].at[(size_t)x * row->terms[i].state_stride];

    const struct term *first = &row->terms[row->n_flat];
    if (row->n_terms - row->n_flat == 1) {
        lower_all(out, first->at, first->state_stride, row->add, n_states, row->length);
        return;
    }
    for (size_t i = 0; i < row->length; i++)
        out[i] = INFINITY;
    for (x = 0; x < n_states; x++) {
        const double *from = first->at + (size_t)x * first->state_stride;
        for (int i = row->n_flat + 1; i < row->n_terms; i++) {
            const double *more = row->terms[i].at + (size_t)x * row->terms[i].state_stride;
            for (size_t k = 0; k < row->length; k++)
                row->sum[k] = from[k] + more[k];
            from = row->sum;
        }
        lower_row(out, from, row->add[x], row->length);
    }
}

/* Prepare the loops over the rows of a run: constant terms move to the front, and the variables
 * of the run leave the outer loops. Returns the number of constant terms; *scope lists the
 * variables of the outer loops. */
static int arrange(const struct elimination_group *g, const struct run *run, struct term *terms,
                   int n_terms, int **scope)
{
    int n_flat = 0, width = run->end - run->first;
    for (int i = 0; i < n_terms; i++)
        if (!terms[i].stride[run->end - 1]) {
            struct term flat = terms[i];
            terms[i] = terms[n_flat];
            terms[n_flat++] = flat;
        }
    *scope = NEW(g->arena, int, g->n_scope);
    for (int d = 0; d < g->n_scope - width; d++)
        (*scope)[d] = g->scope[d < run->first ? d : d + width];
    for (int i = 0; i <= n_terms; i++)
        for (int d = run->first; d < g->n_scope - width; d++)
            terms[i].stride[d] = terms[i].stride[d + width];
    return n_flat;
}

/* The general case: any number of neighbours. */
static void combine_many(const struct elimination_group *g, double *out)
{
    struct arena_mark mark = hp_arena_mark(g->arena);
    struct term *terms = NEW(g->arena, struct term, g->n_members + 1);
    int n_terms = make_terms(g, terms);
    struct run run = choose_run(g, terms, n_terms);
    size_t entries;
    struct term *result = &terms[n_terms]; /* advances with the terms: points at the row of the
                                            * result */
    *result = (struct term){
        out, 0, hp_elimination_strides(g->arena, g->size, g->scope, g->n_scope, &entries)
    };
    size_t spacing = result->stride[run.end - 1];
    int *scope, n_outer = g->n_scope - (run.end - run.first);
    struct row row = { .terms = terms, .n_terms = n_terms, .length = run.length };
    row.n_flat = arrange(g, &run, terms, n_terms, &scope);
    row.add = NEW(g->arena, double, g->size[g->var]);
    row.sum = n_terms - row.n_flat > 1 ? NEW(g->arena, double, run.length) : NULL;

    int *digits = NEW(g->arena, int, g->n_scope);
    double *spread = spacing > 1 ? NEW(g->arena, double, run.length) : NULL;
    do {
        double *to = out + (result->at - out);
        lower_by_states(g, &row, spread ? spread : to);
        for (size_t i = 0; spread && i < run.length; i++)
            to[i * spacing] = spread[i];
    } while (!hp_stopped(g->stop) && advance(g, scope, n_outer, digits, terms, n_terms + 1));
    hp_arena_release(g->arena, mark);
}

/* One neighbour and one edge, as in a chain: O(states^2), in either order of the edge's
 * table. */
static void combine_edge(const struct elimination_group *g, double *out)
{
    const struct elimination_factor *edge = &g->factors[g->members[0]];
    int n_states = g->size[g->var];
    size_t length = (size_t)g->size[g->scope[0]];
    if (edge->stride[1] == 1)
        lower_all(out, edge->table, edge->stride[0], g->unary, n_states, length);
    else
        for (size_t i = 0; i < length; i++)
            out[i] = least_sum(g->unary, edge->table + i * edge->stride[1], n_states);
}

void hp_elimination_combine(const struct elimination_group *group, double *out)
{
    if (group->n_scope == 1 && group->n_members == 1 && group->unary)
        combine_edge(group, out);
    else
        combine_many(group, out);
}
