/* Texts of pictures do not overlap: the box of each text, from its place, size and approximate
 * character width, is separate from all others. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "report/svg/svg.h"

enum { MOST_TEXTS = 2048, MOST_POINTS = 300 };

/* A text's corners, in turn, and the text. */
struct box {
    double x[4], y[4];
    char text[64];
};

static double number_after(const char *at, const char *name)
{
    const char *found = strstr(at, name);
    assert_non_null(found);
    return strtod(found + strlen(name), NULL);
}

/* The box of "<text ...>", which a "<g transform" before it may move and turn. */
static struct box box_of(const char *at, const char *group)
{
    struct box box = { 0 };
    const char *end = strchr(at, '>'), *anchor = strstr(at, "text-anchor=\"");
    double size = number_after(at, "font-size=\""), x = number_after(at, " x=\""),
           y = number_after(at, " y=\""), dx = 0, dy = 0, turn = 0;
    snprintf(box.text, sizeof box.text, "%.*s", (int)strcspn(end + 1, "<"), end + 1);
    double width = 0.58 * size * (double)strlen(box.text);
    if (anchor && anchor < end)
        x -= anchor[13] == 'm' ? width / 2 : anchor[13] == 'e' ? width : 0;
    if (group) {
        sscanf(group, "<g transform=\"translate(%lf %lf) rotate(%lf)", &dx, &dy, &turn);
        turn *= acos(-1) / 180;
    }
    for (int c = 0; c < 4; c++) {
        double px = x + (c == 1 || c == 2 ? width : 0),
               py = y + (c < 2 ? 0.1 : -0.75) * size; /* around the baseline */
        box.x[c] = dx + px * cos(turn) - py * sin(turn);
        box.y[c] = dy + px * sin(turn) + py * cos(turn);
    }
    return box;
}

static int read_boxes(const char *svg, struct box *box)
{
    int n = 0;
    for (const char *at = svg; (at = strstr(at, "<text")); at++) {
        const char *line = at;
        while (line > svg && line[-1] != '\n')
            line--;
        assert_true(n < MOST_TEXTS);
        box[n] = box_of(at, strncmp(line, "<g ", 3) == 0 ? line : NULL);
        n += box[n].text[0] != '\0';
    }
    return n;
}

/* Does a side of `a` have all of `b` on its other side? */
static bool is_apart(const struct box *a, const struct box *b)
{
    for (int c = 0; c < 4; c++) {
        int next = (c + 1) % 4, other = (c + 2) % 4, outside = 0;
        double nx = a->y[next] - a->y[c], ny = a->x[c] - a->x[next];
        double inside = nx * (a->x[other] - a->x[c]) + ny * (a->y[other] - a->y[c]);
        for (int k = 0; k < 4; k++)
            outside += (nx * (b->x[k] - a->x[c]) + ny * (b->y[k] - a->y[c])) * inside <= 0;
        if (outside == 4)
            return true;
    }
    return false;
}

static void check_texts(const struct svg_plot *plot)
{
    static struct box box[MOST_TEXTS];
    char *svg;
    size_t size;
    FILE *to = open_memstream(&svg, &size);
    hp_svg_plot(to, plot);
    fclose(to);
    int n = read_boxes(svg, box);
    double width = number_after(svg, " width=\""), height = number_after(svg, " height=\"");
    assert_true(n > 4);
    for (int i = 0; i < n; i++) {
        for (int c = 0; c < 4; c++)
            if (box[i].x[c] < 0 || box[i].x[c] > width || box[i].y[c] < 0 ||
                box[i].y[c] > height)
                fail_msg("'%s' leaves the picture of %s", box[i].text, plot->title);
        for (int k = 0; k < i; k++)
            if (!is_apart(&box[i], &box[k]) && !is_apart(&box[k], &box[i]))
                fail_msg("'%s' and '%s' overlap in %s", box[i].text, box[k].text, plot->title);
    }
    free(svg);
}

/* `n_series` lines, or bars over words, of `n` points each. */
static struct svg_plot make_plot(struct arena *arena, int n_series, int n, const char *name)
{
    struct svg_plot plot = { .title =
                                 hp_arena_printf(arena, "%d x %d of %s", n_series, n, name),
                             .subtitle = "best: batch 1,024 on 1,024 devices, torus:32x32, "
                                         "502 k samples/s each (hybrid); plans of hypar, dp, "
                                         "optcnn and hybrid on 4 machines like torus:2x2",
                             .x_label = "memory-bandwidth",
                             .y_label = "samples/s of each device" };
    plot.series = NEW(arena, struct svg_series, n_series);
    for (int s = 0; s < n_series; s++) {
        struct svg_series *series =
            hp_svg_series(arena, &plot, hp_arena_printf(arena, "planner %d, %s", s, name), n);
        for (int i = 0; i < n; i++)
            hp_svg_add(series, i, (s + 1) * 1.7e-5 * (i + 3));
    }
    return plot;
}

static const char *const names[] = { "dp", "examples/machines/fat-tree.json",
                                     "torus:16x16,device=a100,bandwidth=50GB/s,latency=3us" };
static const int counts[] = { 1, 2, 7, 24, MOST_POINTS };

static void names_of_bars(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            struct arena arena = { 0 };
            const char *category[MOST_POINTS];
            struct svg_plot plot = make_plot(&arena, 3, counts[c], names[k]);
            for (int i = 0; i < counts[c]; i++)
                category[i] = names[k];
            plot.x_label = "";
            plot.category = category;
            plot.n_categories = counts[c];
            check_texts(&plot);
            hp_arena_free(&arena);
        }
}

static void marks_of_lines(void **state)
{
    static const enum hypar_unit units[] = { HYPAR_UNIT_COUNT, HYPAR_UNIT_BYTES,
                                             HYPAR_UNIT_JOULES };
    (void)state;
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            for (int wide = 0; wide < 2; wide++) {
                struct arena arena = { 0 };
                struct svg_plot plot = make_plot(&arena, 25, counts[c], names[1]);
                for (int s = 0; s < plot.n_series; s++)
                    for (int i = 0; i < plot.series[s].n; i++) {
                        double *x = &plot.series[s].x[i];
                        *x = wide ? 1e9 * pow(1.1, *x) : 2e11 + 1.7e9 * *x;
                        plot.series[s].y[i] *= wide ? 1e9 : 1;
                    }
                plot.x_unit = HYPAR_UNIT_BANDWIDTH;
                plot.y_unit = units[u];
                hp_svg_swept_x(&plot, 10);
                check_texts(&plot);
                hp_arena_free(&arena);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_bars),
        cmocka_unit_test(marks_of_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
