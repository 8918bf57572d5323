/* Simulating a program file: its step, the totals of devices and links, and its events. */
#include <string.h>

#include "base/files/json.h"
#include "sim/sim.h"
#include "sim/tally.h"

/* Tasks by number, for the order of events. */
static void order_tasks(struct hypar_sim *sim)
{
    const struct task_graph *g = &sim->file->graph;
    sim->file_order = NEW(&sim->arena, int, g->n_tasks);
    for (int t = 0; t < g->n_tasks; t++)
        sim->file_order[g->task[t].number] = t;
}

static void begin(struct hypar_sim *sim, const struct hypar_machine *machine)
{
    const struct flat_file *f = sim->file;
    struct hypar_sim_summary *s = &sim->summary;
    int most = 1;
    s->n_devices = f->n_devices;
    s->n_links = f->n_machine_links + f->n_names;
    s->fullest_device = -1;
    s->fits = true;
    sim->device = NEW(&sim->arena, struct hypar_sim_device, s->n_devices);
    sim->link = NEW(&sim->arena, struct hypar_sim_link, s->n_links);
    for (int l = 0; l < s->n_links; l++) {
        bool named = l >= f->n_machine_links;
        struct hypar_link link = { .from = -1, .to = -1 };
        if (!named)
            link = hypar_machine_link(machine, l / 2);
        sim->link[l] = (struct hypar_sim_link){
            .from = l % 2 && !named ? link.to : link.from,
            .to = l % 2 && !named ? link.from : link.to,
            .name = named ? f->name[l - f->n_machine_links] : NULL,
        };
    }
    sim->file_hold_start = NEW(&sim->arena, int64_t, f->graph.n_tasks + 1);
    for (int t = 0; t < f->graph.n_tasks; t++) {
        most = f->graph.task[t].n_holds > most ? f->graph.task[t].n_holds : most;
        sim->file_hold_start[t + 1] = sim->file_hold_start[t] + f->graph.task[t].n_holds;
    }
    sim->file_held = NEW(&sim->arena, ticks, sim->file_hold_start[f->graph.n_tasks]);
    sim->event_link = NEW(&sim->arena, int, most);
    sim->event_busy_s = NEW(&sim->arena, double, most);
    sim->event_offset_s = NEW(&sim->arena, double, most);
}

struct counting {
    struct hypar_sim *sim;
    struct tally tally;
};

static void begin_counting(void *who, const struct task_graph *graph)
{
    struct counting *c = who;
    hp_tally_begin(&c->tally, &c->sim->arena, graph->n_queues, c->sim->summary.n_devices);
}

/* Add the interval of a task to its device or devices. */
static void cover(struct covered *c, struct arena *arena, const struct served *served)
{
    hp_cover(c, arena, served->now, served->times.start, served->times.end);
}

static void count_task(void *who, int t, int micro, const struct served *served)
{
    struct counting *c = who;
    struct hypar_sim *sim = c->sim;
    struct hypar_sim_summary *s = &sim->summary;
    const struct sim_task *task = &sim->file->graph.task[t];
    const struct file_task *what = &sim->file->task[t];
    (void)micro;
    for (int h = 0; h < task->n_holds; h++) {
        int link = task->hold[h].queue - s->n_devices;
        c->tally.busy[task->hold[h].queue] += task->hold[h].busy;
        sim->file_held[sim->file_hold_start[t] + h] = served->from[h];
        if (link < 0)
            continue;
        double bytes = what->hold_bytes ? what->hold_bytes[h] : 0;
        sim->link[link].bytes += bytes;
        s->link_bytes += bytes;
    }
    s->tasks++;
    s->compute += what->device >= 0;
    s->comm += what->device < 0;
    s->comm_bytes += what->bytes > 0 ? what->bytes : 0;
    for (int d = 0; d < what->n_devices; d++)
        cover(&c->tally.comm[what->devices[d]], &sim->arena, served);
    for (int d = 0; d < (what->device >= 0 ? 1 : what->n_devices); d++)
        cover(&c->tally.either[what->device >= 0 ? what->device : what->devices[d]],
              &sim->arena, served);
}

static enum hypar_status simulate_flat(struct hypar_sim **out,
                                       const struct json_document *document,
                                       const struct hypar_machine *machine,
                                       struct hypar_error *err)
{
    struct flat_file *file;
    struct arena arena = { 0 };
    TRY(hp_flat_file_read(&file, document, machine, err));
    struct hypar_sim *sim = NEW(&arena, struct hypar_sim, 1);
    sim->arena = arena;
    sim->file = file;
    begin(sim, machine);
    order_tasks(sim);
    sim->file_times = NEW(&sim->arena, struct times, file->graph.n_tasks);
    struct counting c = { .sim = sim };
    struct observer observer = { begin_counting, count_task, &c };
    ticks length = hp_run_graph(&file->graph, sim->file_times, &observer);
    sim->summary.step_s = hp_seconds(length);
    hp_tally_end(&c.tally, length, 1, sim);
    *out = sim;
    return HYPAR_OK;
}

/* Lower the program's own plan again if the options change its tasks or its memory. */
static enum hypar_status lower_again(struct hypar_program **program,
                                     const struct hypar_sim_options *how,
                                     struct hypar_error *err)
{
    struct hypar_plan *plan = (*program)->own_plan;
    if (hp_framework_same(&plan->simulation.framework, &how->framework))
        return HYPAR_OK;
    (*program)->own_plan = NULL;
    hypar_program_free(*program);
    hp_take_simulation(plan, how);
    enum hypar_status status = hypar_lower(program, plan, &how->lower, err);
    if (status == HYPAR_OK)
        (*program)->own_plan = plan;
    else
        hypar_plan_free(plan);
    return status;
}

static enum hypar_status simulate_lowered(struct hypar_sim **out, const struct json *root,
                                          const struct hypar_sim_options *options,
                                          struct hypar_error *err)
{
    struct hypar_program *program;
    TRY(hp_program_read_json(&program, root, err));
    struct hypar_sim_options how = hypar_as_planned(program->plan, options);
    how.lower = program->lowering->options; /* for the report */
    how.framework.bucket_bytes = program->plan->simulation.framework.bucket_bytes;
    enum hypar_status status = hp_check_sim_options(&how, err);
    if (status != HYPAR_OK) {
        hypar_program_free(program);
        return status;
    }
    TRY(lower_again(&program, &how, err));
    how.framework.bucket_bytes = how.lower.bucket_bytes; /* as it was lowered */
    return hp_simulate_program(out, program, &how, err);
}

enum hypar_status hypar_simulate_file(struct hypar_sim **out, const char *path,
                                      const struct hypar_machine *machine,
                                      const struct hypar_sim_options *options,
                                      struct hypar_error *err)
{
    struct json_document *document;
    *out = NULL;
    TRY(hp_json_read_file(&document, path, err));
    struct json root = hp_json_root(document), form = hp_json_member(&root, "form");
    enum hypar_status status = form.value ? simulate_lowered(out, &root, options, err)
                                          : simulate_flat(out, document, machine, err);
    hp_json_free(document);
    return status;
}

/* The event of the predecessor of task `t` that ended last; -1: there is none. */
static int64_t last_before(const struct hypar_sim *sim, int t)
{
    const struct task_graph *g = &sim->file->graph;
    int last = -1;
    for (int64_t i = g->after_start[t]; i < g->after_start[t + 1]; i++)
        if (last < 0 || sim->file_times[g->after[i]].end > sim->file_times[last].end)
            last = g->after[i];
    return last < 0 ? -1 : g->task[last].number;
}

bool hp_file_event(const struct hypar_sim *sim, int64_t i, struct hypar_sim_event *event)
{
    if (i < 0 || i >= sim->file->graph.n_tasks)
        return false;
    int t = sim->file_order[i];
    const struct file_task *what = &sim->file->task[t];
    const struct times *times = &sim->file_times[t];
    *event = (struct hypar_sim_event){
        .kind = what->device >= 0 ? HYPAR_EVENT_OTHER : HYPAR_EVENT_COMM,
        .id = what->id,
        .device = what->device,
        .op = -1,
        .tensor = -1,
        .micro = -1,
        .stage = -1,
        .bytes = what->bytes > 0 ? what->bytes : 0,
        .after = last_before(sim, t),
        .ready_s = hp_seconds(times->ready),
        .start_s = hp_seconds(times->start),
        .end_s = hp_seconds(times->end),
    };
    if (what->name)
        snprintf(event->name, sizeof event->name, "%s", what->name);
    else
        snprintf(event->name, sizeof event->name, "task %lld", (long long)what->id);
    event->what_bytes = (int)strlen(event->name);
    if (what->device < 0)
        hp_put_event_links(sim, &sim->file->graph.task[t], times->start,
                           sim->file_held + sim->file_hold_start[t], event);
    return true;
}
