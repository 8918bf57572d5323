/* Words that people type: the nearest known names, lists of words, and names of layers. */
#include "base/word.h"

#include <ctype.h>
#include <string.h>

enum { MAX_LETTERS = 63, MAX_NAMES = 1 << 16, MAX_SHOWN = 3 };

/* Letters. Shorter words begin too many names. Two slips in a short word make any word. */
enum { LEAST_PREFIX = 3, SHORT_LETTERS = 4 };

static int lower(char c)
{
    return tolower((unsigned char)c);
}

/* The least number of letters to insert, delete, change or exchange with a neighbour to turn
 * one word into the other (Damerau 1964, optimal string alignment); case is ignored. */
static int distance(const char *a, const char *b)
{
    int rows[3][MAX_LETTERS + 1];
    int *before = rows[0], *last = rows[1], *row = rows[2], n = (int)strlen(b);
    for (int j = 0; j <= n; j++)
        last[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            int change = last[j - 1] + !same;
            int add = (last[j] < row[j - 1] ? last[j] : row[j - 1]) + 1;
            row[j] = change < add ? change : add;
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]) && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        int *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[n];
}

/* The distance of a typed word from a name. The beginning of a name is one slip away from the
 * name: the rest is missing. */
static int slips(const char *word, const char *name)
{
    size_t n = strlen(word), i = 0;
    while (i < n && name[i] && lower(word[i]) == lower(name[i]))
        i++;
    return i == n && n >= LEAST_PREFIX && name[n] ? 1 : distance(word, name);
}

int hypar_nearest(const char *word, const char *const *names, int n, int *near, int max)
{
    int length = (int)strlen(word), found = 0;
    int far = length <= SHORT_LETTERS ? 1 : length / 3 + 1;
    int edits[MAX_SHOWN];
    max = max < MAX_SHOWN ? max : MAX_SHOWN;
    if (!*word || strlen(word) > MAX_LETTERS)
        return 0;
    for (int i = 0; i < n && i < MAX_NAMES; i++) {
        int d = strlen(names[i]) > MAX_LETTERS ? far + 1 : slips(word, names[i]);
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

/* Do all of them fit? */
static bool list_words(char *text, size_t size, const char *const *names, int n)
{
    size_t used = 0, last = 0;
    *text = '\0';
    for (int i = 0; i < n && used < size; i++) {
        last = used + sizeof ", ..." <= size ? used : last;
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", names[i]);
    }
    if (used >= size)
        snprintf(text + last, size - last, last ? ", ..." : "...");
    return used < size;
}

const char *hp_expected(char *text, size_t size, const char *word, const char *const *names,
                        int n, const char *lister)
{
    char near[120];
    if (hp_nearest_text(word, names, n, near, sizeof near)) {
        snprintf(text, size, "did you mean %s?", near);
        return text;
    }
    size_t begun = (size_t)snprintf(text, size, "expected one of ");
    if (!list_words(text + begun, size - begun, names, n) && lister)
        snprintf(text, size, "expected one that '%s' lists", lister);
    return text;
}

const char *hp_word_list(char *text, size_t size, const char *const *names, int n)
{
    list_words(text, size, names, n);
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
