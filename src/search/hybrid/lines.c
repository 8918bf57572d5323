/* Computes the costs of sums over copies and of messages between stages as lines (a fixed time
 * and a time per byte), once for each set of devices. */
#include <math.h>

#include "cost/collective.h"
#include "search/hybrid/stage.h"

/* Bytes of a long message: bandwidth, not latency, decides which algorithm is best. */
static const double LARGE_BYTES = 16e6;

/* The time per byte that the busiest link is occupied by all groups of a sum together.
 * Consecutive sums overlap, so only the last takes longer. */
static double held_s_per_byte(struct hybrid *h, int first, int n, int parts,
                              struct arena *scratch, double *own_link)
{
    int n_links = 2 * hypar_machine_link_count(h->problem->machine), count = n / parts;
    double *held = NEW(scratch, double, n_links), most = 0;
    int *device = NEW(scratch, int, count);
    for (int g = 0; g < parts && g < LARGE_SUBMESH; g++) {
        for (int i = 0; i < count; i++)
            device[i] = first + g + i * parts;
        struct comm_group group = { COMM_ALL_REDUCE, count, device, 0 };
        const struct comm_way *way =
            hp_comm_best_way(hp_comm_model(scratch, h->problem->machine, &group), LARGE_BYTES);
        for (int i = 0; i < way->n_links; i++) {
            held[way->link[i].link] += way->link[i].s_per_byte;
            most = fmax(most, held[way->link[i].link]);
        }
        if (hypar_machine_is_uniform(h->problem->machine) && parts > LARGE_SUBMESH)
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
    line.fixed_s = hp_comm_best_way(line.comm, LARGE_BYTES)->fixed_s;
    if (hypar_machine_device(h->problem->machine, first)->kernels.comm_share > 0) {
        group.kind = COMM_REDUCE_SCATTER;
        line.scatter = hp_comm_model(h->arena, h->problem->machine, &group);
        group.kind = COMM_ALL_GATHER;
        line.gather = hp_comm_model(h->arena, h->problem->machine, &group);
    }
    line.s_per_byte = held_s_per_byte(h, first, n, parts, &scratch, &line.own_link_s_per_byte);
    hp_arena_free(&scratch);
    return line;
}

/* Add a message from each of n consecutive devices to its counterpart; counterparts
 * past the last device get none. */
static int add_messages(const struct hybrid *h, int from, int to, int n,
                        struct message *message)
{
    int all = hypar_machine_device_count(h->problem->machine), count = 0;
    for (int i = 0; i < n; i++)
        if (from + i < all && to + i < all)
            message[count++] = (struct message){ from + i, to + i, 1 };
    return count;
}

static struct line hop_of(struct hybrid *h, int from, int to, int n)
{
    int all = hypar_machine_device_count(h->problem->machine);
    int other = from == to + n ? to - n : to + n;
    struct arena scratch = { 0 };
    struct message *message = NEW(&scratch, struct message, 2 * n);
    struct line line = { 0 };
    struct comm_way way;
    int count = add_messages(h, from, to, n, message);
    if (count) {
        hp_messages_way(&scratch, h->problem->machine, message, 1, &way);
        line.alone_s_per_byte = way.s_per_byte;
        hp_messages_way(&scratch, h->problem->machine, message, count, &way);
        line.fixed_s = way.fixed_s;
        line.s_per_byte = way.s_per_byte;
        count += add_messages(h, (other + all) % all, to, n, message + count);
        hp_messages_way(&scratch, h->problem->machine, message, count, &way);
        line.both_s_per_byte = way.s_per_byte;
    }
    hp_arena_free(&scratch);
    return line;
}

struct line hp_sum_line(struct hybrid *h, int first, int n, int parts)
{
    void **known = hp_memo(&h->lines, h->arena, (int[]){ 0, first, n, parts }, 4 * sizeof(int));
    if (!*known) {
        struct line *line = *known = NEW(h->arena, struct line, 1);
        if (n / parts > 1)
            *line = sum_of(h, first, n, parts);
    }
    return *(const struct line *)*known;
}

struct line hp_hop_line(struct hybrid *h, int from, int to, int n)
{
    void **known = hp_memo(&h->lines, h->arena, (int[]){ 1, from, to, n }, 4 * sizeof(int));
    if (!*known) {
        struct line *line = *known = NEW(h->arena, struct line, 1);
        *line = hop_of(h, from, to, n);
    }
    return *(const struct line *)*known;
}

double hp_border_seconds(const struct line *hop, double bytes, bool exchanges)
{
    double alone = exchanges ? hop->s_per_byte : hop->alone_s_per_byte;
    return bytes > 0 ? hop->fixed_s + (alone + hop->s_per_byte) / 2 * bytes : 0;
}
