#include "base/word.h"

#include <ctype.h>
#include <string.h>

enum { MAX_LETTERS = 63, MAX_NAMES = 1 << 16, MAX_SHOWN = 3 };

/* Least number of letters put in, left out or changed to make one word of the other
 * (Levenshtein 1966), row by row; small and capital letters are the same. */
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
    int steps[MAX_SHOWN];
    max = max < MAX_SHOWN ? max : MAX_SHOWN;
    if (!*word || strlen(word) > MAX_LETTERS)
        return 0;
    for (int i = 0; i < n && i < MAX_NAMES; i++) {
        int d = strlen(names[i]) > MAX_LETTERS ? far + 1 : distance(word, names[i]);
        int place = found;
        while (place > 0 && steps[place - 1] > d)
            place--;
        if (d > far || place == max)
            continue;
        found += found < max;
        for (int j = found - 1; j > place; j--) {
            steps[j] = steps[j - 1];
            near[j] = near[j - 1];
        }
        steps[place] = d;
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

const char *hp_word_list(char *text, size_t size, const char *const *names, int n)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", names[i]);
    return text;
}

size_t hp_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    static const struct {
        unsigned char first, last, low, high; /* of the first byte, of the second byte */
        size_t length;
    } forms[] = {
        { 0x00, 0x7f, 0x00, 0xff, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
        { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
        { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
        { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        if (s[0] < forms[f].first || s[0] > forms[f].last)
            continue;
        size_t n = 1;
        while (n < forms[f].length && s[n] >= (n == 1 ? forms[f].low : 0x80) &&
               s[n] <= (n == 1 ? forms[f].high : 0xbf))
            n++;
        return n == forms[f].length ? n : 0;
    }
    return 0;
}

/* Of the character at `s`: below a space, DEL, or U+0080 to U+009F. */
static bool is_control(const unsigned char *s)
{
    return *s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0);
}

bool hp_has_control(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (is_control(p))
            return true;
    return false;
}

bool hp_is_plain(const char *text)
{
    size_t n = 1;
    for (; *text && n; text += n)
        n = is_control((const unsigned char *)text) ? 0 : hp_utf8_length(text);
    return n != 0;
}

char *hp_make_plain(char *text)
{
    for (char *p = text; *p;) {
        size_t n = is_control((const unsigned char *)p) ? 0 : hp_utf8_length(p);
        if (!n)
            *p = '_';
        p += n ? n : 1;
    }
    return text;
}

int hp_characters(const char *text, int bytes)
{
    int n = 0;
    for (int i = 0; i < bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80; /* not the middle of a character */
    return n;
}
