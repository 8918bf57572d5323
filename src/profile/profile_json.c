/* Reading and writing profile files, hypar-profile/1 (docs/formats-profile.md). */
#include <float.h>
#include <string.h>

#include "base/files/json.h"
#include "base/names.h"
#include "base/utf8.h"
#include "graph/binding.h"
#include "graph/op_json.h"
#include "profile/profile.h"

static const char format[] = "hypar-profile/1";
static const int64_t max_extent = (int64_t)1 << 50;

struct reading {
    struct hypar_profile *profile;
    struct arena scratch; /* released after each pass */
    const char *file;
    struct hypar_error *err;
};

/* Independent of the locale. */
static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

static uint32_t letter_bit(char letter)
{
    return (uint32_t)1 << (letter - 'a');
}

/* Devices ------------------------------------------------------------------------------- */

static enum hypar_status check_name(const struct json *at, const char *name,
                                    struct hypar_error *err)
{
    if (!*name || hp_has_control(name))
        return hp_json_fail(at, err, "'%.40s' is no name of a device", name);
    return HYPAR_OK;
}

static enum hypar_status read_devices(struct reading *r, const struct json *root)
{
    struct json list = hp_json_member(root, "devices"), member;
    if (!list.value)
        return HYPAR_OK;
    TRY(hp_json_object(&list, r->err));
    for (void *iter = NULL; hp_json_next(&list, &iter, &member);) {
        double efficiency;
        TRY(check_name(&member, member.key, r->err));
        TRY(HP_JSON_READ(&member, r->err, JSON_NUMBER("efficiency", &efficiency, 0, 1)));
        struct json at = hp_json_member(&member, "efficiency");
        if (!(efficiency > 0))
            return hp_json_fail(&at, r->err, "expected a number above 0, at most 1");
        hypar_profile_set_efficiency(r->profile, member.key, efficiency);
    }
    return HYPAR_OK;
}

/* One pass ------------------------------------------------------------------------------ */

/* May an operator of this kind have an axis of this name? Rows of any rank name their axes by
 * rank. */
static bool has_axis(const struct op_traits *row, const char *name)
{
    if (!is_letter(name[0]) || name[1] || name[0] == 'r')
        return false;
    for (const char *p = row->axes; *p; p += strspn(p, " ")) {
        if (*p == '*' || *p == name[0])
            return true;
        p += strcspn(p, " ");
    }
    return false;
}

static enum hypar_status read_extents(struct reading *r, const struct json *at,
                                      struct measured *m)
{
    struct measured_axis list[MAX_AXES];
    struct json member;
    TRY(hp_json_object(at, r->err));
    for (void *iter = NULL; hp_json_next(at, &iter, &member);) {
        if (!has_axis(&hp_op[m->kind], member.key))
            return hp_json_fail(&member, r->err, "%s has no such axis; see 'hypar ops %s'",
                                hp_op[m->kind].name, hp_op[m->kind].name);
        if (m->n_axes == MAX_AXES - 1) /* r is not counted */
            return hp_json_fail(at, r->err, "expected at most %d axes", MAX_AXES - 1);
        list[m->n_axes].name = member.key[0];
        TRY(hp_json_int(&member, 1, max_extent, &list[m->n_axes++].extent, r->err));
    }
    struct measured_axis *axis = NEW(&r->profile->arena, struct measured_axis, m->n_axes);
    memcpy(axis, list, (size_t)m->n_axes * sizeof *axis);
    m->axis = axis;
    return HYPAR_OK;
}

/* Parse "x[n,c]"; returns the rest, or NULL if there is no operand. */
static const char *read_operand(const char *p, uint32_t axes, struct measured_operand *out)
{
    if (!is_letter(p[0]) || p[1] != '[')
        return NULL;
    *out = (struct measured_operand){ .name = p[0] };
    for (p += 2; *p != ']';) {
        if (!is_letter(*p) || !(axes & letter_bit(*p)))
            return NULL;
        out->axes |= letter_bit(*p++);
        if (*p == ',' && p[1] != ']')
            p++;
        else if (*p != ']')
            return NULL;
    }
    return p + 1;
}

/* Are these the operands that the row takes, in its order, with only optional ones left out? */
static bool fits_row(const struct op_traits *row, const struct measured_operand *operand, int n)
{
    struct op_operand item = { 0 };
    int o = 0;
    for (const char *text = row->operands; hp_op_next_operand(&text, &item);) {
        if (item.part != 'i' && item.part != 'p')
            break;
        int first = o;
        while (o < n && operand[o].name == item.name && (o == first || item.many))
            o++;
        if (o == first && !item.optional)
            return false;
    }
    return o == n;
}

static enum hypar_status read_operands(struct reading *r, const struct json *at,
                                       struct measured *m)
{
    struct measured_operand list[MAX_OPERANDS];
    const char *text;
    uint32_t axes = 0;
    m->n_operands = -1;
    if (!at->value)
        return HYPAR_OK;
    TRY(hp_json_string(at, &text, r->err));
    for (int a = 0; a < m->n_axes; a++)
        axes |= letter_bit(m->axis[a].name);
    int n = 0;
    for (const char *p = text; *p; p += *p == ' ', n++) {
        p = n < MAX_OPERANDS ? read_operand(p, axes, &list[n]) : NULL;
        if (!p || (*p && (*p != ' ' || !p[1])))
            return hp_json_fail(at, r->err,
                                "'%.60s', expected operands with axes of \"extents\", such as "
                                "\"x[n,c] w[c,k]\"",
                                text);
    }
    if (!fits_row(&hp_op[m->kind], list, n))
        return hp_json_fail(at, r->err, "'%.60s' is not what %s is given: %s", text,
                            hp_op[m->kind].name, hp_op[m->kind].operands);
    struct measured_operand *operand = NEW(&r->profile->arena, struct measured_operand, n);
    memcpy(operand, list, (size_t)n * sizeof *operand);
    m->n_operands = n;
    m->operand = operand;
    return HYPAR_OK;
}

/* Complete the attributes with the row's defaults, as in a nest. The axes distinguish windows
 * of one to three dimensions. */
static enum hypar_status read_attrs(struct reading *r, const struct json *at,
                                    struct measured *m)
{
    const struct op_traits *row = &hp_op[m->kind];
    struct attrs given;
    TRY(hp_attrs_read(&r->scratch, at, row, &given, r->err));
    struct json attrs_at = hp_json_member(at, "attrs");
    int rank = 3;
    for (int a = 0; a < m->n_axes; a++)
        rank = m->axis[a].name == 'd' ? 5 : m->axis[a].name == 'w' && rank < 4 ? 4 : rank;
    for (int a = 0; a < given.n; a++)
        for (int i = 0; i < given.attr[a].n; i++)
            if ((given.attr[a].id == ATTR_AXIS || given.attr[a].id == ATTR_AXES) &&
                given.attr[a].v[i] < 0)
                return hp_json_fail(&attrs_at, r->err,
                                    "attribute '%s' is %g, expected a count from 0",
                                    hp_attr_traits[given.attr[a].id].name, given.attr[a].v[i]);
    return hp_in(r->err,
                 hp_attrs_complete(&r->profile->arena, row, &given, rank, &m->attrs, r->err),
                 "%s: passes[%d].attrs", r->file, at->index);
}

static int row_passes(const struct op_traits *row)
{
    int n = 1;
    for (const char *p = row->passes; (p = strchr(p, ';')); p++)
        n++;
    return n;
}

/* The later passes in the same call, each once, in order. */
static enum hypar_status read_with(struct reading *r, const struct json *at, struct measured *m)
{
    struct json list = hp_json_member(at, "with");
    int64_t before = m->pass;
    if (!list.value)
        return HYPAR_OK;
    TRY(hp_json_array(&list, MAX_PASSES, r->err));
    for (struct json pass_at = { 0 }; hp_json_each(&list, &pass_at);) {
        TRY(hp_json_int(&pass_at, before + 1, row_passes(&hp_op[m->kind]) - 1, &before,
                        r->err));
        m->with |= (uint32_t)1 << before;
    }
    return HYPAR_OK;
}

/* Kind and extents first; the other members are read with them. */
static enum hypar_status read_key(struct reading *r, const struct json *at, struct measured *m)
{
    const char *device;
    struct json kind, extents, operands;
    TRY(HP_JSON_READ(
        at, r->err, JSON_NAME("device", &device),
        JSON_CHOICE("precision", &m->precision, hp_precision_names, HYPAR_PRECISION_COUNT),
        JSON_ANY("kind", &kind), JSON_KEY("attrs"), JSON_ANY("operands", &operands),
        JSON_KEY("pass"), JSON_KEY("with"), JSON_ANY("extents", &extents), JSON_KEY("seconds"),
        JSON_KEY("spread")));
    TRY(hp_op_read_kind(&kind, &m->kind, r->err));
    if (hp_op[m->kind].flags & ROW_OPAQUE)
        return hp_json_fail(&kind, r->err, "an opaque operator has no kernel to measure");
    TRY(read_extents(r, &extents, m));
    TRY(read_attrs(r, at, m));
    TRY(read_operands(r, &operands, m));
    TRY(HP_JSON_READ(at, r->err,
                     JSON_WHOLE("pass", &m->pass, 0, row_passes(&hp_op[m->kind]) - 1),
                     JSON_OTHERS));
    TRY(read_with(r, at, m));
    m->device = hp_profile_device(r->profile, device);
    return HYPAR_OK;
}

static enum hypar_status read_pass(struct reading *r, const struct json *at)
{
    struct measured m = { 0 };
    TRY(read_key(r, at, &m));
    TRY(HP_JSON_READ(at, r->err, JSON_NUMBER("seconds", &m.seconds, 0, DBL_MAX),
                     JSON_NUMBER("?spread", &m.spread, 0, DBL_MAX), JSON_OTHERS));
    struct json seconds = hp_json_member(at, "seconds");
    if (!(m.seconds > 0))
        return hp_json_fail(&seconds, r->err, "expected a number above 0");
    if (hp_measured_find(r->profile, &m))
        return hp_json_fail(at, r->err, "this pass is there already, expected each once");
    hp_measured_insert(r->profile, &m);
    return HYPAR_OK;
}

static enum hypar_status read_passes(struct reading *r, const struct json *root)
{
    struct json list = { 0 };
    TRY(HP_JSON_READ(root, r->err, JSON_LIST("?passes", &list, HP_MAX_MEASURED), JSON_OTHERS));
    struct arena_mark mark = hp_arena_mark(&r->scratch);
    for (struct json at = { 0 }; hp_json_each(&list, &at);) {
        TRY(read_pass(r, &at));
        hp_arena_release(&r->scratch, mark);
    }
    return HYPAR_OK;
}

/* Curves and the machine ---------------------------------------------------------------- */

/* [size, seconds], sizes ascending. */
static enum hypar_status read_point(struct reading *r, const struct json *at, double before,
                                    struct curve_point *out)
{
    TRY(hp_json_array(at, 2, r->err));
    if (hp_json_length(at) != 2)
        return hp_json_fail(at, r->err, "expected a size and its seconds");
    struct json size = hp_json_element(at, 0), seconds = hp_json_element(at, 1);
    TRY(hp_json_number(&size, 0, DBL_MAX, &out->size, r->err));
    TRY(hp_json_number(&seconds, 0, DBL_MAX, &out->seconds, r->err));
    if (!(out->size > before))
        return hp_json_fail(&size, r->err, "expected more than the size before");
    if (!(out->seconds > 0))
        return hp_json_fail(&seconds, r->err, "expected a number above 0");
    return HYPAR_OK;
}

static enum hypar_status read_curve(struct reading *r, const struct json *at)
{
    enum { MOST_POINTS = 100000 };
    const char *device, *of;
    struct json list;
    TRY(HP_JSON_READ(at, r->err, JSON_NAME("device", &device), JSON_NAME("of", &of),
                     JSON_LIST("points", &list, MOST_POINTS)));
    if (hp_profile_find_curve(r->profile, device, of))
        return hp_json_fail(at, r->err, "this curve is there already, expected each once");
    struct curve_point point = { .size = 0 };
    for (struct json point_at = { 0 }; hp_json_each(&list, &point_at);) {
        TRY(read_point(r, &point_at, point.size, &point));
        hp_profile_add_point(r->profile, device, of, point.size, point.seconds);
    }
    return HYPAR_OK;
}

static enum hypar_status read_curves(struct reading *r, const struct json *root)
{
    enum { MOST_CURVES = 1000 };
    struct json list = { 0 };
    TRY(HP_JSON_READ(root, r->err, JSON_LIST("?curves", &list, MOST_CURVES), JSON_OTHERS));
    for (struct json at = { 0 }; hp_json_each(&list, &at);)
        TRY(read_curve(r, &at));
    return HYPAR_OK;
}

static enum hypar_status read_machine(struct reading *r, const struct json *root)
{
    enum { MOST = 1 << 20 };
    struct hypar_profile_machine machine;
    struct json at = hp_json_member(root, "machine");
    if (!at.value)
        return HYPAR_OK;
    TRY(HP_JSON_READ(&at, r->err, JSON_NAME("processor", &machine.processor),
                     JSON_WHOLE("cores", &machine.cores, 1, MOST),
                     JSON_WHOLE("ranks", &machine.ranks, 1, MOST),
                     JSON_WHOLE("threads", &machine.threads, 1, MOST),
                     JSON_NAME("kernels", &machine.kernels)));
    hypar_profile_set_machine(r->profile, &machine);
    return HYPAR_OK;
}

/* Whole file ---------------------------------------------------------------------------- */

static enum hypar_status read_whole(struct reading *r, const struct json *root)
{
    const char *made_by = NULL;
    TRY(hp_json_format(root, format, r->err));
    TRY(HP_JSON_READ(root, r->err, JSON_KEY("format"), JSON_NAME("?made_by", &made_by),
                     JSON_KEY("machine"), JSON_KEY("devices"), JSON_KEY("passes"),
                     JSON_KEY("curves")));
    if (made_by)
        hypar_profile_set_made_by(r->profile, made_by);
    TRY(read_machine(r, root));
    TRY(read_devices(r, root));
    TRY(read_curves(r, root));
    return read_passes(r, root);
}

static enum hypar_status read_document(struct hypar_profile **out,
                                       struct json_document *document, struct hypar_error *err)
{
    struct json root = hp_json_root(document);
    struct reading r = { .profile = hypar_profile_new(), .file = root.key, .err = err };
    enum hypar_status status = read_whole(&r, &root);
    if (status == HYPAR_OK)
        *out = r.profile;
    else
        hypar_profile_free(r.profile);
    hp_arena_free(&r.scratch);
    hp_json_free(document);
    return status;
}

enum hypar_status hp_profile_read_text(struct hypar_profile **out, const char *text,
                                       size_t length, const char *name, struct hypar_error *err)
{
    struct json_document *document;
    *out = NULL;
    TRY(hp_json_read_text(&document, text, length, name, err));
    return read_document(out, document, err);
}

enum hypar_status hypar_profile_read(struct hypar_profile **out, const char *path,
                                     struct hypar_error *err)
{
    struct json_document *document;
    *out = NULL;
    TRY(hp_json_read_file(&document, path, err));
    return read_document(out, document, err);
}

/* Writing ------------------------------------------------------------------------------- */

static void write_operands(struct json_writer *w, const struct measured *m)
{
    enum { OPERAND_BYTES = 4 + 2 * MAX_AXES };
    char text[MAX_OPERANDS * OPERAND_BYTES + 1] = "", *p = text;
    if (m->n_operands < 0)
        return;
    for (int o = 0; o < m->n_operands; o++) {
        if (o)
            *p++ = ' ';
        *p++ = m->operand[o].name;
        *p++ = '[';
        for (int a = 0, n = 0; a < m->n_axes; a++)
            if (m->operand[o].axes & letter_bit(m->axis[a].name)) {
                if (n++)
                    *p++ = ',';
                *p++ = m->axis[a].name;
            }
        *p++ = ']';
    }
    *p = '\0';
    hp_json_put_string(w, "operands", text);
}

static void write_pass(struct json_writer *w, const struct hypar_profile *profile,
                       const struct measured *m)
{
    hp_json_begin_object(w, NULL, true);
    hp_json_put_string(w, "device", profile->device[m->device].name);
    hp_json_put_string(w, "precision", hypar_precision_text(m->precision));
    hp_json_put_string(w, "kind", hp_op[m->kind].name);
    hp_attrs_write(w, m->attrs);
    write_operands(w, m);
    hp_json_put_int(w, "pass", m->pass);
    if (m->with)
        hp_json_begin_array(w, "with", true);
    for (int p = 0; m->with >> p; p++)
        if (m->with >> p & 1)
            hp_json_put_int(w, NULL, p);
    if (m->with)
        hp_json_end_array(w);
    hp_json_begin_object(w, "extents", true);
    for (int a = 0; a < m->n_axes; a++)
        hp_json_put_int(w, (char[]){ m->axis[a].name, '\0' }, m->axis[a].extent);
    hp_json_end_object(w);
    hp_json_put_number(w, "seconds", m->seconds);
    if (m->spread > 0)
        hp_json_put_number(w, "spread", m->spread);
    hp_json_end_object(w);
}

static void write_curves(struct json_writer *w, const struct hypar_profile *profile)
{
    if (!profile->n_curves)
        return;
    hp_json_begin_array(w, "curves", false);
    for (int i = 0; i < profile->n_curves; i++) {
        const struct curve *c = &profile->curve[i];
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "device", profile->device[c->device].name);
        hp_json_put_string(w, "of", c->of);
        hp_json_begin_array(w, "points", true);
        for (int k = 0; k < c->n; k++) {
            hp_json_begin_array(w, NULL, true);
            hp_json_put_number(w, NULL, c->point[k].size);
            hp_json_put_number(w, NULL, c->point[k].seconds);
            hp_json_end_array(w);
        }
        hp_json_end_array(w);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void write_machine(struct json_writer *w, const struct hypar_profile_machine *machine)
{
    if (!machine)
        return;
    hp_json_begin_object(w, "machine", false);
    hp_json_put_string(w, "processor", machine->processor);
    hp_json_put_int(w, "cores", machine->cores);
    hp_json_put_int(w, "ranks", machine->ranks);
    hp_json_put_int(w, "threads", machine->threads);
    hp_json_put_string(w, "kernels", machine->kernels);
    hp_json_end_object(w);
}

void hypar_profile_write(const struct hypar_profile *profile, FILE *to)
{
    struct json_writer w = { .file = to };
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "format", format);
    hp_json_put_string(&w, "made_by", profile->made_by);
    write_machine(&w, hp_profile_machine(profile));
    hp_json_begin_object(&w, "devices", false);
    for (int d = 0; d < profile->n_devices; d++) {
        if (!(profile->device[d].efficiency > 0))
            continue;
        hp_json_begin_object(&w, profile->device[d].name, true);
        hp_json_put_number(&w, "efficiency", profile->device[d].efficiency);
        hp_json_end_object(&w);
    }
    hp_json_end_object(&w);
    hp_json_begin_array(&w, "passes", false);
    for (int i = 0; i < profile->n_passes; i++)
        write_pass(&w, profile, profile->pass[i]);
    hp_json_end_array(&w);
    write_curves(&w, profile);
    hp_json_end_object(&w);
}
