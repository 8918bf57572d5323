/* Checks during a run: an element is unknown (NaN) until it is computed or received. */
#include "run/exec/state.h"

#include <math.h>
#include <stdio.h>

const char *hp_task_where(const struct executor *x, const struct micro_state *m, int task,
                          char *text, size_t n)
{
    const struct hypar_program *p = x->program;
    char where[48] = "at the end", what[80];
    if (m != &x->tail)
        snprintf(where, sizeof where, "in micro-batch %d", m->micro);
    else if (p->iteration->delayed)
        snprintf(where, sizeof where, "in update period %d", m->micro);
    if (p->task[task].kind == TASK_COMPUTE)
        hp_task_text(p, task, what, sizeof what);
    else if (p->task[task].index == p->lowering->training.norm)
        snprintf(what, sizeof what, "%s of gradients",
                 p->task[task].kind == TASK_NORM ? "squares" : "comm of the norm");
    else
        snprintf(what, sizeof what, "%s of %s'%.40s'",
                 p->task[task].kind == TASK_UPDATE ? "update" : "comm",
                 p->task[task].kind == TASK_COMM && hp_task_place(p, task).grad
                     ? "the gradient of "
                     : "",
                 x->graph->tensors[hp_task_place(p, task).tensor].name);
    snprintf(text, n, "task %d %s: %s", task, where, what);
    return text;
}

static bool is_index(const struct executor *x, struct place place)
{
    return x->graph->tensors[place.tensor].index && !place.grad;
}

/* A dense copy of a view in the process's own memory, in the run's precision. */
static void *dense_copy(const struct executor *x, struct place place, const struct view *view)
{
    int64_t n = hp_box_elements(&view->box);
    struct view dense = hp_dense_view(hp_array_new((size_t)n * sizeof(double)), &view->box);
    if (is_index(x, place))
        hp_backend_get(x->backend, &dense, view, sizeof(int32_t));
    else
        hp_backend_get_as(x->backend, &dense, x->settings.real, view, hp_place_real(x, place));
    return dense.data;
}

/* The process reads it where it is. */
static bool is_readable(const struct executor *x, struct place place)
{
    return x->backend->visible &&
           (is_index(x, place) || hp_place_real(x, place) == x->settings.real);
}

struct view hp_readable(const struct executor *x, struct place place, const struct view *view)
{
    return is_readable(x, place) ? *view
                                 : hp_dense_view(dense_copy(x, place, view), &view->box);
}

void hp_release_readable(const struct executor *x, struct place place,
                         const struct view *readable)
{
    if (!is_readable(x, place))
        hp_array_free(readable->data);
}

enum hypar_status hp_check_known(struct executor *x, const struct micro_state *m, int task,
                                 struct place place, const struct view *view)
{
    int64_t n = hp_box_elements(&view->box), unknown = 0;
    void *all = dense_copy(x, place, view);
    char text[128];
    for (int64_t i = 0; i < n; i++)
        unknown += is_index(x, place) ? ((int32_t *)all)[i] == INT32_MIN
                                      : isnan(hp_get(all, i, x->settings.real)) != 0;
    hp_array_free(all);
    if (!unknown)
        return HYPAR_OK;
    return hp_fail(&x->error, HYPAR_RUNTIME,
                   "%s: device %d lacks %lld of %lld of %s'%s', or they are NaN",
                   hp_task_where(x, m, task, text, sizeof text), x->rank->device,
                   (long long)unknown, (long long)n, place.grad ? "the gradient of " : "",
                   x->graph->tensors[place.tensor].name);
}

void hp_make_neutral(const struct executor *x, struct place place, const struct view *view,
                     enum combine combine)
{
    int64_t n = hp_box_elements(&view->box);
    void *all = dense_copy(x, place, view), *neutral = dense_copy(x, place, view);
    struct view dense = hp_dense_view(neutral, &view->box);
    hp_view_clear(&dense, combine, x->settings.real);
    for (int64_t i = 0; i < n; i++)
        if (!isnan(hp_get(all, i, x->settings.real)))
            hp_put(neutral, i, hp_get(all, i, x->settings.real), x->settings.real);
    hp_backend_put_as(x->backend, view, hp_place_real(x, place), &dense, x->settings.real);
    hp_array_free(all);
    hp_array_free(neutral);
}
