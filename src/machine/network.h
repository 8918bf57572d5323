/* machine/network.h - machines of explicit nodes and links. Internal. */
#ifndef MACHINE_NETWORK_H
#define MACHINE_NETWORK_H

#include "machine/machine.h"

enum { NETWORK_MAX_LINKS = 1 << 20 };

extern const struct topology hp_explicit;

/* A machine whose links, all valid, the caller still writes into *links. Names are copied. */
struct hypar_machine *hp_network_new(const struct device_run *runs, int n_runs, int n_devices,
                                     int n_switches, int n_links, struct hypar_link **links);

/* Find the routes; fails where a device cannot be reached. */
enum hypar_status hp_network_finish(struct hypar_machine *machine, struct hypar_error *err);

#endif /* MACHINE_NETWORK_H */
