/* Draws HyPar's picture of a plan. */
#include "report/plan/found.h"

#include <string.h>

#include "base/utf8.h"
#include "graph/graph.h"
#include "plan/structure/names.h"

enum { LEVEL = 5, LEAST_NAME = 3 }; /* characters of a level's name; of a choice in words */

/* The symbol of a choice: a letter, and on a terminal also a colour. */
static const struct {
    const char *word, *letter, *colour;
} looks[] = {
    { "dp", ".", "\033[44;97m" },
    { "mp", "#", "\033[43;30m" },
    { "III", "o", "\033[42;30m" },
};

static void put_choice(FILE *to, char digit, int width, bool fill, bool colour)
{
    int t = digit - '0';
    const char *text = width > 1 ? looks[t].word : looks[t].letter;
    if (colour)
        fputs(looks[t].colour, to);
    fprintf(to, "%-*s", fill || colour ? width : 0, text);
    if (colour)
        fputs("\033[0m", to);
}

enum { NAMED_LINES = 2 }; /* with more lines of layers, each layer is a letter */

/* Draw layers first .. last - 1 as in HyPar's Figure 5, with names above if there is room. */
static void map_part(FILE *to, const struct hypar_partition_view *view,
                     const struct hypar_graph *g, int first, int last, int width, bool colour)
{
    if (width > 1) {
        fprintf(to, "%*s", LEVEL, "");
        for (int i = first; i < last; i++)
            hp_put_padded(to, g->ops[view->layer_op[i]].name, i < last - 1 ? width + 1 : 0);
        fputc('\n', to);
    } else {
        fprintf(to, "     layers %d to %d: %s .. %s\n", first + 1, last,
                g->ops[view->layer_op[first]].name, g->ops[view->layer_op[last - 1]].name);
    }
    for (int h = 0; h < view->n_levels; h++) {
        fprintf(to, "H%-*d", LEVEL - 1, h + 1);
        for (int i = first; i < last; i++) {
            if (width > 1 && i > first)
                fputc(' ', to);
            put_choice(to, view->level[h][i], width, i < last - 1, colour);
        }
        fputc('\n', to);
    }
    fputc('\n', to);
}

/* Draw each layer, by its name or by a letter. */
static void draw_layers(FILE *to, const struct hypar_partition_view *view,
                        const struct hypar_graph *g, int line, int width, bool colour)
{
    int per_line = width > 1 ? (line + 1) / (width + 1) : line;
    for (int first = 0; first < view->n_layers; first += per_line) {
        int last = first + per_line < view->n_layers ? first + per_line : view->n_layers;
        map_part(to, view, g, first, last, width, colour);
    }
    if (width == 1)
        fputs("     . dp (I)   # mp (II)   o III\n\n", to);
}

/* The map turned by 90 degrees: a line for neighbouring layers with the same choices; repeated
 * layers are drawn once. */
struct turned {
    const struct hypar_partition_view *view;
    const struct hypar_graph *graph;
    struct arena *arena;
    struct table_writer table;
};

static bool same_choices(const struct hypar_partition_view *view, int a, int b)
{
    for (int h = 0; h < view->n_levels; h++)
        if (view->level[h][a] != view->level[h][b])
            return false;
    return true;
}

/* The end of the layers from `first` on with the same choices. */
static int choices_end(const struct hypar_partition_view *view, int first, int end)
{
    int i = first + 1;
    while (i < end && same_choices(view, first, i))
        i++;
    return i;
}

static int count_choices(const struct hypar_partition_view *view, int from, int to)
{
    int n = 0;
    for (; from < to; n++)
        from = choices_end(view, from, to);
    return n;
}

/* Add layers from .. to - 1: the first line has the name and the count of their run. */
static void add_lines(struct turned *t, int from, int to, const char *name, int count)
{
    const int *op = t->view->layer_op;
    struct short_names names = { 0 };
    if (count > 1)
        names = hp_short_names(t->graph, op[from], op[to - 1] + 1);
    for (int i = from; i < to;) {
        int end = choices_end(t->view, i, to);
        const char *layers =
            end - i > 1
                ? hp_arena_printf(
                      t->arena, "%s .. %s",
                      hp_ops_name(t->arena, t->graph, names, op[i], op[i] + 1),
                      hp_ops_name(t->arena, t->graph, names, op[end - 1], op[end - 1] + 1))
                : hp_ops_name(t->arena, t->graph, names, op[i], op[i] + 1);
        const char *row[MOST_COLUMNS] = {
            count == 1  ? layers
            : i == from ? name
                        : "",
            count > 1 && i == from ? hp_arena_printf(t->arena, "%d x", count) : "",
            count > 1 ? layers : "",
        };
        for (int h = 0; h < t->view->n_levels; h++)
            row[3 + h] = looks[t->view->level[h][i] - '0'].word;
        hp_table_row(&t->table, row);
        i = end;
    }
}

/* Numbers that are equal for equal layers with equal choices. */
static int *layer_tokens(struct arena *arena, const struct hypar_partition_view *view,
                         const struct hypar_graph *g)
{
    int *token = NEW(arena, int, view->n_layers + 1);
    struct table known = { 0 };
    for (int i = 0; i < view->n_layers; i++) {
        char *key = NEW(arena, char, view->n_levels + 16);
        int n = snprintf(key, 16, "%d ", g->ops[view->layer_op[i]].nest->like);
        for (int h = 0; h < view->n_levels; h++)
            key[n++] = view->level[h][i];
        token[i] = hp_table_put(&known, arena, key, (size_t)n, i);
    }
    return token;
}

static void add_run(struct turned *t, const struct run *run)
{
    const int *first = t->view->layer_op + run->first,
              *last = first + (run->count - 1) * run->period;
    size_t prefix = hp_prefix_length(t->graph, first[0], first[run->period - 1] + 1),
           last_prefix = hp_prefix_length(t->graph, last[0], last[run->period - 1] + 1);
    const char *name = prefix && last_prefix
                           ? hp_arena_printf(t->arena, "%.*s .. %.*s", (int)prefix,
                                             t->graph->ops[first[0]].name, (int)last_prefix,
                                             t->graph->ops[last[0]].name)
                           : hp_arena_printf(t->arena, "%s .. %s", t->graph->ops[first[0]].name,
                                             t->graph->ops[last[run->period - 1]].name);
    add_lines(t, run->first, run->first + run->period, name, run->count);
}

static void add_runs(struct turned *t)
{
    const struct hypar_partition_view *view = t->view;
    int64_t *border = NEW(t->arena, int64_t, view->n_layers + 1);
    for (int i = 1; i < view->n_layers; i++)
        border[i] = hp_shared_parts(t->graph, view->layer_op[i - 1], view->layer_op[i]);
    int n_runs, done = 0;
    const struct run *run = hp_find_runs(t->arena, layer_tokens(t->arena, view, t->graph),
                                         view->n_layers, border, &n_runs);
    for (int i = 0; i < n_runs; i++) {
        int first = run[i].first, end = first + run[i].count * run[i].period;
        if (run[i].count == 1 || count_choices(view, first, end) ==
                                     count_choices(view, first, first + run[i].period))
            continue;
        add_lines(t, done, first, "", 1);
        add_run(t, &run[i]);
        done = end;
    }
    add_lines(t, done, view->n_layers, "", 1);
}

/* Draw the turned map. Returns false and draws nothing if it takes more than `most` lines. */
static bool draw_turned(FILE *to, struct arena *arena, const struct hypar_partition_view *view,
                        const struct hypar_graph *g, int most)
{
    struct turned t = { .view = view, .graph = g, .arena = arena };
    t.table = (struct table_writer){ .to = to, .texts = "~layers|>|~" };
    if (view->n_levels + 3 > MOST_COLUMNS)
        return false;
    for (int h = 0; h < view->n_levels; h++)
        t.table.texts = hp_arena_printf(arena, "%s|H%d", t.table.texts, h + 1);
    hp_table_begin(&t.table, NULL);
    add_runs(&t);
    bool fits = t.table.n_rows <= most;
    t.table.n_rows = fits ? t.table.n_rows : 0; /* an empty table prints nothing */
    hp_table_end(&t.table);
    fputs(fits ? "\n" : "", to);
    return fits;
}

void hp_draw_levels(FILE *to, struct arena *arena, const struct hypar_partition_view *view,
                    const struct hypar_graph *g)
{
    bool colour = hp_has_colour(to);
    int width = LEAST_NAME, line = hypar_line_width(to) - LEVEL;
    for (int i = 0; i < view->n_layers; i++) {
        const char *name = g->ops[view->layer_op[i]].name;
        int n = hp_text_width(name, (int)strlen(name));
        width = n > width ? n : width;
    }
    if (width + 1 > line || (width + 1) * view->n_layers > NAMED_LINES * line)
        width = 1;
    int parts = (view->n_layers + line - 1) / line; /* by letters */
    if (width == 1 && parts > 1 &&
        draw_turned(to, arena, view, g, parts * (view->n_levels + 2) + 1))
        return;
    draw_layers(to, view, g, line, width, colour);
}
