#include "tests/far_backend.h"

/* Beyond what a process can address. Staging areas are at their own addresses. */
static const uintptr_t FAR = (uintptr_t)1 << 52;

static bool is_far(const void *data)
{
    return (uintptr_t)data >= FAR;
}

static void *near(const void *data)
{
    return (void *)((uintptr_t)data - (is_far(data) ? FAR : 0));
}

static struct view near_view(const struct view *view)
{
    struct view v = *view;
    v.data = near(view->data);
    return v;
}

/* The host does the work. */
static struct backend host_of(const struct backend *b)
{
    return hp_host_backend(b->kernels);
}

static void *new_array(const struct backend *b, size_t bytes)
{
    (void)b;
    return (void *)((uintptr_t)hp_array_new(bytes) + FAR);
}

static void free_array(const struct backend *b, void *data)
{
    (void)b;
    hp_array_free(near(data));
}

static void copy(const struct backend *b, const struct view *to, const struct view *from,
                 size_t element_bytes)
{
    struct backend host = host_of(b);
    struct view t = near_view(to), f = near_view(from);
    host.copy(&host, &t, &f, element_bytes);
}

static void convert(const struct backend *b, const struct view *to, enum real to_real,
                    const struct view *from, enum real from_real)
{
    struct backend host = host_of(b);
    struct view t = near_view(to), f = near_view(from);
    host.convert(&host, &t, to_real, &f, from_real);
}

static void clear(const struct backend *b, const struct view *view, enum combine combine,
                  enum real real)
{
    struct backend host = host_of(b);
    struct view v = near_view(view);
    host.clear(&host, &v, combine, real);
}

static void combine_views(const struct backend *b, const struct view *to,
                          const struct view *from, enum combine combine, enum real real)
{
    struct backend host = host_of(b);
    struct view t = near_view(to), f = near_view(from);
    host.combine(&host, &t, &f, combine, real);
}

static struct kernel_call near_call(const struct kernel_call *call)
{
    struct kernel_call c = *call;
    for (int o = 0; o < MAX_OPERANDS; o++) {
        c.value[o] = near_view(&call->value[o]);
        c.grad[o] = near_view(&call->grad[o]);
    }
    c.mask = near_view(&call->mask);
    c.workspace = near(call->workspace);
    return c;
}

static void compute(const struct backend *b, const struct kernel_call *call)
{
    struct backend host = host_of(b);
    struct kernel_call c = near_call(call);
    host.compute(&host, &c);
}

static void move_running(const struct backend *b, const struct kernel_call *call, int operand,
                         const struct view *running)
{
    struct backend host = host_of(b);
    struct kernel_call c = near_call(call);
    struct view r = near_view(running);
    host.move_running(&host, &c, operand, &r);
}

static void update(const struct backend *b, const struct update_run *run)
{
    struct backend host = host_of(b);
    struct update_run r = *run;
    r.old = near(run->old);
    r.new = near(run->new);
    r.gradient = near(run->gradient);
    for (int k = 0; k < HP_STATE_ARRAYS; k++)
        r.state.array[k] = near(run->state.array[k]);
    host.update(&host, &r);
}

static void square(const struct backend *b, const struct square_run *run, int n, enum real real,
                   void *sum)
{
    double all = 0;
    (void)b;
    for (int i = 0; i < n; i++)
        all += hp_sum_of_squares(run[i].n, run[i].real, near(run[i].data));
    hp_put(near(sum), 0, all, real);
}

static bool channels_last(const struct backend *b, bool narrow)
{
    (void)b;
    (void)narrow;
    return true;
}

/* Staging areas, and what is asked of kernels, are the host's. */
struct backend far_backend(const struct kernels *kernels)
{
    struct backend far = hp_host_backend(kernels);
    far.name = "far back end";
    far.visible = false;
    far.array_new = new_array;
    far.array_free = free_array;
    far.copy = copy;
    far.convert = convert;
    far.clear = clear;
    far.combine = combine_views;
    far.channels_last = channels_last;
    far.compute = compute;
    far.move_running = move_running;
    far.update = update;
    far.square = square;
    return far;
}
