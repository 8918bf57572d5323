/* The memory limit of the process's control groups. */
#include "machine/computer.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* The number in a file; 0: there is no file, or no number ("max"). */
static double read_number(const char *path)
{
    double number = 0;
    FILE *file = hypar_or_out_of_memory(fopen(path, "r"));
    if (!file)
        return 0;
    if (fscanf(file, "%lf", &number) != 1)
        number = 0;
    fclose(file);
    return number;
}

/* The least limit of the group and its parents, up to the mount. In a container the mount may
 * show its own group under the path of another. */
static double least_limit(const char *mount, const char *group, const char *name)
{
    char path[2 * PATH_MAX + 64];
    double least = 0;
    for (size_t n = strlen(group);; n--) {
        while (n > 0 && group[n] != '/' && group[n] != '\0')
            n--;
        snprintf(path, sizeof path, "%s%.*s/%s", mount, (int)n, group, name);
        double limit = read_number(path);
        if (limit > 0 && (least <= 0 || limit < least))
            least = limit;
        if (n == 0)
            return least;
    }
}

/* "0::/path" is version 2, "4:memory:/path" version 1. */
double hp_memory_limit(const char *groups, const char *mount)
{
    char line[PATH_MAX], old_mount[PATH_MAX];
    double least = 0;
    FILE *file = hypar_or_out_of_memory(fopen(groups, "r"));
    snprintf(old_mount, sizeof old_mount, "%s/memory", mount);
    while (file && fgets(line, sizeof line, file)) {
        const char *kinds = strchr(line, ':'), *group = kinds ? strchr(kinds + 1, ':') : NULL;
        line[strcspn(line, "\n")] = '\0';
        if (!group)
            continue;
        bool old = strncmp(kinds, ":memory:", strlen(":memory:")) == 0;
        if (!old && strncmp(line, "0::", 3) != 0)
            continue;
        double limit = least_limit(old ? old_mount : mount, group + 1,
                                   old ? "memory.limit_in_bytes" : "memory.max");
        if (limit > 0 && (least <= 0 || limit < least))
            least = limit;
    }
    if (file)
        fclose(file);
    return least;
}
