/* Maps of a figure as a picture: a row of cells for each level, a column for each layer, the
 * paper's map beside ours. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "bench/figures.h"
#include "report/svg/svg.h"

enum {
    MAP_CELL = 17,     /* width of a cell */
    MAP_LINE = 13,     /* its height */
    MAP_NAMES = 52,    /* room for the turned names of columns */
    MAP_GAP = 22,      /* room below a map */
    MAP_TOP = 96,      /* of the first map */
    MAP_PRINTED = 130, /* left edge of the paper's maps */
    MAP_OURS = 520,
    MAP_WIDTH = 900
};

static const char *const colours[] = { "#dbe7f3", "#d55e00", "#009e73" }; /* dp, mp, III */
static const char *const types[] = { "dp", "mp", "III" };

static int levels_of(const char *map)
{
    int n = 1;
    for (; *map; map++)
        n += *map == '/';
    return n;
}

/* One cell; its tooltip tells the layer, the level and both choices. */
static void draw_cell(FILE *to, const struct figure_map *m, double x, double y, int column,
                      int level, bool ours)
{
    size_t at = (size_t)level * (size_t)(m->n_columns + 1) + (size_t)column;
    int printed = m->printed[at] - '0', own = m->ours[at] - '0';
    bool differs = ours && printed != own;
    hp_svg_begin_rect(to, x, y, MAP_CELL - 1, MAP_LINE - 1);
    fprintf(to, " fill=\"%s\"%s><title>", colours[ours ? own : printed],
            differs ? " stroke=\"#000\" stroke-width=\"2\"" : "");
    hp_svg_escape(to, m->row);
    fprintf(to, ", ");
    hp_svg_escape(to, m->column[column]);
    fprintf(to, ", H%d: paper %s, ours %s</title></rect>\n", level + 1, types[printed],
            types[own]);
}

static void draw_map(FILE *to, const struct figure_map *m, double left, double top, bool ours)
{
    for (int c = 0; c < m->n_columns; c++)
        hp_svg_turned_text(to, left + c * MAP_CELL + MAP_CELL / 2.0 + 3, top - 4, -60,
                           SVG_START, 10, m->column[c]);
    for (int l = 0; l < levels_of(m->printed); l++) {
        char level[16];
        snprintf(level, sizeof level, "H%d", l + 1);
        hp_svg_text(to, left - 5, top + l * MAP_LINE + MAP_LINE - 3, SVG_END, 10, level);
        for (int c = 0; c < m->n_columns; c++)
            draw_cell(to, m, left + c * MAP_CELL, top + l * MAP_LINE, c, l, ours);
    }
}

void figure_write_maps(FILE *to, const struct figures *f, const char *title)
{
    int height = MAP_TOP;
    for (int i = 0; i < f->n_maps; i++)
        height += MAP_NAMES + levels_of(f->map[i].printed) * MAP_LINE + MAP_GAP;
    hp_svg_begin(to, MAP_WIDTH, height, title,
                 "pale: dp, orange: mp; a row for each level, a column for each layer with "
                 "weights; a black frame: not as the paper prints it");
    hp_svg_text(to, MAP_PRINTED, MAP_TOP - 16, SVG_START, 13, "paper");
    hp_svg_text(to, MAP_OURS, MAP_TOP - 16, SVG_START, 13, "ours");
    double y = MAP_TOP;
    for (int i = 0; i < f->n_maps; i++) {
        const struct figure_map *m = &f->map[i];
        int levels = levels_of(m->printed);
        y += MAP_NAMES;
        hp_svg_text(to, MAP_PRINTED - 30, y + levels * MAP_LINE / 2.0 + 4, SVG_END, 12, m->row);
        draw_map(to, m, MAP_PRINTED, y, false);
        draw_map(to, m, MAP_OURS, y, true);
        y += levels * MAP_LINE + MAP_GAP;
    }
    hp_svg_end(to);
}
