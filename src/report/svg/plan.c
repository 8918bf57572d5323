/* Draws a plan: its stages on the devices, and its layers with their splits, equal layers
 * once. */
#include <hypar/report.h>

#include <string.h>

#include "base/utf8.h"
#include "plan/structure/names.h"
#include "report/plan/words.h"
#include "report/put.h"
#include "report/svg/svg.h"

enum {
    WIDTH = 1000,
    TOP = 74,
    LEFT = 20,
    RIGHT = 980,
    BAR_LEFT = 235, /* devices are between these ... */
    BAR_RIGHT = 575,
    SAID = 595, /* ... and their contents are written behind them */
    STAGE_ROW = 40,
    BOX_LEFT = 190, /* boxes of operators */
    BOX_HEIGHT = 38,
    GAP = 6,
    LETTER = 7, /* width of a letter of size 12, in pixels */
    BOLD = 8,
    MOST_BANDS = 60,
    MOST_BOXES = 400,
};

/* The picture while it is drawn, or while its height is measured. */
struct picture {
    FILE *to; /* NULL: only measure */
    struct arena *arena;
    const struct plan_structure *s;
    double y; /* everything above is drawn */
    int boxes;
    bool seen[HYPAR_INNER + 1]; /* colours to explain: by role; the last: not divided */
};

static void put_text(const struct picture *p, double x, double y, int size, const char *colour,
                     bool bold, const char *text)
{
    if (!p->to)
        return;
    fputs("<text", p->to);
    hp_svg_attribute(p->to, "x", x);
    hp_svg_attribute(p->to, "y", y);
    fprintf(p->to, " font-size=\"%d\" fill=\"%s\"%s>", size, colour,
            bold ? " font-weight=\"600\"" : "");
    hp_svg_escape(p->to, hp_shown(p->arena, text));
    fputs("</text>\n", p->to);
}

/* `text`, cut to `width` pixels. */
static char *fitting(struct arena *arena, const char *text, double width, int letter)
{
    int most = (int)(width / letter), n = 0, bytes = 0;
    if (hp_text_width(text, (int)strlen(text)) <= most)
        return hp_arena_strdup(arena, text);
    while (text[bytes] && n < most - 3) {
        bytes++;
        while (((unsigned char)text[bytes] & 0xc0) == 0x80)
            bytes++;
        n++;
    }
    return hp_arena_printf(arena, "%.*s...", bytes, text);
}

static void put_box(const struct picture *p, double x, double y, double width, double height,
                    const char *fill, const char *stroke)
{
    if (!p->to)
        return;
    hp_svg_begin_rect(p->to, x, y, width, height);
    fprintf(p->to, " rx=\"3\" fill=\"%s\" stroke=\"%s\"/>\n", fill, stroke);
}

static void put_heading(struct picture *p, const char *text)
{
    p->y += 22;
    put_text(p, LEFT, p->y, 13, "#444", true, text);
    p->y += 10;
}

/* Stages ------------------------------------------------------------------------------ */

static double device_x(const struct picture *p, int device)
{
    int n = hypar_machine_device_count(p->s->plan->machine);
    return BAR_LEFT + (double)(BAR_RIGHT - BAR_LEFT) * device / n;
}

/* Draw runs of devices as boxes on the bar. */
static void put_devices(const struct picture *p, const struct device_list *home, double y,
                        const char *fill, const char *stroke)
{
    for (int i = 0, n; i < home->n; i += n) {
        n = hp_run_of_devices(home->device + i, home->n - i);
        double x = device_x(p, home->device[i]), width = device_x(p, home->device[i] + n) - x;
        put_box(p, x, y, width < 1 ? 1 : width, 20, fill, stroke);
    }
}

static void put_bar(const struct picture *p, double y)
{
    put_box(p, BAR_LEFT, y, BAR_RIGHT - BAR_LEFT, 20, "#f6f6f6", "#ddd");
}

/* ": 8 replicas of 4 parts", ": 8 replicas", ": 4 parts"; "": neither, or not known. */
static const char *grid_text(struct arena *arena, const struct group_words *w)
{
    bool replicas = strcmp(w->replicas, "1") != 0, parts = strcmp(w->tensor, "1") != 0;
    if (strcmp(w->replicas, "-") == 0 || (!replicas && !parts))
        return "";
    if (replicas && parts)
        return hp_arena_printf(arena, ": %s replicas of %s parts", w->replicas, w->tensor);
    return hp_arena_printf(arena, ": %s %s", replicas ? w->replicas : w->tensor,
                           replicas ? "replicas" : "parts");
}

static void put_group(struct picture *p, int group)
{
    static const char *const fill[] = { "#cfe2f3", "#fbe0c8" }, *const stroke[] = { "#0072b2",
                                                                                    "#d55e00" };
    const struct plan_group *g = &p->s->group[group];
    struct group_words w = hp_group_words(p->arena, p->s, group);
    bool several = g->count > 1 || p->s->block[g->first].n_stages > 1;
    bool one_device = strspn(w.devices, "0123456789") == strlen(w.devices);
    put_text(p, LEFT, p->y + 14, 12, "#222", true,
             fitting(p->arena,
                     hp_arena_printf(p->arena, "stage%s %s", several ? "s" : "", w.stages),
                     BAR_LEFT - LEFT - 8, BOLD));
    put_text(p, LEFT, p->y + 29, 11, "#666", false,
             hp_arena_printf(p->arena, "%s%s", w.each, g->count > 1 ? " each" : ""));
    put_bar(p, p->y + 3);
    for (int i = 0; i < g->count; i++) {
        const struct plan_block *block = &p->s->block[g->first + i];
        put_devices(p, &p->s->home[block->stage[0]], p->y + 3, fill[group % 2],
                    stroke[group % 2]);
    }
    put_text(p, SAID, p->y + 14, 12, "#222", false,
             fitting(p->arena, w.layers, RIGHT - SAID, LETTER));
    put_text(p, SAID, p->y + 29, 11, "#666", false,
             hp_arena_printf(p->arena, "device%s %s%s", one_device ? "" : "s", w.devices,
                             grid_text(p->arena, &w)));
    p->y += STAGE_ROW;
}

static void put_idle(struct picture *p)
{
    const char *idle = hp_idle_text(p->arena, p->s);
    if (!*idle)
        return;
    put_text(p, LEFT, p->y + 18, 12, "#222", true, "idle");
    put_bar(p, p->y + 3);
    for (int i = 0; i < p->s->n_idle; i++) {
        double x = device_x(p, p->s->idle[i].first);
        put_box(p, x, p->y + 3, device_x(p, p->s->idle[i].last + 1) - x, 20, "#fff", "#999");
    }
    put_text(p, SAID, p->y + 18, 12, "#222", false, idle);
    p->y += STAGE_ROW - 10;
}

static void put_stages(struct picture *p)
{
    if (p->s->n_groups) {
        put_heading(p, "Stages, their replicas, and where they lie among all devices");
        for (int g = 0; g < p->s->n_groups; g++)
            put_group(p, g);
    }
    put_idle(p);
}

/* Layers ------------------------------------------------------------------------------ */

/* Fill and border, by the role of the divided axis. */
static const struct {
    const char *fill, *stroke;
} looks[] = {
    [HYPAR_SAMPLE] = { "#dcebf7", "#0072b2" },    [HYPAR_ATTRIBUTE] = { "#d9f2ea", "#009e73" },
    [HYPAR_PARAMETER] = { "#fde3d0", "#d55e00" }, [HYPAR_REDUCTION] = { "#f6e1ee", "#b0508a" },
    [HYPAR_COPY] = { "#ececec", "#888888" },      [HYPAR_INNER] = { "#ffffff", "#555555" },
};

/* Draw one piece at *x of a line of boxes, or on the next line; `names` are short within a row
 * of layers. */
static void put_piece(struct picture *p, const struct plan_piece *piece, double *x,
                      struct short_names names, const struct common_split *common)
{
    const struct plan_structure *s = p->s;
    const char *name = hp_ops_name(p->arena, s->plan->graph, names, piece->first,
                                   piece->first + piece->n_ops),
               *split = hp_split_text(p->arena, s, piece->first, common);
    if (piece->n_ops > 2)
        split = hp_arena_printf(p->arena, "%s  (%d)", split, piece->n_ops);
    int above = LETTER * hp_text_width(name, (int)strlen(name)),
        below = BOLD * hp_text_width(split, (int)strlen(split));
    double width = 14 + (above > below ? above : below);
    width = width > RIGHT - BOX_LEFT ? RIGHT - BOX_LEFT : width;
    if (*x + width > RIGHT && *x > BOX_LEFT) {
        *x = BOX_LEFT;
        p->y += BOX_HEIGHT + GAP;
    }
    enum hypar_role role = hp_main_role(s->plan, piece->first);
    p->seen[role] = true;
    put_box(p, *x, p->y, width, BOX_HEIGHT, looks[role].fill, looks[role].stroke);
    put_text(p, *x + 7, p->y + 16, 12, "#222", false,
             fitting(p->arena, name, width - 10, LETTER));
    put_text(p, *x + 7, p->y + 31, 12, "#222", true, split);
    *x += width + GAP;
    p->boxes++;
}

/* Draw a row of layers with a frame around it, as a pile if it represents several. */
static void put_layers(struct picture *p, const struct plan_row *row)
{
    const struct hypar_graph *g = p->s->plan->graph;
    struct common_split common = hp_common_split(p->s, row);
    struct short_names names = hp_short_names(g, row->first, row->first + row->n_ops);
    const char *all = hp_common_text(p->arena, p->s, &common),
               *marks = hp_marks_text(p->arena, p->s, row);
    double top = p->y, x = BOX_LEFT;
    struct picture measured = *p;
    measured.to = NULL;
    measured.y = top + 8;
    for (int i = 0; i < row->n_pieces; i++)
        put_piece(&measured, &p->s->piece[row->first_piece + i], &x, names, &common);
    double height = measured.y + BOX_HEIGHT + 8 + (*marks ? 18 : 0) - top;
    for (int i = row->count > 1 ? 2 : 0; i >= 0; i--)
        put_box(p, LEFT - 6 + 4 * i, top - 4 * i + (row->count > 1 ? 8 : 0), RIGHT - LEFT + 4,
                height, "#fafafa", "#bbb");
    top += row->count > 1 ? 8 : 0;
    put_text(
        p, LEFT + 2, top + 22, 12, "#222", true,
        fitting(p->arena, hp_plan_row_name(p->arena, p->s, row), BOX_LEFT - LEFT - 10, BOLD));
    const char *times = row->count > 1 ? hp_arena_printf(p->arena, "%d times", row->count) : "";
    put_text(p, LEFT + 2, top + 39, 11, "#666", false,
             hp_arena_printf(p->arena, "%s%s%s%s", times, *times && *all ? ", " : "",
                             *all ? "all " : "", all));
    p->y = top + 8;
    x = BOX_LEFT;
    for (int i = 0; i < row->n_pieces; i++)
        put_piece(p, &p->s->piece[row->first_piece + i], &x, names, &common);
    if (*marks)
        put_text(p, BOX_LEFT, p->y + BOX_HEIGHT + 16, 12, "#666", false,
                 fitting(p->arena, marks, RIGHT - BOX_LEFT, LETTER));
    p->y = top + height + 8;
}

/* Draw rows of one piece each, side by side. Returns the row after them. */
static int put_others(struct picture *p, int row)
{
    const struct plan_structure *s = p->s;
    const struct short_names whole = { 0 };
    double x = BOX_LEFT;
    for (; row < s->n_rows && s->row[row].count == 1 && s->row[row].n_pieces == 1 &&
           p->boxes < MOST_BOXES;
         row++)
        put_piece(p, &s->piece[s->row[row].first_piece], &x, whole, NULL);
    p->y += BOX_HEIGHT + 8;
    return row;
}

static void put_rows(struct picture *p)
{
    const struct plan_structure *s = p->s;
    int row = 0;
    put_heading(p, "Layers, in order: how their operators are divided");
    for (int band = 0; row < s->n_rows && band < MOST_BANDS && p->boxes < MOST_BOXES; band++) {
        if (s->row[row].count == 1 && s->row[row].n_pieces == 1)
            row = put_others(p, row);
        else
            put_layers(p, &s->row[row++]);
    }
    if (row < s->n_rows) {
        put_text(p, BOX_LEFT, p->y + 14, 12, "#222", false,
                 hp_arena_printf(p->arena, "... and %d more rows, from %s on", s->n_rows - row,
                                 s->plan->graph->ops[s->row[row].first].name));
        p->y += 24;
    }
}

static void put_legend(struct picture *p)
{
    double x = LEFT;
    p->y += 12;
    put_text(p, x, p->y + 11, 12, "#666", false, "divided:");
    x += 66;
    for (int role = 0; role <= HYPAR_INNER; role++) {
        if (!p->seen[role])
            continue;
        put_box(p, x, p->y, 14, 14, looks[role].fill, looks[role].stroke);
        const char *means = hp_divided_text((enum hypar_role)role);
        put_text(p, x + 20, p->y + 11, 12, "#444", false, means);
        x += 44 + LETTER * (double)strlen(means);
    }
    p->y += 30;
}

/* The whole picture --------------------------------------------------------------------- */

static void put_all(struct picture *p)
{
    p->y = TOP - 14;
    put_stages(p);
    put_rows(p);
    put_legend(p);
}

/* "16 stages, schedule 1f1b, 192 micro-batches; a step of 20.2 s, 52.5 % of peak". */
static char *subtitle(struct arena *arena, const struct hypar_plan *plan,
                      const struct hypar_sim_summary *step)
{
    const struct hypar_schedule *schedule = &plan->schedule;
    char *text = hp_arena_strdup(arena, hp_count(arena, plan->graph->n_ops, "operator"));
    if (plan->n_stages)
        text = hp_arena_printf(arena, "%s, %s, schedule %s", text,
                               hp_count(arena, plan->n_stages, "stage"),
                               hypar_schedule_text(schedule->kind));
    if (schedule->micro_batches > 1)
        text = hp_arena_printf(arena, "%s, %s", text,
                               hp_count(arena, schedule->micro_batches, "micro-batch"));
    if (!step)
        return text;
    return hp_arena_printf(arena, "%s; a step of %s, %.3g %% of peak, %s on the fullest device",
                           text, hp_time_text(arena, step->step_s), 100 * step->mfu,
                           hp_bytes_text(arena, step->peak_memory_bytes));
}

void hp_plan_svg(FILE *to, const struct hypar_plan *plan, const struct hypar_sim_summary *step)
{
    struct arena arena = { 0 };
    struct plan_structure s = hp_plan_structure(&arena, plan);
    struct picture measured = { .arena = &arena, .s = &s }, p = measured;
    const char *title = hp_arena_printf(
        &arena, "%s, batch %lld%s, on %s", hp_model_words(&arena, plan),
        (long long)plan->graph->batch,
        hp_settings_text(&arena, plan->precision, hp_plan_gradients(plan), plan->optimizer),
        hp_count(&arena, hypar_machine_device_count(plan->machine), "device"));
    put_all(&measured);
    p.to = to;
    hp_svg_begin(to, WIDTH, (int)measured.y, title, subtitle(&arena, plan, step));
    put_all(&p);
    hp_svg_end(to);
    hp_arena_free(&arena);
}
