/* Machines that are like another: the first of its nodes, or links of another bandwidth. */
#include "machine/machine.h"

#include <string.h>

/* What a part can have fewer of with its devices keeping their numbers: nodes, rows of a grid,
 * leaves. */
static int rows_of(const struct part *part)
{
    return part->topology->scope == SCOPE_CLUSTER && part->n_dims < 2 ? 1 : part->dim[0];
}

int hp_machine_node(const struct hypar_machine *machine, int device)
{
    int first = 0, nodes = 0;
    if (machine->topology->shape != NETWORK_NODES)
        return 0;
    for (int p = 0; p < machine->n_parts; p++) {
        const struct part *part = &machine->parts[p];
        int rows = rows_of(part);
        if (device < first + part->n_devices)
            return nodes + (device - first) / (part->n_devices / rows);
        first += part->n_devices;
        nodes += rows;
    }
    return nodes;
}

int hp_machine_rows(const struct hypar_machine *machine)
{
    int n = 0;
    for (int p = 0; p < machine->n_parts; p++)
        n += rows_of(&machine->parts[p]);
    return n;
}

int hp_machine_fewer_rows(const struct hypar_machine *machine, int rows)
{
    int before = 0, p = 0;
    while (p + 1 < machine->n_parts && before + rows_of(&machine->parts[p]) < rows)
        before += rows_of(&machine->parts[p++]);
    int power = rows - before > 1;
    while (2 * power < rows - before && power > 0)
        power *= 2;
    return before + power;
}

static void keep_rows(struct part *part, int rows)
{
    int each = part->n_devices / rows_of(part);
    if (rows < rows_of(part))
        part->dim[0] = rows;
    part->n_devices = each * rows_of(part);
}

static void scale_links(struct part *part, double factor)
{
    static const enum option links[] = { OPTION_BANDWIDTH, OPTION_INTRA, OPTION_INTER };
    for (int i = 0; i < 3; i++)
        if (hp_option_applies(part, links[i]))
            part->value[links[i]] *= factor;
}

static enum hypar_status check_parts(const struct hypar_machine *machine,
                                     struct hypar_error *err)
{
    if (machine->n_parts == 0 || !machine->topology->default_device)
        return hp_fail(err, HYPAR_UNSUPPORTED, "a machine of explicit links, or this computer");
    return HYPAR_OK;
}

enum hypar_status hp_machine_like(struct hypar_machine **out,
                                  const struct hypar_machine *machine, int rows, double links,
                                  struct hypar_error *err)
{
    struct arena arena = { 0 };
    int n = 0;
    *out = NULL;
    TRY(check_parts(machine, err));
    struct part *parts = NEW(&arena, struct part, machine->n_parts);
    for (int p = 0; p < machine->n_parts && rows > 0; p++) {
        parts[n] = machine->parts[p];
        keep_rows(&parts[n], rows);
        scale_links(&parts[n], links);
        rows -= rows_of(&machine->parts[p]);
        n++;
    }
    enum hypar_status status = hp_machine_from_parts(out, parts, n, err);
    hp_arena_free(&arena);
    return status;
}

enum hypar_status hp_machine_scaled(struct hypar_machine **out,
                                    const struct hypar_machine *machine, const char *device,
                                    const double factor[OPTION_COUNT], struct hypar_error *err)
{
    struct arena arena = { 0 };
    *out = NULL;
    TRY(check_parts(machine, err));
    enum hypar_status status = HYPAR_OK;
    struct part *parts = NEW(&arena, struct part, machine->n_parts);
    for (int p = 0; p < machine->n_parts; p++) {
        parts[p] = machine->parts[p];
        if (device && strcmp(parts[p].type.device.name, device) != 0)
            continue;
        for (int o = 0; o < OPTION_COUNT && status == HYPAR_OK; o++) {
            if (factor[o] == 1 || !hp_option_applies(&parts[p], (enum option)o))
                continue;
            parts[p].value[o] *= factor[o];
            status = hp_option_check(&parts[p], (enum option)o, parts[p].value[o], err);
        }
    }
    if (status == HYPAR_OK)
        status = hp_machine_from_parts(out, parts, machine->n_parts, err);
    hp_arena_free(&arena);
    return status;
}
