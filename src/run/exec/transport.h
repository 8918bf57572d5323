/* run/exec/transport.h - the interface by which messages go from rank to rank. Internal.
 *
 * Messages between two ranks with the same tag arrive in the order of sending. No function
 * blocks. */
#ifndef RUN_EXEC_TRANSPORT_H
#define RUN_EXEC_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct transport {
    int most_tags; /* tags are 0 .. most_tags - 1 */
    void *who;
    /* Begin to send or to receive; `data` must not change until the request is done. Returns
     * the request. */
    int (*send)(void *who, const void *data, size_t bytes, int to, int tag);
    int (*receive)(void *who, void *data, size_t bytes, int from, int tag);
    /* Is the request done? If so, it no longer exists. */
    bool (*done)(void *who, int request);
    /* Let other ranks, or the network, make progress. */
    void (*yield)(void *who);
};

/* All ranks in one process (local.c). */
struct local_network;
struct local_network *hp_local_new(int n_ranks);
void hp_local_free(struct local_network *network); /* NULL is allowed */
struct transport hp_local_transport(struct local_network *network, int rank);

#endif /* RUN_EXEC_TRANSPORT_H */
