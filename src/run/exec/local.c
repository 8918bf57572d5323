/* Messages between ranks of one process: copied when both sides have posted. */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/arena.h"
#include "run/exec/transport.h"

struct request {
    bool is_send, used, done;
    int from, to, tag;
    void *data;
    size_t bytes;
    int next; /* in the same queue, or in the free list; -1 */
};

struct local_network {
    struct arena arena;
    int n_ranks;
    struct local_end {
        struct local_network *network;
        int rank;
    } * end;
    struct request *request;
    int n, capacity, unused;
    int *first, *last; /* [from * n_ranks + to]: requests that wait for their other side, -1 */
};

struct local_network *hp_local_new(int n_ranks)
{
    struct arena arena = { 0 };
    struct local_network *n = NEW(&arena, struct local_network, 1);
    n->n_ranks = n_ranks;
    n->unused = -1;
    n->end = NEW(&arena, struct local_end, n_ranks);
    n->first = NEW(&arena, int, n_ranks *n_ranks);
    n->last = NEW(&arena, int, n_ranks *n_ranks);
    for (int r = 0; r < n_ranks; r++)
        n->end[r] = (struct local_end){ n, r };
    for (int i = 0; i < n_ranks * n_ranks; i++)
        n->first[i] = n->last[i] = -1;
    n->arena = arena;
    return n;
}

void hp_local_free(struct local_network *network)
{
    if (!network)
        return;
    hp_arena_free(&network->arena);
}

static int new_request(struct local_network *n)
{
    if (n->unused >= 0) {
        int r = n->unused;
        n->unused = n->request[r].next;
        return r;
    }
    n->request = GROW(&n->arena, struct request, n->request, n->n, &n->capacity);
    return n->n++;
}

/* The oldest matching request of the other side, removed from its queue; -1: none. */
static int take_other(struct local_network *n, const struct request *mine)
{
    int queue = mine->from * n->n_ranks + mine->to, before = -1;
    for (int r = n->first[queue]; r >= 0; before = r, r = n->request[r].next) {
        const struct request *other = &n->request[r];
        if (other->is_send == mine->is_send || other->tag != mine->tag)
            continue;
        *(before < 0 ? &n->first[queue] : &n->request[before].next) = other->next;
        if (n->last[queue] == r)
            n->last[queue] = before;
        return r;
    }
    return -1;
}

static int post(struct local_network *n, struct request new)
{
    int mine = new_request(n), other = take_other(n, &new);
    int queue = new.from * n->n_ranks + new.to;
    n->request[mine] = new;
    if (other >= 0) {
        struct request *r = &n->request[other];
        assert(r->bytes == new.bytes);
        memcpy(new.is_send ? r->data : new.data, new.is_send ? new.data : r->data, new.bytes);
        r->done = n->request[mine].done = true;
        return mine;
    }
    *(n->last[queue] < 0 ? &n->first[queue] : &n->request[n->last[queue]].next) = mine;
    n->last[queue] = mine;
    return mine;
}

static int local_send(void *who, const void *data, size_t bytes, int to, int tag)
{
    struct local_end *end = who;
    return post(end->network, (struct request){ .is_send = true,
                                                .from = end->rank,
                                                .to = to,
                                                .tag = tag,
                                                .data = (void *)data,
                                                .bytes = bytes,
                                                .next = -1 });
}

static int local_receive(void *who, void *data, size_t bytes, int from, int tag)
{
    struct local_end *end = who;
    return post(end->network, (struct request){ .from = from,
                                                .to = end->rank,
                                                .tag = tag,
                                                .data = data,
                                                .bytes = bytes,
                                                .next = -1 });
}

static bool local_done(void *who, int request)
{
    struct local_network *n = ((struct local_end *)who)->network;
    struct request *r = &n->request[request];
    if (!r->done)
        return false;
    r->next = n->unused;
    n->unused = request;
    return true;
}

static void local_yield(void *who)
{
    (void)who;
}

struct transport hp_local_transport(struct local_network *network, int rank)
{
    return (struct transport){ .most_tags = INT_MAX,
                               .who = &network->end[rank],
                               .send = local_send,
                               .receive = local_receive,
                               .done = local_done,
                               .yield = local_yield };
}
