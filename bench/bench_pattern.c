/* How many patterns of an exchange are found in a second, and the memory that each takes: an
 * activation of 256 x 64 x 28 x 28 whose writer and reader are divided in typical ways; new, or
 * of a shape that is known. */
#include "bench/bench.h"

#include <string.h>

#include "base/random.h"
#include "program/exchange/exchange.h"

enum { N, C, H, W, SUM, N_AXES, KINDS = 16 };

static const int64_t extents[N_AXES] = { 256, 64, 28, 28, 64 };

/* Divided `ways` ways along one axis, or, axis -1, by twos along random ones, randomly placed.
 */
static struct exchange_side hold(struct arena *arena, int ways, int axis, bool halo,
                                 struct random *random)
{
    struct nest *nest = NEW(arena, struct nest, 1);
    struct split *split = NEW(arena, struct split, 1);
    struct op_parts *parts = NEW(arena, struct op_parts, 1);
    struct range *range = NEW(arena, struct range, ways * N_AXES);
    int *device = NEW(arena, int, ways);
    bool *empty = NEW(arena, bool, ways);
    nest->n_axes = N_AXES;
    nest->axis = NEW(arena, struct hypar_axis, N_AXES);
    nest->operand = NEW(arena, struct operand, 1);
    nest->operand[0].n_dims = SUM;
    for (int a = 0; a < N_AXES; a++) {
        nest->axis[a].extent = extents[a];
        if (a == SUM)
            continue;
        bool wide = halo && a >= H;
        nest->operand[0].size[a] = extents[a];
        nest->operand[0].dim[a] = (struct dim_map){ .kind = DIM_AXIS,
                                                    .n_axes = 1,
                                                    .axis = { (int8_t)a },
                                                    .stride = 1,
                                                    .pad = wide,
                                                    .span = wide ? 3 : 1 };
    }
    for (int a = 0; a < N_AXES; a++)
        split->degree[a] = a == axis ? ways : 1;
    for (int left = ways; axis < 0 && left > 1; left /= 2)
        split->degree[hp_random_below(random, N_AXES)] *= 2;
    for (int part = 0; part < ways; part++) {
        struct range loops[MAX_AXES];
        empty[part] = !hp_part_ranges(nest, split, part, loops);
        parts->n_live += !empty[part];
        memcpy(range + part * N_AXES, loops, N_AXES * sizeof *range);
        device[part] = axis < 0 ? (int)hp_random_below(random, ways) : part;
    }
    *parts = (struct op_parts){ 0,      nest,  split, ways,          ways,
                                device, range, empty, parts->n_live, NULL };
    return (struct exchange_side){ .parts = parts };
}

static const struct {
    const char *name;
    int writer, reader; /* the divided axes */
    bool halo;
} pairs[] = {
    { "dp-dp", N, N, false },   { "dp-mp", N, C, false },    { "mp-mp", C, C, false },
    { "halo", H, H, true },     { "sum-dp", SUM, N, false }, { "sum-sum", SUM, SUM, false },
    { "random", -1, -1, true },
};

static void bench_pair(int i, int devices, int times, bool known_shapes)
{
    struct arena arena = { 0 }, kept = { 0 }, scratch = { 0 };
    struct random random = { 1 };
    struct hypar_error err;
    struct shapes shapes = { 0 }, *known = known_shapes ? &shapes : NULL;
    struct exchange_side writer[KINDS], reader[KINDS];
    for (int k = 0; k < KINDS; k++) {
        writer[k] = hold(&arena, devices, pairs[i].writer, false, &random);
        reader[k] = hold(&arena, devices, pairs[i].reader, pairs[i].halo, &random);
    }
    NEW(&scratch, char, 1); /* the first block stays */
    double start_s = now_s();
    for (int t = 0; t < times; t++) {
        struct pattern *pattern;
        struct exchange_sides sides = { .writer = &writer[t % KINDS],
                                        .reader = &reader[t % KINDS],
                                        .n_writers = 1,
                                        .n_readers = 1 };
        must(hp_find_pattern(&kept, &scratch, known, &sides, &pattern, &err), &err);
    }
    double took_s = now_s() - start_s;
    printf("%-8s %3d devices %6s %12.0f patterns/s %10.2f us %10.0f bytes each\n",
           pairs[i].name, devices, known ? "known" : "new", times / took_s,
           1e6 * took_s / times, (double)hp_arena_bytes(&kept) / times);
    hp_arena_free(&arena);
    hp_arena_free(&kept);
    hp_arena_free(&scratch);
}

int main(int argc, char **argv)
{
    take_words(argc, argv, 0, "");
    for (int devices = 4; devices <= 64; devices *= 4)
        for (int i = 0; i < (int)(sizeof pairs / sizeof *pairs); i++)
            for (int known = 0; known < 2; known++)
                bench_pair(i, devices, 80000 / devices, known);
    return 0;
}
