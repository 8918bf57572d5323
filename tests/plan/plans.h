/* plans.h - plans as texts: what the plan tests share. */
#ifndef TESTS_PLAN_PLANS_H
#define TESTS_PLAN_PLANS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"

enum { PLAN_TEXT_BYTES = 1 << 16 };

/* The tests write ' for ", so that plans can be read. */
static inline enum hypar_status plan_from(struct hypar_plan **out, const char *text,
                                          struct hypar_error *err)
{
    char json[PLAN_TEXT_BYTES];
    size_t n = strlen(text);
    assert_true(n < sizeof json);
    for (size_t i = 0; i <= n; i++)
        json[i] = text[i] == '\'' ? '"' : text[i];
    return hp_plan_read_text(out, json, n, "plan", NULL, err);
}

/* What hypar_plan_write() writes; to be freed. */
static inline char *plan_text(const struct hypar_plan *plan)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    hypar_plan_write(plan, file);
    assert_int_equal(fclose(file), 0);
    return text;
}

#endif /* TESTS_PLAN_PLANS_H */
