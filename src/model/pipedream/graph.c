/* Makes a graph of opaque operators with measured times from a PipeDream profile. */
#include <math.h>
#include <string.h>

#include "base/csr.h"
#include "model/model.h"
#include "model/pipedream/pipedream.h"

/* Edges out of each node, or into it, in the order of the file. */
static struct csr edges_of(struct arena *arena, const struct text_profile *p, bool into)
{
    enum { INTS = sizeof(struct profile_edge) / sizeof(int) };
    const int *key = !p->n_edges ? NULL : into ? &p->edge->to : &p->edge->from;
    return hp_csr_by(arena, p->n_nodes, key, INTS, p->n_edges);
}

/* Kahn's algorithm with a stack: what has just become possible is done next. */
int hp_text_profile_order(const struct text_profile *p, int *order)
{
    struct arena scratch = { 0 };
    struct csr after = edges_of(&scratch, p, false);
    int *waits = NEW(&scratch, int, p->n_nodes), *stack = NEW(&scratch, int, p->n_nodes);
    int n_stack = 0, n = 0;
    for (int e = 0; e < p->n_edges; e++)
        waits[p->edge[e].to]++;
    for (int i = p->n_nodes - 1; i >= 0; i--)
        if (waits[i] == 0)
            stack[n_stack++] = i;
    while (n_stack > 0) {
        int node = stack[--n_stack];
        order[n++] = node;
        for (int i = after.start[node + 1] - 1; i >= after.start[node]; i--) {
            int to = p->edge[after.item[i]].to;
            if (--waits[to] == 0)
                stack[n_stack++] = to;
        }
    }
    hp_arena_free(&scratch);
    return n;
}

/* A node becomes an operator, an input, or nothing. */
enum fate { OPERATOR, INPUT, DROPPED };

struct making {
    const struct text_profile *profile;
    struct graph_builder *builder;
    struct arena scratch;
    struct csr before; /* edges into each node */
    enum fate *fate;
    int *tensor; /* of each node's output, -1 */
    int plain;   /* the input of operators that read nothing, -1: not made yet */
    int64_t batch;
};

static bool called(const struct profile_node *node, const char *prefix)
{
    return strncmp(node->description, prefix, strlen(prefix)) == 0;
}

/* Data loading is not counted: inputs go first; then sinks that only pick an element. */
static void find_fates(struct making *m)
{
    const struct text_profile *p = m->profile;
    struct csr after = edges_of(&m->scratch, p, false);
    for (int n = 0; n < p->n_nodes; n++) {
        bool source = m->before.start[n] == m->before.start[n + 1];
        bool sink = after.start[n] == after.start[n + 1];
        if (source && called(&p->node[n], "Input"))
            m->fate[n] = INPUT;
        else if (sink && called(&p->node[n], "__getitem__"))
            m->fate[n] = DROPPED;
    }
}

/* The bytes of `samples` samples as a number of four-byte elements for each sample; at least
 * one. */
static int64_t per_sample(double bytes, int64_t samples)
{
    double n = ceil(bytes / 4 / (double)samples);
    return n < 1 ? 1 : (int64_t)n;
}

static int add_input(struct making *m, const char *name, double bytes)
{
    struct hypar_shape shape = { 2, { m->batch, per_sample(bytes, m->batch) } };
    return hp_build_input(m->builder, name, &shape, false, 0);
}

/* List the inputs of node `n`, at least one, and last its parameters. */
static enum hypar_status gather(struct making *m, int n, int *inputs, int *n_inputs,
                                struct hypar_error *err)
{
    const struct profile_node *node = &m->profile->node[n];
    int first = m->before.start[n], count = m->before.start[n + 1] - first;
    if (count > MAX_OPERANDS - 3)
        return hp_fail(err, HYPAR_UNSUPPORTED, "node '%s' reads %d others, expected at most %d",
                       node->name, count, MAX_OPERANDS - 3);
    for (int i = 0; i < count; i++)
        inputs[i] = m->tensor[m->profile->edge[m->before.item[first + i]].from];
    if (count == 0) {
        if (m->plain < 0)
            m->plain = add_input(m, "data", 0);
        inputs[count++] = m->plain;
    }
    if (node->parameter_bytes > 0) {
        char *name = hp_arena_printf(&m->scratch, "%s.w", node->name);
        struct hypar_shape shape = { 1, { (int64_t)ceil(node->parameter_bytes / 4) } };
        inputs[count++] = hp_build_param(m->builder, name, &shape);
    }
    *n_inputs = count;
    return HYPAR_OK;
}

static enum hypar_status add_operator(struct making *m, int n, struct hypar_error *err)
{
    const struct profile_node *node = &m->profile->node[n];
    int inputs[MAX_OPERANDS], output[1];
    struct op_request request = { .kind = OP_OPAQUE, .name = node->name, .inputs = inputs };
    double bytes = node->activation_bytes;
    TRY(gather(m, n, inputs, &request.n_inputs, err));
    request.attrs = node->choices
                        ? ATTRS({ ATTR_SHAPE, 2, V(0, (double)per_sample(bytes, 1)) },
                                { ATTR_OUTPUT_BYTES, 1, V(bytes * (double)m->batch) })
                        : ATTRS({ ATTR_SHAPE, 2, V(0, (double)per_sample(bytes, m->batch)) },
                                { ATTR_FORWARD_S, 1, V(node->forward_ms / 1000) },
                                { ATTR_BACKWARD_S, 1, V(node->backward_ms / 1000) },
                                { ATTR_OUTPUT_BYTES, 1, V(bytes) },
                                { ATTR_PARAMETER_BYTES, 1, V(node->parameter_bytes) });
    TRY(hp_build_op(m->builder, &request, output, err));
    m->tensor[n] = output[0];
    if (!node->choices)
        return HYPAR_OK;
    return hp_in(err, hp_build_choices(m->builder, node->choices, err), "node '%s'",
                 node->name);
}

static enum hypar_status add_all(struct making *m, struct hypar_error *err)
{
    int *order = NEW(&m->scratch, int, m->profile->n_nodes);
    int n = hp_text_profile_order(m->profile, order);
    for (int i = 0; i < n; i++) {
        const struct profile_node *node = &m->profile->node[order[i]];
        if (m->fate[order[i]] == INPUT)
            m->tensor[order[i]] = add_input(m, node->name, node->activation_bytes);
        else if (m->fate[order[i]] == OPERATOR)
            TRY(add_operator(m, order[i], err));
    }
    return HYPAR_OK;
}

enum hypar_status hp_text_profile_graph(struct hypar_graph **out,
                                        const struct text_profile *profile, const char *name,
                                        int64_t batch, struct hypar_error *err)
{
    struct making m = { .profile = profile, .plain = -1, .batch = batch };
    *out = NULL;
    m.builder = hp_build(name, batch);
    m.before = edges_of(&m.scratch, profile, true);
    m.fate = NEW(&m.scratch, enum fate, profile->n_nodes);
    m.tensor = NEW(&m.scratch, int, profile->n_nodes);
    find_fates(&m);
    enum hypar_status status = add_all(&m, err);
    struct hypar_graph *built = NULL;
    if (status == HYPAR_OK)
        status = hp_build_finish(m.builder, &built, err);
    else
        hp_build_abandon(m.builder);
    if (status ==
        HYPAR_OK) /* inputs have been made where they stand, not where they are read */
        status = hp_graph_renumber(built, out, err);
    hypar_graph_free(built);
    hp_arena_free(&m.scratch);
    return status;
}

static enum hypar_status read_path(struct hypar_graph **out, const char *path,
                                   const struct hypar_import_options *options,
                                   struct hypar_error *err)
{
    int64_t batch = options->batch ? options->batch : 1;
    struct text_profile *profile;
    struct arena scratch = { 0 };
    *out = NULL;
    TRY(hp_text_profile_read_file(&profile, path, err));
    enum hypar_status status = hp_in(
        err, hp_text_profile_graph(out, profile, hp_model_name(&scratch, path), batch, err),
        "%s", path);
    hp_arena_free(&scratch);
    hp_text_profile_free(profile);
    return status;
}

static bool begins(const char *head, size_t n)
{
    for (size_t i = 0; i + 4 <= n && head[i] != '\n'; i++)
        if (memcmp(head + i, " -- ", 4) == 0)
            return true;
    return false;
}

const struct model_reader hp_reader_pipedream = { "PipeDream profile", ".txt", begins,
                                                  read_path };
