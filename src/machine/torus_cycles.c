/* Cycles through all devices of a torus without a common link, as many as it has dimensions.
 * They exist in every torus (Foregger, "Hamiltonian decompositions of products of cycles",
 * 1978; Aubert and Schneider, 1982).
 *
 * At first, set d holds all lines along dimension d. Take a square with two opposite links in
 * one set and the other two in another set. If both pairs swap sets, every device still has two
 * links of each set, and two cycles through the pair become one. This is repeated while it
 * reduces the number of cycles, or, if nothing does, while it keeps the number. */
#include "machine/topology.h"

#include "base/random.h"

enum { MAX_CHANGES = 1 << 14, MAX_TRIED = 1 << 12, MAX_DEVICES = 1 << 16 };

struct torus {
    struct arena *scratch;
    int n, n_dims;
    int size[MACHINE_MAX_DIMS], stride[MACHINE_MAX_DIMS];
    int *set; /* [device * n_dims + d]: the set of its link to the next device along d */
    /* [set * n + device]: */
    int *cycle; /* which cycle of the set it is in ... */
    int *next;  /* ... and the next device in this cycle */
    int n_cycles[MACHINE_MAX_DIMS];
};

static int step(const struct torus *t, int device, int d, int by)
{
    int at = device / t->stride[d] % t->size[d];
    return device + ((at + by + t->size[d]) % t->size[d] - at) * t->stride[d];
}

/* The link of the set by which a cycle leaves `device`, which it entered by link `from`. */
static int leave_by(const struct torus *t, int set, int device, int from, int *to)
{
    for (int d = 0; d < t->n_dims; d++)
        for (int by = -1; by <= 1; by += 2) {
            int other = step(t, device, d, by);
            int link = (by > 0 ? device : other) * t->n_dims + d;
            if (link != from && t->set[link] == set) {
                *to = other;
                return link;
            }
        }
    return -1;
}

static void follow_cycles(struct torus *t, int set)
{
    int *cycle = t->cycle + set * t->n, *next = t->next + set * t->n;
    t->n_cycles[set] = 0;
    for (int i = 0; i < t->n; i++)
        cycle[i] = -1;
    for (int i = 0; i < t->n; i++) {
        if (cycle[i] >= 0)
            continue;
        for (int at = i, link = -1; cycle[at] < 0; at = next[at]) {
            cycle[at] = t->n_cycles[set];
            link = leave_by(t, set, at, link, &next[at]);
        }
        t->n_cycles[set]++;
    }
}

/* Two opposite links of a square, a - b and c - d, are replaced in a set by a - c and b - d:
 * returns how many cycles more the set has then. */
static int more_cycles(const struct torus *t, int set, int a, int b, int c, int d)
{
    const int *cycle = t->cycle + set * t->n, *next = t->next + set * t->n;
    if (cycle[a] != cycle[c])
        return -1;
    return (next[a] == b) == (next[c] == d) ? 0 : 1;
}

/* Swap the links of the square that begins at `a` in dimensions x and y, if this is possible
 * and adds at most `more` cycles. */
static bool change_square(struct torus *t, int a, int x, int y, int more)
{
    int b = step(t, a, x, 1), c = step(t, a, y, 1), d = step(t, b, y, 1), k = t->n_dims;
    int one = t->set[a * k + x], other = t->set[a * k + y];
    if (one == other || t->set[c * k + x] != one || t->set[b * k + y] != other ||
        more_cycles(t, one, a, b, c, d) + more_cycles(t, other, a, c, b, d) > more)
        return false;
    t->set[a * k + x] = t->set[c * k + x] = other;
    t->set[a * k + y] = t->set[b * k + y] = one;
    follow_cycles(t, one);
    follow_cycles(t, other);
    return true;
}

static bool is_done(const struct torus *t)
{
    for (int d = 0; d < t->n_dims; d++)
        if (t->n_cycles[d] > 1)
            return false;
    return true;
}

static void join_cycles(struct torus *t)
{
    bool changed;
    do {
        changed = false;
        for (int a = 0; a < t->n && !is_done(t); a++)
            for (int x = 0; x < t->n_dims; x++)
                for (int y = x + 1; y < t->n_dims; y++)
                    changed |= change_square(t, a, x, y, -1);
    } while (changed && !is_done(t));
}

static bool find_cycles(struct torus *t)
{
    struct random random = { 1 };
    int n_links = t->n * t->n_dims, changes = 0;
    t->set = NEW(t->scratch, int, n_links);
    t->cycle = NEW(t->scratch, int, n_links);
    t->next = NEW(t->scratch, int, n_links);
    for (int i = 0; i < n_links; i++)
        t->set[i] = i % t->n_dims;
    for (int d = 0; d < t->n_dims; d++)
        follow_cycles(t, d);
    join_cycles(t);
    for (int64_t i = 0; !is_done(t) && changes < MAX_CHANGES && i < (int64_t)MAX_TRIED * t->n;
         i++) {
        int a = (int)hp_random_below(&random, t->n);
        int x = (int)hp_random_below(&random, t->n_dims);
        int y = (int)hp_random_below(&random, t->n_dims);
        if (x < y && change_square(t, a, x, y, 0)) {
            changes++;
            join_cycles(t);
        }
    }
    return is_done(t);
}

/* The dimensions of a group that has all or one of the coordinates in each; false: it is
 * another kind of group, or has an open line. member[]: by position in the group, row-major. */
static bool find_torus(struct torus *t, const struct part *part, const int *device, int n,
                       int *member)
{
    int stride = part->n_devices, of[MACHINE_MAX_DIMS];
    t->n = 1;
    for (int d = 0; d < part->n_dims; d++) {
        int size = part->dim[d], used = 0;
        bool *seen = NEW(t->scratch, bool, size);
        stride /= size;
        for (int i = 0; i < n; i++) {
            int at = device[i] / stride % size;
            used += !seen[at];
            seen[at] = true;
        }
        if (used == 1)
            continue;
        if (used != size || size < 3 || n / t->n < size)
            return false;
        t->size[t->n_dims] = size;
        of[t->n_dims++] = stride;
        t->n *= size;
    }
    if (t->n != n || n > MAX_DEVICES)
        return false;
    stride = n;
    for (int d = 0; d < t->n_dims; d++)
        t->stride[d] = stride /= t->size[d];
    for (int i = 0; i < n; i++) {
        int place = 0;
        for (int d = 0; d < t->n_dims; d++)
            place += device[i] / of[d] % t->size[d] * t->stride[d];
        member[place] = i;
    }
    return true;
}

int hp_torus_cycles(struct arena *scratch, const struct hypar_machine *machine,
                    const int *device, int n, int *order)
{
    struct torus t = { .scratch = scratch };
    int *member = NEW(scratch, int, n);
    if (!find_torus(&t, machine->parts, device, n, member) || t.n_dims < 2 || !find_cycles(&t))
        return 0;
    for (int d = 0; d < t.n_dims; d++)
        for (int i = 0, at = 0; i < n; i++, at = t.next[d * n + at])
            order[d * n + i] = member[at];
    return t.n_dims;
}
