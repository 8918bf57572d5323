/* The machines of an exploration: the one given, in other sizes, shapes and bandwidths. */
#include <math.h>
#include <string.h>

#include "machine/machine.h"
#include "search/explore/explore.h"

/* The machine that is varied, taken apart: "torus:4x4,device=h100". */
struct pattern {
    struct arena *arena;
    const struct hypar_machine *machine;
    const struct topology *topology;
    const char *word, *shape;
    int n_options;
    char **option;
};

/* One machine to be made; NULL or 0: as in the pattern. */
struct variant {
    const struct topology *topology;
    const char *bandwidth;
    int devices;
};

static enum hypar_status take_apart(struct pattern *pattern, struct hypar_error *err)
{
    const char *word = hypar_machine_word(pattern->machine);
    const struct hypar_machine *machine = pattern->machine;
    if (!word || machine->n_parts != 1 || !machine->topology->default_device)
        return hp_fail(err, HYPAR_INVALID,
                       "other sizes, topologies and bandwidths need a machine of one plain "
                       "word such as htree:16 or torus:4x4");
    size_t colon = strcspn(word, ":"), shape = strcspn(word + colon + 1, ",");
    const char *options = word + colon + 1 + shape;
    pattern->word = word;
    pattern->topology = machine->topology;
    pattern->shape = hp_arena_strndup(pattern->arena, word + colon + 1, shape);
    return hp_explore_list(pattern->arena, "machine", *options ? options + 1 : NULL,
                           &pattern->option, &pattern->n_options, err);
}

/* One that has any number of sizes. */
static bool is_grid(const struct topology *topology)
{
    return topology->max_dims > topology->min_dims;
}

/* n devices on a grid as near to square as can be: "4x2". */
static char *grid_shape(struct arena *arena, int n, int n_dims)
{
    int factor[HYPAR_MAX_LEVELS], n_factors = hp_prime_factors(n, factor);
    int dim[MACHINE_MAX_DIMS];
    char *text = NULL;
    for (int d = 0; d < n_dims; d++)
        dim[d] = 1;
    for (int i = n_factors - 1; i >= 0; i--) {
        int least = 0;
        for (int d = 1; d < n_dims; d++)
            least = dim[d] < dim[least] ? d : least;
        dim[least] *= factor[i];
    }
    for (int d = 0; d < n_dims; d++)
        text = text ? hp_arena_printf(arena, "%sx%d", text, dim[d])
                    : hp_arena_printf(arena, "%d", dim[d]);
    return text;
}

/* The sizes that make `n` devices of a topology. */
static enum hypar_status shape_for(const struct pattern *pattern,
                                   const struct topology *topology, int n, const char **out,
                                   struct hypar_error *err)
{
    const struct part *part = pattern->machine->parts;
    if (is_grid(topology)) {
        *out = grid_shape(pattern->arena, n, is_grid(pattern->topology) ? part->n_dims : 2);
    } else if (topology->min_dims == 2) { /* nodes and devices of each */
        int node = topology == pattern->topology ? part->dim[1] : 8;
        node = n < node ? n : node;
        if (n % node)
            return hp_fail(err, HYPAR_INVALID, "devices: %d do not fill nodes of %d", n, node);
        *out = hp_arena_printf(pattern->arena, "%dx%d", n / node, node);
    } else {
        *out = hp_arena_printf(pattern->arena, "%d", n);
    }
    return HYPAR_OK;
}

/* Does an option of the pattern go over to that variant? */
static bool stays(const struct pattern *pattern, const struct variant *variant,
                  const char *option)
{
    static const char *const links[] = { "intra=", "inter=", "nics=", "bandwidth=" };
    bool same = variant->topology == pattern->topology;
    for (int i = 0; i < 4; i++)
        if (strncmp(option, links[i], strlen(links[i])) == 0)
            return i == 3 ? !variant->bandwidth : same && (i == 2 || !variant->bandwidth);
    return true;
}

static enum hypar_status word_for(const struct pattern *pattern, const struct variant *variant,
                                  const char **out, struct hypar_error *err)
{
    struct arena *arena = pattern->arena;
    bool same = variant->topology == pattern->topology;
    bool names_device = false;
    const char *shape = pattern->shape;
    int n = variant->devices ? variant->devices : pattern->machine->n_devices;
    if (!same || variant->devices)
        TRY(shape_for(pattern, variant->topology, n, &shape, err));
    const char *word = hp_arena_printf(arena, "%s:%s", variant->topology->text.name, shape);
    for (int i = 0; i < pattern->n_options; i++) {
        names_device |= strncmp(pattern->option[i], "device=", 7) == 0;
        if (stays(pattern, variant, pattern->option[i]))
            word = hp_arena_printf(arena, "%s,%s", word, pattern->option[i]);
    }
    if (!same && !names_device)
        word = hp_arena_printf(arena, "%s,device=%s", word,
                               hypar_machine_device(pattern->machine, 0)->name);
    if (variant->bandwidth)
        word = hp_arena_printf(arena, "%s,bandwidth=%s", word, variant->bandwidth);
    *out = word;
    return HYPAR_OK;
}

static void add_machine(struct arena *arena, struct explored_machines *all,
                        const struct hypar_machine *machine, struct hypar_machine *own)
{
    const char *word = hypar_machine_word(machine);
    all->at = GROW(arena, struct explored_machine, all->at, all->n, &all->capacity);
    all->at[all->n++] = (struct explored_machine){ machine, own, word ? word : "the machine" };
}

static enum hypar_status read_count(const char *what, const char *text, int64_t most,
                                    int64_t *out, struct hypar_error *err)
{
    double n;
    if (!hypar_parse_quantity(text, HYPAR_UNIT_COUNT, &n) || n != floor(n) || n < 1 ||
        n > (double)most)
        return hp_fail(err, HYPAR_USAGE, "%s: '%.20s' is not a whole number from 1 to %lld",
                       what, text, (long long)most);
    *out = (int64_t)n;
    return HYPAR_OK;
}

enum hypar_status hp_explore_counts(struct arena *arena, const char *what, const char *text,
                                    int64_t most, int64_t **counts, int *n,
                                    struct hypar_error *err)
{
    char **item;
    int n_items, capacity = 0;
    *counts = NULL;
    *n = 0;
    TRY(hp_explore_list(arena, what, text, &item, &n_items, err));
    for (int i = 0; i < n_items; i++) {
        char *dots = strstr(item[i], "..");
        int64_t first, last;
        if (dots)
            *dots = '\0';
        TRY(read_count(what, item[i], most, &first, err));
        last = first;
        if (dots)
            TRY(read_count(what, dots + 2, most, &last, err));
        if (last < first)
            return hp_fail(err, HYPAR_USAGE, "%s: %lld..%lld goes down, expected %lld..%lld",
                           what, (long long)first, (long long)last, (long long)last,
                           (long long)first);
        for (int64_t count = first; count <= last; count *= 2) {
            *counts = GROW(arena, int64_t, *counts, *n, &capacity);
            (*counts)[(*n)++] = count;
        }
    }
    return HYPAR_OK;
}

static enum hypar_status read_topologies(struct arena *arena, const char *text,
                                         const struct topology ***out, int *n,
                                         struct hypar_error *err)
{
    char **name;
    TRY(hp_explore_list(arena, "topologies", text, &name, n, err));
    *out = NEW(arena, const struct topology *, *n);
    for (int i = 0; i < *n; i++) {
        TRY(hp_in(err, hp_topology_get(&(*out)[i], name[i], strlen(name[i]), err),
                  "topologies"));
        if (!(*out)[i]->default_device)
            return hp_fail(err, HYPAR_INVALID, "topologies: %s is this computer's own",
                           name[i]);
    }
    return HYPAR_OK;
}

/* All combinations, sizes varying fastest. */
static enum hypar_status vary(const struct pattern *pattern, const struct machine_lists *lists,
                              struct explored_machines *all, struct hypar_error *err)
{
    const struct topology **topology;
    char **bandwidth;
    int n_topologies, n_bandwidths, n_sizes;
    int64_t *size;
    struct arena *arena = pattern->arena;
    TRY(hp_explore_counts(arena, "devices", lists->devices, MACHINE_MAX_DEVICES, &size,
                          &n_sizes, err));
    TRY(read_topologies(arena, lists->topologies, &topology, &n_topologies, err));
    TRY(hp_explore_list(arena, "bandwidths", lists->bandwidths, &bandwidth, &n_bandwidths,
                        err));
    for (int t = 0; t < (n_topologies ? n_topologies : 1); t++)
        for (int b = 0; b < (n_bandwidths ? n_bandwidths : 1); b++)
            for (int d = 0; d < (n_sizes ? n_sizes : 1); d++) {
                struct variant variant = { n_topologies ? topology[t] : pattern->topology,
                                           n_bandwidths ? bandwidth[b] : NULL,
                                           n_sizes ? (int)size[d] : 0 };
                struct hypar_machine *machine;
                const char *word;
                if (all->n == MAX_SITES)
                    return hp_fail(err, HYPAR_UNSUPPORTED, "more than %d machines to explore",
                                   MAX_SITES);
                TRY(word_for(pattern, &variant, &word, err));
                TRY(hypar_machine_read(&machine, word, err));
                add_machine(arena, all, machine, machine);
            }
    return HYPAR_OK;
}

enum hypar_status hp_explore_machines(struct arena *arena, const struct hypar_machine *machine,
                                      const struct machine_lists *lists,
                                      struct explored_machines *all, struct hypar_error *err)
{
    struct pattern pattern = { .arena = arena, .machine = machine };
    *all = (struct explored_machines){ 0 };
    if (!lists->devices && !lists->topologies && !lists->bandwidths) {
        add_machine(arena, all, machine, NULL);
        return HYPAR_OK;
    }
    TRY(take_apart(&pattern, err));
    return vary(&pattern, lists, all, err);
}

void hp_explore_machines_free(struct explored_machines *all, int first)
{
    for (int i = first; i < all->n; i++)
        hypar_machine_free(all->at[i].own);
    all->n = first < all->n ? first : all->n;
}
