/* The files with the initial values of a training: a checkpoint to resume from, the weights of
 * the model. They are checked before the first step. */
#include "run/trainer.h"

#include <string.h>

#include "base/error.h"
#include "run/running.h"

static void note(const struct trainer *t, const char *text)
{
    if (t->rank == 0 && t->options->note)
        t->options->note(t->options->who, text);
}

/* Each rank verifies a share of the file; later the ranks agree on the result. */
static enum hypar_status open_file(struct trainer *t, const char *path, struct checkpoint **out,
                                   struct hypar_error *err)
{
    TRY(hp_checkpoint_open(out, path, err));
    return hp_checkpoint_verify(*out, t->rank, t->n_ranks, err);
}

static enum hypar_status check_state(const struct trainer *t,
                                     const struct training_state *state,
                                     struct hypar_error *err)
{
    if (state->graph_hash != t->graph->hash)
        return hp_fail(err, HYPAR_INVALID,
                       "it is of another model, or was made with another --batch");
    if (state->optimizer != t->optimizer.kind)
        return hp_fail(err, HYPAR_INVALID, "it was trained with %s, the plan has %s",
                       hypar_optimizer_text(state->optimizer),
                       hypar_optimizer_text(t->optimizer.kind));
    if (state->step >= t->options->steps)
        return hp_fail(err, HYPAR_USAGE, "it has %lld steps already, expected --steps above",
                       (long long)state->step);
    return HYPAR_OK;
}

static enum hypar_status resume(struct trainer *t, struct hypar_error *err)
{
    struct training_state state;
    struct hypar_error text;
    if (!t->options->resume)
        return HYPAR_OK;
    TRY(open_file(t, t->options->resume, &t->resumed, err));
    TRY(hp_training_state(t->resumed, &state, err));
    TRY(hp_in(err, check_state(t, &state, err), "%s", t->options->resume));
    TRY(hp_training_position(t->resumed, &state, t->graph->batch, err));
    t->first_step = state.step;
    t->seed = state.seed;
    t->resumed_samples = state.samples;
    if (hp_checkpoint_has_checksums(t->resumed))
        return HYPAR_OK;
    snprintf(text.text, sizeof text.text,
             "%.400s: carries no checksums, so damage to its values is not found",
             t->options->resume);
    note(t, text.text);
    return HYPAR_OK;
}

enum hypar_status hp_trainer_open(struct trainer *t, struct hypar_error *err)
{
    TRY(resume(t, err));
    if (t->graph->weights.path)
        TRY(hp_weights_open(&t->weights, t->graph->weights.path, &t->graph->weights.options,
                            err));
    if (t->graph->values_path)
        TRY(open_file(t, t->graph->values_path, &t->values, err));
    return HYPAR_OK;
}

/* Missing tensors ------------------------------------------------------------------------- */

/* Tensors that a file should contain, and those that are missing. */
struct lack {
    const char *first;
    int n, of;
    int params, constants; /* missing ones; the rest is optimizer state */
};

static void count(struct lack *lack, const struct tensor *info, bool found, const char *name)
{
    lack->of++;
    if (found)
        return;
    lack->first = lack->n++ ? lack->first : name;
    lack->params += name == info->name && info->kind == TENSOR_PARAM;
    lack->constants += info->kind == TENSOR_INPUT;
}

static enum hypar_status report_lack(const struct trainer *t, const char *path,
                                     const struct lack *lack, struct hypar_error *err)
{
    char text[sizeof err->text];
    if (!lack->n)
        return HYPAR_OK;
    const char *are = lack->n == 1 ? "is" : "are";
    if (lack->constants || !t->options->partial_weights)
        return hp_fail(err, HYPAR_INVALID,
                       "%.400s: %d of %d tensors %s missing, the first is '%.80s'; %s", path,
                       lack->n, lack->of, are, lack->first,
                       lack->constants ? "constants cannot be drawn"
                                       : "--partial-weights goes on without");
    snprintf(text, sizeof text,
             "%.400s: %d of %d tensors %s missing: %d parameter%s drawn at random%s", path,
             lack->n, lack->of, are, lack->params, lack->params == 1 ? " is" : "s are",
             lack->params < lack->n ? ", other state begins as in a new run" : "");
    note(t, text);
    return HYPAR_OK;
}

/* A checkpoint must contain parameters, the optimizer's state and running statistics. */
static enum hypar_status check_resumed(const struct trainer *t, struct hypar_error *err)
{
    struct arena scratch = { 0 };
    struct lack lack = { NULL };
    int most = hp_saved_most(t), at;
    struct saved *saved = NEW(&scratch, struct saved, most);
    struct checkpoint_tensor *tensor = NEW(&scratch, struct checkpoint_tensor, most);
    enum hypar_status status = HYPAR_OK;
    int n = hp_list_saved(t, saved, tensor, &scratch);
    for (int i = 0; i < n && status == HYPAR_OK; i++) {
        bool found = hp_checkpoint_find(t->resumed, tensor[i].name) >= 0;
        count(&lack, &t->graph->tensors[saved[i].tensor], found, tensor[i].name);
        if (found)
            status = hp_checkpoint_need(t->resumed, tensor[i].name, &tensor[i].shape, &at, err);
    }
    if (status == HYPAR_OK)
        status = report_lack(t, t->options->resume, &lack, err);
    hp_arena_free(&scratch);
    return status;
}

/* A model's file of values must contain constants, which cannot be drawn at random, and
 * parameters, if training begins with the values of this file. */
static enum hypar_status check_values(const struct trainer *t, struct hypar_error *err)
{
    struct lack lack = { NULL };
    bool params = !t->resumed && !t->options->init_random;
    for (int i = 0; i < t->graph->n_tensors; i++) {
        const struct tensor *info = &t->graph->tensors[i];
        bool constant = info->kind == TENSOR_INPUT && info->sample_dim < 0;
        bool found = hp_checkpoint_find(t->values, info->name) >= 0;
        int at;
        if (!constant && !(info->kind == TENSOR_PARAM && params))
            continue;
        count(&lack, info, found, info->name);
        if (found)
            TRY(hp_checkpoint_need(t->values, info->name, &info->shape, &at, err));
    }
    return report_lack(t, t->graph->values_path, &lack, err);
}

/* An ONNX file may contain no values at all: planning needs none. */
static enum hypar_status check_weights(const struct trainer *t, struct hypar_error *err)
{
    struct lack lack = { NULL };
    char text[sizeof err->text];
    if (t->resumed || t->options->init_random)
        return HYPAR_OK;
    for (int i = 0; i < t->graph->n_tensors; i++)
        if (t->graph->tensors[i].kind == TENSOR_PARAM)
            count(&lack, &t->graph->tensors[i],
                  hp_weights_has(t->weights, t->graph->tensors[i].name),
                  t->graph->tensors[i].name);
    if (lack.n < lack.of || !lack.of)
        return report_lack(t, t->graph->weights.path, &lack, err);
    snprintf(text, sizeof text, "%.400s: has no values: all %d parameters are drawn at random",
             t->graph->weights.path, lack.of);
    note(t, text);
    return HYPAR_OK;
}

/* The position in the data follows from the step; the sample at a position depends on the size
 * of the data set. */
static void check_samples(const struct trainer *t)
{
    char text[512];
    int64_t samples = hp_data_samples(t->data, DATA_TRAIN);
    if (!t->resumed_samples || t->resumed_samples == samples)
        return;
    snprintf(
        text, sizeof text,
        "%.400s: was trained on %lld samples, and the data has %lld: it goes on in another "
        "order",
        t->options->resume, (long long)t->resumed_samples, (long long)samples);
    note(t, text);
}

enum hypar_status hp_trainer_check_values(struct trainer *t, struct hypar_error *err)
{
    if (t->resumed)
        TRY(check_resumed(t, err));
    if (t->values)
        TRY(check_values(t, err));
    if (t->weights)
        TRY(check_weights(t, err));
    check_samples(t);
    return HYPAR_OK;
}
