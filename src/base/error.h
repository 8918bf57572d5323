/* base/error.h - raising errors and passing them on. Internal. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <hypar/tool.h>

/* Write the reason into *err (if any) and return `status`, so a caller can
 *     return hp_fail(err, HYPAR_SYNTAX, "line %d: unknown operator '%s'", line, name);
 * Control characters in the text become '?', so a reason is always one line. */
enum hypar_status hp_fail(struct hypar_error *err, enum hypar_status status, const char *fmt,
                          ...) HYPAR_PRINTF(3, 4);

/* Say what the reason that has been written is about; returns `status`. hp_fail() begins with
 * HYPAR_CAUSE_OTHER, hp_in() keeps the cause. */
enum hypar_status hp_about(struct hypar_error *err, enum hypar_cause cause,
                           enum hypar_status status);

/* Fail for a reason that another call has written: *why becomes *err (if any). */
enum hypar_status hp_fail_again(struct hypar_error *err, enum hypar_status status,
                                const struct hypar_error *why);

/* Put "context: " in front of a reason that has been written; returns `status`. If space is
 * short, the front of the context is cut, never the end of the reason. */
enum hypar_status hp_in(struct hypar_error *err, enum hypar_status status, const char *fmt, ...)
    HYPAR_PRINTF(3, 4);

/* Leave the function with the status of `call` unless it is HYPAR_OK. */
#define TRY(call)                        \
    do {                                 \
        enum hypar_status try_ = (call); \
        if (try_ != HYPAR_OK)            \
            return try_;                 \
    } while (0)

#endif /* BASE_ERROR_H */
