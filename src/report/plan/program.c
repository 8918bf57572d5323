/* Reports a program: its tasks and its messages. */
#include "program/program.h"

#include <hypar/report.h>

#include <math.h>

#include "report/put.h"

/* The tables of text. Bytes are those of a step, or under pipedream of a minibatch. */
enum { TASKS = 1, OPERATORS = 2, OF_STEP = 4, OF_MINIBATCH = 8 };

/* The tasks of one kind, or an operator. */
struct sent_row {
    const char *tasks, *op, *kind;
    int64_t count; /* -1: of an operator */
    double bytes;
};

#define ROW(member) AT(struct sent_row, member)

static const struct column sent_columns[] = {
    { "tasks", "kind", AS_TEXT, ROW(tasks), LEFT_OUT, .when = TASKS },
    { "operator", "name", AS_TEXT, ROW(op), LEFT_OUT, .when = OPERATORS },
    { "", NULL, AS_TEXT, ROW(kind), .when = OPERATORS },
    { "number", "count", AS_COUNT, ROW(count), LEFT_OUT | IF_KNOWN, .when = TASKS },
    { "bytes sent", "bytes", AS_BYTES, ROW(bytes), BLANK, .when = OF_STEP },
    { "sent for each minibatch", NULL, AS_BYTES, ROW(bytes), BLANK, .when = OF_MINIBATCH },
    { 0 },
};

static void kind_rows(struct table_writer *table, const struct hypar_program *p)
{
    struct sent_row row[COMM_KIND_COUNT] = { 0 };
    for (int i = 0; i < p->n_tasks; i++) {
        if (p->task[i].kind != TASK_COMM)
            continue;
        double times = hp_task_times(p, i);
        enum comm_kind kind = hp_task_comm(p, i)->kind;
        if (p->task[i].bucket < 0 || p->task[i].bucket == i) /* a bucket is one message */
            row[kind].count += (int64_t)(times * p->iteration->n_batches + .5);
        row[kind].bytes += times * hp_task_bytes(p, i);
        row[kind].tasks = hp_comm_text(kind);
    }
    for (int k = 0; k < COMM_KIND_COUNT; k++)
        if (row[k].count)
            hp_table_row(table, &row[k]);
}

static void op_row(struct table_writer *table, const struct hypar_program *p, int op,
                   double bytes)
{
    hp_table_row(table, &(struct sent_row){ .op = p->plan->graph->ops[op].name,
                                            .kind = hp_op_kind(p->plan->graph, op),
                                            .count = -1,
                                            .bytes = bytes });
}

static void program_json(FILE *to, const struct hypar_program *p)
{
    struct json_writer w = { .file = to };
    struct table_writer comms = { .column = sent_columns, .json = &w }, ops = comms;
    struct hypar_program_totals t = hypar_program_totals(p);
    struct arena arena = { 0 };
    double *bytes = NEW(&arena, double, p->plan->graph->n_ops);
    hypar_program_op_bytes(p, bytes);
    hp_json_begin_object(&w, NULL, false);
    PUT(&w, TEXT("model", hypar_plan_model(p->plan)), INT("tasks", t.tasks),
        INT("compute_tasks", t.compute), INT("comm_tasks", t.comm),
        INT("update_tasks", t.update), INT("micro_batches", t.micro_batches),
        ONLY_IF(t.minibatches > 0, INT("minibatches", t.minibatches)),
        NUMBER("comm_bytes", t.comm_bytes), NUMBER("forward_bytes", t.forward_bytes),
        NUMBER("backward_bytes", t.backward_bytes), NUMBER("gradient_bytes", t.gradient_bytes),
        NUMBER("loss_bytes", t.loss_bytes),
        ONLY_IF(t.parameter_bytes > 0, NUMBER("parameter_bytes", t.parameter_bytes)),
        ONLY_IF(t.padding_bytes > 0, NUMBER("padding_bytes", t.padding_bytes)));
    hp_table_begin(&comms, "comms");
    kind_rows(&comms, p);
    hp_table_end(&comms);
    hp_table_begin(&ops, "ops");
    for (int op = 0; op < p->plan->graph->n_ops; op++)
        if (bytes[op] > 0)
            op_row(&ops, p, op, bytes[op]);
    hp_table_end(&ops);
    hp_json_end_object(&w);
    hp_arena_free(&arena);
}

/* The operators whose tensors move most bytes. */
static void busiest(FILE *to, struct arena *arena, const struct hypar_program *p,
                    unsigned shows)
{
    enum { SHOWN = 10 };
    int n_ops = p->plan->graph->n_ops;
    double *bytes = NEW(arena, double, n_ops);
    struct table_writer table = { .column = sent_columns,
                                  .to = to,
                                  .shows = shows | OPERATORS };
    hypar_program_op_bytes(p, bytes);
    hp_table_begin(&table, NULL);
    for (int i = 0; i < SHOWN; i++) {
        int most = 0;
        for (int op = 1; op < n_ops; op++)
            most = bytes[op] > bytes[most] ? op : most;
        if (!(bytes[most] > 0))
            break;
        op_row(&table, p, most, bytes[most]);
        bytes[most] = 0;
    }
    hp_table_end(&table);
}

static void program_text(FILE *to, const struct hypar_program *p)
{
    struct arena arena = { 0 };
    struct hypar_program_totals t = hypar_program_totals(p);
    unsigned shows = t.minibatches ? OF_MINIBATCH : OF_STEP;
    struct table_writer table = { .column = sent_columns, .to = to, .shows = shows | TASKS };
    fprintf(to, "%s, batch %lld, on %s, %s: %s\n\n", hp_model_words(&arena, p->plan),
            (long long)p->plan->graph->batch,
            hp_count(&arena, hypar_machine_device_count(p->plan->machine), "device"),
            t.minibatches ? hp_count(&arena, t.minibatches, "minibatch")
                          : hp_count(&arena, t.micro_batches, "micro-batch"),
            hp_count(&arena, t.tasks, "task"));
    hp_table_begin(&table, NULL);
    hp_table_row(&table, &(struct sent_row){ "computations", NULL, NULL, t.compute, NAN });
    hp_table_row(&table, &(struct sent_row){ "updates", NULL, NULL, t.update, NAN });
    kind_rows(&table, p);
    hp_table_end(&table);
    fputc('\n', to);
    busiest(to, &arena, p, shows);
    fprintf(to, "\n%s sent %s: forward %s, backward %s, gradients %s, loss %s",
            hp_bytes_text(&arena, t.comm_bytes),
            t.minibatches ? "for each minibatch" : "in all",
            hp_bytes_text(&arena, t.forward_bytes), hp_bytes_text(&arena, t.backward_bytes),
            hp_bytes_text(&arena, t.gradient_bytes), hp_bytes_text(&arena, t.loss_bytes));
    if (t.parameter_bytes > 0)
        fprintf(to, ", parameters %s", hp_bytes_text(&arena, t.parameter_bytes));
    if (t.padding_bytes > 0)
        fprintf(to, "; padding among these %s", hp_bytes_text(&arena, t.padding_bytes));
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
