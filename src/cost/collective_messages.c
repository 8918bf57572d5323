/* The messages of a collective and what each waits for, for simulating them one by one. */
#include "cost/collective.h"

#include "cost/collective_rounds.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

static const struct comm_algorithm *find_algorithm(enum comm_kind kind, const char *name)
{
    const struct comm_algorithm *algorithm;
    int i = 0;
    while ((algorithm = hp_comm_algorithm(i)) &&
           (algorithm->kind != kind || strcmp(algorithm->name, name) != 0))
        i++;
    assert(algorithm);
    return algorithm;
}

/* By device, the messages that its next message waits for: all messages of the last round in
 * which it sent, and all that it received since. Its messages of that round have waited for
 * all earlier ones. A linked list through next[], which has two entries for each message: one
 * for its sender (2*i) and one for its receiver (2*i + 1). */
struct memory {
    int *last; /* per device: its first entry, -1 for none */
    int *sent; /* per device: the last round in which it sent */
    int *next;
};

static void remember(struct memory *memory, int device, int entry)
{
    memory->next[entry] = memory->last[device];
    memory->last[device] = entry;
}

static void wait_for_last(struct arena *arena, const struct memory *memory, int device,
                          struct comm_message *m)
{
    for (int e = memory->last[device]; e >= 0; e = memory->next[e])
        m->n_after++;
    if (m->n_after == 0)
        return;
    int *after = NEW(arena, int, m->n_after), n = m->n_after;
    m->after = after;
    for (int e = memory->last[device]; e >= 0; e = memory->next[e])
        after[--n] = e / 2;
}

/* One repetition of a round. All messages look back first, then all are recorded: messages of a
 * round do not wait for each other. */
static void write_round(struct arena *arena, const struct comm_group *group,
                        const struct comm_hop *hop, int n, double piece_bytes, int number,
                        struct memory *memory, struct comm_messages *out)
{
    for (int h = 0; h < n; h++) {
        struct comm_message *m = &out->list[out->n + h];
        m->message.from = group->device[hop[h].from];
        m->message.to = group->device[hop[h].to];
        m->message.bytes = hop[h].n_pieces * piece_bytes;
        m->up_of = hop[h].up_of;
        m->down_of = hop[h].down_of;
        wait_for_last(arena, memory, hop[h].from, m);
    }
    for (int h = 0; h < n; h++) {
        if (memory->sent[hop[h].from] != number)
            memory->last[hop[h].from] = -1;
        memory->sent[hop[h].from] = number;
    }
    for (int h = 0; h < n; h++) {
        remember(memory, hop[h].from, 2 * (out->n + h));
        remember(memory, hop[h].to, 2 * (out->n + h) + 1);
    }
    out->n += n;
}

/* Sort the hops of a round so that few have to wait for others. */
static void spread_round(struct arena *scratch, const struct hypar_machine *machine,
                         const struct comm_group *group, struct comm_hop *hop, int n)
{
    struct message *message = NEW(scratch, struct message, n);
    struct comm_hop *copy = NEW(scratch, struct comm_hop, n);
    int *order = NEW(scratch, int, n);
    for (int h = 0; h < n; h++) {
        copy[h] = hop[h];
        message[h] =
            (struct message){ group->device[hop[h].from], group->device[hop[h].to], 0 };
    }
    hp_spread_messages(machine, message, n, order);
    for (int h = 0; h < n; h++)
        hop[h] = copy[order[h]];
}

/* The messages of one chunk; chunks do not wait for each other. Returns the number of the next
 * round. */
static int write_chunk(struct arena *arena, const struct comm_group *group,
                       const struct comm_rounds *rounds, double piece_bytes, int number,
                       struct memory *memory, struct comm_messages *out)
{
    for (int i = 0; i < group->n_devices; i++)
        memory->last[i] = memory->sent[i] = -1;
    for (int r = 0; r < rounds->n_rounds; r++) {
        const struct comm_round *round = &rounds->round[r];
        for (int k = 0; k < round->repeat && round->n > 0; k++)
            write_round(arena, group, rounds->hop + round->first, round->n, piece_bytes,
                        number++, memory, out);
    }
    return number;
}

void hp_comm_messages(struct arena *arena, const struct hypar_machine *machine,
                      const struct comm_group *group, const struct comm_way *way, double bytes,
                      struct comm_messages *out)
{
    struct arena scratch = { 0 };
    struct comm_rounds rounds;
    int n = group->n_devices, number = 0;
    assert(way->n_messages < INT_MAX / 2);
    hp_comm_rounds(&scratch, machine, find_algorithm(group->kind, way->algorithm), group,
                   way->block, &rounds);
    struct memory memory = { NEW(&scratch, int, n), NEW(&scratch, int, n),
                             NEW(&scratch, int, 2 * way->n_messages) };
    *out = (struct comm_messages){ .list = NEW(arena, struct comm_message, way->n_messages) };
    for (int r = 0; r < rounds.n_rounds; r++)
        if (rounds.round[r].n > 0)
            spread_round(&scratch, machine, group, rounds.hop + rounds.round[r].first,
                         rounds.round[r].n);
    for (int c = 0; c < rounds.chunks; c++)
        number =
            write_chunk(arena, group, &rounds, bytes / rounds.chunks / rounds.pieces_per_whole,
                        number, &memory, out);
    hp_arena_free(&scratch);
}
