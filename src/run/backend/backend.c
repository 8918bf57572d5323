/* Numbers that go into arrays of a back end, or come out of them. */
#include "run/backend/backend.h"

/* Copy the elements of to->box through a staging area; one of the views is the process's own
 * (`out`: the one copied to), the other one is of an array. */
static void copy_staged(const struct backend *b, const struct view *to, const struct view *from,
                        size_t element_bytes, bool out)
{
    int64_t n = hp_box_elements(&to->box);
    if (n == 0)
        return;
    void *area = b->staging_new(b, (size_t)n * element_bytes);
    if (!area) /* status() tells */
        return;
    struct view staged = hp_dense_view(area, &to->box);
    if (!out)
        hp_view_copy(&staged, from, &to->box, element_bytes);
    b->copy(b, out ? &staged : to, out ? from : &staged, element_bytes);
    b->finish(b);
    if (out)
        hp_view_copy(to, &staged, &to->box, element_bytes);
    b->staging_free(b, area);
}

void hp_backend_get(const struct backend *b, const struct view *to, const struct view *from,
                    size_t element_bytes)
{
    if (b->visible)
        hp_view_copy(to, from, &to->box, element_bytes);
    else
        copy_staged(b, to, from, element_bytes, true);
}

void hp_backend_put(const struct backend *b, const struct view *to, const struct view *from,
                    size_t element_bytes)
{
    struct view piece = hp_view_piece(to, &from->box, element_bytes);
    if (b->visible)
        hp_view_copy(to, from, &from->box, element_bytes);
    else
        copy_staged(b, &piece, from, element_bytes, false);
}

void hp_backend_get_as(const struct backend *b, const struct view *to, enum real to_real,
                       const struct view *from, enum real from_real)
{
    hp_backend_get(b, to, from, hp_real_bytes(from_real));
    if (to_real != from_real)
        hp_convert(to->data, to_real, to->data, from_real, hp_box_elements(&to->box));
}

void hp_backend_put_as(const struct backend *b, const struct view *to, enum real to_real,
                       const struct view *from, enum real from_real)
{
    if (to_real != from_real)
        hp_convert(from->data, to_real, from->data, from_real, hp_box_elements(&from->box));
    hp_backend_put(b, to, from, hp_real_bytes(to_real));
}

static const struct box SCALAR = { .n_dims = 0 };

double hp_backend_number(const struct backend *b, void *at, enum real real)
{
    double room = 0;
    struct view to = hp_dense_view(&room, &SCALAR), from = hp_dense_view(at, &SCALAR);
    hp_backend_get(b, &to, &from, hp_real_bytes(real));
    return hp_get(&room, 0, real);
}

void hp_backend_set_number(const struct backend *b, void *at, double value, enum real real)
{
    double room = 0;
    struct view from = hp_dense_view(&room, &SCALAR), to = hp_dense_view(at, &SCALAR);
    hp_put(&room, 0, value, real);
    hp_backend_put(b, &to, &from, hp_real_bytes(real));
}
