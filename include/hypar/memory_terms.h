/* hypar/memory_terms.h - the terms of a device's memory, one row each, and struct hypar_memory.
 *
 *     TERM(member, level, shown, words, meaning)
 *
 * `member` of struct hypar_memory has the bytes; the key of JSON is the member and "_bytes".
 * Texts and tables print `words`: ALWAYS, or only where the term is NONZERO. The documents
 * repeat `meaning` (tests/documents/memory_terms.sh prints missing lines). `level` says who
 * holds the memory; each level includes the levels before it:
 *
 *     TENSORS     the plan's tensors
 *     ALLOCATED   other memory that the framework's allocator hands out
 *     RESERVED    memory that the allocator holds and does not hand out
 *     DEVICE      memory outside the allocator
 *
 * The bytes of a tensor term are counted from the program (src/program/memory). The bytes of
 * any other term are a function MEMBER_bytes() of src/plan/memory_terms.c. */
#ifndef HYPAR_MEMORY_TERMS_H
#define HYPAR_MEMORY_TERMS_H

/* clang-format off */
#define HYPAR_TENSOR_TERMS(TERM) \
    TERM(parameters, TENSORS, ALWAYS, "parameters", "trained values; copies of them in a shorter precision") \
    TERM(gradients, TENSORS, ALWAYS, "gradients", "gradients of parameters, and the buckets that they are summed in") \
    TERM(optimizer, TENSORS, ALWAYS, "optimizer", "moments, and fp32 master weights beside short ones") \
    TERM(weight_versions, TENSORS, ALWAYS, "weight versions", "older versions of the weights (pipedream)") \
    TERM(activations, TENSORS, ALWAYS, "activations", "what is kept for the backward half, of all micro-batches in flight") \
    TERM(buffers, TENSORS, ALWAYS, "buffers", "temporary: errors, partial sums, messages") \
    TERM(losses, TENSORS, NONZERO, "fp32 copies at the loss", "copies of logits in fp32, and their errors, beside short ones")

#define HYPAR_FRAMEWORK_TERMS(TERM) \
    TERM(workspaces, ALLOCATED, NONZERO, "workspaces", "what kernels of products work in") \
    TERM(fragmentation, RESERVED, NONZERO, "fragmentation", "what the framework's allocator holds and no tensor uses") \
    TERM(communicators, DEVICE, NONZERO, "communicators", "buffers of collectives and messages, by kinds of groups that a device exchanges with") \
    TERM(context, DEVICE, NONZERO, "context", "the driver's context and loaded kernels") \
    TERM(framework, DEVICE, ALWAYS, "framework", "bytes of each device that the framework uses besides (`--framework-memory`)")
/* clang-format on */

#define HYPAR_MEMORY_TERMS(TERM) HYPAR_TENSOR_TERMS(TERM) HYPAR_FRAMEWORK_TERMS(TERM)

#define HYPAR_MEMORY_MEMBER(member, level, shown, words, meaning) double member;

/* The contents of a device's memory when it is fullest, in bytes. The terms of the peak come
 * first: a member for each row above. */
struct hypar_memory {
    HYPAR_MEMORY_TERMS(HYPAR_MEMORY_MEMBER)
    double allocated;       /* terms that a framework's allocator hands out; 0: no framework */
    double reserved;        /* terms that the allocator holds; 0: no framework */
    double recompute_saves; /* of the activations: what recomputation would not keep */
    double saved; /* the most activations at once that backward halves read, at any time */
    double peak;  /* all terms */
    double limit; /* the plan's memory_limit_bytes; if that is 0, the device's usable memory */
    /* Mean and standard deviation of log(measured / predicted) of such peaks; 0, 0: exact. */
    double error_bias, error_spread;
};

#endif /* HYPAR_MEMORY_TERMS_H */
