/* The destinations of results: standard output, or files that are put in place at the end. */
#include "cli/opt.h"

#include <assert.h>
#include <string.h>

enum { MAX_OUTPUTS = 8 };

enum hypar_format opt_format(const struct args *args)
{
    return args->json ? HYPAR_JSON : HYPAR_TEXT;
}

const char *opt_output(const struct args *args)
{
    return args->output ? args->output : "-";
}

/* Written files that wait for the end of the command. */
static struct hypar_output finished[MAX_OUTPUTS];
static int n_finished;

/* Standard output is flushed when all is done. */
enum hypar_status opt_close(struct hypar_output *out, enum hypar_status status,
                            struct hypar_error *err)
{
    if (status == HYPAR_OK && out->file != stdout)
        status = hypar_output_finish(out, err);
    if (status == HYPAR_OK && out->temporary[0]) {
        assert(n_finished < MAX_OUTPUTS);
        finished[n_finished++] = *out;
    } else {
        hypar_output_close(out, false, NULL);
    }
    return status;
}

enum hypar_status opt_write_plan(const struct hypar_plan *plan, const char *path,
                                 struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, path, err));
    hypar_plan_write(plan, out.file);
    return opt_close(&out, HYPAR_OK, err);
}

enum hypar_status opt_place_files(enum hypar_status status, struct hypar_error *err)
{
    for (int i = 0; i < n_finished; i++) {
        bool keep = status == HYPAR_OK || status == HYPAR_INFEASIBLE || status == HYPAR_STOPPED;
        enum hypar_status placed = hypar_output_close(&finished[i], keep, keep ? err : NULL);
        if (placed != HYPAR_OK)
            status = placed;
    }
    n_finished = 0;
    return status;
}

bool opt_wants_summary(const struct args *args)
{
    return !args->output || ((args->json || !args->quiet) && !opt_is_standard(args->output));
}

enum hypar_status opt_catalogue(const struct args *args,
                                enum hypar_status (*report)(FILE *to, const char *name,
                                                            enum hypar_format format,
                                                            struct hypar_error *err),
                                struct hypar_error *err)
{
    struct hypar_output out;
    TRY(hypar_output_open(&out, opt_output(args), err));
    enum hypar_status status =
        report(out.file, args->n_operands ? args->operand[0] : NULL, opt_format(args), err);
    return opt_close(&out, status, err);
}

void opt_show_progress(void *who, const struct hypar_search_progress *p)
{
    char best[32];
    fprintf(stderr,
            "\rhypar: %sbest step %s; %lld proposals, %.0f a second, %.0f %% accepted\033[K",
            (const char *)who, hypar_format_quantity(best, p->best_s, HYPAR_UNIT_SECONDS),
            (long long)p->proposals, p->seconds > 0 ? (double)p->proposals / p->seconds : 0,
            p->proposals ? 100 * (double)p->accepted / (double)p->proposals : 0);
}

bool opt_is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}
