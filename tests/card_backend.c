#include "tests/card_backend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/running.h"
#include "tests/cuda_stand_in.h"

/* A call whose views are copied to the process's memory, computed there and copied back. */
struct copied_call {
    const struct backend *card;
    struct kernel_call call;
    struct {
        struct view on_card, here;
        size_t element_bytes;
        bool back;
    } view[2 * MAX_OPERANDS + 2];
    int n;
};

/* Two views of the same numbers share a copy. */
static void copy_view(struct copied_call *c, struct view *view, size_t element_bytes, bool back)
{
    int i = 0;
    if (!view->data || hp_box_empty(&view->box))
        return;
    while (i < c->n && c->view[i].on_card.data != view->data)
        i++;
    if (i < c->n && !hp_box_equal(&c->view[i].on_card.box, &view->box))
        fail_msg("two operands share a part of their numbers");
    if (i == c->n) {
        size_t bytes = (size_t)hp_box_elements(&view->box) * element_bytes;
        c->view[i].on_card = *view;
        c->view[i].here = hp_dense_view(hp_array_new(bytes), &view->box);
        c->view[i].element_bytes = element_bytes;
        hp_backend_get(c->card, &c->view[i].here, view, element_bytes);
        c->n++;
    }
    c->view[i].back |= back;
    *view = c->view[i].here;
}

static void begin(struct copied_call *c, const struct backend *card,
                  const struct kernel_call *call)
{
    const struct nest *nest = call->nest;
    pass_set passes = call->passes ? call->passes : (pass_set)1 << call->pass;
    operand_set writes = 0, writes_grad = 0;
    *c = (struct copied_call){ .card = card, .call = *call };
    for (int p = 0; p < nest->n_passes; p++)
        if (passes >> p & 1) {
            writes |= nest->pass[p].writes;
            writes_grad |= nest->pass[p].writes_grad;
        }
    for (int o = 0; o < nest->n_operands; o++) {
        size_t size = hp_real_bytes(call->real);
        copy_view(c, &c->call.value[o], nest->operand[o].index ? sizeof(int32_t) : size,
                  writes >> o & 1);
        copy_view(c, &c->call.grad[o], size, writes_grad >> o & 1);
    }
    copy_view(c, &c->call.mask, 1, true);
}

static void end(struct copied_call *c)
{
    for (int i = 0; i < c->n; i++) {
        if (c->view[i].back)
            hp_backend_put(c->card, &c->view[i].on_card, &c->view[i].here,
                           c->view[i].element_bytes);
        hp_array_free(c->view[i].here.data);
    }
}

static pass_set joint(const struct backend *b, const struct nest *nest, int pass)
{
    return hp_kernel_joint(b->kernels, nest, pass);
}

static size_t workspace(const struct backend *b, const struct kernel_call *call)
{
    (void)b;
    (void)call;
    return 0;
}

static void compute(const struct backend *b, const struct kernel_call *call)
{
    struct copied_call c;
    begin(&c, b, call);
    void *room = hp_array_new(hp_kernel_workspace(b->kernels, &c.call));
    c.call.workspace = room;
    hp_kernel(b->kernels, &c.call);
    hp_array_free(room);
    end(&c);
}

static void move_running(const struct backend *b, const struct kernel_call *call, int operand,
                         const struct view *running)
{
    struct copied_call c;
    struct view here = *running;
    begin(&c, b, call);
    copy_view(&c, &here, hp_real_bytes(call->real), true);
    hp_move_running(&c.call, operand, &here);
    end(&c);
}

struct backend card_backend(const struct kernels *kernels)
{
    static struct backend card;
    struct hypar_error err;
    if (!cuda_stand_in()) {
        print_message("no C++ compiler: there is no stand-in for a card\n");
        skip();
    }
    if (!card.card && hp_cuda_backend(&card, 0, kernels, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    card.kernels = kernels;
    card.joint = joint;
    card.workspace = workspace;
    card.compute = compute;
    card.move_running = move_running;
    return card;
}
