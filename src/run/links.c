/* What messages between ranks take, and sums of what came: all ranks at once, as the executor
 * does it. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "kernel/kernel.h"
#include "profile/profile.h"
#include "run/measure.h"

enum {
    CHUNK_BYTES = 1 << 20, /* as messages of training are sent */
    LEAST_BYTES = 64,
    MOST_BYTES = 1 << 22,
    BUFFER_BYTES = 1 << 24, /* walked through: what is sent seldom lies in a cache */
    TIMES = 48,
    TAG = 1,
};

struct link_bench {
    struct hypar_ranks *ranks;
    struct transport transport;
    int rank, n;
    char *from, *to;
    size_t at; /* of what is sent, in the buffers */
    char *staging;
    int *request;
    double second[TIMES];
};

static void wait_for(const struct link_bench *b, int request)
{
    while (!b->transport.done(b->transport.who, request))
        b->transport.yield(b->transport.who);
}

/* Each rank sends to the next one, and receives from the one before, in chunks. */
static void shift(struct link_bench *b, size_t bytes)
{
    enum { MOST_CHUNKS = MOST_BYTES / CHUNK_BYTES };
    int request[2 * MOST_CHUNKS], n = 0;
    const struct transport *t = &b->transport;
    for (size_t at = 0; at < bytes; at += CHUNK_BYTES) {
        size_t some = bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES;
        request[n++] =
            t->receive(t->who, b->to + b->at + at, some, (b->rank + b->n - 1) % b->n, TAG);
        request[n++] = t->send(t->who, b->from + b->at + at, some, (b->rank + 1) % b->n, TAG);
    }
    for (int i = 0; i < n; i++)
        wait_for(b, request[i]);
}

static void sum(struct link_bench *b, size_t bytes)
{
    struct box box = { .n_dims = 1, .dim = { { 0, (int64_t)(bytes / sizeof(float)) } } };
    struct view to = hp_dense_view(b->to + b->at, &box);
    struct view from = hp_dense_view(b->from + b->at, &box);
    hp_view_combine(&to, &from, COMBINE_SUM, REAL_F32);
}

static int send_piece(const struct link_bench *b, int piece, size_t bytes, int to, int tag)
{
    const struct transport *t = &b->transport;
    return t->send(t->who, b->from + b->at + (size_t)piece * bytes, bytes, to, tag);
}

/* Contributions to the rank's own piece, put together one after another. */
static void sum_own(struct link_bench *b, size_t bytes)
{
    const struct transport *t = &b->transport;
    struct box box = { .n_dims = 1, .dim = { { 0, (int64_t)(bytes / sizeof(float)) } } };
    struct view own = hp_dense_view(b->from + b->at + (size_t)b->rank * bytes, &box);
    struct view came = hp_dense_view(b->staging, &box);
    for (int r = 0; r < b->n; r++) {
        if (r == b->rank)
            continue;
        wait_for(b, t->receive(t->who, b->staging, bytes, r, TAG));
        hp_view_combine(&own, &came, COMBINE_SUM, REAL_F32);
    }
}

/* A sum over all ranks by the exchange rule: each owns a piece. */
static void sum_over_ranks(struct link_bench *b, size_t bytes)
{
    const struct transport *t = &b->transport;
    size_t piece = bytes / (size_t)b->n / sizeof(float) * sizeof(float);
    int n = 0;
    for (int r = 0; r < b->n; r++) {
        if (r == b->rank)
            continue;
        b->request[n++] = send_piece(b, r, piece, r, TAG);
        b->request[n++] =
            t->receive(t->who, b->to + b->at + (size_t)r * piece, piece, r, TAG + 1);
    }
    sum_own(b, piece);
    for (int r = 0; r < b->n; r++)
        if (r != b->rank)
            b->request[n++] = send_piece(b, b->rank, piece, r, TAG + 1);
    for (int i = 0; i < n; i++)
        wait_for(b, b->request[i]);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The mean over ranks of a low one of several times; known to rank 0. */
static double measure(struct link_bench *b, void (*what)(struct link_bench *, size_t),
                      size_t bytes)
{
    enum { WARM_UP = 3 };
    double mine, other;
    hypar_ranks_agree(b->ranks, HYPAR_OK, NULL); /* all begin */
    for (int i = -WARM_UP; i < TIMES; i++) {
        b->at = (b->at + bytes) % BUFFER_BYTES;
        b->at = b->at + bytes > BUFFER_BYTES ? 0 : b->at;
        double start = hp_now_s();
        what(b, bytes);
        b->second[i < 0 ? 0 : i] = hp_now_s() - start;
    }
    qsort(b->second, TIMES, sizeof *b->second, by_size);
    mine = b->second[TIMES / 4]; /* a rank that lost its core makes others wait */
    if (b->rank != 0)
        hp_send_now(&b->transport, &mine, sizeof mine, 0, TAG);
    for (int r = 1; b->rank == 0 && r < b->n; r++) {
        hp_receive_now(&b->transport, &other, sizeof other, r, TAG);
        mine += other;
    }
    return mine / b->n;
}

void hypar_measure_links(struct hypar_ranks *ranks, const char *device,
                         struct hypar_profile *profile)
{
    struct link_bench b = { .ranks = ranks,
                            .rank = hypar_ranks_rank(ranks),
                            .n = hypar_ranks_count(ranks),
                            .from = hp_array_new(BUFFER_BYTES),
                            .to = hp_array_new(BUFFER_BYTES),
                            .staging = hp_array_new(CHUNK_BYTES) };
    b.request = hp_array_new(3 * (size_t)b.n * sizeof *b.request);
    memset(b.from, 0, BUFFER_BYTES);
    memset(b.to, 0, BUFFER_BYTES);
    if (b.n > 1)
        b.transport = hp_ranks_transport(ranks);
    for (size_t bytes = LEAST_BYTES; b.n > 1 && bytes <= MOST_BYTES; bytes *= 4) {
        double both = measure(&b, shift, bytes), added = measure(&b, sum, bytes);
        if (b.rank != 0)
            continue;
        hp_profile_add_point(profile, device, "message", (double)bytes, both / 2);
        hp_profile_add_point(profile, device, "sum", (double)bytes, added);
    }
    for (size_t bytes = 4096; b.n > 1 && bytes <= BUFFER_BYTES; bytes *= 4) {
        double all =
            bytes / (size_t)b.n <= CHUNK_BYTES ? measure(&b, sum_over_ranks, bytes) : 0;
        if (b.rank == 0 && all > 0)
            hp_profile_add_point(profile, device, "sum over ranks", (double)bytes, all);
    }
    hp_array_free(b.staging);
    hp_array_free(b.request);
    hp_array_free(b.from);
    hp_array_free(b.to);
}
