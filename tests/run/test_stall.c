/* Ranks that wait report the rank that causes it, and no other. The test sets the clock. */
#include "run/stall.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { N = 4, NEVER = 1000000, AFTER_S = 32 };

/* A rank waits for the ranks of `awaits`, from `from_s` to `until_s`. Before and after that it
 * computes, or is stopped: it does not look. */
struct behaviour {
    const char *awaits;
    int from_s, until_s;
};

static struct word {
    enum stall_word word;
    int from, to;
    int32_t number;
    bool heard;
} words[4096];
static int n_words;
static struct rank {
    struct stall stall;
    const struct behaviour *does;
    bool awaited[N], answered[N], told[N];
} ranks[N];
static double now;
static char said[512]; /* "1@32 " for each line: which rank, after how long */

static void tell(void *who, int rank, const char *host, double waited_s)
{
    const struct rank *r = who;
    size_t n = strlen(said);
    assert_string_equal(host, rank == 1 ? "one" : "");
    assert_int_not_equal(rank, r->stall.rank);
    snprintf(said + n, sizeof said - n, "%d@%.0f ", rank, waited_s);
}

static void say(void *who, enum stall_word word, int to, int32_t number)
{
    const struct rank *r = who;
    assert_true(n_words < (int)(sizeof words / sizeof *words));
    words[n_words++] = (struct word){ word, r->stall.rank, to, number, false };
}

static bool hear(void *who, enum stall_word word, int *from, int32_t *number)
{
    const struct rank *r = who;
    for (int i = 0; i < n_words; i++) {
        struct word *w = &words[i];
        if (w->heard || w->word != word || w->to != r->stall.rank)
            continue;
        w->heard = true;
        *from = w->from;
        *number = w->number;
        return true;
    }
    return false;
}

static void find_awaited(void *who, bool *awaited)
{
    const struct rank *r = who;
    for (const char *at = r->does->awaits; *at; at++)
        awaited[*at - '0'] = true;
}

static void begin(const struct behaviour *does)
{
    static const char hosts[N][STALL_HOST_BYTES] = { "", "one", "", "" };
    n_words = 0;
    said[0] = '\0';
    memset(ranks, 0, sizeof ranks);
    for (int i = 0; i < N; i++) {
        struct rank *r = &ranks[i];
        r->does = &does[i];
        r->stall = (struct stall){ .after_s = AFTER_S,
                                   .tell = tell,
                                   .who = r,
                                   .rank = i,
                                   .n = N,
                                   .hosts = hosts[0],
                                   .ranks = r,
                                   .say = say,
                                   .hear = hear,
                                   .find_awaited = find_awaited,
                                   .awaited = r->awaited,
                                   .answered = r->answered,
                                   .told = r->told };
    }
}

static void pass(double seconds)
{
    static const double tick_s = 0.25;
    for (double end = now + seconds; now < end; now += tick_s)
        for (int i = 0; i < N; i++)
            if (now >= 1 + ranks[i].does->from_s && now < 1 + ranks[i].does->until_s)
                hp_stall_look(&ranks[i].stall, now);
}

static void the_cause_is_told_of(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct behaviour does[N];
        int seconds;
        const char *said;
    } rows[] = {
        { "short waits",
          { { "1", 0, NEVER }, { "", NEVER, NEVER }, { "1", 0, NEVER }, { "2", 0, NEVER } },
          AFTER_S - 1,
          "" },
        { "a chain: 3 waits for 2, and 2 for 1",
          { { "3", 0, NEVER }, { "", NEVER, NEVER }, { "1", 0, NEVER }, { "2", 0, NEVER } },
          140,
          "1@32 1@64 1@128 " },
        { "all wait for one: one of them tells",
          { { "1", 0, NEVER }, { "", NEVER, NEVER }, { "1", 0, NEVER }, { "1", 0, NEVER } },
          140,
          "1@32 1@64 1@128 " },
        { "a rank that computes for long, then waits for the one that is stopped",
          { { "3", 0, NEVER }, { "", NEVER, NEVER }, { "1", 20, NEVER }, { "2", 0, NEVER } },
          60,
          "1@32 " },
        { "they wait for each other: none is the cause",
          { { "1", 0, NEVER }, { "2", 0, NEVER }, { "3", 0, NEVER }, { "0", 0, NEVER } },
          140,
          "" },
        { "an answer of before counts no more: 1 is stopped later",
          { { "1", 0, NEVER }, { "0", 0, 40 }, { "0", 0, NEVER }, { "0", 0, NEVER } },
          80,
          "1@64 " },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        now = 1;
        begin(rows[i].does);
        pass(rows[i].seconds);
        if (strcmp(said, rows[i].said) != 0)
            fail_msg("%s: said '%s', expected '%s'", rows[i].what, said, rows[i].said);
    }
}

/* Behind a message that was done the wait begins anew. Time in which the process did not look,
 * as on a busy machine, does not count. */
static void only_waits_count(void **state)
{
    (void)state;
    static const struct behaviour does[N] = {
        { "1", 0, NEVER }, { "", NEVER, NEVER }, { "", NEVER, NEVER }, { "", NEVER, NEVER }
    };
    now = 1;
    begin(does);
    for (int i = 0; i < 5; i++) {
        pass(AFTER_S - 2);
        ranks[0].stall.since_s = 0;
    }
    assert_string_equal(said, "");
    for (int i = 0; i < 10; i++) {
        pass(3);
        now += AFTER_S;
    }
    assert_string_equal(said, "");
    pass(5);
    assert_string_equal(said, "1@32 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cause_is_told_of),
        cmocka_unit_test(only_waits_count),
    };
    return cmocka_run_group_tests_name("run: ranks that wait", tests, NULL, NULL);
}
