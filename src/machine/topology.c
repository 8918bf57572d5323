/* The table of topologies, and finding one by name. */
#include "machine/topology.h"

#include <string.h>

#include "base/word.h"

/* To add a topology: a file with its four functions, a row here, a case in
 * tests/machine/test_topology.c. */
const struct topology *const hp_topologies[] = {
    &hp_htree, &hp_torus, &hp_mesh, &hp_ring, &hp_full, &hp_cluster, &hp_local, NULL,
};

enum { N_TOPOLOGIES = sizeof hp_topologies / sizeof hp_topologies[0] - 1 };

const struct hypar_topology *hypar_topology(int i)
{
    return i >= 0 && i < N_TOPOLOGIES ? &hp_topologies[i]->text : NULL;
}

const struct topology *hp_topology_find(const char *name, size_t length)
{
    for (int i = 0; i < N_TOPOLOGIES; i++) {
        const char *known = hp_topologies[i]->text.name;
        if (strlen(known) == length && memcmp(known, name, length) == 0)
            return hp_topologies[i];
    }
    return NULL;
}

enum hypar_status hp_topology_get(const struct topology **out, const char *name, size_t length,
                                  struct hypar_error *err)
{
    const char *names[N_TOPOLOGIES];
    char known[256], word[41];
    *out = hp_topology_find(name, length);
    if (*out)
        return HYPAR_OK;
    for (int i = 0; i < N_TOPOLOGIES; i++)
        names[i] = hp_topologies[i]->text.name;
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    return hp_fail(err, HYPAR_SYNTAX, "unknown topology '%s', %s", word,
                   hp_expected(known, sizeof known, word, names, N_TOPOLOGIES, NULL));
}

enum hypar_status hp_part_set_shape(struct part *part, const int64_t *dim, int n_dims,
                                    struct hypar_error *err)
{
    const struct topology *topology = part->topology;
    if (n_dims < topology->min_dims || n_dims > topology->max_dims)
        return hp_fail(err, HYPAR_INVALID, "%s has %d size%s, expected %s", topology->text.name,
                       n_dims, n_dims == 1 ? "" : "s", topology->text.syntax);
    int64_t devices = 1;
    for (int d = 0; d < n_dims; d++) {
        if (dim[d] < 1 || dim[d] > MACHINE_MAX_DEVICES)
            return hp_fail(err, HYPAR_INVALID, "size %lld, expected 1..%d", (long long)dim[d],
                           MACHINE_MAX_DEVICES);
        devices *= dim[d];
        if (devices > MACHINE_MAX_DEVICES)
            return hp_fail(err, HYPAR_UNSUPPORTED, "more than %d devices", MACHINE_MAX_DEVICES);
        part->dim[d] = (int)dim[d];
    }
    part->n_dims = n_dims;
    part->n_devices = (int)devices;
    return HYPAR_OK;
}
