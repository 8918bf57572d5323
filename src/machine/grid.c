/* Topologies torus, mesh and ring: grids of devices. Device numbers are row-major: the last
 * coordinate runs fastest. */
#include "machine/topology.h"

#include <stdlib.h>

/* One dimension of the grid. A line of `size` devices has `links` links. Link i of a line joins
 * coordinates i and i+1; the last link of a closed line joins its end to its beginning. */
struct dimension {
    int size, links;
    int stride;     /* between device numbers that differ by one in this coordinate */
    int first_link; /* number of link 0 of line 0; lines are numbered by the other coordinates
                     */
};

static bool is_closed(const struct part *part)
{
    return part->topology != &hp_mesh;
}

/* Two devices need one link, closed or not. */
static int links_of_line(int size, bool closed)
{
    return closed && size > 2 ? size : size - 1;
}

static void describe(const struct part *part, struct dimension *dims)
{
    int stride = part->n_devices, first_link = 0;
    for (int d = 0; d < part->n_dims; d++) {
        int size = part->dim[d];
        stride /= size;
        dims[d] = (struct dimension){ size, links_of_line(size, is_closed(part)), stride,
                                      first_link };
        first_link += part->n_devices / size * dims[d].links;
    }
}

static void count(const struct hypar_machine *machine, int64_t *switches, int64_t *links,
                  int64_t *longest)
{
    const struct part *part = machine->parts;
    *switches = *links = *longest = 0;
    for (int d = 0; d < part->n_dims; d++) {
        int size = part->dim[d];
        *links += (int64_t)(part->n_devices / size) * links_of_line(size, is_closed(part));
        *longest += is_closed(part) ? size / 2 : size - 1;
    }
}

static struct hypar_link get_link(const struct hypar_machine *machine, int index)
{
    const struct part *part = machine->parts;
    struct dimension dims[MACHINE_MAX_DIMS];
    describe(part, dims);
    int d = part->n_dims - 1;
    while (dims[d].first_link > index || dims[d].links == 0)
        d--;

    int line = (index - dims[d].first_link) / dims[d].links;
    int at = (index - dims[d].first_link) % dims[d].links;
    int start = line / dims[d].stride * dims[d].stride * dims[d].size + line % dims[d].stride;
    return (struct hypar_link){
        .from = start + at * dims[d].stride,
        .to = start + (at + 1) % dims[d].size * dims[d].stride,
        .bytes_per_s = hp_part_link_bytes_per_s(part),
        .latency_s = part->value[OPTION_LATENCY],
        .energy_j_per_bit = part->value[OPTION_ENERGY],
    };
}

/* How far, and in which direction, to go from coordinate a to b. Half way round a closed line
 * both directions are equal: even coordinates go up and odd ones down, so that both are
 * used. */
static int steps(int a, int b, int size, bool closed)
{
    int up = b - a;
    if (!closed)
        return up;
    if (up < 0)
        up += size;
    bool go_up = 2 * up == size ? size == 2 ? b > a : a % 2 == 0 : 2 * up < size;
    return go_up ? up : up - size;
}

/* Dimension order: the first coordinate is corrected first. */
static int route(const struct hypar_machine *machine, int from, int to, int *links, int max)
{
    const struct part *part = machine->parts;
    struct path path = { links, max, 0 };
    struct dimension dims[MACHINE_MAX_DIMS];
    describe(part, dims);
    int at = from;
    for (int d = 0; d < part->n_dims; d++) {
        int size = dims[d].size, stride = dims[d].stride;
        int a = at / stride % size, b = to / stride % size;
        int line = at / (stride * size) * stride + at % stride;
        int left = steps(a, b, size, is_closed(part)), step = left < 0 ? -1 : 1;
        int base = dims[d].first_link + line * dims[d].links;
        for (int here = a; left != 0; left -= step) {
            int next = here + step;
            next = next < 0 ? size - 1 : next == size ? 0 : next;
            hp_path_add(&path, base + (step > 0 ? here : next), step < 0);
            here = next;
        }
        at += (b - a) * stride;
    }
    return path.count;
}

/* Divide by the prime factors of each size in turn, so that groups are blocks of the grid. A
 * group has neighbours across one of its faces, or across two while its line is still
 * closed. */
static int levels(const struct hypar_machine *machine, struct hypar_level *out)
{
    const struct part *part = machine->parts;
    struct dimension dims[MACHINE_MAX_DIMS];
    describe(part, dims);
    int n = 0;
    for (int d = 0; d < part->n_dims; d++) {
        int factors[HYPAR_MAX_LEVELS];
        int n_factors = hp_prime_factors(dims[d].size, factors);
        for (int f = 0; f < n_factors; f++) {
            int faces = f == 0 && is_closed(part) && dims[d].size > 2 ? 2 : 1;
            out[n++] = (struct hypar_level){
                .ways = factors[f],
                .bytes_per_s = (double)faces * dims[d].stride * hp_part_link_bytes_per_s(part),
            };
        }
    }
    return n;
}

/* clang-format off */
#define GRID .default_device = "v100", .scope = SCOPE_SIMPLE, \
             .count = count, .link = get_link, .route = route, .levels = levels

const struct topology hp_torus = {
    { "torus", "torus:4x4 or torus:4x4x4", "grid whose lines are closed, dimension-order routing" },
    .min_dims = 1, .max_dims = MACHINE_MAX_DIMS, GRID, .cycle = hp_grid_cycle,
    .cycles = hp_torus_cycles, .line = hp_grid_line
};
const struct topology hp_mesh = {
    { "mesh", "mesh:4x4 or mesh:4x4x4", "grid whose lines are open, dimension-order routing" },
    .min_dims = 1, .max_dims = MACHINE_MAX_DIMS, GRID, .cycle = hp_grid_cycle, .line = hp_grid_line
};
const struct topology hp_ring = {
    { "ring", "ring:8", "one closed line" },
    .min_dims = 1, .max_dims = 1, GRID, .line = hp_grid_line
};
/* clang-format on */
