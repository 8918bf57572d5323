/* Reports OptCNN's view of a plan. */
#include "report/plan/found.h"

#include <hypar/report.h>

static const char *sync_text(enum hypar_sync sync)
{
    return sync == HYPAR_SYNC_ALL_REDUCE ? "all-reduce" : "server";
}

void hp_put_layerwise(struct json_writer *w, const struct hypar_layerwise_view *view)
{
    PUT_OBJECT(
        w, "optcnn", false, NUMBER("t_c_s", view->compute_s), NUMBER("t_x_s", view->transfer_s),
        NUMBER("t_s_s", view->sync_s), NUMBER("transfer_bytes", view->transfer_bytes),
        NUMBER("sync_bytes", view->sync_bytes), TEXT("sync", sync_text(view->sync)),
        TEXT("axes", view->axes), INT("layers", view->n_vars), INT("edges", view->n_edges),
        INT("configurations", view->n_states), INT("tables", view->n_tables),
        INT("node_eliminations", view->node_eliminations),
        INT("edge_eliminations", view->edge_eliminations),
        INT("general_eliminations", view->general_eliminations), INT("width", view->width),
        TEXT("method", view->method), FLAG("thinned", view->thinned));
}

void hp_layerwise_text(FILE *to, struct arena *arena, const struct hypar_plan *plan,
                       const struct hypar_layerwise_view *view)
{
    hypar_report_plan(to, plan, NULL, HYPAR_TEXT);
    fputc('\n', to);
    hp_put_line(to,
                "t_C %s + t_X %s + t_S %s (%s); %s moved between layers, %s for parameters. "
                "%s with %s by %s, %s in %s; %d node, %d edge and %s.",
                hp_time_text(arena, view->compute_s), hp_time_text(arena, view->transfer_s),
                hp_time_text(arena, view->sync_s), sync_text(view->sync),
                hp_bytes_text(arena, view->transfer_bytes),
                hp_bytes_text(arena, view->sync_bytes), hp_count(arena, view->n_vars, "layer"),
                hp_count(arena, view->n_states, "configuration"), view->axes,
                hp_count(arena, view->n_edges, "edge"),
                hp_count(arena, view->n_tables, "table"), view->node_eliminations,
                view->edge_eliminations,
                hp_count(arena, view->general_eliminations, "general elimination"));
}

const char *hp_layerwise_verdict(struct arena *arena, const struct hypar_search_info *info,
                                 double step_s, const struct hypar_layerwise_view *view)
{
    if (view->thinned)
        return "; the best of the configurations weighed, not of all";
    if (info->exact)
        return hp_arena_printf(arena, "; %s", hypar_planner_find(info->planner)->exact);
    return hp_arena_printf(arena, "; within %.2g %% of the optimum of its cost model (%s)",
                           100 * (step_s / info->lower_bound_s - 1), view->method);
}
