/* Patterns of random layouts: the fast methods find the same as the general method, and the
 * cells agree with the regions of the parts, element by element. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "program/exchange/exchange.h"

enum { N_DIMS = 3, N_AXES = 5, SUM = 3, COPY = 4, MAX_HOLDERS = 3, CASES = 2000, DEVICES = 5 };

static const int64_t smallest[N_DIMS] = { 12, 7, 5 };

/* One operand; its dimensions are indexed by the first axes, the others are a sum and copies.
 */
struct holding {
    struct hypar_axis axis[N_AXES];
    struct operand operand;
    struct nest nest;
    struct split split;
    struct op_parts parts;
};

static void divide(struct holding *h, struct random *random)
{
    static const int degrees[] = { 1, 1, 1, 2, 3, 4 };
    for (int a = 0, n = 0; a < N_AXES; a++) {
        int degree = degrees[hp_random_below(random, 6)];
        h->split.degree[a] = n < 2 ? degree : 1; /* at most 16 parts */
        n += h->split.degree[a] > 1;
    }
}

static struct op_parts *lay_out(struct arena *arena, struct random *random,
                                const int64_t size[N_DIMS])
{
    struct holding *h = NEW(arena, struct holding, 1);
    bool halo = hp_random_below(random, 3) == 0;
    h->operand.n_dims = N_DIMS;
    for (int d = 0; d < N_DIMS; d++) {
        h->axis[d].extent = h->operand.size[d] = size[d];
        h->operand.dim[d] = (struct dim_map){ .kind = DIM_AXIS,
                                              .n_axes = 1,
                                              .axis = { (int8_t)d },
                                              .stride = 1,
                                              .pad = halo,
                                              .span = halo ? 3 : 1 };
    }
    h->axis[SUM].extent = h->axis[COPY].extent = 4;
    h->nest = (struct nest){
        .n_axes = N_AXES, .n_operands = 1, .axis = h->axis, .operand = &h->operand
    };
    divide(h, random);
    int n = hp_part_count(&h->nest, &h->split);
    struct range *range = NEW(arena, struct range, n * N_AXES);
    int *device = NEW(arena, int, n), first = (int)hp_random_below(random, 2 * DEVICES);
    bool *empty = NEW(arena, bool, n), scattered = hp_random_below(random, 3) == 0;
    h->parts = (struct op_parts){ 0, &h->nest, &h->split, n, n, device, range, empty, 0, NULL };
    for (int part = 0; part < n; part++) {
        struct range loops[MAX_AXES];
        empty[part] = !hp_part_ranges(&h->nest, &h->split, part, loops);
        memcpy(range + part * N_AXES, loops, N_AXES * sizeof *range);
        device[part] =
            scattered ? (int)hp_random_below(random, DEVICES) : (first + part) % DEVICES;
        h->parts.n_live += !empty[part];
    }
    return &h->parts;
}

struct timing {
    struct arena arena;
    int64_t size[N_DIMS];
    int n_writers, n_readers;
    struct exchange_side writer[MAX_HOLDERS], reader[MAX_HOLDERS];
};

/* The same seed gives the same parts, `times` as large. */
static void make_timing(struct timing *s, uint64_t seed, int times)
{
    struct random random = { seed };
    *s = (struct timing){ .n_writers = 1 + (int)hp_random_below(&random, 2),
                          .n_readers = (int)hp_random_below(&random, MAX_HOLDERS + 1) };
    for (int d = 0; d < N_DIMS; d++)
        s->size[d] = smallest[d] * times;
    for (int i = 0; i < s->n_writers; i++)
        s->writer[i].parts = lay_out(&s->arena, &random, s->size);
    for (int i = 0; i < s->n_readers; i++)
        s->reader[i].parts = hp_random_below(&random, 2) ? lay_out(&s->arena, &random, s->size)
                                                         : s->writer[0].parts;
    for (int i = 0; i < s->n_writers; i++) /* copies are along axes of no dimension */
        s->writer[i].copies = hp_random_below(&random, 3) ? 0 : 1U << COPY;
}

static struct pattern *find(struct timing *s, struct arena *arena, struct shapes *shapes)
{
    struct arena scratch = { 0 };
    struct pattern *p;
    struct hypar_error err;
    struct exchange_sides sides = { .writer = s->writer,
                                    .reader = s->reader,
                                    .n_writers = s->n_writers,
                                    .n_readers = s->n_readers };
    if (hp_find_pattern(arena, &scratch, shapes, &sides, &p, &err))
        fail_msg("%s", err.text);
    hp_arena_free(&scratch);
    return p;
}

static bool same_ints(const int *a, int n_a, const int *b, int n_b)
{
    return n_a == n_b && (!n_a || memcmp(a, b, (size_t)n_a * sizeof *a) == 0);
}

static bool same_cell(const struct cell *a, const struct cell *b)
{
    return a->elements == b->elements && a->comm == b->comm && a->sent == b->sent &&
           same_ints((const int *)a->contribution, 3 * a->n_contributions,
                     (const int *)b->contribution, 3 * b->n_contributions) &&
           same_ints(a->receiver, a->n_receivers, b->receiver, b->n_receivers) &&
           same_ints(a->owner, a->n_owners, b->owner, b->n_owners) &&
           same_ints(a->kept, a->n_kept, b->kept, b->n_kept);
}

static bool same_comm(const struct comm *a, const struct comm *b)
{
    return a->kind == b->kind && a->sent_elements == b->sent_elements &&
           same_ints(a->device, a->n_devices, b->device, b->n_devices) &&
           same_ints(a->cell, a->n_cells, b->cell, b->n_cells);
}

static bool same_pattern(const struct pattern *a, const struct pattern *b)
{
    bool same =
        a->n_cells == b->n_cells && a->n_comms == b->n_comms && a->aligned == b->aligned &&
        same_ints((const int *)a->wait, 5 * a->n_waits, (const int *)b->wait, 5 * b->n_waits) &&
        same_ints((const int *)a->feed, 3 * a->n_feeds, (const int *)b->feed, 3 * b->n_feeds) &&
        same_ints(a->reader_wait, a->n_readers + 1, b->reader_wait, b->n_readers + 1) &&
        same_ints(a->comm_feed, a->n_comms + 1, b->comm_feed, b->n_comms + 1);
    for (int c = 0; same && c < a->n_cells; c++) {
        struct box x = hp_cell_box(a, c), y = hp_cell_box(b, c);
        same = same_cell(&a->cell[c], &b->cell[c]) && hp_box_equal(&x, &y);
    }
    for (int c = 0; same && c < a->n_comms; c++)
        same = same_comm(&a->comm[c], &b->comm[c]);
    return same;
}

/* Copies along an axis that nobody divides are none: but then they are looked for. */
static void test_without_copies(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct timing s;
        make_timing(&s, seed, 1);
        for (int i = 0; i < s.n_writers; i++)
            s.writer[i].copies = 0;
        const struct pattern *quick = find(&s, &s.arena, NULL);
        for (int i = 0; i < s.n_writers; i++)
            s.writer[i].copies = 1U << (MAX_AXES + 1);
        if (!same_pattern(quick, find(&s, &s.arena, NULL)))
            fail_msg("seed %llu: differs from the general way", (unsigned long long)seed);
        hp_arena_free(&s.arena);
    }
}

/* A shape that was seen before gives the same as finding it anew, in whatever sizes, and
 * whether the pattern outlives the call or not. */
static void test_shapes(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct shapes shapes = { .arena = &arena };
    for (uint64_t i = 0; i < 3 * CASES; i++) {
        struct timing s;
        uint64_t seed = i % CASES;
        make_timing(&s, seed, 1 + (int)(i / CASES));
        struct arena *kept = i % 2 ? &arena : &s.arena;
        if (!same_pattern(find(&s, &s.arena, NULL), find(&s, kept, &shapes)))
            fail_msg("seed %llu: differs with shapes", (unsigned long long)seed);
        hp_arena_free(&s.arena);
    }
    print_message("%d shapes of %d patterns\n", shapes.n, 3 * CASES);
    assert_true(shapes.n < 2 * CASES);
    hp_arena_free(&arena);
}

static bool has(const struct exchange_side *who, int part, const int64_t at[N_DIMS])
{
    const struct op_parts *l = who->parts;
    if (l->empty[part])
        return false;
    struct box box = hp_region(l->nest, who->operand, l->range + part * N_AXES);
    for (int d = 0; d < N_DIMS; d++)
        if (at[d] < box.dim[d].lo || at[d] >= box.dim[d].hi)
            return false;
    return true;
}

/* Devices of the parts that have the element: bits. */
static unsigned holders_of(const struct exchange_side *who, int n, const int64_t at[N_DIMS])
{
    unsigned devices = 0;
    for (int i = 0; i < n; i++)
        for (int part = 0; part < who[i].parts->n_parts; part++)
            if (has(&who[i], part, at))
                devices |= 1U << who[i].parts->device[part];
    return devices;
}

static bool right_at(const struct timing *s, const struct cell *cell, const int64_t at[N_DIMS])
{
    unsigned readers = holders_of(s->reader, s->n_readers, at), told = 0;
    unsigned writers = holders_of(s->writer, s->n_writers, at);
    for (int i = 0; i < cell->n_receivers; i++)
        told |= 1U << cell->receiver[i];
    for (int i = 0; i < cell->n_kept; i++)
        told |= 1U << cell->kept[i];
    for (int i = 0; i < cell->n_contributions; i++) {
        const struct contribution *c = &cell->contribution[i];
        if (!has(&s->writer[c->writer], c->part, at))
            return false;
    }
    return (cell->n_contributions > 0) == (writers != 0) && told == (writers ? readers : 0);
}

static void test_elements(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES / 10; seed++) {
        struct timing s;
        make_timing(&s, seed, 1);
        const struct pattern *p = find(&s, &s.arena, NULL);
        int64_t elements = 0, at[N_DIMS];
        for (int c = 0; c < p->n_cells; c++) {
            struct box box = hp_cell_box(p, c);
            elements += p->cell[c].elements;
            assert_int_equal(p->cell[c].elements, hp_box_elements(&box));
            for (at[0] = box.dim[0].lo; at[0] < box.dim[0].hi; at[0]++)
                for (at[1] = box.dim[1].lo; at[1] < box.dim[1].hi; at[1]++)
                    for (at[2] = box.dim[2].lo; at[2] < box.dim[2].hi; at[2]++)
                        if (!right_at(&s, &p->cell[c], at))
                            fail_msg("seed %llu, cell %d", (unsigned long long)seed, c);
        }
        assert_int_equal(elements, s.size[0] * s.size[1] * s.size[2]);
        hp_arena_free(&s.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_copies),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
