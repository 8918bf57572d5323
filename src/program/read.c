/* Reading a lowered program: the plan in the file is lowered again, and the result must equal
 * the file. */
#include "base/files/json.h"
#include "machine/machine.h"
#include "model/model.h"
#include "program/blocks.h"

static enum hypar_status read_options(const struct json *root, struct hypar_lower_options *out,
                                      struct hypar_error *err)
{
    static const char *const members[] = { "bucket_bytes", "local_bn", "minibatches", "forward",
                                           NULL };
    struct json all = hp_json_member(root, "lower");
    TRY(hp_json_object(&all, err));
    TRY(hp_json_only(&all, members, err));
    struct json at = hp_json_member(&all, "bucket_bytes");
    TRY(hp_json_number(&at, 0, 1e18, &out->bucket_bytes, err));
    at = hp_json_member(&all, "local_bn");
    TRY(hp_json_bool(&at, &out->local_bn, err));
    at = hp_json_member(&all, "minibatches");
    TRY(hp_json_int(&at, 0, INT32_MAX, &out->minibatches, err));
    at = hp_json_member(&all, "forward");
    return at.value ? hp_json_bool(&at, &out->forward, err) : HYPAR_OK;
}

static enum hypar_status read_plan(struct hypar_plan **out, const struct json *root,
                                   struct hypar_error *err)
{
    struct json machine_at = hp_json_member(root, "machine");
    struct json graph_at = hp_json_member(root, "graph");
    struct json plan_at = hp_json_member(root, "plan");
    struct hypar_machine *machine;
    struct hypar_graph *graph;
    TRY(hp_machine_read_json(&machine, &machine_at, err));
    enum hypar_status status = hp_graph_read_json(&graph, &graph_at, err);
    if (status != HYPAR_OK) {
        hypar_machine_free(machine);
        return status;
    }
    return hp_plan_read_json(out, &plan_at, graph, machine, err);
}

static void write_again(struct json_writer *w, const void *program)
{
    hp_program_write_json(w, program);
}

/* Does the file equal the program? */
static enum hypar_status check_same(const struct hypar_program *program,
                                    const struct json *root, struct hypar_error *err)
{
    struct json_document *document;
    TRY(hp_json_read_written(&document, write_again, program, err));
    struct json again = hp_json_root(document);
    enum hypar_status status = hp_json_same(root, &again, " by the file's own plan", err);
    hp_json_free(document);
    return status;
}

enum hypar_status hp_program_read_json(struct hypar_program **out, const struct json *root,
                                       struct hypar_error *err)
{
    static const char *const members[] = { "format", "form",     "plan",   "graph", "machine",
                                           "lower",  "schedule", "bodies", "tail",  NULL };
    struct hypar_lower_options options = { 0 };
    struct hypar_plan *plan;
    *out = NULL;
    TRY(hp_json_only(root, members, err));
    TRY(read_options(root, &options, err));
    enum hypar_status status = read_plan(&plan, root, err);
    if (status !=
        HYPAR_OK) /* an error of the plan is reported without the program's file name */
        return status == HYPAR_INFEASIBLE ? hp_in(err, status, "%s", root->key) : status;
    struct hypar_program *program;
    status = hypar_lower(&program, plan, &options, err);
    if (status != HYPAR_OK) {
        hypar_plan_free(plan);
        return hp_in(err, status, "%s", root->key);
    }
    program->own_plan = plan;
    status = check_same(program, root, err);
    if (status == HYPAR_OK)
        *out = program;
    else
        hypar_program_free(program);
    return status;
}
