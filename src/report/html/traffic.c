/* Writes the traffic of a step for the page: from device to device, and over each link of the
 * machine. */
#include "report/html/page.h"
#include "report/put.h"
#include "report/simulate/bars.h"

enum { MOST_NODES = 400, MOST_LINKS = 2400 };

/* Write the matrix row by row. A row covers several devices if needed, so that there are at
 * most SHOWN_DEVICES rows. */
static void put_matrix(struct json_writer *w, const struct hypar_sim *sim)
{
    struct arena arena = { 0 };
    struct hypar_program *program;
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    struct hypar_lower_options how = { .bucket_bytes = s.how.framework.bucket_bytes,
                                       .local_bn = s.how.local_bn,
                                       .minibatches = hypar_sim_pipeline(sim).minibatches,
                                       .forward = s.forward };
    int n = s.n_devices;
    int together = (n + SHOWN_DEVICES - 1) / SHOWN_DEVICES,
        rows = (n + together - 1) / together;
    if (hypar_lower(&program, hypar_sim_plan(sim), &how, NULL) != HYPAR_OK)
        return;
    double *sum = NEW(&arena, double, rows *rows);
    hypar_program_pair_bytes(program, together, sum);
    hypar_program_free(program);
    hp_json_put_int(w, "devices_in_row", together);
    hp_json_begin_array(w, "matrix", true);
    for (int i = 0; i < rows * rows; i++)
        hp_json_put_number(w, NULL, sum[i]);
    hp_json_end_array(w);
    hp_arena_free(&arena);
}

/* For each link: both nodes and its bandwidth, then bytes and busy seconds of either
 * direction. */
static void put_link(struct json_writer *w, const struct hypar_sim *sim, int link,
                     struct hypar_link figures)
{
    hp_json_begin_array(w, NULL, true);
    hp_json_put_int(w, NULL, figures.from);
    hp_json_put_int(w, NULL, figures.to);
    hp_json_put_number(w, NULL, figures.bytes_per_s);
    for (int direction = 0; direction < 2; direction++) {
        struct hypar_sim_link l = hypar_sim_link(sim, 2 * link + direction);
        hp_json_put_number(w, NULL, l.bytes);
        hp_json_put_number(w, NULL, l.busy_s);
    }
    hp_json_end_array(w);
}

void hp_put_page_traffic(struct json_writer *w, const struct hypar_sim *sim)
{
    const struct hypar_machine *machine = hypar_plan_machine(hypar_sim_plan(sim));
    int n_devices = hypar_machine_device_count(machine),
        n_switches = hypar_machine_switch_count(machine),
        n_links = hypar_machine_link_count(machine);
    hp_json_begin_object(w, "traffic", false);
    PUT(w, TEXT("topology", hypar_machine_topology(machine)), INT("devices", n_devices),
        INT("switches", n_switches));
    put_matrix(w, sim);
    if (n_devices + n_switches <= MOST_NODES && n_links <= MOST_LINKS) {
        hp_json_begin_array(w, "links", false);
        for (int i = 0; i < n_links; i++)
            put_link(w, sim, i, hypar_machine_link(machine, i));
        hp_json_end_array(w);
    }
    hp_json_end_object(w);
}
