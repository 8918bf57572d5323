/* From the first graph of an import to the list of operators to be built. Each operator of the
 * first graph is replaced by the first rule that fits (rules.c), or copied. */
#include "model/onnx/rewrite/rules.h"

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
                     hp_attrs_copy(rw->arena, ATTRS({ ATTR_PERM, n, values })), 1);
}

int hp_new_shuffle(struct rewriting *rw, const char *name, int x,
                   const struct shuffle_plan *plan)
{
    int perm[MAX_DIMS];
    for (int d = 0; d < plan->factors.n_dims; d++)
        perm[d] = (int)plan->perm[d];
    if (plan->moves) {
        x = hp_new_reshape(rw, name, x, &plan->factors);
        x = hp_new_transpose(rw, name, x, plan->factors.n_dims, perm);
    }
    return hp_new_reshape(rw, name, x, &plan->target);
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

int hp_causal_scores(const struct rewriting *rw, int t)
{
    int op = rw->g->tensors[t].producer;
    bool masks = op >= 0 && op < rw->im->n_causal && rw->im->causal[op];
    return masks ? rw->g->ops[op].tensor[rw->im->causal[op] - 1] : -1;
}

int hp_output(const struct rewriting *rw, int op)
{
    const struct op *o = &rw->g->ops[op];
    return o->tensor[o->nest->n_inputs];
}

int hp_readers(const struct rewriting *rw, int t)
{
    return rw->g->use_start[t + 1] - rw->g->use_start[t];
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

void hp_new_inputs(const struct rewriting *rw, const struct op *o, int *inputs)
{
    for (int i = 0; i < o->nest->n_inputs; i++)
        inputs[i] = o->tensor[i] >= 0 ? rw->map[o->tensor[i]] : HP_ABSENT;
}

/* The operator as it is. */
static void copy_op(struct rewriting *rw, int op)
{
    const struct op *o = &rw->g->ops[op];
    int inputs[MAX_OPERANDS], outputs[MAX_OPERANDS] = { 0 }, n = 0;
    hp_new_inputs(rw, o, inputs);
    for (int i = o->nest->n_inputs; i < o->nest->n_operands; i++)
        if (o->nest->operand[i].role == OPERAND_OUTPUT)
            outputs[n++] = o->tensor[i];
    int y = hp_new_op(rw, o->kind, o->name, o->nest->n_inputs, inputs, o->nest->attrs, n);
    rw->op[rw->n_ops - 1].shape = rw->g->tensors[outputs[0]].shape;
    for (int i = 0; i < n; i++)
        rw->map[outputs[i]] = y + i;
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
                                  struct hypar_graph **out)
{
    struct rewriting rw = { .im = im, .g = g, .arena = &im->arena };
    map_sources(&rw);
    for (int op = 0; op < g->n_ops; op++)
        if (!hp_apply_rules(&rw, op))
            copy_op(&rw, op);
    mark_live(&rw, outputs, n_outputs);
    return hp_emit_new_ops(&rw, outputs, n_outputs, name, out);
}
