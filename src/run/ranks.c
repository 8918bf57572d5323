/* The processes of a run. MPI is called here and nowhere else. */
#include "run/ranks.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"

/* What launchers leave in the environment of the processes that they start. */
static const char *const launched_by[] = { "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE",
                                           "PMI_RANK", "MPI_LOCALRANKID" };

bool hypar_ranks_launched(void)
{
    for (size_t i = 0; i < sizeof launched_by / sizeof *launched_by; i++)
        if (getenv(launched_by[i]))
            return true;
    return false;
}

void hp_send_now(const struct transport *t, const void *data, size_t bytes, int to, int tag)
{
    int request = t->send(t->who, data, bytes, to, tag);
    while (!t->done(t->who, request))
        t->yield(t->who);
}

void hp_receive_now(const struct transport *t, void *data, size_t bytes, int from, int tag)
{
    int request = t->receive(t->who, data, bytes, from, tag);
    while (!t->done(t->who, request))
        t->yield(t->who);
}

struct hypar_ranks {
    struct arena arena;
    int rank, n;
    void *request; /* of MPI */
    int *unused;   /* the next request that is not used, by request; -1 */
    int n_requests, capacity, unused_capacity, first_unused;
    int most_tags;
    bool agreed; /* that something went wrong: they end one by one */
};

int hypar_ranks_rank(const struct hypar_ranks *ranks)
{
    return ranks->rank;
}

int hypar_ranks_count(const struct hypar_ranks *ranks)
{
    return ranks->n;
}

static struct hypar_ranks *new_ranks(void)
{
    struct arena arena = { 0 };
    struct hypar_ranks *ranks = NEW(&arena, struct hypar_ranks, 1);
    ranks->arena = arena;
    ranks->n = 1;
    ranks->first_unused = -1;
    return ranks;
}

static void free_ranks(struct hypar_ranks *ranks)
{
    struct arena arena = ranks->arena; /* they live in it */
    hp_arena_free(&arena);
}

#ifdef HYPAR_WITH_MPI
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

/* MPI's errors end the program: the launcher then ends the other ranks. */
enum hypar_status hypar_ranks_join(struct hypar_ranks **out, struct hypar_error *err)
{
    *out = new_ranks();
    if (!hypar_ranks_launched())
        return HYPAR_OK;
    int *most, found;
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) {
        free_ranks(*out);
        *out = NULL;
        return hp_fail(err, HYPAR_RUNTIME, "MPI cannot be started");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &(*out)->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &(*out)->n);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    (*out)->most_tags = found ? *most : 32767;
    return HYPAR_OK;
}

void hypar_ranks_leave(struct hypar_ranks *ranks, enum hypar_status status)
{
    int started = 0;
    if (!ranks)
        return;
    MPI_Initialized(&started);
    if (started && status != HYPAR_OK && ranks->n > 1 && !ranks->agreed)
        MPI_Abort(MPI_COMM_WORLD, hypar_status_exit_code(status));
    if (started)
        MPI_Finalize();
    free_ranks(ranks);
}

enum hypar_status hypar_ranks_agree(struct hypar_ranks *ranks, enum hypar_status status,
                                    struct hypar_error *err)
{
    int first = status == HYPAR_OK ? ranks->n : ranks->rank, said = (int)status;
    if (ranks->n == 1)
        return status;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == ranks->n)
        return HYPAR_OK;
    MPI_Bcast(&said, 1, MPI_INT, first, MPI_COMM_WORLD);
    if (err && ranks->rank != first)
        err->text[0] = '\0';
    ranks->agreed = true;
    return (enum hypar_status)said;
}

const char *hypar_ranks_share(struct hypar_ranks *ranks, const char *text)
{
    if (ranks->n == 1)
        return text;
    int n = ranks->rank == 0 ? (int)strlen(text) : 0;
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    char *copy = NEW(&ranks->arena, char, n + 1);
    if (ranks->rank == 0)
        memcpy(copy, text, (size_t)n);
    MPI_Bcast(copy, n, MPI_CHAR, 0, MPI_COMM_WORLD);
    return copy;
}

static int new_request(struct hypar_ranks *r)
{
    int i = r->first_unused;
    if (i >= 0) {
        r->first_unused = r->unused[i];
        return i;
    }
    r->request = GROW(&r->arena, MPI_Request, r->request, r->n_requests, &r->capacity);
    r->unused = GROW(&r->arena, int, r->unused, r->n_requests, &r->unused_capacity);
    return r->n_requests++;
}

/* Messages are counted in units of 4 bytes, so that one of 8 GiB can be told. */
static int units(size_t bytes)
{
    return (int)((bytes + 3) / 4);
}

static int mpi_send(void *who, const void *data, size_t bytes, int to, int tag)
{
    struct hypar_ranks *r = who;
    int i = new_request(r);
    MPI_Isend(data, units(bytes), MPI_INT32_T, to, tag, MPI_COMM_WORLD,
              (MPI_Request *)r->request + i);
    return i;
}

static int mpi_receive(void *who, void *data, size_t bytes, int from, int tag)
{
    struct hypar_ranks *r = who;
    int i = new_request(r);
    MPI_Irecv(data, units(bytes), MPI_INT32_T, from, tag, MPI_COMM_WORLD,
              (MPI_Request *)r->request + i);
    return i;
}

static bool mpi_done(void *who, int request)
{
    struct hypar_ranks *r = who;
    int done;
    MPI_Test((MPI_Request *)r->request + request, &done, MPI_STATUS_IGNORE);
    if (done) {
        r->unused[request] = r->first_unused;
        r->first_unused = request;
    }
    return done;
}

static void mpi_yield(void *who)
{
    (void)who;
    sched_yield();
}

struct transport hp_ranks_transport(struct hypar_ranks *ranks)
{
    return (struct transport){ .rank = ranks->rank,
                               .n_ranks = ranks->n,
                               .most_tags = ranks->most_tags,
                               .who = ranks,
                               .send = mpi_send,
                               .receive = mpi_receive,
                               .done = mpi_done,
                               .yield = mpi_yield };
}
#else
enum hypar_status hypar_ranks_join(struct hypar_ranks **out, struct hypar_error *err)
{
    *out = NULL;
    if (hypar_ranks_launched())
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "started as one of several ranks, but built without MPI");
    *out = new_ranks();
    return HYPAR_OK;
}

void hypar_ranks_leave(struct hypar_ranks *ranks, enum hypar_status status)
{
    (void)status;
    if (ranks)
        free_ranks(ranks);
}

enum hypar_status hypar_ranks_agree(struct hypar_ranks *ranks, enum hypar_status status,
                                    struct hypar_error *err)
{
    (void)ranks;
    (void)err;
    return status;
}

const char *hypar_ranks_share(struct hypar_ranks *ranks, const char *text)
{
    (void)ranks;
    return text;
}

struct transport hp_ranks_transport(struct hypar_ranks *ranks)
{
    return (struct transport){ .rank = ranks->rank, .n_ranks = ranks->n };
}
#endif
