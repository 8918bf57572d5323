/* cli/hosts.h - the hosts of a file that Open MPI reads. */
#ifndef CLI_HOSTS_H
#define CLI_HOSTS_H

#include "cli/opt.h"

enum { HOST_BYTES = 256 };

/* Note it where the file says of all its hosts how many ranks they take, and it is fewer. */
void hosts_note_slots(const struct args *args, int ranks);

/* The first host of the file that `text` tells of, or its only one; else "the hosts of FILE".
 */
void hosts_told_of(const char *path, const char *text, char name[HOST_BYTES]);

#endif /* CLI_HOSTS_H */
