/* Reports why a search chose a plan: the planner that found it, and the costs of the other
 * plans. */
#include "report/explain/explain.h"

#include <math.h>
#include <string.h>

#include "cost/calibration.h"
#include "plan/plan.h"
#include "report/put.h"
#include "report/table.h"

enum { MOST_OTHERS = 16 };

/* Steps with a smaller relative difference count as equal. */
static const double SAME = 0.0005;

char *hp_change_text(char *b, double step_s, double now_s)
{
    double change = now_s > 0 ? step_s / now_s - 1 : 0;
    if (change >= 2)
        snprintf(b, 32, "%.*f x", change >= 9 ? 0 : 1, change + 1);
    else
        snprintf(b, 32, "%+.*f %%", fabs(change) < 0.0995 ? 1 : 0, 100 * change);
    return b;
}

/* "Found by hypar (least exchange, each ...) for auto, with --memory 16GB, as for links half as
 * fast" */
static char *who_text(struct arena *arena, const struct hypar_plan_search *s)
{
    const struct hypar_planner_info *info = hypar_planner_find(s->self.planner);
    char *text = hp_arena_printf(arena, "Found by %s", hp_shown(arena, s->self.planner));
    if (info)
        text = hp_arena_printf(arena, "%s (%s)", text, info->summary);
    if (strcmp(s->asked, s->self.planner) != 0)
        text = hp_arena_printf(arena, "%s for %s", text, hp_shown(arena, s->asked));
    if (*s->options)
        text = hp_arena_printf(arena, "%s, with %s", text, hp_shown(arena, s->options));
    if (s->made_for)
        text = hp_arena_printf(arena, "%s, as for %s", text, hp_shown(arena, s->made_for));
    return text;
}

/* Add facts about the search that the plans' figures do not show. */
static char *verdict_text(struct arena *arena, char *text, const struct hypar_plan_search *s,
                          double now_s)
{
    if (s->exact)
        text = hp_arena_printf(arena, "%s Exact: %s.", text, hp_shown(arena, s->exact));
    if (s->lower_bound_s > 0)
        text = hp_arena_printf(arena, "%s By its own cost no choice takes less than %s.", text,
                               hp_time_text(arena, s->lower_bound_s));
    if (s->self.step_s > 0 && fabs(now_s / s->self.step_s - 1) >= SAME)
        text = hp_arena_printf(arena,
                               "%s Its step was %s then, and is %s: the machine, a profile or "
                               "how steps are simulated differ.",
                               text, hp_time_text(arena, s->self.step_s),
                               hp_time_text(arena, now_s));
    return text;
}

/* A plan: its step, its computation, and the communication that computation does not
 * overlap. */
struct other_row {
    const char *planner, *change, *plan;
    double step_s, compute_s, exposed_s;
    bool chosen;
};

static const struct column other_columns[] = {
    { "planner", NULL, AS_TEXT, AT(struct other_row, planner) },
    { "step", NULL, AS_SECONDS, AT(struct other_row, step_s),
      .star = offsetof(struct other_row, chosen) },
    { "change", NULL, AS_TEXT, AT(struct other_row, change), TO_THE_RIGHT },
    { "computing", NULL, AS_SECONDS, AT(struct other_row, compute_s), IF_POSITIVE },
    { "exposed", NULL, AS_SECONDS, AT(struct other_row, exposed_s) },
    { "plan", NULL, AS_TEXT, AT(struct other_row, plan), WRAPS },
    { 0 },
};

static struct other_row row_of(struct arena *arena, const char *planner,
                               const struct hypar_other *plan, const struct hypar_other *self)
{
    char b[32];
    return (struct other_row){
        .planner = planner,
        .change = plan == self
                      ? ""
                      : hp_arena_strdup(arena, hp_change_text(b, plan->step_s, self->step_s)),
        .step_s = plan->step_s,
        .compute_s = plan->compute_s,
        .exposed_s = plan->compute_s > 0 ? fmax(plan->step_s - plan->compute_s, 0) : NAN,
        .chosen = plan == self,
    };
}

static bool is_same(const struct hypar_other *a, const struct hypar_other *b)
{
    return a->step_s == b->step_s && a->compute_s == b->compute_s &&
           strcmp(a->how, b->how) == 0;
}

/* "hypar, accpar": the planners from `i` on with the same plan. *next becomes the first with
 * another plan. */
static char *same_planners(struct arena *arena, const struct hypar_plan_search *s, int i,
                           int *next)
{
    char *text = hp_arena_strdup(arena, hp_shown(arena, s->other[i].planner));
    for (*next = i + 1; *next < s->n_others && is_same(&s->other[i], &s->other[*next]); ++*next)
        text = hp_arena_printf(arena, "%s, %s", text, hp_shown(arena, s->other[*next].planner));
    return text;
}

static void table_text(FILE *to, struct arena *arena, const struct hypar_plan *plan,
                       const struct hypar_plan_search *s)
{
    struct table_writer table = { .column = other_columns, .to = to, .most = MOST_OTHERS + 1 };
    struct other_row row = row_of(arena, hp_shown(arena, s->self.planner), &s->self, &s->self);
    int more = 0;
    row.plan = hp_plan_summary(arena, plan);
    hp_table_begin(&table, NULL);
    hp_table_row(&table, &row);
    for (int i = 0, next; i < s->n_others; i = next) {
        row = row_of(arena, same_planners(arena, s, i, &next), &s->other[i], &s->self);
        row.plan = hp_shown(arena, s->other[i].how);
        more += !hp_table_row(&table, &row);
    }
    hp_table_end(&table);
    hp_mark_note(table.starred, to, "the plan that was chosen");
    if (more)
        fprintf(to, "and %d more\n", more);
}

/* A difference in time: "1.29 ms longer", "as long"; `more` and `less` are the words. */
static char *difference(struct arena *arena, double seconds, const char *more, const char *less,
                        const char *same)
{
    if (fabs(seconds) < 1e-9)
        return hp_arena_strdup(arena, same);
    return hp_arena_printf(arena, "%s %s", hp_time_text(arena, fabs(seconds)),
                           seconds > 0 ? more : less);
}

/* A comparison with another plan: "owt computes 385 ns less and exposes 37 us more." */
static char *against(struct arena *arena, const struct hypar_other *self,
                     const struct hypar_other *other)
{
    double compute_s = other->compute_s - self->compute_s;
    double exposed_s = other->step_s - self->step_s - compute_s;
    if (!(self->compute_s > 0 && other->compute_s > 0))
        return hp_arena_strdup(arena, "");
    return hp_arena_printf(arena, "%s computes %s and exposes %s. ",
                           hp_shown(arena, other->planner),
                           difference(arena, compute_s, "longer", "less", "as long"),
                           difference(arena, exposed_s, "more", "less", "as much"));
}

/* Compare the plan with the next best plan, and with the plan of the baseline planner. */
static void reasons_text(FILE *to, struct arena *arena, const struct hypar_plan_search *s)
{
    char *text = against(arena, &s->self, &s->other[0]);
    for (int i = 1; i < s->n_others; i++) {
        const struct hypar_planner_info *info = hypar_planner_find(s->other[i].planner);
        if (info && info->baseline)
            text = hp_arena_printf(arena, "%s%s", text, against(arena, &s->self, &s->other[i]));
    }
    hp_put_line(to,
                "%sComputing is that of the device that computes longest; exposed "
                "is the rest of the step: exchanges, bubbles and launches that it "
                "does not hide.",
                text);
}

static void left_out_text(FILE *to, struct arena *arena, const struct hypar_plan_search *s)
{
    char *text = hp_arena_strdup(arena, "Left out: ");
    for (int i = 0; i < s->n_left_out; i++)
        text = hp_arena_printf(arena, "%s%s%s: %s", text, i ? "; " : "",
                               hp_shown(arena, s->left_out[i].planner),
                               hp_shown(arena, s->left_out[i].why));
    if (s->n_left_out)
        hp_put_line(to, "%s.", text);
}

/* The other plans that measured errors do not tell apart from the chosen one. */
static void alike_text(FILE *to, struct arena *arena, const struct hypar_plan_search *s,
                       const struct hypar_calibration *calibration)
{
    const char *names = "";
    for (int i = 0; i < s->n_others; i++)
        if (s->other[i].step_s > 0 &&
            hp_are_alike(calibration, s->self.step_s, s->other[i].step_s))
            names = hp_joined(arena, names, ", ", hp_shown(arena, s->other[i].planner));
    if (*names)
        hp_wrap(to, hp_alike_text(arena, calibration, names), 0);
}

void hp_chosen_text(FILE *to, struct arena *arena, const struct hypar_plan *plan, double now_s,
                    const struct hypar_calibration *calibration)
{
    const struct hypar_plan_search *s = plan->search;
    if (!s)
        return;
    char *who = who_text(arena, s);
    if (!hp_plan_is_as_found(plan)) {
        hp_put_line(to, "%s, and changed since.", who);
        fputc('\n', to);
        return;
    }
    if (s->n_others)
        who = hp_arena_printf(arena, "%s, over the plans of %d other%s", who, s->n_others,
                              s->n_others == 1 ? "" : "s");
    hp_wrap(to, verdict_text(arena, hp_arena_printf(arena, "%s.", who), s, now_s), 0);
    if (s->n_others) {
        table_text(to, arena, plan, s);
        reasons_text(to, arena, s);
        alike_text(to, arena, s, calibration);
    }
    left_out_text(to, arena, s);
    fputc('\n', to);
}

void hp_put_chosen(struct json_writer *w, const struct hypar_plan *plan)
{
    hp_plan_put_search(w, plan);
    if (plan->search)
        hp_json_put_bool(w, "as_found", hp_plan_is_as_found(plan));
}
