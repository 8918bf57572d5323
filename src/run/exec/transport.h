/* run/exec/transport.h - how messages get from one rank to another. Internal.
 *
 * Messages between two ranks with the same tag arrive in the order in which they were sent.
 * Nothing blocks. */
#ifndef RUN_EXEC_TRANSPORT_H
#define RUN_EXEC_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct transport {
    int most_tags; /* tags are 0 .. most_tags - 1 */
    void *who;
    /* Begin to send or to receive; `data` stays as it is until the request is done. Returns the
     * request. */
    int (*send)(void *who, const void *data, size_t bytes, int to, int tag);
    int (*receive)(void *who, void *data, size_t bytes, int from, int tag);
    /* Is it done? Then the request is no more. */
    bool (*done)(void *who, int request);
    /* Let others, or the network, go on. */
    void (*yield)(void *who);
};

/* All ranks in one process (local.c). */
struct local_network;
struct local_network *hp_local_new(int n_ranks);
void hp_local_free(struct local_network *network); /* NULL is allowed */
struct transport hp_local_transport(struct local_network *network, int rank);

#endif /* RUN_EXEC_TRANSPORT_H */
