/* Writing the rounds of an algorithm, with a group's members in the machine's order. */
#include "cost/collective_rounds.h"

#include "base/sort.h"
#include "machine/machine.h"

void hp_begin_round(struct comm_rounds *r, int repeat)
{
    r->round = GROW(r->arena, struct comm_round, r->round, r->n_rounds, &r->round_capacity);
    r->round[r->n_rounds++] = (struct comm_round){ .first = r->n_hops, .repeat = repeat };
}

void hp_add_hop(struct comm_rounds *r, struct comm_hop hop)
{
    r->hop = GROW(r->arena, struct comm_hop, r->hop, r->n_hops, &r->hop_capacity);
    r->hop[r->n_hops++] = hop;
    r->round[r->n_rounds - 1].n++;
}

void hp_add_whole(struct comm_rounds *r, int from, int to)
{
    int n = r->pieces_per_whole;
    hp_add_hop(r, (struct comm_hop){ .from = from, .to = to, .period = n, .n_pieces = n });
}

void hp_reverse_rounds(struct comm_rounds *r, int first)
{
    for (int low = first, high = r->n_rounds - 1; low < high; low++, high--) {
        struct comm_round round = r->round[low];
        r->round[low] = r->round[high];
        r->round[high] = round;
    }
    for (int k = first; k < r->n_rounds; k++) {
        struct comm_round *round = &r->round[k];
        round->sums = !round->sums;
        for (int h = round->first; h < round->first + round->n; h++) {
            struct comm_hop *hop = &r->hop[h];
            int64_t last = hop->offset + (int64_t)(round->repeat - 1) * hop->shift;
            int from = hop->from;
            int up_of = hop->up_of;
            hop->from = hop->to;
            hop->to = from;
            hop->up_of = hop->down_of;
            hop->down_of = up_of;
            hop->offset = (int)((last % hop->period + hop->period) % hop->period);
            hop->shift = -hop->shift;
        }
    }
}

int *hp_count_from(struct arena *arena, int first, int n)
{
    int *number = NEW(arena, int, n);
    for (int i = 0; i < n; i++)
        number[i] = (first + i) % n;
    return number;
}

int *hp_places(struct arena *arena, const int *member, int n)
{
    int *place = NEW(arena, int, n);
    for (int i = 0; i < n; i++)
        place[member[i]] = i;
    return place;
}

struct ranked_member {
    int rank, member;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked_member *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The members in the machine's order. */
static int *ranked(struct arena *arena, const int *rank, const struct comm_group *group)
{
    struct ranked_member *place = NEW(arena, struct ranked_member, group->n_devices);
    int *member = NEW(arena, int, group->n_devices);
    for (int i = 0; i < group->n_devices; i++)
        place[i] = (struct ranked_member){ rank[group->device[i]], i };
    hp_sort(place, group->n_devices, sizeof *place, by_rank);
    for (int i = 0; i < group->n_devices; i++)
        member[i] = place[i].member;
    return member;
}

/* Write an algorithm for the members in the machine's order. */
static void write_ranked(struct comm_rounds *r, const struct comm_algorithm *algorithm,
                         const struct comm_group *group)
{
    int n = group->n_devices, *device = NEW(r->arena, int, n);
    const int *member = ranked(r->arena, hp_device_ranks(r->machine), group);
    const int *place = hp_places(r->arena, member, n);
    for (int i = 0; i < n; i++)
        device[i] = group->device[member[i]];
    bool rooted = group->root >= 0 && group->root < n;
    struct comm_group in_order = { group->kind, n, device, rooted ? place[group->root] : 0 };
    algorithm->write(r, &in_order);
    for (int h = 0; h < r->n_hops; h++) {
        r->hop[h].from = member[r->hop[h].from];
        r->hop[h].to = member[r->hop[h].to];
    }
    if (!r->own)
        return;
    int *own = NEW(r->arena, int, r->parts *n);
    for (int i = 0; i < r->parts * n; i++)
        own[i - i % n + member[i % n]] = r->own[i];
    r->own = own;
}

void hp_comm_rounds(struct arena *arena, const struct hypar_machine *machine,
                    const struct comm_algorithm *algorithm, const struct comm_group *group,
                    int block, struct comm_rounds *out)
{
    *out = (struct comm_rounds){ .arena = arena,
                                 .machine = machine,
                                 .block = block,
                                 .chunks = algorithm->chunks > 1 ? algorithm->chunks : 1,
                                 .parts = 1 };
    if (machine->topology->rank && !algorithm->keeps_order)
        write_ranked(out, algorithm, group);
    else
        algorithm->write(out, group);
}
