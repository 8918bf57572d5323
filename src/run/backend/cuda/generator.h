/* run/backend/cuda/generator.h - the parts of a kernel's text. Internal to run/backend/cuda.
 *
 * generate_text.c writes expressions, generate_loops.c loops and conditions, generate.c whole
 * kernels. */
#ifndef RUN_BACKEND_CUDA_GENERATOR_H
#define RUN_BACKEND_CUDA_GENERATOR_H

#include "run/backend/cuda/generate.h"

/* Where an element of an operand lies: numbers of the call, -1 where there is none. */
struct place {
    int data, base;
    int axis[MAX_AXES], whole, position[MAX_DIMS];
};

/* A loop over an axis, over positions along a dimension of the target, or over a dimension that
 * no axis indexes. Its variable is called a2, p2, whole. */
enum loop_kind { LOOP_AXIS, LOOP_POSITION, LOOP_WHOLE };
struct loop {
    enum loop_kind kind;
    int i; /* of the axis, or of the dimension */
    struct range range;
};

enum { MOST_LOOPS = MAX_AXES + 1, NONE = -1 };

/* Elements, or terms, of consecutive indices of one axis, which one thread goes through. */
enum lanes_along { LANES_NONE, LANES_OUTER, LANES_INNER };
enum {
    HP_CHUNK_BYTES = 16,    /* are read at once */
    HP_SPREAD = 32,         /* the distance of spread lanes: a warp has consecutive elements */
    HP_SPREAD_LEAST = 1024, /* the extent of an axis with spread lanes */
};
struct lanes {
    enum lanes_along along;
    int n, axis;
    bool spread;             /* lanes lie HP_SPREAD elements apart, as no chunks are aligned */
    operand_set value, grad; /* operands that are read in chunks */
    operand_set pairs;       /* values of which are pairs */
};

struct generator {
    struct generated *out;
    const struct kernel_call *call;
    const struct nest *nest;
    const struct target *target;
    bool pair; /* the target's last dimension are pairs, of which a thread has both */
    size_t length;
    int n_numbers, n_data;
    struct loop outer[MOST_LOOPS], inner[MOST_LOOPS];
    int n_outer, n_inner;
    axis_set derived; /* axes that follow from a position and a tap */
    struct lanes lanes;
    axis_set joined; /* axes whose loop is part of that of another axis */
    struct place value[MAX_OPERANDS], grad[MAX_OPERANDS], mask;
    operand_set has_value, has_grad;
};

/* One index of an access that is another expression than its variable. */
struct instead {
    char what; /* '*': the dimension without an axis */
    int axis, length;
    const char *text;
};

static inline bool hp_gen_has_axis(axis_set set, int axis)
{
    return set >> axis & 1;
}

/* Expressions (generate_text.c) ------------------------------------------------------------ */

/* As printf(), with %d, %s, %c and %% alone: a text is made for each launch. */
void hp_gen_say(struct generator *g, const char *fmt, ...);

/* A number that the kernel is called with; returns its index in p.v. */
int hp_gen_number(struct generator *g, int64_t value);

/* Where the elements of a view lie; and of an operand that the target reads or writes. */
struct place hp_gen_new_place(struct generator *g, int o, const struct view *view);
const struct place *hp_gen_place_of(struct generator *g, int o, bool grad);

/* The index of an element in its view; one of its parts may be another expression. */
void hp_gen_say_index(struct generator *g, const struct place *p,
                      const struct instead *instead);

/* The type in memory. */
const char *hp_gen_type_of(const struct generator *g, int o, bool grad);

/* What a formula calls so. */
int hp_gen_axis_called(const struct generator *g, char name);
int hp_gen_operand_called(const struct generator *g, char name);

/* Does the target read the operand, and is it there? */
bool hp_gen_is_read(const struct generator *g, int o, bool grad);

/* A text of the table of formulas; and the product of all that is read. */
void hp_gen_expand(struct generator *g, const char *text, int n);
void hp_gen_say_product(struct generator *g);

/* Lanes (generate_lanes.c) ------------------------------------------------------------------
 */

/* Which lanes the kernel has: of elements, or of terms in columns. */
void hp_gen_find_lanes(struct generator *g, bool in_columns);
bool hp_gen_is_chunk(const struct generator *g, int o, bool grad);
bool hp_gen_is_pairs(const struct generator *g, int o, bool grad);

/* Read the chunks whose first element the indices name. */
void hp_gen_say_chunks(struct generator *g);

/* The head of the loop over lanes; "first" is the index of the first one. */
void hp_gen_say_lanes(struct generator *g);

/* Loops and conditions (generate_loops.c) -------------------------------------------------- */

/* Has the target pairs in its last dimension? */
bool hp_gen_is_pair(const struct target *t);

/* The loops over the elements of the target, and over the terms of one; how many steps they
 * have. */
void hp_gen_find_outer(struct generator *g);
void hp_gen_find_inner(struct generator *g);
int64_t hp_gen_steps_of(const struct loop *loop, int n);

/* The indices of step `rest` of nested loops, the last one innermost. */
void hp_gen_say_indices(struct generator *g, const struct loop *loop, int n);

/* The dimension of the target along which the outputs of axis `axis` have windows; -1: none. */
int hp_gen_window_dim(const struct generator *g, int axis);

/* The head of a loop. Of an axis whose outputs have windows along the target: those that see
 * its position. */
void hp_gen_say_nested_loop(struct generator *g, const struct loop *loop);

/* Axes that follow from positions; terms and elements that are not there; windows. */
void hp_gen_say_derived(struct generator *g);
void hp_gen_say_outside(struct generator *g, const struct operand *o, int d);
void hp_gen_say_checks(struct generator *g, int i);
void hp_gen_say_windows(struct generator *g);

/* One loop for axes whose indices lead along all operands as one index does. */
void hp_gen_join_loops(struct generator *g, struct loop *loop, int *n);

#endif /* RUN_BACKEND_CUDA_GENERATOR_H */
