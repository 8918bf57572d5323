/* Tests on held-out samples: the plan's forward phases alone, on the same ranks, with the
 * training's own parameters and running statistics. */
#include <string.h>

#include "base/clock.h"
#include "run/data/inputs.h"
#include "run/trainer.h"

/* The scores of a row (a sample, or a position of one) in one part of a classifier's loss. */
struct score {
    int64_t row;   /* in the batches that run at once */
    double value;  /* the largest score of its classes, ... */
    int32_t class; /* ... and the first class that has it; -1: none yet */
    int32_t label;
};

/* Scores ----------------------------------------------------------------------------- */

enum { LOGITS, LABELS }; /* operands of cross_entropy */

/* The largest score of a row among the classes of the part. */
static struct score score_row(const struct kernel_call *call, const int64_t *index,
                              struct range classes)
{
    const struct view *x = &call->value[LOGITS], *labels = &call->value[LABELS];
    int64_t at = hp_view_offset(x, index), step = x->stride[x->box.n_dims - 1];
    struct score s = { .class = (int32_t)classes.lo,
                       .value = hp_get(x->data, at, call->real),
                       .label =
                           ((const int32_t *)labels->data)[hp_view_offset(labels, index)] };
    for (int64_t c = classes.lo + 1; c < classes.hi; c++) {
        double value = hp_get(x->data, at + (c - classes.lo) * step, call->real);
        if (value > s.value) {
            s.value = value;
            s.class = (int32_t)c;
        }
    }
    return s;
}

/* Add the rows of a part whose share of the loss was computed. */
static void add_scores(void *who, int micro, const struct kernel_call *call)
{
    struct evaluation *e = who;
    const struct nest *nest = call->nest;
    if (nest->kind != OP_CROSS_ENTROPY)
        return;
    struct box all = hp_region(nest, LOGITS, call->range);
    struct box rows = hp_region(nest, LABELS, call->range);
    int64_t index[MAX_DIMS] = { 0 }, first = e->program->iteration->delayed ? micro : 0;
    for (int d = 0; d < all.n_dims; d++)
        index[d] = all.dim[d].lo;
    for (int64_t left = hp_box_elements(&rows); left > 0; left--) {
        e->score = GROW(&e->arena, struct score, e->score, e->n_scores, &e->capacity);
        struct score *s = &e->score[e->n_scores++];
        *s = score_row(call, index, all.dim[rows.n_dims]);
        s->row = first;
        for (int d = 0; d < rows.n_dims; d++)
            s->row = s->row * nest->operand[LABELS].size[d] + index[d];
        for (int d = rows.n_dims - 1; d >= 0 && ++index[d] == rows.dim[d].hi; d--)
            index[d] = rows.dim[d].lo;
    }
}

/* The largest score counts, and of equal ones the first class, whatever the order of parts. */
static void merge(struct score *best, const struct score *score, int n)
{
    for (int i = 0; i < n; i++) {
        struct score *b = &best[score[i].row];
        if (b->class < 0 || score[i].value > b->value ||
            (score[i].value == b->value && score[i].class < b->class))
            *b = score[i];
    }
}

static void receive_scores(struct trainer *t, struct score *best, int from)
{
    struct arena scratch = { 0 };
    int64_t n;
    hp_receive_now(&t->control, &n, sizeof n, from, t->tag_test);
    struct score *score = NEW(&scratch, struct score, n);
    if (n > 0)
        hp_receive_now(&t->control, score, (size_t)n * sizeof *score, from, t->tag_test);
    merge(best, score, (int)n);
    hp_arena_free(&scratch);
}

/* Rank 0 counts the rows, and those that are right. Rows without a valid label (padding) are
 * left out. */
static void count_right(struct trainer *t, struct evaluation *e)
{
    int64_t n = e->n_scores;
    if (t->rank != 0) {
        hp_send_now(&t->control, &n, sizeof n, 0, t->tag_test);
        if (n > 0)
            hp_send_now(&t->control, e->score, (size_t)n * sizeof *e->score, 0, t->tag_test);
    } else {
        for (int64_t i = 0; i < e->rows_at_once; i++)
            e->best[i].class = -1;
        merge(e->best, e->score, e->n_scores);
        for (int r = 1; r < t->n_ranks; r++)
            receive_scores(t, e->best, r);
        for (int64_t i = 0; i < e->rows_at_once; i++) {
            bool counts =
                e->best[i].class >= 0 && e->best[i].label >= 0 && e->best[i].label < e->classes;
            e->counted += counts;
            e->right += counts && e->best[i].class == e->best[i].label;
        }
    }
    e->n_scores = 0;
}

/* Preparing -------------------------------------------------------------------------- */

static enum hypar_status fill(void *who, const struct fill_request *request,
                              const struct view *to, struct hypar_error *err)
{
    const struct trainer *t = ((struct evaluation *)who)->trainer;
    struct data_request wanted = { .set = DATA_TEST,
                                   .tensor = request->tensor,
                                   .position = request->batch * t->graph->batch,
                                   .box = to->box,
                                   .real = t->real };
    return hp_data_read(t->data, &wanted, to->data, err);
}

/* The batches that run at once: one, or under pipedream enough to fill the pipeline. */
static enum hypar_status lower(struct trainer *t, struct evaluation *e, struct hypar_error *err)
{
    enum { MOST = 16 };
    int64_t batches = (e->samples + t->graph->batch - 1) / t->graph->batch;
    struct hypar_lower_options options = { .forward = true,
                                           .minibatches = batches < MOST ? batches : MOST };
    TRY(hypar_lower(&e->program, t->plan, &options, err));
    const struct iteration *it = e->program->iteration;
    e->batches_at_once = it->delayed ? it->n_micro : 1;
    return HYPAR_OK;
}

enum hypar_status hp_evaluation_make(struct trainer *t, const struct executor_settings *as,
                                     struct hypar_error *err)
{
    struct evaluation *e = &t->test;
    const struct op *loss = &t->graph->ops[t->graph->tensors[t->graph->loss].producer];
    e->trainer = t;
    e->samples = hp_data_samples(t->data, DATA_TEST);
    if (!e->samples)
        return HYPAR_OK;
    TRY(lower(t, e, err));
    e->loss_device = hp_loss_device(t, e->program);
    e->rows_at_once = e->batches_at_once;
    if (loss->kind == OP_CROSS_ENTROPY) {
        const struct operand *logits = &loss->nest->operand[LOGITS];
        e->classes = logits->size[logits->n_dims - 1];
        for (int d = 0; d < logits->n_dims - 1; d++)
            e->rows_at_once *= logits->size[d];
    }
    e->best = NEW(&e->arena, struct score, t->rank == 0 ? e->rows_at_once : 0);
    struct executor_settings settings = *as;
    settings.first_batch = 0;
    settings.record_steps = 0;
    settings.mean = false;
    settings.fill = fill;
    settings.scored = add_scores;
    settings.who = e;
    e->x = NEW(&e->arena, struct executor *, t->n_here);
    for (int i = 0; i < t->n_here; i++) {
        struct transport transport =
            t->network ? hp_local_transport(t->network, i) : t->control;
        settings.shares = t->x[i];
        TRY(hp_executor_new(&e->x[i], e->program, t->first_device + i, &settings, &transport,
                            err));
    }
    return HYPAR_OK;
}

void hp_evaluation_free(struct trainer *t)
{
    struct evaluation *e = &t->test;
    for (int i = 0; e->x && i < t->n_here; i++)
        hp_executor_free(e->x[i]);
    hypar_program_free(e->program);
    hp_arena_free(&e->arena);
}

/* Running ---------------------------------------------------------------------------- */

/* The sum over samples of the batches just run, on rank 0. */
static double sum_losses(struct trainer *t, struct evaluation *e)
{
    int n = hp_loss_count(t, e->program);
    struct arena scratch = { 0 };
    double *loss = NEW(&scratch, double, n), sum = 0;
    hp_collect_losses(t, e->x, e->loss_device, loss, n);
    for (int i = 0; i < n; i++)
        sum += loss[i] * (double)t->graph->batch;
    hp_arena_free(&scratch);
    return sum;
}

enum hypar_status hp_evaluate(struct trainer *t, int64_t step, struct hypar_train_test *out,
                              struct hypar_error *err)
{
    struct evaluation *e = &t->test;
    int64_t batch = t->graph->batch;
    double loss = 0, start = hp_now_s();
    e->right = e->counted = 0;
    for (int64_t first = 0; first * batch < e->samples; first += e->batches_at_once) {
        for (int i = 0; i < t->n_here; i++)
            hp_executor_restart(e->x[i], first, e->samples - first * batch);
        TRY(t->network ? hp_executors_step(e->x, t->n_here, err)
                       : hp_executor_step(e->x[0], err));
        loss += sum_losses(t, e);
        if (e->classes)
            count_right(t, e);
    }
    *out = (struct hypar_train_test){
        .step = step,
        .steps = t->options->steps,
        .samples = e->samples,
        .loss = loss / (double)e->samples,
        .accuracy = e->counted ? (double)e->right / (double)e->counted : -1,
        .tokens = e->classes && e->rows_at_once > e->batches_at_once * batch,
        .seconds = hp_now_s() - start,
    };
    return HYPAR_OK;
}
