/* Maps of a figure as a picture: a row of cells for each level, a column for each layer, the
 * paper's map beside ours. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "bench/figures.h"
#include "report/svg/svg.h"

enum {
    CELL = 17,     /* width of a cell */
    LINE = 13,     /* its height */
    NAMES = 52,    /* room for the turned names of columns */
    BLOCK = 22,    /* room below a map */
    TOP = 96,      /* of the first map */
    PRINTED = 130, /* left edge of the paper's maps */
    OURS = 520,
    WIDTH = 900
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
    hp_svg_begin_rect(to, x, y, CELL - 1, LINE - 1);
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
        hp_svg_turned_text(to, left + c * CELL + CELL / 2.0 + 3, top - 4, -60, SVG_START, 10,
                           m->column[c]);
    for (int l = 0; l < levels_of(m->printed); l++) {
        char level[16];
        snprintf(level, sizeof level, "H%d", l + 1);
        hp_svg_text(to, left - 5, top + l * LINE + LINE - 3, SVG_END, 10, level);
        for (int c = 0; c < m->n_columns; c++)
            draw_cell(to, m, left + c * CELL, top + l * LINE, c, l, ours);
    }
}

void figure_write_maps(FILE *to, const struct figures *f, const char *title)
{
    int height = TOP;
    for (int i = 0; i < f->n_maps; i++)
        height += NAMES + levels_of(f->map[i].printed) * LINE + BLOCK;
    hp_svg_begin(to, WIDTH, height, title,
                 "pale: dp, orange: mp; a row for each level, a column for each layer with "
                 "weights; a black frame: not as the paper prints it");
    hp_svg_text(to, PRINTED, TOP - 16, SVG_START, 13, "paper");
    hp_svg_text(to, OURS, TOP - 16, SVG_START, 13, "ours");
    double y = TOP;
    for (int i = 0; i < f->n_maps; i++) {
        const struct figure_map *m = &f->map[i];
        int levels = levels_of(m->printed);
        y += NAMES;
        hp_svg_text(to, PRINTED - 30, y + levels * LINE / 2.0 + 4, SVG_END, 12, m->row);
        draw_map(to, m, PRINTED, y, false);
        draw_map(to, m, OURS, y, true);
        y += levels * LINE + BLOCK;
    }
    hp_svg_end(to);
}
