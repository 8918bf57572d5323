/* Any text: a profile that is written, read back and written the same, or one line. */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const struct hypar_profile *profile, size_t *n)
{
    char *text;
    FILE *file = open_memstream(&text, n);
    if (!file)
        abort();
    hypar_profile_write(profile, file);
    fclose(file);
    return text;
}

static void check_written(const struct hypar_profile *profile)
{
    size_t n, m;
    char *text = text_of(profile, &n);
    struct hypar_profile *back;
    if (hp_profile_read_text(&back, text, n, "written", NULL) != HYPAR_OK ||
        hypar_profile_info(back).n_passes != hypar_profile_info(profile).n_passes)
        abort();
    char *again = text_of(back, &m);
    if (n != m || memcmp(text, again, n) != 0)
        abort();
    free(text);
    free(again);
    hypar_profile_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hypar_profile *profile;
    struct hypar_error err = { 0 };
    enum hypar_status status =
        hp_profile_read_text(&profile, (const char *)data, size, "text", &err);
    if ((status == HYPAR_OK) != (profile != NULL) || (status != HYPAR_OK && !*err.text) ||
        strchr(err.text, '\n'))
        abort();
    if (profile)
        check_written(profile);
    hypar_profile_free(profile);
    return 0;
}
