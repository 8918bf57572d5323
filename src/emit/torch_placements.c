/* Derives DTensor placements from the splits of operators.
 *
 * An axis that is split over a dimension of the mesh shards the tensors that it indexes, along
 * the tensor dimension that it leads. Other tensors are copies if they are read, and partial
 * sums if they are written. The rows of modules say what input they take and what output they
 * give. Operators between modules (sums of residuals, attention) follow their inputs, so a
 * module gives its output as the operators after it read it:
 *
 *     c_attn t=2 -> split t=2 -> attention r=2        c_attn gives [Replicate()] */
#include <string.h>

#include "emit/torch.h"

/* The placement of a tensor along a dimension of the mesh: Shard(0..), or */
enum { WHOLE = -1, PARTIAL = -2 };

struct placement {
    int8_t at[MESH_MAX_DIMS]; /* by tensor dimension of the mesh */
};

/* State of all operators while rows are made. */
struct placing {
    struct torch_script *s;
    bool *module; /* by operator: it is a module */
    /* By operator and tensor dimension, the axis that is split over it: in the plan, and after
     * operators that are not modules follow their readers. */
    int8_t (*planned)[MESH_MAX_DIMS], (*axis)[MESH_MAX_DIMS];
    bool *loose; /* by tensor: a parameter that add_loose_params() has already written */
};

static bool same(const struct torch_script *s, const struct placement *a,
                 const struct placement *b)
{
    return memcmp(a->at, b->at, (size_t)s->n_tensor) == 0;
}

static bool is_whole(const struct torch_script *s, const struct placement *p)
{
    for (int m = 0; m < s->n_tensor; m++)
        if (p->at[m] != WHOLE)
            return false;
    return true;
}

static struct placement place_by(const struct placing *p, int8_t (*axes)[MESH_MAX_DIMS], int op,
                                 int o)
{
    const struct nest *nest = p->s->graph->ops[op].nest;
    bool written = nest->operand[o].role == OPERAND_OUTPUT;
    struct placement out;
    for (int m = 0; m < p->s->n_tensor; m++) {
        int axis = axes[op][m], d = hp_led_dim(nest, o, axis);
        bool copies = nest->axis[axis].role == HYPAR_COPY;
        out.at[m] = (int8_t)(d >= 0 ? d : written && !copies ? PARTIAL : WHOLE);
    }
    return out;
}

static struct placement place_operand(const struct placing *p, int op, int o)
{
    return place_by(p, p->axis, op, o);
}

/* The operand that a module takes: its only input that is neither a parameter nor ids; -1:
 * none. */
static int taken_operand(const struct hypar_graph *graph, int op)
{
    const struct op *node = &graph->ops[op];
    int found = -1;
    for (int o = 0; o < node->nest->n_inputs; o++) {
        int t = node->tensor[o];
        if (t < 0 || graph->tensors[t].kind == TENSOR_PARAM || graph->tensors[t].index)
            continue;
        if (found >= 0)
            return -1;
        found = o;
    }
    return found;
}

/* Does the module's own row set the placement of this input? */
static bool takes_itself(const struct placing *p, const struct use *use)
{
    return p->module[use->op] && taken_operand(p->s->graph, use->op) == use->operand;
}

/* The placement that all readers of a tensor want, either modules or other operators. Returns
 * false if there are none, or if they differ. */
static bool wanted_by(const struct placing *p, int tensor, bool modules, struct placement *out)
{
    const struct hypar_graph *graph = p->s->graph;
    bool any = false;
    for (int u = graph->use_start[tensor]; u < graph->use_start[tensor + 1]; u++) {
        const struct use *use = &graph->use[u];
        if (takes_itself(p, use) != modules)
            continue;
        struct placement its = place_operand(p, use->op, use->operand);
        if (any && !same(p->s, &its, out))
            return false;
        *out = its;
        any = true;
    }
    return any;
}

/* The placement that readers want. Operators that are not modules come first, because they
 * cannot redistribute a tensor; modules can. */
static bool wanted(const struct placing *p, int tensor, struct placement *out)
{
    return wanted_by(p, tensor, false, out) || wanted_by(p, tensor, true, out);
}

/* The placement that the first reader takes. */
static struct placement first_wanted(const struct placing *p, int tensor)
{
    const struct hypar_graph *graph = p->s->graph;
    struct placement out;
    memset(&out, WHOLE, sizeof out);
    if (graph->use_start[tensor] < graph->use_start[tensor + 1]) {
        const struct use *use = &graph->use[graph->use_start[tensor]];
        out = place_operand(p, use->op, use->operand);
    }
    return out;
}

/* An operator that is not a module gives its output as its readers want it, so its axes follow
 * them. */
static void follow(const struct placing *p, int op)
{
    const struct op *node = &p->s->graph->ops[op];
    const struct nest *nest = node->nest;
    int o = hp_first_output(node);
    struct placement want;
    if (!wanted_by(p, node->tensor[o], false, &want))
        return;
    for (int m = 0; m < p->s->n_tensor; m++) {
        int axis = want.at[m] >= 0 ? hp_leading_axis(nest, o, want.at[m]) : nest->n_axes - 1;
        if (axis >= 0)
            p->axis[op][m] = (int8_t)axis;
    }
}

static void read_axes(const struct placing *p, int op)
{
    const struct torch_script *s = p->s;
    const struct nest *nest = s->graph->ops[op].nest;
    uint32_t dims[MAX_AXES];
    hp_mesh_dims(&s->mesh, s->plan, op, dims);
    for (int m = 0; m < s->n_tensor; m++) {
        p->planned[op][m] = (int8_t)(nest->n_axes - 1);
        for (int a = 0; a < nest->n_axes; a++)
            if (dims[a] >> s->tensor[m] & 1)
                p->planned[op][m] = (int8_t)a;
        p->axis[op][m] = p->planned[op][m];
    }
}

/* "[Shard(0), Replicate()]" */
static const char *text_of(const struct torch_script *s, const struct placement *p)
{
    const char *text = "";
    for (int m = 0; m < s->n_tensor; m++) {
        const char *comma = m ? ", " : "";
        text = p->at[m] < 0 ? hp_arena_printf(s->arena, "%s%sReplicate()", text, comma)
                            : hp_arena_printf(s->arena, "%s%sShard(%d)", text, comma, p->at[m]);
    }
    return hp_arena_printf(s->arena, "[%s]", text);
}

static const char *add_entry(const struct torch_script *s, const char *row, const char *key,
                             const struct placement *p)
{
    return hp_arena_printf(s->arena, "%s%s\"%s\": %s", row, row[0] ? ", " : "",
                           hp_python_text(s->arena, key), text_of(s, p));
}

static const char *add_params(const struct placing *p, int op, const char *row)
{
    const struct hypar_graph *graph = p->s->graph;
    const struct op *node = &graph->ops[op];
    for (int o = 0; o < node->nest->n_inputs; o++) {
        int t = node->tensor[o];
        if (t < 0 || graph->tensors[t].kind != TENSOR_PARAM)
            continue;
        struct placement its = place_by(p, p->planned, op, o);
        if (!is_whole(p->s, &its))
            row = add_entry(p->s, row, hp_last_part(graph->tensors[t].name), &its);
    }
    return row;
}

/* Does the operator compute a partial sum of the gradient of operand `o`? */
static bool gives_partial(const struct placing *p, int op, int o)
{
    const struct nest *nest = p->s->graph->ops[op].nest;
    for (int m = 0; m < p->s->n_tensor; m++) {
        int axis = p->axis[op][m];
        if (nest->axis[axis].role != HYPAR_COPY && hp_led_dim(nest, o, axis) < 0)
            return true;
    }
    return false;
}

/* Do modules that read the tensor give partial sums of its gradient? */
static bool gets_partial(const struct placing *p, int tensor)
{
    const struct hypar_graph *graph = p->s->graph;
    for (int u = graph->use_start[tensor]; u < graph->use_start[tensor + 1]; u++)
        if (takes_itself(p, &graph->use[u]) &&
            gives_partial(p, graph->use[u].op, graph->use[u].operand))
            return true;
    return false;
}

/* The placement in which a module receives its input. */
static struct placement given(const struct placing *p, int tensor)
{
    const struct hypar_graph *graph = p->s->graph;
    struct placement out;
    int producer = graph->tensors[tensor].producer;
    memset(&out, WHOLE, sizeof out);
    if (producer < 0)
        return out;
    out = place_operand(p, producer, hp_output_operand(&graph->ops[producer], tensor));
    struct placement want;
    if (p->module[producer] && wanted(p, tensor, &want))
        out = want;
    return out;
}

/* Add the input's placement to a module's row if it differs from the received one. Also add it
 * if the gradient is a partial sum that must be added up here; if a module gives the input,
 * this module adds up the gradient once for all readers. */
static const char *add_input(const struct placing *p, int op, const char *row)
{
    const struct hypar_graph *graph = p->s->graph;
    int o = taken_operand(graph, op);
    if (o < 0)
        return row;
    int tensor = graph->ops[op].tensor[o], producer = graph->tensors[tensor].producer;
    struct placement its = place_operand(p, op, o), before = given(p, tensor);
    bool sums = gives_partial(p, op, o) && (producer < 0 || !p->module[producer]);
    bool plain = is_whole(p->s, &its) || !hp_op_has_params(graph, op);
    bool said = producer >= 0 && plain && !sums && same(p->s, &its, &before);
    return said ? row : add_entry(p->s, row, "input", &its);
}

static const char *add_output(const struct placing *p, int op, const char *row)
{
    const struct op *node = &p->s->graph->ops[op];
    int o = hp_first_output(node), tensor = node->tensor[o];
    struct placement its = place_operand(p, op, o), want = its;
    bool partial = memchr(its.at, PARTIAL, (size_t)p->s->n_tensor) != NULL;
    if (!wanted(p, tensor, &want))
        want = partial ? first_wanted(p, tensor) : its;
    bool said = same(p->s, &want, &its) && !gets_partial(p, tensor);
    return said ? row : add_entry(p->s, row, "output", &want);
}

/* Add parameters that a module uses directly: "attn.in_proj_weight" of module "attn". */
static void add_loose_params(const struct placing *p, int op, struct table_rows *out)
{
    const struct hypar_graph *graph = p->s->graph;
    const struct op *node = &graph->ops[op];
    for (int o = 0; o < node->nest->n_inputs; o++) {
        int t = node->tensor[o];
        if (t < 0 || graph->tensors[t].kind != TENSOR_PARAM)
            continue;
        struct placement its = place_by(p, p->planned, op, o);
        const char *name = graph->tensors[t].name, *key = hp_last_part(name);
        size_t length = key > name ? (size_t)(key - name) - 1 : 0;
        if (is_whole(p->s, &its) || p->loose[t])
            continue;
        p->loose[t] = true;
        const char *path = hp_arena_strndup(p->s->arena, name, length);
        hp_add_row(p->s->arena, out, path, add_entry(p->s, "", key, &its));
    }
}

/* Join rows of equal name into one row with all their entries, because Python would keep only
 * the last. */
static void join_rows(struct arena *arena, struct table_rows *rows)
{
    struct table_rows out = { 0 };
    struct table at = { 0 };
    for (int i = 0; i < rows->n; i++) {
        const struct table_row *row = &rows->row[i];
        int to = hp_table_put(&at, arena, row->name, strlen(row->name), out.n);
        if (to == out.n) {
            hp_add_row(arena, &out, row->name, row->text);
            continue;
        }
        const char *text = out.row[to].text, *comma = text[0] && row->text[0] ? ", " : "";
        out.row[to].text = hp_arena_printf(arena, "%s%s%s", text, comma, row->text);
    }
    *rows = out;
}

static void note_loss(struct placing *p)
{
    struct torch_script *s = p->s;
    int op = s->graph->loss >= 0 ? s->graph->tensors[s->graph->loss].producer : -1;
    if (op < 0 || s->graph->ops[op].kind != OP_CROSS_ENTROPY || s->n_tensor != 1)
        return;
    struct placement logits = place_operand(p, op, 0);
    s->sharded_vocabulary = logits.at[0] == s->graph->ops[op].nest->operand[0].n_dims - 1;
}

void hp_torch_placements(struct torch_script *s, struct table_rows *out)
{
    int n = s->graph->n_ops;
    size_t room = (size_t)n * MESH_MAX_DIMS;
    struct placing p = { .s = s,
                         .module = NEW(s->arena, bool, n),
                         .loose = NEW(s->arena, bool, s->graph->n_tensors) };
    p.planned = (int8_t(*)[MESH_MAX_DIMS])NEW(s->arena, int8_t, room);
    p.axis = (int8_t(*)[MESH_MAX_DIMS])NEW(s->arena, int8_t, room);
    for (int op = 0; op < n; op++) {
        p.module[op] = hp_is_module(s->graph, op);
        read_axes(&p, op);
    }
    for (int op = n - 1; op >= 0; op--)
        if (!p.module[op])
            follow(&p, op);
    note_loss(&p);
    for (int op = 0; op < n; op++) {
        if (!p.module[op]) {
            add_loose_params(&p, op, out);
            continue;
        }
        const char *row = add_output(&p, op, add_params(&p, op, add_input(&p, op, "")));
        hp_add_row(s->arena, out, s->graph->ops[op].name, row);
    }
    join_rows(s->arena, out);
    hp_fold_rows(s->arena, out);
    for (int i = 0; i < out->n; i++)
        out->row[i].text = hp_arena_printf(s->arena, "{%s}", out->row[i].text);
}
