/* Draws a step: a row for each device and link, with the critical path. */
#include <hypar/report.h>

#include <math.h>
#include <string.h>

#include "report/put.h"
#include "report/simulate/bars.h"
#include "report/svg/svg.h"

enum {
    WIDTH = 1100,
    LEFT = 230,
    RIGHT = 1080,
    TOP = 92,
    ROW = 14,
    BAR = ROW - 4,    /* height of a bar */
    LABEL = 50,       /* width of a time on the axis, at most */
    MOST_BARS = 8000, /* that a viewer of pictures still moves */
    MOST_PATH = 4000,
};

static const char *const fill[] = {
    [HYPAR_EVENT_FORWARD] = "#6aa9e0",  [HYPAR_EVENT_BACKWARD] = "#eda04a",
    [HYPAR_EVENT_GRADIENT] = "#c678ad", [HYPAR_EVENT_UPDATE] = "#43b08a",
    [HYPAR_EVENT_COMM] = "#8f9bab",     [HYPAR_EVENT_OTHER] = "#a9a9a9",
};

static double place(const struct bars *b, double seconds)
{
    return LEFT + (RIGHT - LEFT) * (b->end_s > 0 ? seconds / b->end_s : 0);
}

/* "link 0 -> switch 8"; of links side by side the number, too: "(2)". */
static const char *link_text(struct arena *arena, const struct bars *b, int row)
{
    struct hypar_sim_link link = hypar_sim_link(b->sim, b->row[row].link);
    const char *name = hp_link_name(arena, &link, hypar_sim_summary(b->sim).n_devices);
    int before = 0;
    for (int i = 0; i < row && !link.name; i++) {
        if (b->row[i].link < 0)
            continue;
        struct hypar_sim_link other = hypar_sim_link(b->sim, b->row[i].link);
        before += other.from == link.from && other.to == link.to;
    }
    return before ? hp_arena_printf(arena, "link %s (%d)", name, before + 1)
                  : hp_arena_printf(arena, "link %s", name);
}

/* Draw a bar. A merged bar has one rectangle for each kind of task, one above another: the area
 * of a rectangle is the time of these tasks, and the rest of the height is idle time. */
static void put_bar(FILE *to, struct bars *b, const struct bar *bar, double bottom)
{
    double x = place(b, (double)bar->start * b->tick_s),
           width = fmax(0.6, place(b, (double)bar->end * b->tick_s) - x);
    struct arena arena = { 0 };
    for (int kind = 0; kind <= HYPAR_EVENT_OTHER; kind++) {
        double share = (double)hp_bar_ticks_of(b, bar, kind) / (double)(bar->end - bar->start);
        if (!(share > 0))
            continue;
        bottom -= BAR * share;
        const char *name = hp_shown(&arena, b->name[bar->name].text);
        if (bar->tasks > 1)
            name = hp_arena_printf(&arena, "%s %.0f %%: %s and %d more",
                                   hp_event_kind_text(kind), 100 * share, name, bar->tasks - 1);
        hp_svg_box(to, x, bottom, width, BAR * share, fill[kind], name);
    }
    hp_arena_free(&arena);
}

static void put_row(FILE *to, struct bars *b, int row)
{
    const struct bar_row *r = &b->row[row];
    double y = TOP + ROW * row;
    struct arena arena = { 0 };
    if (r->device >= 0) {
        hp_svg_text(to, LEFT - 8, y + 10, SVG_END, 10,
                    hp_device_name(&arena, hypar_sim_plan(b->sim), r->device));
    } else {
        hp_svg_text(to, LEFT - 8, y + 10, SVG_END, 10, link_text(&arena, b, row));
    }
    for (int i = 0; i < r->n; i++)
        put_bar(to, b, &r->bar[i], y + 1 + BAR);
    hp_arena_free(&arena);
}

/* Draw a line below the tasks of the critical path: one line for consecutive tasks of a row,
 * unless it is too short to see. */
static void put_path(FILE *to, const struct bars *b)
{
    struct hypar_sim_segment s, next;
    for (int64_t i = 0; hypar_sim_segment(b->sim, i, &s);) {
        int row = hp_path_row(b, &s);
        double y = TOP + ROW * (row + 1) - 2, end_s = s.end_s;
        for (i++; hypar_sim_segment(b->sim, i, &next) && hp_path_row(b, &next) == row; i++)
            end_s = next.end_s;
        if (row >= 0 && end_s - s.start_s >= b->end_s / MOST_PATH)
            hp_svg_line(to, place(b, s.start_s), y, place(b, end_s), y, "#c4002f", 2);
    }
}

static void put_axis(FILE *to, const struct bars *b)
{
    double step_s = hp_svg_tick_step(b->end_s);
    hp_svg_text(to, LEFT - 8, TOP - 8, SVG_END, 10, "time");
    for (int i = 0; i * step_s <= b->end_s && (step_s > 0 || !i); i++) {
        char text[32];
        double x = place(b, i * step_s);
        hp_svg_text(to, x, TOP - 8, x > RIGHT - LABEL / 2 ? SVG_END : SVG_MIDDLE, 10,
                    i ? hypar_format_quantity(text, i * step_s, HYPAR_UNIT_SECONDS) : "0");
        hp_svg_line(to, x, TOP - 4, x, TOP + ROW * b->n_rows, "#ccc", 0.5);
    }
}

/* Above the rows: there may be many of them. */
static void put_legend(FILE *to)
{
    static const char *const meaning[] = { [HYPAR_EVENT_FORWARD] = "forward",
                                           [HYPAR_EVENT_BACKWARD] = "backward",
                                           [HYPAR_EVENT_GRADIENT] = "gradient of parameters",
                                           [HYPAR_EVENT_UPDATE] = "update",
                                           [HYPAR_EVENT_COMM] = "exchange on a link" };
    double x = LEFT, y = TOP - 36;
    for (int kind = 0; kind < HYPAR_EVENT_OTHER; kind++) {
        hp_svg_box(to, x, y, 12, 12, fill[kind], NULL);
        hp_svg_text(to, x + 18, y + 10, SVG_START, 11, meaning[kind]);
        x += 50 + 6.5 * (double)strlen(meaning[kind]);
    }
    hp_svg_line(to, x, y + 6, x + 12, y + 6, "#c4002f", 2);
    hp_svg_text(to, x + 18, y + 10, SVG_START, 11, "critical path");
}

/* The extent of the axis: "a step of 1.73 ms"; under schedule pipedream "a window of 10
 * minibatches, 21 ms". */
static char *shown_text(struct arena *arena, const struct hypar_sim *sim)
{
    struct hypar_sim_pipeline p = hypar_sim_pipeline(sim);
    if (!p.minibatches)
        return hp_arena_printf(arena, "a step of %s",
                               hp_time_text(arena, hypar_sim_summary(sim).step_s));
    return hp_arena_printf(arena, "a window of %s, %s",
                           hp_count(arena, p.minibatches, "minibatch"),
                           hp_time_text(arena, p.window_s));
}

void hp_timeline_svg(FILE *to, const struct hypar_sim *sim)
{
    struct bars b;
    struct arena arena = { 0 };
    const struct hypar_plan *plan = hypar_sim_plan(sim);
    struct hypar_sim_summary s = hypar_sim_summary(sim);
    hp_make_bars(&b, sim, NULL, MOST_BARS);
    hp_svg_begin(
        to, WIDTH, TOP + ROW * b.n_rows + 16,
        hp_arena_printf(&arena, "%s on %s: %s",
                        plan ? hp_shown(&arena, hypar_plan_model(plan)) : "a program",
                        hp_count(&arena, s.n_devices, "device"), shown_text(&arena, sim)),
        b.window ? "one bar stands for bars that lie close together; the height of a colour is "
                   "its share of the bar's time"
                 : "");
    put_axis(to, &b);
    for (int i = 0; i < b.n_rows; i++)
        put_row(to, &b, i);
    put_path(to, &b);
    put_legend(to);
    hp_svg_end(to);
    hp_free_bars(&b);
    hp_arena_free(&arena);
}
