/* Writes a plan for the page: its stages, and its layers, once for layers with equal plans. For
 * each piece of a layer it writes the axes that every level of the machine divides, and the
 * part on each device. */
#include "report/html/page.h"

#include <string.h>

#include "plan/structure/names.h"
#include "report/plan/words.h"

enum { MOST_ROWS = 400 };

/* Levels -------------------------------------------------------------------------------- */

/* The axes along which two parts of an operator differ, as bits. */
static unsigned differing_axes(const struct hypar_plan *plan, int op, int a, int b)
{
    unsigned axes = 0;
    for (int axis = plan->graph->ops[op].nest->n_axes - 1; axis >= 0; axis--) {
        int degree = hypar_plan_degree(plan, op, axis);
        if (a % degree != b % degree)
            axes |= 1u << axis;
        a /= degree;
        b /= degree;
    }
    return axes;
}

bool hp_level_axes(const struct hypar_plan *plan, int op, int level, unsigned *axes)
{
    struct arena arena = { 0 };
    struct hypar_level levels[HYPAR_MAX_LEVELS];
    int n_levels = hypar_machine_levels(plan->machine, levels), stride = 1;
    int n = plan->ops[op].n_devices, parts = plan->ops[op].n_parts;
    int n_devices = hypar_machine_device_count(plan->machine);
    int *entry_of = NEW(&arena, int, n_devices + 1);
    bool any = false;
    memset(entry_of, -1, sizeof(int) * (size_t)n_devices);
    for (int i = 0; i < n; i++)
        entry_of[plan->ops[op].device[i]] = i;
    for (int i = level + 1; i < n_levels; i++)
        stride *= levels[i].ways;
    *axes = 0;
    for (int i = 0; i < n; i++) {
        int device = plan->ops[op].device[i], next = device + stride;
        bool last = device / stride % levels[level].ways == levels[level].ways - 1;
        if (last || next >= n_devices || entry_of[next] < 0)
            continue;
        any = true;
        *axes |= differing_axes(plan, op, i % parts, entry_of[next] % parts);
    }
    hp_arena_free(&arena);
    return any;
}

/* For each level, the letters of the axes that it divides; null if it divides stages. */
static void put_choices(struct json_writer *w, const struct hypar_plan *plan, int op)
{
    struct hypar_level levels[HYPAR_MAX_LEVELS];
    int n_levels = hypar_machine_levels(plan->machine, levels);
    hp_json_begin_array(w, "levels", true);
    for (int level = 0; level < n_levels; level++) {
        char letters[MAX_AXES + 1];
        unsigned axes;
        int n = 0;
        bool there = hp_level_axes(plan, op, level, &axes);
        for (int a = 0; a < plan->graph->ops[op].nest->n_axes; a++)
            if (axes & 1u << a)
                letters[n++] = hypar_graph_axis(plan->graph, op, a).name[0];
        letters[n] = '\0';
        if (there)
            hp_json_put_string(w, NULL, letters);
        else
            hp_json_put_null(w, NULL);
    }
    hp_json_end_array(w);
}

/* Pieces -------------------------------------------------------------------------------- */

/* The axes in the order that numbers the parts: letter, role, the beginning of each part, and
 * the end. */
static void put_axes(struct json_writer *w, const struct hypar_plan *plan, int op)
{
    hp_json_begin_array(w, "axes", true);
    for (int a = 0; a < plan->graph->ops[op].nest->n_axes; a++) {
        struct hypar_axis axis = hypar_graph_axis(plan->graph, op, a);
        int degree = hypar_plan_degree(plan, op, a);
        int64_t at = 0;
        if (degree == 1)
            continue;
        hp_json_begin_array(w, NULL, true);
        hp_json_put_string(w, NULL, axis.name);
        hp_json_put_string(w, NULL, hypar_role_text(axis.role));
        hp_json_put_int(w, NULL, 0);
        for (int i = 0; i < degree; i++)
            hp_json_put_int(w, NULL, at += hypar_plan_part_size(plan, op, a, i));
        hp_json_end_array(w);
    }
    hp_json_end_array(w);
}

/* The devices of the parts: runs of consecutive devices, as first device and number. */
static void put_runs(struct json_writer *w, const struct hypar_plan *plan, int op)
{
    const int *device = plan->ops[op].device;
    hp_json_begin_array(w, NULL, true);
    for (int i = 0, n; i < plan->ops[op].n_devices; i += n) {
        n = hp_run_of_devices(device + i, plan->ops[op].n_devices - i);
        hp_json_put_int(w, NULL, device[i]);
        hp_json_put_int(w, NULL, n);
    }
    hp_json_end_array(w);
}

/* The devices of a piece whose first operator is `op`: of each layer of its row, or once if all
 * layers have the same. Equal layers may be on different devices, for example in different
 * stages. */
static void put_devices(struct json_writer *w, const struct hypar_plan *plan,
                        const struct plan_row *row, int op)
{
    int n_lists = 1;
    for (int i = 1; i < row->count && n_lists == 1; i++)
        if (!hp_same_devices(&plan->ops[op], &plan->ops[op + i * row->n_ops]))
            n_lists = row->count;
    hp_json_begin_array(w, "devices", true);
    for (int i = 0; i < n_lists; i++)
        put_runs(w, plan, op + i * row->n_ops);
    hp_json_end_array(w);
}

struct piece_place {
    const struct plan_row *row;
    struct short_names names;
    const struct common_split *common; /* NULL: none */
};

static void put_piece(struct json_writer *w, struct arena *arena,
                      const struct plan_structure *s, const struct plan_piece *piece,
                      const struct piece_place *place)
{
    const struct hypar_graph *g = s->plan->graph;
    int op = piece->first;
    hp_json_begin_object(w, NULL, true);
    PUT(w, TEXT("name", hp_ops_name(arena, g, place->names, op, op + piece->n_ops)),
        TEXT("kind", hp_op_kind(g, op)),
        TEXT("split", hp_split_text(arena, s, op, place->common)),
        TEXT("whole_split", hp_split_text(arena, s, op, NULL)), INT("ops", piece->n_ops),
        TEXT("role", hypar_role_text(hp_main_role(s->plan, op))));
    put_axes(w, s->plan, op);
    put_devices(w, s->plan, place->row, op);
    put_choices(w, s->plan, op);
    hp_json_end_object(w);
}

static void put_row(struct json_writer *w, struct arena *arena, const struct plan_structure *s,
                    const struct plan_row *row)
{
    struct common_split common = hp_common_split(s, row);
    bool alone = row->count == 1 && row->n_pieces == 1;
    struct piece_place place = { row, { 0 }, NULL };
    if (!alone) {
        place.names = hp_short_names(s->plan->graph, row->first, row->first + row->n_ops);
        place.common = &common;
    }
    hp_json_begin_object(w, NULL, true);
    if (!alone) {
        PUT(w, TEXT("name", hp_plan_row_name(arena, s, row)),
            TEXT("all", hp_common_text(arena, s, &common)), INT("count", row->count));
    }
    hp_json_put_string(w, "marks", hp_marks_text(arena, s, row));
    hp_json_begin_array(w, "pieces", true);
    for (int i = 0; i < row->n_pieces; i++)
        put_piece(w, arena, s, &s->piece[row->first_piece + i], &place);
    hp_json_end_array(w);
    hp_json_end_object(w);
}

/* A row of operators first .. first + n_ops - 1, or of `count` such layers; if `apart`, each
 * operator is a piece of its own. */
static void put_part(struct json_writer *w, struct arena *arena, const struct plan_structure *s,
                     struct plan_row row, bool apart)
{
    struct plan_structure part = *s;
    part.piece = NEW(arena, struct plan_piece, row.n_ops);
    row.n_pieces = apart ? row.n_ops : 1;
    row.first_piece = 0;
    for (int i = 0; i < row.n_pieces; i++)
        part.piece[i] = (struct plan_piece){ row.first + i, apart ? 1 : row.n_ops };
    put_row(w, arena, &part, &row);
}

/* Write the layers of the model even if all operators of a row have the same split. */
static void put_layers(struct json_writer *w, struct arena *arena,
                       const struct plan_structure *s, const struct plan_row *row)
{
    int end = row->first + row->n_ops;
    for (int i = 0, op = row->first; op < end; i++) {
        while (i < s->n_layers && s->layers[i].first < op)
            i++;
        const struct run *l = i < s->n_layers ? &s->layers[i] : NULL;
        if (l && l->first + l->period * l->count > end)
            l = NULL;
        int before = l ? l->first : end;
        if (before > op)
            put_part(w, arena, s, (struct plan_row){ op, before - op, 1, 0, 0 }, false);
        if (l)
            put_part(w, arena, s, (struct plan_row){ l->first, l->period, l->count, 0, 0 },
                     true);
        op = l ? l->first + l->period * l->count : end;
    }
}

void hp_put_page_plan(struct json_writer *w, const struct hypar_plan *plan)
{
    struct arena arena = { 0 };
    struct plan_structure s = hp_plan_structure(&arena, plan);
    struct hypar_level level[HYPAR_MAX_LEVELS];
    int n_levels = hypar_machine_levels(plan->machine, level);
    const char *idle = hp_idle_text(&arena, &s);
    hp_json_begin_object(w, "plan", false);
    hp_group_rows(&(struct table_writer){ .json = w }, &arena, &s);
    if (*idle)
        hp_json_put_string(w, "idle", idle);
    hp_json_begin_array(w, "levels", false);
    for (int i = 0; i < n_levels; i++)
        PUT_OBJECT(w, NULL, true, INT("ways", level[i].ways),
                   NUMBER("bytes_per_s", level[i].bytes_per_s));
    hp_json_end_array(w);
    hp_json_begin_object(w, "roles", true); /* the meaning of the pieces' colours */
    for (int role = 0; role <= HYPAR_INNER; role++)
        hp_json_put_string(w, hypar_role_text((enum hypar_role)role),
                           hp_divided_text((enum hypar_role)role));
    hp_json_end_object(w);
    hp_json_begin_array(w, "rows", false);
    for (int i = 0; i < s.n_rows && i < MOST_ROWS; i++)
        (s.row[i].count == 1 && s.row[i].n_pieces == 1 ? put_layers : put_row)(w, &arena, &s,
                                                                               &s.row[i]);
    hp_json_end_array(w);
    hp_json_put_int(w, "rows_left_out", s.n_rows > MOST_ROWS ? s.n_rows - MOST_ROWS : 0);
    hp_json_end_object(w);
    hp_arena_free(&arena);
}
