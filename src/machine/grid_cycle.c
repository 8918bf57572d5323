/* Cycles and lines through devices of a grid, from neighbour to neighbour. */
#include "machine/topology.h"

/* The coordinates of a group of devices in one dimension. */
struct line {
    int stride, size; /* of the whole grid: between device numbers; coordinates */
    int n, *number;   /* how many; by coordinate: its position among them, -1: absent */
    bool closed;      /* the short way from the last to the first passes no other */
};

/* From the i-th of `n` coordinates to the next, or from the last round to the first. */
static int gap_after(const int *coordinate, int n, int i, int size)
{
    return i + 1 < n ? coordinate[i + 1] - coordinate[i] : coordinate[0] + size - coordinate[i];
}

/* A closed line begins after its widest gap: traffic over any other gap takes the direct way,
 * and uses only the links within. */
static void number_coordinates(struct arena *scratch, struct line *line, bool closed)
{
    int *coordinate = NEW(scratch, int, line->size), n = 0;
    for (int c = 0; c < line->size; c++)
        if (line->number[c] >= 0)
            coordinate[n++] = c;
    int last = n - 1, widest = gap_after(coordinate, n, last, line->size);
    for (int i = 0; i < n && closed; i++)
        if (gap_after(coordinate, n, i, line->size) > widest) {
            last = i;
            widest = gap_after(coordinate, n, i, line->size);
        }
    for (int i = 0; i < n; i++)
        line->number[coordinate[(last + 1 + i) % n]] = i;
    line->n = n;
    line->closed = closed && n > 2 && 2 * widest < line->size;
}

static int coordinate_of(const struct line *line, int device)
{
    return device / line->stride % line->size;
}

/* Find the lines of a group; false if it lacks some devices with these coordinates. */
static bool find_lines(struct arena *scratch, const struct part *part, const int *device, int n,
                       struct line *line)
{
    int stride = part->n_devices;
    int64_t product = 1;
    for (int d = 0; d < part->n_dims; d++) {
        int size = part->dim[d];
        stride /= size;
        line[d] = (struct line){ stride, size, .number = NEW(scratch, int, size) };
        for (int c = 0; c < size; c++)
            line[d].number[c] = -1;
        for (int i = 0; i < n; i++)
            line[d].number[coordinate_of(&line[d], device[i])] = 0;
        number_coordinates(scratch, &line[d], part->topology != &hp_mesh);
        product *= line[d].n;
        if (product > n)
            return false;
    }
    return product == n;
}

/* A grid seen as rows and columns: one dimension, and all other dimensions together, walked
 * back and forth, one step in one of them at a time. */
struct table {
    int n_rows, n_columns;
    int single;  /* this dimension is the rows ... */
    bool turned; /* ... or the columns */
};

/* Rows are walked back and forth except column 0, which leads back to the first row. This needs
 * an even number of rows, or closed rows. */
static bool find_table(const struct line *line, int n_dims, int n, struct table *out)
{
    int even = -1, closed = -1;
    for (int d = n_dims - 1; d >= 0; d--) {
        if (line[d].n == n)
            return false; /* only a line */
        if (line[d].n % 2 == 0)
            even = d;
        if (line[d].closed)
            closed = d;
    }
    if (even >= 0)
        *out = (struct table){ line[even].n, n / line[even].n, even, false };
    else if (closed >= 0)
        *out = (struct table){ n / line[closed].n, line[closed].n, closed, true };
    return even >= 0 || closed >= 0;
}

/* The number of a table entry, row-major by the group's own coordinates. */
static int place(const struct line *line, int n_dims, const struct table *table, int row,
                 int column)
{
    int single = table->turned ? column : row, others = table->turned ? row : column;
    int number = 0, stride = 1;
    for (int d = n_dims - 1; d >= 0; d--) {
        int at = single;
        if (d != table->single) {
            at = others % line[d].n;
            others /= line[d].n;
            if (others % 2)
                at = line[d].n - 1 - at; /* back */
        }
        number += at * stride;
        stride *= line[d].n;
    }
    return number;
}

bool hp_grid_cycle(struct arena *scratch, const struct hypar_machine *machine,
                   const int *device, int n, int *order)
{
    const struct part *part = machine->parts;
    struct line line[MACHINE_MAX_DIMS];
    struct table table;
    if (part->n_dims < 2 || n < 4 || !find_lines(scratch, part, device, n, line) ||
        !find_table(line, part->n_dims, n, &table))
        return false;

    int *member = NEW(scratch, int, n);
    for (int i = 0; i < n; i++) {
        int number = 0;
        for (int d = 0; d < part->n_dims; d++)
            number = number * line[d].n + line[d].number[coordinate_of(&line[d], device[i])];
        member[number] = i;
    }
    int wide = table.n_columns - 1, at = 0;
    order[at++] = member[place(line, part->n_dims, &table, 0, 0)];
    for (int row = 0; row < table.n_rows; row++)
        for (int i = 0; i < wide; i++)
            order[at++] =
                member[place(line, part->n_dims, &table, row, row % 2 ? wide - i : 1 + i)];
    for (int row = table.n_rows - 1; row > 0; row--)
        order[at++] = member[place(line, part->n_dims, &table, row, 0)];
    return true;
}

bool hp_grid_line(struct arena *scratch, const struct hypar_machine *machine, const int *device,
                  int n, int *order)
{
    const struct part *part = machine->parts;
    struct line line[MACHINE_MAX_DIMS];
    if (!find_lines(scratch, part, device, n, line))
        return false;
    for (int d = 0; d < part->n_dims; d++)
        if (line[d].n == n && !line[d].closed) {
            for (int i = 0; i < n; i++)
                order[line[d].number[coordinate_of(&line[d], device[i])]] = i;
            return true;
        }
    return false;
}
