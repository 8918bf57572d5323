/* Machines that are like another: the first of its nodes, or links of another bandwidth. */
#include "machine/machine.h"

/* What a part can have fewer of with its devices keeping their numbers: nodes, rows of a grid,
 * leaves. */
static int rows_of(const struct part *part)
{
    return part->topology->scope == SCOPE_CLUSTER && part->n_dims < 2 ? 1 : part->dim[0];
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
    int power = rows > 1;
    while (2 * power < rows && power > 0)
        power *= 2;
    return before > 0 ? before : power;
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

enum hypar_status hp_machine_like(struct hypar_machine **out,
                                  const struct hypar_machine *machine, int rows, double links,
                                  struct hypar_error *err)
{
    struct arena arena = { 0 };
    int n = 0;
    *out = NULL;
    if (machine->n_parts == 0 || !machine->topology->default_device)
        return hp_fail(err, HYPAR_UNSUPPORTED, "a machine of explicit links, or this computer");
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
