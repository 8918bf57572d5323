/* The buffers of one device. */
#include "program/memory/device_buffers.h"

struct collector {
    struct buffer_finder finder;
    struct device_buffers *to;
    const struct device_buffers *like; /* whose parameters these are; NULL: none */
    struct arena *arena;
    int capacity;
};

/* The place of a pass of the body among those of the device. */
static int own_pass(const struct collector *c, int body, int number)
{
    const struct body_passes *p = &c->finder.body[body];
    int device = c->finder.only;
    return number < 0 ? -1
                      : hp_place_in(p->number + p->start[device],
                                    p->start[device + 1] - p->start[device], number);
}

static void add(struct collector *c, int body, const struct buffer *found, int n)
{
    struct device_buffers *to = c->to;
    int first = to->n;
    for (int i = 0; i < n; i++) {
        to->buffer = GROW(c->arena, struct buffer, to->buffer, to->n, &c->capacity);
        struct buffer *b = &to->buffer[to->n++];
        *b = found[i];
        if (body >= 0) {
            b->begin = own_pass(c, body, b->begin);
            b->end = own_pass(c, body, b->end);
        }
        b->copied += b->copied < 0 ? 0 : first;
    }
}

static void collect(struct collector *c, int body, struct place place)
{
    hp_find_buffers(&c->finder, body, place);
    const struct buffer *found = c->finder.buffer;
    int n = c->finder.n;
    if (c->like && body < 0 && n > 0 && hp_is_shared(c->finder.graph, found)) {
        const int *start = &c->like->start[hp_place_index(place)];
        found = c->like->buffer + start[0];
        n = start[1] - start[0];
    }
    add(c, body, found, n);
}

static void collect_masks(struct collector *c, int body)
{
    hp_find_extras(&c->finder, body, true);
    add(c, body, c->finder.buffer, c->finder.n);
}

/* What the device owns of a place that is divided. */
static void collect_pieces(struct collector *c, struct place place)
{
    const struct pattern *p = hp_pieces(c->finder.program->lowering, place);
    int device = c->finder.only;
    int64_t elements = 0;
    for (int i = 0; p && i < p->n_cells; i++)
        elements += hp_owns(&p->cell[i], place, device) ? p->cell[i].elements : 0;
    struct buffer all = { .place = place,
                          .box = { 1, { { 0, elements } } },
                          .device = device,
                          .flat = true,
                          .copied = -1 };
    add(c, -1, &all, elements > 0);
}

struct device_buffers hp_device_buffers(const struct hypar_program *p, int device,
                                        bool in_order, const struct device_buffers *like,
                                        struct arena *arena)
{
    const struct hypar_graph *g = p->plan->graph;
    struct device_buffers out = { .held = hp_held_as(p->lowering,
                                                     in_order ? VIEWS_ONE : VIEWS_APART, arena),
                                  .forward = p->iteration->forward,
                                  .n_bodies = p->n_bodies };
    struct collector c = { .to = &out, .like = like, .arena = arena };
    hp_finder_begin(&c.finder, p, &out.held, device, in_order);
    int n_places = HP_PLACES * g->n_tensors;
    out.start = NEW(arena, int, (1 + p->n_bodies) * (n_places + 1) + 1);
    out.first = NEW(arena, int, p->n_bodies + 1);
    for (int list = 0, at = 0; list <= p->n_bodies; list++) {
        for (int i = 0; i < n_places; i++) {
            struct place place = hp_place_at(i);
            bool lasts = hp_held_lasts(&out.held, g, out.forward, place),
                 running = list == 0 && hp_place_kind(place) == PLACE_VALUE &&
                           hp_is_running(g, place.tensor);
            if ((lasts == (list == 0) || running) &&
                out.held.tensor[hp_place_kind(place)][place.tensor] == place.tensor)
                collect(&c, list - 1, place);
            if (list == 0 && hp_is_divided(&out.held, place))
                collect_pieces(&c, place);
            out.start[++at] = out.n;
        }
        if (list > 0)
            collect_masks(&c, list - 1);
        out.start[++at] = out.n;
    }
    for (int b = 0; b <= p->n_bodies; b++)
        out.first[b] = out.start[hp_buffers_at(g, 1 + b, (struct place){ .tensor = 0 })];
    hp_finder_end(&c.finder);
    return out;
}

/* Looking up ------------------------------------------------------------------------- */

int hp_find_buffer(const struct device_buffers *buffers, const struct hypar_graph *g, int body,
                   bool backward, struct place place, const struct box *box)
{
    int list = hp_held_lasts(&buffers->held, g, buffers->forward, place) ? 0 : 1 + body;
    struct box held = hp_held_box(g, &buffers->held, place, *box);
    struct place as = place;
    as.tensor = buffers->held.tensor[hp_place_kind(place)][place.tensor];
    int at = hp_buffers_at(g, list, as);
    for (int i = buffers->start[at + 1] - 1; i >= buffers->start[at]; i--) { /* copies first */
        const struct buffer *b = &buffers->buffer[i];
        if ((backward || b->copied < 0) && hp_box_contains(&b->box, &held))
            return i;
    }
    return -1;
}

int hp_find_mask(const struct device_buffers *buffers, const struct hypar_graph *g, int body,
                 int tensor, int part)
{
    int at = hp_buffers_at(g, 1 + body, (struct place){ .tensor = g->n_tensors });
    for (int i = buffers->start[at]; i < buffers->start[at + 1]; i++)
        if (buffers->buffer[i].place.tensor == tensor && buffers->buffer[i].part == part)
            return i;
    return -1;
}

int hp_find_running(const struct device_buffers *buffers, int tensor, const struct box *box)
{
    int at = hp_place_index((struct place){ .tensor = tensor });
    for (int i = buffers->start[at]; i < buffers->start[at + 1]; i++)
        if (hp_box_contains(&buffers->buffer[i].box, box))
            return i;
    return -1;
}

/* The address of one element. */
static int64_t address(const struct device_buffers *buffers, const struct hypar_graph *g,
                       int buffer, struct place place, const int64_t *index, int n_dims)
{
    struct box one = { .n_dims = n_dims };
    for (int d = 0; d < n_dims; d++)
        one.dim[d] = (struct range){ index[d], index[d] + 1 };
    one = hp_held_box(g, &buffers->held, place, one);
    const struct box *all = &buffers->buffer[buffer].box;
    int inner = buffers->buffer[buffer].inner;
    int64_t at = 0;
    for (int i = 0; i < all->n_dims + (inner > 0); i++) {
        int d = i < all->n_dims ? i : inner;
        if (d != inner || inner == 0 || i == all->n_dims)
            at = at * (all->dim[d].hi - all->dim[d].lo) + one.dim[d].lo - all->dim[d].lo;
    }
    return at;
}

struct strides hp_place_in_buffer(const struct device_buffers *buffers,
                                  const struct hypar_graph *g, int buffer, struct place place,
                                  const struct box *box)
{
    int64_t index[MAX_DIMS];
    for (int d = 0; d < box->n_dims; d++)
        index[d] = box->dim[d].lo;
    struct strides out = { .offset = address(buffers, g, buffer, place, index, box->n_dims) };
    int64_t dense = 1;
    for (int d = box->n_dims - 1; d >= 0; d--) {
        int64_t extent = box->dim[d].hi - box->dim[d].lo;
        index[d]++;
        out.stride[d] =
            extent > 1 ? address(buffers, g, buffer, place, index, box->n_dims) - out.offset
                       : dense; /* never taken: as if there were nothing around */
        index[d]--;
        dense = out.stride[d] * extent;
    }
    return out;
}
