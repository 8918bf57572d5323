/* Updating parameters: a new version from the previous one; and sums of squares. */
#include "run/exec/state.h"

#include <string.h>

/* The number of elements that are contiguous in both. */
static int64_t dense_run(const struct held_view *a, const struct held_view *b)
{
    int64_t run = 1;
    for (int d = a->box.n_dims - 1; d >= 0; d--) {
        int64_t extent = a->box.dim[d].hi - a->box.dim[d].lo;
        if (extent > 1 && (a->at.stride[d] != run || b->at.stride[d] != run))
            break;
        run *= extent;
    }
    return run;
}

/* The position of element `i` of a view in its buffer. */
static int64_t element_at(const struct held_view *v, int64_t i)
{
    int64_t at = v->at.offset;
    for (int d = v->box.n_dims - 1; d >= 0; d--) {
        int64_t extent = v->box.dim[d].hi - v->box.dim[d].lo;
        at += i % extent * v->at.stride[d];
        i /= extent;
    }
    return at;
}

/* The number of an update of a group of parameters, over all runs. The rate follows batches: a
 * stage with several replicas has fewer updates than batches. */
static struct update_step update_step(const struct executor *x, int group, int period)
{
    const struct iteration *it = x->program->iteration;
    int64_t each = it->delayed ? it->period[group] : 1;
    int64_t before = x->settings.first_batch / each;
    int64_t step = before + (int64_t)(x->step - 1) * hp_period_count(it, group) + period + 1;
    void *norm = hp_norm_data(x);
    double squares = norm ? hp_backend_number(x->backend, norm, x->settings.real) : 0;
    double scale = norm ? hp_clip_scale(squares, x->program->plan->clip) : 1;
    double rate =
        hp_learning_rate(&x->settings.rate, x->settings.optimizer.learning_rate, step * each);
    return (struct update_step){ step, rate, scale };
}

/* Check the elements of a gradient that a task reads. */
static enum hypar_status check_gradient(struct executor *x, const struct micro_state *m,
                                        int task, int tensor, const struct held_view *gradient,
                                        struct range elements)
{
    struct box box[MAX_FLAT_BOXES];
    if (elements.hi <= elements.lo)
        return HYPAR_OK;
    enum real real = hp_buffer_real(x, gradient->buffer);
    struct view view = { .data = hp_real_at(x->lasting[gradient->buffer], gradient->at.offset,
                                            real),
                         .box = gradient->box };
    int n = hp_flat_boxes(&gradient->box, elements.lo, elements.hi, box);
    memcpy(view.stride, gradient->at.stride, sizeof view.stride);
    for (int i = 0; i < n; i++) {
        struct view piece = hp_view_piece(&view, &box[i], hp_real_bytes(real));
        TRY(hp_check_known(x, m, task, (struct place){ .tensor = tensor, .grad = true },
                           &piece));
    }
    return HYPAR_OK;
}

/* Add the contiguous runs of a gradient's elements to the list x->square. */
static int add_runs(struct executor *x, const struct rank_square *s, int n_runs)
{
    int64_t run = dense_run(&s->gradient, &s->gradient), n;
    enum real real = hp_buffer_real(x, s->gradient.buffer);
    for (int64_t i = s->elements.lo; i < s->elements.hi; i += n) {
        n = run - i % run < s->elements.hi - i ? run - i % run : s->elements.hi - i;
        x->square = GROW(&x->arena, struct square_run, x->square, n_runs, &x->square_capacity);
        x->square[n_runs++] =
            (struct square_run){ hp_real_at(x->lasting[s->gradient.buffer],
                                            element_at(&s->gradient, i), real),
                                 real, n };
    }
    return n_runs;
}

enum hypar_status hp_add_squares(struct executor *x, const struct micro_state *m, int task,
                                 const struct rank_square *square, int n)
{
    int n_runs = 0;
    for (int i = 0; i < n; i++) {
        if (x->settings.check)
            TRY(check_gradient(x, m, task, square[i].tensor, &square[i].gradient,
                               square[i].elements));
        n_runs = add_runs(x, &square[i], n_runs);
    }
    x->backend->square(x->backend, x->square, n_runs, x->settings.real, hp_norm_data(x));
    return HYPAR_OK;
}

/* The elements of a separate piece. */
static struct range within(const struct rank_update *u, bool flat)
{
    struct range r = u->elements;
    return flat ? (struct range){ 0, r.hi - r.lo } : r;
}

/* The position of element `i` of the box; and how many elements are contiguous from there
 * on. */
static int64_t place_of(const struct rank_update *u, const struct held_view *v, bool flat,
                        int64_t i)
{
    return flat ? v->at.offset + i - u->elements.lo : element_at(v, i);
}

static int64_t left_of(const struct rank_update *u, const struct held_view *v, bool flat,
                       int64_t i)
{
    int64_t left = u->elements.hi - i,
            run = flat ? left : dense_run(v, v) - i % dense_run(v, v);
    return run < left ? run : left;
}

enum hypar_status hp_update_params(struct executor *x, const struct micro_state *m, int task,
                                   const struct rank_update *u)
{
    int period = m->micro;
    enum real real = x->settings.real, param = hp_buffer_real(x, u->param.buffer),
              gradient = hp_buffer_real(x, u->gradient.buffer);
    if (u->elements.hi <= u->elements.lo)
        return HYPAR_OK;
    struct versions *v = &x->versions[u->param.buffer];
    void *old = v->data[period % v->n], *new = v->data[(period + 1) % v->n];
    const struct update_step at_step = update_step(x, u->group, period);
    if (x->settings.check)
        TRY(check_gradient(x, m, task, u->tensor, &u->gradient, within(u, u->flat_gradient)));
    for (int64_t i = u->elements.lo, n; i < u->elements.hi; i += n) {
        int64_t at = place_of(u, &u->param, u->flat_param, i);
        int64_t from = place_of(u, &u->gradient, u->flat_gradient, i);
        int64_t state = u->state < 0 ? at : u->state + i - u->elements.lo;
        int64_t other = left_of(u, &u->gradient, u->flat_gradient, i);
        n = left_of(u, &u->param, u->flat_param, i);
        n = other < n ? other : n;
        struct update_run run = { .optimizer = &x->settings.optimizer,
                                  .step = at_step,
                                  .real = real,
                                  .n = n,
                                  .old = hp_real_at(old, at, param),
                                  .new = hp_real_at(new, at, param),
                                  .gradient = hp_real_at(x->lasting[u->gradient.buffer], from,
                                                         gradient),
                                  .gradient_real = gradient,
                                  .state = x->state[u->param.buffer] };
        for (int k = 0; k < HP_STATE_ARRAYS; k++)
            run.state.array[k] = hp_real_at(run.state.array[k], state, real);
        x->backend->update(x->backend, &run);
    }
    return HYPAR_OK;
}
