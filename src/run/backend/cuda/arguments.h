/* run/backend/cuda/arguments.h - what the host hands to the kernels of this folder. It is part
 * of their sources, too, so it includes nothing. */
#ifndef RUN_BACKEND_CUDA_ARGUMENTS_H
#define RUN_BACKEND_CUDA_ARGUMENTS_H

enum { CUDA_MOST_DIMS = 6 };

/* Elements over a box, the last dimension innermost: of one view, or of two at a time. Strides
 * count elements. */
struct cuda_elements {
    void *to;
    const void *from; /* NULL: there is one view */
    long long n;      /* the product of all extents */
    int n_dims;
    long long extent[CUDA_MOST_DIMS];
    long long to_stride[CUDA_MOST_DIMS], from_stride[CUDA_MOST_DIMS];
    long long to_second, from_second; /* of pairs: from the first number to the second */
};

/* A matrix, and a copy of it that may have more rows and columns. */
struct cuda_rows {
    void *to;
    const void *from;
    long long rows, columns, from_rows, from_columns, to_step, from_step;
};

/* Contiguous elements that are updated. */
struct cuda_update {
    const void *old, *gradient;
    void *param, *state[2];
    void *rounded; /* the parameter in bf16; NULL: there is none */
    long long n;
};

/* Squares: each of at most so many blocks adds a part of the sum. */
enum { CUDA_SQUARE_BLOCKS = 128, CUDA_SQUARE_THREADS = 256 };

/* The threads of a block, at most, that compute sums of columns. */
enum { CUDA_COLUMN_THREADS = 512 };

/* A pass of an operator, for a kernel that was generated for it (generate.h). */
enum { CUDA_MOST_DATA = 12, CUDA_MOST_NUMBERS = 224, CUDA_CONSTANTS = 4 };
struct cuda_call {
    void *data[CUDA_MOST_DATA];     /* of operands, or of their gradients */
    long long v[CUDA_MOST_NUMBERS]; /* extents, strides, ...: the kernel's text knows which */
    double c[CUDA_CONSTANTS];       /* of the formula */
    double least;                   /* -infinity */
    unsigned long long key;         /* of drawn numbers */
    double *slices;                 /* partial sums (pairs), where several blocks share a sum */
    long long n_slices;
};

/* Elements of a region of one shape, and those with the same number in another shape. */
struct cuda_reshape {
    void *to;
    const void *from;
    long long n, to_base, from_base;
    int to_dims, from_dims;
    long long to_lo[CUDA_MOST_DIMS], to_extent[CUDA_MOST_DIMS], to_size[CUDA_MOST_DIMS];
    long long to_stride[CUDA_MOST_DIMS], from_size[CUDA_MOST_DIMS], from_stride[CUDA_MOST_DIMS];
};

/* An operand in global coordinates; data NULL: it is absent. */
struct cuda_array {
    void *data;
    long long base, stride[4];
};

/* A pass of an LSTM or a GRU; operands as in src/kernel/lstm.inc and gru.inc. */
struct cuda_recurrent {
    struct cuda_array x, h0, c0, w, u, b, d, y, a, c, g, s, dc;
    struct cuda_array h_last, c_last, dy, dh_last, dc_last, dh0, dc0, du;
    long long n_lo, n_hi, k_lo, k_hi, steps, step, inputs, width;
    int reverse, gates;
};

/* Running statistics of batch norms: pairs for the channels lo .. lo + n - 1. */
struct cuda_running {
    const void *sums;
    void *running;
    long long n, sums_stride, sums_second, running_stride, running_second;
    double count; /* of the numbers in a mean */
};

/* Rows of a gradient that are added to the rows of a table that ids name. */
enum { CUDA_LOOKUP_IDS = 1024 }; /* at a time */
struct cuda_lookup {
    const int *ids;
    const void *from;
    void *to;
    long long extent[3], id_step[3], from_step[3];
    long long lo, hi, width, to_row, to_column, from_column;
};

/* Scores of some heads: dense arrays [heads, queries, keys]; steps are those of heads, queries,
 * keys. */
enum { CUDA_ATTENTION_THREADS = 128 };
struct cuda_attention {
    void *scores, *dp;
    const void *bias, *t;
    void *m;
    long long heads, queries, keys, first_query, first_key;
    long long bias_step[3], t_step[2], m_step[2], m_second;
    double scale, cap, least;
    int causal, of_bias, fresh;
};

/* The vectors of heads: steps along samples, windows, members of a group, groups, and queries
 * or keys, in elements. data NULL: there are none. */
struct cuda_heads {
    void *data;
    long long n, w, g, a, row;
};

/* Attention whose scores are not stored. */
enum { CUDA_FLASH_THREADS = 256, CUDA_FLASH_ROWS = 128 };
struct cuda_flash {
    struct cuda_heads x, k, v, y, dy, dx, dk, dv, m, t;
    long long m_second, queries, keys, first_query, first_key, windows, group;
    double scale, least; /* -infinity */
    int causal, fresh_y, fresh_dx, fresh_dk, fresh_dv;
};

/* Some samples of a convolution; three dimensions, of which missing ones have one element. x
 * has its element at position 0, of x or of dx. */
struct cuda_convolution {
    void *x, *columns, *turned;
    const void *dy;
    long long n; /* elements that the kernel writes */
    long long samples, channels, x_sample, x_channel, dy_sample, dy_channel, dy_step;
    long long x_step[3], outputs[3], first_output[3], taps[3], stride[3], pad[3], dilation[3];
    long long size[3], positions[3], first_position[3];
    int fresh;
};

#endif /* RUN_BACKEND_CUDA_ARGUMENTS_H */
