/* Synthetic samples, element by element. */
#include "run/data/synthetic.h"

#include <string.h>

#include "base/random.h"
#include "run/data.h"

/* Few ids and steps, so that a short training sees each succession often enough. */
enum { MAX_IDS = 256, STEPS = 4, CLASSES = 8 };

enum purpose { CLASS_OF, START_OF, PATTERN, NOISE };

/* Number i of a stream of random numbers; there is a stream for each purpose. */
static uint64_t stream(const struct synthetic *s, enum purpose what, uint64_t name)
{
    struct random random = { s->seed ^ name * 0x9e6c63d0876a9a99u ^ (uint64_t)what << 56 };
    return hp_random_u64(&random);
}

static uint64_t number_of(uint64_t stream, int64_t i)
{
    struct random random = { stream + (uint64_t)i * 0x9e3779b97f4a7c15u };
    return hp_random_u64(&random);
}

/* Between -1 and 1. */
static double signed_unit(uint64_t x)
{
    return (double)(x >> 11) * 0x1p-52 - 1;
}

static int64_t elements_of(const struct hypar_graph *graph, int t)
{
    struct hypar_shape shape = hp_sample_shape(graph, t);
    return hp_shape_elements(&shape);
}

/* Is there an input of ids as long as these labels? Then the labels are the next ids. */
static int ids_beside(const struct hypar_graph *graph, int labels)
{
    int t = hp_next_input(graph, ROLE_IDS, 0);
    while (t >= 0 && elements_of(graph, t) != elements_of(graph, labels))
        t = hp_next_input(graph, ROLE_IDS, t + 1);
    return t;
}

/* The number of classes of the labels that name the class. */
static int64_t class_count(const struct hypar_graph *graph)
{
    for (int t = hp_next_input(graph, ROLE_LABELS, 0); t >= 0;
         t = hp_next_input(graph, ROLE_LABELS, t + 1))
        if (ids_beside(graph, t) < 0)
            return hp_integers_below(graph, t);
    return CLASSES;
}

struct synthetic hp_synthetic(const struct hypar_graph *graph, int t, uint64_t seed)
{
    const char *name = graph->tensors[t].name;
    struct synthetic s = { .seed = seed,
                           .name = hp_hash(HP_HASH_START, name, strlen(name)),
                           .role = hp_input_role(graph, t),
                           .classes = class_count(graph),
                           .elements = elements_of(graph, t) };
    s.below = graph->tensors[t].index ? hp_integers_below(graph, t) : 0;
    int ids = s.role == ROLE_LABELS ? ids_beside(graph, t) : t;
    s.next_id = s.role == ROLE_LABELS && ids >= 0;
    if (s.next_id || s.role == ROLE_IDS) {
        s.ids = hp_integers_below(graph, ids);
        s.ids = s.ids < MAX_IDS ? s.ids : MAX_IDS;
    }
    return s;
}

static int64_t class_of(const struct synthetic *s, int64_t sample)
{
    return (int64_t)(number_of(stream(s, CLASS_OF, 0), sample) % (uint64_t)s->classes);
}

void hp_synthetic_numbers(const struct synthetic *s, int64_t sample, int64_t from, int64_t n,
                          double *out)
{
    uint64_t patterns = stream(s, PATTERN, s->name), noises = stream(s, NOISE, s->name);
    int64_t pattern = class_of(s, sample) * s->elements, noise = sample * s->elements;
    for (int64_t i = from; i < from + n; i++) {
        *out = signed_unit(number_of(patterns, pattern + i));
        if (s->role == ROLE_NUMBERS)
            *out += signed_unit(number_of(noises, noise + i));
        out++;
    }
}

/* All inputs of ids count from the same start. */
void hp_synthetic_integers(const struct synthetic *s, int64_t sample, int64_t from, int64_t n,
                           int64_t *out)
{
    int64_t hidden = class_of(s, sample), step = 1 + hidden % STEPS;
    int64_t start =
        s->ids ? (int64_t)(number_of(stream(s, START_OF, 0), sample) % (uint64_t)s->ids) : 0;
    for (int64_t i = from + s->next_id; i < from + s->next_id + n; i++)
        *out++ = (s->ids ? (start + i * step) % s->ids : hidden) % s->below;
}
