/* --planner ./mine.so: planners that are loaded. */
#include "cli/opt.h"

#include <string.h>
#include <unistd.h>

enum hypar_status opt_load_planners(struct args *args, struct hypar_error *err)
{
    char path[LIST_BYTES];
    size_t at = 0;
    if (!args->planner || !strchr(args->planner, '/'))
        return HYPAR_OK;
    args->beside = strchr(args->planner, ',') != NULL;
    for (const char *list = args->planner; list;) {
        size_t n = strcspn(list, ",");
        if (n >= sizeof path)
            return opt_usage(err, "--planner: a path of more than %zu bytes", sizeof path - 1);
        memcpy(path, list, n);
        path[n] = '\0';
        const char *name = path;
        bool file = strchr(path, '/') != NULL;
        if (list[n] && file && access(list, F_OK) == 0)
            return opt_usage(err,
                             "--planner: '%s' has a comma, which separates planners; expected "
                             "a path without one",
                             list);
        args->beside &= file == (at > 0);
        if (file)
            TRY(hypar_planner_load(&name, path, err));
        int added = snprintf(args->planners + at, sizeof args->planners - at, "%s%s",
                             at ? "," : "", name);
        at += (size_t)added;
        if (at >= sizeof args->planners)
            return opt_usage(err, "--planner: a list of more than %zu bytes",
                             sizeof args->planners - 1);
        list = list[n] ? list + n + 1 : NULL;
    }
    args->planner = args->planners;
    return HYPAR_OK;
}
