/* Reading a plan: the file as a whole, its model and its machine. */
#include "plan/read.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/machine.h"

/* The file or text that a plan is read from. */
struct source {
    const char *folder; /* that relative paths start from, with its last '/'; "": here */
    const struct hypar_plan_read_options *options;
    struct hypar_graph *graph; /* its own, if they are known already; else NULL */
    struct hypar_machine *machine;
};

/* Relative paths in a file begin at the folder of the file. */
static const char *resolve(struct arena *scratch, const char *folder, const char *path)
{
    return path[0] == '/' ? path : hp_arena_printf(scratch, "%s%s", folder, path);
}

static enum hypar_status read_text(const struct json *root, const char *key, const char **out,
                                   struct hypar_error *err)
{
    struct json at = hp_json_member(root, key);
    TRY(hp_json_string(&at, out, err));
    if (!**out || strcmp(*out, "-") == 0)
        return hp_json_fail(&at, err, "expected a word or the path of a file, not \"%s\"",
                            *out);
    return HYPAR_OK;
}

enum hypar_status hp_read_hash(const struct json *at, uint64_t *out, struct hypar_error *err)
{
    const char *text;
    TRY(hp_json_string(at, &text, err));
    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return hp_json_fail(at, err, "expected 16 hexadecimal digits, not \"%.40s\"", text);
    *out = strtoull(text, NULL, 16);
    return HYPAR_OK;
}

static enum hypar_status check_hash(const struct hypar_graph *graph, const char *model,
                                    const struct json *root, struct hypar_error *err)
{
    uint64_t hash, mine = graph->hash;
    struct json at = hp_json_member(root, "graph_hash");
    if (!at.value)
        return HYPAR_OK;
    TRY(hp_read_hash(&at, &hash, err));
    if (hash == mine)
        return HYPAR_OK;
    hp_json_fail(
        &at, err,
        "the plan is for another graph: '%s' with batch %lld is %016llx, not %016llx; without "
        "this line the plan is read for any graph that it fits",
        model, (long long)graph->batch, (unsigned long long)mine, (unsigned long long)hash);
    return HYPAR_INFEASIBLE;
}

static enum hypar_status read_graph(struct hypar_graph **out, const struct json *root,
                                    const struct source *source, struct arena *scratch,
                                    const struct hypar_framework *framework, const char **model,
                                    struct hypar_error *err)
{
    struct hypar_import_options options = { .framework = framework,
                                            .follow_links = source->options->follow_links,
                                            .reads = source->options->reads,
                                            .who = source->options->who };
    const char *from = source->options->model;
    struct json freeze = hp_json_member(root, "freeze");
    if (freeze.value)
        TRY(hp_json_name(&freeze, &options.freeze, err));
    if (source->graph) {
        *out = source->graph;
        TRY(read_text(root, "model", model, err));
        if (options.freeze)
            TRY(hp_graph_freeze(*out, options.freeze, err));
        return check_hash(*out, *model, root, err);
    }
    struct json batch = hp_json_member(root, "batch");
    if (batch.value)
        TRY(hp_json_int(&batch, 1, INT64_MAX, &options.batch, err));
    *model = from;
    if (!from) {
        TRY(read_text(root, "model", model, err));
        from = hypar_model_is_path(*model) ? resolve(scratch, source->folder, *model) : *model;
    }
    TRY(hp_in(err, hypar_import(out, from, &options, err), "%s: model", root->key));
    if (batch.value && (*out)->batch != options.batch) {
        hp_json_fail(&batch, err, "is %lld, but '%s' has %lld", (long long)options.batch,
                     *model, (long long)(*out)->batch);
        return HYPAR_INFEASIBLE;
    }
    return check_hash(*out, *model, root, err);
}

static enum hypar_status read_machine(struct hypar_machine **out, const struct json *root,
                                      const struct source *source, struct arena *scratch,
                                      const char **word, struct hypar_error *err)
{
    struct json at = hp_json_member(root, "machine");
    const char *from = source->options->machine;
    *word = from;
    if (source->machine) {
        *out = source->machine;
        return at.value ? read_text(root, "machine", word, err) : HYPAR_OK;
    }
    if (!from && hp_json_is_object(&at))
        return hp_machine_read_json(out, &at, err);
    enum hypar_status status = HYPAR_OK;
    if (!from) {
        TRY(read_text(root, "machine", word, err));
        bool path = hp_machine_may_be_path(*word);
        from = path ? resolve(scratch, source->folder, *word) : *word;
        char site[HYPAR_PLACE_BYTES];
        if (path && access(from, F_OK) != 0 && hp_site_find(HYPAR_SITE_MACHINES, *word, site)) {
            from = *word;
            path = false;
        }
        if (path && source->options->reads)
            status = source->options->reads(source->options->who, from, err);
    }
    if (status == HYPAR_OK)
        status = hypar_machine_read(out, from, err);
    return hp_in(err, status, "%s: machine", root->key);
}

/* Gradients have the parameters' precision, or fp32 if that is longer; -1: the file does not
 * say which. */
static enum hypar_status set_gradients(struct hypar_plan_settings *settings,
                                       const struct json *root, int gradients,
                                       struct hypar_error *err)
{
    struct json at = hp_json_member(root, "gradient_precision");
    if (gradients < 0) {
        settings->fp32_gradients =
            hp_usual_fp32_gradients(settings->precision, &settings->simulation.framework);
        return HYPAR_OK;
    }
    settings->fp32_gradients = gradients == HYPAR_FP32;
    if ((int)hp_gradient_precision(settings->precision, settings->fp32_gradients) != gradients)
        return hp_json_fail(&at, err, "gradients of %s parameters cannot be %s",
                            hypar_precision_text(settings->precision),
                            hp_precision_names[gradients]);
    return HYPAR_OK;
}

/* Read the framework, and apply its defaults. */
static enum hypar_status read_framework(struct hypar_plan_settings *settings,
                                        const struct json *root, const struct source *source,
                                        struct arena *scratch, struct hypar_error *err)
{
    struct json at = hp_json_member(root, "as");
    struct hypar_framework *framework = &settings->simulation.framework;
    if (at.value)
        TRY(hp_read_framework(scratch, &at, framework, err));
    TRY(hp_read_simulation(root, &settings->simulation, err));
    if (source->options->framework)
        *framework = *source->options->framework;
    settings->masks = framework->keeps_masks ? HYPAR_MASKS_KEPT : HYPAR_MASKS_DRAWN;
    return HYPAR_OK;
}

static enum hypar_status read_settings(struct hypar_plan_settings *settings,
                                       const struct json *root, const struct source *source,
                                       struct arena *scratch, struct hypar_error *err)
{
    int gradients = -1;
    TRY(read_framework(settings, root, source, scratch, err));
    TRY(hp_json_format(root, "hypar-plan/1", err));
    TRY(HP_JSON_READ(
        root, err, JSON_KEY("format"), JSON_KEY("model"), JSON_KEY("graph_hash"),
        JSON_KEY("batch"), JSON_KEY("freeze"), JSON_KEY("machine"),
        JSON_CHOICE("?precision", &settings->precision, hp_precision_names,
                    HYPAR_PRECISION_COUNT),
        JSON_CHOICE("?gradient_precision", &gradients, hp_precision_names,
                    HYPAR_PRECISION_COUNT),
        JSON_CHOICE("?optimizer", &settings->optimizer, hp_optimizer_names,
                    HYPAR_OPTIMIZER_COUNT),
        JSON_CHOICE("?dropout_masks", &settings->masks, hp_masks_names, HYPAR_MASKS_COUNT),
        JSON_NUMBER("?framework_memory_bytes", &settings->framework_bytes, 0, 1e15),
        JSON_NUMBER("?memory_limit_bytes", &settings->memory_limit_bytes, 1, 1e15),
        JSON_INT("?seed", &settings->seed, 0, HYPAR_MAX_SEED),
        JSON_NUMBER("?clip", &settings->clip, 0, DBL_MAX), JSON_KEY("gather_ahead"),
        JSON_CHOICE("?recompute", &settings->recompute, hp_recompute_names,
                    HYPAR_RECOMPUTE_COUNT),
        JSON_KEY("ops"), JSON_KEY("stages"), JSON_KEY("schedule"), JSON_KEY("simulation"),
        JSON_KEY("search"), JSON_KEY("layout"), JSON_KEY("as")));
    return set_gradients(settings, root, gradients, err);
}

static enum hypar_status fill(struct hypar_plan *plan, const struct json *root,
                              struct arena *scratch, struct hypar_error *err)
{
    TRY(hp_read_layout(plan, root, err));
    TRY(hp_read_schedule(plan, root, scratch, err));
    TRY(HP_JSON_READ(root, err,
                     JSON_WHOLE("?gather_ahead", &plan->gather_ahead, 0, HP_MAX_GATHER_AHEAD),
                     JSON_OTHERS));
    TRY(hp_read_stages(plan, root, scratch, err));
    TRY(hp_read_ops(plan, root, scratch, err));
    TRY(hypar_plan_check(plan, err));
    return hp_read_search(plan, root, err);
}

static enum hypar_status read_plan(struct hypar_plan **out, const struct json *root,
                                   const struct source *source, struct arena *scratch,
                                   struct hypar_error *err)
{
    struct hypar_plan_settings settings = { 0 }; /* every choice counts from the default */
    struct hypar_graph *graph = source->graph;
    struct hypar_machine *machine = source->machine;
    enum hypar_status status = read_settings(&settings, root, source, scratch, err);
    if (status == HYPAR_OK) /* first: "no", of the graph, is an answer and may be written */
        status = read_machine(&machine, root, source, scratch, &settings.machine_word, err);
    if (status == HYPAR_OK)
        status = read_graph(&graph, root, source, scratch, &settings.simulation.framework,
                            &settings.model, err);
    if (status != HYPAR_OK) {
        hypar_graph_free(graph);
        hypar_machine_free(machine);
        return status;
    }
    struct hypar_plan *plan = hp_plan_new(graph, machine, &settings);
    plan->own_graph = graph;
    plan->own_machine = machine;
    status = fill(plan, root, scratch, err);
    if (status == HYPAR_INFEASIBLE) /* others name their place in the file themselves */
        hp_in(err, status, "%s", root->key);
    if (status == HYPAR_OK)
        *out = plan;
    else
        hypar_plan_free(plan);
    return status;
}

enum hypar_status hp_plan_read_json(struct hypar_plan **out, const struct json *at,
                                    struct hypar_graph *graph, struct hypar_machine *machine,
                                    struct hypar_error *err)
{
    static const struct hypar_plan_read_options defaults = { 0 };
    struct source source = { "", &defaults, graph, machine };
    struct arena scratch = { 0 };
    *out = NULL;
    enum hypar_status status = read_plan(out, at, &source, &scratch, err);
    hp_arena_free(&scratch);
    return status;
}

static enum hypar_status read_document(struct hypar_plan **out,
                                       const struct json_document *document, const char *folder,
                                       const struct hypar_plan_read_options *options,
                                       struct hypar_error *err)
{
    static const struct hypar_plan_read_options defaults = { 0 };
    struct source source = { folder, options ? options : &defaults, NULL, NULL };
    struct json root = hp_json_root(document);
    struct arena scratch = { 0 };
    enum hypar_status status = read_plan(out, &root, &source, &scratch, err);
    hp_arena_free(&scratch);
    return status;
}

enum hypar_status hypar_plan_read(struct hypar_plan **out, const char *path,
                                  const struct hypar_plan_read_options *options,
                                  struct hypar_error *err)
{
    struct json_document *document;
    char folder[HYPAR_PLACE_BYTES];
    *out = NULL;
    TRY(hp_json_read_file(&document, path, err));
    hypar_file_folder(path, folder);
    enum hypar_status status = read_document(out, document, folder, options, err);
    hp_json_free(document);
    return status;
}

enum hypar_status hp_plan_read_text(struct hypar_plan **out, const char *text, size_t length,
                                    const char *name,
                                    const struct hypar_plan_read_options *options,
                                    struct hypar_error *err)
{
    struct json_document *document;
    *out = NULL;
    TRY(hp_json_read_text(&document, text, length, name, err));
    enum hypar_status status = read_document(out, document, "", options, err);
    hp_json_free(document);
    return status;
}
