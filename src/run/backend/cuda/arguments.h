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

/* Contiguous elements that are updated. */
struct cuda_update {
    const void *old, *gradient;
    void *param, *state[2];
    long long n;
};

/* Squares: each of at most so many blocks adds a part of the sum. */
enum { CUDA_SQUARE_BLOCKS = 128, CUDA_SQUARE_THREADS = 256 };

#endif /* RUN_BACKEND_CUDA_ARGUMENTS_H */
