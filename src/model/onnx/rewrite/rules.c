/* The rules of the rewriting, one row each: a pattern of operators of the first graph
 * (pattern.h), and the operator of our graph that replaces them. Where an exporter takes one
 * operator apart, a rule puts the operator together again. To add a rule: a row, and a line in
 * tests/model/onnx_forms.txt.
 *
 * A row may name a check, for conditions on shapes and values that a pattern cannot express,
 * and a writer, where the replacement is more than one operator of the captured tensors. The
 * operators that a rule no longer needs are left out later (rewrite.c). */
#include "model/onnx/rewrite/rules.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

static double attr(const struct op *o, enum attr_id id, double otherwise)
{
    return hp_attr(o->nest->attrs, id, 0, otherwise);
}

static const struct hypar_shape *shape_of(const struct rewriting *rw, int t)
{
    return &rw->g->tensors[t].shape;
}

/* Checks ---------------------------------------------------------------------------------- */

/* Is `t` a parameter with one element for each of the last dimension of `like`? An absent
 * parameter is. */
static bool is_row(const struct rewriting *rw, int t, int like)
{
    const struct hypar_shape *x = shape_of(rw, like);
    return t < 0 || (rw->g->tensors[t].kind == TENSOR_PARAM && shape_of(rw, t)->n_dims == 1 &&
                     shape_of(rw, t)->dim[0] == x->dim[x->n_dims - 1]);
}

/* A norm over rows: scale w and shift b are rows, and e is a small number. */
static bool is_norm(const struct rewriting *rw, const struct match *m)
{
    int y = hp_output(rw, m->op), rank = shape_of(rw, y)->n_dims;
    double eps = m->number['e' - 'a'];
    return rank >= 2 && rank <= 4 && is_row(rw, hp_captured(m, 'w'), y) &&
           is_row(rw, hp_captured(m, 'b'), y) && eps >= 0 && eps <= 1;
}

/* Is x repeated only to fit the other operand y? Our operators broadcast. */
static bool is_broadcast(const struct rewriting *rw, const struct match *m)
{
    return shape_of(rw, hp_captured(m, 'x'))->n_dims ==
               shape_of(rw, hp_captured(m, 'e'))->n_dims &&
           hp_same_shape(shape_of(rw, hp_captured(m, 'y')), shape_of(rw, hp_output(rw, m->op)));
}

/* Are the windows of one element each? */
static bool is_idle_pool(const struct rewriting *rw, const struct match *m)
{
    const struct attrs *attrs = rw->g->ops[m->op].nest->attrs;
    for (int i = 0; i < 4; i++)
        if (hp_attr(attrs, ATTR_KERNEL, i, 1) != 1 || hp_attr(attrs, ATTR_STRIDE, i, 1) != 1 ||
            hp_attr(attrs, ATTR_PAD, i, 0) != 0)
            return false;
    return true;
}

/* Do the readers of the pooled tensor only remove its dimensions of size 1, perhaps after a
 * dropout or a relu? */
static bool is_flattened(const struct rewriting *rw, const struct match *m)
{
    const struct hypar_graph *g = rw->g;
    int t = hp_output(rw, m->op);
    for (int limit = 8; limit > 0 && hp_readers(rw, t) == 1; limit--) {
        int op = g->use[g->use_start[t]].op;
        enum op_kind kind = g->ops[op].kind;
        t = hp_output(rw, op);
        if (kind == OP_RESHAPE || kind == OP_SQUEEZE)
            return g->tensors[t].shape.n_dims == 2;
        if (kind != OP_DROPOUT && kind != OP_RELU)
            return false;
    }
    return false;
}

/* Writers --------------------------------------------------------------------------------- */

/* The input itself: the operator does nothing. */
static bool write_input(struct rewriting *rw, const struct match *m)
{
    rw->map[hp_output(rw, m->op)] = rw->map[hp_captured(m, 'x')];
    return true;
}

/* A pool that never gets the dimensions of size 1 which a later operator removes. */
static bool write_flat_pool(struct rewriting *rw, const struct match *m)
{
    const struct op *o = &rw->g->ops[m->op];
    int y = hp_output(rw, m->op);
    int t = hp_new_op(rw, o->kind, o->name, 1, &rw->map[o->tensor[0]], NULL, 1);
    rw->map[y] = hp_new_reshape(rw, o->name, t, shape_of(rw, y));
    return true;
}

/* The padding of a convolution or of a mean, with the zeros that an operator before it puts
 * around the positions; false: they cannot be added. */
static bool add_padding(const struct rewriting *rw, const struct op *o, const struct op *pad,
                        double pads[6])
{
    bool mean = o->kind == OP_AVG_POOL;
    int rank = shape_of(rw, o->tensor[0])->n_dims;
    const struct attr *around = hp_attr_get(pad->nest->attrs, ATTR_PAD);
    if (attr(o, ATTR_CEIL, 0) != 0)
        return false;
    for (int d = 0; d < 2; d++)
        if (around->v[d] != 0 || around->v[rank + d] != 0)
            return false;
    for (int i = 0; i < 2 * (rank - 2); i++) {
        double own = hp_attr(o->nest->attrs, ATTR_PAD, i, 0);
        if (mean && own != 0)
            return false;
        pads[i] = own + around->v[i < rank - 2 ? 2 + i : rank + 2 + i - (rank - 2)];
    }
    return true;
}

static bool write_padded(struct rewriting *rw, const struct match *m)
{
    const struct op *o = &rw->g->ops[m->op];
    int pad = rw->g->tensors[o->tensor[0]].producer, in[3];
    struct attr list[ATTR_COUNT];
    struct attrs attrs = { 0, list };
    const double counted = 1;
    double pads[6];
    if (!add_padding(rw, o, &rw->g->ops[pad], pads))
        return false;
    for (int i = 0; i < o->nest->attrs->n; i++) {
        list[attrs.n] = o->nest->attrs->attr[i];
        if (list[attrs.n].id == ATTR_PAD)
            list[attrs.n].v = pads;
        if (list[attrs.n].id == ATTR_COUNT_PAD)
            list[attrs.n].v = &counted;
        attrs.n++;
    }
    hp_new_inputs(rw, o, in);
    in[0] = rw->map[hp_captured(m, 'x')];
    rw->map[hp_output(rw, m->op)] = hp_new_op(rw, o->kind, o->name, o->nest->n_inputs, in,
                                              hp_attrs_copy(rw->arena, &attrs), 1);
    return true;
}

/* A parameter that is repeated for every sample only to be joined with others: our concat
 * broadcasts. */
static bool write_narrow_concat(struct rewriting *rw, const struct match *m)
{
    const struct op *o = &rw->g->ops[m->op];
    int in[MAX_OPERANDS];
    bool found = false, other = false;
    for (int i = 0; i < o->nest->n_inputs; i++) {
        int expand = hp_made_by(rw, o->tensor[i], OP_EXPAND),
            x = expand >= 0 ? rw->g->ops[expand].tensor[0] : -1;
        const struct hypar_shape *wide = &rw->g->tensors[o->tensor[i]].shape;
        bool narrow = expand >= 0 && rw->g->tensors[x].kind == TENSOR_PARAM &&
                      rw->g->tensors[x].shape.n_dims == wide->n_dims;
        int axis = (int)hp_attr_int(o->nest->attrs, ATTR_AXIS, 0, 0);
        narrow = narrow && rw->g->tensors[x].shape.dim[axis] == wide->dim[axis];
        in[i] = rw->map[narrow ? x : o->tensor[i]];
        found |= narrow;
        other |= !narrow;
    }
    if (!found || !other)
        return false;
    rw->map[hp_output(rw, m->op)] =
        hp_new_op(rw, OP_CONCAT, o->name, o->nest->n_inputs, in, o->nest->attrs, 1);
    return true;
}

/* A concat whose first inputs are all inputs of an earlier concat reads the result of the
 * earlier one: DenseNet. */
static bool write_longer_concat(struct rewriting *rw, const struct match *m)
{
    const struct op *o = &rw->g->ops[m->op];
    int in[MAX_OPERANDS], n = o->nest->n_inputs, earlier = -1, length = n - 1;
    for (; length >= 2 && earlier < 0; length--) {
        earlier = hp_table_get(&rw->concats, o->tensor, (size_t)length * sizeof *o->tensor);
        if (earlier >= 0 && attr(&rw->g->ops[earlier], ATTR_AXIS, 0) != attr(o, ATTR_AXIS, 0))
            earlier = -1;
    }
    hp_table_put(&rw->concats, rw->arena, o->tensor, (size_t)n * sizeof *o->tensor, m->op);
    if (earlier < 0)
        return false;
    length++;
    in[0] = rw->map[hp_output(rw, earlier)];
    for (int i = length; i < n; i++)
        in[1 + i - length] = rw->map[o->tensor[i]];
    rw->map[hp_output(rw, m->op)] =
        hp_new_op(rw, OP_CONCAT, o->name, 1 + n - length, in, o->nest->attrs, 1);
    return true;
}

/* The table ------------------------------------------------------------------------------- */

#define SAME_KIND OP_KIND_COUNT /* the kind of the last operator, with its attributes */

/* The name of the new operator: that of the last operator, or of the module around it. */
enum naming { AS_NODE, AS_MODULE };

struct rule {
    const char *pattern;
    pattern_check *check; /* NULL: none */
    enum op_kind kind;    /* of the operator that replaces the pattern, */
    const char *inputs;   /* its inputs, a letter each (-: absent), */
    const char *attrs;    /* its attributes: "eps=e causal=1"; NULL: none; */
    enum naming naming;
    /* Or writes the replacement; false: the rule does not apply, and nothing is written. */
    bool (*write)(struct rewriting *rw, const struct match *m);
};

#define BECOMES(pattern, check, kind, inputs, attrs, naming) \
    {                                                        \
        pattern, check, kind, inputs, attrs, naming, NULL    \
    }
#define WRITTEN_BY(pattern, check, write)                     \
    {                                                         \
        pattern, check, SAME_KIND, NULL, NULL, AS_NODE, write \
    }

/* clang-format off */
/* The first row that applies counts. */
static const struct rule rules[] = {
    WRITTEN_BY("matmul[@dropout/reshape softmax(s) v]", NULL, hp_write_attention),
    WRITTEN_BY("attention(...)", NULL, hp_write_groups),
    WRITTEN_BY("add(mul(x c) mul(concat{axis=last}[neg(h) l] s))", hp_is_rotary, hp_write_rotary),
    WRITTEN_BY("slice/split(x)", NULL, hp_write_columns),
    WRITTEN_BY("slice(x)", NULL, hp_write_packed),
    WRITTEN_BY("add(...)", NULL, hp_write_biased),
    BECOMES("<Half(mul(x Gate(x))) | mul(Half(x) Gate(x)) | mul(x Half(Gate(x)))>", NULL,
            OP_GELU, "x", NULL, AS_NODE),
    BECOMES("mul(Half(x) TanhGate(x))", NULL, OP_GELU_TANH, "x", NULL, AS_NODE),
    BECOMES("mul(x sigmoid(x))", NULL, OP_SILU, "x", NULL, AS_NODE),
    BECOMES("add(mul(LayerNorm(x) w) b)", is_norm, OP_LAYER_NORM, "xwb", "eps=e", AS_MODULE),
    BECOMES("mul(LayerNorm(x) w)", is_norm, OP_LAYER_NORM, "xw-", "eps=e", AS_MODULE),
    BECOMES("mul(Normed(x) w)", is_norm, OP_RMS_NORM, "xw", "eps=e", AS_MODULE),
    BECOMES("LayerNorm(x)", is_norm, OP_LAYER_NORM, "x--", "eps=e", AS_MODULE),
    BECOMES("Normed(x)", is_norm, OP_RMS_NORM, "x-", "eps=e", AS_MODULE),
    BECOMES("softmax(causal(x))", NULL, OP_SOFTMAX, "x", "causal=1", AS_NODE),
    WRITTEN_BY("avg_pool(x)", is_idle_pool, write_input),
    WRITTEN_BY("conv/group_conv/avg_pool(pad(x) ...)", NULL, write_padded),
    WRITTEN_BY("global_avg_pool/global_max_pool{keep=1}(x)", is_flattened, write_flat_pool),
    WRITTEN_BY("concat(...)", NULL, write_narrow_concat),
    WRITTEN_BY("concat(...)", NULL, write_longer_concat),
    BECOMES("add/sub/mul/div[e=expand(x) y]", is_broadcast, SAME_KIND, "xy", NULL, AS_NODE),
    BECOMES("add/sub/mul/div[y e=expand(x)]", is_broadcast, SAME_KIND, "yx", NULL, AS_NODE),
};
/* clang-format on */

enum { RULE_COUNT = sizeof rules / sizeof rules[0], MAX_WRITTEN = 2 };

/* The attributes of a row's operator: numbers, and letters that captured numbers. */
static const struct attrs *attrs_of(struct rewriting *rw, const struct rule *rule,
                                    const struct match *m)
{
    struct attr list[MAX_WRITTEN];
    struct attrs attrs = { 0, list };
    double value[MAX_WRITTEN];
    char name[32];
    if (!rule->attrs)
        return rule->kind == SAME_KIND ? rw->g->ops[m->op].nest->attrs : NULL;
    for (const char *p = rule->attrs; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, "=");
        assert(attrs.n < MAX_WRITTEN && n < sizeof name);
        memcpy(name, p, n);
        name[n] = '\0';
        p += n + 1;
        double *v = &value[attrs.n];
        *v = isdigit((unsigned char)*p) ? *p - '0' : m->number[*p - 'a'];
        list[attrs.n++] = (struct attr){ hp_attr_find(name), 1, v };
        p++;
    }
    return hp_attrs_copy(rw->arena, &attrs);
}

/* The operator that a row names. */
static void write_row(struct rewriting *rw, const struct rule *rule, const struct match *m)
{
    const struct op *o = &rw->g->ops[m->op];
    int in[MAX_OPERANDS], n = 0;
    for (const char *p = rule->inputs; *p; p++)
        in[n++] = *p == '-' ? HP_ABSENT : rw->map[hp_captured(m, *p)];
    rw->map[hp_output(rw, m->op)] =
        hp_new_op(rw, rule->kind == SAME_KIND ? o->kind : rule->kind,
                  rule->naming == AS_MODULE ? hp_scope(rw, o->name) : o->name, n, in,
                  attrs_of(rw, rule, m), 1);
}

bool hp_apply_rules(struct rewriting *rw, int op)
{
    struct match m;
    int y = hp_output(rw, op);
    if (!rw->rules) {
        rw->rules = NEW(rw->arena, const struct pattern *, RULE_COUNT);
        for (int i = 0; i < RULE_COUNT; i++)
            rw->rules[i] = hp_pattern(rw, rules[i].pattern);
    }
    for (int i = 0; i < RULE_COUNT; i++) {
        const struct rule *rule = &rules[i];
        if (!hp_match(rw, rw->rules[i], y, rule->check, &m))
            continue;
        if (rule->write && !rule->write(rw, &m))
            continue;
        if (!rule->write)
            write_row(rw, rule, &m);
        return true;
    }
    return false;
}
