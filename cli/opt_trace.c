/* Options of traces: the part of a step to show, and the file. */
#include "cli/opt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum hypar_status opt_check_trace(const struct args *args, struct hypar_error *err)
{
    const char *given = args->trace_devices      ? "devices"
                        : args->trace_from_s > 0 ? "from"
                        : args->trace_to_s > 0   ? "to"
                        : args->trace_bars       ? "bars"
                        : args->trace_names      ? "names"
                        : args->trace_arrows     ? "arrows"
                                                 : NULL;
    if (given && !args->trace)
        return opt_usage(err, "%s: --trace-%s needs --trace FILE", args->command, given);
    if (args->trace_to_s > 0 && args->trace_to_s <= args->trace_from_s)
        return opt_usage(err, "--trace-to: %g s is not after --trace-from, %g s",
                         args->trace_to_s, args->trace_from_s);
    if (args->trace_names && opt_find_word(OPT_TRACE_NAMES, args->trace_names) < 0)
        return opt_unknown_word(OPT_TRACE_NAMES, args->trace_names, err);
    return HYPAR_OK;
}

/* A number of a device at `text`; false: there is none. */
static bool read_device(char **text, int n_devices, int *out)
{
    char *end;
    errno = 0;
    long n = strtol(*text, &end, 10);
    if (end == *text || **text == '-' || errno || n < 0 || n >= n_devices)
        return false;
    *text = end;
    *out = (int)n;
    return true;
}

/* "0-7,16" */
static enum hypar_status read_devices(const char *list, int n_devices, bool *device,
                                      struct hypar_error *err)
{
    char *at = (char *)list;
    do {
        int first, last;
        if (!read_device(&at, n_devices, &first))
            break;
        last = first;
        if (*at == '-') {
            at++;
            if (!read_device(&at, n_devices, &last) || last < first)
                break;
        }
        for (int d = first; d <= last; d++)
            device[d] = true;
        if (!*at)
            return HYPAR_OK;
    } while (*at++ == ',');
    return opt_usage(err,
                     "--trace-devices: '%s' is not a list of devices from 0 to %d, as 0-7,16",
                     list, n_devices - 1);
}

static bool is_packed(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && strcasecmp(path + n - 3, ".gz") == 0;
}

static void note_left_out(const struct args *args, const struct hypar_trace_shown *shown)
{
    char until[32];
    if (!shown->bars && args->trace_from_s > 0)
        opt_note(args, "%s: empty, nothing is under way at --trace-from, %s, or later",
                 args->trace,
                 hypar_format_quantity(until, args->trace_from_s, HYPAR_UNIT_SECONDS));
    if (!shown->left_out)
        return;
    opt_note(args,
             "%s: the first %lld of %lld bars, up to %s of the step; --trace-devices, "
             "--trace-from and --trace-to show others, --trace-bars more",
             args->trace, (long long)shown->bars, (long long)(shown->bars + shown->left_out),
             hypar_format_quantity(until, shown->until_s, HYPAR_UNIT_SECONDS));
}

static enum hypar_status write_trace(const struct args *args,
                                     const struct hypar_trace_options *how,
                                     const struct trace *trace, struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, args->trace, err));
    FILE *packed = is_packed(args->trace) ? hypar_gzip(out.file) : NULL;
    struct hypar_trace_shown shown = trace->put(packed ? packed : out.file, trace->what, how);
    if (packed)
        fclose(packed); /* an error is one of out.file too */
    note_left_out(args, &shown);
    return opt_close(&out, HYPAR_OK, err);
}

enum hypar_status opt_write_trace(const struct args *args, const struct trace *trace,
                                  struct hypar_error *err)
{
    struct hypar_trace_options how = {
        .from_s = args->trace_from_s,
        .to_s = args->trace_to_s,
        .most = args->trace_bars,
        .tasks = !args->trace_names || opt_find_word(OPT_TRACE_NAMES, args->trace_names) == 1,
        .arrows = args->trace_arrows,
    };
    bool *device = NULL;
    enum hypar_status status = HYPAR_OK;
    if (args->trace_devices) {
        device = hypar_or_out_of_memory(calloc((size_t)trace->n_devices + 1, sizeof *device));
        status = read_devices(args->trace_devices, trace->n_devices, device, err);
        how.device = device;
    }
    if (status == HYPAR_OK)
        status = write_trace(args, &how, trace, err);
    free(device);
    return status;
}
