/* Filling the arrays of a training's executors: parameters, optimizer state, running statistics
 * and model inputs come from a checkpoint, from the model's files, from the data set, or are
 * drawn at random. */
#include <math.h>

#include "base/error.h"
#include "run/init.h"
#include "run/running.h"
#include "run/trainer.h"

/* Values that are not finite would spoil every later step. */
static enum hypar_status check_read(const struct trainer *t, const struct checkpoint *file,
                                    const char *name, const struct view *values,
                                    struct hypar_error *err)
{
    int64_t n = hp_box_elements(&values->box);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(hp_get(values->data, i, t->real)))
            return hp_fail(err, HYPAR_INVALID,
                           "%s: '%.80s' has values that are not finite, expected none",
                           hp_checkpoint_path(file), name);
    return HYPAR_OK;
}

/* Fill a parameter, or its state, from a checkpoint. If the checkpoint lacks it, which
 * hp_trainer_check_values() allowed, state stays zero and a parameter is drawn at random. */
static enum hypar_status fill_resumed(struct trainer *t, const struct fill_request *request,
                                      const struct view *to, struct hypar_error *err)
{
    const struct tensor *info = &t->graph->tensors[request->tensor];
    struct arena scratch = { 0 };
    const char *name = info->name;
    enum hypar_status status = HYPAR_OK;
    if (request->state >= 0)
        name = hp_state_name(&scratch, request->state, name);
    int at = hp_checkpoint_find(t->resumed, name);
    if (at >= 0)
        status = hp_checkpoint_read(t->resumed, at, &to->box, t->real, to->data, err);
    if (at >= 0 && status == HYPAR_OK)
        status = check_read(t, t->resumed, name, to, err);
    if (at < 0 && request->state < 0)
        hp_init_box(t->graph, request->tensor, &to->box, t->real, t->seed, to->data);
    hp_arena_free(&scratch);
    return status;
}

/* Constant ids. They are checked here, because kernels rely on ids being valid rows. */
static enum hypar_status fill_ids(struct trainer *t, int tensor, int at, const struct view *to,
                                  struct hypar_error *err)
{
    const struct tensor *info = &t->graph->tensors[tensor];
    struct arena scratch = { 0 };
    int64_t n = hp_box_elements(&to->box), below = hp_integers_below(t->graph, tensor);
    int64_t *ids = NEW(&scratch, int64_t, n);
    enum hypar_status status = hp_checkpoint_read_int(t->values, at, &to->box, ids, err);
    for (int64_t i = 0; i < n && status == HYPAR_OK; i++) {
        if (ids[i] < 0 || ids[i] >= below)
            status = hp_fail(err, HYPAR_INVALID, "%s: '%.80s' has %lld, expected 0 to %lld",
                             hp_checkpoint_path(t->values), info->name, (long long)ids[i],
                             (long long)below - 1);
        ((int32_t *)to->data)[i] = (int32_t)ids[i];
    }
    hp_arena_free(&scratch);
    return status;
}

/* Fill a parameter's initial values, or a constant, from the file of values; *found:
 * the file has the tensor. */
static enum hypar_status fill_value(struct trainer *t, int tensor, const struct view *to,
                                    bool *found, struct hypar_error *err)
{
    const struct tensor *info = &t->graph->tensors[tensor];
    int at = t->values ? hp_checkpoint_find(t->values, info->name) : -1;
    *found = at >= 0;
    if (!*found)
        return HYPAR_OK;
    if (info->index)
        return fill_ids(t, tensor, at, to, err);
    TRY(hp_checkpoint_read(t->values, at, &to->box, t->real, to->data, err));
    /* a constant may be infinite: masks are */
    return info->kind == TENSOR_PARAM ? check_read(t, t->values, info->name, to, err)
                                      : HYPAR_OK;
}

/* Read running means (or variances) of the channels [lo, hi) from a checkpoint or the model's
 * file into `values`. False: there are none, or reading failed. */
static bool find_running(struct trainer *t, int tensor, int which, struct range channels,
                         double *values, enum hypar_status *status, struct hypar_error *err)
{
    static const char *const in_file[] = {
        [RUNNING_MEAN] = "mean", [RUNNING_VARIANCE] = "variance"
    };
    struct arena scratch = { 0 };
    const struct tensor *info = &t->graph->tensors[tensor];
    struct hypar_shape all = { 1, { info->shape.dim[0] } };
    struct box box = { 1, { channels } };
    bool found = false;
    const struct checkpoint *file = t->resumed                ? t->resumed
                                    : t->options->init_random ? NULL
                                                              : t->values;
    if (file) {
        const char *name = hp_running_name(&scratch, t->graph, tensor, which);
        int at = hp_checkpoint_find(file, name);
        found = at >= 0;
        if (found)
            *status = hp_checkpoint_need(file, name, &all, &at, err);
        if (found && *status == HYPAR_OK)
            *status = hp_checkpoint_read(file, at, &box, REAL_F64, values, err);
    } else if (t->weights && !t->options->init_random) {
        const char *name = hp_arena_printf(&scratch, "%s.%s",
                                           t->graph->ops[info->producer].name, in_file[which]);
        found = hp_weights_has(t->weights, name);
        if (found)
            *status = hp_weights_read_part(t->weights, name, all.dim[0], channels.lo,
                                           channels.hi - channels.lo, values, err);
    }
    hp_arena_free(&scratch);
    return found && *status == HYPAR_OK;
}

/* Fill running statistics from another run; if it has none, or was made elsewhere, with their
 * initial values. */
static enum hypar_status fill_running(struct trainer *t, int tensor, const struct view *to,
                                      struct hypar_error *err)
{
    struct arena scratch = { 0 };
    struct range channels = to->box.dim[0];
    int64_t n = channels.hi - channels.lo;
    double *values = NEW(&scratch, double, n);
    enum hypar_status status = HYPAR_OK;
    hp_first_running(to, t->real);
    for (int which = 0; which < RUNNING_COUNT && status == HYPAR_OK; which++)
        if (find_running(t, tensor, which, channels, values, &status, err))
            for (int64_t i = 0; i < n; i++)
                hp_put(to->data, i * RUNNING_COUNT + which, values[i], t->real);
    hp_arena_free(&scratch);
    return status;
}

static enum hypar_status fill(struct trainer *t, const struct fill_request *request,
                              const struct view *to, struct hypar_error *err)
{
    const struct tensor *info = &t->graph->tensors[request->tensor];
    bool param = info->kind == TENSOR_PARAM;
    bool in_file = t->weights && hp_weights_has(t->weights, info->name), found = false;
    if (!param && in_file) /* a constant */
        return hp_init_from(t->weights, t->graph, request->tensor, &to->box, t->real, to->data,
                            err);
    if (info->kind == TENSOR_STAT)
        return fill_running(t, request->tensor, to, err);
    bool constant = info->kind == TENSOR_INPUT && info->sample_dim < 0;
    if (constant)
        TRY(fill_value(t, request->tensor, to, &found, err));
    if (found)
        return HYPAR_OK;
    if (!param) {
        struct data_request wanted = { .set = DATA_TRAIN,
                                       .tensor = request->tensor,
                                       .position = request->batch * t->graph->batch,
                                       .box = to->box,
                                       .real = t->real };
        return hp_data_read(t->data, &wanted, to->data, err);
    }
    if (t->resumed)
        return fill_resumed(t, request, to, err);
    if (request->state >= 0)
        return HYPAR_OK;
    if (in_file && !t->options->init_random)
        return hp_init_from(t->weights, t->graph, request->tensor, &to->box, t->real, to->data,
                            err);
    if (!t->options->init_random)
        TRY(fill_value(t, request->tensor, to, &found, err));
    if (!found)
        hp_init_box(t->graph, request->tensor, &to->box, t->real, t->seed, to->data);
    return HYPAR_OK;
}

/* A checked run marks missing values by NaN, so a file must not contain any. */
static enum hypar_status check_numbers(const struct trainer *t, int tensor,
                                       const struct view *dense, struct hypar_error *err)
{
    const struct tensor *info = &t->graph->tensors[tensor];
    int64_t n = info->index ? 0 : hp_box_elements(&dense->box), unknown = 0;
    for (int64_t i = 0; i < n; i++)
        unknown += isnan(hp_get(dense->data, i, t->real)) != 0;
    if (!unknown)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INVALID,
                   "'%.80s' starts with %lld NaN among %lld numbers, expected none in a run "
                   "that is checked",
                   info->name, (long long)unknown, (long long)n);
}

enum hypar_status hp_trainer_fill(void *who, const struct fill_request *request,
                                  const struct view *to, struct hypar_error *err)
{
    struct trainer *t = who;
    TRY(fill(t, request, to, err));
    if (t->options->check && request->state < 0)
        return check_numbers(t, request->tensor, to, err);
    return HYPAR_OK;
}
