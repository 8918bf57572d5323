/* Measuring messages between ranks, and sums of received data: all ranks at once, as in the
 * executor. */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/sort.h"
#include "kernel/kernel.h"
#include "profile/profile.h"
#include "run/exec/pieces.h"
#include "run/measure.h"

enum {
    CHUNK_BYTES = 1 << 20, /* the chunks of training messages */
    LEAST_BYTES = 64,
    MOST_BYTES = 1 << 22,
    BUFFER_BYTES = 1 << 24, /* walked through, so that sent data is seldom in a cache */
    ROWS_BYTES = 1 << 18,   /* gathered and scattered: one row in ROW_OF */
    ROW_OF = 16,
    TIMES = 48,
    FEWER_TIMES = 12,
    TAG = 1,
};

struct link_bench {
    struct hypar_ranks *ranks;
    struct transport transport;
    struct backend host;
    int rank, n;
    int next, previous; /* receiver and sender */
    char *from, *to;
    size_t at; /* position in the buffers */
    int turn;  /* of rows that are gathered */
    char *staging;
    int *request;
    double second[TIMES];
    double *of_rank;
};

static void wait_for(const struct link_bench *b, int request)
{
    while (!b->transport.done(b->transport.who, request))
        b->transport.yield(b->transport.who);
}

/* Each rank sends to the next one and receives from the previous one, in chunks. */
static void shift(struct link_bench *b, size_t bytes)
{
    enum { MOST_CHUNKS = MOST_BYTES / CHUNK_BYTES };
    int request[2 * MOST_CHUNKS], n = 0;
    const struct transport *t = &b->transport;
    for (size_t at = 0; at < bytes; at += CHUNK_BYTES) {
        size_t some = bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES;
        request[n++] = t->receive(t->who, b->to + b->at + at, some, b->previous, TAG);
        request[n++] = t->send(t->who, b->from + b->at + at, some, b->next, TAG);
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

/* Gather rows of this many bytes into a dense array, and scatter them back. */
static void gather_rows(struct link_bench *b, size_t bytes)
{
    int64_t n = (int64_t)(bytes / sizeof(float)), rows = (int64_t)(ROWS_BYTES / bytes);
    char *data = b->from + (size_t)(b->turn++ % (BUFFER_BYTES / ROWS_BYTES / ROW_OF)) *
                               ROWS_BYTES * ROW_OF;
    struct piece piece = { .view = { .box = { 2, { { 0, rows }, { 0, n } } },
                                     .at = { 0, { ROW_OF * n, 1 } } },
                           .hi = rows * n };
    hp_piece_copy(&b->host, &piece, sizeof(float), data, b->staging, true);
    hp_piece_copy(&b->host, &piece, sizeof(float), data, b->staging, false);
}

static int send_piece(const struct link_bench *b, int piece, size_t bytes, int to, int tag)
{
    const struct transport *t = &b->transport;
    return t->send(t->who, b->from + b->at + (size_t)piece * bytes, bytes, to, tag);
}

/* Add contributions to the rank's own piece, one after another. */
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

/* A sum over all ranks by the exchange rule: each rank owns a piece. */
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

/* Each rank has a piece; in the end all ranks have all pieces. */
static void gather_over_ranks(struct link_bench *b, size_t bytes)
{
    const struct transport *t = &b->transport;
    size_t piece = bytes / (size_t)b->n;
    int n = 0;
    for (int r = 0; r < b->n; r++)
        for (int to = 0; to < b->n; to++)
            if (r == b->rank && to != r)
                b->request[n++] = send_piece(b, 0, piece, to, TAG);
            else if (r != b->rank && to == b->rank)
                b->request[n++] =
                    t->receive(t->who, b->to + b->at + (size_t)r * piece, piece, r, TAG);
    for (int i = 0; i < n; i++)
        wait_for(b, b->request[i]);
}

/* The median of several times. */
static double median_s(struct link_bench *b, void (*what)(struct link_bench *, size_t),
                       size_t bytes, int times)
{
    enum { WARM_UP = 3 };
    for (int i = -WARM_UP; i < times; i++) {
        b->at = (b->at + bytes) % BUFFER_BYTES;
        b->at = b->at + bytes > BUFFER_BYTES ? 0 : b->at;
        double start = hp_now_s();
        what(b, bytes);
        b->second[i < 0 ? 0 : i] = hp_now_s() - start;
    }
    return hp_median(b->second, times);
}

/* The mean over the slowest eighth of the ranks, for which the others wait; known to rank 0. */
static double slowest(struct link_bench *b, double mine)
{
    double *of = b->of_rank, sum = 0;
    int n = (b->n + 7) / 8;
    if (b->rank != 0)
        hp_send_now(&b->transport, &mine, sizeof mine, 0, TAG);
    of[0] = mine;
    for (int r = 1; b->rank == 0 && r < b->n; r++)
        hp_receive_now(&b->transport, &of[r], sizeof *of, r, TAG);
    if (b->rank != 0)
        return 0;
    hp_sort_doubles(of, b->n);
    for (int i = b->n - n; i < b->n; i++)
        sum += of[i];
    return sum / n;
}

/* Measure on all ranks at once. */
static double measure(struct link_bench *b, void (*what)(struct link_bench *, size_t),
                      size_t bytes)
{
    hypar_ranks_agree(b->ranks, HYPAR_OK, NULL); /* so that all begin together */
    return slowest(b, median_s(b, what, bytes, bytes < CHUNK_BYTES ? TIMES : FEWER_TIMES));
}

/* Two ranks send to each other while the others wait: one pair after another. */
static double measure_alone(struct link_bench *b, size_t bytes)
{
    struct link_bench pair = *b;
    double mine = 0;
    pair.next = pair.previous = b->rank ^ 1;
    for (int i = 0; i < b->n / 2; i++) {
        hypar_ranks_agree(b->ranks, HYPAR_OK, NULL);
        if (b->rank / 2 == i)
            mine = median_s(&pair, shift, bytes, FEWER_TIMES);
    }
    return slowest(b, mine);
}

/* Into the profile ----------------------------------------------------------------------- */

struct point_maker {
    struct link_bench bench;
    struct hypar_profile *profile; /* of rank 0 */
    const char *device;
    bool anew;
};

/* Average with the known value: the load of a computer varies. */
static void add_point(const struct point_maker *m, const char *of, size_t bytes, double seconds)
{
    if (m->bench.rank != 0)
        return;
    double before = m->anew ? 0 : hp_profile_point(m->profile, m->device, of, (double)bytes);
    if (before > 0)
        seconds = (before + seconds) / 2;
    hp_profile_add_point(m->profile, m->device, of, (double)bytes, seconds);
}

static void measure_messages(struct point_maker *m)
{
    struct link_bench *b = &m->bench;
    for (size_t bytes = LEAST_BYTES; bytes <= MOST_BYTES; bytes *= 4) {
        add_point(m, "message", bytes, measure(b, shift, bytes) / 2);
        add_point(m, "message alone", bytes, measure_alone(b, bytes) / 2);
        add_point(m, "sum", bytes, measure(b, sum, bytes));
    }
}

static void measure_rows(struct point_maker *m)
{
    for (size_t bytes = sizeof(float); bytes < ROWS_BYTES; bytes *= 4) {
        double each =
            (double)bytes / (2 * ROWS_BYTES); /* the time of one row, there and back */
        add_point(m, "row", bytes, measure(&m->bench, gather_rows, bytes) * each);
    }
}

static void measure_all_ranks(struct point_maker *m)
{
    struct link_bench *b = &m->bench;
    for (size_t bytes = 4096; bytes <= BUFFER_BYTES; bytes *= 4) {
        if (bytes / (size_t)b->n > CHUNK_BYTES)
            continue;
        add_point(m, "sum over ranks", bytes, measure(b, sum_over_ranks, bytes));
        add_point(m, "gather over ranks", bytes, measure(b, gather_over_ranks, bytes));
    }
}

void hypar_measure_links(struct hypar_ranks *ranks, const char *device, bool anew,
                         struct hypar_profile *profile)
{
    struct point_maker m = { .profile = profile, .device = device, .anew = anew };
    struct link_bench *b = &m.bench;
    int n = hypar_ranks_count(ranks), rank = hypar_ranks_rank(ranks);
    if (n < 2)
        return;
    *b = (struct link_bench){ .ranks = ranks,
                              .transport = hp_ranks_transport(ranks),
                              .host = hp_host_backend(NULL),
                              .rank = rank,
                              .n = n,
                              .next = (rank + 1) % n,
                              .previous = (rank + n - 1) % n,
                              .from = hp_array_new(BUFFER_BYTES),
                              .to = hp_array_new(BUFFER_BYTES),
                              .staging = hp_array_new(CHUNK_BYTES) };
    b->request = hp_array_new(3 * (size_t)n * sizeof *b->request);
    b->of_rank = hp_array_new((size_t)n * sizeof *b->of_rank);
    memset(b->from, 0, BUFFER_BYTES);
    memset(b->to, 0, BUFFER_BYTES);
    measure_messages(&m);
    measure_rows(&m);
    measure_all_ranks(&m);
    hp_array_free(b->staging);
    hp_array_free(b->request);
    hp_array_free(b->of_rank);
    hp_array_free(b->from);
    hp_array_free(b->to);
}
