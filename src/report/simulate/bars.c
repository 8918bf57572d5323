/* Collects the times at which devices and links are occupied in a simulation, and merges them
 * until they are few enough to draw. */
#include "report/simulate/bars.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "machine/machine.h"

double hp_bar_tick_s(const struct hypar_sim *sim)
{
    struct hypar_sim_pipeline p = hypar_sim_pipeline(sim);
    double whole_s = p.minibatches ? p.window_s : hypar_sim_summary(sim).step_s;
    return whole_s > 0 ? pow(10, ceil(log10(whole_s)) - 7) : 1;
}

int64_t hp_bar_ticks(const struct bars *d, double seconds)
{
    return llround(seconds / d->tick_s);
}

/* Classes of links ---------------------------------------------------------------------- */

/* Is the link a network card: between the switch of a node and the switch between nodes? */
static bool is_card(const struct hypar_machine *machine, const struct hypar_sim_link *l)
{
    return machine && machine->topology->shape == NETWORK_NODES &&
           l->from >= machine->n_devices && l->to >= machine->n_devices;
}

static const char *class_name(const struct hypar_machine *machine,
                              const struct hypar_sim_link *l)
{
    static const char *const joined[2][2] = { { "device -> device", "device -> switch" },
                                              { "switch -> device", "switch -> switch" } };
    if (!machine || l->name)
        return "links";
    if (is_card(machine, l)) /* the last switch connects the nodes */
        return l->to == machine->n_devices + machine->n_switches - 1 ? "network cards out"
                                                                     : "network cards in";
    return joined[l->from >= machine->n_devices][l->to >= machine->n_devices];
}

static int find_class(struct link_classes *c, const char *name, double bytes_per_s)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->class[i].name, name) == 0 && c->class[i].bytes_per_s == bytes_per_s)
            return i;
    if (c->n == MOST_LINK_CLASSES) /* links with many bandwidths: the last class takes the
                                    * rest */
        return c->n - 1;
    c->class[c->n] = (struct link_class){ .name = name, .bytes_per_s = bytes_per_s };
    return c->n++;
}

/* Add the classes of network cards, or those of other links. */
static void add_classes(const struct hypar_sim *sim, bool cards, struct link_classes *c)
{
    const struct hypar_plan *plan = hypar_sim_plan(sim);
    const struct hypar_machine *machine = plan ? hypar_plan_machine(plan) : NULL;
    for (int i = 0; i < hypar_sim_summary(sim).n_links; i++) {
        struct hypar_sim_link l = hypar_sim_link(sim, i);
        if (!(l.busy_s > 0) || is_card(machine, &l) != cards)
            continue;
        double bytes_per_s = machine ? hypar_machine_link(machine, i / 2).bytes_per_s : 0;
        c->of_link[i] = find_class(c, class_name(machine, &l), bytes_per_s);
        c->class[c->of_link[i]].n_links++;
    }
}

static struct link_classes link_classes(struct arena *arena, const struct hypar_sim *sim)
{
    int n_links = hypar_sim_summary(sim).n_links;
    struct link_classes c = { .of_link = NEW(arena, int, n_links + 1) };
    memset(c.of_link, -1, sizeof(int) * (size_t)(n_links + 1));
    add_classes(sim, true, &c);
    add_classes(sim, false, &c);
    return c;
}

/* Rows --------------------------------------------------------------------------------- */

static int add_device(bool *shown, int device, int n)
{
    int more = !shown[device];
    shown[device] = true;
    return n + more;
}

int hp_shown_devices(const struct hypar_sim *sim, int device[SHOWN_DEVICES])
{
    struct arena arena = { 0 };
    int n_devices = hypar_sim_summary(sim).n_devices, n = 0;
    const struct hypar_plan *plan = hypar_sim_plan(sim);
    int most = n_devices < SHOWN_DEVICES ? n_devices : SHOWN_DEVICES;
    bool *shown = NEW(&arena, bool, n_devices + 1);
    struct hypar_sim_segment s;
    for (int64_t i = 0; n < most && hypar_sim_segment(sim, i, &s); i++)
        if (s.device >= 0)
            n = add_device(shown, s.device, n);
    for (int i = 0; plan && n < most && i < hypar_plan_stage_count(plan); i++)
        n = add_device(shown, hypar_plan_stage(plan, i).device[0], n);
    for (int i = 0; n < most; i++)
        n = add_device(shown, i, n);
    n = 0;
    for (int i = 0; i < n_devices; i++)
        if (shown[i])
            device[n++] = i;
    hp_arena_free(&arena);
    return n;
}

struct busy_link {
    int link, class, rank; /* rank: 0 is the busiest link of its class */
    double busy_s;
};

static int by_class_and_busy(const void *a, const void *b)
{
    const struct busy_link *x = a, *y = b;
    if (x->class != y->class)
        return x->class - y->class;
    if (x->busy_s != y->busy_s)
        return x->busy_s > y->busy_s ? -1 : 1;
    return x->link - y->link;
}

static int by_rank(const void *a, const void *b)
{
    const struct busy_link *x = a, *y = b;
    return x->rank != y->rank ? x->rank - y->rank : x->class - y->class;
}

static void add_row(struct bars *d, int device, int link)
{
    d->row[d->n_rows] = (struct bar_row){ .device = device, .link = link };
    if (device >= 0)
        d->row_of_device[device] = d->n_rows;
    else
        d->row_of_link[link] = d->n_rows;
    d->n_rows++;
}

/* Choose the rows of links: the busiest link of each class first, then the second busiest of
 * each, and so on, so that a class with many busy links leaves rows for the others. The rows
 * are then sorted by class. */
static void choose_links(struct bars *d)
{
    int n = 0, n_links = hypar_sim_summary(d->sim).n_links;
    struct busy_link *links = NEW(&d->arena, struct busy_link, n_links + 1);
    d->classes = link_classes(&d->arena, d->sim);
    for (int i = 0; i < n_links; i++)
        if (d->classes.of_link[i] >= 0)
            links[n++] = (struct busy_link){ i, d->classes.of_link[i], 0,
                                             hypar_sim_link(d->sim, i).busy_s };
    if (!n)
        return;
    hp_sort(links, n, sizeof *links, by_class_and_busy);
    for (int i = 1; i < n; i++)
        links[i].rank = links[i].class == links[i - 1].class ? links[i - 1].rank + 1 : 0;
    hp_sort(links, n, sizeof *links, by_rank);
    if (n > SHOWN_LINKS)
        n = SHOWN_LINKS;
    hp_sort(links, n, sizeof *links, by_class_and_busy);
    for (int i = 0; i < n; i++)
        add_row(d, -1, links[i].link);
}

/* Choose the rows: devices by number, then links. */
static void choose_rows(struct bars *d)
{
    struct hypar_sim_summary s = hypar_sim_summary(d->sim);
    int device[SHOWN_DEVICES], n = hp_shown_devices(d->sim, device);
    d->row = NEW(&d->arena, struct bar_row, 2 * SHOWN_DEVICES + SHOWN_LINKS);
    d->row_of_device = NEW(&d->arena, int, s.n_devices + 1);
    d->row_of_link = NEW(&d->arena, int, s.n_links + 1);
    memset(d->row_of_device, -1, sizeof(int) * (size_t)s.n_devices);
    memset(d->row_of_link, -1, sizeof(int) * (size_t)s.n_links);
    for (int i = 0; i < n; i++) {
        add_row(d, device[i], -1);
        if (d->measured && device[i] < d->measured->n_ranks)
            d->row[d->n_rows++] =
                (struct bar_row){ .device = device[i], .link = -1, .measured = true };
    }
    choose_links(d);
}

/* Names -------------------------------------------------------------------------------- */

/* Takes " part 3" out of a name; " micro 0" and " minibatch 0", too. */
static void drop_number(char *text, const char *word)
{
    char *at = strstr(text, word);
    if (!at)
        return;
    size_t digits = strspn(at + strlen(word), "0123456789");
    char *rest = at + strlen(word) + digits;
    if (digits)
        memmove(at, rest, strlen(rest) + 1);
}

static int name_of(struct bars *d, struct task_name name)
{
    struct arena_mark mark = hp_arena_mark(&d->arena);
    char *key = hp_arena_strdup(&d->arena, name.text);
    drop_number(key, " part ");
    drop_number(key, " micro ");
    drop_number(key, " minibatch ");
    size_t length = strlen(key);
    key = hp_arena_printf(&d->arena, "%s %d %d", key, name.kind, name.stage);
    int i = hp_table_get(&d->names, key, strlen(key));
    if (i >= 0) {
        hp_arena_release(&d->arena, mark);
        return i;
    }
    hp_table_put(&d->names, &d->arena, key, strlen(key), d->n_names);
    d->name = GROW(&d->arena, struct task_name, d->name, d->n_names, &d->name_capacity);
    name.text = hp_arena_strndup(&d->arena, key, length);
    d->name[d->n_names] = name;
    return d->n_names++;
}

int hp_bar_name(struct bars *d, const struct hypar_sim_event *e)
{
    return name_of(d, (struct task_name){ e->name, e->kind, e->stage });
}

/* Bars --------------------------------------------------------------------------------- */

/* Add a bar; a task without duration has none. */
static void add_bar(struct bars *d, struct bar_row *r, struct bar bar)
{
    if (bar.end <= bar.start)
        return;
    bar.tasks = 1;
    bar.longest = bar.end - bar.start;
    r->bar = GROW(&d->arena, struct bar, r->bar, r->n, &r->capacity);
    r->bar[r->n++] = bar;
}

static void add_event(struct bars *d, int row, const struct hypar_sim_event *e, double start_s,
                      double end_s)
{
    if (row >= 0)
        add_bar(d, &d->row[row],
                (struct bar){ .start = hp_bar_ticks(d, start_s),
                              .end = hp_bar_ticks(d, end_s),
                              .name = hp_bar_name(d, e),
                              .micro = e->micro });
}

static int by_start(const void *a, const void *b)
{
    const struct bar *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void gather_bars(struct bars *d)
{
    struct hypar_sim_event e;
    for (int64_t i = 0; hypar_sim_event(d->sim, i, &e); i++) {
        if (e.device >= 0)
            add_event(d, d->row_of_device[e.device], &e, e.start_s, e.end_s);
        for (int k = 0; k < e.n_links; k++) {
            double start_s = e.start_s + e.link_offset_s[k];
            add_event(d, d->row_of_link[e.link[k]], &e, start_s, start_s + e.link_busy_s[k]);
        }
    }
}

/* Add the measured computation of ranks. Messages are left out: they are in progress at the
 * same time. */
static void gather_measured(struct bars *d)
{
    int n_devices = hypar_sim_summary(d->sim).n_devices;
    for (int64_t i = 0; d->measured && i < d->measured->n_tasks; i++) {
        const struct measured_task *task = &d->measured->task[i];
        struct hypar_sim_event e;
        int row = task->rank < n_devices ? d->row_of_device[task->rank] : -1;
        if (row < 0 || task->kind == HYPAR_EVENT_COMM || task->with >= 0 ||
            !hypar_sim_event(d->sim, task->id, &e))
            continue;
        add_bar(d, &d->row[row + 1],
                (struct bar){
                    .start = hp_bar_ticks(d, task->start_s),
                    .end = hp_bar_ticks(d, task->end_s),
                    .name = name_of(d, (struct task_name){ task->name, task->kind, e.stage }),
                    .micro = e.micro });
    }
}

/* Sort the bars of a row. If rounding makes two overlap by a tick, the first keeps the tick. */
static void sort_row(struct bar_row *r)
{
    int n = 0;
    if (r->n)
        hp_sort(r->bar, r->n, sizeof(struct bar), by_start);
    for (int i = 0; i < r->n; i++) {
        struct bar bar = r->bar[i];
        if (n && bar.start < r->bar[n - 1].end)
            bar.start = r->bar[n - 1].end;
        if (bar.start < bar.end)
            r->bar[n++] = bar;
    }
    r->n = n;
}

int64_t hp_bar_ticks_of(const struct bars *d, const struct bar *bar, enum hypar_event_kind kind)
{
    if (bar->of_kind)
        return bar->of_kind[kind];
    return kind == d->name[bar->name].kind ? bar->end - bar->start : 0;
}

/* Add the ticks of a bar to those of the bar before it. */
static void add_ticks(struct bars *d, struct bar *to, const struct bar *bar)
{
    int64_t *sum = to->of_kind ? to->of_kind : NEW(&d->arena, int64_t, HYPAR_EVENT_OTHER + 1);
    for (int kind = 0; kind <= HYPAR_EVENT_OTHER; kind++)
        sum[kind] = hp_bar_ticks_of(d, to, kind) + hp_bar_ticks_of(d, bar, kind);
    to->of_kind = sum;
}

/* Merge neighbouring bars within a window into one bar, which has the name of the longest of
 * them. */
static void merge_row(struct bars *d, struct bar_row *r, int64_t window)
{
    int n = 0;
    for (int i = 0; i < r->n; i++) {
        struct bar *last = n ? &r->bar[n - 1] : NULL, bar = r->bar[i];
        if (!last || bar.end - last->start > window) {
            r->bar[n++] = bar;
            continue;
        }
        add_ticks(d, last, &bar);
        if (bar.longest > last->longest) {
            last->name = bar.name;
            last->micro = bar.micro;
            last->longest = bar.longest;
        }
        last->end = bar.end > last->end ? bar.end : last->end;
        last->tasks += bar.tasks;
    }
    r->n = n;
}

static void merge_bars(struct bars *d, int most)
{
    for (int64_t window = 1;; window *= 2) {
        int n = 0;
        for (int i = 0; i < d->n_rows; i++)
            n += d->row[i].n;
        if (n <= most)
            return;
        d->window = window;
        for (int i = 0; i < d->n_rows; i++)
            merge_row(d, &d->row[i], window);
    }
}

int hp_path_row(const struct bars *d, const struct hypar_sim_segment *s)
{
    return s->device >= 0 ? d->row_of_device[s->device]
           : s->link >= 0 ? d->row_of_link[s->link]
                          : -1;
}

void hp_make_bars(struct bars *d, const struct hypar_sim *sim,
                  const struct hypar_measured_step *measured, int most)
{
    struct hypar_sim_pipeline p = hypar_sim_pipeline(sim);
    *d = (struct bars){ .sim = sim, .tick_s = hp_bar_tick_s(sim) };
    d->end_s = p.minibatches ? p.window_s : hypar_sim_summary(sim).step_s;
    if (measured && !measured->torch)
        d->measured = measured;
    if (d->measured && measured->step_s > d->end_s)
        d->end_s = measured->step_s;
    choose_rows(d);
    gather_bars(d);
    gather_measured(d);
    for (int i = 0; i < d->n_rows; i++)
        sort_row(&d->row[i]);
    merge_bars(d, most);
}

void hp_free_bars(struct bars *bars)
{
    hp_arena_free(&bars->arena);
}
