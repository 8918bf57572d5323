/* hypar/framework.h - how a job is run: what a framework makes of a plan.
 *
 * A plan says what is computed where. A framework says how: which passes are one kernel, how
 * attention is computed, what has which precision, which exchanges run beside kernels, what the
 * host and the libraries need. A framework is a row of a table (hypar_framework_at()), a file
 * (hypar-framework/1, docs/formats-framework.md) or a file of this site. With all members 0 it
 * is the row "compiled": today's fastest, with all exchanges overlapped. */
#ifndef HYPAR_FRAMEWORK_H
#define HYPAR_FRAMEWORK_H

#include <hypar/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How passes are grouped into kernels, on devices whose kernels were measured. */
enum hypar_kernel_mode {
    HYPAR_KERNELS_COMPILED, /* passes without products are fused, matrices are padded */
    HYPAR_KERNELS_EAGER,    /* operator by operator */
    HYPAR_KERNELS_NONE,     /* pass by pass, launches cost nothing: the roofline */
    HYPAR_KERNELS_COUNT,
};

/* How kernels are launched. */
enum hypar_launches {
    HYPAR_LAUNCHES_USUAL,    /* compiled kernels captured, eager ones one by one */
    HYPAR_LAUNCHES_EAGER,    /* one by one */
    HYPAR_LAUNCHES_CAPTURED, /* as a graph */
};

/* The kernel of attention, where the model does not say. */
enum hypar_attention {
    HYPAR_ATTENTION_FUSED,   /* one kernel, as fast as the device's row says */
    HYPAR_ATTENTION_UNFUSED, /* written out: scores, softmax and dropout lie in memory */
    HYPAR_ATTENTION_FLASH1,
    HYPAR_ATTENTION_FLASH2,
    HYPAR_ATTENTION_FLASH3, /* or cuDNN's on the same devices */
};

/* The precision of something, where the plan does not say. */
enum hypar_width {
    HYPAR_WIDTH_USUAL, /* that of the tensors it is made of */
    HYPAR_WIDTH_FP32,
    HYPAR_WIDTH_SHORT, /* that of the parameters */
};

/* The operators that recompute "selective" computes again. */
enum hypar_selective {
    HYPAR_SELECTIVE_ATTENTION, /* scores, softmax and dropout of attention that is written out
                                */
    HYPAR_SELECTIVE_PRODUCTS,  /* in layers all but attention and every second product */
};

/* Exchanges, by what waits for them. */
enum hypar_traffic {
    HYPAR_TRAFFIC_GRADIENTS, /* sums of parameters' gradients: only updates wait */
    HYPAR_TRAFFIC_GATHERS,   /* of divided parameters: known long before they are read */
    HYPAR_TRAFFIC_TENSOR,    /* sums of values and errors between the parts of layers */
    HYPAR_TRAFFIC_SEQUENCE,  /* gathers and reduce-scatters of these, and other moves of them */
    HYPAR_TRAFFIC_STAGES,    /* values and errors between stages */
    HYPAR_TRAFFIC_COUNT,
};

/* Memory of a device in addition to the plan's tensors, on devices that run frameworks (those
 * with context_bytes above 0). A member that is 0 has its usual value. */
struct hypar_framework_memory {
    bool bare; /* nothing but tensors is there: papers' devices, hypar's own runtime */
    double context_bytes;      /* of libraries, beside the device's own; usual: 0 */
    double communicator_bytes; /* of each kind of group that a device exchanges with */
    double workspaces;         /* handles and streams with a workspace for products */
    double workspace_bytes;    /* of each, where the library is told; usual: the device's */
    double fragmentation;      /* memory that the allocator holds and no tensor uses, as a share
                                  of what it handed out */
    double logits_fp32; /* tensors in fp32 as large as the logits, at the loss; usual: 0. The
                           first is kept from the forward to the backward half in place of the
                           short logits, the others are there in the backward half; a half is in
                           16 bits */
    double deferred_logits; /* micro-batches whose errors of the logits wait for the gradient of
                               the last product's weights */
    bool flat_gradients; /* gradients lie in buffers that last from step to step, whatever the
                            kernels are */
    bool bucket_copies;  /* gradients that are summed whole lie once more in buckets that last,
                            in the parameters' precision */
    bool
        state_by_stage;  /* each stage that uses a parameter divides the optimizer's state of it
                            among its own devices; else all devices that have the parameter do */
    bool fused_norms;    /* norms and rotary positions are one kernel each where others are
                            operator by operator: norms keep what they read alone */
    double bias, spread; /* mean and standard deviation of log(measured / predicted) memory */
};

/* How far predictions with a device or a framework were off, on rows that were not fitted. */
struct hypar_calibration {
    int rows;       /* 0: not calibrated */
    double bias;    /* mean of log(measured / predicted) */
    double spread;  /* standard deviation of that logarithm */
    double pair;    /* the same for the ratio of two steps of one network */
    const char *on; /* which rows; without any the device whose figures were changed, or NULL */
};

/* Where a measured step lies: eight of ten in the interval. */
struct hypar_interval {
    double low_s, high_s;
    struct hypar_calibration from;
};

struct hypar_framework {
    const char *name;    /* NULL: "compiled" */
    const char *summary; /* one line; may be NULL */
    const char *source;  /* where the members come from; may be NULL */
    enum hypar_kernel_mode kernels;
    enum hypar_launches launches;
    enum hypar_attention attention;
    double attention_dropout; /* share of the weights of attention that is dropped where it is
                                 written out and the model does not say */
    enum hypar_selective selective;
    bool autocast;    /* beside 16-bit products parameters are in fp32: products convert what
                         they read, norms, softmax and losses run in fp32 (PyTorch's autocast) */
    bool keeps_masks; /* of dropouts, a byte for each element, until the backward half */
    /* Precisions: of the gradients of parameters; of parameters that are gathered because they
     * are divided; of the messages that sum gradients; of logits and loss. */
    enum hypar_width gradients, gathers, sums, loss;
    bool waits[HYPAR_TRAFFIC_COUNT]; /* a device does not compute during such an exchange */
    double bucket_bytes; /* gradients are summed in buckets of about this size; 0: one by one */
    bool row_shards; /* devices that divide a parameter divide the rows of its first dimension:
                        the same number each, the last ones fewer or none. Messages are padded
                        to the largest part */
    bool replicates; /* each replica has all parameters, gradients and optimizer state */
    int prefetch;    /* layers ahead that divided parameters are gathered at most; 0: as the
                        plan says, in operators */
    /* Bytes that a device reads and writes, in addition to messages, for each element of a
     * divided parameter that is gathered, and of a gradient that replicas sum: buffers are
     * filled, divided by the number of replicas, converted, emptied. */
    double gather_copy_bytes, sum_copy_bytes;
    bool gathers_by_piece; /* the host copies updated parameters that are gathered piece by
                              piece: a kernel for each replica's piece of each parameter */
    double layer_s;        /* that the host adds to the kernels of every layer, in each half */
    double slot_s;   /* ... to every slot, where there are stages: a micro-batch of a stage
                        in one half */
    double bucket_s; /* that the host adds to every sum of gradients and to every gather */
    bool host_waits; /* between stages: the host launches nothing of a slot before its device
                        has ended the slot before and has what the slot receives */
    struct hypar_framework_memory memory;
    struct hypar_calibration calibration;
};

/* The names that files and words use: "eager", "unfused"; NULL: no such value. */
HYPAR_API const char *hypar_kernel_mode_text(enum hypar_kernel_mode kernels);

/* Row `i` of the table, NULL past the last. */
HYPAR_API const struct hypar_framework *hypar_framework_at(int i);

/* Read a framework from a word, NAME[,MEMBER=VALUE...]: NAME is that of a row or of a file of
 * this site (hypar_site_files()), or a path that ends in ".json". On success *out is to be
 * released with hypar_framework_free(). */
HYPAR_API enum hypar_status hypar_framework_read(struct hypar_framework **out, const char *word,
                                                 struct hypar_error *err);
HYPAR_API void hypar_framework_free(struct hypar_framework *framework); /* NULL is allowed */

/* Write it as a file, "hypar-framework/1", with every member. */
HYPAR_API void hypar_framework_write(const struct hypar_framework *framework, FILE *to);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_FRAMEWORK_H */
