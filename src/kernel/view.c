/* Views of arrays: making one, and a piece of one. */
#include "kernel/kernel.h"

struct view hp_dense_view(void *data, const struct box *box)
{
    struct view view = { .data = data, .box = *box };
    int64_t stride = 1;
    for (int d = box->n_dims - 1; d >= 0; d--) {
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
