/* Initial values of parameters, element by element. */
#include "run/init.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "run/data.h"
#include "run/elements.h"

/* How a kind of operator initialises its parameters. */
enum ask {
    ASK_OTHER,  /* small random numbers */
    ASK_FAN_IN, /* by the number of inputs of one output */
    ASK_HIDDEN, /* by the width of the hidden state */
    ASK_NORM,   /* w is a factor, b a term: 1 and 0 */
    ASK_FACTOR,
};

static const enum ask asks[OP_KIND_COUNT] = {
    [OP_LINEAR] = ASK_FAN_IN,
    [OP_CONV] = ASK_FAN_IN,
    [OP_GROUP_CONV] = ASK_FAN_IN,
    [OP_MATMUL] = ASK_FAN_IN,
    [OP_LSTM] = ASK_HIDDEN,
    [OP_LSTM_CELL] = ASK_HIDDEN,
    [OP_CONV_TRANSPOSE] = ASK_FAN_IN,
    [OP_GROUP_CONV_TRANSPOSE] = ASK_FAN_IN,
    [OP_GRU] = ASK_HIDDEN,
    [OP_GRU_CELL] = ASK_HIDDEN,
    [OP_BATCH_NORM] = ASK_NORM,
    [OP_LAYER_NORM] = ASK_NORM,
    [OP_RMS_NORM] = ASK_NORM,
    [OP_GROUP_NORM] = ASK_NORM,
    [OP_MUL] = ASK_FACTOR,
    [OP_DIV] = ASK_FACTOR,
};

static bool moves_only(const struct op *op)
{
    return hp_op[op->kind].flags & ROW_LOOKUP && op->kind != OP_EMBEDDING;
}

/* The first use of a tensor by an operator that computes; .op is -1 if there is none. */
static struct use deciding_use(const struct hypar_graph *graph, int tensor)
{
    while (graph->use_start[tensor] < graph->use_start[tensor + 1]) {
        struct use use = graph->use[graph->use_start[tensor]];
        const struct op *op = &graph->ops[use.op];
        if (!moves_only(op))
            return use;
        tensor = op->tensor[hp_first_output(op)];
    }
    return (struct use){ -1, -1 };
}

static int operand_called(const struct nest *nest, char name)
{
    int o = 0;
    while (o < nest->n_operands &&
           (nest->operand[o].name[0] != name || nest->operand[o].name[1]))
        o++;
    return o < nest->n_operands ? o : -1;
}

/* The inputs of one output: the axes of the weight that the output lacks. The second operand is
 * the weight: w, or y of a product. */
static double fan_in(const struct op *op)
{
    const struct nest *nest = op->nest;
    int w = operand_called(nest, 'w');
    axis_set summed =
        nest->operand[w < 0 ? 1 : w].axes & ~nest->operand[hp_first_output(op)].axes;
    double n = 1;
    for (int a = 0; a < nest->n_axes; a++)
        if (summed >> a & 1)
            n *= (double)nest->axis[a].extent;
    return n;
}

struct init_rule hp_init_rule(const struct hypar_graph *graph, int tensor)
{
    const struct init_rule small = { INIT_NORMAL, 0.02 };
    struct use use = deciding_use(graph, tensor);
    if (use.op < 0)
        return small;
    const struct op *op = &graph->ops[use.op];
    const struct nest *nest = op->nest;
    switch (asks[op->kind]) {
    case ASK_FAN_IN:
        return (struct init_rule){ INIT_UNIFORM, 1 / sqrt(fan_in(op)) };
    case ASK_HIDDEN:
        return (struct init_rule){
            INIT_UNIFORM, 1 / sqrt((double)nest->axis[hp_nest_axis(nest, 'k')].extent)
        };
    case ASK_NORM:
        return (struct init_rule){ INIT_CONSTANT, nest->operand[use.operand].name[0] == 'w' };
    case ASK_FACTOR:
        return (struct init_rule){ INIT_CONSTANT, 1 };
    default:
        return small;
    }
}

/* ln x to some 16 digits, by operations that are the same on every machine: for x = m 2^e with
 * m in [1/2, 1), the series of ln m = 2 artanh((m - 1) / (m + 1)). */
static double logarithm(double x)
{
    static const double ln_2 = 0.69314718055994530942;
    int e;
    double m = frexp(x, &e), t = (m - 1) / (m + 1), power = t, sum = 0;
    for (int k = 1; k < 36; k += 2, power *= t * t)
        sum += power / k;
    return e * ln_2 + 2 * sum;
}

/* A normal number as a ratio of uniform ones (Leva, ACM TOMS 18(4), 1992). Two quadratic curves
 * decide in all but a hundredth of the cases. The logarithm only accepts or rejects, so its
 * rounding does not enter the result. */
static double normal(struct random *random)
{
    for (;;) {
        double u = 1 - hp_random_unit(random), v = 1.7156 * (hp_random_unit(random) - 0.5);
        double x = u - 0.449871, y = fabs(v) + 0.386595;
        double q = x * x + y * (0.19600 * y - 0.25472 * x);
        if (q < 0.27597 || (q < 0.27846 && v * v <= -4 * logarithm(u) * u * u))
            return v / u;
    }
}

/* Element `index` of a parameter has its own stream of random numbers. */
static double draw(struct init_rule rule, uint64_t key, int64_t index)
{
    struct random random = { key + (uint64_t)index * 0x9e3779b97f4a7c15u };
    switch (rule.kind) {
    case INIT_UNIFORM:
        return (2 * hp_random_unit(&random) - 1) * rule.value;
    case INIT_NORMAL: /* takes several numbers, which must not be the next element's */
        random.state = hp_random_u64(&random);
        return normal(&random) * rule.value;
    default:
        return rule.value;
    }
}

/* A part of a parameter's elements, from which its runs in a box are copied. */
struct window {
    int64_t at, n, room;
    double *value;
};

/* Runs that are close to each other are read at once. */
enum hypar_status hp_init_from(const struct weights *weights, const struct hypar_graph *graph,
                               int tensor, const struct box *box, enum real real, void *dense,
                               struct hypar_error *err)
{
    const struct tensor *info = &graph->tensors[tensor];
    struct arena scratch = { 0 };
    struct window w = { .room = 1 << 16 };
    int64_t all = hp_shape_elements(&info->shape);
    enum hypar_status status = HYPAR_OK;
    w.room = all < w.room ? all : w.room;
    w.value = NEW(&scratch, double, w.room);
    struct runs r = hp_runs(&info->shape, box);
    while (status == HYPAR_OK && hp_next_run(&r))
        for (int64_t i = 0; i < r.length && status == HYPAR_OK; i++) {
            int64_t at = r.in_array + i;
            if (at >= w.at + w.n) {
                w.at = at;
                w.n = all - at < w.room ? all - at : w.room;
                status = hp_weights_read_part(weights, info->name, all, at, w.n, w.value, err);
            }
            if (info->index)
                ((int32_t *)dense)[r.in_box + i] = (int32_t)w.value[at - w.at];
            else
                hp_put(dense, r.in_box + i, w.value[at - w.at], real);
        }
    hp_arena_free(&scratch);
    return status;
}

void hp_init_box(const struct hypar_graph *graph, int tensor, const struct box *box,
                 enum real real, uint64_t seed, void *dense)
{
    const char *name = graph->tensors[tensor].name;
    struct random random = { seed ^ hp_hash(HP_HASH_START, name, strlen(name)) };
    uint64_t key = hp_random_u64(&random);
    struct init_rule rule = hp_init_rule(graph, tensor);
    struct runs r = hp_runs(&graph->tensors[tensor].shape, box);
    while (hp_next_run(&r))
        for (int64_t i = 0; i < r.length; i++)
            hp_put(dense, r.in_box + i, draw(rule, key, r.in_array + i), real);
}
