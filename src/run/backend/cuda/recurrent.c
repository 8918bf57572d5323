/* Passes of LSTMs and GRUs that are no products: a kernel for each step. */
#include <string.h>

#include "kernel/walk.h"
#include "run/backend/cuda/arguments.h"
#include "run/backend/cuda/launch.h"
#include "run/backend/cuda/sources.h"

/* What the pass writes, and the kernel. */
struct recurrent {
    enum op_kind kind;
    const char *writes, *kernel;
    enum { EACH_STEP, EACH_STEP_BACK, ONCE, FOR_WEIGHTS, FOR_STATE } how;
};

static const struct recurrent table[] = {
    { OP_LSTM, "y", "lstm_step", EACH_STEP },
    { OP_LSTM, "g", "lstm_errors", EACH_STEP_BACK },
    { OP_LSTM, "de", "lstm_initial", ONCE },
    { OP_LSTM, "df", "lstm_initial", ONCE },
    { OP_LSTM, "du", "state_weights", FOR_WEIGHTS },
    { OP_LSTM_CELL, "y", "lstm_step", EACH_STEP },
    { OP_LSTM_CELL, "g", "lstm_errors", EACH_STEP_BACK },
    { OP_LSTM_CELL, "dz", "lstm_cell_error", ONCE },
    { OP_GRU, "y", "gru_step", EACH_STEP },
    { OP_GRU, "g", "gru_errors", EACH_STEP_BACK },
    { OP_GRU, "de", "gru_initial", ONCE },
    { OP_GRU, "du", "state_weights", FOR_WEIGHTS },
    { OP_GRU_CELL, "y", "gru_step", EACH_STEP },
    { OP_GRU_CELL, "g", "gru_errors", EACH_STEP_BACK },
    { OP_GRU_CELL, "dh", "gru_cell_error", FOR_STATE },
};

static const struct recurrent *find(const struct kernel_call *call)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].kind == call->nest->kind && hp_call_writes(call, table[i].writes))
            return &table[i];
    return NULL;
}

bool hp_cuda_is_recurrent(const struct kernel_call *call)
{
    return find(call) != NULL;
}

/* The operand called `name`; a dimension for the time is put in for those of a cell. */
static struct cuda_array array_of(const struct kernel_call *call, const char *name, bool time)
{
    const struct view *v = hp_call_view(call, name);
    struct cuda_array a = { 0 };
    if (!v)
        return a;
    a.data = v->data;
    for (int d = 0; d < v->box.n_dims; d++) {
        a.base -= v->box.dim[d].lo * v->stride[d];
        a.stride[d + (time && d > 0)] = v->stride[d];
    }
    return a;
}

static int64_t width_of(const struct kernel_call *call, const char *name, int d)
{
    const struct view *v = hp_call_view(call, name);
    return v ? v->box.dim[d].hi - v->box.dim[d].lo : 0;
}

static struct cuda_recurrent arguments_of(const struct kernel_call *call)
{
    const struct nest *nest = call->nest;
    bool lstm = nest->kind == OP_LSTM || nest->kind == OP_LSTM_CELL;
    bool cell = nest->kind == OP_LSTM_CELL || nest->kind == OP_GRU_CELL;
    struct range n = call->range[hp_nest_axis(nest, 'n')];
    struct range k = call->range[hp_nest_axis(nest, 'k')];
#define OF(name)       array_of(call, name, false)
#define OF_STEPS(name) array_of(call, name, cell)
    struct cuda_recurrent p = {
        .x = OF_STEPS("x"),
        .h0 = OF(cell ? "h" : "e"),
        .w = OF("w"),
        .u = OF("u"),
        .b = OF("b"),
        .d = OF("d"),
        .y = OF_STEPS("y"),
        .a = OF_STEPS("a"),
        .g = OF_STEPS("g"),
        .dy = OF_STEPS("dy"),
        .dh0 = OF(cell ? "dh" : "de"),
        .du = OF("du"),
        .n_lo = n.lo,
        .n_hi = n.hi,
        .k_lo = k.lo,
        .k_hi = k.hi,
        .steps = cell ? 1 : nest->axis[hp_nest_axis(nest, 't')].extent,
        .inputs = width_of(call, "w", 2),
        .width = width_of(call, hp_call_writes(call, "du") ? "du" : "u", 2),
        .reverse = hp_attr_int(nest->attrs, ATTR_REVERSE, 0, 0) != 0,
        .gates = lstm ? 4 : 3,
    };
    if (!cell)
        p.h_last = hp_call_writes(call, "h") ? OF("h") : (struct cuda_array){ 0 };
    p.dh_last = cell ? (struct cuda_array){ 0 } : OF("dh");
    if (lstm) {
        p.c0 = OF(cell ? "z" : "f");
        p.c = OF_STEPS("s");
        p.dc = cell ? (struct cuda_array){ 0 } : OF("q");
        p.c_last = !cell && hp_call_writes(call, "z") ? OF("z") : (struct cuda_array){ 0 };
        p.dc_last = OF(cell ? "ds" : "dz");
        p.dc0 = OF(cell ? "dz" : "df");
    } else {
        p.s = OF_STEPS("s");
        p.dc = OF("p");
    }
#undef OF
#undef OF_STEPS
    return p;
}

void hp_cuda_recurrent_pass(const struct backend *b, const struct kernel_call *call)
{
    const struct recurrent *row = find(call);
    struct cuda_recurrent p = arguments_of(call);
    int64_t samples = p.n_hi - p.n_lo, features = p.k_hi - p.k_lo;
    int64_t threads = row->how == FOR_WEIGHTS ? p.gates * features * p.width
                      : row->how == FOR_STATE ? samples * p.width
                                              : samples * features;
    struct cuda_function *f =
        hp_cuda_function_of(b->card, "recurrent", hp_cuda_recurrent, row->kernel, call->real);
    struct cuda_grid grid = { { (unsigned)((threads + 127) / 128) }, { 128 }, 0 };
    int64_t launches = row->how == EACH_STEP || row->how == EACH_STEP_BACK ? p.steps : 1;
    for (int64_t i = 0; i < launches; i++) {
        p.step = row->how == EACH_STEP_BACK ? p.steps - 1 - i : i;
        hp_cuda_launch(b->card, f, &grid, (void *[]){ &p });
    }
}
