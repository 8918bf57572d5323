/* A program: its tasks, and what moves. */
#include "program/program.h"

#include <hypar/report.h>

#include "base/json.h"
#include "report/columns.h"
#include "report/put.h"

struct by_kind {
    int64_t count[COMM_KIND_COUNT];
    double bytes[COMM_KIND_COUNT];
};

static void count_kinds(const struct hypar_program *p, struct by_kind *out)
{
    for (int i = 0; i < p->n_tasks; i++) {
        if (p->task[i].kind != TASK_COMM)
            continue;
        double times = hp_task_times(p, i);
        enum comm_kind kind = hp_task_comm(p, i)->kind;
        if (p->task[i].bucket < 0 || p->task[i].bucket == i) /* a bucket is one message */
            out->count[kind] += (int64_t)(times * p->iteration->n_batches + .5);
        out->bytes[kind] += times * hp_task_bytes(p, i);
    }
}

static void program_json(FILE *to, const struct hypar_program *p)
{
    struct json_writer w = { .file = to };
    struct hypar_program_totals t = hypar_program_totals(p);
    struct by_kind kinds = { 0 };
    struct arena arena = { 0 };
    double *bytes = NEW(&arena, double, p->plan->graph->n_ops);
    hypar_program_op_bytes(p, bytes);
    count_kinds(p, &kinds);
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "model", hypar_plan_model(p->plan));
    hp_json_put_int(&w, "tasks", t.tasks);
    hp_json_put_int(&w, "compute_tasks", t.compute);
    hp_json_put_int(&w, "comm_tasks", t.comm);
    hp_json_put_int(&w, "update_tasks", t.update);
    hp_json_put_int(&w, "micro_batches", t.micro_batches);
    if (t.minibatches)
        hp_json_put_int(&w, "minibatches", t.minibatches);
    hp_json_put_number(&w, "comm_bytes", t.comm_bytes);
    hp_json_put_number(&w, "forward_bytes", t.forward_bytes);
    hp_json_put_number(&w, "backward_bytes", t.backward_bytes);
    hp_json_put_number(&w, "gradient_bytes", t.gradient_bytes);
    hp_json_put_number(&w, "loss_bytes", t.loss_bytes);
    if (t.parameter_bytes > 0)
        hp_json_put_number(&w, "parameter_bytes", t.parameter_bytes);
    hp_json_begin_array(&w, "comms", false);
    for (int k = 0; k < COMM_KIND_COUNT; k++)
        if (kinds.count[k]) {
            hp_json_begin_object(&w, NULL, true);
            hp_json_put_string(&w, "kind", hp_comm_text((enum comm_kind)k));
            hp_json_put_int(&w, "count", kinds.count[k]);
            hp_json_put_number(&w, "bytes", kinds.bytes[k]);
            hp_json_end_object(&w);
        }
    hp_json_end_array(&w);
    hp_json_begin_array(&w, "ops", false);
    for (int op = 0; op < p->plan->graph->n_ops; op++)
        if (bytes[op] > 0) {
            hp_json_begin_object(&w, NULL, true);
            hp_json_put_string(&w, "name", hypar_graph_op_name(p->plan->graph, op));
            hp_json_put_number(&w, "bytes", bytes[op]);
            hp_json_end_object(&w);
        }
    hp_json_end_array(&w);
    hp_json_end_object(&w);
    hp_arena_free(&arena);
}

/* The operators whose tensors move most. */
static void busiest(FILE *to, struct arena *arena, const struct hypar_program *p,
                    const char *sent)
{
    enum { SHOWN = 10 };
    int n_ops = p->plan->graph->n_ops;
    double *bytes = NEW(arena, double, n_ops);
    struct columns table = { .align = "llr" };
    hp_cell(&table, arena, "operator");
    hp_cell(&table, arena, "%s", "");
    hp_cell(&table, arena, "%s", sent);
    hypar_program_op_bytes(p, bytes);
    int shown = 0;
    for (; shown < SHOWN; shown++) {
        int most = 0;
        for (int op = 1; op < n_ops; op++)
            most = bytes[op] > bytes[most] ? op : most;
        if (!(bytes[most] > 0))
            break;
        hp_cell(&table, arena, "%s", hypar_graph_op_name(p->plan->graph, most));
        hp_cell(&table, arena, "%s", hypar_graph_op_kind(p->plan->graph, most));
        hp_quantity_cell(&table, arena, bytes[most], HYPAR_UNIT_BYTES);
        bytes[most] = 0;
    }
    if (shown)
        hp_columns_print(&table, to);
}

static void program_text(FILE *to, const struct hypar_program *p)
{
    struct arena arena = { 0 };
    struct hypar_program_totals t = hypar_program_totals(p);
    struct by_kind kinds = { 0 };
    struct columns table = { .align = "lrr" };
    char n[32], devices[64], micro[64], tasks[64];
    count_kinds(p, &kinds);
    fprintf(
        to, "%s, batch %lld, on %s, %s: %s\n\n", hp_model_words(&arena, p->plan),
        (long long)p->plan->graph->batch,
        hp_count(devices, hypar_machine_device_count(p->plan->machine), "device", "devices"),
        t.minibatches ? hp_count(micro, t.minibatches, "minibatch", "minibatches")
                      : hp_count(micro, t.micro_batches, "micro-batch", "micro-batches"),
        hp_count(tasks, t.tasks, "task", "tasks"));
    const struct {
        const char *what;
        long long count;
        double bytes;
    } rows[] = { { "computations", t.compute, 0 }, { "updates", t.update, 0 } };
    hp_cell(&table, &arena, "tasks");
    hp_cell(&table, &arena, "number");
    const char *sent = t.minibatches ? "sent for each minibatch" : "bytes sent";
    hp_cell(&table, &arena, "%s", sent);
    for (int i = 0; i < 2; i++) {
        hp_cell(&table, &arena, "%s", rows[i].what);
        hp_cell(&table, &arena, "%s", hp_thousands(n, rows[i].count));
        hp_cell(&table, &arena, "%s", "");
    }
    for (int k = 0; k < COMM_KIND_COUNT; k++)
        if (kinds.count[k]) {
            hp_cell(&table, &arena, "%s", hp_comm_text((enum comm_kind)k));
            hp_cell(&table, &arena, "%s", hp_thousands(n, kinds.count[k]));
            hp_quantity_cell(&table, &arena, kinds.bytes[k], HYPAR_UNIT_BYTES);
        }
    hp_columns_print(&table, to);
    fputc('\n', to);
    busiest(to, &arena, p, sent);
    fprintf(to, "\n%s sent %s", hp_bytes_text(&arena, t.comm_bytes),
            t.minibatches ? "for each minibatch" : "in all");
    fprintf(to, ": forward %s", hp_bytes_text(&arena, t.forward_bytes));
    fprintf(to, ", backward %s", hp_bytes_text(&arena, t.backward_bytes));
    fprintf(to, ", gradients %s", hp_bytes_text(&arena, t.gradient_bytes));
    fprintf(to, ", loss %s", hp_bytes_text(&arena, t.loss_bytes));
    if (t.parameter_bytes > 0)
        fprintf(to, ", parameters %s", hp_bytes_text(&arena, t.parameter_bytes));
    fprintf(to, "\n");
    hp_arena_free(&arena);
}

void hypar_report_program(FILE *to, const struct hypar_program *program,
                          enum hypar_format format)
{
    if (format == HYPAR_JSON)
        program_json(to, program);
    else
        program_text(to, program);
}
