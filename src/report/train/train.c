/* Reports a training run: its steps, and the measured and predicted figures. */
#include <hypar/report.h>

#include "plan/memory_terms.h"
#include "report/put.h"
#include "report/train/truth.h"

static bool is_round(int64_t step)
{
    int64_t power = 1;
    while (step / power >= 10)
        power *= 10;
    return step % power == 0;
}

/* Does one of the steps after `before`, up to `last`, have a row because its number is
 * round? */
static bool any_round(int64_t before, int64_t last)
{
    for (int64_t step = before + 1; step <= last; step++)
        if (is_round(step))
            return true;
    return false;
}

/* Do the rows leave out steps? `step` is the first step reported. */
static bool leaves_out(const struct hypar_train_step *step)
{
    int64_t period = step->step - step->since + 1;
    for (int64_t at = step->step; at + period < step->steps; at += period)
        if (!any_round(at, at + period))
            return true;
    return false;
}

static void print_head(FILE *to, const struct hypar_train_step *step)
{
    if (step->since < step->step)
        fprintf(to, "a row is one update of %lld minibatches, and their mean loss\n",
                (long long)(step->step - step->since + 1));
    if (leaves_out(step))
        fputs("rows: steps 1 to 10, 20 .. 100, 200 .. and the last; --json has every step\n",
              to);
    fprintf(to, "%12s  %12s  %14s  %10s\n", "step", "loss", "samples/s", "left");
}

/* Print steps 1 to 10, 20 to 100, 200 to 1,000: fewer and fewer of them, and the last. */
static void print_step(FILE *to, const struct hypar_train_step *step, int64_t batch)
{
    struct arena arena = { 0 };
    bool first = step->since == step->first;
    if (first)
        print_head(to, step);
    if (!first && !any_round(step->since - 1, step->step) && step->step != step->steps)
        return;
    const char *steps = hp_arena_printf(&arena, "%lld", (long long)step->step);
    if (step->since < step->step)
        steps = hp_arena_printf(&arena, "%lld-%s", (long long)step->since, steps);
    fprintf(to, "%5s/%-6lld  %12.6g  %14s  %10s\n", steps, (long long)step->steps, step->loss,
            hp_metric(&arena, (double)batch / step->seconds),
            hp_time_text(&arena, step->seconds * (double)(step->steps - step->step)));
    hp_arena_free(&arena);
}

void hypar_report_train_step(FILE *to, const struct hypar_train_step *step, int64_t batch,
                             enum hypar_format format)
{
    if (format != HYPAR_JSON) {
        print_step(to, step, batch);
        return;
    }
    PUT_OBJECT(&(struct json_writer){ .file = to }, NULL, true, INT("step", step->step),
               NUMBER("loss", step->loss), NUMBER("seconds", step->seconds));
}

/* "loss 0.123, 97.31 % right", "loss 3.2, perplexity 24.5", or only the loss. */
static const char *test_text(struct arena *arena, const struct hypar_train_test *t)
{
    if (t->tokens)
        return hp_arena_printf(arena, "loss %.6g, perplexity %.6g, %.2f %% of tokens right",
                               t->loss, exp(t->loss), 100 * t->accuracy);
    if (t->accuracy >= 0)
        return hp_arena_printf(arena, "loss %.6g, %.2f %% right", t->loss, 100 * t->accuracy);
    return hp_arena_printf(arena, "loss %.6g", t->loss);
}

/* Write the members of a test. `after`: the key of its step; NULL: not written. */
static void put_test(struct json_writer *w, const char *key, const char *after,
                     const struct hypar_train_test *t)
{
    double perplexity = t->tokens ? exp(t->loss) : NAN;
    hp_json_begin_object(w, key, true);
    PUT(w, ONLY_IF(after, INT(after, t->step)), INT("samples", t->samples),
        ONLY_IF(isfinite(t->loss), NUMBER("loss", t->loss)),
        ONLY_IF(t->accuracy >= 0, NUMBER("accuracy", t->accuracy)),
        ONLY_IF(isfinite(perplexity), NUMBER("perplexity", perplexity)),
        ONLY_IF(!key, NUMBER("seconds", t->seconds)));
    hp_json_end_object(w);
}

void hypar_report_train_test(FILE *to, const struct hypar_train_test *test,
                             enum hypar_format format)
{
    struct arena arena = { 0 };
    if (format == HYPAR_JSON)
        put_test(&(struct json_writer){ .file = to }, NULL, "test_after", test);
    else
        fprintf(to, "%5lld/%-6lld  test on %s: %s (%s)\n", (long long)test->step,
                (long long)test->steps, hp_count(&arena, test->samples, "sample"),
                test_text(&arena, test), hp_time_text(&arena, test->seconds));
    hp_arena_free(&arena);
}

/* "step 1" or "steps 1 to 3": the steps of the loss reported after step `last`. */
static const char *loss_steps(struct arena *arena, const struct hypar_train_result *r,
                              int64_t last)
{
    if (r->loss_steps <= 1)
        return hp_arena_printf(arena, "step %lld", (long long)last);
    return hp_arena_printf(arena, "steps %lld to %lld", (long long)(last - r->loss_steps + 1),
                           (long long)last);
}

/* The meaning of the headline's step time. */
static const char *step_time_text(struct arena *arena, const struct hypar_train_result *r)
{
    if (r->minibatches && r->n_timed == 1)
        return hp_arena_printf(arena,
                               "the mean of one window of %d minibatches, with its fill and "
                               "drain",
                               r->minibatches);
    return r->minibatches
               ? hp_arena_printf(arena, "the median of %lld windows", (long long)r->n_timed)
               : "the median";
}

static void headline(FILE *to, const struct hypar_train_result *r,
                     const struct hypar_plan *plan)
{
    struct arena arena = { 0 };
    int64_t batch = plan->graph->batch;
    const char *ranks = hp_count(&arena, r->ranks, "rank");
    hp_put_line(to, "%s, batch %lld, %s, on %s: a step takes %s, %s",
                hp_model_words(&arena, plan), (long long)batch,
                hypar_precision_text(plan->precision), ranks, hp_time_text(&arena, r->step_s),
                step_time_text(&arena, r));
    fprintf(to, "%s samples/s, loss %.6g in %s, %.6g in %s\n",
            hp_metric(&arena, (double)batch / r->step_s), r->first_loss,
            loss_steps(&arena, r, r->first_step + r->loss_steps), r->last_loss,
            loss_steps(&arena, r, r->steps));
    if (r->test.samples)
        fprintf(to, "test on %s: %s%s\n", hp_count(&arena, r->test.samples, "sample"),
                test_text(&arena, &r->test),
                r->best_test.step == r->test.step
                    ? ""
                    : hp_arena_printf(&arena, "; best after step %lld: %s",
                                      (long long)r->best_test.step,
                                      test_text(&arena, &r->best_test)));
    fputc('\n', to);
    hp_arena_free(&arena);
}

/* Add a row of bytes; predicted 0: none. */
static void byte_row(struct table_writer *table, struct arena *arena, const char *label,
                     double predicted, double measured)
{
    hp_table_row(table, &(struct truth_line){
                            .label = label,
                            .predicted = predicted > 0 ? hp_bytes_text(arena, predicted) : NULL,
                            .measured = hp_bytes_text(arena, measured),
                            .ratio = predicted > 0 ? measured / predicted : NAN });
}

static void print_table(FILE *to, const struct hypar_train_result *r,
                        const struct hypar_sim_summary *s, const struct truth *truth,
                        double memory, bool detail)
{
    struct arena arena = { 0 };
    struct table_writer table = { .column = hp_truth_columns, .to = to, .shows = TRUTH_OF_RUN };
    /* ranks in one process take turns: their step is not the one that is predicted, and phases
     * of one rank do not add up to it */
    bool in_turn = r->in_process && r->ranks > 1;
    double predicted_s = s && !in_turn ? s->step_s : 0;
    hp_table_begin(&table, NULL);
    hp_table_row(&table,
                 &(struct truth_line){
                     .label = in_turn ? "step, mean: all ranks in turn" : "step, mean",
                     .predicted = predicted_s > 0 ? hp_time_text(&arena, predicted_s) : NULL,
                     .measured = hp_time_text(&arena, r->mean_step_s),
                     .ratio = predicted_s > 0 ? r->mean_step_s / predicted_s : NAN });
    if (truth && in_turn)
        hp_table_row(&table, &(struct truth_line){ .label = "one rank, mean:", .ratio = NAN });
    if (truth)
        hp_phase_rows(&table, &arena, truth);
    byte_row(&table, &arena, "sent in a step", r->program_bytes, r->comm_bytes_per_step);
    byte_row(&table, &arena, "memory of the fullest rank", memory, r->peak_bytes);
    if (detail) {
        byte_row(&table, &arena, "  the array it lies in", 0, r->memory_bytes);
        byte_row(&table, &arena, "  for kernels and messages", 0,
                 r->workspace_bytes + r->staging_bytes);
    }
    byte_row(&table, &arena, "  the process, resident", 0, r->process_bytes);
    hp_table_end(&table);
    hp_arena_free(&arena);
}

static double fullest(const struct hypar_sim *sim, const struct hypar_plan *plan)
{
    double most = 0; /* hypar itself takes no more than the tensors */
    for (int d = 0; sim && d < hypar_machine_device_count(hypar_plan_machine(plan)); d++) {
        struct hypar_memory memory = hypar_sim_device(sim, d).memory;
        most = fmax(most, hp_tensor_bytes(&memory));
    }
    return most;
}

static void write_json(FILE *to, const struct hypar_train_result *r,
                       const struct hypar_plan *plan, const struct hypar_sim *sim,
                       struct truth *truth, const struct hypar_sim_summary *s)
{
    struct json_writer w = { .file = to };
    hp_json_begin_object(&w, NULL, true);
    PUT(&w, INT("ranks", r->ranks), INT("steps", r->steps), INT("first_step", r->first_step),
        FLAG("stopped", r->stopped), NUMBER("first_loss", r->first_loss),
        NUMBER("last_loss", r->last_loss), NUMBER("step_s", r->step_s),
        NUMBER("mean_step_s", r->mean_step_s));
    if (r->test.samples) {
        put_test(&w, "test", NULL, &r->test);
        put_test(&w, "best_test", "after", &r->best_test);
    }
    PUT(&w, NUMBER("comm_bytes_per_step", r->comm_bytes_per_step),
        NUMBER("peak_memory_bytes", r->peak_bytes));
    PUT_OBJECT(&w, "memory", true, NUMBER("array", r->memory_bytes),
               NUMBER("staging", r->staging_bytes), NUMBER("workspace", r->workspace_bytes),
               NUMBER("process", r->process_bytes));
    PUT_OBJECT(&w, "predicted", true, NUMBER("step_s", s ? s->step_s : 0),
               NUMBER("comm_bytes", r->program_bytes),
               NUMBER("peak_memory_bytes", fullest(sim, plan)));
    if (truth)
        hp_put_truth(&w, truth);
    hp_json_end_object(&w);
}

/* Explain the rows below the step. */
static void explain(FILE *to, const struct truth *truth)
{
    struct arena arena = { 0 };
    fprintf(to, "\nphases, operators and exchanges: mean of ranks, and of %s\n",
            hp_count(&arena, truth->n_steps, "step"));
    hp_arena_free(&arena);
    if (truth->in_turn)
        hp_put_line(to, "ranks took turns in this process: a step is all of them, and nothing "
                        "is told of waiting");
    else if (truth->exchange.n)
        hp_put_line(to, "an exchange lasts until a rank takes it, which may be computing "
                        "meanwhile: they overlap, and do not add up to a step");
}

/* Compare task by task, if the simulation has the tasks of the run. */
static bool find_truth(struct truth *out, const struct hypar_train_result *result,
                       const struct hypar_sim *sim)
{
    struct hypar_sim_event e;
    struct hypar_measured_step *measured = sim ? hp_measured_of(result) : NULL;
    bool found = false;
    if (measured && hypar_sim_event(sim, 0, &e)) {
        found = hp_truth_make(out, measured, sim, NULL) == HYPAR_OK;
        if (!found)
            hp_truth_free(out);
    }
    hypar_measured_step_free(measured);
    return found;
}

void hypar_report_train(FILE *to, const struct hypar_train_result *result,
                        const struct hypar_plan *plan, const struct hypar_sim *sim, bool detail,
                        enum hypar_format format)
{
    struct hypar_sim_summary step;
    struct truth truth, *known = NULL;
    if (sim) {
        step = hypar_sim_summary(sim);
        step.step_s = hp_run_step_s(sim);
    }
    if (find_truth(&truth, result, sim))
        known = &truth;
    if (format == HYPAR_JSON) {
        write_json(to, result, plan, sim, known, sim ? &step : NULL);
    } else {
        headline(to, result, plan);
        print_table(to, result, sim ? &step : NULL, known, fullest(sim, plan), detail);
        if (known) {
            hp_print_truth_rows(to, known, detail);
            explain(to, known);
        }
    }
    if (known)
        hp_truth_free(known);
}
