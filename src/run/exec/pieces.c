/* Copying and adding pieces of a rank's buffers, row by row. */
#include "run/exec/pieces.h"

bool hp_piece_is_dense(const struct piece *piece)
{
    int64_t dense = 1;
    for (int d = piece->view.box.n_dims - 1; d >= 0; d--) {
        int64_t extent = piece->view.box.dim[d].hi - piece->view.box.dim[d].lo;
        if (extent == 1)
            continue;
        if (piece->view.at.stride[d] != dense) /* are all elements in one contiguous run? */
            return piece->lo / dense == (piece->hi - 1) / dense;
        dense *= extent;
    }
    return true;
}

/* Rows ------------------------------------------------------------------------------- */

/* Rows of equal length at equal distances; likewise the elements of a row. */
struct rows {
    int64_t at; /* the first element, from the start of the buffer */
    int64_t n, stride;
    int64_t n_rows, row_stride;
};

/* The state of walking through a piece. Dimensions begin with the last; contiguous ones are
 * merged. */
struct walk {
    int n;
    int64_t extent[MAX_DIMS + 1], stride[MAX_DIMS + 1], index[MAX_DIMS + 1];
    int64_t at, left;
};

static void add_dimension(struct walk *w, int64_t extent, int64_t stride)
{
    int inner = w->n - 1;
    if (inner >= 0 && stride == w->stride[inner] * w->extent[inner]) {
        w->extent[inner] *= extent;
        return;
    }
    w->extent[w->n] = extent;
    w->stride[w->n++] = stride;
}

static struct walk walk_through(const struct piece *p)
{
    struct walk w = { .at = p->view.at.offset, .left = p->hi - p->lo };
    int64_t rest = p->lo;
    for (int d = p->view.box.n_dims - 1; d >= 0; d--) {
        int64_t extent = p->view.box.dim[d].hi - p->view.box.dim[d].lo;
        if (extent > 1)
            add_dimension(&w, extent, p->view.at.stride[d]);
    }
    if (w.n == 0)
        add_dimension(&w, 1, 1);
    for (int k = 0; k < w.n; k++) {
        w.index[k] = rest % w.extent[k];
        rest /= w.extent[k];
        w.at += w.index[k] * w.stride[k];
    }
    return w;
}

/* Advance by `n` steps along dimension k, with a carry to the next. */
static void advance(struct walk *w, int k, int64_t n)
{
    w->index[k] += n;
    w->at += n * w->stride[k];
    for (; k + 1 < w->n && w->index[k] == w->extent[k]; k++) {
        w->at += w->stride[k + 1] - w->extent[k] * w->stride[k];
        w->index[k] = 0;
        w->index[k + 1]++;
    }
}

/* As many whole rows as possible, or the rest of one. False: the piece ends. */
static bool next_rows(struct walk *w, struct rows *out)
{
    int64_t n = w->extent[0];
    *out = (struct rows){ w->at, n, w->stride[0], 1, 0 };
    if (w->left == 0)
        return false;
    if (w->n > 1 && w->index[0] == 0 && w->left >= n) {
        int64_t most = w->extent[1] - w->index[1];
        out->n_rows = w->left / n < most ? w->left / n : most;
        out->row_stride = w->stride[1];
        w->left -= n * out->n_rows;
        advance(w, 1, out->n_rows);
        return true;
    }
    n -= w->index[0];
    out->n = n < w->left ? n : w->left;
    w->left -= out->n;
    advance(w, 0, out->n);
    return true;
}

size_t hp_piece_offset(const struct piece *piece)
{
    return (size_t)walk_through(piece).at;
}

/* Copies and sums ----------------------------------------------------------------------- */

/* The views of some rows: in the buffer at `data`, and in the dense array at `apart`. */
struct rows_views {
    struct view here, apart;
};

static struct rows_views views_of(const struct rows *r, size_t size, char *data, char *apart)
{
    struct box box = { .n_dims = 2, .dim = { { 0, r->n_rows }, { 0, r->n } } };
    struct view here = { .data = data + (size_t)r->at * size,
                         .box = box,
                         .stride = { r->row_stride, r->stride } };
    return (struct rows_views){ here, hp_dense_view(apart, &box) };
}

void hp_piece_copy(const struct backend *b, const struct piece *piece, size_t size, char *data,
                   char *apart, bool gather)
{
    struct walk w = walk_through(piece);
    struct rows r;
    while (next_rows(&w, &r)) {
        struct rows_views v = views_of(&r, size, data, apart);
        b->copy(b, gather ? &v.apart : &v.here, gather ? &v.here : &v.apart, size);
        apart += (size_t)(r.n_rows * r.n) * size;
    }
}

void hp_piece_combine(const struct backend *b, const struct piece *piece, enum combine combine,
                      enum real real, char *data, char *apart)
{
    struct walk w = walk_through(piece);
    struct rows r;
    size_t size = hp_real_bytes(real);
    while (next_rows(&w, &r)) {
        struct rows_views v = views_of(&r, size, data, apart);
        b->combine(b, &v.here, &v.apart, combine, real);
        apart += (size_t)(r.n_rows * r.n) * size;
    }
}
