/* split/comm.h - the ways in which pieces of a tensor move between devices. Internal. */
#ifndef SPLIT_COMM_H
#define SPLIT_COMM_H

enum comm_kind {
    COMM_SEND,           /* one device to one */
    COMM_BROADCAST,      /* one to several */
    COMM_ALL_GATHER,     /* everyone's piece to everyone */
    COMM_REDUCE,         /* several summed on one */
    COMM_REDUCE_SCATTER, /* summed, each has a piece */
    COMM_ALL_REDUCE,     /* summed, everyone has all */
    COMM_ALL_TO_ALL,     /* a piece from everyone to everyone */
    COMM_EXCHANGE,       /* anything else: summed here, copied there */
    COMM_KIND_COUNT,
};

/* "all-reduce", "send", ... */
const char *hp_comm_text(enum comm_kind kind);

struct message {
    int from, to; /* devices */
    double bytes;
};

/* A message of a collective: it waits for the messages after[] (all with smaller numbers), and
 * for what its sender contributes itself. */
struct comm_message {
    struct message message;
    int n_after;
    const int *after;
};

/* A comm message by message. */
struct comm_messages {
    int n;
    struct comm_message *list; /* NULL: one task stands for all */
    /* Where each is a task: the first of them among those of the exchange. By device of the
     * comm: messages to it, and its messages that come after none of its own and so wait for
     * what it contributes: CSR. */
    int first;
    const int *arrive_start, *arrive, *depart_start, *depart;
};

#endif /* SPLIT_COMM_H */
