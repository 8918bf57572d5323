/* The processes of a run. Only this file calls MPI, and it loads MPI only in processes that
 * were started as ranks. */
#include "run/ranks.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hypar/tool.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "run/stall.h"

/* Variables that launchers set for the processes that they start. */
static const char *const launched_by[] = { "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE",
                                           "PMI_RANK", "MPI_LOCALRANKID" };

bool hypar_ranks_launched(void)
{
    for (size_t i = 0; i < sizeof launched_by / sizeof *launched_by; i++)
        if (getenv(launched_by[i]))
            return true;
    return false;
}

/* Launchers that report the number of started processes, and the support that each needs for
 * MPI to connect them. The first variable that is set counts: mpirun may run inside Slurm. */
static const struct launcher {
    const char *variable, *name, *expected;
} launchers[] = {
    { "OMPI_COMM_WORLD_SIZE", "mpirun", "the mpirun of the Open MPI that hypar loads" },
    { "SLURM_STEP_NUM_TASKS", "srun", "srun --mpi=pmix" },
    { "SLURM_NTASKS", "srun", "srun --mpi=pmix" },
    { "PMI_SIZE", "a launcher by PMI", "mpirun of Open MPI, or srun --mpi=pmix" },
    { "MPI_LOCALNRANKS", "mpirun of another MPI", "mpirun of Open MPI" },
};

bool hypar_ranks_apart(char *text, size_t size)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const struct launcher *l = &launchers[i];
        long n = getenv(l->variable) ? strtol(getenv(l->variable), NULL, 10) : 0;
        if (n < 1)
            continue;
        if (n > 1)
            snprintf(text, size,
                     "%s started %ld processes, which MPI does not join: expected %s", l->name,
                     n, l->expected);
        return n > 1;
    }
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
    int *unused;   /* by request: the next unused request; -1 */
    int *peer;     /* by request: the other rank; -1: unused */
    int n_requests, capacity, unused_capacity, peer_capacity, first_unused;
    int most_tags; /* tags above it are those of enum own_tag */
    struct stall stall;
    unsigned yields;
    bool joined; /* MPI has been initialised */
    bool agreed; /* on a failure: ranks end one by one */
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
    hp_arena_free(&ranks->arena);
}

#ifdef HYPAR_WITH_MPI
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include "base/files/library.h"

/* MPI's functions and handles, loaded in a process that was started as a rank. */
static struct {
    int (*init)(int *argc, char ***argv);
    int (*finalize)(void);
    int (*abort_all)(MPI_Comm comm, int code);
    int (*comm_rank)(MPI_Comm comm, int *rank);
    int (*comm_size)(MPI_Comm comm, int *size);
    int (*comm_get_attr)(MPI_Comm comm, int key, void *value, int *found);
    int (*allgather)(const void *from, int n_from, MPI_Datatype type_from, void *to, int n_to,
                     MPI_Datatype type_to, MPI_Comm comm);
    int (*bcast)(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm);
    int (*isend)(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                 MPI_Request *request);
    int (*irecv)(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                 MPI_Request *request);
    int (*test)(MPI_Request *request, int *done, MPI_Status *status);
    int (*request_free)(MPI_Request *request);
    int (*iprobe)(int from, int tag, MPI_Comm comm, int *there, MPI_Status *status);
    int (*recv)(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                MPI_Status *status);
    MPI_Comm world;
    MPI_Datatype int32, byte;
} mpi;

/* Handles of Open MPI are addresses of objects; those of MPICH and its relatives are
 * constants. */
static const struct library_symbol symbols[] = {
    { "MPI_Init", &mpi.init },
    { "MPI_Finalize", &mpi.finalize },
    { "MPI_Abort", &mpi.abort_all },
    { "MPI_Comm_rank", &mpi.comm_rank },
    { "MPI_Comm_size", &mpi.comm_size },
    { "MPI_Comm_get_attr", &mpi.comm_get_attr },
    { "MPI_Allgather", &mpi.allgather },
    { "MPI_Bcast", &mpi.bcast },
    { "MPI_Isend", &mpi.isend },
    { "MPI_Irecv", &mpi.irecv },
    { "MPI_Test", &mpi.test },
    { "MPI_Request_free", &mpi.request_free },
    { "MPI_Iprobe", &mpi.iprobe },
    { "MPI_Recv", &mpi.recv },
#ifdef OPEN_MPI
    { "ompi_mpi_comm_world", &mpi.world },
    { "ompi_mpi_int32_t", &mpi.int32 },
    { "ompi_mpi_byte", &mpi.byte },
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
#endif
    return hp_in(err, status, "MPI cannot be loaded");
}

enum own_tag { TAG_AGREE, TAG_STALL, N_OWN_TAGS = TAG_STALL + STALL_WORD_COUNT };

/* An error inside MPI ends the program; the launcher then ends the other ranks. */
static enum hypar_status join(struct hypar_ranks *ranks, struct hypar_error *err)
{
    int *most, found;
    hypar_local_all_cores(); /* its first call forks, which must happen before MPI starts */
    TRY(load(err));
    if (mpi.init(NULL, NULL) != MPI_SUCCESS)
        return hp_fail(err, HYPAR_RUNTIME, "MPI cannot be started");
    ranks->joined = true;
    mpi.comm_rank(mpi.world, &ranks->rank);
    mpi.comm_size(mpi.world, &ranks->n);
    mpi.comm_get_attr(mpi.world, MPI_TAG_UB, &most, &found);
    ranks->most_tags = (found ? *most : 32767) - N_OWN_TAGS;
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

/* By messages to and from rank 0, not by an MPI collective: a rank that waits in a collective
 * cannot tell for which rank it waits. */
enum hypar_status hypar_ranks_agree(struct hypar_ranks *ranks, enum hypar_status status,
                                    struct hypar_error *err)
{
    struct said {
        int32_t first, status; /* the first rank with an error; `n`: none */
    } said = { status == HYPAR_OK ? ranks->n : ranks->rank, (int32_t)status }, other;
    if (ranks->n == 1)
        return status;
    struct transport t = hp_ranks_transport(ranks);
    int tag = ranks->most_tags + TAG_AGREE;
    for (int r = 1; ranks->rank == 0 && r < ranks->n; r++) {
        hp_receive_now(&t, &other, sizeof other, r, tag);
        said = other.first < said.first ? other : said;
    }
    for (int r = 1; ranks->rank == 0 && r < ranks->n; r++)
        hp_send_now(&t, &said, sizeof said, r, tag);
    if (ranks->rank != 0) {
        hp_send_now(&t, &said, sizeof said, 0, tag);
        hp_receive_now(&t, &said, sizeof said, 0, tag);
    }
    if (said.first == ranks->n)
        return HYPAR_OK;
    if (err && ranks->rank != said.first)
        err->text[0] = '\0';
    ranks->agreed = true;
    return (enum hypar_status)said.status;
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
    r->peer = GROW(&r->arena, int, r->peer, r->n_requests, &r->peer_capacity);
    return r->n_requests++;
}

/* MPI counts messages in units of 4 bytes, so that 8 GiB fit an int. */
static int units(size_t bytes)
{
    return (int)((bytes + 3) / 4);
}

static int mpi_send(void *who, const void *data, size_t bytes, int to, int tag)
{
    struct hypar_ranks *r = who;
    int i = new_request(r);
    mpi.isend(data, units(bytes), mpi.int32, to, tag, mpi.world, (MPI_Request *)r->request + i);
    r->peer[i] = to;
    return i;
}

static int mpi_receive(void *who, void *data, size_t bytes, int from, int tag)
{
    struct hypar_ranks *r = who;
    int i = new_request(r);
    mpi.irecv(data, units(bytes), mpi.int32, from, tag, mpi.world,
              (MPI_Request *)r->request + i);
    r->peer[i] = from;
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
        r->peer[request] = -1;
        r->stall.since_s = 0;
    }
    return done;
}

static void mpi_yield(void *who)
{
    enum { CALLS = 16 }; /* the clock is read in one call of this many */
    struct hypar_ranks *r = who;
    if (r->stall.tell && ++r->yields % CALLS == 0)
        hp_stall_look(&r->stall, hp_now_s());
    sched_yield();
}

/* The sender does not wait; the word lives as long as the ranks. */
static void say(void *who, enum stall_word word, int to, int32_t number)
{
    struct hypar_ranks *r = who;
    int tag = r->most_tags + TAG_STALL + (int)word;
    int32_t *said = NEW(&r->arena, int32_t, 1);
    MPI_Request request;
    *said = number;
    mpi.isend(said, 1, mpi.int32, to, tag, mpi.world, &request);
    mpi.request_free(&request);
}

static bool hear(void *who, enum stall_word word, int *from, int32_t *number)
{
    struct hypar_ranks *r = who;
    int tag = r->most_tags + TAG_STALL + (int)word, there;
    MPI_Status about;
    mpi.iprobe(MPI_ANY_SOURCE, tag, mpi.world, &there, &about);
    if (!there)
        return false;
    *from = about.MPI_SOURCE;
    mpi.recv(number, 1, mpi.int32, *from, tag, mpi.world, MPI_STATUS_IGNORE);
    return true;
}

static void find_awaited(void *who, bool *awaited)
{
    const struct hypar_ranks *r = who;
    for (int i = 0; i < r->n_requests; i++)
        if (r->peer[i] >= 0)
            awaited[r->peer[i]] = true;
}

void hypar_ranks_watch(struct hypar_ranks *ranks, double after_s,
                       void (*tell)(void *who, int rank, const char *host, double waited_s),
                       void *who)
{
    if (ranks->n == 1)
        return;
    char own[STALL_HOST_BYTES] = "";
    gethostname(own, sizeof own - 1);
    int bytes = ranks->n * STALL_HOST_BYTES;
    char *hosts = NEW(&ranks->arena, char, bytes);
    mpi.allgather(own, STALL_HOST_BYTES, mpi.byte, hosts, STALL_HOST_BYTES, mpi.byte,
                  mpi.world);
    ranks->stall = (struct stall){ .after_s = after_s,
                                   .tell = tell,
                                   .who = who,
                                   .rank = ranks->rank,
                                   .n = ranks->n,
                                   .hosts = hosts,
                                   .awaited = NEW(&ranks->arena, bool, ranks->n),
                                   .answered = NEW(&ranks->arena, bool, ranks->n),
                                   .told = NEW(&ranks->arena, bool, ranks->n),
                                   .ranks = ranks,
                                   .say = say,
                                   .hear = hear,
                                   .find_awaited = find_awaited };
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
void hypar_ranks_watch(struct hypar_ranks *ranks, double after_s,
                       void (*tell)(void *who, int rank, const char *host, double waited_s),
                       void *who)
{
    (void)ranks;
    (void)after_s;
    (void)tell;
    (void)who;
}

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
