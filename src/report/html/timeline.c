/* Writes the timeline for the page: the tasks of each device and link over time, and the
 * critical path. */
#include "report/html/page.h"
#include "report/put.h"
#include "report/simulate/bars.h"

enum { MOST_BARS = 100000, MOST_SEGMENTS = 20000 };

static bool same_bars(const struct bar_row *a, const struct bar_row *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++) {
        const struct bar *x = &a->bar[i], *y = &b->bar[i];
        same = x->start == y->start && x->end == y->end && x->name == y->name &&
               x->micro == y->micro && x->tasks == y->tasks;
    }
    return same;
}

/* The first row with the same bars: equal devices are written once. */
static int first_alike(const struct bars *d, int row)
{
    for (int i = 0; i < row; i++)
        if (same_bars(&d->row[i], &d->row[row]))
            return i;
    return row;
}

/* Writing ------------------------------------------------------------------------------ */

/* For each bar five numbers: ticks since the end of the last bar, its ticks, its name, its
 * micro-batch (-1: none), and its number of tasks. */
static void put_bars(struct json_writer *w, const struct bar_row *r)
{
    int64_t end = 0;
    hp_json_begin_array(w, "bars", true);
    for (int i = 0; i < r->n; i++) {
        const struct bar *bar = &r->bar[i];
        hp_json_put_int(w, NULL, bar->start - end);
        hp_json_put_int(w, NULL, bar->end - bar->start);
        hp_json_put_int(w, NULL, bar->name);
        hp_json_put_int(w, NULL, bar->micro);
        hp_json_put_int(w, NULL, bar->tasks);
        end = bar->end;
    }
    hp_json_end_array(w);
}

static double busy_s(const struct bars *d, const struct bar_row *r)
{
    int64_t busy = 0;
    for (int i = 0; i < r->n; i++)
        busy += r->bar[i].end - r->bar[i].start;
    return (double)busy * d->tick_s;
}

static void put_row(struct json_writer *w, struct bars *d, int row)
{
    const struct bar_row *r = &d->row[row];
    int alike = first_alike(d, row);
    hp_json_begin_object(w, NULL, true);
    if (r->device >= 0) {
        struct hypar_sim_device device = hypar_sim_device(d->sim, r->device);
        PUT(w, INT("device", r->device),
            TEXT("name", hp_device_name(&d->arena, hypar_sim_plan(d->sim), r->device)),
            ONLY_IF(r->measured, FLAG("measured", true)),
            NUMBER("busy_s", r->measured ? busy_s(d, r) : device.busy_s));
    } else {
        struct hypar_sim_link link = hypar_sim_link(d->sim, r->link);
        int n_devices = hypar_sim_summary(d->sim).n_devices;
        PUT(w, TEXT("link", hp_link_name(&d->arena, &link, n_devices)),
            INT("class", d->classes.of_link[r->link]), INT("from", link.from),
            INT("to", link.to), NUMBER("busy_s", link.busy_s));
    }
    if (alike < row)
        hp_json_put_int(w, "as", alike);
    else
        put_bars(w, r);
    hp_json_end_object(w);
}

static void put_names(struct json_writer *w, const struct bars *d)
{
    hp_json_begin_array(w, "names", false);
    for (int i = 0; i < d->n_names; i++) {
        hp_json_begin_array(w, NULL, true);
        hp_json_put_string(w, NULL, d->name[i].text);
        hp_json_put_string(w, NULL, hp_event_kind_text(d->name[i].kind));
        hp_json_put_int(w, NULL, d->name[i].stage);
        hp_json_end_array(w);
    }
    hp_json_end_array(w);
}

/* The consecutive segments of the critical path, four numbers each: its row (-1: not shown),
 * the ticks until its end, its name (-1: launches), its micro-batch. In a long path, the
 * shortest segments are part of the segment after them. */
static void put_path(struct json_writer *w, struct bars *d)
{
    struct hypar_sim_segment s;
    struct hypar_sim_event e;
    int64_t n = 0, end = 0;
    while (hypar_sim_segment(d->sim, n, &s))
        n++;
    int64_t shortest = n > MOST_SEGMENTS ? hp_bar_ticks(d, s.end_s) / MOST_SEGMENTS : 0;
    hp_json_begin_array(w, "path", true);
    for (int64_t i = 0; i < n; i++) {
        hypar_sim_segment(d->sim, i, &s);
        int64_t now = hp_bar_ticks(d, s.end_s);
        if (now - end <= shortest && i < n - 1)
            continue;
        bool task = s.event >= 0 && hypar_sim_event(d->sim, s.event, &e);
        hp_json_put_int(w, NULL, hp_path_row(d, &s));
        hp_json_put_int(w, NULL, now - end);
        hp_json_put_int(w, NULL, task ? hp_bar_name(d, &e) : -1);
        hp_json_put_int(w, NULL, task ? e.micro : -1);
        end = now;
    }
    hp_json_end_array(w);
}

void hp_put_page_timeline(struct json_writer *w, const struct hypar_sim *sim,
                          const struct hypar_measured_step *measured)
{
    struct bars d;
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    int links = 0;
    hp_make_bars(&d, sim, measured, MOST_BARS);
    for (int i = 0; i < s.n_links; i++)
        links += hypar_sim_link(sim, i).busy_s > 0;
    hp_json_begin_object(w, "timeline", false);
    PUT(w, NUMBER("tick_s", d.tick_s), NUMBER("end_s", d.end_s),
        INT("minibatches", hypar_sim_pipeline(sim).minibatches),
        NUMBER("merged_s", (double)d.window * d.tick_s), INT("devices", s.n_devices),
        INT("links", links));
    hp_json_begin_array(w, "rows", false);
    for (int i = 0; i < d.n_rows; i++)
        put_row(w, &d, i);
    hp_json_end_array(w);
    hp_json_begin_array(w, "classes", false); /* of links, by number */
    for (int i = 0; i < d.classes.n; i++) {
        const struct link_class *c = &d.classes.class[i];
        PUT_OBJECT(w, NULL, true, TEXT("name", c->name),
                   POSITIVE("bytes_per_s", c->bytes_per_s), INT("links", c->n_links));
    }
    hp_json_end_array(w);
    put_path(w, &d);
    put_names(w, &d);
    hp_json_end_object(w);
    hp_free_bars(&d);
}
