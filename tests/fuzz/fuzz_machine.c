/* Feeds a machine word or JSON text to the reader; whatever is accepted must print back, and be
 * read back as the same machine, as a word and as a file of the same bytes. */
#include "base/files/json.h"
#include "machine/machine.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void use(const struct hypar_machine *machine)
{
    enum { MAX_LINKS = 64 };
    int links[MAX_LINKS], n = hypar_machine_device_count(machine);
    int pairs[][2] = { { 0, n - 1 }, { n - 1, 0 }, { n / 2, n / 3 }, { 0, 0 } };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        int at = pairs[i][0];
        int length = hypar_machine_route(machine, at, pairs[i][1], links, MAX_LINKS);
        require(length <= hypar_machine_longest_route(machine));
        for (int l = 0; l < length && l < MAX_LINKS; l++) {
            struct hypar_link link = hypar_machine_link(machine, links[l] / 2);
            require(at == (links[l] % 2 ? link.to : link.from));
            at = links[l] % 2 ? link.from : link.to;
        }
        require(length > MAX_LINKS || at == pairs[i][1]);
    }
    if (n <= 4096) {
        struct hypar_level levels[HYPAR_MAX_LEVELS];
        int count = hypar_machine_levels(machine, levels), devices = 1;
        for (int l = 0; l < count; l++)
            devices *= levels[l].ways;
        require(devices == n);
    }
}

/* word -> machine -> word stays the same. */
static void check_word(const struct hypar_machine *machine)
{
    const char *word = hypar_machine_word(machine);
    struct hypar_machine *again;
    if (!word)
        return;
    require(hp_machine_read_word(&again, word, NULL) == HYPAR_OK);
    require(strcmp(hypar_machine_word(again), word) == 0);
    hypar_machine_free(again);
}

static char *text_of(const struct hypar_machine *machine, size_t *length)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, length);
    require(file);
    hypar_machine_write(machine, file);
    require(fclose(file) == 0);
    return text;
}

static struct hypar_machine *read_file(const char *text, size_t length)
{
    struct json_document *document;
    struct hypar_machine *machine;
    require(hp_json_read_text(&document, text, length, "written", NULL) == HYPAR_OK);
    struct json root = hp_json_root(document);
    require(hp_machine_read_json(&machine, &root, NULL) == HYPAR_OK);
    hp_json_free(document);
    return machine;
}

/* machine -> file -> machine -> file stays the same. */
static void check_file(const struct hypar_machine *machine)
{
    enum { MAX_WRITTEN = 4096 }; /* devices and links, to be written in little time */
    size_t length, same_length;
    if (hypar_machine_device_count(machine) > MAX_WRITTEN ||
        hypar_machine_link_count(machine) > MAX_WRITTEN)
        return;
    char *text = text_of(machine, &length);
    struct hypar_machine *again = read_file(text, length);
    char *same = text_of(again, &same_length);
    require(same_length == length && memcmp(same, text, length) == 0);
    hypar_machine_free(again);
    free(same);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hypar_machine *machine = NULL;
    struct hypar_error err;
    struct arena arena = { 0 };
    const char *text = hp_arena_strndup(&arena, (const char *)data, size);
    if (size > 0 && strchr("{[\" \n", text[0])) {
        struct json_document *document;
        if (hp_json_read_text(&document, text, size, "fuzz", &err) == HYPAR_OK) {
            struct json root = hp_json_root(document);
            require((hp_machine_read_json(&machine, &root, &err) == HYPAR_OK) ==
                    (machine != NULL));
            hp_json_free(document);
        }
    } else {
        require((hp_machine_read_word(&machine, text, &err) == HYPAR_OK) == (machine != NULL));
    }
    if (machine) {
        use(machine);
        check_word(machine);
        check_file(machine);
    }
    hypar_machine_free(machine);
    hp_arena_free(&arena);
    return 0;
}
