/* Reports the bytes by which HyPar chose dp or mp: Tables 1 and 2 of the paper, layer by
 * layer. */
#include "graph/graph.h"
#include "report/explain/explain.h"

#include "report/table.h"

enum { MOST_ROWS = 80 }; /* limit of rows in text: VGG-E on 16 devices has 76 */

/* A layer at a level. Between: the exchange with the layers that it reads from and with its
 * readers. */
struct terms_row {
    const char *layer, *chosen;
    char level[16];
    struct hypar_type_terms dp, mp;
    double dp_between, dp_bytes, mp_between, mp_bytes;
    bool is_dp, is_mp;
};

#define ROW(member) AT(struct terms_row, member)

static const struct column terms_columns[] = {
    { "layer", "layer", AS_TEXT, ROW(layer) },
    { "level", "level", AS_TEXT, ROW(level), INSIDE },
    { NULL, "chosen", AS_TEXT, ROW(chosen) },
    { "dp own", "dp_own_bytes", AS_BYTES, ROW(dp.own_bytes) },
    { NULL, "dp_previous_bytes", AS_BYTES, ROW(dp.previous_bytes) },
    { NULL, "dp_next_bytes", AS_BYTES, ROW(dp.next_bytes) },
    { "dp between", NULL, AS_BYTES, ROW(dp_between) },
    { "dp", "dp_bytes", AS_BYTES, ROW(dp_bytes), .star = offsetof(struct terms_row, is_dp) },
    { "mp own", "mp_own_bytes", AS_BYTES, ROW(mp.own_bytes) },
    { NULL, "mp_previous_bytes", AS_BYTES, ROW(mp.previous_bytes) },
    { NULL, "mp_next_bytes", AS_BYTES, ROW(mp.next_bytes) },
    { "mp between", NULL, AS_BYTES, ROW(mp_between) },
    { "mp", "mp_bytes", AS_BYTES, ROW(mp_bytes), .star = offsetof(struct terms_row, is_mp) },
    { 0 },
};

static struct terms_row row_of(const struct hypar_partition_view *view,
                               const struct hypar_graph *graph, int i)
{
    int level = i / view->n_layers, layer = i % view->n_layers;
    const struct hypar_layer_terms *terms = &view->terms[i];
    bool is_dp = view->level[level][layer] == '0';
    struct terms_row row = {
        .layer = graph->ops[view->layer_op[layer]].name,
        .chosen = is_dp ? "dp" : "mp",
        .dp = terms->dp,
        .mp = terms->mp,
        .dp_between = terms->dp.previous_bytes + terms->dp.next_bytes,
        .mp_between = terms->mp.previous_bytes + terms->mp.next_bytes,
        .is_dp = is_dp,
        .is_mp = !is_dp,
    };
    row.dp_bytes = row.dp.own_bytes + row.dp_between;
    row.mp_bytes = row.mp.own_bytes + row.mp_between;
    snprintf(row.level, sizeof row.level, "H%d", level + 1);
    return row;
}

/* Write the rows. Returns the number of rows that text leaves out. */
static int put_rows(struct table_writer *table, const struct hypar_partition_view *view,
                    const struct hypar_graph *graph)
{
    int left_out = 0;
    hp_table_begin(table, "terms");
    for (int i = 0; i < view->n_levels * view->n_layers; i++) {
        struct terms_row row = row_of(view, graph, i);
        left_out += !hp_table_row(table, &row);
    }
    hp_table_end(table);
    return left_out;
}

void hp_terms_text(FILE *to, const struct hypar_partition_view *view,
                   const struct hypar_graph *graph)
{
    struct table_writer table = { .column = terms_columns, .to = to, .most = MOST_ROWS };
    if (!view || view->n_levels == 0)
        return;
    fputs("Why dp or mp:\n", to);
    int left_out = put_rows(&table, view, graph);
    if (left_out)
        fprintf(to, "and %d more rows, which --json has\n", left_out);
    hp_mark_note(table.starred, to, "the choice");
    hp_put_line(to,
                "Own is HyPar's Table 1: gradients under dp, partial sums of the output under "
                "mp. Between is its Table 2: what moves between this layer and the layers "
                "before and behind it, as these are chosen. Tensors are as the levels above "
                "left them; bytes are those of all groups of a level.");
    fputc('\n', to);
}

void hp_put_terms(struct json_writer *w, const struct hypar_partition_view *view,
                  const struct hypar_graph *graph)
{
    struct table_writer table = { .column = terms_columns, .json = w };
    if (view)
        put_rows(&table, view, graph);
}
