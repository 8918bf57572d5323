/* The search that found a plan: the member "search" of its file. */
#include <float.h>

#include "plan/read.h"

enum { MOST_OTHERS = 64 };

static const char *copy(struct arena *arena, const char *text)
{
    return text ? hp_arena_strdup(arena, text) : NULL;
}

void hp_plan_set_search(struct hypar_plan *plan, const struct hypar_plan_search *search)
{
    struct arena *arena = &plan->arena;
    struct hypar_plan_search *mine = NEW(arena, struct hypar_plan_search, 1);
    struct hypar_other *other = NEW(arena, struct hypar_other, search->n_others);
    struct hypar_left_out *out = NEW(arena, struct hypar_left_out, search->n_left_out);
    *mine = *search;
    mine->asked = copy(arena, search->asked);
    mine->options = copy(arena, search->options);
    mine->made_for = copy(arena, search->made_for);
    mine->exact = copy(arena, search->exact);
    mine->self.planner = copy(arena, search->self.planner);
    for (int i = 0; i < search->n_others; i++) {
        other[i] = search->other[i];
        other[i].planner = copy(arena, other[i].planner);
        other[i].how = copy(arena, other[i].how);
    }
    for (int i = 0; i < search->n_left_out; i++)
        out[i] = (struct hypar_left_out){ copy(arena, search->left_out[i].planner),
                                          copy(arena, search->left_out[i].why) };
    mine->other = other;
    mine->left_out = out;
    plan->search = mine;
}

const struct hypar_plan_search *hypar_plan_search(const struct hypar_plan *plan)
{
    return plan->search;
}

bool hp_plan_is_as_found(const struct hypar_plan *plan)
{
    return plan->search && plan->search->plan_hash == hypar_plan_hash(plan);
}

/* Writing -------------------------------------------------------------------------------- */

static void put_figures(struct json_writer *w, const struct hypar_other *other)
{
    hp_json_put_string(w, "planner", other->planner);
    hp_json_put_number(w, "step_s", other->step_s);
    if (other->compute_s > 0)
        hp_json_put_number(w, "compute_s", other->compute_s);
    hp_json_put_number(w, "comm_bytes", other->comm_bytes);
    hp_json_put_number(w, "energy_j", other->energy_j);
}

void hp_put_others(struct json_writer *w, const struct hypar_other *other, int n)
{
    hp_json_begin_array(w, "others", false);
    for (int i = 0; i < n; i++) {
        hp_json_begin_object(w, NULL, true);
        put_figures(w, &other[i]);
        hp_json_put_string(w, "how", other[i].how);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void put_left_out(struct json_writer *w, const struct hypar_plan_search *s)
{
    hp_json_begin_array(w, "left_out", false);
    for (int i = 0; i < s->n_left_out; i++) {
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "planner", s->left_out[i].planner);
        hp_json_put_string(w, "why", s->left_out[i].why);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

void hp_plan_put_search(struct json_writer *w, const struct hypar_plan *plan)
{
    const struct hypar_plan_search *s = plan->search;
    char hash[17];
    if (!s)
        return;
    hp_json_begin_object(w, "search", false);
    put_figures(w, &s->self);
    hp_json_put_string(w, "asked", s->asked);
    if (*s->options)
        hp_json_put_string(w, "options", s->options);
    if (s->made_for)
        hp_json_put_string(w, "made_for", s->made_for);
    if (s->exact)
        hp_json_put_string(w, "exact", s->exact);
    if (s->lower_bound_s > 0)
        hp_json_put_number(w, "lower_bound_s", s->lower_bound_s);
    if (s->n_others)
        hp_put_others(w, s->other, s->n_others);
    if (s->n_left_out)
        put_left_out(w, s);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)s->plan_hash);
    hp_json_put_string(w, "plan_hash", hash);
    hp_json_end_object(w);
}

/* Reading -------------------------------------------------------------------------------- */

/* The figures of a plan that was found. */
#define FIGURES(f)                                                                         \
    JSON_NAME("planner", &(f)->planner), JSON_NUMBER("?step_s", &(f)->step_s, 0, DBL_MAX), \
        JSON_NUMBER("?compute_s", &(f)->compute_s, 0, DBL_MAX),                            \
        JSON_NUMBER("?comm_bytes", &(f)->comm_bytes, 0, DBL_MAX),                          \
        JSON_NUMBER("?energy_j", &(f)->energy_j, 0, DBL_MAX)

enum hypar_status hp_read_search(struct hypar_plan *plan, const struct json *root,
                                 struct hypar_error *err)
{
    struct json at = hp_json_member(root, "search"), hash, others, left;
    struct hypar_other other[MOST_OTHERS];
    struct hypar_left_out left_out[MOST_OTHERS];
    struct hypar_plan_search s = { .options = "", .other = other, .left_out = left_out };
    if (!at.value)
        return HYPAR_OK;
    TRY(HP_JSON_READ(&at, err, FIGURES(&s.self), JSON_STRING("?asked", &s.asked),
                     JSON_STRING("?options", &s.options), JSON_STRING("?made_for", &s.made_for),
                     JSON_STRING("?exact", &s.exact),
                     JSON_NUMBER("?lower_bound_s", &s.lower_bound_s, 0, DBL_MAX),
                     JSON_LIST("?others", &others, MOST_OTHERS),
                     JSON_LIST("?left_out", &left, MOST_OTHERS), JSON_ANY("plan_hash", &hash)));
    s.asked = s.asked ? s.asked : s.self.planner;
    if (hash.value) /* else it is no plan's */
        TRY(hp_read_hash(&hash, &s.plan_hash, err));
    for (struct json o = { 0 }; hp_json_each(&others, &o); s.n_others++) {
        struct hypar_other *to = &other[s.n_others];
        *to = (struct hypar_other){ .how = "" };
        TRY(HP_JSON_READ(&o, err, FIGURES(to), JSON_STRING("?how", &to->how)));
    }
    for (struct json o = { 0 }; hp_json_each(&left, &o); s.n_left_out++)
        TRY(HP_JSON_READ(&o, err, JSON_NAME("planner", &left_out[s.n_left_out].planner),
                         JSON_STRING("why", &left_out[s.n_left_out].why)));
    hp_plan_set_search(plan, &s);
    return HYPAR_OK;
}
