/* Reports a simulated step: its duration, and how its time is spent. */
#include <hypar/report.h>

#include <math.h>

#include "plan/schedules.h"
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

char *hp_device_name(struct arena *arena, const struct hypar_plan *plan, int device)
{
    char *name = hp_arena_printf(arena, "device %d", device);
    int n_stages = plan ? hypar_plan_stage_count(plan) : 0, n = 0;
    for (int s = 0; s < n_stages; s++) {
        struct hypar_stage stage = hypar_plan_stage(plan, s);
        bool here = false, replicas = stage.replicas > 1;
        if (n_stages == 1 && !(replicas && stage.share == HYPAR_SHARE_MINIBATCH))
            continue;
        for (int i = 0; i < stage.n_devices; i++)
            here |= stage.device[i] == device;
        if (!here)
            continue;
        name = hp_arena_printf(arena, "%s%s%d", name, n++ ? ", " : ": stage ", s);
        if (replicas && !hp_shares_devices(hp_schedule_of(plan)))
            name = hp_arena_printf(arena, "%s, 1 of %d replicas", name, stage.replicas);
    }
    return name;
}

static bool carries(const struct hypar_sim_link *link)
{
    return link->busy_s > 0 || link->bytes > 0;
}

/* Columns ------------------------------------------------------------------------------ */

struct stage_row {
    int stage;
    struct hypar_sim_stage of;
};

static const struct column stage_columns[] = {
    { "stage", NULL, AS_INT, AT(struct stage_row, stage), .at = 1 },
    { "replicas", "replicas", AS_INT, AT(struct stage_row, of.replicas), .at = 2 },
    { "in flight", "in_flight", AS_INT, AT(struct stage_row, of.in_flight), .at = 5 },
    { "versions", "versions", AS_INT, AT(struct stage_row, of.versions), .at = 6 },
    { "computing", "busy_s", AS_SECONDS, AT(struct stage_row, of.busy_s), .at = 3 },
    { "bubble", "bubble", AS_PERCENT, AT(struct stage_row, of.bubble), .at = 4 },
    { "memory", "peak_memory_bytes", AS_BYTES, AT(struct stage_row, of.peak_memory_bytes) },
    { 0 },
};

/* A device; in CSV also a link, for which only `busy_s` is known. */
struct device_row {
    int device;
    const char *name;
    double busy_s, share, comm_s, alone_s, waiting_s, overlap_s, peak_bytes, bytes;
    const struct hypar_memory *memory;
    const char *bar;
};

static const struct column device_columns[] = {
    { "device", NULL, AS_INT, AT(struct device_row, device), TO_THE_LEFT },
    { NULL, "name", AS_TEXT, AT(struct device_row, name), NOT_JSON },
    { "computing", "busy_s", AS_SECONDS, AT(struct device_row, busy_s) },
    { "", NULL, AS_WHOLE_PERCENT, AT(struct device_row, share) },
    { NULL, "comm_s", AS_SECONDS, AT(struct device_row, comm_s) },
    { "communicating", NULL, AS_SECONDS, AT(struct device_row, alone_s) },
    { "waiting", "waiting_s", AS_SECONDS, AT(struct device_row, waiting_s) },
    { "overlap", NULL, AS_SECONDS, AT(struct device_row, overlap_s) },
    { NULL, "peak_memory_bytes", AS_BYTES, AT(struct device_row, peak_bytes), LEFT_OUT },
    { NULL, "memory", AS_RECORD, AT(struct device_row, memory), LEFT_OUT | NOT_CSV,
      .of = hp_memory_columns },
    { NULL, "bytes", AS_BYTES, AT(struct device_row, bytes), NOT_JSON },
    { "", NULL, AS_TEXT, AT(struct device_row, bar) },
    { 0 },
};

/* A link that carries data. Nodes have the machine's numbers. */
struct link_row {
    const char *label;
    struct hypar_sim_link of;
    double share;
};

static const struct column link_columns[] = {
    { "busiest links", NULL, AS_TEXT, AT(struct link_row, label) },
    { NULL, "name", AS_TEXT, AT(struct link_row, of.name), LEFT_OUT },
    { NULL, "from", AS_INT, AT(struct link_row, of.from), LEFT_OUT | IF_KNOWN },
    { NULL, "to", AS_INT, AT(struct link_row, of.to), LEFT_OUT | IF_KNOWN },
    { "busy", "busy_s", AS_SECONDS, AT(struct link_row, of.busy_s) },
    { "", NULL, AS_PERCENT, AT(struct link_row, share) },
    { "bytes", "bytes", AS_BYTES, AT(struct link_row, of.bytes) },
    { 0 },
};

/* The tasks of a program file, as the file numbers them. */
static const struct column task_columns[] = {
    { "task", "id", AS_LONG, AT(struct hypar_sim_event, id) },
    { "", "name", AS_TEXT, AT(struct hypar_sim_event, name), INSIDE },
    { "ready", "ready_s", AS_SECONDS, AT(struct hypar_sim_event, ready_s) },
    { "start", "start_s", AS_SECONDS, AT(struct hypar_sim_event, start_s) },
    { "end", "end_s", AS_SECONDS, AT(struct hypar_sim_event, end_s) },
    { 0 },
};

/* Rows --------------------------------------------------------------------------------- */

static void stage_rows(struct table_writer *table, const struct hypar_sim *sim)
{
    hp_table_begin(table, "stages");
    for (int i = 0; i < hypar_sim_pipeline(sim).n_stages; i++)
        hp_table_row(table, &(struct stage_row){ i, hypar_sim_stage(sim, i) });
    hp_table_end(table);
}

/* The symbols of the parts of a step. */
static const struct {
    char letter;
    const char *colour, *text;
} looks[] = {
    { '#', "\033[32m", "computing" },
    { '=', "\033[33m", "communicating" },
    { '.', "\033[90m", "waiting" },
};

static const char *bar(struct arena *arena, double step_s, const struct hypar_sim_device *d,
                       bool colour)
{
    if (!(step_s > 0))
        return "";
    int busy = (int)(BAR * d->busy_s / step_s + .5);
    int still = (int)(BAR * (step_s - d->waiting_s) / step_s + .5);
    int end[] = { busy, still < busy ? busy : still, BAR };
    char *text = hp_arena_strdup(arena, "");
    for (int k = 0, at = 0; k < 3; k++) {
        char run[BAR + 1] = "";
        int n = 0;
        for (; at < end[k] && at < BAR; at++)
            run[n++] = looks[k].letter;
        if (n)
            text = hp_arena_printf(arena, "%s%s%s%s", text, colour ? looks[k].colour : "", run,
                                   colour ? "\033[0m" : "");
    }
    return text;
}

/* Add a row for each device. Returns the first device that text leaves out. */
static int device_rows(struct table_writer *table, struct arena *arena,
                       const struct hypar_sim *sim)
{
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    bool plan = hypar_sim_plan(sim) != NULL, colour = table->to && hp_has_colour(table->to);
    int i = 0;
    for (; i < s.n_devices; i++) {
        struct hypar_sim_device d = hypar_sim_device(sim, i);
        double alone_s = fmax(0, s.step_s - d.busy_s - d.waiting_s);
        double overlap_s = d.comm_s - alone_s;
        struct device_row row = {
            i,
            hp_arena_printf(arena, "device %d", i),
            d.busy_s,
            s.step_s > 0 ? d.busy_s / s.step_s : 0,
            d.comm_s,
            alone_s,
            d.waiting_s,
            overlap_s < 1e-12 ? 0 : overlap_s, /* the simulator counts in picoseconds */
            plan ? d.memory.peak : NAN,
            NAN,
            plan ? &d.memory : NULL,
            bar(arena, s.step_s, &d, colour),
        };
        if (!hp_table_row(table, &row))
            break;
    }
    return i;
}

/* JSON, CSV ---------------------------------------------------------------------------- */

static void put_devices_and_links(struct json_writer *w, const struct hypar_sim *sim)
{
    struct arena arena = { 0 };
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    struct table_writer devices = { .column = device_columns, .json = w };
    struct table_writer links = { .column = link_columns, .json = w };
    hp_table_begin(&devices, "devices");
    device_rows(&devices, &arena, sim);
    hp_table_end(&devices);
    hp_table_begin(&links, "links");
    for (int i = 0; i < s.n_links; i++) {
        struct link_row row = { .of = hypar_sim_link(sim, i) };
        if (carries(&row.of))
            hp_table_row(&links, &row);
    }
    hp_table_end(&links);
    hp_arena_free(&arena);
}

static void task_rows(struct table_writer *table, const struct hypar_sim *sim)
{
    struct hypar_sim_event event;
    hp_table_begin(table, "timeline");
    for (int64_t i = 0; hypar_sim_event(sim, i, &event); i++)
        hp_table_row(table, &event);
    hp_table_end(table);
}

static void put_plan(struct json_writer *w, const struct hypar_plan *plan,
                     const struct hypar_sim_summary *s)
{
    PUT(w, TEXT("model", hypar_plan_model(plan)), INT("batch", plan->graph->batch),
        TEXT("precision", hypar_precision_text(plan->precision)),
        ONLY_IF(hypar_plan_gradient_precision(plan) != plan->precision,
                TEXT("gradient_precision",
                     hypar_precision_text(hypar_plan_gradient_precision(plan)))),
        TEXT("optimizer", hypar_optimizer_text(plan->optimizer)));
    hp_put_simulation(w, &s->how);
    PUT(w, ONLY_IF(s->forward, FLAG("forward", true)),
        FIELDS(hp_interval_columns, &s->interval), NUMBER("samples_per_s", s->samples_per_s),
        POSITIVE("tokens_per_s", s->tokens_per_s), NUMBER("mfu", s->mfu),
        NUMBER("peak_memory_bytes", s->peak_memory_bytes),
        INT("fullest_device", s->fullest_device), FLAG("fits", s->fits));
}

/* Schedule pipedream: start-up, steady state, and each stage. */
static void put_pipeline(struct json_writer *w, const struct hypar_sim *sim)
{
    struct hypar_sim_pipeline p = hypar_sim_pipeline(sim);
    double step_s = hypar_sim_summary(sim).step_s;
    if (!p.minibatches)
        return;
    hp_json_begin_object(w, "pipeline", false);
    PUT(w, INT("minibatches", p.minibatches), INT("noam", p.noam),
        NUMBER("startup_s", p.startup_s), NUMBER("window_s", p.window_s),
        FLAG("steady", p.steady), NUMBER("minibatches_per_s", step_s > 0 ? 1 / step_s : 0));
    stage_rows(&(struct table_writer){ .column = stage_columns, .json = w }, sim);
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
    PUT(&w, NUMBER("comm_bytes", s.comm_bytes), NUMBER("link_bytes", s.link_bytes),
        INT("tasks", s.tasks), INT("compute_tasks", s.compute), INT("comm_tasks", s.comm),
        INT("update_tasks", s.update));
    if (s.kernels > 0) {
        PUT(&w, TEXT("framework", hypar_kernel_mode_text(s.how.framework.kernels)),
            NUMBER("kernels", s.kernels), NUMBER("launch_s", s.launch_s));
    }
    hp_put_profile(&w, &s);
    put_pipeline(&w, sim);
    put_devices_and_links(&w, sim);
    if (plan)
        hp_put_record(&w, "energy", hp_energy_columns, &s.energy);
    else
        task_rows(&(struct table_writer){ .column = task_columns, .json = &w }, sim);
    hp_json_end_object(&w);
}

static void simulation_csv(FILE *to, const struct hypar_sim *sim)
{
    struct arena arena = { 0 };
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    struct table_writer table = { .column = device_columns, .to = to, .csv = ALL_KEYS };
    hp_table_begin(&table, NULL);
    device_rows(&table, &arena, sim);
    for (int i = 0; i < s.n_links; i++) {
        struct hypar_sim_link link = hypar_sim_link(sim, i);
        struct device_row row = { .name = hp_link_name(&arena, &link, s.n_devices),
                                  .busy_s = link.busy_s,
                                  .comm_s = NAN,
                                  .waiting_s = NAN,
                                  .peak_bytes = NAN,
                                  .bytes = link.bytes };
        if (carries(&link))
            hp_table_row(&table, &row);
    }
    hp_table_end(&table);
    hp_arena_free(&arena);
}

/* Text -------------------------------------------------------------------------------- */

/* Report the plan's simulation settings, and whether they were used. */
static void planned(FILE *to, struct arena *arena, const struct hypar_simulation *how,
                    const struct hypar_simulation *plan)
{
    if (!*hp_simulation_text(arena, plan))
        return;
    if (hp_simulation_same(how, plan)) {
        hp_put_line(to, "as planned: %s", hp_simulation_text(arena, how));
        return;
    }
    const char *now = hp_simulation_text(arena, how);
    hp_put_line(to, "planned: %s; simulated: %s", hp_simulation_text(arena, plan),
                *now ? now : "by default");
}

static void headline(FILE *to, struct arena *arena, const struct hypar_sim_summary *s,
                     const struct hypar_plan *plan)
{
    const char *devices = hp_count(arena, s->n_devices, "device");
    const char *tasks = hp_count(arena, s->tasks, "task");
    const char *step = hp_time_text(arena, s->step_s);
    if (!plan) {
        fprintf(to, "%s on %s: %s\n\n", tasks, devices, step);
        return;
    }
    hp_put_line(to, "%s, batch %lld, %s, on %s: a %s takes %s", hp_model_words(arena, plan),
                (long long)plan->graph->batch,
                hp_precision_words(arena, plan->precision, hypar_plan_gradient_precision(plan)),
                devices, s->forward ? "forward pass" : "step", step);
    const char *tokens = "";
    if (s->tokens_per_s > 0)
        tokens = hp_arena_printf(arena, ", %s tokens/s", hp_metric(arena, s->tokens_per_s));
    hp_put_line(to, "%s samples/s%s, %.1f %% of peak (model FLOPs), %s",
                hp_metric(arena, s->samples_per_s), tokens, 100 * s->mfu, tasks);
    hp_put_line(to, "%s", hp_run_as_text(arena, plan->machine, &s->how.framework));
    hp_put_line(to, "%s", hp_interval_text(arena, &s->interval));
    planned(to, arena, &s->how, &plan->simulation);
    fputc('\n', to);
}

/* Schedule pipedream: start-up, steady state, and the memory of each stage. */
static void pipeline(FILE *to, struct arena *arena, const struct hypar_sim *sim,
                     const struct hypar_sim_summary *s)
{
    struct hypar_sim_pipeline p = hypar_sim_pipeline(sim);
    if (!p.minibatches)
        return;
    hp_put_line(to,
                "A step is a minibatch %s: %s/s. %s in %s, of which start-up %s: each replica "
                "of the first stage admits %d (NOAM) before it goes on to the next.",
                p.steady ? "in steady state" : "on average, not yet steady",
                hp_metric(arena, s->step_s > 0 ? 1 / s->step_s : 0),
                hp_count(arena, p.minibatches, "minibatch"), hp_time_text(arena, p.window_s),
                hp_time_text(arena, p.startup_s), p.noam);
    fputc('\n', to);
    stage_rows(&(struct table_writer){ .column = stage_columns, .to = to }, sim);
    fputc('\n', to);
}

/* Devices first .. last - 1 in one line: "computing 1 ms to 3 ms, mean 2 ms". */
static void other_devices(FILE *to, struct arena *arena, const struct hypar_sim *sim, int first,
                          int last)
{
    double least[2], most[2] = { 0, 0 }, sum[2] = { 0, 0 };
    for (int i = first; i < last; i++) {
        struct hypar_sim_device d = hypar_sim_device(sim, i);
        const double value[2] = { d.busy_s, d.waiting_s };
        for (int k = 0; k < 2; k++) {
            least[k] = i == first || value[k] < least[k] ? value[k] : least[k];
            most[k] = value[k] > most[k] ? value[k] : most[k];
            sum[k] += value[k];
        }
    }
    fprintf(to, "and %s more", hp_thousands(arena, last - first));
    for (int k = 0; k < 2; k++)
        fprintf(to, "%s %s to %s, mean %s", k ? "; waiting" : ": computing",
                hp_time_text(arena, least[k]), hp_time_text(arena, most[k]),
                hp_time_text(arena, sum[k] / (last - first)));
    fputc('\n', to);
}

static void devices(FILE *to, struct arena *arena, const struct hypar_sim *sim,
                    const struct hypar_sim_summary *s)
{
    struct table_writer table = {
        .column = device_columns, .to = to, .most = MOST_ROWS, .alike = true
    };
    bool colour = hp_has_colour(to);
    hp_table_begin(&table, NULL);
    int shown = device_rows(&table, arena, sim);
    hp_table_end(&table);
    if (shown < s->n_devices)
        other_devices(to, arena, sim, shown, s->n_devices);
    for (int k = 0; k < 3; k++)
        fprintf(to, "%s%s%c%s %s", k ? "   " : "", colour ? looks[k].colour : "",
                looks[k].letter, colour ? "\033[0m" : "", looks[k].text);
    fputc('\n', to);
    hp_put_line(to, "Overlap: it communicates as it computes, counted as computing.");
}

/* The busiest links, and the number of links that carry data. */
static void links(FILE *to, struct arena *arena, const struct hypar_sim *sim,
                  const struct hypar_sim_summary *s)
{
    struct hypar_sim_link top[MOST_LINKS + 1];
    struct table_writer table = { .column = link_columns, .to = to };
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
    fputc('\n', to);
    hp_table_begin(&table, NULL);
    for (int i = 0; i < n; i++)
        hp_table_row(&table,
                     &(struct link_row){ hp_link_name(arena, &top[i], s->n_devices), top[i],
                                         s->step_s > 0 ? top[i].busy_s / s->step_s : 0 });
    hp_table_end(&table);
    if (used > n && s->step_s > 0)
        hp_put_line(to, "and %s more; all are busy %.1f %% of the step on average",
                    hp_thousands(arena, used - n), 100 * busy / used / s->step_s);
}

/* Bytes, energy and memory, a line each. */
static void totals(FILE *to, struct arena *arena, const struct hypar_sim *sim,
                   const struct hypar_sim_summary *s, const struct hypar_plan *plan)
{
    enum { INDENT = 10 };
    fputc('\n', to);
    hp_put_labelled(to, "Sent", INDENT, "%s, %s; %s on links",
                    hp_bytes_text(arena, s->comm_bytes), hp_sent_text(plan),
                    hp_bytes_text(arena, s->link_bytes));
    if (!plan)
        return;
    hp_put_labelled(
        to, "Energy", INDENT, "%s: arithmetic %s, SRAM %s, DRAM %s, links %s%s%s",
        hp_energy_text(arena, hypar_energy_total_j(&s->energy)),
        hp_energy_text(arena, s->energy.arithmetic_j), hp_energy_text(arena, s->energy.sram_j),
        hp_energy_text(arena, s->energy.dram_j), hp_energy_text(arena, s->energy.link_j),
        s->energy.idle_j > 0 ? ", idle power " : "",
        s->energy.idle_j > 0 ? hp_energy_text(arena, s->energy.idle_j) : "");
    if (s->kernels > 0)
        fprintf(to, "Kernels   %s\n", hp_kernels_text(arena, s));
    if (s->measured.asked)
        fprintf(to, "Profile   %s\n", hp_measured_text(arena, &s->measured));
    if (s->opaque)
        hp_put_labelled(to, "Opaque", INDENT, "%s", hp_opaque_text(arena, s));
    struct hypar_memory m = hypar_sim_device(sim, s->fullest_device).memory;
    struct memory_text text = hp_memory_text(m.peak, m.limit);
    hp_put_labelled(to, "Memory", INDENT,
                    "%s of %s%s (%.1f %%) on device %d, the fullest: %s; %s", text.need,
                    text.has, hp_limit_words(plan, m.limit), 100 * m.peak / m.limit,
                    s->fullest_device, hp_memory_items(arena, &m),
                    s->fits ? hp_arena_printf(arena, "it fits%s", hp_certainty_text(arena, &m))
                            : "IT DOES NOT FIT");
    char *tight = hp_tight_text(arena, &m);
    if (tight)
        hp_put_labelled(to, "", INDENT, "%s", tight);
    char *line = hp_memory_line(arena, plan, s->fullest_device, m.limit);
    if (line)
        hp_put_labelled(to, "", INDENT, "%s", line);
    fputc('\n', to);
    hp_put_line(to, "Energy: a multiply-add is an add, a multiply and three words of SRAM; "
                    "every tensor of a phase moves once between DRAM and SRAM; a word sent is "
                    "read from DRAM, crosses its links and is written to DRAM.");
}

static void simulation_text(FILE *to, const struct hypar_sim *sim,
                            const struct hypar_plan *plan)
{
    struct arena arena = { 0 };
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    headline(to, &arena, &s, plan);
    if (!plan && s.tasks <= MOST_TASKS) {
        task_rows(&(struct table_writer){ .column = task_columns, .to = to }, sim);
        fputc('\n', to);
    }
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
    else if (format == HYPAR_CSV)
        simulation_csv(to, sim);
    else
        simulation_text(to, sim, plan);
}
