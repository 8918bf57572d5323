#include "cli/hosts.h"

#include <ctype.h>
#include <string.h>

/* A line that names a host. */
struct host {
    char name[HOST_BYTES];
    int line;
    char slots[32]; /* as written; empty: not given */
};

/* The host of the next line that has one; `host` keeps count of the lines. */
static bool next_host(FILE *from, struct host *host)
{
    char line[1024];
    while (fgets(line, sizeof line, from)) {
        host->line++;
        line[strcspn(line, "#\n")] = '\0';
        if (sscanf(line, "%255s", host->name) != 1)
            continue;
        const char *told = strstr(line, "slots"); /* of max_slots the end */
        while (told && told > line && told[-1] == '_')
            told = strstr(told + 1, "slots");
        host->slots[0] = '\0';
        if (told && sscanf(told, "slots = %31s", host->slots) != 1)
            host->slots[0] = '\0';
        return true;
    }
    return false;
}

enum hypar_status hosts_check(const char *path, struct hypar_error *err)
{
    struct host host = { .line = 0 };
    int n = 0;
    double slots;
    FILE *from = hypar_or_out_of_memory(fopen(path, "r"));
    err->text[0] = '\0';
    for (; from && !err->text[0] && next_host(from, &host); n++)
        if (host.slots[0] && (strspn(host.slots, "0123456789") != strlen(host.slots) ||
                              !hypar_parse_quantity(host.slots, HYPAR_UNIT_COUNT, &slots) ||
                              slots < 1 || slots > 1e6))
            snprintf(err->text, sizeof err->text,
                     "%.150s:%d: slots=%s, expected a whole number from 1 to 1000000", path,
                     host.line, host.slots);
    if (from)
        fclose(from);
    if (!n)
        snprintf(err->text, sizeof err->text, "%.150s: names no host, expected one in a line",
                 path);
    return err->text[0] ? HYPAR_INVALID : HYPAR_OK;
}

void hosts_note_slots(const struct args *args, int ranks)
{
    struct host host = { .line = 0 };
    double slots, all = 0;
    bool told = true;
    FILE *from = hypar_or_out_of_memory(fopen(args->hostfile, "r"));
    if (!from)
        return;
    while (next_host(from, &host)) {
        told &= hypar_parse_quantity(host.slots, HYPAR_UNIT_COUNT, &slots);
        all += told ? slots : 0;
    }
    fclose(from);
    if (told && all < ranks)
        opt_note(args, "%s: %.0f slot%s for %d ranks: some share one", args->hostfile, all,
                 all == 1 ? "" : "s", ranks);
}

/* Does the text name this host as a whole word? "node10" does not name node1. */
static bool tells_of(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at++) {
        bool begins = at == text || !(isalnum((unsigned char)at[-1]) || strchr("-.", at[-1]));
        bool ends = !(isalnum((unsigned char)at[n]) || at[n] == '-' ||
                      (at[n] == '.' && isalnum((unsigned char)at[n + 1])));
        if (begins && ends)
            return true;
    }
    return false;
}

void hosts_told_of(const char *path, const char *text, char names[HOST_BYTES])
{
    enum { ROOM = 100 }; /* for the rest of the line */
    struct host host = { .line = 0 };
    int n = 0, more = 0;
    size_t length = 0;
    FILE *from = hypar_or_out_of_memory(fopen(path, "r"));
    for (; from && next_host(from, &host); n++) {
        if (!tells_of(text, host.name))
            continue;
        if (length && length + strlen(host.name) > ROOM)
            more++;
        else
            length += (size_t)snprintf(names + length, HOST_BYTES - length, "%s%.*s",
                                       length ? ", " : "", ROOM, host.name);
    }
    if (from)
        fclose(from);
    if (more)
        snprintf(names + length, HOST_BYTES - length, " and %d more", more);
    else if (!length && n == 1)
        memcpy(names, host.name, HOST_BYTES);
    else if (!length)
        snprintf(names, HOST_BYTES, "the hosts of %.200s", path);
}
