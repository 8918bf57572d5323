/* Machines that a word makes, with their links listed one by one. */
#ifndef TESTS_COST_LIST_LINKS_H
#define TESTS_COST_LIST_LINKS_H

#include "base/random.h"
#include "machine/network.h"
#include "tests/machine/check.h"

static inline void shuffle(struct random *random, int *item, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int)hp_random_below(random, i + 1), kept = item[i];
        item[i] = item[j];
        item[j] = kept;
    }
}

/* The machine with its links in any order, and other numbers of devices. */
static inline struct hypar_machine *
list_links(struct random *random, const struct hypar_machine *machine, const int *number)
{
    struct arena scratch = { 0 };
    struct listed_link *links;
    int n = machine->n_links, *order = NEW(&scratch, int, n);
    struct hypar_machine *listed = hp_network_new(
        machine->runs, machine->n_runs, machine->n_devices, machine->n_switches, n, &links);
    for (int l = 0; l < n; l++)
        order[l] = l;
    shuffle(random, order, n);
    for (int l = 0; l < n; l++) {
        struct hypar_link link = hypar_machine_link(machine, order[l]);
        link.from = link.from < machine->n_devices ? number[link.from] : link.from;
        link.to = link.to < machine->n_devices ? number[link.to] : link.to;
        links[l].link = link;
    }
    assert_int_equal(hp_network_finish(listed, NULL), HYPAR_OK);
    hp_arena_free(&scratch);
    return listed;
}

#endif /* TESTS_COST_LIST_LINKS_H */
