/* A sweep: how large a batch, on how many devices? Plans for every batch on every size of the
 * machine, and the most samples a second for a device.
 *
 *     cc sweep.c $(pkg-config --cflags --libs hypar) -o sweep
 *     ./sweep resnet50 cluster:4x8,device=a100 256..1024 8..32 */
#include <hypar/explore.h>

static enum hypar_status read_model(void *who, int64_t batch, struct hypar_graph **out,
                                    struct hypar_error *err)
{
    struct hypar_import_options options = { .batch = batch };
    return hypar_import(out, who, &options, err);
}

/* An observer: told after each point. With threads = 1 it is always this thread. */
static void tell(void *who, int done, int all)
{
    fprintf(who, "%d of %d\n", done, all);
}

static void show(const struct hypar_sweep *sweep)
{
    for (int i = 0; i < hypar_sweep_info(sweep).n_points; i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(sweep, i);
        printf("%3d devices, batch %5lld: ", p->devices, (long long)p->batch);
        if (p->verdict == HYPAR_SWEPT_FITS)
            printf("%8.1f samples/s by %s%s\n", p->samples_per_s, p->planner,
                   p->best ? ", the most for a device" : "");
        else
            printf("%s\n", p->verdict == HYPAR_SWEPT_NO_PLAN ? p->why.text : "too large");
    }
}

int main(int argc, char **argv)
{
    struct hypar_error err;
    struct hypar_machine *machine = NULL;
    struct hypar_sweep *sweep = NULL;
    char resnet50[] = "resnet50";
    struct hypar_batches batches = { .graph = read_model,
                                     .who = argc > 1 ? argv[1] : resnet50 };
    struct hypar_sweep_options options = { .batches = argc > 3 ? argv[3] : "256,1024",
                                           .devices = argc > 4 ? argv[4] : "8,16",
                                           .planners = "dp,hypar,3d",
                                           .search = { .threads = 1 },
                                           .progress = tell,
                                           .who = stderr };
    enum hypar_status status =
        hypar_machine_read(&machine, argc > 2 ? argv[2] : "cluster:2x8,device=a100", &err);
    if (status == HYPAR_OK)
        status = hypar_sweep(&sweep, &batches, machine, &options, &err);
    if (status == HYPAR_OK)
        show(sweep);
    else
        fprintf(stderr, "%s\n", err.text);
    hypar_sweep_free(sweep);
    hypar_machine_free(machine);
    return hypar_status_exit_code(status);
}
