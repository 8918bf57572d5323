/* Reading a program file: the file as a whole, and the members of each task. */
#include "sim/flat/file.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/sort.h"
#include "base/word.h"
#include "sim/flat/read.h"

/* Edges need no limit of their own: each is a value of the text, of which base/files/json.c
 * accepts at most 2^25. */
enum { MAX_TASKS = 10 * 1000 * 1000, MAX_DEVICES = 1 << 20 };

static const int64_t MAX_ID = INT64_C(1)
                              << 53; /* integers that every JSON reader represents exactly */
static const double MAX_BYTES = 1e18;

int hp_flat_link(struct flat_reader *r, const char *text)
{
    int found = hp_table_get(&r->names, text, strlen(text));
    if (found >= 0)
        return found;
    const char *copy = hp_arena_strdup(&r->file->arena, text);
    r->name = GROW(&r->file->arena, const char *, r->name, r->n_names, &r->capacity);
    r->name[r->n_names] = copy;
    return hp_table_put(&r->names, &r->scratch, copy, strlen(copy), r->n_names++);
}

static void use_device(struct flat_reader *r, int device)
{
    r->used_devices = device < r->used_devices ? r->used_devices : device + 1;
}

/* A number in its shortest form: no sign, no leading zero. Returns its length, 0 if there is
 * none or it is above 10^9. */
static size_t plain_number(const char *text, int *out)
{
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n > 9 || (text[0] == '0' && n > 1))
        return 0;
    *out = (int)strtol(text, NULL, 10);
    return n;
}

/* "0->1", two numbers of devices and nothing else. */
static bool is_arrow(const char *text, int pair[2])
{
    size_t n = plain_number(text, &pair[0]);
    if (n == 0 || strncmp(text + n, "->", 2) != 0)
        return false;
    text += n + 2;
    n = plain_number(text, &pair[1]);
    return n > 0 && !text[n];
}

static enum hypar_status read_link(struct flat_reader *r, const struct json *at,
                                   struct file_task *task, struct hypar_error *err)
{
    const char *text;
    int pair[2];
    TRY(hp_json_name(at, &text, err));
    if (!is_arrow(text, pair)) {
        task->link = hp_flat_link(r, text);
        return HYPAR_OK;
    }
    char range[RANGE_TEXT_BYTES];
    for (int i = 0; i < 2; i++) {
        if (pair[i] >= r->max_devices)
            return hp_json_fail(at, err, "device %d, expected %s", pair[i],
                                hp_range_text(range, 0, r->max_devices - 1));
        use_device(r, pair[i]);
    }
    if (pair[0] == pair[1])
        return hp_json_fail(at, err, "from device %d to itself, expected two devices", pair[0]);
    int *devices = NEW(&r->file->arena, int, 2);
    memcpy(devices, pair, sizeof pair);
    task->n_devices = 2;
    task->devices = devices;
    task->kind = COMM_SEND;
    return HYPAR_OK;
}

static enum hypar_status check_distinct(struct flat_reader *r, const struct json *at,
                                        const int *devices, int n, struct hypar_error *err)
{
    struct arena_mark mark = hp_arena_mark(&r->scratch);
    int *sorted = NEW(&r->scratch, int, n), twice = -1;
    memcpy(sorted, devices, (size_t)n * sizeof *sorted);
    hp_sort_ints(sorted, n);
    for (int i = 1; i < n && twice < 0; i++)
        if (sorted[i] == sorted[i - 1])
            twice = sorted[i];
    hp_arena_release(&r->scratch, mark);
    if (twice >= 0)
        return hp_json_fail(at, err, "device %d is listed twice", twice);
    return HYPAR_OK;
}

static enum hypar_status read_kind(const struct json *at, int n_devices, enum comm_kind *out,
                                   struct hypar_error *err)
{
    const char *names[COMM_KIND_COUNT], *word;
    char list[160];
    if (!at->value && n_devices == 2) {
        *out = COMM_SEND;
        return HYPAR_OK;
    }
    for (int k = 0; k < COMM_KIND_COUNT; k++)
        names[k] = hp_comm_text((enum comm_kind)k);
    hp_word_list(list, sizeof list, names, COMM_KIND_COUNT);
    if (!at->value)
        return hp_json_fail(at, err, "missing, expected one of %s", list);
    TRY(hp_json_string(at, &word, err));
    for (int k = 0; k < COMM_KIND_COUNT; k++)
        if (strcmp(names[k], word) == 0) {
            *out = (enum comm_kind)k;
            if (k == COMM_SEND && n_devices != 2)
                return hp_json_fail(at, err, "a send over %d devices, expected 2", n_devices);
            return HYPAR_OK;
        }
    return hp_json_fail(at, err, "expected one of %s, not \"%.40s\"", list, word);
}

static enum hypar_status read_list(struct flat_reader *r, const struct json *at,
                                   struct file_task *task, struct hypar_error *err)
{
    TRY(hp_json_array(at, r->max_devices, err));
    int n = hp_json_length(at);
    if (n < 2)
        return hp_json_fail(at, err, "has %d devices, expected at least 2", n);
    int *devices = NEW(&r->file->arena, int, n);
    for (int i = 0; i < n; i++) {
        struct json element = hp_json_element(at, i);
        int64_t device;
        TRY(hp_json_int(&element, 0, r->max_devices - 1, &device, err));
        devices[i] = (int)device;
        use_device(r, devices[i]);
    }
    task->n_devices = n;
    task->devices = devices;
    return check_distinct(r, at, devices, n, err);
}

static enum hypar_status read_on(struct flat_reader *r, const struct json *at,
                                 struct file_task *task, struct hypar_error *err)
{
    struct json on = hp_json_member(at, "on"), kind = hp_json_member(at, "kind");
    task->device = task->link = -1;
    if (hp_json_is_array(&on)) {
        TRY(read_list(r, &on, task, err));
        return read_kind(&kind, task->n_devices, &task->kind, err);
    }
    if (hp_json_is_number(&on)) {
        int64_t device;
        TRY(hp_json_int(&on, 0, r->max_devices - 1, &device, err));
        task->device = (int)device;
        use_device(r, task->device);
    } else if (hp_json_is_string(&on)) {
        TRY(read_link(r, &on, task, err));
    } else {
        return hp_json_fail(&on, err,
                            "%sexpected a device, a link (\"0->1\") or a list of devices",
                            on.value ? "" : "missing, ");
    }
    if (kind.value)
        return hp_json_fail(&kind, err, "expected only where \"on\" is a list of devices");
    return HYPAR_OK;
}

static enum hypar_status read_optional(const struct json *at, double most, double *out,
                                       struct hypar_error *err)
{
    *out = -1;
    return at->value ? hp_json_number(at, 0, most, out, err) : HYPAR_OK;
}

/* The time of a task: "seconds", or the time that the machine needs for "bytes". */
static enum hypar_status read_amount(const struct flat_reader *r, const struct json *at,
                                     struct file_task *task, struct hypar_error *err)
{
    struct json seconds = hp_json_member(at, "seconds"), bytes = hp_json_member(at, "bytes");
    TRY(read_optional(&seconds, hp_seconds(HP_MAX_TICKS), &task->seconds, err));
    TRY(read_optional(&bytes, MAX_BYTES, &task->bytes, err));
    if (task->device >= 0 && bytes.value)
        return hp_json_fail(&bytes, err, "expected only of a task on links, not on a device");
    if (seconds.value)
        return HYPAR_OK;
    if (task->device >= 0)
        return hp_json_fail(&seconds, err, "missing, expected the time of the computation");
    if (!bytes.value)
        return hp_json_fail(&seconds, err, "missing, expected \"seconds\" or \"bytes\"");
    if (task->link >= 0)
        return hp_json_fail(&seconds, err,
                            "missing: the bandwidth of link '%.40s' is not known, expected "
                            "\"seconds\" or a link between devices (\"0->1\")",
                            r->name[task->link]);
    if (!r->machine)
        return hp_json_fail(&seconds, err,
                            "missing: how long the bytes take is not known without a machine, "
                            "expected one (--on) or \"seconds\"");
    return HYPAR_OK;
}

/* The traffic class of a task. */
static enum hypar_status read_class(const struct json *at, struct file_task *task,
                                    struct hypar_error *err)
{
    struct json class = hp_json_member(at, "class");
    int64_t number = TRAFFIC_NEXT;
    if (class.value && task->device >= 0)
        return hp_json_fail(&class, err, "expected only of a task on links, not on a device");
    if (class.value)
        TRY(hp_json_int(&class, TRAFFIC_NEXT, TRAFFIC_SUMS, &number, err));
    task->traffic = (enum traffic)number;
    return HYPAR_OK;
}

static enum hypar_status read_task(struct flat_reader *r, const struct json *at,
                                   struct file_task *task, struct hypar_error *err)
{
    static const char *const members[] = { "id",    "on",    "kind",  "name", "seconds",
                                           "bytes", "class", "after", NULL };
    const char *name;
    TRY(hp_json_object(at, err));
    TRY(hp_json_only(at, members, err));
    struct json member = hp_json_member(at, "id");
    TRY(hp_json_int(&member, 0, MAX_ID, &task->id, err));
    member = hp_json_member(at, "name");
    if (member.value) {
        TRY(hp_json_name(&member, &name, err));
        task->name = hp_arena_strdup(&r->file->arena, name);
    }
    TRY(read_on(r, at, task, err));
    TRY(read_amount(r, at, task, err));
    return read_class(at, task, err);
}

static enum hypar_status read_tasks(struct flat_reader *r, struct hypar_error *err)
{
    r->n_tasks = hp_json_length(&r->tasks);
    if (r->n_tasks == 0)
        return hp_json_fail(&r->tasks, err, "empty, expected at least one task");
    r->task = NEW(&r->file->arena, struct file_task, r->n_tasks);
    r->timed = NEW(&r->file->arena, struct sim_task, r->n_tasks);
    for (int i = 0; i < r->n_tasks; i++) {
        struct json at = hp_json_element(&r->tasks, i);
        TRY(read_task(r, &at, &r->task[i], err));
    }
    return HYPAR_OK;
}

static enum hypar_status read_head(struct flat_reader *r, const struct json *root,
                                   struct hypar_error *err)
{
    static const char *const members[] = { "format", "model", "devices", "tasks", NULL };
    const char *format;
    int64_t devices;
    TRY(hp_json_object(root, err));
    struct json at = hp_json_member(root, "format");
    TRY(hp_json_string(&at, &format, err));
    if (strcmp(format, "hypar-program/1") != 0)
        return hp_json_fail(&at, err, "expected hypar-program/1, not \"%.40s\"", format);
    TRY(hp_json_only(root, members, err));
    r->max_devices = r->machine ? hypar_machine_device_count(r->machine) : MAX_DEVICES;
    at = hp_json_member(root, "devices");
    if (at.value) {
        TRY(hp_json_int(&at, 1, r->max_devices, &devices, err));
        r->max_devices = r->used_devices = (int)devices;
    }
    r->tasks = hp_json_member(root, "tasks");
    return hp_json_array(&r->tasks, MAX_TASKS, err);
}

static enum hypar_status read_program(struct flat_reader *r, const struct json *root,
                                      struct hypar_error *err)
{
    struct flat_file *file = r->file;
    TRY(read_head(r, root, err));
    TRY(read_tasks(r, err));
    file->n_devices = r->machine ? hypar_machine_device_count(r->machine) : r->used_devices;
    file->n_machine_links = r->machine ? 2 * hypar_machine_link_count(r->machine) : 0;
    TRY(hp_flat_read_edges(r, err));
    TRY(hp_flat_place(r, err));
    file->task = r->task;
    file->name = r->name;
    file->n_names = r->n_names;
    file->graph.n_tasks = r->n_tasks;
    file->graph.n_queues = file->n_devices + file->n_machine_links + file->n_names;
    file->graph.task = r->timed;
    return HYPAR_OK;
}

enum hypar_status hp_flat_file_read(struct flat_file **out,
                                    const struct json_document *document,
                                    const struct hypar_machine *machine,
                                    struct hypar_error *err)
{
    struct arena arena = { 0 };
    *out = NULL;
    struct flat_file *file = NEW(&arena, struct flat_file, 1);
    file->arena = arena;
    struct flat_reader r = { .file = file, .machine = machine };
    struct json root = hp_json_root(document);
    enum hypar_status status = read_program(&r, &root, err);
    hp_arena_free(&r.scratch);
    if (status == HYPAR_OK)
        *out = file;
    else
        hp_flat_file_free(file);
    return status;
}

enum hypar_status hp_flat_file_read_text(struct flat_file **out, const char *text,
                                         size_t length, const char *name,
                                         const struct hypar_machine *machine,
                                         struct hypar_error *err)
{
    struct json_document *document;
    *out = NULL;
    TRY(hp_json_read_text(&document, text, length, name, err));
    enum hypar_status status = hp_flat_file_read(out, document, machine, err);
    hp_json_free(document);
    return status;
}

void hp_flat_file_free(struct flat_file *file)
{
    if (!file)
        return;
    hp_arena_free(&file->arena);
}
