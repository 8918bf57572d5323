/* The processes of a run. MPI is called here and nowhere else, and loaded for ranks alone. */
#include "run/ranks.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <hypar/tool.h>

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
    bool joined; /* MPI is at work */
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

#include "base/library.h"

/* MPI's functions and handles, once it is loaded: by a process that was started as a rank. */
static struct {
    int (*init)(int *argc, char ***argv);
    int (*finalize)(void);
    int (*abort_all)(MPI_Comm comm, int code);
    int (*comm_rank)(MPI_Comm comm, int *rank);
    int (*comm_size)(MPI_Comm comm, int *size);
    int (*comm_get_attr)(MPI_Comm comm, int key, void *value, int *found);
    int (*allreduce)(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm);
    int (*bcast)(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm);
    int (*isend)(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                 MPI_Request *request);
    int (*irecv)(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                 MPI_Request *request);
    int (*test)(MPI_Request *request, int *done, MPI_Status *status);
    MPI_Comm world;
    MPI_Datatype int32, byte;
    MPI_Op min;
} mpi;

/* Handles of Open MPI are addresses of objects; those of MPICH and its kin are constants. */
static const struct library_symbol symbols[] = {
    { "MPI_Init", &mpi.init },
    { "MPI_Finalize", &mpi.finalize },
    { "MPI_Abort", &mpi.abort_all },
    { "MPI_Comm_rank", &mpi.comm_rank },
    { "MPI_Comm_size", &mpi.comm_size },
    { "MPI_Comm_get_attr", &mpi.comm_get_attr },
    { "MPI_Allreduce", &mpi.allreduce },
    { "MPI_Bcast", &mpi.bcast },
    { "MPI_Isend", &mpi.isend },
    { "MPI_Irecv", &mpi.irecv },
    { "MPI_Test", &mpi.test },
#ifdef OPEN_MPI
    { "ompi_mpi_comm_world", &mpi.world },
    { "ompi_mpi_int32_t", &mpi.int32 },
    { "ompi_mpi_byte", &mpi.byte },
    { "ompi_mpi_op_min", &mpi.min },
#endif
};

static enum hypar_status load(struct hypar_error *err)
{
    void *library;
    enum hypar_status status = hp_library_load(&library, HYPAR_MPI_LIBRARY, LIBRARY_SEEN,
                                               symbols, sizeof symbols / sizeof *symbols, err);
#ifndef OPEN_MPI
    mpi.world = MPI_COMM_WORLD;
    mpi.int32 = MPI_INT32_T;
    mpi.byte = MPI_BYTE;
    mpi.min = MPI_MIN;
#endif
    return hp_in(err, status, "MPI cannot be loaded");
}

/* MPI's errors end the program: the launcher then ends the other ranks. */
static enum hypar_status join(struct hypar_ranks *ranks, struct hypar_error *err)
{
    int *most, found;
    hypar_local_all_cores(); /* its first call forks, which MPI's processes better do not */
    TRY(load(err));
    if (mpi.init(NULL, NULL) != MPI_SUCCESS)
        return hp_fail(err, HYPAR_RUNTIME, "MPI cannot be started");
    ranks->joined = true;
    mpi.comm_rank(mpi.world, &ranks->rank);
    mpi.comm_size(mpi.world, &ranks->n);
    mpi.comm_get_attr(mpi.world, MPI_TAG_UB, &most, &found);
    ranks->most_tags = found ? *most : 32767;
    return HYPAR_OK;
}

enum hypar_status hypar_ranks_join(struct hypar_ranks **out, struct hypar_error *err)
{
    *out = new_ranks();
    if (!hypar_ranks_launched())
        return HYPAR_OK;
    enum hypar_status status = join(*out, err);
    if (status != HYPAR_OK) {
        free_ranks(*out);
        *out = NULL;
    }
    return status;
}

void hypar_ranks_leave(struct hypar_ranks *ranks, enum hypar_status status)
{
    if (!ranks)
        return;
    if (ranks->joined && status != HYPAR_OK && ranks->n > 1 && !ranks->agreed)
        mpi.abort_all(mpi.world, hypar_status_exit_code(status));
    if (ranks->joined)
        mpi.finalize();
    free_ranks(ranks);
}

enum hypar_status hypar_ranks_agree(struct hypar_ranks *ranks, enum hypar_status status,
                                    struct hypar_error *err)
{
    int32_t first = status == HYPAR_OK ? ranks->n : ranks->rank, said = (int32_t)status;
    if (ranks->n == 1)
        return status;
    mpi.allreduce(MPI_IN_PLACE, &first, 1, mpi.int32, mpi.min, mpi.world);
    if (first == ranks->n)
        return HYPAR_OK;
    mpi.bcast(&said, 1, mpi.int32, first, mpi.world);
    if (err && ranks->rank != first)
        err->text[0] = '\0';
    ranks->agreed = true;
    return (enum hypar_status)said;
}

const char *hypar_ranks_share(struct hypar_ranks *ranks, const char *text)
{
    if (ranks->n == 1)
        return text;
    int32_t n = ranks->rank == 0 ? (int32_t)strlen(text) : 0;
    mpi.bcast(&n, 1, mpi.int32, 0, mpi.world);
    char *copy = NEW(&ranks->arena, char, n + 1);
    if (ranks->rank == 0)
        memcpy(copy, text, (size_t)n);
    mpi.bcast(copy, n, mpi.byte, 0, mpi.world);
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
    mpi.isend(data, units(bytes), mpi.int32, to, tag, mpi.world, (MPI_Request *)r->request + i);
    return i;
}

static int mpi_receive(void *who, void *data, size_t bytes, int from, int tag)
{
    struct hypar_ranks *r = who;
    int i = new_request(r);
    mpi.irecv(data, units(bytes), mpi.int32, from, tag, mpi.world,
              (MPI_Request *)r->request + i);
    return i;
}

static bool mpi_done(void *who, int request)
{
    struct hypar_ranks *r = who;
    int done;
    mpi.test((MPI_Request *)r->request + request, &done, MPI_STATUS_IGNORE);
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
    return (struct transport){ .most_tags = ranks->most_tags,
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
    (void)ranks;
    return (struct transport){ .most_tags = 0 };
}
#endif
