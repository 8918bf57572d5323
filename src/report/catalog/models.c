/* Reports the models of the zoo: all of them, or one with its options. */
#include <hypar/report.h>

#include <string.h>

#include "graph/graph.h"
#include "report/put.h"

struct model_row {
    const char *name;
    int64_t params, batch;
    double params_shown, flops;
    int ops, layers;
    const char *summary, *options, *source;
};

static const struct column model_columns[] = {
    { "model", "name", AS_TEXT, AT(struct model_row, name) },
    { "params", NULL, AS_METRIC, AT(struct model_row, params_shown) },
    { NULL, "params", AS_LONG, AT(struct model_row, params) },
    { "FLOP", "flops_per_sample", AS_METRIC, AT(struct model_row, flops) },
    { "ops", "ops", AS_INT, AT(struct model_row, ops) },
    { "layers", "layers", AS_INT, AT(struct model_row, layers) },
    { "batch", "batch", AS_LONG, AT(struct model_row, batch) },
    { "", "summary", AS_TEXT, AT(struct model_row, summary), WRAPS },
    { NULL, "options", AS_TEXT, AT(struct model_row, options) },
    { NULL, "source", AS_TEXT, AT(struct model_row, source) },
    { 0 },
};

static struct model_row row_of(const struct hypar_model_info *info, const struct hypar_graph *g)
{
    return (struct model_row){
        .name = info->name,
        .params = hypar_graph_params(g),
        .batch = g->batch,
        .params_shown = (double)hypar_graph_params(g),
        .flops = hypar_graph_flops_per_sample(g),
        .ops = g->n_ops,
        .layers = hypar_graph_layer_count(g),
        .summary = info->summary,
        .options = info->options,
        .source = info->source,
    };
}

static void report_all(FILE *to, enum hypar_format format)
{
    struct json_writer w = { .file = to };
    struct table_writer table = { .column = model_columns,
                                  .to = to,
                                  .json = format == HYPAR_JSON ? &w : NULL };
    hp_table_begin(&table, NULL);
    for (int i = 0; i < hypar_model_count(); i++) {
        const struct hypar_model_info info = hypar_model_at(i);
        struct hypar_graph *g;
        if (hypar_import(&g, info.name, NULL, NULL) != HYPAR_OK)
            continue; /* does not happen: a test builds every model of the zoo */
        struct model_row row = row_of(&info, g);
        hp_table_row(&table, &row);
        hypar_graph_free(g);
    }
    hp_table_end(&table);
    if (format == HYPAR_JSON)
        return;
    fputc('\n', to);
    hp_put_line(to,
                "FLOP: of one sample, forward; two per multiply-add. Options follow a colon: "
                "bert-base:seq=128, resnet18:image=32,classes=10, mlp:784-8192-10. 'hypar "
                "models NAME' tells those of one.");
}

/* One model --------------------------------------------------------------------------- */

/* A numeric option has bounds; an option of words has a list. */
static void put_option(struct json_writer *w, const struct hypar_model_option *option)
{
    if (!option->words) {
        PUT(w, INT("default", option->value), INT("least", option->least),
            INT("most", option->most));
        return;
    }
    hp_json_put_string(w, "default", option->words[option->value]);
    hp_json_begin_array(w, "words", true);
    for (int i = 0; i <= option->most; i++)
        hp_json_put_string(w, NULL, option->words[i]);
    hp_json_end_array(w);
}

static void one_json(FILE *to, int model, const char *word, const struct hypar_graph *g)
{
    struct json_writer w = { .file = to };
    struct hypar_model_info info = hypar_model_at(model);
    struct hypar_model_option option;
    info.name = word;
    struct model_row row = row_of(&info, g);
    hp_json_begin_object(&w, NULL, false);
    hp_put_fields(&w, model_columns, &row);
    hp_json_begin_array(&w, "option_list", false);
    for (int i = 0; hypar_model_option(model, i, &option); i++) {
        hp_json_begin_object(&w, NULL, true);
        hp_json_put_string(&w, "name", option.name);
        put_option(&w, &option);
        hp_json_end_object(&w);
    }
    hp_json_end_array(&w);
    hp_json_end_object(&w);
}

/* A table of the options; prints nothing if there are none. */
static void option_rows(FILE *to, int model)
{
    struct arena arena = { 0 };
    struct table_writer table = { .to = to, .texts = "option|>default|>least|>most" };
    struct hypar_model_option o;
    hp_table_begin(&table, NULL);
    for (int i = 0; hypar_model_option(model, i, &o); i++) {
        const int value[3] = { o.value, o.least, o.most };
        const char *row[4] = { o.name };
        for (int k = 0; k < 3; k++)
            row[k + 1] = o.words ? o.words[value[k]] : hp_arena_printf(&arena, "%d", value[k]);
        hp_table_row(&table, row);
    }
    hp_table_end(&table);
    hp_arena_free(&arena);
}

static void one_text(FILE *to, int model, const char *word, const struct hypar_graph *g)
{
    const struct hypar_model_info info = hypar_model_at(model);
    struct hypar_model_option option;
    struct arena arena = { 0 };
    hp_put_line(to, "%s: %s%s%s%s", word, info.summary, *info.source ? " (" : "", info.source,
                *info.source ? ")" : "");
    hp_wrap(to, hp_graph_figures(&arena, g), 0);
    fputc('\n', to);
    hp_arena_free(&arena);
    if (hypar_model_option(model, 0, &option)) {
        option_rows(to, model);
        fprintf(to, "\nAs in %s:%s=%d.\n", info.name, option.name, option.value);
    } else if (*info.options) {
        fprintf(to, "Sizes follow a colon, the input's first: %s:%s.\n", info.name,
                info.options);
    } else {
        fputs("It has no options.\n", to);
    }
}

static enum hypar_status report_one(FILE *to, const char *word, enum hypar_format format,
                                    struct hypar_error *err)
{
    int model;
    struct hypar_graph *g;
    enum hypar_status status = hypar_model_find(&model, word, err);
    if (status == HYPAR_OK)
        status = hypar_import(&g, word, NULL, err);
    if (status != HYPAR_OK)
        return status;
    if (format == HYPAR_JSON)
        one_json(to, model, word, g);
    else
        one_text(to, model, word, g);
    hypar_graph_free(g);
    return HYPAR_OK;
}

enum hypar_status hypar_report_models(FILE *to, const char *word, enum hypar_format format,
                                      struct hypar_error *err)
{
    if (word)
        return report_one(to, word, format, err);
    report_all(to, format);
    return HYPAR_OK;
}
