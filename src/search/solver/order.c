/* Finds the order of elimination on the graph alone: the size of each table is known before any
 * memory is allocated. The elimination of a variable makes its neighbours a clique. */
#include <assert.h>
#include <math.h>

#include "search/limits.h"
#include "search/solver/internal.h"

enum {
    LOG_BITS = 16,        /* fraction bits of a logarithm of a state count */
    WEIGHT_BITS = 36,     /* of a key; the number of fill edges is in the bits above */
    CHEAP_WORK = 1 << 16, /* with less work than this, a second order is not worth the search */
    MOST_BUDGET = HP_MOST_ADDITIONS / 32, /* counting fill edges is slow */
};

/* The pairs of adjacent variables: a hash table with open addressing. It only answers whether a
 * pair is present, so the hash order affects no result. */
struct pair_set {
    uint64_t *slots; /* 0: empty */
    size_t n_slots, used;
};

/* A variable of the graph that is being eliminated. */
struct node {
    int *list; /* neighbours, including variables already eliminated */
    int n, capacity;
    int degree;     /* neighbours not yet eliminated */
    int slot;       /* index in the heap; -1: eliminated */
    int64_t log;    /* log2 of the number of states in fixed point, so that sums are exact */
    int64_t weight; /* log2 of the entries of the table over the variable and its neighbours */
    int64_t key;    /* the variable with the least key goes next; of equals, the lowest index */
};

/* Which variable goes next when no end of a chain is left. */
enum rule {
    LEAST_TABLE,
    FEWEST_FILL_EDGES, /* and of equals the smallest table */
    LOWEST_INDEX       /* follows the network: good for a long network of even width */
};

struct interaction_graph {
    struct arena *arena;
    enum rule rule;
    const int *n_states;
    int n_vars;
    struct node *nodes;
    struct pair_set pairs;
    int *heap, n_heap;
    int n_parallel;
    int64_t budget; /* pairs that count_fill() may still test */
};

static uint64_t *find_slot(const struct pair_set *set, uint64_t pair)
{
    size_t i = (size_t)((pair * 0x9e3779b97f4a7c15u) >> 32) & (set->n_slots - 1);
    while (set->slots[i] && set->slots[i] != pair)
        i = (i + 1) & (set->n_slots - 1);
    return &set->slots[i];
}

static uint64_t pair_of(int a, int b)
{
    return a < b ? (uint64_t)a << 32 | (uint64_t)b : (uint64_t)b << 32 | (uint64_t)a;
}

static void resize_pairs(struct arena *arena, struct pair_set *set, size_t n_slots)
{
    struct pair_set larger = { NEW(arena, uint64_t, n_slots), n_slots, set->used };
    for (size_t i = 0; i < set->n_slots; i++)
        if (set->slots[i])
            *find_slot(&larger, set->slots[i]) = set->slots[i];
    *set = larger;
}

/* Insert a pair of different variables. Returns false if the set already has the pair. */
static bool add_pair(struct arena *arena, struct pair_set *set, int a, int b)
{
    if (2 * (set->used + 1) > set->n_slots)
        resize_pairs(arena, set, 2 * set->n_slots);
    uint64_t *slot = find_slot(set, pair_of(a, b));
    if (*slot)
        return false;
    *slot = pair_of(a, b);
    set->used++;
    return true;
}

static bool before(const struct interaction_graph *s, int a, int b)
{
    int64_t x = s->nodes[a].key, y = s->nodes[b].key;
    return x < y || (x == y && a < b);
}

static void place(struct interaction_graph *s, int v, int slot)
{
    s->heap[slot] = v;
    s->nodes[v].slot = slot;
}

static void sift_up(struct interaction_graph *s, int v)
{
    int slot = s->nodes[v].slot;
    for (int up; slot > 0 && before(s, v, s->heap[up = (slot - 1) / 2]); slot = up)
        place(s, s->heap[up], slot);
    place(s, v, slot);
}

static void sift_down(struct interaction_graph *s, int v)
{
    int slot = s->nodes[v].slot;
    for (;;) {
        int down = 2 * slot + 1;
        if (down + 1 < s->n_heap && before(s, s->heap[down + 1], s->heap[down]))
            down++;
        if (down >= s->n_heap || !before(s, s->heap[down], v))
            break;
        place(s, s->heap[down], slot);
        slot = down;
    }
    place(s, v, slot);
}

static void heap_remove(struct interaction_graph *s, int v)
{
    int slot = s->nodes[v].slot, last = s->heap[--s->n_heap];
    if (last != v) {
        place(s, last, slot);
        sift_up(s, last);
        sift_down(s, last);
    }
    s->nodes[v].slot = -1;
}

/* Remove eliminated variables from the node's list. */
static void refresh(struct interaction_graph *s, struct node *node)
{
    if (node->n == node->degree)
        return;
    int n = 0;
    for (int i = 0; i < node->n; i++)
        if (s->nodes[node->list[i]].slot >= 0)
            node->list[n++] = node->list[i];
    node->n = n;
    assert(n == node->degree);
}

/* The number of pairs of v's neighbours that are not adjacent yet. */
static int64_t count_fill(struct interaction_graph *s, int v)
{
    struct node *node = &s->nodes[v];
    refresh(s, node);
    s->budget -= (int64_t)node->n * (node->n - 1) / 2 + 1;
    if (s->budget < 0)
        return 0;
    int64_t fill = 0;
    for (int i = 0; i < node->n; i++)
        for (int j = 0; j < i; j++)
            fill += *find_slot(&s->pairs, pair_of(node->list[i], node->list[j])) == 0;
    return fill;
}

/* The key of a variable. Ends of chains come first: their elimination makes no table. */
static int64_t key_of(struct interaction_graph *s, int v)
{
    const struct node *node = &s->nodes[v];
    if (node->degree <= 1)
        return -1;
    if (s->rule == LEAST_TABLE)
        return node->weight;
    if (s->rule == LOWEST_INDEX)
        return v;
    int64_t limit = ((int64_t)1 << WEIGHT_BITS) - 1;
    int64_t weight = node->weight < limit ? node->weight : limit;
    return (count_fill(s, v) << WEIGHT_BITS) + weight;
}

static void update_key(struct interaction_graph *s, int v)
{
    int64_t key = key_of(s, v), old = s->nodes[v].key;
    s->nodes[v].key = key;
    if (key < old)
        sift_up(s, v);
    else if (key > old)
        sift_down(s, v);
}

/* log2 in fixed point by repeated squaring. It uses only integers, so the result is the same on
 * every machine. */
static int64_t fixed_log2(int n)
{
    uint64_t whole = 0;
    while (n >> (whole + 1))
        whole++;
    uint64_t y = ((uint64_t)n << 31) >> whole,
             log = whole; /* y in [1, 2), 31 bits of fraction */
    for (int bit = 0; bit < LOG_BITS; bit++) {
        y = (y * y) >> 31;
        log = log << 1 | y >> 32;
        y >>= y >> 32;
    }
    return (int64_t)log;
}

static void add_neighbour(struct interaction_graph *s, int v, int other)
{
    struct node *node = &s->nodes[v];
    node->list = GROW(s->arena, int, node->list, node->n, &node->capacity);
    node->list[node->n++] = other;
    node->degree++;
    node->weight += s->nodes[other].log;
}

static void drop_neighbour(struct interaction_graph *s, int v, int other)
{
    s->nodes[v].degree--;
    s->nodes[v].weight -= s->nodes[other].log;
}

/* Make the lists of neighbours without repetition, and count parallel edges (OptCNN Eq. 3). */
static void connect(struct interaction_graph *s, const struct elimination_problem *problem)
{
    for (int e = 0; e < problem->n_edges; e++) {
        s->nodes[problem->edges[e].u].capacity++;
        s->nodes[problem->edges[e].v].capacity++;
    }
    int *lists = NEW(s->arena, int, 2 * (size_t)problem->n_edges + 1);
    for (int v = 0; v < s->n_vars; v++) {
        s->nodes[v].list = lists;
        lists += s->nodes[v].capacity;
    }

    size_t n_slots = 16;
    while (n_slots < 2 * (size_t)problem->n_edges + 2)
        n_slots *= 2;
    resize_pairs(s->arena, &s->pairs, n_slots);
    for (int e = 0; e < problem->n_edges; e++) {
        int u = problem->edges[e].u, v = problem->edges[e].v;
        if (u == v)
            continue;
        if (!add_pair(s->arena, &s->pairs, u, v)) {
            s->n_parallel++;
            continue;
        }
        add_neighbour(s, u, v);
        add_neighbour(s, v, u);
    }
}

static void build(struct interaction_graph *s, const struct elimination_problem *problem)
{
    int n = problem->n_vars, states = 1;
    int64_t log = 0;
    s->n_states = problem->n_states;
    s->n_vars = n;
    s->nodes = NEW(s->arena, struct node, n);
    for (int v = 0; v < n; v++) {
        if (problem->n_states[v] != states)
            log = fixed_log2(states = problem->n_states[v]);
        s->nodes[v].log = s->nodes[v].weight = log;
    }
    connect(s, problem);

    s->heap = NEW(s->arena, int, n);
    for (int v = 0; v < n; v++)
        s->nodes[v].slot = 0; /* not eliminated, for count_fill() */
    for (int v = 0; v < n; v++)
        s->nodes[v].key = key_of(s, v);
    s->n_heap = n;
    for (int v = 0; v < n; v++)
        place(s, v, v);
    for (int slot = n / 2; slot-- > 0;)
        sift_down(s, s->heap[slot]);
}

/* Update the keys of the neighbours. Fill edges also change for variables two edges away. */
static void update_keys(struct interaction_graph *s, const struct node *gone)
{
    for (int i = 0; i < gone->n; i++)
        update_key(s, gone->list[i]);
    if (s->rule != FEWEST_FILL_EDGES)
        return;
    for (int i = 0; i < gone->n && s->budget >= 0; i++) {
        struct node *near = &s->nodes[gone->list[i]];
        refresh(s, near);
        for (int j = 0; j < near->n && s->budget >= 0; j++)
            update_key(s, near->list[j]);
    }
}

/* Remove v from the graph and connect its neighbours. */
static void eliminate(struct interaction_graph *s, int v, struct elimination_order *out)
{
    const struct node *node = &s->nodes[v];
    heap_remove(s, v);
    for (int i = 0; i < node->n; i++)
        drop_neighbour(s, node->list[i], v);
    for (int i = 0; i < node->n; i++)
        for (int j = 0; j < i; j++) {
            int a = node->list[i], b = node->list[j];
            if (add_pair(s->arena, &s->pairs, a, b)) {
                add_neighbour(s, a, b);
                add_neighbour(s, b, a);
            } else if (node->n == 2) {
                out->n_edge_eliminations++;
            }
        }
    update_keys(s, node);
    out->sequence[out->n++] = v;
}

/* Count the table of v's elimination. With one neighbour, the table is added to the neighbour's
 * costs: it needs no memory of its own and does not count towards the total. */
static double count_table(struct interaction_graph *s, int v, struct elimination_order *out)
{
    struct node *node = &s->nodes[v];
    refresh(s, node);
    double entries = 1;
    for (int i = 0; i < node->n; i++)
        entries *= s->n_states[node->list[i]];
    if (node->n <= 2)
        out->n_node_eliminations++;
    else
        out->n_general_eliminations++;
    if (out->width < node->n)
        out->width = node->n;
    if (out->largest_entries < entries)
        out->largest_entries = entries;
    if (node->n >= 2)
        out->total_entries += entries;
    out->work += entries * s->n_states[v] * (1 + node->n) / 2; /* more neighbours, more terms */
    return entries;
}

/* Eliminate all variables. Once `max_entries` is exceeded, the rest follows the keys without
 * updates. */
static struct elimination_order order_all(struct interaction_graph *s, double max_entries)
{
    struct elimination_order order = { .sequence = NEW(s->arena, int, s->n_vars),
                                       .fits = true,
                                       .n_edge_eliminations = s->n_parallel };
    while (s->n_heap > 0 && s->budget >= 0) {
        int v = s->heap[0];
        if (order.fits) {
            count_table(s, v, &order);
            order.fits = order.total_entries <= max_entries;
        }
        if (order.fits) {
            eliminate(s, v, &order);
        } else {
            heap_remove(s, v);
            order.sequence[order.n++] = v;
        }
    }
    return order;
}

void hp_elimination_order(struct arena *arena, const struct elimination_problem *problem,
                          double max_entries, struct elimination_order *out)
{
    static const enum rule rules[] = { LEAST_TABLE, LOWEST_INDEX, FEWEST_FILL_EDGES };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        /* Counting fill edges is slow: its budget is about the time of the elimination. */
        double budget = i > 0 && out->fits ? fmin(out->work / 8, MOST_BUDGET) : MOST_BUDGET;
        struct interaction_graph s = { .arena = arena,
                                       .rule = rules[i],
                                       .budget = (int64_t)budget };
        build(&s, problem);
        struct elimination_order order = order_all(&s, max_entries);
        if (i == 0 || (s.budget >= 0 && order.fits && (!out->fits || order.work < out->work)))
            *out = order;
        if (out->fits && (out->width <= 1 || out->work < CHEAP_WORK))
            return;
    }
}

/* The variable to fix so that v's table shrinks: v or one of its neighbours. */
static int choose_victim(const struct interaction_graph *s, int v, const uint64_t *priority)
{
    int victim = -1;
    double best = -1;
    for (int i = -1; i < s->nodes[v].n; i++) {
        int w = i < 0 ? v : s->nodes[v].list[i];
        if (priority) {
            if (victim < 0 || priority[w] < priority[victim])
                victim = w;
            continue;
        }
        const struct node *node = &s->nodes[w];
        double score = node->log > 0 ? (double)node->degree / (double)node->log : 0;
        if (score > best || (score >= best && w < victim)) {
            victim = w;
            best = score;
        }
    }
    return victim;
}

static void fix(struct interaction_graph *s, int v)
{
    struct node *node = &s->nodes[v];
    refresh(s, node);
    heap_remove(s, v);
    for (int i = 0; i < node->n; i++) {
        drop_neighbour(s, node->list[i], v);
        update_key(s, node->list[i]);
    }
}

void hp_elimination_cut(struct arena *arena, const struct elimination_problem *problem,
                        double max_entries, double max_work, const uint64_t *priority,
                        struct elimination_order *out)
{
    struct interaction_graph s = { .arena = arena };
    build(&s, problem);
    *out = (struct elimination_order){ .sequence = NEW(arena, int, problem->n_vars),
                                       .fits = true };
    while (s.n_heap > 0) {
        struct elimination_order trial = *out;
        int v = s.heap[0];
        count_table(&s, v, &trial);
        bool over = trial.total_entries > max_entries || trial.work > max_work;
        if (over && s.nodes[v].n > 0) {
            fix(&s, choose_victim(&s, v, priority));
            continue;
        }
        *out = trial;
        eliminate(&s, v, out);
    }
}
