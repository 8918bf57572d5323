/* report/html/page.h - what the page of a report is told, as members of one JSON object.
 * Internal.
 *
 * page.html, page.css and the scripts beside them are one page, which the build makes of them
 * and embeds; it reads this object and draws. Members have the units of other reports; what
 * there is much of is arrays of whole numbers, explained where they are written. */
#ifndef REPORT_HTML_PAGE_H
#define REPORT_HTML_PAGE_H

#include <hypar/report.h>

#include "base/files/json.h"

/* The page, before the object and behind it; made by cmake/page.cmake. */
extern const unsigned char hp_page_head[], hp_page_tail[];
extern const size_t hp_page_head_bytes, hp_page_tail_bytes;

/* "timeline": bars of devices and links, and the critical path; beside each device what its
 * rank did, if that was measured (NULL: it was not). */
void hp_put_page_timeline(struct json_writer *w, const struct hypar_sim *sim,
                          const struct hypar_measured_step *measured);

/* "memory": what lies on the devices that are shown, over time. */
void hp_put_page_memory(struct json_writer *w, const struct hypar_sim *sim);

/* "plan": stages, layers that are alike once, how they are divided; by level and by device. */
void hp_put_page_plan(struct json_writer *w, const struct hypar_plan *plan);

/* What a level of the machine divides of an operator: a bit for each axis along which devices
 * that are neighbours at this level have other parts. No bit: they have the same ones, as
 * replicas that take minibatches in turn. False: where it is on one of them it is not on the
 * other, as they are of other stages. */
bool hp_level_axes(const struct hypar_plan *plan, int op, int level, unsigned *axes);

/* "traffic": bytes from device to device, and on each link. */
void hp_put_page_traffic(struct json_writer *w, const struct hypar_sim *sim);

#endif /* REPORT_HTML_PAGE_H */
