/* One collective on SimGrid's simulated machine: the simulated time from a common start until
 * the last rank is done.
 *
 *     collectives KIND ALGORITHM BLOCK BYTES...
 *
 * prints "KIND;ALGORITHM;BYTES;SECONDS" for each size. Which algorithm SimGrid uses is set on
 * its command line; ALGORITHM is only the name of what it is compared with. BYTES are rounded
 * up so that every rank has as much. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
    int rank, n, root;
    MPI_Comm inside, across; /* hierarchical: ranks of a block; those with equal numbers */
    int n_inside, n_across;
    int count;          /* integers of the whole, or of one message */
    MPI_Request far[2]; /* of both kinds at once: what goes through the network */
    int *in, *out, *counts;
};

static void all_reduce(struct job *j)
{
    MPI_Allreduce(j->in, j->out, j->count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void hierarchical(struct job *j)
{
    int part = j->count / j->n_inside;
    for (int i = 0; i < j->n_inside; i++)
        j->counts[i] = part;
    MPI_Reduce_scatter(j->in, j->out, j->counts, MPI_INT, MPI_SUM, j->inside);
    MPI_Allreduce(j->out, j->in, part, MPI_INT, MPI_SUM, j->across);
    MPI_Allgather(j->in, part, MPI_INT, j->out, part, MPI_INT, j->inside);
}

static void reduce_scatter(struct job *j)
{
    for (int i = 0; i < j->n; i++)
        j->counts[i] = j->count / j->n;
    MPI_Reduce_scatter(j->in, j->out, j->counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void all_gather(struct job *j)
{
    int part = j->count / j->n;
    MPI_Allgather(j->in, part, MPI_INT, j->out, part, MPI_INT, MPI_COMM_WORLD);
}

static void broadcast(struct job *j)
{
    MPI_Bcast(j->in, j->count, MPI_INT, j->root, MPI_COMM_WORLD);
}

static void reduce(struct job *j)
{
    MPI_Reduce(j->in, j->out, j->count, MPI_INT, MPI_SUM, j->root, MPI_COMM_WORLD);
}

static void all_to_all(struct job *j)
{
    MPI_Alltoall(j->in, j->count, MPI_INT, j->out, j->count, MPI_INT, MPI_COMM_WORLD);
}

static void send(struct job *j)
{
    if (j->rank == 0)
        MPI_Send(j->in, j->count, MPI_INT, j->n - 1, 0, MPI_COMM_WORLD);
    else if (j->rank == j->n - 1)
        MPI_Recv(j->out, j->count, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* With the neighbours on both sides, at once. */
static void halo(struct job *j)
{
    MPI_Request request[4];
    int up = (j->rank + 1) % j->n, down = (j->rank + j->n - 1) % j->n;
    MPI_Irecv(j->out, j->count, MPI_INT, down, 0, MPI_COMM_WORLD, &request[0]);
    MPI_Irecv(j->out, j->count, MPI_INT, up, 1, MPI_COMM_WORLD, &request[1]);
    MPI_Isend(j->in, j->count, MPI_INT, up, 0, MPI_COMM_WORLD, &request[2]);
    MPI_Isend(j->in, j->count, MPI_INT, down, 1, MPI_COMM_WORLD, &request[3]);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
}

/* To the rank half the machine away: many messages over few links. */
static void opposite(struct job *j)
{
    int to = (j->rank + j->n / 2) % j->n, from = (j->rank + j->n - j->n / 2) % j->n;
    MPI_Sendrecv(j->in, j->count, MPI_INT, to, 0, j->out, j->count, MPI_INT, from, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Both kinds of traffic at once: a message half the machine away, as a sum of gradients is, and
 * beside it a chain of messages to the neighbour and back, as a layer's sums are. */
enum { CHAIN = 16 };

static void near(struct job *j)
{
    int to = (j->rank + j->n / 2) % j->n, from = (j->rank + j->n - j->n / 2) % j->n;
    MPI_Irecv(j->out, j->count, MPI_INT, from, 1, MPI_COMM_WORLD, &j->far[0]);
    MPI_Isend(j->in, j->count, MPI_INT, to, 1, MPI_COMM_WORLD, &j->far[1]);
    for (int i = 0; i < CHAIN; i++)
        MPI_Sendrecv(j->in, j->count, MPI_INT, j->rank ^ 1, 0, j->out, j->count, MPI_INT,
                     j->rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void near_and_far(struct job *j)
{
    near(j);
    MPI_Waitall(2, j->far, MPI_STATUSES_IGNORE);
}

static const struct {
    const char *kind;
    void (*run)(struct job *);
    int wholes; /* buffers of `count` integers per rank are needed; 0: one for each rank */
} kinds[] = {
    { "all-reduce", all_reduce, 1 },
    { "reduce-scatter", reduce_scatter, 1 },
    { "all-gather", all_gather, 1 },
    { "broadcast", broadcast, 1 },
    { "reduce", reduce, 1 },
    { "all-to-all", all_to_all, 0 },
    { "send", send, 1 },
    { "halo", halo, 1 },
    { "opposite", opposite, 1 },
    { "near", near, 1 },
    { "near-and-far", near_and_far, 1 },
};

/* All ranks leave at the same simulated time. Hosts compute one operation in a second. */
static double start_together(void)
{
    double now_s = MPI_Wtime(), last_s;
    MPI_Allreduce(&now_s, &last_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    double start_s = last_s + 1;
    smpi_execute_flops(start_s - MPI_Wtime());
    return start_s;
}

static int count_of(const struct job *job, double bytes)
{
    return job->n * (int)((bytes / 4 + job->n - 1) / job->n);
}

static void measure(struct job *job, int k, const char *name, double bytes)
{
    job->count = count_of(job, bytes);
    double start_s = start_together(), took_s, longest_s;
    if (strcmp(name, "hierarchical") == 0)
        hierarchical(job);
    else
        kinds[k].run(job);
    took_s = MPI_Wtime() - start_s;
    if (kinds[k].run == near) /* the rest of it is not measured */
        MPI_Waitall(2, job->far, MPI_STATUSES_IGNORE);
    MPI_Allreduce(&took_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (job->rank == 0)
        printf("%s;%s;%d;%.12g\n", kinds[k].kind, name, 4 * job->count, longest_s);
}

int main(int argc, char **argv)
{
    struct job job = { 0 };
    int k = 0, n_kinds = (int)(sizeof kinds / sizeof *kinds);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.n);
    while (argc > 4 && k < n_kinds && strcmp(kinds[k].kind, argv[1]) != 0)
        k++;
    if (argc <= 4 || k == n_kinds) {
        fprintf(stderr, "usage: collectives KIND ALGORITHM BLOCK BYTES...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int block = atoi(argv[3]);
    job.counts = calloc((size_t)job.n, sizeof(int));
    if (block > 0) {
        MPI_Comm_split(MPI_COMM_WORLD, job.rank / block, job.rank, &job.inside);
        MPI_Comm_split(MPI_COMM_WORLD, job.rank % block, job.rank, &job.across);
        MPI_Comm_size(job.inside, &job.n_inside);
        MPI_Comm_size(job.across, &job.n_across);
    }
    double most = 0;
    for (int a = 4; a < argc; a++)
        most = atof(argv[a]) > most ? atof(argv[a]) : most;
    size_t ints = (size_t)count_of(&job, most) * (kinds[k].wholes ? 1 : (size_t)job.n);
    job.in =
        SMPI_SHARED_MALLOC(ints * sizeof(int)); /* one for all ranks: what is in it is not */
    job.out = SMPI_SHARED_MALLOC(ints * sizeof(int)); /* looked at */
    for (int a = 4; a < argc; a++)
        measure(&job, k, argv[2], atof(argv[a]));
    SMPI_SHARED_FREE(job.in);
    SMPI_SHARED_FREE(job.out);
    free(job.counts);
    MPI_Finalize();
    return 0;
}
