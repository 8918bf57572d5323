/* Training: makes the executors of this process and runs steps, tests and checkpoints, on all
 * ranks alike. fill.c fills their arrays. */
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/sort.h"
#include "plan/schedules.h"
#include "run/measure.h"
#include "run/trainer.h"

/* Preparing -------------------------------------------------------------------------- */

static bool on_card(const struct hypar_train_options *o)
{
    return o->device && strcmp(o->device, "cuda") == 0;
}

static enum hypar_status find_real(struct trainer *t, struct hypar_error *err)
{
    enum hypar_precision precision = t->plan->precision;
    bool tf32 = precision == HYPAR_TF32 && on_card(t->options);
    t->real = precision == HYPAR_FP64 ? REAL_F64 : REAL_F32;
    t->narrow = precision == HYPAR_BF16;
    if (precision != HYPAR_FP32 && precision != HYPAR_FP64 && !t->narrow && !tf32)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "precision %s cannot be run: bf16, fp32%s and fp64 can",
                       hypar_precision_text(precision), on_card(t->options) ? ", tf32" : "");
    return HYPAR_OK;
}

/* The devices of this process: one if there are several ranks, else all. */
static enum hypar_status find_devices(struct trainer *t, struct hypar_ranks *ranks,
                                      struct hypar_error *err)
{
    t->n_devices = hypar_machine_device_count(hypar_plan_machine(t->plan));
    t->rank = hypar_ranks_rank(ranks);
    t->n_ranks = hypar_ranks_count(ranks);
    if (hypar_ranks_launched() && t->n_ranks != t->n_devices) {
        char why[160] = "one for each";
        if (t->n_ranks == 1)
            hypar_ranks_apart(why, sizeof why);
        return hp_fail(err, HYPAR_INFEASIBLE, "there %s %d %s, and the plan has %d devices: %s",
                       t->n_ranks == 1 ? "is" : "are", t->n_ranks,
                       t->n_ranks == 1 ? "rank" : "ranks", t->n_devices, why);
    }
    t->first_device = t->n_ranks > 1 ? t->rank : 0;
    t->n_here = t->n_ranks > 1 ? 1 : t->n_devices;
    if (t->n_ranks > 1) {
        enum { OWN_TAGS = 5 };
        t->control = hp_ranks_transport(ranks);
        t->control.most_tags -= OWN_TAGS;
        t->tag_loss = t->control.most_tags;
        t->tag_word = t->tag_loss + 1;
        t->tag_save = t->tag_word + 1;
        t->tag_trace = t->tag_save + 1;
        t->tag_test = t->tag_trace + 1;
    } else {
        t->network = hp_local_new(t->n_devices);
    }
    return HYPAR_OK;
}

/* The steps of a window: under pipedream the pipeline is empty before and after a window.
 * Windows have equal lengths, unless a step to save or to test ends one earlier. */
static int64_t window_of(const struct trainer *t)
{
    enum { MOST = 64 };
    int64_t every[] = { t->options->checkpoint_every, t->options->test_every };
    int64_t left = t->options->steps - t->first_step, most = MOST;
    for (int i = 0; i < 2; i++)
        most = every[i] > 0 && every[i] < most ? every[i] : most;
    if (left <= most)
        return left < 1 ? 1 : left;
    int64_t windows = (left + most - 1) / most;
    return every[0] > 0 || every[1] > 0 ? most : (left + windows - 1) / windows;
}

/* Opaque operators can be simulated, but have no kernels. */
static enum hypar_status check_kernels(const struct hypar_graph *g, struct hypar_error *err)
{
    for (int i = 0; i < g->n_ops; i++)
        if (!hp_kernel_exists(g->ops[i].kind))
            return hp_fail(err, HYPAR_UNSUPPORTED, "%s '%s' cannot be run: it has no kernel",
                           hp_op[g->ops[i].kind].name, g->ops[i].name);
    return HYPAR_OK;
}

static enum hypar_status lower(struct trainer *t, struct hypar_error *err)
{
    const struct hypar_simulation *how = &t->plan->simulation;
    struct hypar_lower_options options = { .bucket_bytes = how->framework.bucket_bytes,
                                           .local_bn = how->local_bn,
                                           .minibatches = window_of(t) };
    TRY(check_kernels(t->graph, err));
    return hypar_lower(&t->program, t->plan, &options, err);
}

int hp_loss_device(const struct trainer *t, const struct hypar_program *program)
{
    const struct training_graph *k = &program->lowering->training;
    int first = t->n_devices;
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_tail; d++) {
        if (k->exchange[d].place.grad || k->exchange[d].place.tensor != t->graph->loss)
            continue;
        const struct cell *cell = hp_exchange_pattern(program->lowering, 0, d)->cell;
        if (cell->n_receivers && cell->receiver[0] < first)
            first = cell->receiver[0];
        if (cell->n_kept && cell->kept[0] < first)
            first = cell->kept[0];
    }
    return first;
}

/* The cards of a machine serve its ranks in turn. */
static enum hypar_status open_backend(struct trainer *t, struct hypar_error *err)
{
    const struct hypar_train_options *o = t->options;
    const struct kernels *kernels;
    bool cuda = on_card(o);
    if (o->device && !cuda && strcmp(o->device, "cpu") != 0)
        return hp_fail(err, HYPAR_USAGE, "unknown device '%s', expected cpu or cuda",
                       o->device);
    TRY(hp_kernels_open(&kernels, cuda ? "reference" : o->kernels, err));
    hp_kernels_threads(o->threads ? o->threads : 1);
    if (!cuda) {
        t->backend = hp_host_backend(kernels);
        return HYPAR_OK;
    }
    int cards = hypar_cards(NULL, 0);
    TRY(hp_cuda_backend(&t->backend, cards > 0 ? t->rank % cards : 0, kernels, err));
    if (t->plan->precision == HYPAR_TF32)
        hp_cuda_backend_tf32(&t->backend);
    return HYPAR_OK;
}

static enum hypar_status make_executors(struct trainer *t, struct hypar_error *err)
{
    const struct hypar_train_options *o = t->options;
    struct executor_settings settings = {
        .backend = &t->backend,
        .real = t->real,
        .narrow = t->narrow,
        .optimizer = t->optimizer,
        .rate = { .kind = o->rate ? hp_rate_find(o->rate) : RATE_CONSTANT,
                  .warm_up = o->warm_up,
                  .steps = o->steps,
                  .every = 1,
                  .factor = 1 },
        .first_batch = t->first_step,
        .seed = t->seed,
        .record_steps = o->trace_steps,
        .mean = true,
        .check = o->check,
        .fill = hp_trainer_fill,
        .timed = t->measuring ? hp_measure_work : NULL,
        /* if ranks share cores, waiting for a core is part of the time */
        .one_thread = o->threads <= 1 && t->n_ranks <= hypar_local_all_cores(),
        .who = t,
    };
    if (settings.rate.kind == RATE_KIND_COUNT)
        return hp_fail(err, HYPAR_USAGE, "unknown learning-rate schedule '%s'", o->rate);
    TRY(open_backend(t, err));
    t->x = NEW(&t->arena, struct executor *, t->n_here);
    for (int i = 0; i < t->n_here; i++) {
        struct transport transport =
            t->network ? hp_local_transport(t->network, i) : t->control;
        TRY(hp_executor_new(&t->x[i], t->program, t->first_device + i, &settings, &transport,
                            err));
    }
    return hp_evaluation_make(t, &settings, err);
}

/* A checkpoint that cannot be written is reported before the first step, not after the last. */
static enum hypar_status try_checkpoint(const struct trainer *t, struct hypar_error *err)
{
    struct hypar_output output;
    if (!t->options->checkpoint || t->rank != 0)
        return HYPAR_OK;
    TRY(hypar_output_open(&output, t->options->checkpoint, err));
    return hypar_output_close(&output, false, err);
}

static enum hypar_status make(struct trainer *t, struct hypar_error *err)
{
    if (t->options->measure)
        t->measuring = hp_measuring_new(t->graph);
    TRY(find_real(t, err));
    TRY(find_devices(t, t->ranks, err));
    TRY(try_checkpoint(t, err));
    t->optimizer = hp_optimizer(t->plan->optimizer);
    if (t->options->learning_rate > 0)
        t->optimizer.learning_rate = t->options->learning_rate;
    if (t->options->weight_decay > 0)
        t->optimizer.weight_decay = t->options->weight_decay;
    TRY(hp_trainer_open(t, err));
    struct data_options data = { .train = t->options->data,
                                 .test = t->options->test_data,
                                 .seed = t->seed };
    TRY(hp_data_open(&t->data, t->graph, &data, err));
    TRY(lower(t, err));
    TRY(hp_trainer_check_values(t, err));
    t->loss_device = hp_loss_device(t, t->program);
    return make_executors(t, err);
}

static void release(struct trainer *t)
{
    hp_evaluation_free(t);
    hp_measuring_free(t->measuring);
    for (int i = 0; t->x && i < t->n_here; i++)
        hp_executor_free(t->x[i]);
    hp_cuda_backend_free(&t->backend);
    hp_local_free(t->network);
    hypar_program_free(t->program);
    hp_data_close(t->data);
    hp_checkpoint_close(t->resumed);
    hp_checkpoint_close(t->values);
    hp_weights_close(t->weights);
    hp_arena_free(&t->arena);
}

/* Steps ------------------------------------------------------------------------------ */

/* The steps that the program runs at once: one batch, or pipedream's window. */
static int steps_at_once(const struct trainer *t)
{
    return t->program->iteration->delayed ? t->program->iteration->n_micro : 1;
}

/* Round steps up to whole update periods of every stage. */
static int64_t whole_periods(const struct trainer *t, int64_t steps)
{
    int64_t each = t->program->iteration->delayed ? t->program->iteration->n_bodies : 1;
    return (steps + each - 1) / each * each;
}

/* The last step of the run. */
static int64_t last_step(const struct trainer *t)
{
    return t->first_step + whole_periods(t, t->options->steps - t->first_step);
}

/* The steps of the next window; the executors are told of a shorter one. */
static int begin_window(struct trainer *t, int64_t step)
{
    int at_once = steps_at_once(t);
    int64_t left = last_step(t) - step;
    if (left >= at_once)
        return at_once;
    for (int i = 0; i < t->n_here; i++)
        hp_executor_shorten(t->x[i], (int)left);
    return (int)left;
}

/* Replicas of a stage update once after a minibatch of each, so the requested steps may end
 * within an update period: note it. */
static void note_steps(const struct trainer *t)
{
    struct arena arena = { 0 };
    int64_t asked = t->options->steps, last = last_step(t);
    if (asked > t->first_step && last > asked && t->rank == 0 && t->options->note)
        t->options->note(
            t->options->who,
            hp_arena_printf(&arena,
                            "%lld steps become %lld: replicas of stages update together, once "
                            "for %d minibatches",
                            (long long)asked, (long long)last,
                            t->program->iteration->n_bodies));
    hp_arena_free(&arena);
}

/* One loss for each update of the loss's stage. */
int hp_loss_count(const struct trainer *t, const struct hypar_program *program)
{
    const struct iteration *it = program->iteration;
    int producer = t->graph->tensors[t->graph->loss].producer;
    int stage = program->schedule->stage_of_op[producer];
    return hp_period_count(it, hp_slot_group(it, stage));
}

void hp_collect_losses(struct trainer *t, struct executor **x, int device, double *loss, int n)
{
    int at = device - t->first_device;
    bool here = at >= 0 && at < t->n_here;
    size_t bytes = (size_t)n * sizeof *loss;
    for (int i = 0; here && i < n; i++)
        hp_executor_loss(x[at], i, &loss[i]);
    if (here && t->rank != 0)
        hp_send_now(&t->control, loss, bytes, 0, t->tag_loss);
    else if (!here && t->rank == 0)
        hp_receive_now(&t->control, loss, bytes, device, t->tag_loss);
}

/* The losses of `steps` training steps; each is the mean over its period's minibatches. */
static void collect_losses(struct trainer *t, double *loss, int n, int steps)
{
    hp_collect_losses(t, t->x, t->loss_device, loss, n);
    for (int i = 0; i < n; i++)
        loss[i] *= (double)n / steps;
}

/* Rank 0 decides what all ranks do after a step. */
enum word { WORD_GO, WORD_END, WORD_STOP, WORD_NOT_FINITE };

/* The work that is due after a step. */
struct due {
    bool save, test;
};

static enum word share_word(struct trainer *t, enum word word, struct due *due)
{
    int32_t said[3] = { (int32_t)word, due->save, due->test };
    for (int r = 1; t->rank == 0 && r < t->n_ranks; r++)
        hp_send_now(&t->control, said, sizeof said, r, t->tag_word);
    if (t->rank != 0)
        hp_receive_now(&t->control, said, sizeof said, 0, t->tag_word);
    *due = (struct due){ said[1], said[2] };
    return (enum word)said[0];
}

/* A signal may have reached one rank alone. */
static bool is_to_stop(struct trainer *t)
{
    int32_t stop = t->options->stop && *t->options->stop, other;
    if (t->rank != 0)
        hp_send_now(&t->control, &stop, sizeof stop, 0, t->tag_word);
    for (int r = 1; t->rank == 0 && r < t->n_ranks; r++) {
        hp_receive_now(&t->control, &other, sizeof other, r, t->tag_word);
        stop |= other;
    }
    return stop;
}

static enum word decide(struct trainer *t, int64_t step, const double *loss, int n)
{
    bool stop = is_to_stop(t);
    for (int i = 0; i < n && t->rank == 0; i++)
        if (!isfinite(loss[i]))
            return WORD_NOT_FINITE;
    if (step >= t->options->steps)
        return WORD_END;
    return stop ? WORD_STOP : WORD_GO;
}

/* After every `every` steps, and at the end. */
static bool is_due(int64_t every, enum word word, int64_t before, int64_t step)
{
    if (word == WORD_NOT_FINITE)
        return false;
    return word != WORD_GO || (every > 0 && before / every != step / every);
}

static bool is_better(const struct hypar_train_test *test, const struct hypar_train_test *best)
{
    if (!best->samples)
        return true;
    return test->accuracy >= 0 ? test->accuracy > best->accuracy : test->loss < best->loss;
}

static enum hypar_status test(struct trainer *t, int64_t step,
                              struct hypar_train_result *result, struct hypar_error *err)
{
    TRY(hp_evaluate(t, step, &result->test, err));
    if (is_better(&result->test, &result->best_test))
        result->best_test = result->test;
    if (t->rank == 0 && t->options->report_test)
        t->options->report_test(t->options->who, &result->test);
    return HYPAR_OK;
}

static void report(const struct trainer *t, const struct hypar_train_step *step)
{
    if (t->rank == 0 && t->options->report)
        t->options->report(t->options->who, step);
}

static const char *not_finite_text(double x)
{
    return isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

/* Report the first of the `at_once` steps before `step` whose loss is not finite. */
static enum hypar_status not_finite(struct trainer *t, int64_t step, int at_once,
                                    const double *loss, int n, struct hypar_error *err)
{
    int i = 0;
    while (t->rank == 0 && i < n - 1 && isfinite(loss[i]))
        i++;
    hp_fail(err, HYPAR_INFEASIBLE,
            "the loss of step %lld is %s, expected a finite number; a lower --learning-rate "
            "may help",
            (long long)(step - at_once + (i + 1) * at_once / n), not_finite_text(loss[i]));
    return hypar_ranks_agree(t->ranks, HYPAR_INFEASIBLE, err);
}

/* The mean without the first value, if there are others. */
static double mean(const double *value, int64_t n)
{
    double sum = n == 1 ? value[0] : 0;
    for (int64_t i = 1; i < n; i++)
        sum += value[i] / (double)(n - 1);
    return sum;
}

/* A window of steps, and what follows it: reports, checkpoints, tests. */
struct window {
    int64_t before; /* steps done before it */
    int steps, n_losses;
    const double *loss;
    double seconds; /* of each step */
};

static void report_steps(const struct trainer *t, const struct window *w)
{
    for (int i = 0; i < w->n_losses && isfinite(w->loss[i]); i++)
        report(t, &(struct hypar_train_step){
                      .step = w->before + (i + 1) * w->steps / w->n_losses,
                      .first = t->first_step + 1,
                      .steps = last_step(t),
                      .loss = w->loss[i],
                      .seconds = w->seconds,
                      .since = w->before + i * w->steps / w->n_losses + 1 });
}

static enum hypar_status end_window(struct trainer *t, const struct window *w, enum word *word,
                                    struct hypar_train_result *result, struct hypar_error *err)
{
    int64_t step = w->before + w->steps;
    *word = decide(t, step, w->loss, w->n_losses);
    struct due due = {
        .save = t->options->checkpoint &&
                is_due(t->options->checkpoint_every, *word, w->before, step),
        .test = t->test.program && is_due(t->options->test_every, *word, w->before, step),
    };
    report_steps(t, w);
    *word = share_word(t, *word, &due);
    if (*word == WORD_NOT_FINITE)
        return not_finite(t, step, w->steps, w->loss, w->n_losses, err);
    if (due.save) /* first, because a test may fail */
        TRY(hypar_ranks_agree(t->ranks, hp_trainer_save(t, t->options->checkpoint, step, err),
                              err));
    return due.test ? test(t, step, result, err) : HYPAR_OK;
}

static enum hypar_status train(struct trainer *t, struct hypar_train_result *result,
                               struct hypar_error *err)
{
    int at_once = steps_at_once(t), n = hp_loss_count(t, t->program), capacity = 0, used = 0;
    double *loss = NEW(&t->arena, double, n), *seconds = NULL;
    struct window w = { .before = t->first_step, .loss = loss };
    enum word word = w.before < t->options->steps ? WORD_GO : WORD_END;
    note_steps(t);
    while (word == WORD_GO) {
        double start = hp_now_s();
        w.steps = begin_window(t, w.before);
        w.n_losses = (int)((int64_t)n * w.steps / at_once);
        TRY(t->network ? hp_executors_step(t->x, t->n_here, err)
                       : hp_executor_step(t->x[0], err));
        collect_losses(t, loss, w.n_losses, w.steps);
        w.seconds = (hp_now_s() - start) / w.steps;
        if (w.before == t->first_step)
            result->first_loss = loss[0];
        if (w.steps == at_once) { /* a shorter window fills and drains for fewer steps */
            seconds = GROW(&t->arena, double, seconds, used, &capacity);
            seconds[used++] = w.seconds;
        }
        TRY(end_window(t, &w, &word, result, err));
        w.before += w.steps;
    }
    result->last_loss = loss[w.n_losses ? w.n_losses - 1 : 0];
    result->steps = w.before;
    result->first_step = t->first_step;
    result->stopped = word == WORD_STOP;
    if (used)
        result->step_s = used > 1 ? hp_median(seconds + 1, used - 1) : seconds[0];
    result->mean_step_s = mean(seconds, used);
    result->n_timed = used > 1 ? used - 1 : used;
    result->loss_steps = at_once / n;
    result->in_process = t->network && t->n_devices > 1;
    result->minibatches = hp_is_delayed(t->plan) ? at_once : 0;
    return HYPAR_OK;
}

/* Bytes and memory of ranks: the sum of what all sent, and the most that one of them used. */
enum {
    COUNT_SENT,
    COUNT_PEAK,
    COUNT_MEMORY,
    COUNT_STAGING,
    COUNT_WORKSPACE,
    COUNT_PROCESS,
    N_COUNTS
};

static void add_counts(double sum[N_COUNTS], const double other[N_COUNTS])
{
    sum[COUNT_SENT] += other[COUNT_SENT];
    for (int i = COUNT_PEAK; i < N_COUNTS; i++)
        sum[i] = fmax(sum[i], other[i]);
}

static double process_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * (double)usage.ru_maxrss;
}

static void collect_counts(struct trainer *t, struct hypar_train_result *result)
{
    double sum[N_COUNTS] = { [COUNT_PROCESS] = process_bytes() }, other[N_COUNTS];
    for (int i = 0; i < t->n_here; i++) {
        struct executor_counts c = hp_executor_counts(t->x[i]);
        if (t->test.x) { /* beside those of training */
            struct executor_counts test = hp_executor_counts(t->test.x[i]);
            c.memory_bytes += test.memory_bytes;
            c.staging_bytes += test.staging_bytes;
            c.workspace_bytes += test.workspace_bytes;
        }
        add_counts(sum, (double[N_COUNTS]){ c.sent_bytes, c.peak_bytes, c.memory_bytes,
                                            c.staging_bytes, c.workspace_bytes });
    }
    if (t->rank != 0)
        hp_send_now(&t->control, sum, sizeof sum, 0, t->tag_word);
    for (int r = 1; t->rank == 0 && r < t->n_ranks; r++) {
        hp_receive_now(&t->control, other, sizeof other, r, t->tag_word);
        add_counts(sum, other);
    }
    int64_t steps = result->steps - result->first_step;
    result->ranks = t->n_devices;
    result->comm_bytes_per_step = steps ? sum[COUNT_SENT] / (double)steps : 0;
    struct hypar_program_totals totals = hypar_program_totals(t->program);
    result->program_bytes = totals.comm_bytes - totals.padding_bytes;
    result->peak_bytes = sum[COUNT_PEAK];
    result->memory_bytes = sum[COUNT_MEMORY];
    result->staging_bytes = sum[COUNT_STAGING];
    result->workspace_bytes = sum[COUNT_WORKSPACE];
    result->process_bytes = sum[COUNT_PROCESS];
}

enum hypar_status hypar_train(const struct hypar_plan *plan, struct hypar_ranks *ranks,
                              const struct hypar_train_options *options,
                              struct hypar_train_result *result, struct hypar_error *err)
{
    struct trainer t = { .plan = plan,
                         .graph = hypar_plan_graph(plan),
                         .options = options,
                         .ranks = ranks,
                         .seed = (uint64_t)plan->seed };
    *result = (struct hypar_train_result){ 0 };
    enum hypar_status status = hypar_ranks_agree(ranks, make(&t, err), err);
    if (status == HYPAR_OK)
        status = train(&t, result, err);
    if (status == HYPAR_OK)
        collect_counts(&t, result);
    if (status == HYPAR_OK && options->measure)
        status = hypar_ranks_agree(ranks, hp_measuring_end(&t, options->measure, err), err);
    if (status == HYPAR_OK)
        hp_trainer_trace(&t, &result->trace);
    release(&t);
    return status;
}
