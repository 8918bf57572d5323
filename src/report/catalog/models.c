/* The models of the zoo: all of them, or one with its options. */
#include <hypar/report.h>

#include <string.h>

#include "base/json.h"
#include "report/columns.h"
#include "report/put.h"

static void model_row(struct columns *table, struct arena *arena,
                      const struct hypar_model_info *info, const struct hypar_graph *g)
{
    char buffer[32];
    hp_cell(table, arena, "%s", info->name);
    hp_cell(table, arena, "%s", hp_metric(buffer, (double)hypar_graph_params(g)));
    hp_cell(table, arena, "%s", hp_metric(buffer, hypar_graph_flops_per_sample(g)));
    hp_cell(table, arena, "%d", hypar_graph_op_count(g));
    hp_cell(table, arena, "%d", hypar_graph_layer_count(g));
    hp_cell(table, arena, "%lld", (long long)hypar_graph_batch(g));
    hp_cell(table, arena, "%s", info->summary);
}

static void put_model(struct json_writer *w, const struct hypar_model_info *info,
                      const struct hypar_graph *g)
{
    hp_json_put_string(w, "name", info->name);
    hp_put_graph_figures(w, g);
    hp_json_put_int(w, "batch", hypar_graph_batch(g));
    hp_json_put_string(w, "summary", info->summary);
    hp_json_put_string(w, "options", info->options);
    hp_json_put_string(w, "source", info->source);
}

void hypar_report_models(FILE *to, enum hypar_format format)
{
    struct arena arena = { 0 };
    struct columns table = { .align = "lrrrrrw" };
    struct json_writer w = { .file = to };
    static const char *const heading[] = { "model",  "params", "FLOP", "ops",
                                           "layers", "batch",  "" };
    for (int i = 0; i < 7; i++)
        hp_cell(&table, &arena, "%s", heading[i]);
    if (format == HYPAR_JSON)
        hp_json_begin_array(&w, NULL, false);
    for (int i = 0; i < hypar_model_count(); i++) {
        const struct hypar_model_info info = hypar_model_at(i);
        struct hypar_graph *g;
        if (hypar_import(&g, info.name, NULL, NULL) != HYPAR_OK)
            continue; /* a model of the zoo always builds; a test holds it to that */
        if (format == HYPAR_JSON) {
            hp_json_begin_object(&w, NULL, true);
            put_model(&w, &info, g);
            hp_json_end_object(&w);
        } else
            model_row(&table, &arena, &info, g);
        hypar_graph_free(g);
    }
    if (format == HYPAR_JSON) {
        hp_json_end_array(&w);
    } else {
        hp_columns_print(&table, to);
        fputc('\n', to);
        hp_wrap(
            to,
            "FLOP: of one sample, forward; two per multiply-add. Options follow a colon: "
            "bert-base:seq=128, resnet18:image=32,classes=10, mlp:784-8192-10. 'hypar models "
            "NAME' tells those of one.",
            0);
    }
    hp_arena_free(&arena);
}

/* One model --------------------------------------------------------------------------- */

/* Bounds are numbers; of words there is a list. */
static void put_option(struct json_writer *w, const struct hypar_model_option *option)
{
    if (!option->words) {
        hp_json_put_int(w, "default", option->value);
        hp_json_put_int(w, "least", option->least);
        hp_json_put_int(w, "most", option->most);
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
    hp_json_begin_object(&w, NULL, false);
    put_model(&w, &info, g);
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

/* A table of the options; nothing where there are none. */
static void option_rows(FILE *to, int model)
{
    struct arena arena = { 0 };
    struct columns table = { .align = "lrrr" };
    static const char *const heading[] = { "option", "default", "least", "most" };
    struct hypar_model_option option;
    for (int i = 0; i < 4; i++)
        hp_cell(&table, &arena, "%s", heading[i]);
    for (int i = 0; hypar_model_option(model, i, &option); i++) {
        hp_cell(&table, &arena, "%s", option.name);
        for (int k = 0; k < 3; k++) {
            int value = k == 0 ? option.value : k == 1 ? option.least : option.most;
            if (option.words)
                hp_cell(&table, &arena, "%s", option.words[value]);
            else
                hp_cell(&table, &arena, "%d", value);
        }
    }
    hp_columns_print(&table, to);
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

enum hypar_status hypar_report_model(FILE *to, const char *word, enum hypar_format format,
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
