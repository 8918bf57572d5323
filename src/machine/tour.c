/* Short closed tours. There are two initial tours. One always goes to the nearest place, which
 * is best on a ring. The other pairs places that are nearest to each other, then patches pairs
 * and larger cycles together where that costs least (Karp, "A patching algorithm for the
 * nonsymmetric traveling-salesman problem", 1979), which is best on trees and often on grids.
 * The shorter one is improved by the moves of Lin and Kernighan ("An effective heuristic
 * algorithm for the traveling-salesman problem", 1973), restarted near edges that are too
 * long. */
#include "machine/tour.h"

#include "base/random.h"

#include <limits.h>
#include <string.h>

enum {
    MAX_NEAR = 8, /* neighbours that are considered */
    MAX_DEPTH = 6,
    MAX_KICK = 30, /* places in a part of the tour that is moved */
};

struct flip {
    int first, last; /* positions */
};

struct search {
    struct tour_problem problem;
    struct arena arena;
    int n_near, *near;      /* [place * n_near + i], nearest first */
    int *next, *before;     /* while there are several cycles */
    int *at, *position;     /* later the tour: place by position, position by place */
    bool mirrored;          /* the tour is read backwards */
    int n_flips, max_flips; /* since the last start */
    struct flip *flip;
    int n_queued, *queue; /* places whose edges have changed */
    bool *queued;
    int64_t total; /* the tour's length */
    int64_t steps;
    struct random random;
};

static int length_of(const struct search *s, int a, int b)
{
    return s->problem.length[(int64_t)a * s->problem.n + b];
}

/* Neighbours ----------------------------------------------------------------------------- */

/* Among equals, the next in number, so that every place is some place's neighbour. */
static void find_near(struct search *s)
{
    int n = s->problem.n, n_near = n - 1 < MAX_NEAR ? n - 1 : MAX_NEAR;
    s->n_near = n_near;
    s->near = NEW(&s->arena, int, n *n_near);
    for (int a = 0; a < n; a++) {
        int *near = s->near + a * n_near, count = 0;
        for (int step = 1; step < n; step++) {
            int b = (a + step) % n, length = length_of(s, a, b), i = count;
            if (count == n_near && length >= length_of(s, a, near[count - 1]))
                continue;
            count += count < n_near;
            for (i = count - 1; i > 0 && length_of(s, a, near[i - 1]) > length; i--)
                near[i] = near[i - 1];
            near[i] = b;
        }
    }
}

static int shortest(const struct search *s, int a)
{
    return length_of(s, a, s->near[a * s->n_near]);
}

/* The number of free neighbours that are as near as any; *best has the fewest such neighbours
 * itself. */
static int count_free(const struct search *s, int a, const int *n_free, int *best)
{
    int count = 0;
    *best = -1;
    for (int i = 0; i < s->n_near; i++) {
        int b = s->near[a * s->n_near + i];
        if (s->next[b] != b || length_of(s, a, b) > shortest(s, a))
            continue;
        count++;
        if (*best < 0 || n_free[b] < n_free[*best])
            *best = b;
    }
    return count;
}

/* Pair places with their nearest. The place with the fewest choices goes first, so that few
 * remain alone. */
static void pair_places(struct search *s)
{
    int n = s->problem.n, *n_free = NEW(&s->arena, int, n), best;
    for (int a = 0; a < n; a++)
        s->next[a] = s->before[a] = a;
    for (int a = 0; a < n; a++)
        n_free[a] = count_free(s, a, n_free, &best);
    for (;;) {
        int first = -1;
        for (int a = 0; a < n; a++)
            if (s->next[a] == a && n_free[a] > 0 && (first < 0 || n_free[a] < n_free[first]))
                first = a;
        if (first < 0)
            return;
        n_free[first] = count_free(s, first, n_free, &best);
        if (best < 0)
            continue;
        s->next[first] = s->before[first] = best;
        s->next[best] = s->before[best] = first;
        for (int i = 0; i < 2 * s->n_near; i++) {
            int b = s->near[(i % 2 ? first : best) * s->n_near + i / 2], other;
            n_free[b] = count_free(s, b, n_free, &other);
        }
    }
}

/* Patching ------------------------------------------------------------------------------- */

/* Merging two cycles: edges a - a_next and b - b_next are replaced by a - b and a_next -
 * b_next, or (`straight`) by a - b_next and a_next - b. */
struct patch {
    int a, a_next, b, b_next;
    bool straight;
    int cost;
};

static int number_cycles(const struct search *s, int *cycle)
{
    int count = 0;
    for (int a = 0; a < s->problem.n; a++)
        cycle[a] = -1;
    for (int a = 0; a < s->problem.n; a++) {
        if (cycle[a] >= 0)
            continue;
        int b = a;
        do
            cycle[b] = count;
        while ((b = s->next[b]) != a);
        count++;
    }
    return count;
}

/* The cheapest patch of every cycle; among equals one with a close number, so that cycles want
 * different patches. */
static void find_patches(const struct search *s, const int *cycle, int n_cycles,
                         struct patch *best)
{
    int n = s->problem.n;
    for (int c = 0; c < n_cycles; c++)
        best[c].cost = INT_MAX;
    for (int a = 0; a < n; a++) {
        const int *from = s->problem.length + (int64_t)a * n;
        const int *from_next = s->problem.length + (int64_t)s->next[a] * n;
        for (int b = a + 1; b < n; b++) {
            if (cycle[a] == cycle[b])
                continue;
            struct patch patch = { .a = a, .a_next = s->next[a], .b = b, .b_next = s->next[b] };
            int crossed = from[b] + from_next[patch.b_next];
            int straight = from[patch.b_next] + from_next[b];
            patch.straight = straight <= crossed;
            patch.cost = (patch.straight ? straight : crossed) - from[patch.a_next] -
                         length_of(s, b, patch.b_next);
            if (patch.cost < best[cycle[a]].cost)
                best[cycle[a]] = patch;
            if (patch.cost <= best[cycle[b]].cost)
                best[cycle[b]] = patch;
        }
    }
}

static void turn_cycle(struct search *s, int a)
{
    int b = a;
    do {
        int next = s->next[b];
        s->next[b] = s->before[b];
        s->before[b] = next;
        b = next;
    } while (b != a);
}

static void join(struct search *s, int a, int b)
{
    s->next[a] = b;
    s->before[b] = a;
}

static bool same_cycle(const struct search *s, int a, int b)
{
    int at = a;
    do
        if (at == b)
            return true;
    while ((at = s->next[at]) != a);
    return false;
}

/* Make the edge from a to `next` go forwards in its cycle; false: the edge is gone. */
static bool go_forwards(struct search *s, int a, int next)
{
    if (s->next[a] != next && s->before[a] == next)
        turn_cycle(s, a);
    return s->next[a] == next;
}

/* Apply a patch, if it is still valid. */
static void apply(struct search *s, const struct patch *patch)
{
    int a = patch->a, b = patch->b;
    if (same_cycle(s, a, b) || !go_forwards(s, a, patch->a_next) ||
        !go_forwards(s, b, patch->b_next))
        return;
    if (patch->straight) {
        join(s, a, patch->b_next);
        join(s, b, patch->a_next);
    } else {
        turn_cycle(s, b);
        join(s, a, b);
        join(s, patch->b_next, patch->a_next);
    }
}

/* In each round every cycle finds its cheapest patch. */
static void patch_cycles(struct search *s)
{
    int n = s->problem.n, *cycle = NEW(&s->arena, int, n), n_cycles;
    struct patch *best = NEW(&s->arena, struct patch, n);
    while ((n_cycles = number_cycles(s, cycle)) > 1) {
        find_patches(s, cycle, n_cycles, best);
        for (int c = 0; c < n_cycles; c++)
            apply(s, &best[c]);
    }
}

/* Going to the nearest place ------------------------------------------------------------- */

/* Among equals, the place with the fewest unvisited neighbours (Warnsdorff). */
static int nearest(const struct search *s, int from, const bool *seen, const int *n_left)
{
    int best = -1;
    for (int a = 0; a < s->problem.n; a++) {
        if (seen[a])
            continue;
        int further = best < 0 ? -1 : length_of(s, from, a) - length_of(s, from, best);
        if (further < 0 || (further == 0 && n_left[a] < n_left[best]))
            best = a;
    }
    return best;
}

static void walk(struct search *s, int *tour)
{
    int n = s->problem.n, *n_left = NEW(&s->arena, int, n);
    bool *seen = NEW(&s->arena, bool, n);
    for (int a = 0; a < n; a++)
        n_left[a] = s->n_near;
    for (int i = 0, at = 0; i < n; i++) {
        tour[i] = at;
        seen[at] = true;
        for (int k = 0; k < s->n_near; k++) {
            int b = s->near[at * s->n_near + k];
            n_left[b] -= length_of(s, at, b) == shortest(s, b);
        }
        at = nearest(s, at, seen, n_left);
    }
}

/* Moves ---------------------------------------------------------------------------------- */

static int after(const struct search *s, int a)
{
    int n = s->problem.n, i = s->position[a] + (s->mirrored ? -1 : 1);
    return s->at[i < 0 ? n - 1 : i == n ? 0 : i];
}

static void exchange(struct search *s, int i, int j)
{
    int a = s->at[i], b = s->at[j];
    s->at[i] = b;
    s->position[b] = i;
    s->at[j] = a;
    s->position[a] = j;
}

static void touch(struct search *s, int position)
{
    int a = s->at[position];
    if (s->queued[a])
        return;
    s->queued[a] = true;
    s->queue[s->n_queued++] = a;
}

/* Reverse the part of the tour between two positions; reversing the rest instead gives the same
 * tour, and may be shorter. */
static void turn_part(struct search *s, struct flip part)
{
    int n = s->problem.n, count = (part.last - part.first + n) % n + 1;
    int i = part.first, j = part.last;
    int a = s->at[(i + n - 1) % n], b = s->at[i], c = s->at[j], d = s->at[(j + 1) % n];
    s->total += (int64_t)length_of(s, a, c) + length_of(s, b, d) - length_of(s, a, b) -
                length_of(s, c, d);
    if (2 * count > n) {
        i = (part.last + 1) % n;
        j = (part.first + n - 1) % n;
        count = n - count;
    }
    s->steps -= count;
    for (int k = 0; k < count / 2; k++) {
        exchange(s, i, j);
        i = i + 1 == n ? 0 : i + 1;
        j = j == 0 ? n - 1 : j - 1;
    }
}

static void flip(struct search *s, int first, int last)
{
    struct flip part = { first, last };
    s->flip = GROW(&s->arena, struct flip, s->flip, s->n_flips, &s->max_flips);
    s->flip[s->n_flips++] = part;
    turn_part(s, part);
}

/* Reversing a part again restores it. */
static void undo(struct search *s, int n_flips)
{
    while (s->n_flips > n_flips)
        turn_part(s, s->flip[--s->n_flips]);
}

/* The edge from `first` to the next place has been removed, with edges of `gain` in all.
 * Exchange one more edge, until the tour that is closed by an edge back to `first` is shorter.
 * False: the tour is unchanged. */
static bool exchange_edges(struct search *s, int first, int64_t gain, int depth)
{
    static const int breadth[MAX_DEPTH] = { MAX_NEAR, 5, 3, 2, 1, 1 };
    int loose = after(s, first), tried = 0;
    for (int i = 0; i < s->n_near && tried < breadth[depth]; i++) {
        int to = s->near[loose * s->n_near + i];
        int64_t left = gain - length_of(s, loose, to);
        s->steps--;
        if (left <= 0)
            break;
        s->mirrored = !s->mirrored;
        int end = after(s, to);
        s->mirrored = !s->mirrored;
        if (to == first || end == loose)
            continue;
        tried++;
        int before = s->n_flips;
        left += length_of(s, end, to);
        if (s->mirrored)
            flip(s, s->position[end], s->position[loose]);
        else
            flip(s, s->position[loose], s->position[end]);
        /* If the rest was reversed instead, the tour now runs the other way. */
        bool mirrored = s->mirrored;
        s->mirrored = after(s, first) == end ? mirrored : !mirrored;
        bool shorter = left > length_of(s, first, end) ||
                       (depth + 1 < MAX_DEPTH && exchange_edges(s, first, left, depth + 1));
        s->mirrored = mirrored;
        if (shorter)
            return true;
        undo(s, before);
    }
    return false;
}

/* Exchange edges at the queued places while this helps. */
static void improve(struct search *s)
{
    int n = s->problem.n;
    while (s->n_queued > 0) {
        int a = s->queue[--s->n_queued];
        s->queued[a] = false;
        for (int side = 0; side < 2 && s->steps > 0; side++) {
            int before = s->n_flips;
            s->mirrored = side;
            exchange_edges(s, a, length_of(s, a, after(s, a)), 0);
            for (int f = before; f < s->n_flips; f++) {
                touch(s, s->flip[f].first);
                touch(s, (s->flip[f].first + n - 1) % n);
                touch(s, s->flip[f].last);
                touch(s, (s->flip[f].last + 1) % n);
            }
        }
    }
    s->mirrored = false;
}

/* Search --------------------------------------------------------------------------------- */

static bool enough(struct search *s)
{
    s->steps -= s->problem.n;
    return s->problem.judge(s->problem.who, s->at) || s->steps <= 0;
}

/* The first position from a random one on whose edge is longer than necessary. */
static int choose_position(struct search *s)
{
    int n = s->problem.n, start = (int)hp_random_below(&s->random, n);
    for (int i = 0; i < n; i++) {
        int p = (start + i) % n, a = s->at[p], b = s->at[(p + 1) % n];
        if (length_of(s, a, b) > shortest(s, a) || length_of(s, a, b) > shortest(s, b))
            return p;
    }
    return start;
}

/* Swap two adjacent parts near an edge that is too long: this replaces three edges in a way
 * that the moves above do not find. */
static void kick(struct search *s)
{
    int n = s->problem.n, most = n / 4 < MAX_KICK ? n / 4 : MAX_KICK;
    int one = 1 + (int)hp_random_below(&s->random, most);
    int two = 1 + (int)hp_random_below(&s->random, most);
    int first = choose_position(s) + 1;
    s->steps -= n / 8; /* the cost of finding it */
    if (hp_random_below(&s->random, 2))
        first += n - one; /* it lies between the parts */
    flip(s, first % n, (first + one + two - 1) % n);
    flip(s, first % n, (first + two - 1) % n);
    flip(s, (first + two) % n, (first + one + two - 1) % n);
    int ends[] = { n - 1, 0, two - 1, two, one + two - 1, one + two };
    for (int i = 0; i < 6; i++)
        touch(s, (first + ends[i]) % n);
}

static int64_t total_of(const struct search *s, const int *tour)
{
    int64_t sum = 0;
    for (int i = 0; i < s->problem.n; i++)
        sum += length_of(s, tour[i], tour[(i + 1) % s->problem.n]);
    return sum;
}

/* Fill at[] with the shorter of the two initial tours. */
static void choose_tour(struct search *s)
{
    int n = s->problem.n, *walked = NEW(&s->arena, int, n);
    pair_places(s);
    patch_cycles(s);
    for (int i = 0, a = 0; i < n; i++, a = s->next[a])
        s->at[i] = a;
    walk(s, walked);
    if (total_of(s, walked) < total_of(s, s->at))
        memcpy(s->at, walked, (size_t)n * sizeof *walked);
}

static void begin(struct search *s)
{
    int n = s->problem.n;
    s->next = NEW(&s->arena, int, n);
    s->before = NEW(&s->arena, int, n);
    s->at = NEW(&s->arena, int, n);
    s->position = NEW(&s->arena, int, n);
    s->queue = NEW(&s->arena, int, n);
    s->queued = NEW(&s->arena, bool, n);
    find_near(s);
    choose_tour(s);
    s->total = total_of(s, s->at);
    for (int i = 0; i < n; i++) {
        s->position[s->at[i]] = i;
        touch(s, i);
    }
}

void hp_tour_search(const struct tour_problem *problem, int64_t steps)
{
    struct search s = { .problem = *problem, .steps = steps };
    begin(&s);
    bool done = enough(&s);
    if (!done) {
        improve(&s);
        done = enough(&s);
    }
    while (!done) {
        int64_t before = s.total;
        s.n_flips = 0;
        kick(&s);
        improve(&s);
        if (s.total > before)
            undo(&s, 0);
        else
            done = enough(&s);
        done |= s.steps <= 0;
    }
    hp_arena_free(&s.arena);
}
