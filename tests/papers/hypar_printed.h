/* What HyPar prints (Song et al., HPCA 2019): Figures 5 to 8 for 16 accelerators, batch 256. */
#ifndef TESTS_PAPERS_HYPAR_PRINTED_H
#define TESTS_PAPERS_HYPAR_PRINTED_H

struct hypar_printed {
    const char *model;
    const char *map;                /* Figure 5: H1/H2/H3/H4, a digit for each layer, 1 = mp */
    double mp_gain, hypar_gain;     /* Figure 6: performance over data parallel */
    double mp_energy, hypar_energy; /* Figure 7: energy efficiency over data parallel */
    double dp_gb, mp_gb, hypar_gb;  /* Figure 8: GB of one step */
    double weights;
};

enum { HYPAR_NETWORKS = 10 };

/* clang-format off */
static const struct hypar_printed hypar_printed[HYPAR_NETWORKS] = {
    { "sfc", "1111/1111/0111/1111", 22.19, 23.48, 9.96, 10.27, 16.9, .723, .681, 140722176 },
    { "sconv", "0000/0000/0000/0000", .0374, 1.00, .198, 1.00, .0121, .480, .0121, 100500 },
    { "lenet-c", "0011/0010/0000/0011", .469, 3.05, .486, 1.81, .0517, .112, .0161, 430500 },
    { "cifar-c", "00000/00000/00010/00111", .100, 1.23, .169, 1.03, .0174, .206, .0135, 145376 },
    { "alexnet-t", "00000111/00000111/00000111/00000100", .183, 3.27, .421, 1.19, 2.00, 13.0, .289, 16624656 },
    { "vgg-a", "00000000111/00000000111/00000000111/00000001111", .346, 4.97, .549, 1.35, 15.9, 50.1, 1.47, 132851392 },
    { "vgg-b", "0000000000111/0000000000111/0000000000111/0000000001111", .140, 4.06, .348, 1.22, 16.0, 134, 1.47, 133035712 },
    { "vgg-c", "0000000000000111/0000000000000111/0000000000000111/0000000000000111", .121, 3.92, .321, 1.21, 16.0, 157, 1.58, 133625536 },
    { "vgg-d", "0000000000000111/0000000000000111/0000000000000111/0000000000001111", .130, 3.21, .365, 1.16, 16.6, 157, 2.13, 138344128 },
    { "vgg-e", "0000000000000000111/0000000000000000111/0000000000000000111/0000000000000001111", .123, 2.73, .377, 1.13, 17.2, 180, 2.76, 143652544 },
};
/* clang-format on */

/* The geometric means that the paper prints beside its bars. */
static const struct hypar_printed hypar_printed_mean = { "gmean", "",   .241, 3.39, .474,
                                                         1.51,    1.83, 8.88, .318, 0 };

#endif /* TESTS_PAPERS_HYPAR_PRINTED_H */
