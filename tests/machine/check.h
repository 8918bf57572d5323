/* What every machine must obey, checked by each test that makes one. */
#ifndef TESTS_MACHINE_CHECK_H
#define TESTS_MACHINE_CHECK_H

#include "base/files/json.h"
#include "base/random.h"
#include "machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline struct hypar_machine *machine_of(const char *word)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    if (hypar_machine_read(&machine, word, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return machine;
}

/* The route's length, after checking that each link begins where the one before it ended. */
static inline int check_route(const struct hypar_machine *machine, int from, int to)
{
    int max = hypar_machine_longest_route(machine);
    int *links = test_calloc((size_t)max + 1, sizeof *links);
    int n = hypar_machine_route(machine, from, to, links, max);
    int at = from;
    assert_true(n <= max);
    for (int i = 0; i < n; i++) {
        assert_in_range(links[i], 0, 2 * hypar_machine_link_count(machine) - 1);
        struct hypar_link link = hypar_machine_link(machine, links[i] / 2);
        assert_int_equal(links[i] % 2 ? link.to : link.from, at);
        at = links[i] % 2 ? link.from : link.to;
    }
    assert_int_equal(at, to);
    assert_int_equal(hypar_machine_route(machine, from, to, NULL, 0), n);
    test_free(links);
    return n;
}

static inline void check_links(const struct hypar_machine *machine)
{
    int nodes = hypar_machine_device_count(machine) + hypar_machine_switch_count(machine);
    for (int l = 0; l < hypar_machine_link_count(machine); l++) {
        struct hypar_link link = hypar_machine_link(machine, l);
        assert_in_range(link.from, 0, nodes - 1);
        assert_in_range(link.to, 0, nodes - 1);
        assert_int_not_equal(link.from, link.to);
        assert_true(link.bytes_per_s > 0 && link.latency_s >= 0 && link.energy_j_per_bit >= 0);
    }
}

static inline void check_levels(const struct hypar_machine *machine)
{
    struct hypar_level levels[HYPAR_MAX_LEVELS];
    int n = hypar_machine_levels(machine, levels), devices = 1;
    for (int l = 0; l < n; l++) {
        assert_true(levels[l].ways >= 2);
        assert_true(levels[l].bytes_per_s > 0 && levels[l].latency_s >= 0);
        devices *= levels[l].ways;
    }
    assert_int_equal(devices, hypar_machine_device_count(machine));
}

/* The machine's JSON as text; to be freed with test_free(). */
static inline char *json_of(const struct hypar_machine *machine)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    hypar_machine_write(machine, file);
    long size = ftell(file);
    char *text = test_calloc((size_t)size + 1, 1);
    rewind(file);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    fclose(file);
    return text;
}

static inline enum hypar_status read_json(struct hypar_machine **out, const char *text,
                                          struct hypar_error *err)
{
    struct json_document *document;
    *out = NULL;
    TRY(hp_json_read_text(&document, text, strlen(text), "m.json", err));
    struct json root = hp_json_root(document);
    enum hypar_status status = hp_machine_read_json(out, &root, err);
    hp_json_free(document);
    return status;
}

#endif /* TESTS_MACHINE_CHECK_H */
