/* run/stall.h - a rank that waits for long reports the rank that causes it. Internal.
 *
 * If rank 1 is stopped, rank 2 waits for rank 1, and rank 3 for rank 2. A waiting rank asks the
 * ranks with which it has messages under way. A rank that is itself waiting answers, so it is
 * not the cause. A rank that does not answer is reported.
 *
 *   rank 3 ── ask ──> rank 2 ── ask ──> rank 1 (stopped, or computing, or not reached)
 *          <─ answer ─        (none comes: rank 2 reports rank 1)
 *
 * Of several ranks that wait for rank 1, the first reports it, and tells the others. */
#ifndef RUN_STALL_H
#define RUN_STALL_H

#include <stdbool.h>
#include <stdint.h>

enum { STALL_HOST_BYTES = 64 };

enum stall_word { STALL_ASK, STALL_ANSWER, STALL_TOLD, STALL_WORD_COUNT };

struct stall {
    double after_s; /* how long is long; reported again after twice, four times, ... as long */
    void (*tell)(void *who, int rank, const char *host, double waited_s); /* NULL: nothing is */
    void *who;
    int rank, n;       /* of this process, and of all */
    const char *hosts; /* [n][STALL_HOST_BYTES] */

    /* The transport between ranks. `hear` receives a word, if one has arrived; `number` is the
     * number of a question, or, with STALL_TOLD, the reported rank. `find_awaited` marks the
     * other ranks of all messages under way. */
    void *ranks;
    void (*say)(void *ranks, enum stall_word word, int to, int32_t number);
    bool (*hear)(void *ranks, enum stall_word word, int *from, int32_t *number);
    void (*find_awaited)(void *ranks, bool *awaited);

    double since_s, seen_s; /* start of the wait, plus the time in which nothing called (0: a
                               wait begins); the last call */
    double next_s;          /* the length of the wait at which it reports */
    bool asked;             /* about this wait */
    int32_t number;         /* of the last question; answers to others are ignored */
    bool *awaited, *answered, *told; /* [n]: since the last question */
};

/* Call repeatedly while there is nothing to do but wait; `now` is the time of a monotonic
 * clock, above 0. */
void hp_stall_look(struct stall *s, double now);

#endif /* RUN_STALL_H */
