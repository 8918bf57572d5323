/* Describes the splits, marks and stages of a plan in words. */
#include "report/plan/words.h"

#include <string.h>

#include "plan/structure/names.h"

/* Splits ------------------------------------------------------------------------------ */

static bool is_common(const struct common_split *common, char letter, int degree)
{
    for (int i = 0; common && i < common->n; i++)
        if (common->letter[i] == letter && common->degree[i] == degree)
            return true;
    return false;
}

static bool has_axis(const struct plan_structure *s, int op, char letter, int degree)
{
    int axis = hp_nest_axis(s->plan->graph->ops[op].nest, letter);
    return axis >= 0 && hypar_plan_degree(s->plan, op, axis) == degree;
}

struct common_split hp_common_split(const struct plan_structure *s, const struct plan_row *row)
{
    struct common_split common = { .op = -1 };
    const struct nest *nest = s->plan->graph->ops[row->first].nest;
    const struct plan_piece *piece = s->piece + row->first_piece;
    for (int a = 0; a < nest->n_axes && row->n_pieces > 1; a++) {
        char letter = nest->axis[a].name[0];
        int degree = hypar_plan_degree(s->plan, row->first, a);
        bool all = degree > 1;
        for (int i = 1; i < row->n_pieces && all; i++)
            all = has_axis(s, piece[i].first, letter, degree);
        if (!all)
            continue;
        common.letter[common.n] = letter;
        common.degree[common.n++] = degree;
    }
    bool same = row->n_pieces > 1 && !hp_fills_home(s, row->first);
    for (int i = 1; i < row->n_pieces && same; i++)
        same = hp_same_devices(&s->plan->ops[row->first], &s->plan->ops[piece[i].first]);
    if (same)
        common.op = row->first;
    return common;
}

int hp_run_of_devices(const int *device, int n)
{
    int length = 1;
    while (length < n && device[length] == device[0] + length)
        length++;
    return n < 1 ? 0 : length;
}

char *hp_devices_text(struct arena *arena, const int *device, int n, int most)
{
    char *text = hp_arena_strdup(arena, "");
    for (int i = 0, runs = 0; i < n; runs++) {
        int length = hp_run_of_devices(device + i, n - i);
        if (runs == most)
            return hp_arena_printf(arena, "%s ...", text);
        text = hp_joined(arena, text, " ",
                         hp_numbers_text(arena, device[i], device[i] + length - 1));
        i += length;
    }
    return text;
}

/* Adds " on 0-7". */
static char *add_devices(struct arena *arena, char *text, const struct plan_structure *s,
                         int op)
{
    const struct op_plan *p = &s->plan->ops[op];
    return hp_arena_printf(arena, "%s%son %s", text, *text ? " " : "",
                           hp_devices_text(arena, p->device, p->n_devices, HP_FEW_RUNS));
}

char *hp_common_text(struct arena *arena, const struct plan_structure *s,
                     const struct common_split *common)
{
    char *text = hp_arena_strdup(arena, "");
    for (int i = 0; i < common->n; i++)
        text = hp_arena_printf(arena, "%s%s%c=%d", text, i ? " " : "", common->letter[i],
                               common->degree[i]);
    return common->op < 0 ? text : add_devices(arena, text, s, common->op);
}

enum hypar_role hp_main_role(const struct hypar_plan *plan, int op)
{
    static const enum hypar_role order[] = { HYPAR_PARAMETER, HYPAR_REDUCTION, HYPAR_ATTRIBUTE,
                                             HYPAR_COPY, HYPAR_SAMPLE };
    const struct nest *nest = plan->graph->ops[op].nest;
    for (int i = 0; i < 5; i++)
        for (int a = 0; a < nest->n_axes; a++)
            if (nest->axis[a].role == order[i] && hypar_plan_degree(plan, op, a) > 1)
                return order[i];
    return HYPAR_INNER;
}

const char *hp_divided_text(enum hypar_role role)
{
    static const char *const text[] = {
        [HYPAR_SAMPLE] = "samples alone",
        [HYPAR_ATTRIBUTE] = "the data: sequence, heads, height, width",
        [HYPAR_PARAMETER] = "parameters",
        [HYPAR_REDUCTION] = "what is summed over",
        [HYPAR_COPY] = "nothing more: copies",
        [HYPAR_INNER] = "nothing",
    };
    return text[role];
}

char *hp_split_text(struct arena *arena, const struct plan_structure *s, int op,
                    const struct common_split *common)
{
    const struct nest *nest = s->plan->graph->ops[op].nest;
    char *text = hp_arena_strdup(arena, "");
    for (int a = 0; a < nest->n_axes; a++) {
        int degree = hypar_plan_degree(s->plan, op, a);
        if (degree > 1 && !is_common(common, nest->axis[a].name[0], degree))
            text = hp_arena_printf(arena, "%s%s%s=%d", text, *text ? " " : "",
                                   nest->axis[a].name, degree);
    }
    if (!*text && !(common && common->n))
        text = hp_arena_strdup(arena, "whole");
    bool told = (common && common->op >= 0) || hp_fills_home(s, op);
    return told ? text : add_devices(arena, text, s, op);
}

/* Marks ------------------------------------------------------------------------------- */

/* The operators of a layer that have a mark. */
struct marked {
    int n, of;      /* marked operators, and operators that could have the mark */
    int is[3], but; /* the first few marked operators, and the last unmarked one */
};

static void count_mark(struct marked *m, int op, bool is)
{
    m->of++;
    if (!is)
        m->but = op;
    else if (m->n++ < 3)
        m->is[m->n - 1] = op;
}

/* ", recomputed", ", recomputed but mlp.add", ", recomputed: attn", ", 7 of 13 recomputed". */
static char *mark_text(struct arena *arena, const struct plan_structure *s,
                       const struct plan_row *row, const struct marked *m, const char *word)
{
    const struct hypar_graph *g = s->plan->graph;
    struct short_names names = hp_short_names(g, row->first, row->first + row->n_ops);
    if (m->n == 0)
        return hp_arena_strdup(arena, "");
    if (m->n == m->of)
        return hp_arena_printf(arena, ", %s", word);
    if (m->n == m->of - 1)
        return hp_arena_printf(arena, ", %s but %s", word,
                               hp_ops_name(arena, g, names, m->but, m->but + 1));
    if (m->n > 3)
        return hp_arena_printf(arena, ", %d of %d %s", m->n, m->of, word);
    char *text = hp_arena_printf(arena, ", %s:", word);
    for (int i = 0; i < m->n; i++)
        text = hp_arena_printf(arena, "%s%s %s", text, i ? " and" : "",
                               hp_ops_name(arena, g, names, m->is[i], m->is[i] + 1));
    return text;
}

char *hp_marks_text(struct arena *arena, const struct plan_structure *s,
                    const struct plan_row *row)
{
    struct marked again = { 0 }, resent = { 0 };
    const struct op_plan *sharded = NULL;
    for (int op = row->first; op < row->first + row->n_ops; op++) {
        const struct op_plan *p = &s->plan->ops[op];
        count_mark(&again, op, p->recompute);
        count_mark(&resent, op, p->resend);
        sharded = p->shard != HYPAR_SHARD_NONE && !sharded ? p : sharded;
    }
    char *text = hp_arena_printf(arena, "%s%s", mark_text(arena, s, row, &again, "recomputed"),
                                 mark_text(arena, s, row, &resent, "sent again"));
    if (sharded) {
        struct marked divided = { 0 };
        for (int op = row->first; op < row->first + row->n_ops; op++)
            if (hp_op_has_params(s->plan->graph, op))
                count_mark(&divided, op,
                           s->plan->ops[op].shard == sharded->shard &&
                               s->plan->ops[op].shard_over == sharded->shard_over);
        const char *word =
            hp_arena_printf(arena, "%s sharded", hypar_shard_text(sharded->shard));
        if (sharded->shard_over)
            word = hp_arena_printf(arena, "%s over %d", word, sharded->shard_over);
        text = hp_arena_printf(arena, "%s%s", text, mark_text(arena, s, row, &divided, word));
    }
    return *text ? text + 2 : text;
}

/* Rows -------------------------------------------------------------------------------- */

char *hp_plan_row_name(struct arena *arena, const struct plan_structure *s,
                       const struct plan_row *row)
{
    const struct hypar_graph *g = s->plan->graph;
    if (row->count > 1 || row->n_pieces > 1)
        return hp_layers_name(arena, g, row->first, row->n_ops, row->count);
    return hp_ops_name(arena, g, (struct short_names){ 0 }, row->first,
                       row->first + row->n_ops);
}

enum { MOST_PIECES = 24 };

char *hp_plan_row_text(struct arena *arena, const struct plan_structure *s,
                       const struct plan_row *row)
{
    const struct hypar_graph *g = s->plan->graph;
    struct common_split common = hp_common_split(s, row);
    struct short_names names = hp_short_names(g, row->first, row->first + row->n_ops);
    char *text = hp_common_text(arena, s, &common), *marks = hp_marks_text(arena, s, row);
    if (*text)
        text = hp_arena_printf(arena, "%s: ", text);
    for (int i = 0; i < row->n_pieces && i < MOST_PIECES; i++) {
        const struct plan_piece *piece = &s->piece[row->first_piece + i];
        const char *split = hp_split_text(arena, s, piece->first, &common);
        if (row->n_pieces > 1)
            text = hp_arena_printf(
                arena, "%s%s%s%s", text, i ? ", " : "",
                hp_ops_name(arena, g, names, piece->first, piece->first + piece->n_ops),
                *split ? " " : "");
        text = hp_arena_printf(arena, "%s%s", text, split);
    }
    if (row->n_pieces > MOST_PIECES)
        text = hp_arena_printf(arena, "%s, and %d more", text, row->n_pieces - MOST_PIECES);
    return *marks ? hp_arena_printf(arena, "%s; %s", text, marks) : text;
}

/* Stages ------------------------------------------------------------------------------ */

/* Add one item to a list: "a, b, ..., z"; only the first two and the last are named. */
static char *add_item(struct arena *arena, char *text, const char *item, int i, int n)
{
    if (i < 2 || i == n - 1)
        return hp_joined(arena, text, ", ", item);
    return i == 2 ? hp_arena_printf(arena, "%s, ...", text) : text;
}

char *hp_numbers_text(struct arena *arena, int first, int last)
{
    return first == last ? hp_arena_printf(arena, "%d", first)
                         : hp_arena_printf(arena, "%d-%d", first, last);
}

/* The operators of stages first .. last, consecutive or not. */
static char *stages_ops(struct arena *arena, const struct plan_structure *s, int first,
                        int last)
{
    const struct hypar_stage *x = &s->plan->stages[first], *y = &s->plan->stages[last];
    int n = 0;
    for (int i = first; i <= last; i++)
        n += s->plan->stages[i].n_ops;
    if (!x->n_ops || !y->n_ops)
        return hp_arena_strdup(arena, "-");
    int from = x->op[0], to = y->op[y->n_ops - 1] + 1;
    if (to - from == n)
        return hp_range_name(arena, s, from, to);
    return hp_ops_name(arena, s->plan->graph, (struct short_names){ 0 }, from, to);
}

/* The contents of a block, all its stages together: whole layers, and other operators. */
static struct range_layers amount_of(const struct plan_structure *s,
                                     const struct plan_block *block)
{
    struct range_layers sum = { 0 };
    for (int i = 0; i < block->n_stages; i++) {
        const struct hypar_stage *stage = &s->plan->stages[block->stage[i]];
        struct range_layers in = { 0 };
        if (stage->n_ops && stage->op[stage->n_ops - 1] - stage->op[0] + 1 == stage->n_ops)
            in = hp_layers_in(s, stage->op[0], stage->op[0] + stage->n_ops);
        sum.layers += in.layers;
        sum.n_ops += stage->n_ops - in.n_ops;
    }
    return sum;
}

/* "6 layers", "3 to 4 layers", "6 layers + 3", "81 operators". */
static char *each_text(struct arena *arena, const struct plan_structure *s,
                       const struct plan_group *group)
{
    struct range_layers least = amount_of(s, &s->block[group->first]), most = least;
    for (int i = 1; i < group->count; i++) {
        struct range_layers a = amount_of(s, &s->block[group->first + i]);
        least.layers = a.layers < least.layers ? a.layers : least.layers;
        most.layers = a.layers > most.layers ? a.layers : most.layers;
        least.n_ops = a.n_ops < least.n_ops ? a.n_ops : least.n_ops;
        most.n_ops = a.n_ops > most.n_ops ? a.n_ops : most.n_ops;
    }
    int low = least.layers ? least.layers : least.n_ops,
        high = least.layers ? most.layers : most.n_ops;
    char *text = hp_count(arena, high, least.layers ? "layer" : "operator");
    if (low != high)
        text = hp_arena_printf(arena, "%d to %s", low, text);
    if (!least.layers || !most.n_ops)
        return text;
    return least.n_ops == most.n_ops
               ? hp_arena_printf(arena, "%s + %d", text, most.n_ops)
               : hp_arena_printf(arena, "%s + %d to %d", text, least.n_ops, most.n_ops);
}

/* "64-959, 64 each" if the blocks are consecutive, else the devices of the first and the
 * last. */
static char *group_devices(struct arena *arena, const struct plan_structure *s,
                           const struct plan_group *group)
{
    const struct device_list *first = &s->home[s->block[group->first].stage[0]], *last = first;
    bool dense = first->n > 0;
    for (int i = 0; i < group->count; i++) {
        const struct device_list *home = &s->home[s->block[group->first + i].stage[0]];
        dense &= home->n == first->n && home->n > 0 &&
                 home->device[home->n - 1] - home->device[0] == home->n - 1 &&
                 home->device[0] == first->device[0] + i * first->n;
        last = home;
    }
    char *text = hp_devices_text(arena, first->device, first->n, HP_FEW_RUNS);
    if (group->count == 1)
        return text;
    if (dense)
        return hp_arena_printf(arena, "%d-%d, %d each", first->device[0],
                               last->device[last->n - 1], first->n);
    return hp_arena_printf(arena, "%s to %s", text,
                           hp_devices_text(arena, last->device, last->n, HP_FEW_RUNS));
}

static char *degree_text(struct arena *arena, int degree)
{
    return degree ? hp_arena_printf(arena, "%d", degree) : hp_arena_strdup(arena, "-");
}

static const struct column group_columns[] = {
    { "stage", "stages", AS_TEXT, AT(struct group_words, stages), WRAPS },
    { "layers", "layers", AS_TEXT, AT(struct group_words, layers), WRAPS },
    { "each", "each", AS_TEXT, AT(struct group_words, each) },
    { "devices", "devices", AS_TEXT, AT(struct group_words, devices), WRAPS },
    { "replicas", "replicas", AS_TEXT, AT(struct group_words, replicas), TO_THE_RIGHT },
    { "tensor", "parts", AS_TEXT, AT(struct group_words, tensor), TO_THE_RIGHT },
    { 0 },
};

struct group_words hp_group_words(struct arena *arena, const struct plan_structure *s,
                                  int group)
{
    const struct plan_group *g = &s->group[group];
    const struct plan_block *first = &s->block[g->first],
                            *last = &s->block[g->first + g->count - 1];
    struct stage_degrees degrees = hp_stage_degrees(s->plan, first->stage[0]);
    struct group_words w = { .stages = hp_arena_strdup(arena, ""),
                             .layers = hp_arena_strdup(arena, ""),
                             .each = each_text(arena, s, g),
                             .devices = group_devices(arena, s, g),
                             .replicas = degree_text(arena, degrees.replicas),
                             .tensor = degree_text(arena, degrees.tensor) };
    for (int i = 0; i < first->n_stages; i++) {
        int x = first->stage[i], y = last->stage[i];
        w.stages = add_item(arena, w.stages, hp_numbers_text(arena, x, y), i, first->n_stages);
        w.layers = add_item(arena, w.layers, stages_ops(arena, s, x, y), i, first->n_stages);
    }
    return w;
}

void hp_group_rows(struct table_writer *table, struct arena *arena,
                   const struct plan_structure *s)
{
    table->column = group_columns;
    hp_table_begin(table, "stages");
    for (int g = 0; g < s->n_groups; g++) {
        struct group_words words = hp_group_words(arena, s, g);
        hp_table_row(table, &words);
    }
    hp_table_end(table);
}

char *hp_idle_text(struct arena *arena, const struct plan_structure *s)
{
    enum { MOST_RUNS = 8 };
    char *text = hp_arena_strdup(arena, "");
    int n = 0;
    for (int i = 0; i < s->n_idle; i++) {
        const struct idle_run *run = &s->idle[i];
        n += run->last - run->first + 1;
        if (i == MOST_RUNS)
            text = hp_arena_printf(arena, "%s, ...", text);
        else if (i < MOST_RUNS)
            text = hp_joined(arena, text, ", ", hp_numbers_text(arena, run->first, run->last));
    }
    if (n == 0)
        return text;
    return hp_arena_printf(arena, "device%s %s idle", n > 1 ? "s" : "", text);
}
