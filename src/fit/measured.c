/* Reading tables of measurements: of operators, steps or collectives, as the heading says. */
#include "fit/measured.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "base/number.h"
#include "base/word.h"
#include "machine/machine.h"
#include "plan/plan.h"

enum {
    MAX_GROUP = 1 << 10, /* devices of a collective: the routes of all pairs are visited */
    MAX_ROWS = 1 << 14,  /* of all tables: each row is a graph of its own */
};

/* The columns of a table; -1: absent. */
struct columns {
    int seconds, op, shape, pass, precision, framework, plan, collective, devices, bytes,
        machine;
    double unit_s; /* of the seconds */
};

struct reading {
    struct measured *measured;
    const struct csv *csv;
    const struct measured_reading *how;
    struct columns column;
    struct hypar_error *err;
};

/* Put file and line in front of an error, except a usage error. */
static enum hypar_status at_row(const struct reading *r, const struct csv_row *row,
                                enum hypar_status status)
{
    if (status == HYPAR_USAGE)
        return status;
    return hp_in(r->err, status, "%s:%d", r->csv->name, row->line);
}

/* Fields -------------------------------------------------------------------------------- */

/* One of `n` words: its place among them. */
static enum hypar_status read_choice(const char *what, const char *text,
                                     const char *const *names, int n, int *out,
                                     struct hypar_error *err)
{
    char known[120];
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], text) == 0) {
            *out = i;
            return HYPAR_OK;
        }
    return hp_fail(err, HYPAR_INVALID, "%s '%.40s', expected %s", what, text,
                   hp_word_list(known, sizeof known, names, n));
}

/* The same of a column that may be absent, or empty in a row: then *out stays. */
static enum hypar_status read_given(const struct reading *r, const struct csv_row *row,
                                    int column, const char *const *names, int n, int *out)
{
    if (column < 0 || !*row->field[column])
        return HYPAR_OK;
    return read_choice(r->csv->heading[column], row->field[column], names, n, out, r->err);
}

static enum hypar_status read_framework(const struct reading *r, const struct csv_row *row,
                                        enum hypar_kernel_mode otherwise,
                                        struct measured_row *out)
{
    out->framework = otherwise;
    return read_given(r, row, r->column.framework, hp_kernels_names, HYPAR_KERNELS_COUNT,
                      (int *)&out->framework);
}

static enum hypar_status read_seconds(const struct reading *r, const char *text, double *out)
{
    double value;
    size_t n = hp_number_read(text, &value);
    *out = value * r->column.unit_s;
    if (n == 0 || text[n] || !(*out > 1e-12 && *out < 1e9))
        return hp_fail(r->err, HYPAR_INVALID, "%s '%.40s', expected a number above 0",
                       r->csv->heading[r->column.seconds], text);
    return HYPAR_OK;
}

static enum hypar_status read_quantity(const char *what, const char *text, enum hypar_unit unit,
                                       double most, double *out, struct hypar_error *err)
{
    if (hypar_parse_quantity(text, unit, out) && *out >= 1 && *out <= most &&
        *out == floor(*out))
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INVALID, "%s '%.40s', expected a whole number from 1 to %g", what,
                   text, most);
}

/* Rows ---------------------------------------------------------------------------------- */

/* "elements=124439808", with the optimizer as the pass. */
static enum hypar_status read_update(const struct reading *r, const char *shape,
                                     const char *pass, struct measured_row *out)
{
    static const char begin[] = "elements=";
    size_t n = sizeof begin - 1;
    out->kind = MEASURED_UPDATE;
    if (strncmp(shape, begin, n) != 0)
        return hp_fail(r->err, HYPAR_INVALID, "shape '%.40s' of an update, expected elements=N",
                       shape);
    TRY(read_quantity("elements", shape + n, HYPAR_UNIT_COUNT, 0x1p50, &out->elements, r->err));
    return read_choice("optimizer", pass, hp_optimizer_names, HYPAR_OPTIMIZER_COUNT,
                       (int *)&out->optimizer, r->err);
}

static enum hypar_status read_op(const struct reading *r, const struct csv_row *row,
                                 struct measured_row *out)
{
    const char *op = row->field[r->column.op], *shape = row->field[r->column.shape],
               *pass = row->field[r->column.pass];
    out->precision = r->how->options->precision;
    TRY(read_given(r, row, r->column.precision, hp_precision_names, HYPAR_PRECISION_COUNT,
                   (int *)&out->precision));
    TRY(read_framework(r, row, HYPAR_KERNELS_EAGER, out));
    out->kind = MEASURED_OP;
    out->group = op;
    out->text = hp_arena_printf(&r->measured->arena, "%s %s %s", op, shape, pass);
    if (strcmp(op, "update") == 0)
        return read_update(r, shape, pass, out);
    return hp_one_op(&out->op, op, shape, pass, r->err);
}

static bool has_device(const struct hypar_machine *machine, const char *name)
{
    for (int p = 0; p < machine->n_parts; p++)
        if (strcmp(machine->parts[p].type.device.name, name) == 0)
            return true;
    return false;
}

static enum hypar_status read_step(const struct reading *r, const struct csv_row *row,
                                   struct measured_row *out)
{
    const char *path = row->field[r->column.plan];
    const struct hypar_fit_options *options = r->how->options;
    struct hypar_plan_read_options how = { .reads = options->reads, .who = options->who };
    out->kind = MEASURED_STEP;
    out->group = "step";
    out->text = hp_arena_printf(&r->measured->arena, "step of %s", path);
    if (path[0] != '/')
        path = hp_arena_printf(&r->measured->arena, "%s%s", r->how->folder, path);
    if (options->reads)
        TRY(options->reads(options->who, path, r->err));
    TRY(hypar_plan_read(&out->plan, path, &how, r->err));
    out->precision = out->plan->precision;
    enum hypar_status status =
        read_framework(r, row, out->plan->simulation.framework.kernels, out);
    if (status == HYPAR_OK && !has_device(out->plan->machine, r->how->device))
        status =
            hp_fail(r->err, HYPAR_INVALID, "'%.60s' is not for devices '%.40s' of a topology",
                    path, r->how->device);
    if (status == HYPAR_OK)
        return HYPAR_OK;
    hypar_plan_free(out->plan);
    out->plan = NULL;
    return status;
}

static bool same_letters(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a && !isalpha((unsigned char)*a))
            a++;
        while (*b && !isalpha((unsigned char)*b))
            b++;
        if (!*a || tolower((unsigned char)*a) != *b)
            return !*a && !*b;
    }
}

static enum hypar_status read_comm(const struct reading *r, const char *text,
                                   struct measured_row *out)
{
    const char *names[COMM_EXCHANGE]; /* COMM_EXCHANGE, which is no collective, is the last */
    char known[120];
    for (int k = 0; k < COMM_EXCHANGE; k++) {
        names[k] = hp_comm_text((enum comm_kind)k);
        if (same_letters(text, names[k])) {
            out->comm = (enum comm_kind)k;
            return HYPAR_OK;
        }
    }
    return hp_fail(r->err, HYPAR_INVALID, "collective '%.40s', %s", text,
                   hp_expected(known, sizeof known, text, names, COMM_EXCHANGE, NULL));
}

/* The machine of a row, made once for all rows with the same word. */
static enum hypar_status find_place(const struct reading *r, const char *word, int *out)
{
    struct measured *m = r->measured;
    struct hypar_machine *machine;
    for (*out = 0; *out < m->n_places; (*out)++)
        if (strcmp(m->place[*out].word, word) == 0)
            return HYPAR_OK;
    TRY(hypar_machine_read(&machine, word, r->err));
    m->place =
        GROW(&m->arena, struct measured_place, m->place, m->n_places, &m->place_capacity);
    m->place[m->n_places++] =
        (struct measured_place){ hp_arena_strdup(&m->arena, word), machine };
    if (has_device(machine, r->how->device))
        return HYPAR_OK;
    return hp_fail(r->err, HYPAR_INVALID, "machine '%.60s' has no device '%.40s'", word,
                   r->how->device);
}

static enum hypar_status read_collective(const struct reading *r, const struct csv_row *row,
                                         struct measured_row *out)
{
    const char *kind = row->field[r->column.collective],
               *machine = r->column.machine < 0 ? "" : row->field[r->column.machine];
    double devices;
    struct arena *arena = &r->measured->arena;
    TRY(read_comm(r, kind, out));
    TRY(read_quantity("devices", row->field[r->column.devices], HYPAR_UNIT_COUNT, MAX_GROUP,
                      &devices, r->err));
    TRY(read_quantity("bytes", row->field[r->column.bytes], HYPAR_UNIT_BYTES, 0x1p50,
                      &out->bytes, r->err));
    if (devices < 2 || (out->comm == COMM_SEND && devices != 2))
        return hp_fail(r->err, HYPAR_INVALID, "devices '%g', expected %s2", devices,
                       out->comm == COMM_SEND ? "" : "at least ");
    out->kind = MEASURED_COLLECTIVE;
    out->devices = (int)devices;
    out->group = hp_comm_text(out->comm);
    out->text =
        hp_arena_printf(arena, "%s of %d devices%s%s, %s bytes", out->group, out->devices,
                        *machine ? ", " : "", machine, row->field[r->column.bytes]);
    const char *word =
        *machine ? machine : hp_arena_printf(arena, "cluster:1x%d", out->devices);
    if (strchr(word, ':') && !strstr(word, "device="))
        word = hp_arena_printf(arena, "%s,device=%s", word, r->how->word);
    TRY(find_place(r, word, &out->place));
    int most = hypar_machine_device_count(r->measured->place[out->place].machine);
    if (out->devices > most)
        return hp_fail(r->err, HYPAR_INVALID, "devices '%d', expected at most the machine's %d",
                       out->devices, most);
    return HYPAR_OK;
}

/* Tables -------------------------------------------------------------------------------- */

/* A second column of the same. */
static enum hypar_status fail_twice(const struct reading *r, int column, int other)
{
    return hp_csv_fail(r->csv, r->csv->line, r->err,
                       "columns '%.60s' and '%.60s' tell the same, expected one of them",
                       r->csv->heading[column], r->csv->heading[other]);
}

static enum hypar_status find_seconds(struct reading *r)
{
    static const struct {
        const char *name;
        double unit_s;
    } times[] = { { "seconds", 1 }, { "us", 1e-6 }, { "measured us", 1e-6 }, { "ms", 1e-3 } };
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        int column = hp_csv_column(r->csv, times[i].name);
        if (column >= 0 && r->column.seconds >= 0)
            return fail_twice(r, r->column.seconds, column);
        if (column < 0)
            continue;
        r->column.seconds = column;
        r->column.unit_s = times[i].unit_s;
    }
    return HYPAR_OK;
}

static enum hypar_status find_columns(struct reading *r)
{
    const struct csv *csv = r->csv;
    struct columns *c = &r->column;
    int gpus = hp_csv_column(csv, "gpus"), devices = hp_csv_column(csv, "devices");
    *c = (struct columns){ .seconds = -1,
                           .op = hp_csv_column(csv, "op"),
                           .shape = hp_csv_column(csv, "shape"),
                           .pass = hp_csv_column(csv, "pass"),
                           .precision = hp_csv_column(csv, "precision"),
                           .framework = hp_csv_column(csv, "framework"),
                           .plan = hp_csv_column(csv, "plan"),
                           .collective = hp_csv_column(csv, "collective"),
                           .devices = devices < 0 ? gpus : devices,
                           .bytes = hp_csv_column(csv, "bytes"),
                           .machine = hp_csv_column(csv, "machine") };
    TRY(find_seconds(r));
    if (gpus >= 0 && c->devices != gpus)
        return fail_twice(r, c->devices, gpus);
    bool op = c->op >= 0 && c->shape >= 0 && c->pass >= 0;
    bool collective = c->collective >= 0 && c->devices >= 0 && c->bytes >= 0;
    if (c->seconds >= 0 && (int)op + (int)collective + (int)(c->plan >= 0) == 1)
        return HYPAR_OK;
    return hp_csv_fail(csv, csv->line, r->err,
                       "no heading of measurements, expected op,shape,pass,seconds or "
                       "plan,seconds or collective,devices,bytes,seconds");
}

static enum hypar_status read_row(const struct reading *r, const struct csv_row *row,
                                  struct measured_row *out)
{
    *out = (struct measured_row){ .file = r->csv->name, .line = row->line };
    TRY(read_seconds(r, row->field[r->column.seconds], &out->seconds));
    if (r->column.plan >= 0)
        return read_step(r, row, out);
    if (r->column.collective >= 0)
        return read_collective(r, row, out);
    return read_op(r, row, out);
}

enum hypar_status hp_measured_add(struct measured *measured, const struct csv *csv,
                                  const struct measured_reading *how, struct hypar_error *err)
{
    struct hypar_error local;
    struct reading r = {
        .measured = measured, .csv = csv, .how = how, .err = err ? err : &local
    };
    TRY(find_columns(&r));
    for (int i = 0; i < csv->n_rows; i++) {
        struct measured_row row;
        if (measured->n_rows == MAX_ROWS)
            return hp_fail(r.err, HYPAR_UNSUPPORTED, "%s:%d: more than %d rows", csv->name,
                           csv->row[i].line, MAX_ROWS);
        TRY(at_row(&r, &csv->row[i], read_row(&r, &csv->row[i], &row)));
        measured->row = GROW(&measured->arena, struct measured_row, measured->row,
                             measured->n_rows, &measured->capacity);
        measured->row[measured->n_rows++] = row;
    }
    return HYPAR_OK;
}

static void free_row(struct measured_row *row)
{
    hypar_graph_free(row->op.graph);
    hypar_plan_free(row->plan);
}

void hp_measured_keep(struct measured *measured, const bool *keep)
{
    int n = 0;
    for (int i = 0; i < measured->n_rows; i++)
        if (keep[i])
            measured->row[n++] = measured->row[i];
        else
            free_row(&measured->row[i]);
    measured->n_rows = n;
}

void hp_measured_free(struct measured *measured)
{
    for (int i = 0; i < measured->n_rows; i++)
        free_row(&measured->row[i]);
    for (int i = 0; i < measured->n_places; i++)
        hypar_machine_free(measured->place[i].machine);
    hp_arena_free(&measured->arena);
}
