/* Runs a fuzz target over a folder of inputs as an ordinary test: each file as it is, then
 * changed in a fixed number of ways drawn from a fixed seed.
 *
 *     corpus_machine tests/fuzz/corpus/machine */
#include "base/random.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20, CHANGES = 100, SEED = 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    size_t size;
    uint8_t *bytes; /* MAX_BYTES */
};

/* The target gets a block of exactly its size, so that a sanitizer sees a read past its end. */
static void run(const struct input *input)
{
    uint8_t *copy = malloc(input->size ? input->size : 1);
    if (!copy)
        exit(4);
    memcpy(copy, input->bytes, input->size);
    LLVMFuzzerTestOneInput(copy, input->size);
    free(copy);
}

static void change(struct input *input, struct random *random)
{
    static const char marks[] = "{}[]\",:0-9.eE+x=\0\n\377";
    if (input->size == 0)
        return;
    size_t at = (size_t)hp_random_below(random, (int64_t)input->size);
    size_t rest = input->size - at;
    switch (hp_random_below(random, 5)) {
    case 0: /* one bit */
        input->bytes[at] ^= (uint8_t)(1u << hp_random_below(random, 8));
        break;
    case 1: /* a sign with a meaning */
        input->bytes[at] = (uint8_t)marks[hp_random_below(random, sizeof marks - 1)];
        break;
    case 2: /* the end is missing */
        input->size = at;
        break;
    case 3: /* one byte is missing */
        memmove(input->bytes + at, input->bytes + at + 1, rest - 1);
        input->size--;
        break;
    case 4: /* the end stands twice */
        if (input->size + rest > MAX_BYTES)
            break;
        memcpy(input->bytes + input->size, input->bytes + at, rest);
        input->size += rest;
        break;
    }
}

static bool load(const char *folder, const char *name, struct input *input)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return false;
    }
    input->size = fread(input->bytes, 1, MAX_BYTES, file);
    bool ok = !ferror(file);
    fclose(file);
    return ok;
}

static bool run_file(const char *folder, const char *name)
{
    static uint8_t original_bytes[MAX_BYTES], changed_bytes[MAX_BYTES];
    struct input original = { 0, original_bytes };
    struct random random = { SEED };
    if (!load(folder, name, &original))
        return false;
    printf("%s (%zu bytes)\n", name, original.size);
    fflush(stdout); /* a crash shall leave the name behind */
    run(&original);
    for (int i = 0; i < CHANGES; i++) {
        struct input changed = { original.size, changed_bytes };
        memcpy(changed_bytes, original_bytes, original.size);
        for (int64_t n = 1 + hp_random_below(&random, 4); n > 0; n--)
            change(&changed, &random);
        run(&changed);
    }
    return true;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    struct dirent **entry;
    if (argc != 2) {
        fputs("usage: corpus_NAME FOLDER\n", stderr);
        return 2;
    }
    int n = scandir(argv[1], &entry, is_visible, alphasort);
    if (n < 1) {
        fprintf(stderr, "%s: no inputs\n", argv[1]);
        return 1;
    }
    bool ok = true;
    for (int i = 0; i < n; i++) {
        ok = run_file(argv[1], entry[i]->d_name) && ok;
        free(entry[i]);
    }
    free(entry);
    printf("%d inputs, each in %d changed forms (seed %d)\n", n, CHANGES, SEED);
    return ok ? 0 : 1;
}
