#include "tests/all_ranks.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "program/memory/memory.h"
#include "tests/card_backend.h"
#include "tests/far_backend.h"

struct all_ranks {
    struct arena arena;
    const struct hypar_program *program;
    const struct hypar_graph *graph;
    struct all_ranks_settings settings;
    struct backend backend;
    int n;
    struct local_network *network;
    struct executor **x;
    double **before; /* by tensor: a parameter before the step */
    double sent_bytes;
    enum real real;
    double tolerance;
    int running; /* statistics of batch norms that were compared */
    bool differs;
};

/* Comparing -------------------------------------------------------------------------- */

double scale_of(const double *right, int64_t n, bool narrow)
{
    double scale = narrow ? 0.03125 : 1e-3;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(right[i]) && fabs(right[i]) > scale)
            scale = fabs(right[i]);
    return scale;
}

double tolerance_of(enum real real, bool narrow)
{
    if (narrow)
        return 0.125; /* 32 times the rounding of one number */
    return real == REAL_F32 ? 1e-3 : 1e-9;
}

int64_t first_difference(const double *found, const double *right, int64_t n, double most)
{
    for (int64_t i = 0; i < n; i++)
        if (found[i] != right[i] && !(fabs(found[i] - right[i]) <= most))
            return i;
    return -1;
}

/* The first element that differs from the unsplit run's, which is all of the tensor. */
static int64_t find_difference(const struct all_ranks *a, const double *found,
                               const double *right, int64_t n, const struct view *all)
{
    double scale =
        a->tolerance * scale_of(all->data, hp_box_elements(&all->box), a->settings.narrow);
    if (!a->settings.micro_is_device)
        return first_difference(found, right, n, scale);
    for (int64_t i = 0; i < n; i++)
        if (first_difference(&found[i], &right[i], 1, a->tolerance * (1e-3 + fabs(right[i]))) ==
            0)
            return i;
    return -1;
}

/* Numbers of one precision as numbers of another, over to->box. */
static void convert(const struct view *to, enum real to_real, const struct view *from,
                    enum real from_real)
{
    int64_t n = hp_box_elements(&to->box);
    struct view mine = hp_dense_view(hp_array_new((size_t)n * sizeof(double)), &to->box);
    struct view other = hp_dense_view(hp_array_new((size_t)n * sizeof(double)), &to->box);
    hp_view_copy(&other, from, &to->box, hp_real_bytes(from_real));
    for (int64_t i = 0; i < n; i++)
        hp_put(mine.data, i, hp_get(other.data, i, from_real), to_real);
    hp_view_copy(to, &mine, &to->box, hp_real_bytes(to_real));
    hp_array_free(mine.data);
    hp_array_free(other.data);
}

static enum hypar_status compare(struct all_ranks *a, int device, struct place place,
                                 const struct view *found, const struct view *right,
                                 struct hypar_error *err)
{
    struct arena scratch = { 0 };
    int64_t n = hp_box_elements(&found->box);
    struct view x = hp_dense_view(NEW(&scratch, double, n), &found->box);
    struct view y = hp_dense_view(NEW(&scratch, double, n), &found->box);
    convert(&x, REAL_F64, found, a->real);
    hp_view_copy(&y, right, &found->box, sizeof(double));
    int64_t at = find_difference(a, x.data, y.data, n, right);
    enum hypar_status status = HYPAR_OK;
    if (at >= 0) {
        a->differs = true;
        status = hp_fail(
            err, HYPAR_RUNTIME, "device %d: %s'%s' element %lld is %.17g, expected %.17g",
            device, place.grad ? "the gradient of " : "", a->graph->tensors[place.tensor].name,
            (long long)at, ((double *)x.data)[at], ((double *)y.data)[at]);
    }
    hp_arena_free(&scratch);
    return status;
}

/* What a task reads. Under pipedream the versions of parameters show in what is computed with
 * them. */
static enum hypar_status observe(void *who, const struct reading *r, struct hypar_error *err)
{
    struct all_ranks *a = who;
    const struct tensor *t = &a->graph->tensors[r->place.tensor];
    bool param = t->kind == TENSOR_PARAM && !r->place.grad;
    bool one = a->settings.micro_is_device;
    if (t->index || (param && a->program->iteration->delayed))
        return HYPAR_OK;
    if (one && r->place.grad && t->sample_dim < 0)
        return HYPAR_OK; /* summed over devices, but not over micro-batches */
    struct view right =
        *unsplit_run_view(a->settings.reference, r->place, one ? r->device : r->micro);
    if (param)
        right.data = a->before[r->place.tensor];
    return compare(a, r->device, r->place, r->view, &right, err);
}

/* A box of a buffer that lasts, against a view of the unsplit run. */
static enum hypar_status compare_lasting(struct all_ranks *a, int device, struct place place,
                                         const struct held_view *v, const struct view *right,
                                         struct hypar_error *err)
{
    enum real real =
        a->settings.narrow && hp_held_bytes(a->program->plan, place) == 2 ? REAL_BF16 : a->real;
    char *data = hp_executor_lasting(a->x[device], v->buffer);
    struct view held = { .data = data + (size_t)v->at.offset * hp_real_bytes(real),
                         .box = v->box };
    size_t bytes = (size_t)hp_box_elements(&v->box) * hp_real_bytes(a->real);
    struct view own = hp_dense_view(hp_array_new(bytes), &v->box);
    memcpy(held.stride, v->at.stride, sizeof held.stride);
    hp_backend_get_as(&a->backend, &own, a->real, &held, real);
    enum hypar_status status = compare(a, device, place, &own, right, err);
    hp_array_free(own.data);
    return status;
}

static enum hypar_status compare_held(struct all_ranks *a, int device, struct place place,
                                      const struct held_view *v, int period,
                                      struct hypar_error *err)
{
    return compare_lasting(a, device, place, v,
                           unsplit_run_view(a->settings.reference, place, period), err);
}

/* The elements that the rank updates, or updates with. */
static enum hypar_status compare_piece(struct all_ranks *a, int device,
                                       const struct rank_update *u, struct place place,
                                       int period, struct hypar_error *err)
{
    const struct held_view *view = place.grad ? &u->gradient : &u->param;
    bool flat = place.grad ? u->flat_gradient : u->flat_param;
    struct box box[MAX_FLAT_BOXES];
    int64_t at = view->at.offset;
    int n = hp_flat_boxes(&u->box, u->elements.lo, u->elements.hi, box);
    for (int i = 0; i < n; i++) {
        struct held_view piece = *view;
        piece.box = box[i];
        if (flat) {
            struct view dense = hp_dense_view(NULL, &box[i]);
            piece.at.offset = at;
            memcpy(piece.at.stride, dense.stride, sizeof dense.stride);
            at += hp_box_elements(&box[i]);
        }
        for (int d = 0; !flat && d < box[i].n_dims; d++)
            piece.at.offset += (box[i].dim[d].lo - u->box.dim[d].lo) * piece.at.stride[d];
        TRY(compare_held(a, device, place, &piece, period, err));
    }
    return HYPAR_OK;
}

/* A parameter is there as a whole, unless it is divided. */
static enum hypar_status compare_updates(struct all_ranks *a, int device,
                                         struct hypar_error *err)
{
    const struct rank *rank = hp_executor_rank(a->x[device]);
    for (int i = 0; i < rank->tail.n_updates; i++) {
        const struct rank_update *u = &rank->tail.update[i];
        int last = hp_period_count(a->program->iteration, u->group) - 1;
        struct place param = { .tensor = u->tensor };
        TRY(compare_piece(a, device, u, (struct place){ .tensor = u->tensor, .grad = true },
                          last, err));
        if (u->flat_param)
            TRY(compare_piece(a, device, u, param, 0, err));
        else
            TRY(compare_held(a, device, param, &u->param, 0, err));
    }
    return HYPAR_OK;
}

/* The pass of a body that moves running statistics of an operator over these channels. */
static const struct rank_pass *moves(const struct rank_part *part, int op,
                                     const struct box *box)
{
    for (int i = 0; i < part->n_passes; i++)
        if (part->pass[i].op == op && part->pass[i].running.buffer >= 0 &&
            hp_box_contains(&part->pass[i].running.box, box))
            return &part->pass[i];
    return NULL;
}

/* Does a device take micro-batches forward in the order of their numbers, stage by stage? */
static bool in_order(const struct slot_list *list)
{
    for (int i = 1; i < list->n_slots; i++)
        for (int k = 0; k < i && list->slot[i].phase == PHASE_FORWARD; k++)
            if (list->slot[k].phase == PHASE_FORWARD &&
                list->slot[k].stage == list->slot[i].stage &&
                list->slot[k].micro > list->slot[i].micro)
                return false;
    return true;
}

/* Running statistics, of a rank that sees every micro-batch, and one after the other. */
static enum hypar_status compare_running(struct all_ranks *a, int device,
                                         struct hypar_error *err)
{
    const struct rank *rank = hp_executor_rank(a->x[device]);
    const struct hypar_program *p = a->program;
    if (a->settings.micro_is_device || p->iteration->forward ||
        (a->settings.order == ORDER_LATEST && p->iteration->n_micro > 1) ||
        !in_order(rank->slots))
        return HYPAR_OK;
    for (int i = 0; i < rank->body[0].n_passes; i++) {
        const struct rank_pass *pass = &rank->body[0].pass[i];
        bool sees_all = pass->running.buffer >= 0;
        for (int b = 1; b < p->n_bodies && sees_all; b++)
            sees_all = moves(&rank->body[b], pass->op, &pass->running.box);
        if (!sees_all)
            continue;
        int tensor = a->graph->ops[pass->op].tensor[pass->running_operand];
        a->running++;
        TRY(compare_lasting(a, device, (struct place){ .tensor = tensor, .grad = false },
                            &pass->running, unsplit_run_running(a->settings.reference, tensor),
                            err));
    }
    return HYPAR_OK;
}

static enum hypar_status compare_losses(struct all_ranks *a, struct hypar_error *err)
{
    const struct iteration *it = a->program->iteration;
    int producer = a->graph->tensors[a->graph->loss].producer, known = 0;
    int group = hp_slot_group(it, a->program->schedule->stage_of_op[producer]);
    for (int d = 0; d < a->n; d++)
        for (int u = 0; u < hp_period_count(it, group); u++) {
            double value, right = unsplit_run_loss(a->settings.reference, u);
            if (!hp_executor_loss(a->x[d], u, &value))
                continue;
            known++;
            if (first_difference(&value, &right, 1,
                                 a->tolerance * scale_of(&right, 1, a->settings.narrow)) < 0)
                continue;
            a->differs = true;
            return hp_fail(err, HYPAR_RUNTIME,
                           "device %d: the loss of period %d is %.17g, expected %.17g", d, u,
                           value, right);
        }
    return known ? HYPAR_OK : hp_fail(err, HYPAR_RUNTIME, "no device has the loss");
}

/* What gradients are scaled by, on every device that updates some. */
static enum hypar_status compare_scale(struct all_ranks *a, int device, struct hypar_error *err)
{
    const struct rank *rank = hp_executor_rank(a->x[device]);
    struct box scalar = { .n_dims = 0 };
    int b = hp_find_buffer(&rank->buffers, a->graph, 0, true,
                           (struct place){ .tensor = a->graph->loss, .grad = true }, &scalar);
    if ((b < 0) != (a->program->plan->clip <= 0 || rank->tail.n_updates == 0))
        return hp_fail(err, HYPAR_RUNTIME, "device %d has a norm, or lacks it", device);
    if (b < 0)
        return HYPAR_OK;
    double sum = hp_backend_number(&a->backend, hp_executor_lasting(a->x[device], b), a->real);
    double scale = hp_clip_scale(sum, a->program->plan->clip),
           right = unsplit_run_scale(a->settings.reference);
    if (first_difference(&scale, &right, 1, a->tolerance * right) < 0)
        return HYPAR_OK;
    a->differs = true;
    return hp_fail(err, HYPAR_RUNTIME, "device %d: gradients are scaled by %.17g, not %.17g",
                   device, scale, right);
}

/* Bytes that the program says are sent in a step, without padding; in the precision of the run.
 * A batch's; pipedream counts otherwise. */
static enum hypar_status compare_sent(struct all_ranks *a, struct hypar_error *err)
{
    const struct hypar_program *p = a->program;
    double said = 0, sent = 0;
    for (int i = 0; i < p->n_tasks; i++)
        if (p->task[i].kind == TASK_COMM)
            said += hp_task_times(p, i) *
                    (hp_task_comm(p, i)->sent_elements - hp_task_comm(p, i)->padding) *
                    (a->settings.narrow ? hp_message_bytes(p->plan, hp_task_place(p, i))
                                        : (int)hp_real_bytes(a->real));
    for (int d = 0; d < a->n; d++)
        sent += hp_executor_counts(a->x[d]).sent_bytes;
    double step = sent - a->sent_bytes;
    a->sent_bytes = sent;
    if (p->iteration->delayed || fabs(step - said) < .5)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_RUNTIME, "the ranks sent %.0f bytes, the program has %.0f", step,
                   said);
}

/* What each device held when it was fullest is what the memory model says. */
static enum hypar_status compare_memory(struct all_ranks *a, struct hypar_error *err)
{
    struct memory_model *model = hp_memory(a->program, NULL);
    enum hypar_status status = HYPAR_OK;
    for (int d = 0; d < a->n && status == HYPAR_OK; d++) {
        struct executor_counts counts = hp_executor_counts(a->x[d]);
        if (counts.peak_bytes != model->device[d].peak)
            status = hp_fail(err, HYPAR_RUNTIME,
                             "device %d held %.0f bytes, the memory model has %.0f", d,
                             counts.peak_bytes, model->device[d].peak);
        if (counts.memory_bytes < counts.peak_bytes)
            status = hp_fail(err, HYPAR_RUNTIME, "device %d held %.0f bytes in %.0f", d,
                             counts.peak_bytes, counts.memory_bytes);
    }
    hp_memory_free(model);
    return status;
}

/* Running ---------------------------------------------------------------------------- */

/* Parameters and inputs as the unsplit run has them. */
static enum hypar_status fill(void *who, const struct fill_request *request,
                              const struct view *to, struct hypar_error *err)
{
    const struct all_ranks *a = who;
    const struct all_ranks_settings *s = &a->settings;
    const struct iteration *it = a->program->iteration;
    int tensor = request->tensor;
    (void)err;
    if (request->state >= 0)
        return HYPAR_OK;
    bool own = it->delayed && s->batch && a->graph->tensors[tensor].kind == TENSOR_INPUT;
    const struct run_data *data =
        own ? &s->batch[request->batch % it->n_micro % s->n_batches] : s->data;
    if (a->graph->tensors[tensor].index)
        hp_view_copy(to, &data->tensor[tensor], &to->box, sizeof(int32_t));
    else
        convert(to, a->real, &data->tensor[tensor], data->real);
    return HYPAR_OK;
}

static int count_tags(const struct hypar_program *p)
{
    int n = 0;
    for (int t = 0; t < p->n_tasks; t++)
        n += hp_task_tags(p, t);
    return n > 0 ? n : 1;
}

static enum hypar_status make_executors(struct all_ranks *a, struct hypar_error *err)
{
    const struct kernels *kernels = hp_kernels_find("reference");
    a->backend = a->settings.arrays == ARRAYS_FAR       ? far_backend(kernels)
                 : a->settings.arrays == ARRAYS_ON_CARD ? card_backend(kernels)
                                                        : hp_host_backend(kernels);
    struct executor_settings settings = { .backend = &a->backend,
                                          .real = a->real,
                                          .narrow = a->settings.narrow,
                                          .optimizer = a->settings.optimizer,
                                          .seed = a->settings.seed,
                                          .order = a->settings.order,
                                          .chunk_bytes = 16, /* so that messages have some */
                                          .check = true,
                                          .fill = fill,
                                          .observe = observe,
                                          .who = a };
    for (int d = 0; d < a->n; d++) {
        struct transport transport = hp_local_transport(a->network, d);
        if (a->settings.few_tags)
            transport.most_tags = count_tags(a->program);
        TRY(hp_executor_new(&a->x[d], a->program, d, &settings, &transport, err));
    }
    return HYPAR_OK;
}

enum hypar_status all_ranks_new(struct all_ranks **out, const struct hypar_program *program,
                                const struct all_ranks_settings *settings,
                                struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct all_ranks *a = NEW(&arena, struct all_ranks, 1);
    enum real real = settings->fp32 ? REAL_F32 : REAL_F64;
    *a = (struct all_ranks){ .arena = arena,
                             .real = real,
                             .tolerance = tolerance_of(real, settings->narrow),
                             .program = program,
                             .graph = program->plan->graph,
                             .settings = *settings,
                             .n = hypar_machine_device_count(program->plan->machine) };
    a->network = hp_local_new(a->n);
    a->x = NEW(&a->arena, struct executor *, a->n);
    a->before = NEW(&a->arena, double *, a->graph->n_tensors);
    for (int t = 0; t < a->graph->n_tensors; t++)
        if (a->graph->tensors[t].kind == TENSOR_PARAM)
            a->before[t] =
                NEW(&a->arena, double, hp_shape_elements(&a->graph->tensors[t].shape));
    enum hypar_status status = make_executors(a, err);
    *out = status == HYPAR_OK ? a : NULL;
    if (status != HYPAR_OK)
        all_ranks_free(a);
    return status;
}

void all_ranks_free(struct all_ranks *a)
{
    if (!a)
        return;
    for (int d = 0; d < a->n; d++)
        hp_executor_free(a->x[d]);
    hp_local_free(a->network);
    struct arena arena = a->arena; /* they live there */
    hp_arena_free(&arena);
}

enum hypar_status all_ranks_step(struct all_ranks *a, struct hypar_error *err)
{
    for (int t = 0; t < a->graph->n_tensors; t++) {
        const struct view *param = unsplit_run_view(
            a->settings.reference, (struct place){ .tensor = t, .grad = false }, 0);
        if (a->before[t])
            memcpy(a->before[t], param->data,
                   (size_t)hp_box_elements(&param->box) * sizeof(double));
    }
    unsplit_run_step(a->settings.reference);
    TRY(hp_executors_step(a->x, a->n, err));
    for (int d = 0; d < a->n; d++) {
        TRY(compare_scale(a, d, err));
        TRY(compare_updates(a, d, err));
        TRY(compare_running(a, d, err));
    }
    TRY(compare_losses(a, err));
    if (a->settings.order == ORDER_NUMBERS &&
        (a->program->plan->precision == HYPAR_FP64) == (a->real == REAL_F64) &&
        (a->program->plan->precision == HYPAR_BF16) == a->settings.narrow)
        TRY(compare_memory(a, err));
    return compare_sent(a, err);
}

int all_ranks_running(const struct all_ranks *a)
{
    return a->running;
}

bool all_ranks_differ(const struct all_ranks *a)
{
    return a->differs;
}
