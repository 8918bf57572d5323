/* report/simulate/trace.h - shared by the writers and readers of traces. Internal. */
#ifndef REPORT_TRACE_H
#define REPORT_TRACE_H

#include <hypar/report.h>

/* Processes of a trace that contain measured events. */
enum { HP_TRACE_RANKS = 4, HP_TRACE_MESSAGES = 5 };

/* "forward", "comm". */
const char *hp_event_kind_text(enum hypar_event_kind kind);

/* The hash of a plan as text. */
enum { HP_PLAN_HASH_BYTES = 17 };
const char *hp_plan_hash_text(const struct hypar_plan *plan, char text[HP_PLAN_HASH_BYTES]);

#endif /* REPORT_TRACE_H */
