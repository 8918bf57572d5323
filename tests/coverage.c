#include "tests/coverage.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tests/op_cases.h"

const char *const situation_names[SITUATION_COUNT] = {
    "uneven parts",
    "empty parts",
    "a shared parameter",
    "micro-batches",
    "micro-batches of two sizes",
    "gpipe",
    "1f1b",
    "two parts on a device",
    "copies",
    "one device",
    "sgd",
    "momentum",
    "adam",
    "adamw",
};

static struct goal *find_goal(const struct coverage *c, enum op_kind kind, char a, char b)
{
    for (int i = 0; i < c->n_goals; i++) {
        struct goal *g = &c->goal[i];
        if (g->kind == kind && ((g->a == a && g->b == b) || (g->a == b && g->b == a)))
            return g;
    }
    return NULL;
}

static void add_goals(struct coverage *c, enum op_kind kind, const char *letters)
{
    for (const char *a = letters; *a; a++)
        for (const char *b = a; *b; b++)
            if (!find_goal(c, kind, *a, *b)) {
                c->goal = GROW(&c->arena, struct goal, c->goal, c->n_goals, &c->capacity);
                c->goal[c->n_goals++] = (struct goal){ .kind = kind, .a = *a, .b = *b };
            }
}

/* "nS tA uA kP=out cR": every letter that is not inner, and r. */
static void add_row(struct coverage *c, enum op_kind kind)
{
    char letters[MAX_AXES + 2] = "";
    size_t n = 0;
    for (const char *p = hp_op[kind].axes; *p;) {
        if (*p != '*' && p[1] != 'I')
            letters[n++] = *p;
        p += strcspn(p, " ");
        p += strspn(p, " ");
    }
    letters[n] = 'r';
    add_goals(c, kind, letters);
}

static void add_case(struct coverage *c, const struct op_case *op_case)
{
    char letters[MAX_AXES + 2] = "";
    size_t n = 0;
    struct hypar_graph *graph = op_case_build(op_case);
    const struct nest *nest = graph->ops[graph->n_ops - 1].nest;
    for (int a = 0; a < nest->n_axes; a++)
        if (nest->axis[a].splittable && (nest->axis[a].extent > 1 || a == nest->n_axes - 1))
            letters[n++] = nest->axis[a].name[0];
    add_goals(c, op_case->kind, letters);
    hypar_graph_free(graph);
}

void coverage_begin(struct coverage *c)
{
    *c = (struct coverage){ 0 };
    for (int kind = 0; kind < OP_KIND_COUNT; kind++)
        if (!(hp_op[kind].flags & ROW_OPAQUE))
            add_row(c, (enum op_kind)kind);
    for (int i = 0; i < OP_CASE_COUNT; i++)
        if (!(hp_op[op_cases[i].kind].flags & ROW_OPAQUE))
            add_case(c, &op_cases[i]);
}

const struct goal *coverage_next(struct coverage *c)
{
    struct goal *least = &c->goal[0];
    for (int i = 1; i < c->n_goals; i++)
        if (c->goal[i].met < least->met)
            least = &c->goal[i];
    least->asked++;
    return least;
}

const char *coverage_axes(const struct coverage *c, enum op_kind kind, char *text, size_t n)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < c->n_goals && used + 2 < n; i++)
        if (c->goal[i].kind == kind && c->goal[i].a == c->goal[i].b)
            used +=
                (size_t)snprintf(text + used, n - used, "%s%c", used ? " " : "", c->goal[i].a);
    return text;
}

/* Two parts at least, along axis `a`, that are not empty? */
static bool really_split(const struct nest *nest, const struct split *split, int a)
{
    int full = 0;
    for (int i = 0; i < split->degree[a]; i++)
        full += !hp_range_empty(hp_axis_part(nest, split, a, i));
    return full > 1;
}

static void note_op(struct coverage *c, const struct hypar_plan *plan, int op)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    const struct op_plan *mine = &plan->ops[op];
    struct range range[MAX_AXES];
    for (int a = 0; a < nest->n_axes; a++)
        for (int b = a; b < nest->n_axes; b++) {
            struct goal *goal =
                find_goal(c, nest->kind, nest->axis[a].name[0], nest->axis[b].name[0]);
            if (goal && really_split(nest, &mine->split, a) &&
                really_split(nest, &mine->split, b))
                goal->met++;
        }
    for (int p = 0; p < mine->n_parts; p++) {
        c->seen[SEEN_EMPTY] += !hp_part_ranges(nest, &mine->split, p, range);
        for (int q = 0; q < p; q++)
            c->seen[SEEN_TWO_PARTS_ON_A_DEVICE] += mine->device[p] == mine->device[q];
    }
    for (int a = 0; a < nest->n_axes; a++)
        c->seen[SEEN_UNEVEN] +=
            mine->split.degree[a] > 1 && nest->axis[a].role != HYPAR_COPY &&
            (mine->split.sizes[a] || nest->axis[a].extent % mine->split.degree[a]);
    c->seen[SEEN_COPIES] += mine->split.degree[nest->n_axes - 1] > 1;
    c->kind[nest->kind]++;
}

void coverage_note(struct coverage *c, const struct hypar_plan *plan)
{
    const struct hypar_graph *g = plan->graph;
    for (int op = 0; op < g->n_ops; op++)
        note_op(c, plan, op);
    for (int t = 0; t < g->n_tensors; t++)
        c->seen[SEEN_SHARED_PARAMETER] +=
            g->tensors[t].kind == TENSOR_PARAM && g->use_start[t + 1] - g->use_start[t] > 1;
    bool many = plan->schedule.micro_batches > 1;
    c->seen[SEEN_MICRO_BATCHES] += many;
    c->seen[SEEN_UNEQUAL_MICRO_BATCHES] += g->batch % plan->schedule.micro_batches != 0;
    c->seen[SEEN_GPIPE] += many && plan->schedule.kind == HYPAR_SCHEDULE_GPIPE;
    c->seen[SEEN_1F1B] += many && plan->schedule.kind == HYPAR_SCHEDULE_1F1B;
    c->seen[SEEN_ONE_DEVICE] += plan->n_all_devices == 1;
    c->seen[SEEN_SGD] += plan->optimizer == HYPAR_SGD;
    c->seen[SEEN_MOMENTUM] += plan->optimizer == HYPAR_MOMENTUM;
    c->seen[SEEN_ADAM] += plan->optimizer == HYPAR_ADAM;
    c->seen[SEEN_ADAMW] += plan->optimizer == HYPAR_ADAMW;
}

int coverage_missing(const struct coverage *c, char *text, size_t n)
{
    int missing = 0;
    for (int i = 0; i < c->n_goals; i++) {
        const struct goal *g = &c->goal[i];
        if (!g->met && !missing++)
            snprintf(text, n, "%s split along %c%s%.1s", hp_op[g->kind].name, g->a,
                     g->a == g->b ? "" : " and ", g->a == g->b ? "" : &g->b);
    }
    for (int i = 0; i < SITUATION_COUNT; i++)
        if (!c->seen[i] && !missing++)
            snprintf(text, n, "%s", situation_names[i]);
    for (int k = 0; k < OP_KIND_COUNT; k++)
        if (!c->kind[k] && !(hp_op[k].flags & ROW_OPAQUE) && !missing++)
            snprintf(text, n, "%s", hp_op[k].name);
    return missing;
}
