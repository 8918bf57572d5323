/* report/simulate/trace.h - what those who write and who read traces share. Internal. */
#ifndef REPORT_TRACE_H
#define REPORT_TRACE_H

#include <hypar/report.h>

/* Processes of a trace that are measured. */
enum { HP_TRACE_RANKS = 4, HP_TRACE_MESSAGES = 5 };

/* "forward", "comm". */
const char *hp_event_kind_text(enum hypar_event_kind kind);

/* Which plan it is of. */
enum { HP_PLAN_HASH_BYTES = 17 };
const char *hp_plan_hash_text(const struct hypar_plan *plan, char text[HP_PLAN_HASH_BYTES]);

#endif /* REPORT_TRACE_H */
