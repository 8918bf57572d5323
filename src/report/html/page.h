/* report/html/page.h - writes the data of a report's page, as members of one JSON object.
 * Internal.
 *
 * The build joins page.html, page.css and the scripts beside them into one page and embeds it.
 * The page reads this object and draws it. Members have the units of other reports; large data
 * are arrays of whole numbers, explained where they are written. */
#ifndef REPORT_HTML_PAGE_H
#define REPORT_HTML_PAGE_H

#include <hypar/report.h>

#include "base/files/json.h"

/* The page before and after the object; made by cmake/page.cmake. */
extern const unsigned char hp_page_head[], hp_page_tail[];
extern const size_t hp_page_head_bytes, hp_page_tail_bytes;

/* "timeline": bars of devices and links, and the critical path; beside each device the measured
 * tasks of its rank, if there are any (NULL: none). */
void hp_put_page_timeline(struct json_writer *w, const struct hypar_sim *sim,
                          const struct hypar_measured_step *measured);

/* "memory": the memory of the devices shown, over time. */
void hp_put_page_memory(struct json_writer *w, const struct hypar_sim *sim);

/* "plan": stages, layers (once for equal layers) and their splits; by level and by device. */
void hp_put_page_plan(struct json_writer *w, const struct hypar_plan *plan);

/* The axes of an operator that a level of the machine divides: a bit for each axis along which
 * neighbouring devices of this level have different parts. No bit: they have the same parts, as
 * replicas that take minibatches in turn. Returns false if no two neighbours of this level both
 * have the operator, for example because their stages differ. */
bool hp_level_axes(const struct hypar_plan *plan, int op, int level, unsigned *axes);

/* "traffic": bytes from device to device, and on each link. */
void hp_put_page_traffic(struct json_writer *w, const struct hypar_sim *sim);

#endif /* REPORT_HTML_PAGE_H */
