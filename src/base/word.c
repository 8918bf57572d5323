/* Words that people type: the nearest known names, lists of words, and names of layers. */
#include "base/word.h"

#include <ctype.h>
#include <string.h>

enum { MAX_LETTERS = 63, MAX_NAMES = 1 << 16, MAX_SHOWN = 3 };

/* The least number of letters to insert, delete or change to turn one word into the other
 * (Levenshtein 1966), row by row; case is ignored. */
static int distance(const char *a, const char *b)
{
    int row[MAX_LETTERS + 1];
    int n = (int)strlen(b);
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; *a; i++, a++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int change =
                diagonal + (tolower((unsigned char)*a) != tolower((unsigned char)b[j - 1]));
            int add = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < add ? change : add;
        }
    }
    return row[n];
}

int hypar_nearest(const char *word, const char *const *names, int n, int *near, int max)
{
    int far = (int)strlen(word) / 3 + 1, found = 0;
    int edits[MAX_SHOWN];
    max = max < MAX_SHOWN ? max : MAX_SHOWN;
    if (!*word || strlen(word) > MAX_LETTERS)
        return 0;
    for (int i = 0; i < n && i < MAX_NAMES; i++) {
        int d = strlen(names[i]) > MAX_LETTERS ? far + 1 : distance(word, names[i]);
        int place = found;
        while (place > 0 && edits[place - 1] > d)
            place--;
        if (d > far || d >= (int)strlen(word) ||
            place == max) /* at least one letter must be kept */
            continue;
        found += found < max;
        for (int j = found - 1; j > place; j--) {
            edits[j] = edits[j - 1];
            near[j] = near[j - 1];
        }
        edits[place] = d;
        near[place] = i;
    }
    return found;
}

bool hp_nearest_text(const char *word, const char *const *names, int n, char *text, size_t size)
{
    int near[MAX_SHOWN], n_near = hypar_nearest(word, names, n, near, MAX_SHOWN);
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < n_near && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i == 0            ? ""
                                 : i == n_near - 1 ? " or "
                                                   : ", ",
                                 names[near[i]]);
    return n_near > 0;
}

const char *hp_expected(char *text, size_t size, const char *word, const char *const *names,
                        int n)
{
    char near[120];
    if (hp_nearest_text(word, names, n, near, sizeof near)) {
        snprintf(text, size, "did you mean %s?", near);
        return text;
    }
    size_t used = (size_t)snprintf(text, size, "expected one of "), last = used;
    for (int i = 0; i < n && used < size; i++) {
        last = used + 5 < size ? used : last; /* room for ", ..." */
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", names[i]);
    }
    if (used >= size)
        snprintf(text + last, size - last, ", ...");
    return text;
}

const char *hp_word_list(char *text, size_t size, const char *const *names, int n)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", names[i]);
    return text;
}

char *hp_without_numbers(struct arena *arena, const char *name)
{
    char *out = hp_arena_strdup(arena, name), *to = out;
    for (const char *at = name; *at;) {
        size_t length = strcspn(at, "."), digits = strspn(at, "0123456789");
        bool number = digits > 0 && digits == length;
        memmove(to, number ? "*" : at, number ? 1 : length);
        to += number ? 1 : length;
        at += length;
        if (*at)
            *to++ = *at++;
    }
    *to = '\0';
    return out;
}
