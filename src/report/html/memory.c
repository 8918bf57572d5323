/* Writes the memory over time for the page: a curve for each device shown, once for equal
 * devices, with no more points than a screen is wide. */
#include "report/html/page.h"

#include "plan/memory_terms.h"
#include "report/put.h"
#include "report/simulate/bars.h"

#include <math.h>

enum { MOST_POINTS = 800 };

/* The memory of one device from this time on, in ticks and in units of bytes. */
struct point {
    int64_t time, amount;
};

struct curve {
    int n, capacity;
    struct point *point;
};

static void add_point(struct arena *arena, struct curve *c, struct point point)
{
    c->point = GROW(arena, struct point, c->point, c->n, &c->capacity);
    c->point[c->n++] = point;
}

/* Reduce a curve: keep the first point, and of each of MOST_POINTS / 2 equal intervals the
 * highest and the last. */
static struct curve fewer_points(struct arena *arena, const struct curve *c)
{
    struct curve thin = { 0 };
    int64_t end = c->n ? c->point[c->n - 1].time + 1 : 1;
    if (c->n)
        add_point(arena, &thin, c->point[0]);
    for (int i = 0; i < c->n;) {
        int64_t slot = c->point[i].time * (MOST_POINTS / 2) / end;
        struct point highest = c->point[i], last = highest;
        for (; i < c->n && c->point[i].time * (MOST_POINTS / 2) / end == slot; i++) {
            last = c->point[i];
            if (last.amount > highest.amount)
                highest = last;
        }
        add_point(arena, &thin, highest);
        if (last.time != highest.time || last.amount != highest.amount)
            add_point(arena, &thin, last);
    }
    return thin;
}

static bool same_curve(const struct curve *a, const struct curve *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++)
        same = a->point[i].time == b->point[i].time && a->point[i].amount == b->point[i].amount;
    return same;
}

/* Write the ticks since the point before and the change of memory, alternately. */
static void put_curve(struct json_writer *w, const struct curve *c)
{
    struct point before = { 0 };
    hp_json_begin_array(w, "points", true);
    for (int i = 0; i < c->n; i++) {
        hp_json_put_int(w, NULL, c->point[i].time - before.time);
        hp_json_put_int(w, NULL, c->point[i].amount - before.amount);
        before = c->point[i];
    }
    hp_json_end_array(w);
}

static struct curve *gather_curves(struct arena *arena, const struct hypar_sim *sim,
                                   double unit)
{
    double tick_s = hp_bar_tick_s(sim);
    struct curve *curve = NEW(arena, struct curve, hypar_sim_summary(sim).n_devices + 1);
    struct hypar_sim_memory_point point;
    for (int64_t i = 0; hypar_sim_memory_point(sim, i, &point); i++)
        add_point(
            arena, &curve[point.device],
            (struct point){ llround(point.time_s / tick_s), llround(point.bytes / unit) });
    return curve;
}

/* The colours of the terms (page.css), in the order of their rows; then they repeat. */
static const char *const colours[] = { "forward",   "backward", "update",    "gradient",
                                       "comm",      "sample",   "attribute", "parameter",
                                       "reduction", "stage",    "copy",      "other" };
enum { COLOURS = sizeof colours / sizeof *colours };

static void put_items(struct json_writer *w, const struct hypar_memory *m)
{
    hp_json_begin_array(w, "items", true);
    for (const struct memory_term *t = hp_memory_terms; t->words; t++)
        if (hp_memory_term(m, t) > 0)
            PUT_OBJECT(w, NULL, true, TEXT("name", t->words),
                       TEXT("colour", colours[(t - hp_memory_terms) % COLOURS]),
                       NUMBER("bytes", hp_memory_term(m, t)));
    hp_json_end_array(w);
}

void hp_put_page_memory(struct json_writer *w, const struct hypar_sim *sim)
{
    struct arena arena = { 0 };
    int device[SHOWN_DEVICES], n = hp_shown_devices(sim, device);
    /* a millionth of the fullest device's memory, as a whole number of bytes */
    double unit = fmax(1, floor(hypar_sim_summary(sim).peak_memory_bytes / 1e6));
    struct curve *all = gather_curves(&arena, sim, unit), thin[SHOWN_DEVICES];
    hp_json_begin_object(w, "memory", false);
    hp_json_put_number(w, "unit_bytes", unit);
    hp_json_begin_array(w, "devices", false);
    for (int i = 0; i < n; i++) {
        struct hypar_sim_device d = hypar_sim_device(sim, device[i]);
        int alike = 0;
        thin[i] = fewer_points(&arena, &all[device[i]]);
        while (alike < i && !same_curve(&thin[alike], &thin[i]))
            alike++;
        hp_json_begin_object(w, NULL, true);
        PUT(w, INT("device", device[i]), NUMBER("peak_bytes", d.memory.peak),
            NUMBER("limit_bytes", d.memory.limit));
        put_items(w, &d.memory);
        if (alike < i)
            hp_json_put_int(w, "as", alike);
        else
            put_curve(w, &thin[i]);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
    hp_json_end_object(w);
    hp_arena_free(&arena);
}
