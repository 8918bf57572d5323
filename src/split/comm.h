/* split/comm.h - the kinds of communication, and their messages. Internal.
 *
 * A comm moves pieces of a tensor between devices: one message, or a collective. The lowering
 * names comms; the cost model turns each into messages. */
#ifndef SPLIT_COMM_H
#define SPLIT_COMM_H

enum comm_kind {
    COMM_SEND,           /* one device sends to one */
    COMM_BROADCAST,      /* one device sends to several */
    COMM_ALL_GATHER,     /* every device's piece goes to every device */
    COMM_REDUCE,         /* several contributions are summed on one device */
    COMM_REDUCE_SCATTER, /* contributions are summed, each device keeps one piece */
    COMM_ALL_REDUCE,     /* contributions are summed, each device keeps all */
    COMM_ALL_TO_ALL,     /* every device sends a piece to every other */
    COMM_EXCHANGE,       /* anything else: some pieces are summed, some copied */
    COMM_KIND_COUNT,
};

/* "all-reduce", "send", ... */
const char *hp_comm_text(enum comm_kind kind);

struct message {
    int from, to; /* devices */
    double bytes;
};

/* The share of a message's bytes that crosses link `i` of its route of `n` links. */
static inline double hp_message_share(int up_of, int down_of, int i, int n)
{
    int of = i < n / 2 ? up_of : down_of;
    return of > 1 ? 1. / of : 1;
}

/* A message of a collective. It waits for the messages after[], all of which have smaller
 * numbers, and for the sender's own contribution. */
struct comm_message {
    struct message message;
    /* Where switches sum or copy: so many messages of a round are one on the first half of this
     * one's route (up to the switch), and on the second half (down from it); 0: each is one. */
    int up_of, down_of;
    int n_after;
    const int *after;
};

/* The messages of one comm. */
struct comm_messages {
    int n;
    struct comm_message *list; /* NULL: one task stands for all messages */
    /* If each message is a task: the number of the first one among the tasks of the exchange.
     * Two lists by device of the comm (CSR): the messages that arrive there, and the messages
     * that depart from there without waiting for an arriving one; these wait for the device's
     * own contribution. */
    int first;
    const int *arrive_start, *arrive, *depart_start, *depart;
};

#endif /* SPLIT_COMM_H */
