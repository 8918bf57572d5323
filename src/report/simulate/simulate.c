/* A simulated step: how long it takes, and where the time goes. */
#include <hypar/report.h>

#include <math.h>

#include "base/json.h"
#include "plan/plan.h"
#include "report/csv.h"
#include "report/simulate/devices.h"
#include "report/simulate/energy.h"
#include "report/put.h"

enum { MOST_ROWS = 16, MOST_LINKS = 5, MOST_TASKS = 40, BAR = 18 };

char *hp_link_name(struct arena *arena, const struct hypar_sim_link *link, int n_devices)
{
    static const char *const kind[] = { "", "switch " };
    if (link->name)
        return hp_arena_strdup(arena, link->name);
    return hp_arena_printf(arena, "%s%d -> %s%d", kind[link->from >= n_devices], link->from,
                           kind[link->to >= n_devices], link->to);
}

/* The stage of a device, or -1: it has none, or no stage of the plan is replicated. */
static int replicated_stage_of(const struct hypar_plan *plan, int device)
{
    bool replicated = false;
    int found = -1;
    for (int s = 0; plan && s < hypar_plan_stage_count(plan); s++) {
        struct hypar_stage stage = hypar_plan_stage(plan, s);
        replicated |= stage.share == HYPAR_SHARE_MINIBATCH && stage.replicas > 1;
        for (int i = 0; i < stage.n_devices; i++)
            found = stage.device[i] == device ? s : found;
    }
    return replicated ? found : -1;
}

char *hp_device_name(struct arena *arena, const struct hypar_plan *plan, int device)
{
    int s = replicated_stage_of(plan, device);
    if (s < 0)
        return hp_arena_printf(arena, "device %d", device);
    int replicas = hypar_plan_stage(plan, s).replicas;
    if (replicas == 1)
        return hp_arena_printf(arena, "device %d: stage %d", device, s);
    return hp_arena_printf(arena, "device %d: stage %d, 1 of %d replicas", device, s, replicas);
}

static bool carries(const struct hypar_sim_link *link)
{
    return link->busy_s > 0 || link->bytes > 0;
}

/* JSON -------------------------------------------------------------------------------- */

static void put_devices(struct json_writer *w, const struct hypar_sim *sim, int n,
                        const struct hypar_plan *plan)
{
    hp_json_begin_array(w, "devices", false);
    for (int i = 0; i < n; i++) {
        struct hypar_sim_device d = hypar_sim_device(sim, i);
        hp_json_begin_object(w, NULL, true);
        hp_json_put_number(w, "busy_s", d.busy_s);
        hp_json_put_number(w, "comm_s", d.comm_s);
        hp_json_put_number(w, "waiting_s", d.waiting_s);
        if (plan) {
            hp_json_put_number(w, "peak_memory_bytes", d.memory.peak);
            hp_put_memory(w, &d.memory);
        }
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

/* Links that carry something; nodes are numbered as the machine does. */
static void put_links(struct json_writer *w, const struct hypar_sim *sim, int n)
{
    hp_json_begin_array(w, "links", false);
    for (int i = 0; i < n; i++) {
        struct hypar_sim_link link = hypar_sim_link(sim, i);
        if (!carries(&link))
            continue;
        hp_json_begin_object(w, NULL, true);
        if (link.name)
            hp_json_put_string(w, "name", link.name);
        if (link.from >= 0) {
            hp_json_put_int(w, "from", link.from);
            hp_json_put_int(w, "to", link.to);
        }
        hp_json_put_number(w, "busy_s", link.busy_s);
        hp_json_put_number(w, "bytes", link.bytes);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

/* The tasks of a program file, as it numbers them. */
static void put_timeline(struct json_writer *w, const struct hypar_sim *sim)
{
    struct hypar_sim_event event;
    hp_json_begin_array(w, "timeline", false);
    for (int64_t i = 0; hypar_sim_event(sim, i, &event); i++) {
        hp_json_begin_object(w, NULL, true);
        hp_json_put_int(w, "id", event.id);
        hp_json_put_string(w, "name", event.name);
        hp_json_put_number(w, "ready_s", event.ready_s);
        hp_json_put_number(w, "start_s", event.start_s);
        hp_json_put_number(w, "end_s", event.end_s);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void put_plan(struct json_writer *w, const struct hypar_plan *plan,
                     const struct hypar_sim_summary *s)
{
    hp_json_put_string(w, "model", hypar_plan_model(plan));
    hp_json_put_int(w, "batch", hypar_graph_batch(hypar_plan_graph(plan)));
    hp_json_put_string(w, "precision", hypar_precision_text(hypar_plan_precision(plan)));
    if (hypar_plan_gradient_precision(plan) != hypar_plan_precision(plan))
        hp_json_put_string(w, "gradient_precision",
                           hypar_precision_text(hypar_plan_gradient_precision(plan)));
    hp_json_put_string(w, "optimizer", hypar_optimizer_text(hypar_plan_optimizer(plan)));
    hp_put_simulation(w, &s->how);
    if (s->forward)
        hp_json_put_bool(w, "forward", true);
    hp_json_put_number(w, "samples_per_s", s->samples_per_s);
    hp_json_put_known(w, "tokens_per_s", s->tokens_per_s > 0, s->tokens_per_s);
    hp_json_put_number(w, "mfu", s->mfu);
    hp_json_put_number(w, "peak_memory_bytes", s->peak_memory_bytes);
    hp_json_put_int(w, "fullest_device", s->fullest_device);
    hp_json_put_bool(w, "fits", s->fits);
}

/* Schedule pipedream: start-up, steady state, and each stage. */
static void put_pipeline(struct json_writer *w, const struct hypar_sim *sim)
{
    struct hypar_sim_pipeline p = hypar_sim_pipeline(sim);
    if (!p.minibatches)
        return;
    hp_json_begin_object(w, "pipeline", false);
    hp_json_put_int(w, "minibatches", p.minibatches);
    hp_json_put_int(w, "noam", p.noam);
    hp_json_put_number(w, "startup_s", p.startup_s);
    hp_json_put_number(w, "window_s", p.window_s);
    hp_json_put_bool(w, "steady", p.steady);
    double step_s = hypar_sim_summary(sim).step_s;
    hp_json_put_number(w, "minibatches_per_s", step_s > 0 ? 1 / step_s : 0);
    hp_json_begin_array(w, "stages", false);
    for (int s = 0; s < p.n_stages; s++) {
        struct hypar_sim_stage stage = hypar_sim_stage(sim, s);
        hp_json_begin_object(w, NULL, true);
        hp_json_put_int(w, "replicas", stage.replicas);
        hp_json_put_int(w, "in_flight", stage.in_flight);
        hp_json_put_int(w, "versions", stage.versions);
        hp_json_put_number(w, "busy_s", stage.busy_s);
        hp_json_put_number(w, "bubble", stage.bubble);
        hp_json_put_number(w, "peak_memory_bytes", stage.peak_memory_bytes);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
    hp_json_end_object(w);
}

static void simulation_json(FILE *to, const struct hypar_sim *sim,
                            const struct hypar_plan *plan)
{
    struct json_writer w = { .file = to };
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_number(&w, "step_s", s.step_s);
    if (plan)
        put_plan(&w, plan, &s);
    hp_json_put_number(&w, "comm_bytes", s.comm_bytes);
    hp_json_put_number(&w, "link_bytes", s.link_bytes);
    hp_json_put_int(&w, "tasks", s.tasks);
    hp_json_put_int(&w, "compute_tasks", s.compute);
    hp_json_put_int(&w, "comm_tasks", s.comm);
    hp_json_put_int(&w, "update_tasks", s.update);
    if (s.kernels > 0) {
        hp_json_put_string(&w, "framework", hypar_framework_text(s.how.framework));
        hp_json_put_number(&w, "kernels", s.kernels);
        hp_json_put_number(&w, "launch_s", s.launch_s);
    }
    hp_put_measured(&w, &s.measured);
    hp_put_opaque(&w, &s);
    put_pipeline(&w, sim);
    put_devices(&w, sim, s.n_devices, plan);
    put_links(&w, sim, s.n_links);
    if (plan)
        hp_put_energy(&w, &s.energy);
    else
        put_timeline(&w, sim);
    hp_json_end_object(&w);
}

/* CSV ---------------------------------------------------------------------------------- */

void hypar_report_simulation_csv(FILE *to, const struct hypar_sim *sim)
{
    struct arena arena = { 0 };
    struct csv_writer csv = { .file = to };
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    hp_csv_words(&csv, "name busy_s comm_s waiting_s peak_memory_bytes bytes");
    hp_csv_end(&csv);
    for (int i = 0; i < s.n_devices; i++) {
        struct hypar_sim_device d = hypar_sim_device(sim, i);
        hp_csv_text(&csv, hp_arena_printf(&arena, "device %d", i));
        hp_csv_number(&csv, d.busy_s);
        hp_csv_number(&csv, d.comm_s);
        hp_csv_number(&csv, d.waiting_s);
        hp_csv_known(&csv, hypar_sim_plan(sim) != NULL, d.memory.peak);
        hp_csv_plain(&csv, "");
        hp_csv_end(&csv);
    }
    for (int i = 0; i < s.n_links; i++) {
        struct hypar_sim_link link = hypar_sim_link(sim, i);
        if (!carries(&link))
            continue;
        hp_csv_text(&csv, hp_link_name(&arena, &link, s.n_devices));
        hp_csv_number(&csv, link.busy_s);
        for (int k = 0; k < 3; k++)
            hp_csv_plain(&csv, "");
        hp_csv_number(&csv, link.bytes);
        hp_csv_end(&csv);
    }
    hp_arena_free(&arena);
}

/* Text -------------------------------------------------------------------------------- */

/* What the plan says of how it is simulated, and whether it was done so. */
static void planned(FILE *to, struct arena *arena, const struct hypar_simulation *how,
                    const struct hypar_simulation *plan)
{
    if (hp_simulation_is_default(plan))
        return;
    if (hp_simulation_same(how, plan)) {
        hp_wrap(to, hp_arena_printf(arena, "as planned: %s", hp_simulation_text(arena, how)),
                0);
        return;
    }
    const char *now = hp_simulation_text(arena, how);
    hp_wrap(to,
            hp_arena_printf(arena, "planned: %s; simulated: %s",
                            hp_simulation_text(arena, plan), *now ? now : "by default"),
            0);
}

static void headline(FILE *to, struct arena *arena, const struct hypar_sim_summary *s,
                     const struct hypar_plan *plan)
{
    char b[32], devices[64], tasks[64];
    hp_count(devices, s->n_devices, "device", "devices");
    hp_count(tasks, s->tasks, "task", "tasks");
    const char *step = hypar_format_quantity(b, s->step_s, HYPAR_UNIT_SECONDS);
    if (!plan) {
        fprintf(to, "%s on %s: %s\n\n", tasks, devices, step);
        return;
    }
    hp_put_line(to, "%s, batch %lld, %s, on %s: a %s takes %s", hp_model_words(arena, plan),
                (long long)hypar_graph_batch(hypar_plan_graph(plan)),
                hp_precision_words(arena, hypar_plan_precision(plan),
                                   hypar_plan_gradient_precision(plan)),
                devices, s->forward ? "forward pass" : "step", step);
    const char *tokens = "";
    if (s->tokens_per_s > 0)
        tokens = hp_arena_printf(arena, ", %s tokens/s", hp_metric(b, s->tokens_per_s));
    hp_put_line(to, "%s samples/s%s, %.1f %% of peak (model FLOPs), %s",
                hp_metric(b, s->samples_per_s), tokens, 100 * s->mfu, tasks);
    planned(to, arena, &s->how, hypar_plan_simulation(plan));
    fputc('\n', to);
}

/* Schedule pipedream: how it starts and goes on, and what each stage keeps meanwhile. */
static void pipeline(FILE *to, struct arena *arena, const struct hypar_sim *sim,
                     const struct hypar_sim_summary *s)
{
    static const char *const heading[] = { "stage",     "replicas", "computing", "bubble",
                                           "in flight", "versions", "memory" };
    struct hypar_sim_pipeline p = hypar_sim_pipeline(sim);
    struct columns table = { .align = "rrrrrrr" };
    char a[32], b[32], c[32], count[64];
    if (!p.minibatches)
        return;
    hp_wrap(
        to,
        hp_arena_printf(
            arena,
            "A step is a minibatch %s: %s/s. %s in %s, of which start-up %s: each replica of "
            "the first stage admits %d before it goes on to the next.",
            p.steady ? "in steady state" : "on average, not yet steady",
            hp_metric(c, s->step_s > 0 ? 1 / s->step_s : 0),
            hp_count(count, p.minibatches, "minibatch", "minibatches"),
            hypar_format_quantity(a, p.window_s, HYPAR_UNIT_SECONDS),
            hypar_format_quantity(b, p.startup_s, HYPAR_UNIT_SECONDS), p.noam),
        0);
    fputc('\n', to);
    for (int i = 0; i < 7; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    for (int i = 0; i < p.n_stages; i++) {
        struct hypar_sim_stage stage = hypar_sim_stage(sim, i);
        hp_cell(&table, arena, "%d", i);
        hp_cell(&table, arena, "%d", stage.replicas);
        hp_quantity_cell(&table, arena, stage.busy_s, HYPAR_UNIT_SECONDS);
        hp_cell(&table, arena, "%.1f %%", 100 * stage.bubble);
        hp_cell(&table, arena, "%d", stage.in_flight);
        hp_cell(&table, arena, "%d", stage.versions);
        hp_quantity_cell(&table, arena, stage.peak_memory_bytes, HYPAR_UNIT_BYTES);
    }
    hp_columns_print(&table, to);
    fputc('\n', to);
}

/* What the table of devices is made from. */
struct look {
    const struct hypar_sim *sim;
    double step_s;
    bool colour;
};

/* How the parts of a step are drawn. */
static const struct {
    char letter;
    const char *colour, *text;
} looks[] = { { '#', "\033[32m", "computing" },
              { '=', "\033[33m", "communicating" },
              { '.', "\033[90m", "waiting" } };

static const char *bar(struct arena *arena, const struct look *look,
                       const struct hypar_sim_device *d)
{
    if (!(look->step_s > 0))
        return "";
    int busy = (int)(BAR * d->busy_s / look->step_s + .5);
    int still = (int)(BAR * (look->step_s - d->waiting_s) / look->step_s + .5);
    int end[] = { busy, still < busy ? busy : still, BAR };
    char *text = hp_arena_strdup(arena, "");
    for (int k = 0, at = 0; k < 3; k++) {
        char run[BAR + 1] = "";
        int n = 0;
        for (; at < end[k] && at < BAR; at++)
            run[n++] = looks[k].letter;
        if (n)
            text = hp_arena_printf(arena, "%s%s%s%s", text, look->colour ? looks[k].colour : "",
                                   run, look->colour ? "\033[0m" : "");
    }
    return text;
}

static void device_cells(const void *of, int device, struct columns *table, struct arena *arena)
{
    const struct look *look = of;
    struct hypar_sim_device d = hypar_sim_device(look->sim, device);
    hp_quantity_cell(table, arena, d.busy_s, HYPAR_UNIT_SECONDS);
    hp_cell(table, arena, "%.0f %%", look->step_s > 0 ? 100 * d.busy_s / look->step_s : 0);
    double alone_s = fmax(0, look->step_s - d.busy_s - d.waiting_s);
    double overlap_s = d.comm_s - alone_s;
    if (overlap_s < 1e-12) /* a picosecond is what the simulator counts in */
        overlap_s = 0;
    hp_quantity_cell(table, arena, alone_s, HYPAR_UNIT_SECONDS);
    hp_quantity_cell(table, arena, d.waiting_s, HYPAR_UNIT_SECONDS);
    hp_quantity_cell(table, arena, overlap_s, HYPAR_UNIT_SECONDS);
    hp_cell(table, arena, "%s", bar(arena, look, &d));
}

/* Devices first .. last - 1 in one line: "computing 1 ms to 3 ms, mean 2 ms". */
static void other_devices(FILE *to, const struct hypar_sim *sim, int first, int last)
{
    double least[2], most[2] = { 0, 0 }, sum[2] = { 0, 0 };
    char count[32], b[3][32];
    for (int i = first; i < last; i++) {
        struct hypar_sim_device d = hypar_sim_device(sim, i);
        const double value[2] = { d.busy_s, d.waiting_s };
        for (int k = 0; k < 2; k++) {
            least[k] = i == first || value[k] < least[k] ? value[k] : least[k];
            most[k] = value[k] > most[k] ? value[k] : most[k];
            sum[k] += value[k];
        }
    }
    fprintf(to, "and %s more", hp_thousands(count, last - first));
    for (int k = 0; k < 2; k++)
        fprintf(to, "%s %s to %s, mean %s", k ? "; waiting" : ": computing",
                hypar_format_quantity(b[0], least[k], HYPAR_UNIT_SECONDS),
                hypar_format_quantity(b[1], most[k], HYPAR_UNIT_SECONDS),
                hypar_format_quantity(b[2], sum[k] / (last - first), HYPAR_UNIT_SECONDS));
    fputc('\n', to);
}

static void devices(FILE *to, struct arena *arena, const struct hypar_sim *sim,
                    const struct hypar_sim_summary *s)
{
    struct look look = { sim, s->step_s, hp_has_colour(to) };
    struct columns table = { .align = "lrrrrrl" };
    static const char *const heading[] = { "device",  "computing", "", "communicating",
                                           "waiting", "overlap",   "" };
    for (int i = 0; i < 7; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    int shown = hp_device_rows(
        &table, arena, &(struct device_rows){ s->n_devices, &look, device_cells }, MOST_ROWS);
    hp_columns_print(&table, to);
    if (shown < s->n_devices)
        other_devices(to, sim, shown, s->n_devices);
    for (int k = 0; k < 3; k++)
        fprintf(to, "%s%s%c%s %s", k ? "   " : "", look.colour ? looks[k].colour : "",
                looks[k].letter, look.colour ? "\033[0m" : "", looks[k].text);
    fputc('\n', to);
    hp_put_line(to, "Overlap: it communicates as it computes, counted as computing.");
}

/* The busiest links, and how many there are that carry something. */
static void links(FILE *to, struct arena *arena, const struct hypar_sim *sim,
                  const struct hypar_sim_summary *s)
{
    struct hypar_sim_link top[MOST_LINKS + 1];
    int n = 0, used = 0;
    double busy = 0;
    for (int i = 0; i < s->n_links; i++) {
        struct hypar_sim_link link = hypar_sim_link(sim, i);
        if (!carries(&link))
            continue;
        used++;
        busy += link.busy_s;
        int at = n < MOST_LINKS ? n++ : MOST_LINKS;
        for (; at > 0 && top[at - 1].busy_s < link.busy_s; at--)
            top[at] = top[at - 1];
        top[at] = link;
    }
    if (!n)
        return;
    struct columns table = { .align = "lrrr" };
    static const char *const heading[] = { "busiest links", "busy", "", "bytes" };
    char b[32];
    for (int i = 0; i < 4; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    for (int i = 0; i < n; i++) {
        hp_cell(&table, arena, "%s", hp_link_name(arena, &top[i], s->n_devices));
        hp_quantity_cell(&table, arena, top[i].busy_s, HYPAR_UNIT_SECONDS);
        hp_cell(&table, arena, "%.1f %%", s->step_s > 0 ? 100 * top[i].busy_s / s->step_s : 0);
        hp_quantity_cell(&table, arena, top[i].bytes, HYPAR_UNIT_BYTES);
    }
    fputc('\n', to);
    hp_columns_print(&table, to);
    if (used > n && s->step_s > 0)
        hp_put_line(to, "and %s more; all are busy %.1f %% of the step on average",
                    hp_thousands(b, used - n), 100 * busy / used / s->step_s);
}

/* Bytes, energy and memory, a line each. */
static void totals(FILE *to, struct arena *arena, const struct hypar_sim *sim,
                   const struct hypar_sim_summary *s, const struct hypar_plan *plan)
{
    char a[32], b[32], c[32], d[32], e[32], f[32];
    enum { INDENT = 10 };
    fputs("\nSent      ", to);
    hp_wrap(to,
            hp_arena_printf(arena, "%s, %s; %s on links",
                            hypar_format_quantity(a, s->comm_bytes, HYPAR_UNIT_BYTES),
                            hp_sent_text(plan),
                            hypar_format_quantity(b, s->link_bytes, HYPAR_UNIT_BYTES)),
            INDENT);
    if (!plan)
        return;
    fputs("Energy    ", to);
    hp_wrap(to,
            hp_arena_printf(
                arena, "%s: arithmetic %s, SRAM %s, DRAM %s, links %s%s%s",
                hypar_format_quantity(a, hypar_energy_total_j(&s->energy), HYPAR_UNIT_JOULES),
                hypar_format_quantity(b, s->energy.arithmetic_j, HYPAR_UNIT_JOULES),
                hypar_format_quantity(c, s->energy.sram_j, HYPAR_UNIT_JOULES),
                hypar_format_quantity(d, s->energy.dram_j, HYPAR_UNIT_JOULES),
                hypar_format_quantity(e, s->energy.link_j, HYPAR_UNIT_JOULES),
                s->energy.idle_j > 0 ? ", idle power " : "",
                s->energy.idle_j > 0
                    ? hypar_format_quantity(f, s->energy.idle_j, HYPAR_UNIT_JOULES)
                    : ""),
            INDENT);
    if (s->kernels > 0)
        fprintf(to, "Kernels   %s\n", hp_kernels_text(arena, s));
    if (s->measured.asked)
        fprintf(to, "Profile   %s\n", hp_measured_text(arena, &s->measured));
    if (s->opaque) {
        fprintf(to, "Opaque    ");
        hp_wrap(to, hp_opaque_text(arena, s), 10);
    }
    struct hypar_memory m = hypar_sim_device(sim, s->fullest_device).memory;
    struct memory_text text = hp_memory_text(m.peak, m.limit);
    fprintf(to, "Memory    ");
    hp_wrap(to,
            hp_arena_printf(arena, "%s of %s (%.1f %%) on device %d, the fullest: %s; %s",
                            text.need, text.has, 100 * m.peak / m.limit, s->fullest_device,
                            hp_memory_items(arena, &m),
                            s->fits ? "it fits" : "IT DOES NOT FIT"),
            10);
    char *tight = hp_tight_text(arena, &m);
    if (tight) {
        fputs("          ", to);
        hp_wrap(to, tight, 10);
    }
    fputc('\n', to);
    hp_wrap(
        to,
        "Energy: a multiply-add is an add, a multiply and three words of SRAM; every tensor "
        "of a phase moves once between DRAM and SRAM; a word sent is read from DRAM, crosses "
        "its links and is written to DRAM.",
        0);
}

/* A short program file's tasks with their times. */
static void timeline(FILE *to, struct arena *arena, const struct hypar_sim *sim,
                     const struct hypar_sim_summary *s)
{
    struct columns table = { .align = "rlrrr" };
    static const char *const heading[] = { "task", "", "ready", "start", "end" };
    struct hypar_sim_event event;
    if (s->tasks > MOST_TASKS)
        return;
    for (int i = 0; i < 5; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    for (int64_t i = 0; hypar_sim_event(sim, i, &event); i++) {
        const double times[] = { event.ready_s, event.start_s, event.end_s };
        hp_cell(&table, arena, "%lld", (long long)event.id);
        hp_cell(&table, arena, "%s", event.name);
        for (int k = 0; k < 3; k++)
            hp_quantity_cell(&table, arena, times[k], HYPAR_UNIT_SECONDS);
    }
    hp_columns_print(&table, to);
    fputc('\n', to);
}

static void simulation_text(FILE *to, const struct hypar_sim *sim,
                            const struct hypar_plan *plan)
{
    struct arena arena = { 0 };
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    headline(to, &arena, &s, plan);
    if (!plan)
        timeline(to, &arena, sim, &s);
    pipeline(to, &arena, sim, &s);
    devices(to, &arena, sim, &s);
    links(to, &arena, sim, &s);
    totals(to, &arena, sim, &s, plan);
    hp_arena_free(&arena);
}

void hypar_report_simulation(FILE *to, const struct hypar_sim *sim,
                             const struct hypar_plan *plan, enum hypar_format format)
{
    if (format == HYPAR_JSON)
        simulation_json(to, sim, plan);
    else
        simulation_text(to, sim, plan);
}
