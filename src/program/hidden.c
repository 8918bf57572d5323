/* Hidden redistributions: two operators divide a tensor alike, judged by degrees and axis
 * letters, but the tensor moves between them. `hypar check` warns of these. */
#include "program/lowering.h"

/* The dimension of operand `o` that axis `a` indexes; -1: none. */
static int indexed_dim(const struct nest *nest, int o, int a)
{
    const struct operand *operand = &nest->operand[o];
    for (int d = 0; d < operand->n_dims; d++)
        for (int i = 0; i < operand->dim[d].n_axes; i++)
            if (operand->dim[d].axis[i] == a)
                return d;
    return -1;
}

/* A window reads beyond its part's border; users expect that. */
static bool is_window(const struct nest *nest, int o, int d)
{
    const struct dim_map *map = &nest->operand[o].dim[d];
    return map->kind == DIM_AXIS && (map->span != 1 || map->stride != 1);
}

static bool is_copies(const struct op_parts *parts, int a)
{
    return parts->nest->axis[a].role == HYPAR_COPY;
}

/* Is axis `b` of the reader split as axis `a` of the writer: into as many parts, along the same
 * dimension of the tensor or along an axis with the same letter? */
static bool split_alike(const struct op_parts *writer, int wo, int a,
                        const struct op_parts *reader, int ro, int b)
{
    int written = indexed_dim(writer->nest, wo, a), read = indexed_dim(reader->nest, ro, b);
    if (hp_degree(reader->split, b) != hp_degree(writer->split, a))
        return false;
    if (written < 0 || read < 0) /* a sum, or the whole tensor is read: visibly another split */
        return is_copies(writer, a) && is_copies(reader, b);
    return !is_window(reader->nest, ro, read) &&
           (read == written || reader->nest->axis[b].name[0] == writer->nest->axis[a].name[0]);
}

/* Is each split axis of one operator split alike in the other, on the same devices? */
static bool look_alike(const struct op_parts *writer, int wo, const struct op_parts *reader,
                       int ro)
{
    axis_set matched = 0;
    bool cut = false;
    if (writer->n_parts != reader->n_parts)
        return false;
    for (int p = 0; p < writer->n_parts; p++)
        if (writer->device[p] != reader->device[p])
            return false;
    for (int a = 0; a < writer->nest->n_axes; a++) {
        if (hp_degree(writer->split, a) <= 1)
            continue;
        int b = 0;
        while (b < reader->nest->n_axes &&
               (matched >> b & 1 || !split_alike(writer, wo, a, reader, ro, b)))
            b++;
        if (b == reader->nest->n_axes)
            return false;
        matched |= (axis_set)1 << b;
        cut |= !is_copies(writer, a);
    }
    return cut; /* as many parts, so no other axis of the reader is split */
}

/* The elements that comms send to a reader. */
static double received_elements(const struct pattern *pattern, int reader, bool *counted)
{
    double elements = 0;
    for (int c = 0; c < pattern->n_comms; c++)
        counted[c] = false;
    for (int w = pattern->reader_wait[reader]; w < pattern->reader_wait[reader + 1]; w++) {
        int comm = pattern->wait[w].comm;
        if (comm >= 0 && !counted[comm])
            elements += pattern->comm[comm].sent_elements;
        if (comm >= 0)
            counted[comm] = true;
    }
    return elements;
}

static void look_at_exchange(struct lowering *s, int d, struct hypar_hidden_moves *out)
{
    const struct exchange *x = &s->training.exchange[d];
    const struct lowered_body *body = &s->body[0];
    const struct pattern *pattern = body->pattern[d];
    if (x->place.grad || x->backward || x->n_writers != 1 || !pattern->n_comms)
        return;
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    bool *counted = NEW(&s->scratch, bool, pattern->n_comms);
    for (int r = 0; r < x->n_readers; r++) {
        const struct source *writer = &x->writer[0];
        const struct reader *reader = &x->reader[r];
        if (reader->op == writer->op || !look_alike(body->parts[writer->op], writer->operand,
                                                    body->parts[reader->op], reader->operand))
            continue;
        double bytes = received_elements(pattern, r, counted) *
                       hp_message_bytes(s->plan, x->place) *
                       (s->iteration.delayed ? 1 : s->iteration.n_micro);
        if (bytes > 0 && !out->count++) {
            out->writer = writer->op;
            out->reader = reader->op;
        }
        out->bytes += bytes;
    }
    hp_arena_release(&s->scratch, mark);
}

/* "k=4 n=2": the split axes of an operator. */
static void put_split(char *text, size_t size, const struct hypar_plan *plan, int op)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    size_t n = 0;
    for (int a = 0; a < nest->n_axes; a++)
        if (hp_degree(&plan->ops[op].split, a) > 1 && n < size)
            n += (size_t)snprintf(text + n, size - n, "%s%s=%d", n ? " " : "",
                                  nest->axis[a].name, hp_degree(&plan->ops[op].split, a));
}

static void put_warning(const struct hypar_plan *plan, struct hypar_hidden_moves *out)
{
    char writer[64] = "", reader[64] = "", bytes[32], more[64] = "";
    put_split(writer, sizeof writer, plan, out->writer);
    put_split(reader, sizeof reader, plan, out->reader);
    if (out->count > 1)
        snprintf(more, sizeof more, ", with %d more such pairs", out->count - 1);
    snprintf(out->text, sizeof out->text,
             "'%.80s' (%s) and '%.80s' (%s) are split alike, on the same devices, but not into "
             "the same elements: what is between them is sent, %s a step, forward%s",
             plan->graph->ops[out->writer].name, writer, plan->graph->ops[out->reader].name,
             reader, hypar_format_quantity(bytes, out->bytes, HYPAR_UNIT_BYTES), more);
}

void hp_hidden_moves(struct lowering *lowering, struct hypar_hidden_moves *out)
{
    *out = (struct hypar_hidden_moves){ .writer = -1, .reader = -1 };
    for (int d = 0; d < lowering->training.n_exchanges; d++)
        look_at_exchange(lowering, d, out);
    if (out->count)
        put_warning(lowering->plan, out);
}

enum hypar_status hypar_plan_hidden_moves(const struct hypar_plan *plan,
                                          struct hypar_hidden_moves *out,
                                          struct hypar_error *err)
{
    struct lowering *lowering;
    *out = (struct hypar_hidden_moves){ .writer = -1, .reader = -1 };
    TRY(hp_check_lowerable(plan, err));
    TRY(hp_lowering_make(&lowering, plan,
                         &(struct hypar_lower_options){ .local_bn = plan->simulation.local_bn },
                         NULL, err));
    hp_hidden_moves(lowering, out);
    hp_lowering_free(lowering);
    return HYPAR_OK;
}
