/* Blocks: members of a group that are close to each other, for hierarchical algorithms. */
#include "cost/collective_rounds.h"

#include "machine/machine.h"

/* The index of the key `wanted`, which is added if it is new. Devices mostly ascend: then it is
 * the last key, or larger than all. */
static int find_block(int *key, int *n_keys, int *largest, int wanted)
{
    for (int k = *n_keys - 1; k >= 0 && wanted <= *largest; k--)
        if (key[k] == wanted)
            return k;
    *largest = wanted > *largest ? wanted : *largest;
    key[*n_keys] = wanted;
    return (*n_keys)++;
}

/* Blocks consist of consecutive devices, by number or in the machine's order. */
static int block_of(const int *rank, int device, int block)
{
    return (rank ? rank[device] : device) / block;
}

const int *hp_device_ranks(const struct hypar_machine *machine)
{
    return machine->topology->rank ? machine->topology->rank(machine) : NULL;
}

bool hp_find_blocks(struct arena *arena, const int *rank, const struct comm_group *group,
                    int block, struct device_blocks *out)
{
    int n = group->n_devices, most = 0, largest = -1;
    if (block < 1)
        return false;
    *out = (struct device_blocks){ .member = NEW(arena, int, n) };
    int *key = NEW(arena, int, n), *used = NEW(arena, int, n), *of = NEW(arena, int, n);
    for (int i = 0; i < n; i++) {
        of[i] =
            find_block(key, &out->n_blocks, &largest, block_of(rank, group->device[i], block));
        used[of[i]]++;
        most = used[of[i]] > most ? used[of[i]] : most;
    }
    if (out->n_blocks < 2 || (int64_t)most * out->n_blocks != n)
        return false;
    out->per_block = most;
    for (int i = 0; i < n; i++)
        out->member[of[i] * most + most - used[of[i]]--] = i;
    return true;
}

bool hp_has_blocks(const struct hypar_machine *machine, const struct comm_group *group,
                   int block, int least)
{
    if (block < 1)
        return false;
    const int *rank = hp_device_ranks(machine);
    int i = 0, first = block_of(rank, group->device[0], block);
    while (i < group->n_devices && block_of(rank, group->device[i], block) == first)
        i++;
    if (i == group->n_devices) /* all in one block, as often on a large machine */
        return false;
    struct arena scratch = { 0 };
    struct device_blocks blocks;
    bool result =
        hp_find_blocks(&scratch, rank, group, block, &blocks) && blocks.per_block >= least;
    hp_arena_free(&scratch);
    return result;
}

const int *hp_block_collectors(struct comm_rounds *r, const struct comm_group *group)
{
    struct arena *arena = r->arena;
    const int *rank = hp_device_ranks(r->machine);
    int n = group->n_devices, n_blocks = 0, largest = -1;
    int *key = NEW(arena, int, n), *first = NEW(arena, int, n), *of = NEW(arena, int, n);
    for (int i = 0; i < n; i++) {
        int before = n_blocks;
        int b = r->block > 0 ? find_block(key, &n_blocks, &largest,
                                          block_of(rank, group->device[i], r->block))
                             : i;
        if (n_blocks > before || r->block <= 0)
            first[b] = i;
        of[i] = first[b];
    }
    return of;
}
