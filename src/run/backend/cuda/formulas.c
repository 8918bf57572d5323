/* The formulas of operators. They are those of the reference kernels (src/kernel). */
#include "run/backend/cuda/formulas.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernel/scalar.h"
#include "kernel/walk.h"

struct row {
    const char *kinds; /* "softmax log_softmax", or "" : any kind */
    const char *target;
    const char *text, *left_out;
};

#define JOIN(x)               "join(acc, acc1, " x ", 1, p.least);"
#define MOMENTS               "const moments m = moments_of($s0, $s1, k3, k1, k2); "
#define RMS_RATE              "const double r = rate($s * k3 + k1); "
#define AT_WINDOW             "[&](Index p1, Index p2, Index p3, Index p4, Index p5)"
#define OUTER_WINDOW_POSITION "number_in(in, q1, q2, q3, q4, q5)"
#define SCORE                                                                     \
    "double score = 0; "                                                          \
    "for (Index d = 0; d < @#d; d++) score += $x[d=d] * $k[d=d]; score *= k0; "   \
    "const double slope = k1 > 0 ? 1 - tanh(score / k1) * tanh(score / k1) : 1; " \
    "if (k1 > 0) score = k1 * tanh(score / k1); score += $b; (void)slope; "       \
    "if (k2 != 0 && @s > @q) continue; "
#define PROBABILITY \
    SCORE "const double part = score > p.least ? ratio(exp(score - $m0), $m1) : 0; "
#define SCORE_GRADIENT                                                       \
    PROBABILITY "double dp = 0; "                                            \
                "for (Index e = 0; e < @#e; e++) dp += $dy[e=e] * $v[e=e]; " \
                "const double ds = part * (dp - $t); "

/* clang-format off */
static const struct row rows[] = {
    { "embedding", "y", "const Index id = $i; if (id >= @<v && id < @>v) acc += $w[v=id];", "v" },
    { "embedding", "dw", "if ($i == @v) acc += $dy;", "" },
    { "gather_elements index_select", "y", "const Index i = $i; acc += $x[*=i];", "" },
    { "gather_elements index_select", "dx", "if ($i == whole) acc += $dy;", "" },
    { "scatter_add", "y", "if ($i == whole) acc += $s;", "" },
    { "scatter_add", "ds", "const Index i = $i; acc += $dy[*=i];", "" },
    { "cumsum", "y", "for (Index j = 0; j < k0; j++) if (k1 != 0 ? j >= @| : j <= @|) acc += $x[|=j];", "" },
    { "cumsum", "dx", "for (Index j = 0; j < k0; j++) if (k1 != 0 ? j <= @| : j >= @|) acc += $dy[|=j];", "" },
    { "rope", "y dx", "const Index width = @#d, half = width / 2, other = @d < half ? @d + half : @d - half;"
      " if (@d == 2 * half) { acc += SAME; continue; }"
      " const double turn = double(@t) * pow(k0, -double(2 * (@d < half ? @d : @d - half)) / double(width));"
      " const double s = SIGN sin(turn); acc += SAME * cos(turn) + (@d < half ? -s : s) * OTHER;", "" },

    { "attention", "m", SCORE JOIN("score"), "de" },
    { "attention", "y", PROBABILITY "acc += part * $v;", "d" },
    { "attention", "t", "acc += $y * $dy;", "" },
    { "attention", "dv", PROBABILITY "acc += part * $dy;", "d" },
    { "attention", "dx", SCORE_GRADIENT "acc += slope * k0 * ds * $k;", "e" },
    { "attention", "dk", SCORE_GRADIENT "acc += slope * k0 * ds * $x;", "e" },
    { "attention", "db", SCORE_GRADIENT "acc += ds;", "de" },

    { "max_pool adaptive_max_pool", "y",
      "double most; largest(in, " AT_WINDOW " { return $x; }, most); acc += most;", "" },
    { "max_pool adaptive_max_pool", "dx",
      "double most; const int here = number_in(in, AT); "
      "if (here >= 0 && largest(in, " AT_WINDOW " { return $x; }, most) == here) acc += $dy;", "" },
    { "avg_pool adaptive_avg_pool resize_nearest resize_linear", "y",
      "for_window(in, " AT_WINDOW " { acc += WEIGHT $x; });", "" },
    { "avg_pool adaptive_avg_pool resize_nearest resize_linear", "dx", "acc += WEIGHT $dy;", "" },
    { "lrn", "y",
      "double d = 0; const auto x = [&](Index p1) { return $x; }; "
      "for (Index i = in[0].first; i < in[0].hi; i++) d += x(i) * x(i); "
      "acc += x(@c) * pow(k3 + k1 / k0 * d, -k2);", "" },
    { "lrn", "dx",
      "double d = 0; const Index here = p1; const auto x = [&](Index p1) { return $x; }; "
      "for (Index i = in[0].first; i < in[0].hi; i++) d += x(i) * x(i); "
      "d = k3 + k1 / k0 * d; if (here == @c) acc += $dy * pow(d, -k2); "
      "if (here >= in[0].first && here < in[0].hi) "
      "acc += -2 * k1 * k2 / k0 * $dy * x(@c) * pow(d, -k2 - 1) * x(here);", "" },

    { "rms_norm", "s", "const double v = $x; acc += v * v;", "" },
    { "rms_norm", "y", RMS_RATE "acc += $x * r * $w;", "" },
    { "rms_norm", "g", "acc += $dy * $w * $x;", "" },
    { "rms_norm", "dx", RMS_RATE "acc += r * ($w * $dy - $x * r * $g * r * k3);", "" },
    { "rms_norm", "dw", RMS_RATE "acc += $dy * $x * r;", "" },
    { "batch_norm layer_norm group_norm", "s", "const double v = $x; acc += v; acc1 += v * v;", "" },
    { "batch_norm layer_norm group_norm", "y", MOMENTS "acc += ($x - m.mean) * m.rate * $w + $b;", "" },
    { "batch_norm layer_norm group_norm", "g t",
      MOMENTS "const double v = $dy * $w; acc += v; acc1 += v * ($x - m.mean) * m.rate;", "" },
    { "batch_norm", "dx", MOMENTS "const double v = ($x - m.mean) * m.rate; acc += m.rate * $w * ($dy - ($g0 + v * $g1) * k3);", "" },
    { "layer_norm", "dx", MOMENTS "const double v = ($x - m.mean) * m.rate; acc += m.rate * ($w * $dy - ($g0 + v * $g1) * k3);", "" },
    { "group_norm", "dx", MOMENTS "const double v = ($x - m.mean) * m.rate; acc += m.rate * ($w * $dy - ($t0 + v * $t1) * k3);", "" },
    { "batch_norm layer_norm group_norm", "dw", MOMENTS "acc += $dy * ($x - m.mean) * m.rate;", "" },

    { "softmax", "m", "if (k0 != 0 && @c > @^) continue; " JOIN("$x"), "" },
    { "log_softmax cross_entropy", "m", JOIN("$x"), "" },
    { "softmax", "y", "if (k0 != 0 && @c > @^) continue; acc += ratio(exp($x - $m0), $m1);", "" },
    { "softmax", "g", "acc += $y * $dy;", "" },
    { "softmax", "dx", "acc += $y * ($dy - $g);", "" },
    { "log_softmax", "y", "acc += $x - $m0 - log($m1);", "" },
    { "log_softmax", "g", "acc += $dy;", "" },
    { "log_softmax", "dx", "acc += $dy - exp($y) * $g;", "" },
    { "cross_entropy", "y", "const Index label = $l; if (label >= @<c && label < @>c) acc += (log($m1) + $m0 - $x[c=label]) / k0;", "c" },
    { "cross_entropy", "dx", "const Index label = $l; if (label >= 0 && label < @#c) acc += (ratio(exp($x - $m0), $m1) - (@c == label)) * k3 * $dy;", "" },
    { "mse_loss", "y", "const double error = $x - $l; acc += error * error / k0;", "" },
    { "mse_loss", "dx", "acc += 2 * ($x - $l) / k0 * $dy;", "" },
    { "mse_loss", "dl", "acc -= 2 * ($x - $l) / k0 * $dy;", "" },

    { "where", "z", "acc += $c != 0 ? $x : $y;", "" },
    { "where", "dx", "if ($c != 0) acc += $dz;", "" },
    { "where", "dy", "if ($c == 0) acc += $dz;", "" },
    { "reduce_max global_max_pool", "y", "const double x = $x; if (x > acc) acc = x;", "" },
    { "reduce_max global_max_pool", "dx", "if ($x == $y) acc += $dy;", "" },
};
/* clang-format on */

/* Is `word` one of the words of a list? */
static bool is_listed(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0))
            return true;
    return false;
}

static const struct row *find_row(const char *kind, const char *target)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_listed(rows[i].kinds, kind) && is_listed(rows[i].target, target))
            return &rows[i];
    return NULL;
}

static bool copies(enum op_kind kind)
{
    return is_listed(
        "identity concat split slice pad transpose reshape flatten squeeze unsqueeze "
        "expand reduce_sum reduce_mean global_avg_pool scatter_add",
        hp_op[kind].name);
}

/* Replace a word of a text. */
static void replace(char room[FORMULA_BYTES], const char *word, const char *by)
{
    char old[FORMULA_BYTES];
    size_t n = strlen(word);
    for (char *at = room; (at = strstr(at, word)); at += strlen(by)) {
        snprintf(old, sizeof old, "%s", at + n);
        int written = snprintf(at, FORMULA_BYTES - (size_t)(at - room), "%s%s", by, old);
        assert(written < FORMULA_BYTES - (at - room));
        (void)written;
    }
}

/* The dimensions of the first operand that have windows are the spatial ones. */
static void fill_in_windows(const struct nest *nest, char room[FORMULA_BYTES])
{
    char at[64] = "", weight[256] = "";
    for (int d = 1; d <= 5; d++) {
        const struct operand *x = &nest->operand[0];
        bool window = d >= 2 && d < x->n_dims;
        size_t n = strlen(at), m = strlen(weight);
        snprintf(at + n, sizeof at - n, window ? "%sp%d" : "%s0", d > 1 ? ", " : "", d);
        if (window)
            snprintf(weight + m, sizeof weight - m, "weight_at(in[%d], p%d) * ", d - 1, d);
    }
    snprintf(at + strlen(at), sizeof at - strlen(at), ")");
    replace(room, "AT)", at);
    replace(room, "WEIGHT ", weight);
}

/* The first step has no h before it: is this the gradient of its weights? */
static bool is_first_step(const struct kernel_call *call, const char *target)
{
    enum op_kind kind = call->nest->kind;
    return (kind == OP_LSTM_CELL || kind == OP_GRU_CELL) && strcmp(target, "du") == 0 &&
           !hp_call_view(call, "h");
}

struct formula hp_cuda_formula(const struct kernel_call *call, int o, bool grad,
                               char room[FORMULA_BYTES])
{
    const struct nest *nest = call->nest;
    const char *kind = hp_op[nest->kind].name;
    char target[8];
    snprintf(target, sizeof target, "%s%c", grad ? "d" : "", nest->operand[o].name[0]);
    const struct row *row = find_row(kind, target);
    struct formula f = { FORMULA_TEXT, room, row ? row->left_out : "" };
    room[0] = 0;
    if (row)
        snprintf(room, FORMULA_BYTES, "%s", row->text);
    else if (hp_binary[nest->kind].value)
        snprintf(room, FORMULA_BYTES, "const double x = $x, y = $y; acc += %s%s_%s%s(x, y);",
                 grad ? "$dz * " : "", kind, grad ? "slope_" : "value", grad ? target + 1 : "");
    else if (hp_unary[nest->kind].value)
        snprintf(room, FORMULA_BYTES,
                 grad ? "acc += $dy * %s_slope($x + $y, { k0, k1 });"
                      : "acc += %s_value($x, { k0, k1 });",
                 kind);
    else if (nest->kind == OP_DROPOUT)
        snprintf(room, FORMULA_BYTES, "%sif (kept) acc += %s / (1 - k0);",
                 !call->mask.data ? "const bool kept = draw(p.key, @=) >= p.c[0]; "
                 : grad           ? "const bool kept = %; "
                                  : "const bool kept = draw(p.key, @=) >= p.c[0]; % = kept; ",
                 grad ? "$dy" : "$x");
    else if (copies(nest->kind))
        f.kind = FORMULA_COPIES;
    else if (nest->kind == OP_WHERE || is_first_step(call, target))
        f.kind = FORMULA_NONE;
    else
        f = (struct formula){ FORMULA_PRODUCT, NULL, "" };
    if (nest->kind == OP_ROPE) {
        replace(room, "SAME", grad ? "$dy" : "$x");
        replace(room, "OTHER", grad ? "$dy[d=other]" : "$x[d=other]");
        replace(room, "SIGN", grad ? "-" : "");
    } else if (f.text) {
        fill_in_windows(nest, room);
    }
    return f;
}

/* Constants ----------------------------------------------------------------------------- */

static void norm_constants(const struct kernel_call *call, double k[CUDA_CONSTANTS])
{
    const struct nest *nest = call->nest;
    int n = hp_nest_axis(nest, 'n');
    axis_set over = nest->operand[0].axes & ~nest->operand[hp_operand(nest, 's')].axes;
    k[0] = hp_extents(nest, over & ~(1u << n));
    if (over >> n & 1)
        k[0] *= (double)(call->samples.hi - call->samples.lo);
    k[1] = hp_attr(nest->attrs, ATTR_EPS, 0, 0);
    k[2] = call->inference && nest->kind == OP_BATCH_NORM;
    k[3] = 1 / k[0];
}

static void attention_constants(const struct nest *nest, double k[CUDA_CONSTANTS])
{
    k[0] = hp_attr(nest->attrs, ATTR_SCALE, 0, 0);
    if (k[0] == 0)
        k[0] = 1 / sqrt((double)nest->axis[hp_nest_axis(nest, 'd')].extent);
    k[1] = hp_attr(nest->attrs, ATTR_SOFT_CAP, 0, 0);
    k[2] = hp_attr(nest->attrs, ATTR_CAUSAL, 0, 0);
}

static void cumsum_constants(const struct nest *nest, double k[CUDA_CONSTANTS])
{
    int axis = (int)hp_attr_int(nest->attrs, ATTR_AXIS, 0, 0);
    k[0] = (double)nest->axis[axis].extent;
    k[1] = hp_attr(nest->attrs, ATTR_REVERSE, 0, 0);
}

static void lrn_constants(const struct attrs *attrs, double k[CUDA_CONSTANTS])
{
    k[0] = hp_attr(attrs, ATTR_SIZE, 0, 1);
    k[1] = hp_attr(attrs, ATTR_ALPHA, 0, 0.0001);
    k[2] = hp_attr(attrs, ATTR_BETA, 0, 0.75);
    k[3] = hp_attr(attrs, ATTR_BIAS, 0, 1);
}

static double mean_share(const struct nest *nest)
{
    struct box x = hp_operand_box(nest, 0), y = hp_operand_box(nest, 1);
    return (double)hp_box_elements(&y) / (double)hp_box_elements(&x);
}

void hp_cuda_constants(const struct kernel_call *call, double k[CUDA_CONSTANTS])
{
    const struct nest *nest = call->nest;
    for (int i = 0; i < CUDA_CONSTANTS; i++)
        k[i] = 0;
    switch (nest->kind) {
    case OP_BATCH_NORM:
    case OP_LAYER_NORM:
    case OP_RMS_NORM:
    case OP_GROUP_NORM:
        norm_constants(call, k);
        break;
    case OP_ATTENTION:
        attention_constants(nest, k);
        break;
    case OP_SOFTMAX:
        k[0] = hp_attr(nest->attrs, ATTR_CAUSAL, 0, 0);
        break;
    case OP_CROSS_ENTROPY:
        k[0] = hp_extents(nest, nest->operand[hp_operand(nest, 'l')].axes);
        k[3] = 1 / k[0];
        break;
    case OP_MSE_LOSS:
        k[0] = hp_extents(nest, nest->pass[call->pass].axes);
        break;
    case OP_DROPOUT:
        k[0] = call->inference ? 0 : hp_attr(nest->attrs, ATTR_RATE, 0, 0.5);
        break;
    case OP_ROPE:
        k[0] = hp_attr(nest->attrs, ATTR_THETA, 0, 10000);
        break;
    case OP_CUMSUM:
        cumsum_constants(nest, k);
        break;
    case OP_LRN:
        lrn_constants(nest->attrs, k);
        break;
    case OP_REDUCE_MEAN:
    case OP_GLOBAL_AVG_POOL:
        k[0] = mean_share(nest);
        break;
    default: {
        struct constants c = hp_constants(nest->attrs);
        k[0] = c.alpha;
        k[1] = c.beta;
    }
    }
}
