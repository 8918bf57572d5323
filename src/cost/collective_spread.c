/* An order for messages that start at once, so that links idle little. */
#include "base/csr.h"
#include "cost/collective.h"

#include "base/table.h"

/* Links serve messages in the order of their numbers, and a message takes all links of its
 * route together. So a message may wait and block a link that others could use meanwhile. In a
 * bad order these waits form chains: sixteen devices behind four network cards take more than
 * twice the time that their cards are busy. First fit into slots of equal length, with one
 * message for each link in a slot, avoids most waits. */

/* Larger sets keep their order: the work is messages times slots. */
enum { MAX_SPREAD = 1 << 14 };

struct slots {
    int n_words, capacity;
    uint64_t *busy; /* bit s: a message of slot s crosses the link */
};

struct spread {
    const struct hypar_machine *machine;
    struct arena arena;
    struct table number_of; /* directed link -> index in link[] */
    int n_links, capacity;
    struct slots *link;
    int *route; /* of the current message: links, then their indices */
};

static struct slots *slots_of(struct spread *s, int link)
{
    int number = hp_table_get(&s->number_of, &link, sizeof link);
    if (number < 0) {
        int *key = NEW(&s->arena, int, 1);
        *key = link;
        s->link = GROW(&s->arena, struct slots, s->link, s->n_links, &s->capacity);
        s->link[s->n_links] = (struct slots){ 0 };
        number = s->n_links++;
        hp_table_put(&s->number_of, &s->arena, key, sizeof *key, number);
    }
    return &s->link[number];
}

static void occupy(struct arena *arena, struct slots *slots, int slot)
{
    while (slots->n_words <= slot / 64) {
        slots->busy = GROW(arena, uint64_t, slots->busy, slots->n_words, &slots->capacity);
        slots->busy[slots->n_words++] = 0;
    }
    slots->busy[slot / 64] |= (uint64_t)1 << slot % 64;
}

/* The first slot in which all links of the route are free; it is then occupied. */
static int first_fit(struct spread *s, const struct message *message)
{
    int n = hypar_machine_route(s->machine, message->from, message->to, s->route,
                                hypar_machine_longest_route(s->machine));
    uint64_t busy = UINT64_MAX;
    int word = -1, bit = 0;
    while (busy == UINT64_MAX) {
        busy = 0;
        word++;
        for (int i = 0; i < n; i++) {
            const struct slots *slots = slots_of(s, s->route[i]);
            busy |= word < slots->n_words ? slots->busy[word] : 0;
        }
    }
    while (busy >> bit & 1)
        bit++;
    for (int i = 0; i < n; i++)
        occupy(&s->arena, slots_of(s, s->route[i]), 64 * word + bit);
    return 64 * word + bit;
}

void hp_spread_messages(const struct hypar_machine *machine, const struct message *message,
                        int n, int *order)
{
    struct spread s = { .machine = machine };
    if (n > MAX_SPREAD || n < 2) {
        for (int i = 0; i < n; i++)
            order[i] = i;
        return;
    }
    s.route = NEW(&s.arena, int, hypar_machine_longest_route(machine) + 1);
    int *slot = NEW(&s.arena, int, n), *start = hp_csr(&s.arena, n);
    for (int i = 0; i < n; i++) {
        slot[i] = first_fit(&s, &message[i]);
        hp_csr_count(start, slot[i]); /* no slot is empty, so slots are below n */
    }
    hp_csr_sum(start, n);
    for (int i = 0; i < n; i++)
        order[hp_csr_place(start, slot[i])] = i;
    hp_arena_free(&s.arena);
}
