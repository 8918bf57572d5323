/* Draws planners and plans side by side: the duration of each step. */
#include <hypar/report.h>

#include "base/files/text.h"
#include "graph/graph.h"
#include "report/explain/explain.h"
#include "report/svg/svg.h"

enum { WIDTH = 900, LEFT = 180, RIGHT = 740, TOP = 74, ROW = 28 };

static void put_row(FILE *to, struct arena *arena, const struct hypar_compared *row, int i,
                    double longest_s)
{
    double y = TOP + ROW * i, step_s = row->step.step_s;
    hp_svg_text(to, LEFT - 10, y + 15, SVG_END, 13,
                hp_shown(arena, row->plan ? row->plan : row->planner));
    if (row->why) {
        hp_svg_text(to, LEFT, y + 15, SVG_START, 12, hp_shown(arena, row->why));
        return;
    }
    double width = longest_s > 0 ? (RIGHT - LEFT) * step_s / longest_s : 0;
    hp_svg_box(to, LEFT, y, width, ROW - 8, !*hp_not_ranked(row) ? hp_svg_colour(0) : "#bbbbbb",
               NULL);
    hp_svg_text(to, LEFT + width + 8, y + 15, SVG_START, 12,
                hp_arena_printf(arena, "%s%s%s", hp_time_text(arena, step_s),
                                *hp_not_ranked(row) ? ", " : "", hp_not_ranked(row)));
}

void hp_comparison_svg(FILE *to, const struct hypar_comparison *c)
{
    struct arena arena = { 0 };
    double longest_s = 0;
    for (int i = 0; i < c->n; i++)
        if (!c->row[i].why && c->row[i].step.step_s > longest_s)
            longest_s = c->row[i].step.step_s;
    hp_svg_begin(
        to, WIDTH, TOP + ROW * c->n + 12,
        hp_arena_printf(&arena, "%s, batch %lld, on %s", hp_shown(&arena, c->graph->name),
                        (long long)c->graph->batch,
                        hp_count(&arena, hypar_machine_device_count(c->machine), "device")),
        "a simulated training step");
    for (int i = 0; i < c->n; i++)
        put_row(to, &arena, &c->row[i], i, longest_s);
    hp_svg_end(to);
    hp_arena_free(&arena);
}
