/* Device files, "hypar-device/1": the figures of one device, as in a row of the table; `hypar
 * fit` writes them. */
#include "machine/machine.h"

#include <math.h>
#include <string.h>

#define FORMAT "hypar-device/1"

bool hp_device_is_file(const char *name)
{
    size_t n = strlen(name);
    return n >= 5 && strcmp(name + n - 5, ".json") == 0;
}

static enum hypar_status read_keys(const struct json *at, struct hypar_error *err)
{
    const char *keys[OPTION_COUNT + 4] = { "format", "name", "source" };
    for (int o = 0; o < OPTION_COUNT; o++)
        keys[3 + o] = hp_machine_options[o].key;
    TRY(hp_json_format(at, FORMAT, err));
    return hp_json_only(at, keys, err);
}

static enum hypar_status read_row(struct part *part, const struct json *at,
                                  struct hypar_error *err)
{
    const char *name, *source = "";
    struct json name_at = hp_json_member(at, "name"), source_at = hp_json_member(at, "source");
    TRY(read_keys(at, err));
    TRY(hp_json_name(&name_at, &name, err));
    if (hp_device_is_file(name))
        return hp_json_fail(&name_at, err, "'%.40s' names a file, expected a device's name",
                            name);
    if (source_at.value)
        TRY(hp_json_string(&source_at, &source, err));
    if (part->topology && !part->topology->default_device)
        return hp_json_fail(at, err, "a device file, expected 'local'");

    struct part file = *part; /* the figures that the file gives; the others as in a part ... */
    file.n_dims = 0;          /* ... of any size */
    for (int o = 0; o < OPTION_COUNT; o++)
        file.value[o] = NAN;
    TRY(hp_part_choose_type(&file, at, hp_arena_strdup(part->arena, name), true, err));
    for (int o = 0; o < OPTION_COUNT; o++)
        TRY(hp_part_read_option(&file, at, (enum option)o, err));
    double *row = NEW(part->arena, double, OPTION_COUNT);
    for (int o = 0; o < OPTION_COUNT; o++)
        row[o] =
            isnan(file.value[o]) ? hp_option_default(&file, (enum option)o) : file.value[o];
    row[OPTION_NICS] = file.value[OPTION_NICS]; /* by default they follow from the node */
    part->type = file.type;
    part->type.source = hp_arena_strdup(part->arena, source);
    part->known = file.known;
    part->row = row;
    for (int o = 0; o < OPTION_COUNT; o++)
        if (!file.known && isnan(file.value[o]))
            part->left_out |= (option_set)1 << o;
    return HYPAR_OK;
}

enum hypar_status hp_part_read_device_file(struct part *part, const char *path,
                                           struct hypar_error *err)
{
    struct json_document *document;
    TRY(hp_json_read_file(&document, path, err));
    struct json root = hp_json_root(document);
    enum hypar_status status = read_row(part, &root, err);
    if (status == HYPAR_OK)
        part->path = hp_arena_strdup(part->arena, path);
    hp_json_free(document);
    return status;
}

void hp_part_write_device_file(const struct part *part, const char *name, const char *source,
                               FILE *to)
{
    struct json_writer w = { .file = to };
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "format", FORMAT);
    hp_json_put_string(&w, "name", name);
    hp_json_put_string(&w, "source", source);
    for (int o = 0; o < OPTION_COUNT; o++) {
        double value =
            isnan(part->value[o]) ? hp_option_default(part, (enum option)o) : part->value[o];
        if (!isnan(value))
            hp_json_put_number(&w, hp_machine_options[o].key, value);
    }
    hp_json_end_object(&w);
}
