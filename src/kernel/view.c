/* Views of arrays: making one, and a piece of one. */
#include "kernel/kernel.h"

struct view hp_dense_view(void *data, const struct box *box)
{
    return hp_inner_view(data, box, 0);
}

struct view hp_inner_view(void *data, const struct box *box, int inner)
{
    struct view view = { .data = data, .box = *box };
    int64_t stride = 1;
    if (inner > 0) {
        view.stride[inner] = stride;
        stride = box->dim[inner].hi - box->dim[inner].lo;
    }
    for (int d = box->n_dims - 1; d >= 0; d--) {
        if (d == inner && inner > 0)
            continue;
        view.stride[d] = stride;
        stride *= box->dim[d].hi - box->dim[d].lo;
    }
    return view;
}

struct view hp_view_piece(const struct view *view, const struct box *box, size_t element_bytes)
{
    struct view piece = *view;
    int64_t at = 0;
    for (int d = 0; d < box->n_dims; d++)
        at += (box->dim[d].lo - view->box.dim[d].lo) * view->stride[d];
    piece.box = *box;
    if (view->data)
        piece.data = (char *)view->data + at * (int64_t)element_bytes;
    return piece;
}
