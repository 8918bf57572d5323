/* Groups links into classes by the kinds of their nodes, their direction and their
 * bandwidth. */
#include "report/simulate/link_class.h"

#include <string.h>

#include "machine/machine.h"

/* Is the link a network card: between the switch of a node and the switch between nodes? */
static bool is_card(const struct hypar_machine *machine, const struct hypar_sim_link *l)
{
    return machine && machine->topology->shape == NETWORK_NODES &&
           l->from >= machine->n_devices && l->to >= machine->n_devices;
}

static const char *class_name(const struct hypar_machine *machine,
                              const struct hypar_sim_link *l)
{
    static const char *const joined[2][2] = { { "device -> device", "device -> switch" },
                                              { "switch -> device", "switch -> switch" } };
    if (!machine || l->name)
        return "links";
    if (is_card(machine, l)) /* the last switch connects the nodes */
        return l->to == machine->n_devices + machine->n_switches - 1 ? "network cards out"
                                                                     : "network cards in";
    return joined[l->from >= machine->n_devices][l->to >= machine->n_devices];
}

static int find_class(struct link_classes *c, const char *name, double bytes_per_s)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->class[i].name, name) == 0 && c->class[i].bytes_per_s == bytes_per_s)
            return i;
    if (c->n == MOST_LINK_CLASSES) /* links with many bandwidths: the last class takes the
                                    * rest */
        return c->n - 1;
    c->class[c->n] = (struct link_class){ .name = name, .bytes_per_s = bytes_per_s };
    return c->n++;
}

/* Add the classes of network cards, or those of other links. */
static void add_classes(const struct hypar_sim *sim, bool cards, struct link_classes *c)
{
    const struct hypar_plan *plan = hypar_sim_plan(sim);
    const struct hypar_machine *machine = plan ? hypar_plan_machine(plan) : NULL;
    for (int i = 0; i < hypar_sim_summary(sim).n_links; i++) {
        struct hypar_sim_link l = hypar_sim_link(sim, i);
        if (!(l.busy_s > 0) || is_card(machine, &l) != cards)
            continue;
        double bytes_per_s = machine ? hypar_machine_link(machine, i / 2).bytes_per_s : 0;
        c->of_link[i] = find_class(c, class_name(machine, &l), bytes_per_s);
        c->class[c->of_link[i]].n_links++;
    }
}

struct link_classes hp_link_classes(struct arena *arena, const struct hypar_sim *sim)
{
    int n_links = hypar_sim_summary(sim).n_links;
    struct link_classes c = { .of_link = NEW(arena, int, n_links + 1) };
    memset(c.of_link, -1, sizeof(int) * (size_t)(n_links + 1));
    add_classes(sim, true, &c);
    add_classes(sim, false, &c);
    return c;
}
