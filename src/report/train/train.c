/* Reports a training run: its steps, and the measured and predicted figures. */
#include <hypar/report.h>

#include <math.h>

#include "base/files/json.h"
#include "plan/plan.h"
#include "report/columns.h"
#include "report/put.h"
#include "report/train/measured_step.h"

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
    char rate[32], left[32], steps[48];
    bool first = step->since == step->first;
    if (first)
        print_head(to, step);
    if (!first && !any_round(step->since - 1, step->step) && step->step != step->steps)
        return;
    snprintf(steps, sizeof steps, "%lld", (long long)step->step);
    if (step->since < step->step)
        snprintf(steps, sizeof steps, "%lld-%lld", (long long)step->since,
                 (long long)step->step);
    fprintf(to, "%5s/%-6lld  %12.6g  %14s  %10s\n", steps, (long long)step->steps, step->loss,
            hp_metric(rate, (double)batch / step->seconds),
            hypar_format_quantity(left, step->seconds * (double)(step->steps - step->step),
                                  HYPAR_UNIT_SECONDS));
}

void hypar_report_train_step(FILE *to, const struct hypar_train_step *step, int64_t batch,
                             enum hypar_format format)
{
    if (format != HYPAR_JSON) {
        print_step(to, step, batch);
        return;
    }
    fprintf(to, "{\"step\": %lld, \"loss\": %.17g, \"seconds\": %.9g}\n", (long long)step->step,
            step->loss, step->seconds);
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

/* The members of a test, without braces. */
static const char *test_members(struct arena *arena, const struct hypar_train_test *t)
{
    const char *loss = hp_arena_printf(
        arena, isfinite(t->loss) ? "\"samples\": %lld, \"loss\": %.17g" : "\"samples\": %lld",
        (long long)t->samples, t->loss);
    const char *accuracy =
        t->accuracy >= 0 ? hp_arena_printf(arena, ", \"accuracy\": %.17g", t->accuracy) : "";
    const char *perplexity =
        t->tokens && isfinite(exp(t->loss))
            ? hp_arena_printf(arena, ", \"perplexity\": %.17g", exp(t->loss))
            : "";
    return hp_arena_printf(arena, "%s%s%s", loss, accuracy, perplexity);
}

void hypar_report_train_test(FILE *to, const struct hypar_train_test *test,
                             enum hypar_format format)
{
    struct arena arena = { 0 };
    char samples[64];
    if (format == HYPAR_JSON)
        fprintf(to, "{\"test_after\": %lld, %s, \"seconds\": %.9g}\n", (long long)test->step,
                test_members(&arena, test), test->seconds);
    else
        fprintf(to, "%5lld/%-6lld  test on %s: %s (%s)\n", (long long)test->step,
                (long long)test->steps, hp_count(samples, test->samples, "sample", "samples"),
                test_text(&arena, test), hp_time_text(&arena, test->seconds));
    hp_arena_free(&arena);
}

static void row(struct columns *table, struct arena *arena, const char *name, double predicted,
                double measured, enum hypar_unit unit)
{
    hp_cell(table, arena, "%s", name);
    if (predicted > 0)
        hp_quantity_cell(table, arena, predicted, unit);
    else
        hp_cell(table, arena, "-");
    hp_quantity_cell(table, arena, measured, unit);
    hp_ratio_cell(table, arena, predicted, measured);
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
    char ranks[64], rate[32];
    int64_t batch = plan->graph->batch;
    hp_count(ranks, r->ranks, "rank", "ranks");
    hp_put_line(to, "%s, batch %lld, %s, on %s: a step takes %s, %s",
                hp_model_words(&arena, plan), (long long)batch,
                hypar_precision_text(plan->precision), ranks, hp_time_text(&arena, r->step_s),
                step_time_text(&arena, r));
    fprintf(to, "%s samples/s, loss %.6g in %s, %.6g in %s\n",
            hp_metric(rate, (double)batch / r->step_s), r->first_loss,
            loss_steps(&arena, r, r->first_step + r->loss_steps), r->last_loss,
            loss_steps(&arena, r, r->steps));
    if (r->test.samples)
        fprintf(to, "test on %s: %s%s\n", hp_count(ranks, r->test.samples, "sample", "samples"),
                test_text(&arena, &r->test),
                r->best_test.step == r->test.step
                    ? ""
                    : hp_arena_printf(&arena, "; best after step %lld: %s",
                                      (long long)r->best_test.step,
                                      test_text(&arena, &r->best_test)));
    fputc('\n', to);
    hp_arena_free(&arena);
}

static void print_table(FILE *to, const struct hypar_train_result *r,
                        const struct hypar_sim_summary *s, const struct truth *truth,
                        double memory, bool detail)
{
    struct arena arena = { 0 };
    struct columns table = { .align = "lrrr" };
    hp_cell(&table, &arena, " ");
    hp_cell(&table, &arena, "predicted");
    hp_cell(&table, &arena, "measured");
    hp_cell(&table, &arena, "ratio");
    /* ranks in one process: phases of one rank do not add up to a step of all */
    bool in_turn = r->in_process && r->ranks > 1;
    row(&table, &arena, in_turn ? "step, mean: all ranks in turn" : "step, mean",
        s ? s->step_s : 0, r->mean_step_s, HYPAR_UNIT_SECONDS);
    if (truth && in_turn)
        for (int c = 0; c < 4; c++)
            hp_cell(&table, &arena, "%s", c == 0 ? "one rank, mean:" : "");
    if (truth)
        hp_phase_rows(&table, &arena, truth);
    row(&table, &arena, "sent in a step", r->program_bytes, r->comm_bytes_per_step,
        HYPAR_UNIT_BYTES);
    row(&table, &arena, "memory of the fullest rank", memory, r->peak_bytes, HYPAR_UNIT_BYTES);
    if (detail) {
        row(&table, &arena, "  the array it lies in", 0, r->memory_bytes, HYPAR_UNIT_BYTES);
        row(&table, &arena, "  for kernels and messages", 0,
            r->workspace_bytes + r->staging_bytes, HYPAR_UNIT_BYTES);
    }
    row(&table, &arena, "  the process, resident", 0, r->process_bytes, HYPAR_UNIT_BYTES);
    hp_columns_print(&table, to);
    hp_arena_free(&arena);
}

static double fullest(const struct hypar_sim *sim, const struct hypar_plan *plan)
{
    double most = 0; /* the largest peak; hypar itself takes it without the framework's
                      * memory */
    for (int d = 0; sim && d < hypar_machine_device_count(hypar_plan_machine(plan)); d++)
        most = fmax(most, hypar_sim_device(sim, d).memory.peak);
    return fmax(0, most - plan->framework_bytes);
}

/* "test": the last and the best test. */
static const char *tests_text(struct arena *arena, const struct hypar_train_result *r)
{
    if (!r->test.samples)
        return "";
    return hp_arena_printf(arena, "\"test\": {%s}, \"best_test\": {\"after\": %lld, %s}, ",
                           test_members(arena, &r->test), (long long)r->best_test.step,
                           test_members(arena, &r->best_test));
}

static void write_json(FILE *to, const struct hypar_train_result *r,
                       const struct hypar_plan *plan, const struct hypar_sim *sim,
                       const struct truth *truth, const struct hypar_sim_summary *s)
{
    double memory = fullest(sim, plan);
    struct arena arena = { 0 };
    fprintf(to,
            "{\"ranks\": %d, \"steps\": %lld, \"first_step\": %lld, \"stopped\": %s, "
            "\"first_loss\": %.17g, \"last_loss\": %.17g, \"step_s\": %.9g, "
            "\"mean_step_s\": %.9g, "
            "%s\"comm_bytes_per_step\": %.17g, \"peak_memory_bytes\": %.17g, "
            "\"memory\": {\"array\": %.17g, \"staging\": %.17g, \"workspace\": %.17g, "
            "\"process\": %.17g}, \"predicted\": "
            "{\"step_s\": %.9g, \"comm_bytes\": %.17g, \"peak_memory_bytes\": %.17g}",
            r->ranks, (long long)r->steps, (long long)r->first_step,
            r->stopped ? "true" : "false", r->first_loss, r->last_loss, r->step_s,
            r->mean_step_s, tests_text(&arena, r), r->comm_bytes_per_step, r->peak_bytes,
            r->memory_bytes, r->staging_bytes, r->workspace_bytes, r->process_bytes,
            s ? s->step_s : 0, r->program_bytes, memory);
    if (truth)
        hp_put_truth(&(struct json_writer){ .file = to, .depth = 1, .flat = { false, true } },
                     truth);
    fputs("}\n", to);
    hp_arena_free(&arena);
}

/* Explain the rows below the step. */
static void explain(FILE *to, const struct truth *truth)
{
    char steps[64];
    fprintf(to, "\nphases, operators and exchanges: mean of ranks, and of %s\n",
            hp_count(steps, truth->n_steps, "step", "steps"));
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
    if (sim)
        step = hypar_sim_summary(sim);
    if (find_truth(&truth, result, sim)) {
        known = &truth;
        step.step_s = truth.step.predicted_s;
    }
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
