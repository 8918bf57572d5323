/* Shapes of operators as text: extents of axes and attributes. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/word.h"
#include "fit/one_op.h"

/* An error that lists the axes and attributes of a row: "n t u k c, out, transposed". */
static enum hypar_status fail_unknown(const struct op_traits *row, const char *word, size_t n,
                                      struct hypar_error *err)
{
    char letters[2 * MAX_AXES + 1] = "", names[160], *end = letters;
    for (const char *p = row->axes; *p && *p != '*'; p += strspn(p, " ")) {
        *end++ = *p;
        *end++ = ' ';
        p += strcspn(p, " ");
    }
    *(end > letters ? end - 1 : end) = '\0';
    hp_op_attr_names(row, names, sizeof names);
    return hp_fail(err, HYPAR_INVALID, "'%.*s' is no axis or attribute of %s, expected %s%s%s",
                   (int)(n < 24 ? n : 24), word, row->name,
                   *letters ? letters : "dimensions as n t c", *names ? ", " : "", names);
}

static bool has_letter(const struct op_traits *row, char letter)
{
    if (row->axes[0] == '*')
        return letter >= 'a' && letter <= 'z';
    for (const char *p = row->axes; *p; p += strspn(p, " ")) {
        if (*p == letter)
            return true;
        p += strcspn(p, " ");
    }
    return false;
}

/* Parse "3x3", "0,2,1" or "-1": numbers separated by x or a comma; returns the rest. */
static const char *read_values(struct arena *arena, const char *p, struct attr *attr)
{
    double v[ATTR_MAX_VALUES];
    int n = 0;
    for (bool more = true; more && n < ATTR_MAX_VALUES; n++) {
        bool negative = *p == '-';
        size_t length = hp_number_read(p + negative, &v[n]);
        if (!length)
            return NULL;
        if (negative)
            v[n] = -v[n];
        p += negative + length;
        more = *p == 'x' || (*p == ',' && (isdigit((unsigned char)p[1]) || p[1] == '-'));
        p += more;
    }
    double *kept = NEW(arena, double, n);
    memcpy(kept, v, (size_t)n * sizeof *v);
    attr->n = n;
    attr->v = kept;
    return p;
}

static void add_attr(struct shape *shape, struct arena *arena, struct attr attr)
{
    struct attr *list = NEW(arena, struct attr, shape->attrs.n + 1);
    if (shape->attrs.n)
        memcpy(list, shape->attrs.attr, (size_t)shape->attrs.n * sizeof *list);
    list[shape->attrs.n] = attr;
    shape->attrs = (struct attrs){ shape->attrs.n + 1, list };
}

static enum hypar_status set_extent(int64_t *extent, const char *word, size_t n,
                                    const struct attr *value, struct hypar_error *err)
{
    if (*extent)
        return hp_fail(err, HYPAR_INVALID, "'%.*s' is given twice", (int)n, word);
    if (value->n != 1 || !(value->v[0] >= 1) || value->v[0] > 0x1p40 ||
        value->v[0] != floor(value->v[0]))
        return hp_fail(err, HYPAR_INVALID, "'%.*s' is %g, expected a whole number from 1",
                       (int)n, word, value->v[0]);
    *extent = (int64_t)value->v[0];
    return HYPAR_OK;
}

/* "name=values", `n` characters of a name. */
static enum hypar_status set_named(struct shape *shape, struct arena *arena,
                                   const struct op_traits *row, const char *word, size_t n,
                                   struct attr value, struct hypar_error *err)
{
    char name[24] = "";
    if (n == 1 && has_letter(row, *word)) {
        if (!hp_shape_extent(shape, *word))
            shape->order[strlen(shape->order)] = *word;
        return set_extent(&shape->extent[*word - 'a'], word, n, &value, err);
    }
    if (n < sizeof name)
        memcpy(name, word, n);
    if (strcmp(name, "inputs") == 0 && strstr(row->operands, "x..."))
        return set_extent(&shape->inputs, word, n, &value, err);
    value.id = hp_attr_find(name);
    if (value.id == ATTR_COUNT)
        return fail_unknown(row, word, n, err);
    if (hp_attr_get(&shape->attrs, value.id))
        return hp_fail(err, HYPAR_INVALID, "'%s' is given twice", name);
    add_attr(shape, arena, value);
    return HYPAR_OK;
}

enum hypar_status hp_shape_read(struct shape *out, struct arena *arena,
                                const struct op_traits *row, const char *text,
                                struct hypar_error *err)
{
    static const char between[] = " ,;";
    *out = (struct shape){ 0 };
    for (const char *p = text + strspn(text, between); *p; p += strspn(p, between)) {
        struct attr value = { 0 };
        size_t n = strcspn(p, "= ,;");
        const char *end = p[n] == '=' && n > 0 ? read_values(arena, p + n + 1, &value) : NULL;
        if (!end || (*end && !strchr(between, *end)))
            return hp_fail(err, HYPAR_SYNTAX, "shape '%.24s', expected words such as n=8 or %s",
                           p, "kernel=3x3");
        TRY(set_named(out, arena, row, p, n, value, err));
        p = end;
    }
    return HYPAR_OK;
}

/* "=out", "=kernel", "=out/groups": the attribute that sets an axis. */
struct setter {
    enum attr_id id, divisor; /* ATTR_COUNT: none */
    int index;
};

static struct setter read_setter(const char *text, size_t n)
{
    char name[32] = "";
    struct setter setter = { .divisor = ATTR_COUNT };
    memcpy(name, text, n);
    char *slash = strchr(name, '/');
    if (slash) {
        *slash = '\0';
        setter.divisor = hp_attr_find(slash + 1);
    }
    setter.id = hp_attr_find(name);
    return setter;
}

/* The spatial dimension of axis `letter`: one along which a window slides, "h" of h~i for h and
 * i; 0: none. */
static char spatial_of(const struct op_traits *row, char letter)
{
    for (const char *p = row->operands; (p = strpbrk(p, "~/%")) != NULL; p++)
        if (p[-1] == letter || (*p != '%' && p[1] == letter))
            return p[-1];
    return 0;
}

/* The number of axes before `at` in the row's text that take values of the same attribute;
 * *there: does the shape have the dimension of axis `at`? */
static int place_of(const struct shape *shape, const struct op_traits *row, const char *at,
                    bool *there)
{
    int place = 0;
    char own = spatial_of(row, *at);
    *there = !own || hp_shape_extent(shape, own) > 0;
    for (const char *p = row->axes; p < at; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        char dim = spatial_of(row, *p);
        place += own && n > 3 && dim && hp_shape_extent(shape, dim) > 0;
        p += n;
    }
    return place;
}

/* The value of the attribute: from the text, or its default if that is another attribute; 0:
 * unknown. */
static double attr_or_default(const struct shape *shape, const struct op_traits *row,
                              enum attr_id id, int i)
{
    struct op_attr item;
    const struct attr *have = hp_attr_get(&shape->attrs, id);
    if (have)
        return have->v[have->n == 1 ? 0 : i < have->n ? i : 0];
    for (const char *p = row->attrs; *p;) {
        p = hp_op_next_attr(p, &item);
        if (item.id == id && hp_attr_find(item.fallback) < ATTR_COUNT)
            return hp_attr(&shape->attrs, hp_attr_find(item.fallback), 0, 0);
    }
    return 0;
}

/* A kernel has one value for each spatial dimension: that of i comes before that of j. */
static void set_attr(struct shape *shape, struct arena *arena, enum attr_id id, int index,
                     double value)
{
    const struct attr *have = hp_attr_get(&shape->attrs, id);
    double *v = NEW(arena, double, index + 1);
    for (int i = 0; i < index; i++)
        v[i] = have ? have->v[have->n == 1 ? 0 : i] : value;
    v[index] = value;
    if (!have) {
        add_attr(shape, arena, (struct attr){ id, index + 1, v });
        return;
    }
    struct attr *list = NEW(arena, struct attr, shape->attrs.n);
    memcpy(list, shape->attrs.attr, (size_t)shape->attrs.n * sizeof *list);
    list[have - shape->attrs.attr] = (struct attr){ id, index + 1, v };
    shape->attrs.attr = list;
}

static enum hypar_status complete_axis(struct shape *shape, struct arena *arena,
                                       const struct op_traits *row, char letter,
                                       struct setter by, struct hypar_error *err)
{
    int64_t *extent = &shape->extent[letter - 'a'];
    const struct attr *have = hp_attr_get(&shape->attrs, by.id);
    double divisor = by.divisor < ATTR_COUNT ? attr_or_default(shape, row, by.divisor, 0) : 1;
    if (!*extent) {
        double value = attr_or_default(shape, row, by.id, by.index);
        double size = divisor > 0 ? value / divisor : 0;
        *extent = size >= 1 && size <= 0x1p40 ? (int64_t)size : 0;
        return HYPAR_OK;
    }
    if (!(divisor > 0))
        return hp_fail(err, HYPAR_INVALID, "axis '%c' is given, expected '%s' too", letter,
                       hp_attr_traits[by.divisor].name);
    double value = (double)*extent * divisor;
    if (have && have->n > by.index && have->v[by.index] != value)
        return hp_fail(err, HYPAR_INVALID, "'%s' is %g, but axis '%c' makes it %g",
                       hp_attr_traits[by.id].name, have->v[by.index], letter, value);
    if (!have || have->n <= by.index)
        set_attr(shape, arena, by.id, by.index, value);
    return HYPAR_OK;
}

enum hypar_status hp_shape_complete(struct shape *shape, struct arena *arena,
                                    const struct op_traits *row, struct hypar_error *err)
{
    for (const char *p = row->axes; *p && *p != '*'; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        bool there = true;
        struct setter by = n > 3 ? read_setter(p + 3, n - 3) : (struct setter){ 0 };
        by.index = n > 3 ? place_of(shape, row, p, &there) : 0;
        if (n > 3 && there)
            TRY(complete_axis(shape, arena, row, p[0], by, err));
        p += n;
    }
    return HYPAR_OK;
}
