/* Serves the messages of one collective on links that serve first come, first served: written
 * apart from the simulator, to judge it and the one-task estimates. */
#ifndef TESTS_COST_PLAY_STEPS_H
#define TESTS_COST_PLAY_STEPS_H

#include "base/arena.h"
#include "cost/collective.h"

struct server {
    const struct hypar_machine *machine;
    const struct comm_messages *messages;
    double *ready_s, *end_s; /* per message */
    int *waits;              /* messages that it still waits for */
    int *heap, n_heap;       /* ready messages, the least (ready, number) first */
    double *free_s;          /* per directed link */
    int *route;
};

static inline bool server_before(const struct server *p, int a, int b)
{
    return p->ready_s[a] != p->ready_s[b] ? p->ready_s[a] < p->ready_s[b] : a < b;
}

static inline void server_push(struct server *p, int message)
{
    int at = p->n_heap++;
    for (; at > 0 && server_before(p, message, p->heap[(at - 1) / 2]); at = (at - 1) / 2)
        p->heap[at] = p->heap[(at - 1) / 2];
    p->heap[at] = message;
}

static inline int server_pop(struct server *p)
{
    int first = p->heap[0], last = p->heap[--p->n_heap], at = 0;
    for (int child = 1; child < p->n_heap; child = 2 * at + 1) {
        if (child + 1 < p->n_heap && server_before(p, p->heap[child + 1], p->heap[child]))
            child++;
        if (!server_before(p, p->heap[child], last))
            break;
        p->heap[at] = p->heap[child];
        at = child;
    }
    p->heap[at] = last;
    return first;
}

/* Link i+1 is taken one latency after link i, each for bytes/bandwidth; it waits at its source
 * until it can go all the way. */
static inline void server_send(struct server *p, int number)
{
    const struct message *message = &p->messages->list[number].message;
    int n = hypar_machine_route(p->machine, message->from, message->to, p->route,
                                hypar_machine_longest_route(p->machine));
    double start_s = p->ready_s[number], offset_s = 0, slowest_s = 0;
    for (int i = 0; i < n; i++) {
        double wait_s = p->free_s[p->route[i]] - offset_s;
        start_s = wait_s > start_s ? wait_s : start_s;
        offset_s += hypar_machine_link(p->machine, p->route[i] / 2).latency_s;
    }
    offset_s = 0;
    for (int i = 0; i < n; i++) {
        struct hypar_link link = hypar_machine_link(p->machine, p->route[i] / 2);
        double share = hp_message_share(p->messages->list[number].up_of,
                                        p->messages->list[number].down_of, i, n);
        double held_s = share * message->bytes / link.bytes_per_s;
        p->free_s[p->route[i]] = start_s + offset_s + held_s;
        offset_s += link.latency_s;
        slowest_s = held_s > slowest_s ? held_s : slowest_s;
    }
    p->end_s[number] = start_s + offset_s + slowest_s;
}

/* The time at which the last message has arrived; -1 if some never start. */
static inline double serve_messages(const struct hypar_machine *machine,
                                    const struct comm_messages *messages)
{
    struct arena arena = { 0 };
    int n = messages->n, done = 0;
    double last_s = 0;
    struct server p = { .machine = machine, .messages = messages };
    p.ready_s = NEW(&arena, double, n + 1);
    p.end_s = NEW(&arena, double, n + 1);
    p.waits = NEW(&arena, int, n + 1);
    p.heap = NEW(&arena, int, n + 1);
    p.free_s = NEW(&arena, double, 2 * hypar_machine_link_count(machine));
    p.route = NEW(&arena, int, hypar_machine_longest_route(machine) + 1);
    int *first = NEW(&arena, int, n + 2), n_edges = 0; /* who waits for message i, as CSR */
    for (int i = 0; i < n; i++) {
        p.waits[i] = messages->list[i].n_after;
        n_edges += p.waits[i];
        for (int a = 0; a < p.waits[i]; a++)
            first[messages->list[i].after[a] + 2]++;
    }
    for (int i = 0; i < n; i++)
        first[i + 1] += first[i];
    int *waiter = NEW(&arena, int, n_edges + 1);
    for (int i = 0; i < n; i++) {
        for (int a = 0; a < p.waits[i]; a++)
            waiter[first[messages->list[i].after[a] + 1]++] = i;
        if (p.waits[i] == 0)
            server_push(&p, i);
    }
    for (; p.n_heap > 0; done++) {
        int number = server_pop(&p);
        server_send(&p, number);
        last_s = p.end_s[number] > last_s ? p.end_s[number] : last_s;
        for (int w = first[number]; w < first[number + 1]; w++) {
            double *ready_s = &p.ready_s[waiter[w]];
            *ready_s = p.end_s[number] > *ready_s ? p.end_s[number] : *ready_s;
            if (--p.waits[waiter[w]] == 0)
                server_push(&p, waiter[w]);
        }
    }
    hp_arena_free(&arena);
    return done == n ? last_s : -1;
}

#endif /* TESTS_COST_PLAY_STEPS_H */
