#include "cli/hosts.h"

#include <string.h>

/* The host of the next line that has one, and its slots; -1: not told. */
static bool next_host(FILE *from, char name[HOST_BYTES], long *slots)
{
    char line[1024];
    while (fgets(line, sizeof line, from)) {
        line[strcspn(line, "#\n")] = '\0';
        if (sscanf(line, "%255s", name) != 1)
            continue;
        const char *told = strstr(line, "slots"); /* of max_slots the end */
        while (told && told > line && told[-1] == '_')
            told = strstr(told + 1, "slots");
        *slots = -1;
        if (told && sscanf(told, "slots = %ld", slots) != 1)
            *slots = -1;
        return true;
    }
    return false;
}

void hosts_note_slots(const struct args *args, int ranks)
{
    char name[HOST_BYTES];
    long slots, all = 0;
    bool told = true;
    FILE *from = hypar_or_out_of_memory(fopen(args->hostfile, "r"));
    if (!from)
        return;
    while (next_host(from, name, &slots)) {
        told &= slots >= 0;
        all += slots;
    }
    fclose(from);
    if (told && all < ranks)
        opt_note(args, "%s: %ld slot%s for %d ranks: some share one", args->hostfile, all,
                 all == 1 ? "" : "s", ranks);
}

void hosts_told_of(const char *path, const char *text, char name[HOST_BYTES])
{
    char host[HOST_BYTES];
    long slots;
    int n = 0;
    bool found = false;
    FILE *from = hypar_or_out_of_memory(fopen(path, "r"));
    while (from && !found && next_host(from, host, &slots)) {
        n++;
        found = strstr(text, host);
    }
    if (from)
        fclose(from);
    if (found || n == 1)
        memcpy(name, host, HOST_BYTES);
    else
        snprintf(name, HOST_BYTES, "the hosts of %.200s", path);
}
