/* UTF-8: validity, width on a terminal, and characters that must not reach a terminal. */
#include "base/utf8.h"

#include <hypar/tool.h>
#include <string.h>

/* The valid first and second bytes of a sequence. */
static const struct form {
    unsigned char first, last, low, high;
    size_t length;
} forms[] = {
    { 0x00, 0x7f, 0x00, 0xff, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
    { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
    { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

/* The number of bytes of a character that are present, at least 1. *whole: all are. */
static size_t look(const char *text, bool *whole)
{
    const unsigned char *s = (const unsigned char *)text;
    *whole = false;
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        if (s[0] < forms[f].first || s[0] > forms[f].last)
            continue;
        size_t n = 1;
        while (n < forms[f].length && s[n] >= (n == 1 ? forms[f].low : 0x80) &&
               s[n] <= (n == 1 ? forms[f].high : 0xbf))
            n++;
        *whole = n == forms[f].length;
        return n;
    }
    return 1;
}

size_t hp_utf8_length(const char *text)
{
    bool whole;
    size_t n = look(text, &whole);
    return whole ? n : 0;
}

unsigned hp_utf8_code(const char *text, size_t n)
{
    static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    unsigned code = (unsigned char)text[0] & mask[n];
    for (size_t i = 1; i < n; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    return code;
}

struct range {
    unsigned first, last;
};

/* Characters that are never shown, ascending, as in the tables below. */
static const struct range hidden[] = {
    { 0x00, 0x1f },       { 0x7f, 0x9f },     /* C0, delete, C1 */
    { 0x61c, 0x61c },     { 0x200e, 0x200f }, /* marks of direction */
    { 0x2028, 0x202e },   { 0x2066, 0x2069 }, /* separators, embeddings, overrides, isolates */
    { 0xfeff, 0xfeff },   { 0xfff9, 0xfffb }, /* byte order mark, annotations */
    { 0xe0000, 0xe007f },                     /* tags */
};

/* Characters of width 0: marks on the character before, and joiners. */
static const struct range narrow[] = {
    { 0x300, 0x36f },     { 0x483, 0x489 },   { 0x591, 0x5bd },   { 0x610, 0x61a },
    { 0x64b, 0x65f },     { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x200b, 0x200d },
    { 0x20d0, 0x20ff },   { 0x3099, 0x309a }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f },
    { 0xe0100, 0xe01ef },
};

/* Characters of width 2: East Asian wide and fullwidth, and pictures. */
static const struct range wide[] = {
    { 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0x3098 },   { 0x309b, 0x4dbf },
    { 0x4e00, 0xa4cf },   { 0xa960, 0xa97c },   { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },
    { 0xfe30, 0xfe6f },   { 0xff01, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f },
    { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd },
};

#define IS_IN(table, code) is_in(table, sizeof(table) / sizeof(table)[0], code)

static bool is_in(const struct range *table, size_t n, unsigned code)
{
    for (size_t i = 0; i < n && table[i].first <= code; i++)
        if (code <= table[i].last)
            return true;
    return false;
}

size_t hp_printable_length(const char *text)
{
    size_t n = hp_utf8_length(text);
    return n && !IS_IN(hidden, hp_utf8_code(text, n)) ? n : 0;
}

bool hp_is_utf8(const char *text)
{
    size_t n = 1;
    for (; *text && n; text += n)
        n = hp_utf8_length(text);
    return n > 0;
}

bool hp_has_control(const char *text)
{
    size_t n = 1;
    for (; *text && n; text += n)
        n = hp_printable_length(text);
    return n == 0;
}

char *hp_clean_text(char *text, char instead)
{
    char *to = text;
    for (const char *from = text; *from;) {
        bool whole;
        size_t n = look(from, &whole), shown = hp_printable_length(from);
        memmove(to, from, shown);
        if (!shown)
            *to = instead;
        to += shown ? shown : 1;
        from += n;
    }
    *to = '\0';
    return text;
}

char *hypar_clean_text(char *text)
{
    hp_drop_cut(text);
    return hp_clean_text(text, '?');
}

void hp_drop_cut(char *text)
{
    size_t n = strlen(text), begin = n;
    bool whole;
    while (begin > 0 && n - begin < 3 && ((unsigned char)text[begin] & 0xc0) != 0xc0)
        begin--; /* back to the first byte of the last character */
    if (((unsigned char)text[begin] & 0xc0) == 0xc0 &&
        look(text + begin, &whole) == n - begin && !whole)
        text[begin] = '\0';
}

int hp_text_width(const char *text, int bytes)
{
    int width = 0;
    for (const char *end = text + bytes; text < end;) {
        size_t n = hp_utf8_length(text);
        unsigned code = n ? hp_utf8_code(text, n) : 0;
        width += n && IS_IN(narrow, code) ? 0 : n && IS_IN(wide, code) ? 2 : 1;
        text += n ? n : 1;
    }
    return width;
}
