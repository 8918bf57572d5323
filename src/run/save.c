/* Writing a checkpoint of a training run: rank 0 gathers the tensors piece by piece and writes
 * them. */
#include "run/trainer.h"

#include <math.h>
#include <stdalign.h>

#include "base/error.h"
#include "run/running.h"

/* The first device that has the sum of a cell, and so updates it. */
static int holder(const struct cell *cell)
{
    int first = cell->n_receivers ? cell->receiver[0] : cell->kept[0];
    return cell->n_kept && cell->kept[0] < first ? cell->kept[0] : first;
}

/* The loss of a step precedes its update: a parameter may be infinite after the update although
 * the loss is finite. */
static enum hypar_status check_finite(const struct trainer *t, const struct saved *saved,
                                      const void *dense, int64_t n, struct hypar_error *err)
{
    const struct tensor *info = &t->graph->tensors[saved->tensor];
    for (int64_t i = 0; i < n && info->kind == TENSOR_PARAM; i++)
        if (!isfinite(hp_get(dense, i, t->real)))
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "%s: not written, as '%.80s'%s has values that are not finite; a "
                           "lower --learning-rate may help",
                           t->options->checkpoint, info->name,
                           saved->state < 0 ? "" : ", or the optimizer's state of it,");
    return HYPAR_OK;
}

/* Send one piece from its holder to rank 0, and write it as box `to` of a tensor. */
static enum hypar_status save_piece(struct trainer *t, struct checkpoint_writer *writer,
                                    int number, const struct saved *saved,
                                    const struct box *box, const struct box *to, int device,
                                    struct hypar_error *err)
{
    size_t bytes = (size_t)hp_box_elements(box) * hp_real_bytes(t->real);
    bool here = device >= t->first_device && device < t->first_device + t->n_here;
    enum hypar_status status = HYPAR_OK;
    struct arena scratch = { 0 };
    if (!here && t->rank != 0)
        return HYPAR_OK;
    void *dense = hp_arena_alloc(&scratch, bytes + 1, 1, alignof(double));
    if (here)
        hp_executor_read(t->x[device - t->first_device], saved->tensor, saved->state, box,
                         dense);
    if (here && t->rank != 0)
        hp_send_now(&t->control, dense, bytes, 0, t->tag_save);
    else if (!here)
        hp_receive_now(&t->control, dense, bytes, device, t->tag_save);
    if (t->rank == 0 && writer)
        status = check_finite(t, saved, dense, hp_box_elements(box), err);
    if (t->rank == 0 && writer && status == HYPAR_OK)
        status = hp_checkpoint_put(writer, number, to, dense, err);
    hp_arena_free(&scratch);
    return status;
}

/* A parameter that is not trained, or a part of one that nobody reads (positions beyond the
 * sequence), still has its initial value. */
static enum hypar_status save_fixed(struct trainer *t, struct checkpoint_writer *writer,
                                    int number, const struct saved *saved, struct box box,
                                    struct hypar_error *err)
{
    struct fill_request request = { .tensor = saved->tensor, .state = saved->state };
    if (t->rank != 0 || !writer)
        return HYPAR_OK;
    struct arena scratch = { 0 };
    size_t bytes = (size_t)hp_box_elements(&box) * hp_real_bytes(t->real);
    struct view view =
        hp_dense_view(hp_arena_alloc(&scratch, bytes + 1, 1, alignof(double)), &box);
    enum hypar_status status = hp_trainer_fill(t, &request, &view, err);
    if (status == HYPAR_OK)
        status = hp_checkpoint_put(writer, number, &box, view.data, err);
    hp_arena_free(&scratch);
    return status;
}

/* Running statistics: of the first part with each channel, in the first micro-batch. */
static enum hypar_status save_running(struct trainer *t, struct checkpoint_writer *writer,
                                      int number, const struct saved *saved,
                                      struct hypar_error *err)
{
    int producer = t->graph->tensors[saved->tensor].producer;
    const struct op *op = &t->graph->ops[producer];
    const struct op_parts *l = t->program->lowering->body[0].parts[producer];
    int o = hp_output_operand(op, saved->tensor);
    enum hypar_status status = HYPAR_OK;
    int64_t done = 0; /* channels: parts come in order, with copies in between */
    for (int part = 0; part < l->n_parts; part++) {
        struct box pairs = hp_region(op->nest, o, l->range + part * op->nest->n_axes);
        struct box channels = { 1, { pairs.dim[0] } };
        if (l->empty[part] || pairs.dim[0].lo != done)
            continue;
        done = pairs.dim[0].hi;
        pairs.dim[1] = (struct range){ saved->state, saved->state + 1 };
        enum hypar_status one = save_piece(t, status == HYPAR_OK ? writer : NULL, number, saved,
                                           &pairs, &channels, l->device[part], err);
        status = status == HYPAR_OK ? one : status;
    }
    return status;
}

static int tail_exchange(const struct trainer *t, int tensor)
{
    const struct training_graph *k = &t->program->lowering->training;
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_tail; d++)
        if (k->exchange[d].place.tensor == tensor && k->exchange[d].place.grad)
            return d;
    return -1;
}

/* `box` without `hole`, which intersects it: boxes in `out`. */
static int cut_out(struct box box, const struct box *hole, struct box out[2 * MAX_DIMS])
{
    int n = 0;
    for (int d = 0; d < box.n_dims; d++) {
        struct range *mine = &box.dim[d], whole = *mine, middle = hole->dim[d];
        middle.lo = middle.lo > whole.lo ? middle.lo : whole.lo;
        middle.hi = middle.hi < whole.hi ? middle.hi : whole.hi;
        *mine = (struct range){ whole.lo, middle.lo };
        if (mine->lo < mine->hi)
            out[n++] = box;
        *mine = (struct range){ middle.hi, whole.hi };
        if (mine->lo < mine->hi)
            out[n++] = box;
        *mine = middle;
    }
    return n;
}

/* The elements of a trained parameter that nobody reads, and so nobody holds. */
static enum hypar_status save_unread(struct trainer *t, struct checkpoint_writer *writer,
                                     int number, const struct saved *saved,
                                     const struct pattern *p, struct hypar_error *err)
{
    struct arena scratch = { 0 };
    int n = 1, capacity = 0;
    struct box *rest = GROW(&scratch, struct box, (struct box *)NULL, 0, &capacity);
    rest[0] = hp_shape_box(&t->graph->tensors[saved->tensor].shape);
    for (int c = 0; c < p->n_cells; c++) {
        struct box held = hp_cell_box(p, c);
        if (p->cell[c].n_receivers + p->cell[c].n_kept == 0)
            continue;
        for (int i = n - 1; i >= 0; i--) {
            struct box meet = hp_box_intersect(&rest[i], &held), left[2 * MAX_DIMS];
            if (hp_box_empty(&meet))
                continue;
            int k = cut_out(rest[i], &held, left);
            rest[i] = rest[--n];
            for (int j = 0; j < k; j++) {
                rest = GROW(&scratch, struct box, rest, n, &capacity);
                rest[n++] = left[j];
            }
        }
    }
    enum hypar_status status = HYPAR_OK;
    for (int i = 0; i < n && status == HYPAR_OK; i++)
        status = save_fixed(t, writer, number, saved, rest[i], err);
    hp_arena_free(&scratch);
    return status;
}

/* One tensor of the file. All ranks go through the same pieces, even after a write has
 * failed. */
static enum hypar_status save_tensor(struct trainer *t, struct checkpoint_writer *writer,
                                     int number, const struct saved *saved,
                                     struct hypar_error *err)
{
    int d = tail_exchange(t, saved->tensor);
    enum hypar_status status = HYPAR_OK;
    if (t->graph->tensors[saved->tensor].kind == TENSOR_STAT)
        return save_running(t, writer, number, saved, err);
    if (d < 0)
        return save_fixed(t, writer, number, saved,
                          hp_shape_box(&t->graph->tensors[saved->tensor].shape), err);
    const struct pattern *p = hp_exchange_pattern(t->program->lowering, 0, d);
    for (int c = 0; c < p->n_cells; c++) {
        const struct cell *cell = &p->cell[c];
        struct box all = hp_cell_box(p, c), box[MAX_FLAT_BOXES];
        if (cell->n_receivers + cell->n_kept == 0)
            continue;
        int n = hp_flat_boxes(&all, cell->lo, cell->lo + cell->elements, box);
        for (int i = 0; i < n; i++) {
            enum hypar_status one = save_piece(t, status == HYPAR_OK ? writer : NULL, number,
                                               saved, &box[i], &box[i], holder(cell), err);
            status = status == HYPAR_OK ? one : status;
        }
    }
    return status == HYPAR_OK ? save_unread(t, writer, number, saved, p, err) : status;
}

int hp_saved_most(const struct trainer *t)
{
    return t->graph->n_tensors * (1 + HP_MAX_STATE);
}

int hp_list_saved(const struct trainer *t, struct saved *saved,
                  struct checkpoint_tensor *tensor, struct arena *arena)
{
    int n = 0, states = hp_optimizer_moments(t->optimizer.kind);
    for (int i = 0; i < t->graph->n_tensors; i++) {
        const struct tensor *info = &t->graph->tensors[i];
        for (int which = 0; hp_is_running(t->graph, i) && which < RUNNING_COUNT; which++) {
            saved[n] = (struct saved){ i, which };
            tensor[n++] =
                (struct checkpoint_tensor){ hp_running_name(arena, t->graph, i, which),
                                            hp_real_element(t->real),
                                            { 1, { info->shape.dim[0] } } };
        }
        if (info->kind != TENSOR_PARAM)
            continue;
        for (int s = -1; s < (tail_exchange(t, i) < 0 ? 0 : states); s++) {
            saved[n] = (struct saved){ i, s };
            tensor[n++] =
                (struct checkpoint_tensor){ s < 0 ? info->name
                                                  : hp_state_name(arena, s, info->name),
                                            hp_real_element(t->real), info->shape };
        }
    }
    return n;
}

enum hypar_status hp_trainer_save(struct trainer *t, const char *path, int64_t step,
                                  struct hypar_error *err)
{
    struct arena arena = { 0 };
    int most = hp_saved_most(t);
    struct saved *saved = NEW(&arena, struct saved, most);
    struct checkpoint_tensor *tensor = NEW(&arena, struct checkpoint_tensor, most);
    struct checkpoint_pair pair[TRAINING_PAIRS];
    struct checkpoint_writer *writer = NULL;
    int n = hp_list_saved(t, saved, tensor, &arena);
    struct training_state state = { .step = step,
                                    .position = step * t->graph->batch,
                                    .samples = hp_data_samples(t->data, DATA_TRAIN),
                                    .seed = t->seed,
                                    .graph_hash = t->graph->hash,
                                    .optimizer = t->optimizer.kind };
    enum hypar_status status = HYPAR_OK;
    hp_training_metadata(&state, &arena, pair);
    if (t->rank == 0)
        status = hp_checkpoint_create(&writer, path, tensor, n, pair, TRAINING_PAIRS, err);
    for (int i = 0; i < n; i++) {
        struct hypar_error why;
        enum hypar_status one =
            save_tensor(t, status == HYPAR_OK ? writer : NULL, i, &saved[i], &why);
        if (status == HYPAR_OK && one != HYPAR_OK && err)
            *err = why;
        status = status == HYPAR_OK ? one : status;
    }
    if (t->rank == 0) {
        struct hypar_error why;
        enum hypar_status end = hp_checkpoint_finish(writer, status == HYPAR_OK, &why);
        if (status == HYPAR_OK && end != HYPAR_OK) {
            *err = why;
            status = end;
        }
    }
    hp_arena_free(&arena);
    return status == HYPAR_INFEASIBLE ? hp_in(err, status, "after step %lld", (long long)step)
                                      : status;
}
