/* compare_checkpoints A B - the largest difference of a tensor of two checkpoints, relative to
 * its norm, and which tensor has it; exit code 3 if they do not have the same tensors.
 *
 * What is 0 but for rounding (the gradient of a key's bias: softmax does not see it) differs by
 * as much as it is; elements count as FLOOR at least. */
#include <math.h>
#include <stdio.h>

#include "graph/graph.h"
#include "run/checkpoint/checkpoint.h"
#include "run/data.h"

static const double *read_tensor(const struct checkpoint *from, int t, struct arena *arena,
                                 int64_t *n, struct hypar_error *err)
{
    const struct hypar_shape *shape = &hp_checkpoint_tensor(from, t)->shape;
    struct box box = hp_shape_box(shape);
    *n = hp_shape_elements(shape);
    double *data = NEW(arena, double, *n + 1);
    return hp_checkpoint_read(from, t, &box, REAL_F64, data, err) == HYPAR_OK ? data : NULL;
}

static const double FLOOR = 1e-6;

/* || a - b || / || b ||; negative if they cannot be compared. */
static double difference(const struct checkpoint *a, const struct checkpoint *b, int t,
                         struct hypar_error *err)
{
    struct arena arena = { 0 };
    const struct checkpoint_tensor *of = hp_checkpoint_tensor(b, t);
    int64_t n;
    int other;
    double apart = 0, norm = 0;
    if (hp_checkpoint_need(a, of->name, &of->shape, &other, err) != HYPAR_OK)
        return -1;
    const double *x = read_tensor(a, other, &arena, &n, err);
    const double *y = read_tensor(b, t, &arena, &n, err);
    for (int64_t i = 0; x && y && i < n; i++) {
        apart += (x[i] - y[i]) * (x[i] - y[i]);
        norm += y[i] * y[i];
    }
    hp_arena_free(&arena);
    if (!x || !y)
        return -1;
    double least = FLOOR * FLOOR * (double)n;
    return apart > 0 ? sqrt(apart / (norm > least ? norm : least)) : apart;
}

static int compare(const struct checkpoint *a, const struct checkpoint *b,
                   struct hypar_error *err)
{
    double most = 0;
    const char *which = "-";
    if (hp_checkpoint_count(a) != hp_checkpoint_count(b)) {
        hp_fail(err, HYPAR_INVALID, "%d and %d tensors", hp_checkpoint_count(a),
                hp_checkpoint_count(b));
        return 3;
    }
    for (int t = 0; t < hp_checkpoint_count(b); t++) {
        double one = difference(a, b, t, err);
        if (one < 0)
            return 3;
        if (!(one <= most)) { /* NaN, too */
            most = one;
            which = hp_checkpoint_tensor(b, t)->name;
        }
    }
    printf("%.3g %s\n", most, which);
    return 0;
}

int main(int argc, char **argv)
{
    struct checkpoint *a = NULL, *b = NULL;
    struct hypar_error err = { .text = "expected two files" };
    int code = 3;
    if (argc == 3 && hp_checkpoint_open(&a, argv[1], &err) == HYPAR_OK &&
        hp_checkpoint_open(&b, argv[2], &err) == HYPAR_OK)
        code = compare(a, b, &err);
    if (code)
        fprintf(stderr, "compare_checkpoints: %s\n", err.text);
    hp_checkpoint_close(a);
    hp_checkpoint_close(b);
    return code;
}
