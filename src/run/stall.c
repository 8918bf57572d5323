/* Finding the rank that makes others wait (run/stall.h). */
#include "run/stall.h"

#include <string.h>

static void begin(struct stall *s, double now)
{
    s->since_s = now;
    s->next_s = s->after_s;
    s->asked = false;
}

static void hear_others(struct stall *s)
{
    int from;
    int32_t number;
    while (s->hear(s->ranks, STALL_ASK, &from, &number))
        s->say(s->ranks, STALL_ANSWER, from, number);
    while (s->hear(s->ranks, STALL_ANSWER, &from, &number))
        s->answered[from] |= number == s->number;
    while (s->hear(s->ranks, STALL_TOLD, &from, &number))
        s->told[number] = true;
}

static void ask(struct stall *s)
{
    s->asked = true;
    s->number++;
    memset(s->awaited, 0, (size_t)s->n * sizeof *s->awaited);
    memset(s->answered, 0, (size_t)s->n * sizeof *s->answered);
    memset(s->told, 0, (size_t)s->n * sizeof *s->told);
    s->find_awaited(s->ranks, s->awaited);
    for (int r = 0; r < s->n; r++)
        if (s->awaited[r])
            s->say(s->ranks, STALL_ASK, r, s->number);
}

/* Report the first rank that has not answered. */
static void report(struct stall *s)
{
    int r = 0;
    while (r < s->n && (!s->awaited[r] || s->answered[r]))
        r++;
    if (r < s->n && !s->told[r]) {
        s->tell(s->who, r, s->hosts + (size_t)r * STALL_HOST_BYTES, s->next_s);
        for (int to = 0; to < s->n; to++)
            if (to != s->rank && to != r)
                s->say(s->ranks, STALL_TOLD, to, r);
    }
    s->next_s *= 2;
    s->asked = false;
}

/* A process that did not call this for long was computing, was stopped itself, or had no
 * processor on a busy machine: that time is no wait. The time that it waited before counts. */
void hp_stall_look(struct stall *s, double now)
{
    double slow_s = s->after_s / 4;
    if (s->since_s == 0)
        begin(s, now);
    else if (now - s->seen_s > slow_s)
        s->since_s += now - s->seen_s;
    s->seen_s = now;
    if (now - s->since_s < slow_s)
        return;
    hear_others(s);
    if (!s->asked && now - s->since_s >= s->next_s - s->after_s / 2)
        ask(s);
    if (now - s->since_s >= s->next_s + slow_s * s->rank / s->n) /* one rank after another */
        report(s);
}
