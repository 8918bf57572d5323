/* Reads a profile of Piper, and makes a graph of opaque operators with choices from it. */
#include "model/piper/piper.h"

#include <math.h>
#include <string.h>

#include "base/csr.h"
#include "base/number.h"
#include "base/utf8.h"
#include "model/json_choices.h"
#include "model/model.h"
#include "model/pipedream/pipedream.h"

enum { MAX_EDGES = 1 << 22 };

struct reading {
    struct arena arena;
    struct hypar_error *err;
    struct json nodes, edges;
    int n_nodes, n_edges;
    struct table ids; /* as text -> node */
    const char **id, **name;
    struct profile_edge *edge;
    double *bytes;        /* of each edge */
    struct csr into, out; /* edges into each node, in the order of the file; out of it */
};

bool hp_is_piper(const struct json *root)
{
    return hp_json_is_object(root) && !hp_json_member(root, "format").value &&
           hp_json_member(root, "nodes").value && hp_json_member(root, "edges").value;
}

/* Nodes and edges ------------------------------------------------------------------------ */

/* The id that the integer at `at` is, as text: keys of lists are such texts. */
static enum hypar_status read_id(struct reading *r, const struct json *at, const char **out)
{
    int64_t id;
    TRY(hp_json_int(at, INT32_MIN, INT32_MAX, &id, r->err));
    *out = hp_arena_printf(&r->arena, "%lld", (long long)id);
    return HYPAR_OK;
}

static enum hypar_status read_end(struct reading *r, const struct json *edge, const char *key,
                                  int *node)
{
    struct json at = hp_json_member(edge, key);
    const char *id;
    TRY(read_id(r, &at, &id));
    *node = hp_table_get(&r->ids, id, strlen(id));
    return *node >= 0 ? HYPAR_OK : hp_json_fail(&at, r->err, "there is no node %s", id);
}

static enum hypar_status read_edges(struct reading *r)
{
    TRY(hp_json_array(&r->edges, MAX_EDGES, r->err));
    r->n_edges = hp_json_length(&r->edges);
    r->edge = NEW(&r->arena, struct profile_edge, r->n_edges);
    r->bytes = NEW(&r->arena, double, r->n_edges);
    struct table known = { 0 };
    for (struct json at = { 0 }; hp_json_each(&r->edges, &at);) {
        int e = at.index;
        struct profile_edge *edge = &r->edge[e];
        TRY(HP_JSON_READ(&at, r->err, CHOICE_BYTES("communicationCost", &r->bytes[e]),
                         JSON_OTHERS));
        TRY(read_end(r, &at, "sourceId", &edge->from));
        TRY(read_end(r, &at, "destId", &edge->to));
        if (hp_table_put(&known, &r->arena, edge, sizeof *edge, e) != e)
            return hp_json_fail(&at, r->err, "from %s to %s there is an edge already",
                                r->id[edge->from], r->id[edge->to]);
    }
    return HYPAR_OK;
}

/* A name that several nodes have is followed by the id. */
static enum hypar_status name_nodes(struct reading *r)
{
    struct table names = { 0 };
    int *first = NEW(&r->arena, int, r->n_nodes);
    bool *shared = NEW(&r->arena, bool, r->n_nodes);
    for (int n = 0; n < r->n_nodes; n++) {
        struct json node = hp_json_element(&r->nodes, n), at = hp_json_member(&node, "name");
        r->name[n] = "node";
        if (at.value)
            TRY(hp_json_name(&at, &r->name[n], r->err));
        first[n] = hp_table_put(&names, &r->arena, r->name[n], strlen(r->name[n]), n);
        shared[first[n]] |= !at.value || first[n] != n || strcmp(r->name[n], "*") == 0;
    }
    for (int n = 0; n < r->n_nodes; n++)
        if (shared[first[n]])
            r->name[n] = hp_arena_printf(&r->arena, "%s.%s", r->name[n], r->id[n]);
    return HYPAR_OK;
}

static enum hypar_status read_nodes(struct reading *r)
{
    TRY(hp_json_array(&r->nodes, HP_MAX_OPS, r->err));
    r->n_nodes = hp_json_length(&r->nodes);
    r->id = NEW(&r->arena, const char *, r->n_nodes);
    r->name = NEW(&r->arena, const char *, r->n_nodes);
    for (int n = 0; n < r->n_nodes; n++) {
        struct json node = hp_json_element(&r->nodes, n), at = hp_json_member(&node, "id");
        TRY(hp_json_object(&node, r->err));
        TRY(read_id(r, &at, &r->id[n]));
        if (hp_table_put(&r->ids, &r->arena, r->id[n], strlen(r->id[n]), n) != n)
            return hp_json_fail(&at, r->err, "there is a node %s already", r->id[n]);
    }
    return name_nodes(r);
}

/* The edges out of a node, in the order of the operators that they lead to, like uses. */
static void find_edges_out(struct reading *r, const int *order)
{
    r->out = (struct csr){ .arena = &r->arena, .n_keys = r->n_nodes };
    while (hp_csr_pass(&r->out))
        for (int n = 0; n < r->n_nodes; n++)
            for (int i = r->into.start[order[n]]; i < r->into.start[order[n] + 1]; i++)
                hp_csr_put(&r->out, r->edge[r->into.item[i]].from, r->into.item[i]);
}

/* Choices -------------------------------------------------------------------------------- */

/* Reads a number for each of the node's incoming (or outgoing) edges. The JSON object `key` has
 * one member for each of these edges, named by the id of the node at the other end, and no
 * other members. */
static enum hypar_status read_sync(struct reading *r, const struct json *choice,
                                   const char *key, int n, const int *edges, int n_edges,
                                   double *out)
{
    struct json list = hp_json_member(choice, key), member;
    int n_members = 0;
    TRY(hp_json_object(&list, r->err));
    for (int i = 0; i < n_edges; i++) {
        const struct profile_edge *edge = &r->edge[edges[i]];
        int other = edge->to == n ? edge->from : edge->to;
        member = hp_json_member(&list, r->id[other]);
        TRY(hp_json_number(&member, 0, HP_MAX_CHOICE_BYTES, &out[i], r->err));
    }
    for (void *iter = NULL; hp_json_next(&list, &iter, &member);)
        n_members++;
    return n_members == n_edges
               ? HYPAR_OK
               : hp_json_fail(&list, r->err, "%d numbers, expected one for each of %d edges",
                              n_members, n_edges);
}

static enum hypar_status read_choice(struct reading *r, const struct json *at, int n,
                                     struct op_choice *out)
{
    static const char *const ways[] = { "vanilla", "activation recomp" };
    int way;
    TRY(HP_JSON_READ(at, r->err, JSON_CHOICE("id", &way, ways, 2),
                     CHOICE_SECONDS("timePerSample", &out->seconds),
                     CHOICE_BYTES("parameterSize", &out->parameter_bytes),
                     CHOICE_BYTES("memoryUsageA", &out->stash_bytes),
                     CHOICE_BYTES("memoryUsageB", &out->fixed_bytes), JSON_OTHERS));
    out->recompute = way == 1;
    int n_into = r->into.start[n + 1] - r->into.start[n];
    int n_out = r->out.start[n + 1] - r->out.start[n];
    double *in = NEW(&r->arena, double, n_into), *uses = NEW(&r->arena, double, n_out);
    out->in_sync_bytes = in;
    out->out_sync_bytes = uses;
    TRY(read_sync(r, at, "syncTimeFw", n, r->into.item + r->into.start[n], n_into, in));
    return read_sync(r, at, "syncTimeBw", n, r->out.item + r->out.start[n], n_out, uses);
}

/* All choices of one degree, which the key of their list says. */
static enum hypar_status read_degree(struct reading *r, const struct json *list, int n,
                                     struct op_choices *out, int *capacity)
{
    double degree;
    size_t taken = hp_number_read(list->key, &degree);
    if (taken == 0 || list->key[taken] || degree < 1 || degree > HP_MAX_DEGREE ||
        degree != floor(degree))
        return hp_json_fail(list, r->err, "expected a number of devices in 1..%d",
                            HP_MAX_DEGREE);
    TRY(hp_json_array(list, HP_MAX_CHOICES, r->err));
    struct op_choice *choice = (struct op_choice *)out->choice;
    for (struct json at = { 0 }; hp_json_each(list, &at);) {
        struct op_choice one = { .degree = (int)degree };
        TRY(read_choice(r, &at, n, &one));
        choice = GROW(&r->arena, struct op_choice, choice, out->n, capacity);
        choice[out->n++] = one;
        out->choice = choice;
    }
    return HYPAR_OK;
}

static enum hypar_status read_choices(struct reading *r, int n, struct op_choices *out)
{
    struct json node = hp_json_element(&r->nodes, n), all = hp_json_member(&node, "TMPCs"),
                list;
    int capacity = 0, n_into = r->into.start[n + 1] - r->into.start[n];
    TRY(hp_json_object(&all, r->err));
    for (void *iter = NULL; hp_json_next(&all, &iter, &list);)
        TRY(read_degree(r, &list, n, out, &capacity));
    double *sent = NEW(&r->arena, double, n_into);
    for (int i = 0; i < n_into; i++)
        sent[i] = r->bytes[r->into.item[r->into.start[n] + i]];
    out->input_bytes = sent;
    out->n_inputs = n_into;
    out->n_uses = r->out.start[n + 1] - r->out.start[n];
    return HYPAR_OK;
}

/* The graph ------------------------------------------------------------------------------ */

/* A node writes as much as the largest that is sent to a reader. */
static enum hypar_status read_node(struct reading *r, int n, struct profile_node *node)
{
    struct op_choices *choices = NEW(&r->arena, struct op_choices, 1);
    TRY(read_choices(r, n, choices));
    *node = (struct profile_node){ .name = r->name[n], .description = "", .choices = choices };
    for (int i = r->out.start[n]; i < r->out.start[n + 1]; i++)
        node->activation_bytes = fmax(node->activation_bytes, r->bytes[r->out.item[i]]);
    if (choices->n)
        node->parameter_bytes = choices->choice[0].parameter_bytes;
    return HYPAR_OK;
}

/* An order that follows the edges. */
static enum hypar_status order_nodes(struct reading *r, const struct text_profile *p,
                                     int *order)
{
    int n = hp_text_profile_order(p, order);
    return n == p->n_nodes ? HYPAR_OK
                           : hp_json_fail(&r->edges, r->err,
                                          "%d nodes lie on or behind a cycle", p->n_nodes - n);
}

static enum hypar_status read_all(struct reading *r, struct text_profile *p)
{
    TRY(read_nodes(r));
    TRY(read_edges(r));
    *p = (struct text_profile){ .n_nodes = r->n_nodes, .n_edges = r->n_edges, .edge = r->edge };
    p->node = NEW(&r->arena, struct profile_node, r->n_nodes);
    int *order = NEW(&r->arena, int, r->n_nodes);
    r->into = hp_csr_by(&r->arena, r->n_nodes, &r->edge->to,
                        sizeof(struct profile_edge) / sizeof(int), r->n_edges);
    TRY(order_nodes(r, p, order));
    find_edges_out(r, order);
    for (int i = 0; i < r->n_nodes; i++)
        TRY(read_node(r, order[i], &p->node[order[i]]));
    return HYPAR_OK;
}

enum hypar_status hp_piper_graph(struct hypar_graph **out, const struct json *root,
                                 int64_t batch, struct hypar_error *err)
{
    struct reading r = { .err = err,
                         .nodes = hp_json_member(root, "nodes"),
                         .edges = hp_json_member(root, "edges") };
    struct text_profile profile;
    int64_t measured;
    *out = NULL;
    TRY(HP_JSON_READ(root, err, JSON_INT("mbsInBatch", &measured, 1, HP_MAX_BATCH),
                     JSON_OTHERS));
    enum hypar_status status = read_all(&r, &profile);
    if (status == HYPAR_OK)
        status = hp_in(err,
                       hp_text_profile_graph(out, &profile, hp_model_name(&r.arena, root->key),
                                             batch ? batch : measured, err),
                       "%s", root->key);
    hp_arena_free(&r.arena);
    return status;
}
