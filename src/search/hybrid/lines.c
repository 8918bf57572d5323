/* What sums over copies and what is sent from stage to stage take, as lines over bytes: worked
 * out once for each place. */
#include <math.h>
#include <string.h>

#include "cost/collective.h"
#include "search/hybrid/stage.h"

/* How long the groups of a sum hold the link that they hold longest, all at once: sums that
 * follow each other take no longer, but for the last. */
static double held_s_per_byte(struct hybrid *h, int first, int n, int parts,
                              struct arena *scratch, double *own_link)
{
    enum { MOST_GROUPS = 16 };
    int n_links = 2 * hypar_machine_link_count(h->problem->machine), count = n / parts;
    double *held = NEW(scratch, double, n_links), most = 0;
    int *device = NEW(scratch, int, count);
    for (int g = 0; g < parts && g < MOST_GROUPS; g++) {
        for (int i = 0; i < count; i++)
            device[i] = first + g + i * parts;
        struct comm_group group = { COMM_ALL_REDUCE, count, device, 0 };
        const struct comm_way *way =
            hp_comm_best_way(hp_comm_model(scratch, h->problem->machine, &group), 16e6);
        for (int i = 0; i < way->n_links; i++) {
            held[way->link[i].link] += way->link[i].s_per_byte;
            most = fmax(most, held[way->link[i].link]);
        }
        if (hypar_machine_is_uniform(h->problem->machine) && parts > MOST_GROUPS)
            break;
    }
    int route[1];
    *own_link = hypar_machine_route(h->problem->machine, first, first + parts, route, 1) > 0
                    ? held[route[0]]
                    : 0;
    return most;
}

static struct line sum_of(struct hybrid *h, int first, int n, int parts)
{
    struct arena scratch = { 0 };
    int count = n / parts, *device = NEW(&scratch, int, count + 1);
    for (int i = 0; i < count; i++)
        device[i] = first + i * parts;
    struct comm_group group = { COMM_ALL_REDUCE, count, device, 0 };
    struct line line = { .comm = hp_comm_model(h->arena, h->problem->machine, &group) };
    line.fixed_s = hp_comm_best_way(line.comm, 16e6)->fixed_s;
    line.s_per_byte = held_s_per_byte(h, first, n, parts, &scratch, &line.own_link_s_per_byte);
    hp_arena_free(&scratch);
    return line;
}

static struct line known_line(struct hybrid *h, struct table *keys, struct line **list, int *n,
                              int *capacity, const int key[3], bool is_sum)
{
    int known = hp_table_get(keys, key, 3 * sizeof *key);
    if (known >= 0)
        return (*list)[known];
    int *kept = NEW(h->arena, int, 3);
    memcpy(kept, key, 3 * sizeof *key);
    hp_table_put(keys, h->arena, kept, 3 * sizeof *key, *n);
    *list = GROW(h->arena, struct line, *list, *n, capacity);
    struct line line = { 0 };
    if (is_sum && key[1] / key[2] > 1) {
        line = sum_of(h, key[0], key[1], key[2]);
    } else if (!is_sum) {
        enum { MOST_SENDERS = 64 };
        struct arena scratch = { 0 };
        struct message message[MOST_SENDERS];
        int all = hypar_machine_device_count(h->problem->machine), count = 0;
        for (int i = 0; i < key[2] && i < MOST_SENDERS; i++)
            if (key[0] + i < all && key[1] + i < all)
                message[count++] = (struct message){ key[0] + i, key[1] + i, 1 };
        struct comm_way way;
        if (count) {
            hp_messages_way(&scratch, h->problem->machine, message, count, &way);
            line = (struct line){ .fixed_s = way.fixed_s, .s_per_byte = way.s_per_byte };
        }
        hp_arena_free(&scratch);
    }
    (*list)[(*n)++] = line;
    return line;
}

struct line hp_sum_line(struct hybrid *h, int first, int n, int parts)
{
    return known_line(h, &h->sum_keys, &h->sum, &h->n_sums, &h->sum_capacity,
                      (int[]){ first, n, parts }, true);
}

struct line hp_hop_line(struct hybrid *h, int from, int to, int n)
{
    return known_line(h, &h->hop_keys, &h->hop, &h->n_hops, &h->hop_capacity,
                      (int[]){ from, to, n }, false);
}
