/* cli/hosts.h - the hosts of a file that Open MPI reads. */
#ifndef CLI_HOSTS_H
#define CLI_HOSTS_H

#include "cli/opt.h"

enum { HOST_BYTES = 256 };

/* Does the file at `path` name hosts, and of each a number of slots, or none? */
enum hypar_status hosts_check(const char *path, struct hypar_error *err);

/* Note it where the file says of all its hosts how many ranks they take, and it is fewer. */
void hosts_note_slots(const struct args *args, int ranks);

/* The hosts of the file that `text` tells of, "a, b and 3 more", or its only one; else "the
 * hosts of FILE". */
void hosts_told_of(const char *path, const char *text, char names[HOST_BYTES]);

#endif /* CLI_HOSTS_H */
