/* run/ranks.h - the processes of a run: MPI ranks, or one process alone. Internal. */
#ifndef RUN_RANKS_H
#define RUN_RANKS_H

#include <hypar/run.h>

#include "run/exec/transport.h"

/* The transport of this process's rank; only if there are several. */
struct transport hp_ranks_transport(struct hypar_ranks *ranks);

/* Send or receive one message and wait until it is done. */
void hp_send_now(const struct transport *t, const void *data, size_t bytes, int to, int tag);
void hp_receive_now(const struct transport *t, void *data, size_t bytes, int from, int tag);

#endif /* RUN_RANKS_H */
