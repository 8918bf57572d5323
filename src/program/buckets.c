/* Gradient buckets: consecutive all-reduces, or reduce-scatters, over the same devices are sent
 * as one message until a bucket is full. */
#include "program/lowering.h"

struct open_bucket {
    int first, last;
    double bytes;
};

struct buckets hp_find_buckets(const struct lowering *s, struct arena *arena)
{
    const struct training_graph *k = &s->training;
    struct buckets b = { .base = NEW(arena, int, k->n_tail + 1) };
    struct arena scratch = { 0 };
    struct table groups[2] = { { 0 } }; /* one for all-reduces, one for reduce-scatters */
    int n_groups = 0;
    for (int x = 0; x < k->n_tail; x++)
        b.base[x + 1] = b.base[x] + s->tail[x]->n_comms;
    b.lead = NEW(arena, int, b.base[k->n_tail]);
    b.next = NEW(arena, int, b.base[k->n_tail]);
    b.exchange = NEW(arena, int, b.base[k->n_tail]);
    b.bytes = NEW(arena, double, b.base[k->n_tail]);
    struct open_bucket *open = NEW(&scratch, struct open_bucket, b.base[k->n_tail]);
    for (int x = 0; x < k->n_tail; x++)
        for (int c = 0; c < s->tail[x]->n_comms; c++) {
            const struct comm *comm = &s->tail[x]->comm[c];
            const struct place *place = &k->exchange[k->n_exchanges + x].place;
            int me = b.base[x] + c;
            b.lead[me] = b.next[me] = -1;
            b.exchange[me] = x;
            bool scatter = comm->kind == COMM_REDUCE_SCATTER;
            if ((comm->kind != COMM_ALL_REDUCE && !scatter) || !place->grad ||
                k->n_exchanges + x == k->norm || s->options.bucket_bytes <= 0)
                continue;
            int g = hp_table_put(&groups[scatter], &scratch, comm->device,
                                 (size_t)comm->n_devices * sizeof(int), n_groups);
            if (g == n_groups)
                open[n_groups++].first = -1;
            if (open[g].first < 0)
                open[g] = (struct open_bucket){ me, me, 0 };
            else
                b.next[open[g].last] = me;
            open[g].last = me;
            open[g].bytes +=
                hp_comm_elements(s->tail[x], comm) * hp_message_bytes(s->plan, *place);
            b.lead[me] = open[g].first;
            b.bytes[open[g].first] = open[g].bytes;
            if (open[g].bytes >= s->options.bucket_bytes)
                open[g].first = -1;
        }
    hp_arena_free(&scratch);
    return b;
}
