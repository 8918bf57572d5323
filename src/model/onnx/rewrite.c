/* From the first graph of an import to the operators to be built: rules first, the rest as it
 * is. */
#include "model/onnx/rewrite.h"

#include <math.h>
#include <string.h>

/* A squeeze leaves no dimensions at all, which a reshape cannot. */
bool hp_moves_only(enum op_kind kind)
{
    return kind == OP_TRANSPOSE || kind == OP_RESHAPE || kind == OP_SQUEEZE;
}

bool hp_shuffle_step(struct shuffle *s, const struct hypar_graph *g, int op)
{
    const struct op *o = &g->ops[op];
    int perm[MAX_DIMS];
    if (o->kind != OP_TRANSPOSE)
        return hp_shuffle_reshape(s, &g->tensors[o->tensor[1]].shape);
    for (int d = 0; d < s->n_dims; d++)
        perm[d] = (int)hp_attr_int(o->nest->attrs, ATTR_PERM, d, 0);
    hp_shuffle_transpose(s, perm);
    return true;
}

/* New operators -------------------------------------------------------------------------- */

static int new_tensor(struct rewriting *rw, struct new_tensor tensor)
{
    rw->tensor =
        GROW(rw->arena, struct new_tensor, rw->tensor, rw->n_tensors, &rw->tensor_capacity);
    rw->tensor[rw->n_tensors] = tensor;
    return rw->n_tensors++;
}

const struct attrs *hp_new_attrs(struct rewriting *rw, const struct attrs *attrs)
{
    struct attrs *copy = NEW(rw->arena, struct attrs, 1);
    struct attr *list = NEW(rw->arena, struct attr, attrs->n);
    for (int i = 0; i < attrs->n; i++) {
        double *v = NEW(rw->arena, double, attrs->attr[i].n);
        memcpy(v, attrs->attr[i].v, (size_t)attrs->attr[i].n * sizeof *v);
        list[i] = (struct attr){ attrs->attr[i].id, attrs->attr[i].n, v };
    }
    *copy = (struct attrs){ attrs->n, list };
    return copy;
}

int hp_new_op(struct rewriting *rw, enum op_kind kind, const char *name, int n_inputs,
              const int *inputs, const struct attrs *attrs, int n_outputs)
{
    int *copy = NEW(rw->arena, int, n_inputs + 1);
    memcpy(copy, inputs, (size_t)n_inputs * sizeof *copy);
    rw->op = GROW(rw->arena, struct new_op, rw->op, rw->n_ops, &rw->op_capacity);
    rw->op[rw->n_ops] = (struct new_op){ .kind = kind,
                                         .name = name,
                                         .n_inputs = n_inputs,
                                         .input = copy,
                                         .output = rw->n_tensors,
                                         .n_outputs = n_outputs,
                                         .attrs = attrs };
    for (int i = 0; i < n_outputs; i++)
        new_tensor(rw, (struct new_tensor){ .op = rw->n_ops, .from = -1 });
    return rw->op[rw->n_ops++].output;
}

int hp_new_reshape(struct rewriting *rw, const char *name, int x,
                   const struct hypar_shape *shape)
{
    int y = hp_new_op(rw, OP_RESHAPE, name, 1, &x, NULL, 1);
    rw->op[rw->n_ops - 1].shape = *shape;
    return y;
}

int hp_new_transpose(struct rewriting *rw, const char *name, int x, int n, const int *perm)
{
    double values[MAX_DIMS];
    for (int d = 0; d < n; d++)
        values[d] = perm[d];
    return hp_new_op(rw, OP_TRANSPOSE, name, 1, &x,
                     hp_new_attrs(rw, ATTRS({ ATTR_PERM, n, values })), 1);
}

int hp_new_part(struct rewriting *rw, int param, int dim, int64_t start, int64_t stop)
{
    return new_tensor(rw, (struct new_tensor){ -1, param, dim, start, stop });
}

const char *hp_scope(struct rewriting *rw, const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash && slash > name ? hp_arena_strndup(rw->arena, name, (size_t)(slash - name))
                                 : name;
}

/* Looking at the first graph --------------------------------------------------------------- */

int hp_made_by(const struct rewriting *rw, int t, enum op_kind kind)
{
    int op = t >= 0 ? rw->g->tensors[t].producer : -1;
    return op >= 0 && rw->g->ops[op].kind == kind ? op : -1;
}

static bool fits(double *wanted, double have)
{
    if (isnan(*wanted))
        *wanted = have;
    return fabs(*wanted - have) <= 1e-6 * fabs(have);
}

int hp_affine_of(const struct rewriting *rw, int t, double *alpha, double *beta)
{
    int op = hp_made_by(rw, t, OP_AFFINE);
    if (op < 0)
        return -1;
    const struct attrs *attrs = rw->g->ops[op].nest->attrs;
    return fits(alpha, hp_attr(attrs, ATTR_ALPHA, 0, 1)) &&
                   fits(beta, hp_attr(attrs, ATTR_BETA, 0, 0))
               ? rw->g->ops[op].tensor[0]
               : -1;
}

int hp_causal_scores(const struct rewriting *rw, int t)
{
    int op = rw->g->tensors[t].producer;
    return op >= 0 && rw->causal[op] ? rw->g->ops[op].tensor[rw->causal[op] - 1] : -1;
}

int hp_readers(const struct rewriting *rw, int t)
{
    return rw->g->use_start[t + 1] - rw->g->use_start[t];
}

bool hp_linear_at(const struct rewriting *rw, int t, struct linear *out)
{
    const struct hypar_graph *g = rw->g;
    int op = hp_made_by(rw, t, OP_LINEAR), sum = hp_made_by(rw, t, OP_ADD), bias = -1;
    for (int i = 0; op < 0 && sum >= 0 && i < 2; i++) {
        int product = g->ops[sum].tensor[i], other = g->ops[sum].tensor[1 - i];
        int found = hp_made_by(rw, product, OP_LINEAR);
        const struct tensor *b = &g->tensors[other];
        const struct hypar_shape *y = &g->tensors[product].shape;
        if (found < 0 || b->kind != TENSOR_PARAM || b->shape.n_dims != 1 ||
            b->shape.dim[0] != y->dim[y->n_dims - 1] || hp_readers(rw, product) != 1 ||
            g->ops[found].tensor[2] >= 0)
            continue;
        op = found;
        bias = other;
    }
    if (op < 0)
        return false;
    const struct op *linear = &g->ops[op];
    *out = (struct linear){ .op = op,
                            .x = linear->tensor[0],
                            .w = linear->tensor[1],
                            .bias = linear->tensor[2] >= 0 ? linear->tensor[2] : bias };
    out->transposed = hp_attr_int(linear->nest->attrs, ATTR_TRANSPOSED, 0, 0) != 0;
    int turned = hp_made_by(rw, out->w, OP_TRANSPOSE);
    if (turned >= 0 && hp_attr(g->ops[turned].nest->attrs, ATTR_PERM, 0, 0) == 1) {
        out->w = g->ops[turned].tensor[0];
        out->transposed = !out->transposed;
    }
    return true;
}

/* The whole -------------------------------------------------------------------------------- */

/* The new tensor of an input or a parameter; of an output once its operator is rewritten. */
static void map_sources(struct rewriting *rw)
{
    rw->map = NEW(rw->arena, int, rw->g->n_tensors);
    for (int t = 0; t < rw->g->n_tensors; t++) {
        rw->map[t] = -1;
        if (rw->g->tensors[t].producer < 0)
            rw->map[t] = new_tensor(rw, (struct new_tensor){ .op = -1, .from = t });
    }
}

/* The operator as it is. */
static void copy_op(struct rewriting *rw, int op)
{
    const struct op *o = &rw->g->ops[op];
    int inputs[MAX_OPERANDS], outputs[MAX_OPERANDS] = { 0 }, n = 0;
    for (int i = 0; i < o->nest->n_inputs; i++)
        inputs[i] = o->tensor[i] >= 0 ? rw->map[o->tensor[i]] : HP_ABSENT;
    for (int i = o->nest->n_inputs; i < o->nest->n_operands; i++)
        if (o->nest->operand[i].role == OPERAND_OUTPUT)
            outputs[n++] = o->tensor[i];
    int y = hp_new_op(rw, o->kind, o->name, o->nest->n_inputs, inputs, o->nest->attrs, n);
    rw->op[rw->n_ops - 1].shape = rw->g->tensors[outputs[0]].shape;
    for (int i = 0; i < n; i++)
        rw->map[outputs[i]] = y + i;
}

/* The first rule that applies. */
static bool rewrite_op(struct rewriting *rw, int op)
{
    static bool (*const rules[])(struct rewriting * rw, int op) = {
        hp_fuse_attention, hp_fuse_groups, hp_fuse_rope, hp_fuse_linear, hp_fuse,
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i](rw, op))
            return true;
    return false;
}

static void mark_live(struct rewriting *rw, const int *outputs, int n_outputs)
{
    for (int i = 0; i < n_outputs; i++) {
        int op = rw->tensor[rw->map[outputs[i]]].op;
        if (op >= 0)
            rw->op[op].live = true;
    }
    for (int s = rw->n_ops - 1; s >= 0; s--)
        for (int i = 0; rw->op[s].live && i < rw->op[s].n_inputs; i++) {
            int t = rw->op[s].input[i];
            if (t >= 0 && rw->tensor[t].op >= 0)
                rw->op[rw->tensor[t].op].live = true;
        }
}

enum hypar_status hp_onnx_rewrite(struct importing *im, const struct hypar_graph *g,
                                  const int *outputs, int n_outputs, const char *name,
                                  struct hypar_graph **out, struct arena *keep,
                                  struct named_source **sources, int *n_sources)
{
    struct rewriting rw = { .im = im, .g = g, .arena = &im->arena };
    rw.causal = NEW(rw.arena, int, g->n_ops);
    for (int i = 0; i < im->n_causal; i++)
        rw.causal[im->causal[i].op] = 1 + im->causal[i].scores;
    map_sources(&rw);
    for (int op = 0; op < g->n_ops; op++)
        if (!rewrite_op(&rw, op))
            copy_op(&rw, op);
    mark_live(&rw, outputs, n_outputs);
    return hp_emit_new_ops(&rw, outputs, n_outputs, name, out, keep, sources, n_sources);
}
