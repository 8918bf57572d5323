/* The metadata of a training's checkpoint, from which a training resumes, and the names of
 * optimizer state. */
#include <inttypes.h>
#include <string.h>

#include "run/checkpoint/checkpoint.h"

static const char FORMAT[] = "hypar-checkpoint/1";

const char *hp_state_name(struct arena *arena, int k, const char *name)
{
    return hp_arena_printf(arena, "optimizer.%d.%s", k, name);
}

/* Integers are decimal; the hash is written as in a plan: 16 hexadecimal digits. */
void hp_training_metadata(const struct training_state *s, struct arena *arena,
                          struct checkpoint_pair pair[TRAINING_PAIRS])
{
    const struct checkpoint_pair all[TRAINING_PAIRS] = {
        { "format", FORMAT },
        { "hypar_version", hp_arena_printf(arena, "%d.%d.%d", HYPAR_VERSION_MAJOR,
                                           HYPAR_VERSION_MINOR, HYPAR_VERSION_PATCH) },
        { "graph_hash", hp_arena_printf(arena, "%016" PRIx64, s->graph_hash) },
        { "optimizer", hypar_optimizer_text(s->optimizer) },
        { "step", hp_arena_printf(arena, "%" PRId64, s->step) },
        { "position", hp_arena_printf(arena, "%" PRId64, s->position) },
        { "seed", hp_arena_printf(arena, "%" PRIu64, s->seed) },
        { "samples", hp_arena_printf(arena, "%" PRId64, s->samples) },
    };
    memcpy(pair, all, sizeof all);
}

static enum hypar_status wrong(const struct checkpoint *c, struct hypar_error *err,
                               const char *key, const char *value, const char *expected)
{
    enum hypar_status status =
        value ? hp_fail(err, HYPAR_INVALID, "'%.40s', expected %s", value, expected)
              : hp_fail(err, HYPAR_INVALID, "missing, expected %s", expected);
    return hp_in(err, status, "%s: metadata %s", hp_checkpoint_path(c), key);
}

/* Parse a whole text in base 10 or 16, at most `most`. */
static enum hypar_status read_unsigned(const struct checkpoint *c, const char *key, int base,
                                       uint64_t most, uint64_t *out, struct hypar_error *err)
{
    static const char digits[] = "0123456789abcdef";
    const char *expected = base == 16 ? "a hexadecimal number" : "a number";
    const char *text = hp_checkpoint_metadata(c, key);
    uint64_t value = 0;
    if (!text || !*text)
        return wrong(c, err, key, text, expected);
    for (const char *p = text; *p; p++) {
        const char *digit = memchr(digits, *p, (size_t)base);
        if (!digit || value > (most - (uint64_t)(digit - digits)) / (uint64_t)base)
            return wrong(c, err, key, text, expected);
        value = value * (uint64_t)base + (uint64_t)(digit - digits);
    }
    *out = value;
    return HYPAR_OK;
}

enum hypar_status hp_training_state(const struct checkpoint *c, struct training_state *out,
                                    struct hypar_error *err)
{
    const char *format = hp_checkpoint_metadata(c, "format");
    const char *optimizer = hp_checkpoint_metadata(c, "optimizer");
    uint64_t step, position, samples = 0;
    if (!format || strcmp(format, FORMAT) != 0)
        return wrong(c, err, "format", format, FORMAT);
    int known = optimizer ? hypar_name_find(HYPAR_NAME_OPTIMIZER, optimizer) : -1;
    if (known < 0)
        return wrong(c, err, "optimizer", optimizer, "the name of an optimizer");
    TRY(read_unsigned(c, "graph_hash", 16, UINT64_MAX, &out->graph_hash, err));
    TRY(read_unsigned(c, "step", 10, INT64_MAX, &step, err));
    TRY(read_unsigned(c, "position", 10, INT64_MAX, &position, err));
    TRY(read_unsigned(c, "seed", 10, UINT64_MAX, &out->seed, err));
    if (hp_checkpoint_metadata(c, "samples"))
        TRY(read_unsigned(c, "samples", 10, INT64_MAX, &samples, err));
    out->optimizer = (enum hypar_optimizer)known;
    out->step = (int64_t)step;
    out->position = (int64_t)position;
    out->samples = (int64_t)samples;
    return HYPAR_OK;
}

enum hypar_status hp_training_position(const struct checkpoint *c,
                                       const struct training_state *s, int64_t batch,
                                       struct hypar_error *err)
{
    char expected[96];
    if (s->position % batch == 0 && s->position / batch == s->step)
        return HYPAR_OK;
    snprintf(expected, sizeof expected, "%" PRId64 " steps of %" PRId64 " samples", s->step,
             batch);
    return wrong(c, err, "position", hp_checkpoint_metadata(c, "position"), expected);
}
