/* clang-format off */
/* graph/op_list.h - every operator, one row each: shapes, splits, FLOPs and bytes follow from
 * it. CONTRIBUTING.md lists what a new operator touches.
 *
 *  OP(ENUM, "name", "summary", axes, operands, passes, attributes, flags, bind)
 *
 *  axes        letter and role (S sample, A attribute, P parameter, R reduction, I inner: never
 *              split), in the order in which a plan lists devices; "kP=out" takes its extent
 *              from an attribute (of a window: from the value of its dimension). Each operator
 *              also has axis r, the copies. "*": one axis per dimension of the output, named by rank (n; n c; n t c; n c h w; ...), or as in the operator before
 *              (reshape, transpose: letters.c).
 *  operands    inputs | parameters -> outputs ; statistics, each with its index map:
 *              n  axis    h~i  window of i taps over axis h    (a,d)  product    4  constant
 *              h/i  the same transposed: element h adds to a window of i outputs
 *              h%n  in proportion, the nearest element; h%l  the two around it; h%a  all it covers
 *              *  every axis of the output, broadcast    []  scalar
 *              t?  there if the rank says so, d??  after all with one ?
 *              q^  there once for all of the axis, if its size is 1: a broadcast
 *              b?  optional operand    #l  integers    @transposed  last two exchanged if set
 *              m=softmax[..]  statistic and how its parts are combined
 *  passes      "reads -> writes : multiply-adds / other operations; ...", dx being x's gradient and
 *              +b what is added once, after partial sums; counts are products of extents
 *              ("4nkc", sums with '+', '*' = all axes of the pass). A gradient nobody needs is not
 *              computed; that of a parameter belongs to the gradient phase, others to backward.
 *              Multiply-adds are those of products of matrices: "products | rows of the result |
 *              columns | summed over" ("nb|m|k|c").
 *              Attention's are those of the kernel that does all of one half: forward two,
 *              backward five, the first of which makes the scores again (Dao et al., NeurIPS 2022).
 *  attributes  "kernel:S! stride:S=1": values (S one per spatial dimension, D two, * any number),
 *              ! required, =default
 *  bind        NULL: the texts say it all; else the function of graph/bind.c that fills in the maps */

/* Attributes of operators that models also write out step by step. */
#define STEPS "forward_steps backward_steps saved_fp32 saved_short"

/* Layers with weights */
OP(LINEAR, "linear", "y = x w + b",
   "nS tA uA kP=out cR",
   "x[n,t?,u?,c] | w[c,k]@transposed b?[k] -> y[n,t?,u?,k]",
   "x w +b -> y: ntu|k|c; dy w -> dx: ntu|c|k; x dy -> dw: c|k|ntu; dy -> db / ntuk",
   "out transposed=0", ROW_WEIGHTED, NULL)
OP(CONV, "conv", "convolution, 1D to 3D",
   "nS kP=out cR dA hA wA lI=kernel iI=kernel jI=kernel",
   "x[n,c,d~l??,h~i,w~j?] | w[k,c,l??,i,j?] b?[k] -> y[n,k,d??,h,w?]",
   "x w +b -> y: ndhw|k|clij; dy w -> dx: ndhw|c|klij; x dy -> dw: clij|k|ndhw; dy -> db / nkdhw",
   "kernel:S! stride:S=1 pad:D=0 dilation:S=1 out", ROW_WEIGHTED, NULL)
OP(GROUP_CONV, "group_conv", "convolution in groups of channels, 1D to 3D",
   "nS gP=groups kI=out/groups cI dA hA wA lI=kernel iI=kernel jI=kernel",
   "x[n,(g,c),d~l??,h~i,w~j?] | w[(g,k),c,l??,i,j?] b?[(g,k)] -> y[n,(g,k),d??,h,w?]",
   "x w b -> y: g|ndhw|k|clij; dy w -> dx: g|ndhw|c|klij; x dy -> dw: g|clij|k|ndhw;"
   " dy -> db / ngkdhw",
   "kernel:S! stride:S=1 pad:D=0 dilation:S=1 groups! out", ROW_WEIGHTED, NULL)
OP(CONV_TRANSPOSE, "conv_transpose", "transposed convolution, 1D to 3D",
   "nS kP=out cR dA hA wA lI=kernel iI=kernel jI=kernel",
   "x[n,c,d/l??,h/i,w/j?] | w[c,k,l??,i,j?] b?[k] -> y[n,k,d??,h,w?]",
   "x w +b -> y: ndhw|k|clij; dy w -> dx: ndhw|c|klij; x dy -> dw: clij|k|ndhw; dy -> db / nkdhw",
   "kernel:S! stride:S=1 pad:D=0 dilation:S=1 output_pad:S=0 out", ROW_WEIGHTED, NULL)
OP(GROUP_CONV_TRANSPOSE, "group_conv_transpose", "transposed convolution in groups of channels",
   "nS gP=groups kI=out/groups cI dA hA wA lI=kernel iI=kernel jI=kernel",
   "x[n,(g,c),d/l??,h/i,w/j?] | w[(g,c),k,l??,i,j?] b?[(g,k)] -> y[n,(g,k),d??,h,w?]",
   "x w b -> y: g|ndhw|k|clij; dy w -> dx: g|ndhw|c|klij; x dy -> dw: g|clij|k|ndhw;"
   " dy -> db / ngkdhw",
   "kernel:S! stride:S=1 pad:D=0 dilation:S=1 output_pad:S=0 groups! out", ROW_WEIGHTED, NULL)
OP(EMBEDDING, "embedding", "rows of a table, looked up by id",
   "nS tA uA kP=out vR=vocab",
   "#i[n,t?,u?] | w[v,k] -> y[n,t?,u?,k]",
   "i w -> y; i dy -> dw / ntuk",
   "out vocab saved_bytes host_saved_bytes", ROW_WEIGHTED | ROW_LOOKUP, NULL)
OP(LSTM, "lstm", "LSTM over a whole sequence (y: every h; h, z: the last)",
   "nS tI kI=out cI",
   "x[n,t,c] e?[n,k] f?[n,k] | w[4,k,c] u[4,k,k] b?[4,k] d?[4,k] -> y[n,t,k] h[n,k] z[n,k];"
   " a=sum[n,t,4,k] s=sum[n,t,k] g=sum[n,t,4,k] q=sum[n,t,k]",
   "x e f w u b d -> y h z a s: nt|4k|c+t|n|4k|k / 30ntk; a s f u dy dh dz -> g q: t|n|k|4k / 40ntk;"
   " g w -> dx: nt|c|4k; g u -> de: n|k|4k; q a -> df / nk; g x -> dw: 4k|c|nt; g y e -> du: 4k|k|nt;"
   " g -> db / 4ntk; g -> dd / 4ntk",
   "out reverse=0", ROW_WEIGHTED, NULL)
OP(LSTM_CELL, "lstm_cell", "one step of an unrolled LSTM (y: the new h, s: the new cell state)",
   "nS kP=out cI jI=out",
   "x[n,c] h?[n,j] z?[n,k] | w[4,k,c] u[4,k,j] b?[4,k] d?[4,k] -> y[n,k] s[n,k];"
   " a=sum[n,4,k] g=sum[n,4,k]",
   "x h z w u b d -> y s a: n|4k|c+n|4k|j / 30nk; a z s dy ds -> g / 40nk; a s dy ds -> dz / 10nk;"
   " g w -> dx: n|c|4k; g u -> dh: n|j|4k; g x -> dw: 4k|c|n; g h -> du: 4k|j|n;"
   " g -> db / 4nk; g -> dd / 4nk",
   "out", ROW_WEIGHTED, NULL)
OP(GRU, "gru", "GRU over a whole sequence (y: every h; h: the last)",
   "nS tI kI=out cI",
   "x[n,t,c] e?[n,k] | w[3,k,c] u[3,k,k] b?[3,k] d?[3,k] -> y[n,t,k] h[n,k];"
   " a=sum[n,t,4,k] g=sum[n,t,3,k] s=sum[n,t,3,k] p=sum[n,t,k]",
   "x e w u b d -> y h a: nt|3k|c+t|n|3k|k / 25ntk; a y e u dy dh -> g s p: t|n|k|3k / 30ntk;"
   " g w -> dx: nt|c|3k; s p a u -> de: n|k|3k / nk; g x -> dw: 3k|c|nt; s y e -> du: 3k|k|nt;"
   " g -> db / 3ntk; s -> dd / 3ntk",
   "out reverse=0", ROW_WEIGHTED, NULL)
OP(GRU_CELL, "gru_cell", "one step of an unrolled GRU (y: the new h)",
   "nS kP=out cI jI=out",
   "x[n,c] h?[n,j] | w[3,k,c] u[3,k,j] b?[3,k] d?[3,k] -> y[n,k];"
   " a=sum[n,4,k] g=sum[n,3,k] s=sum[n,3,k]",
   "x h w u b d -> y a: n|3k|c+n|3k|j / 25nk; a h dy -> g s / 30nk;"
   " g w -> dx: n|c|3k; s u a dy -> dh: n|j|3k / nk; g x -> dw: 3k|c|n; s h -> du: 3k|j|n;"
   " g -> db / 3nk; s -> dd / 3nk",
   "out", ROW_WEIGHTED, NULL)

/* Products of activations */
OP(MATMUL, "matmul", "batched product of two activations",
   "nS bA mA kA cR",
   "x[n,b?,m,c] y[n,b?,c,k]@transposed -> z[n,b?,m,k]",
   "x y -> z: nb|m|k|c; dz y -> dx: nb|m|c|k; x dz -> dy: nb|c|k|m",
   "transposed=0", 0, NULL)
OP(ATTENTION, "attention", "softmax(q k' + b) v with heads; kv_heads < heads: grouped; w: windows",
   "nS wA aA=kv_heads qA sR gI=heads/kv_heads dI eI",
   "x[n,w?,q,(a,g,d)] k[n,w?,s,(a,d)] v[n,w?,s,(a,e)] b?[n^,w?^,(a,g)^,q^,s^] -> y[n,w?,q,(a,g,e)];"
   " m=softmax[n,w?,q,a,g,2] t=sum[n,w?,q,a,g]",
   "x k b -> m: nwa|qg|s|d / 4nwqags; x k v b m -> y: nwa|qg|e|s; y dy -> t / 2nwqage;"
   " x k v b m t dy -> dx: nwa|qg|s|d+nwa|qg|s|e+nwa|qg|d|s / 6nwqags;"
   " x k v b m t dy -> dk: nwa|s|d|qg; x k b m dy -> dv: nwa|s|e|qg;"
   " x k v b m t dy -> db / nwqags",
   "heads! kv_heads=heads causal=0 scale=0 soft_cap=0", 0, NULL)

/* Windows */
OP(MAX_POOL, "max_pool", "largest of a window",
   "nS cA dA hA wA lI=kernel iI=kernel jI=kernel",
   "x[n,c,d~l??,h~i,w~j?] -> y[n,c,d??,h,w?]",
   "x -> y / ncdhwlij; x dy -> dx / ncdhwlij",
   "kernel:S! stride:S=1 pad:D=0 dilation:S=1 ceil=0", 0, NULL)
OP(AVG_POOL, "avg_pool", "mean of a window",
   "nS cA dA hA wA lI=kernel iI=kernel jI=kernel",
   "x[n,c,d~l??,h~i,w~j?] -> y[n,c,d??,h,w?]",
   "x -> y / ncdhwlij; dy -> dx / ncdhwlij",
   "kernel:S! stride:S=1 pad:D=0 ceil=0 count_pad=1", 0, NULL)
OP(ADAPTIVE_MAX_POOL, "adaptive_max_pool", "largest of what each of `size` outputs covers",
   "nS cA dA=size hA=size wA=size",
   "x[n,c,d%a??,h%a,w%a?] -> y[n,c,d??,h,w?]",
   "x -> y / ncdhw; x dy -> dx / ncdhw",
   "size:S!", 0, NULL)
OP(ADAPTIVE_AVG_POOL, "adaptive_avg_pool", "mean of what each of `size` outputs covers",
   "nS cA dA=size hA=size wA=size",
   "x[n,c,d%a??,h%a,w%a?] -> y[n,c,d??,h,w?]",
   "x -> y / ncdhw; dy -> dx / ncdhw",
   "size:S!", 0, NULL)
OP(RESIZE_NEAREST, "resize_nearest", "to `size` elements, the nearest before each",
   "nS cA dA=size hA=size wA=size",
   "x[n,c,d%n??,h%n,w%n?] -> y[n,c,d??,h,w?]",
   "x -> y / ncdhw; dy -> dx / ncdhw",
   "size:S!", 0, NULL)
OP(RESIZE_LINEAR, "resize_linear", "to `size` elements, linear between those around each",
   "nS cA dA=size hA=size wA=size",
   "x[n,c,d%l??,h%l,w%l?] -> y[n,c,d??,h,w?]",
   "x -> y / 8ncdhw; dy -> dx / 8ncdhw",
   "size:S! align_corners=0", 0, NULL)
OP(LRN, "lrn", "local response normalisation over neighbouring channels",
   "nS cA hA wA zI=size",
   "x[n,c~z,h?,w?] -> y[n,c,h?,w?]",
   "x -> y / 2nchwz; x dy -> dx / 4nchwz",
   "size! alpha=0.0001 beta=0.75 bias=1", 0, NULL)

/* Normalisation: one pass for the statistics, one that uses them, forward and backward */
OP(BATCH_NORM, "batch_norm", "over samples and positions, per channel",
   "nS cP dA hA wA",
   "x[n,c,d??,h?,w?] | w?[c] b?[c] -> y[n,c,d??,h?,w?]; s=sum[c,2] g=sum[c,2]",
   "x -> s / 3ncdhw; x s w b -> y / 4ncdhw; x s dy -> g / 4ncdhw; x s w g dy -> dx / 6ncdhw;"
   " x s dy -> dw / 3ncdhw; dy -> db / ncdhw",
   "eps=0.00001", 0, NULL)
OP(LAYER_NORM, "layer_norm", "over the last dimension",
   "nS tA uA cP",
   "x[n,t?,u?,c] | w?[c] b?[c] -> y[n,t?,u?,c]; s=sum[n,t?,u?,2] g=sum[n,t?,u?,2]",
   "x -> s / 3ntuc; x s w b -> y / 4ntuc; x s w dy -> g / 5ntuc; x s w g dy -> dx / 6ntuc;"
   " x s dy -> dw / 3ntuc; dy -> db / ntuc",
   "eps=0.00001 " STEPS, ROW_WIDE | ROW_ALIKE, NULL)
OP(RMS_NORM, "rms_norm", "by the root mean square over the last dimension",
   "nS tA uA cP",
   "x[n,t?,u?,c] | w?[c] -> y[n,t?,u?,c]; s=sum[n,t?,u?] g=sum[n,t?,u?]",
   "x -> s / 2ntuc; x s w -> y / 2ntuc; x w dy -> g / 3ntuc; x s w g dy -> dx / 4ntuc;"
   " x s dy -> dw / 3ntuc",
   "eps=0.000001 " STEPS, ROW_WIDE | ROW_ALIKE, NULL)
OP(GROUP_NORM, "group_norm", "over positions and the channels of a group",
   "nS gP=groups cI dA hA wA",
   "x[n,(g,c),d??,h?,w?] | w?[(g,c)] b?[(g,c)] -> y[n,(g,c),d??,h?,w?]; s=sum[n,g,2] t=sum[n,g,2]",
   "x -> s / 3ngcdhw; x s w b -> y / 4ngcdhw; x s w dy -> t / 5ngcdhw; x s w t dy -> dx / 6ngcdhw;"
   " x s dy -> dw / 3ngcdhw; dy -> db / ngcdhw",
   "groups! eps=0.00001", ROW_WIDE | ROW_ALIKE, NULL)
OP(SOFTMAX, "softmax", "over the last dimension; causal: row i of the dimension before sees 0 to i",
   "nS tA uA cR",
   "x[n,t?,u?,c] -> y[n,t?,u?,c]; m=softmax[n,t?,u?,2] g=sum[n,t?,u?]",
   "x -> m / 4ntuc; x m -> y / 2ntuc; y dy -> g / 2ntuc; y g dy -> dx / 2ntuc",
   "causal=0", ROW_WIDE | ROW_ALIKE, NULL)
OP(LOG_SOFTMAX, "log_softmax", "logarithm of softmax, over the last dimension",
   "nS tA uA cR",
   "x[n,t?,u?,c] -> y[n,t?,u?,c]; m=softmax[n,t?,u?,2] g=sum[n,t?,u?]",
   "x -> m / 4ntuc; x m -> y / 2ntuc; dy -> g / ntuc; y g dy -> dx / 3ntuc",
   "", ROW_WIDE | ROW_ALIKE, NULL)

/* Losses: summed, and divided by the whole batch */
OP(CROSS_ENTROPY, "cross_entropy", "softmax and negative log likelihood of the labels, mean",
   "nS tA uA cR",
   "x[n,t?,u?,c] #l[n,t?,u?] -> y[]; m=softmax[n,t?,u?,2]",
   "x -> m / 4ntuc; x l m -> y / 2ntu; x l m dy -> dx / 3ntuc",
   "upcast", ROW_LOSS | ROW_WIDE | ROW_ALIKE, NULL)
OP(MSE_LOSS, "mse_loss", "mean of squared differences",
   "*", "x[*] l[*] -> y[]", "x l -> y / 3*; x l dy -> dx / 2*; x l dy -> dl / 2*", "", ROW_LOSS | ROW_WIDE | ROW_ALIKE, NULL)

/* Element-wise, two operands with broadcasting */
OP(ADD, "add", "x + y", "*", "x[*] y[*] -> z[*]", "x y -> z / *; dz -> dx / *; dz -> dy / *", "", 0, NULL)
OP(SUB, "sub", "x - y", "*", "x[*] y[*] -> z[*]", "x y -> z / *; dz -> dx / *; dz -> dy / *", "", 0, NULL)
OP(MUL, "mul", "x y", "*", "x[*] y[*] -> z[*]", "x y -> z / *; y dz -> dx / *; x dz -> dy / *", "", 0, NULL)
OP(DIV, "div", "x / y", "*", "x[*] y[*] -> z[*]", "x y -> z / *; y dz -> dx / *; x y dz -> dy / 3*", "", 0, NULL)
OP(MINIMUM, "minimum", "the lesser of x and y", "*", "x[*] y[*] -> z[*]",
   "x y -> z / *; x y dz -> dx / *; x y dz -> dy / *", "", 0, NULL)
OP(MAXIMUM, "maximum", "the greater of x and y", "*", "x[*] y[*] -> z[*]",
   "x y -> z / *; x y dz -> dx / *; x y dz -> dy / *", "", 0, NULL)
OP(WHERE, "where", "x where c is not 0, else y; c has no gradient", "*", "c[*] x[*] y[*] -> z[*]",
   "c x y -> z / *; c dz -> dc / *; c dz -> dx / *; c dz -> dy / *", "", 0, NULL)

/* Element-wise, one operand; backward reads y where that is enough */
#define FROM_X(forward, backward) "*", "x[*] -> y[*]", "x -> y / " forward "*; x dy -> dx / " backward "*"
#define FROM_Y(forward, backward) "*", "x[*] -> y[*]", "x -> y / " forward "*; y dy -> dx / " backward "*"
#define FROM_DY(forward, backward) "*", "x[*] -> y[*]", "x -> y / " forward "*; dy -> dx / " backward "*"
OP(RELU, "relu", "max(x, 0)", FROM_Y("1", "1"), "", 0, NULL)
OP(GELU, "gelu", "x Phi(x)", FROM_X("8", "12"), STEPS, 0, NULL)
OP(GELU_TANH, "gelu_tanh", "x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2", FROM_X("12", "18"), STEPS, 0, NULL)
OP(SILU, "silu", "x sigmoid(x)", FROM_X("5", "8"), STEPS, 0, NULL)
OP(SIGMOID, "sigmoid", "1 / (1 + exp(-x))", FROM_Y("4", "3"), "", 0, NULL)
OP(TANH, "tanh", "hyperbolic tangent", FROM_Y("6", "3"), "", 0, NULL)
OP(LEAKY_RELU, "leaky_relu", "x, or alpha x below 0", FROM_X("1", "1"), "alpha=0.01", 0, NULL)
OP(ELU, "elu", "x, or alpha (exp(x) - 1) below 0", FROM_X("4", "4"), "alpha=1", 0, NULL)
OP(SOFTPLUS, "softplus", "log(1 + exp(x))", FROM_X("6", "5"), "", ROW_WIDE | ROW_ALIKE, NULL)
OP(HARD_SIGMOID, "hard_sigmoid", "alpha x + beta, between 0 and 1", FROM_X("4", "2"), "alpha=0.2 beta=0.5", 0, NULL)
OP(HARD_SWISH, "hard_swish", "x clip(x/6 + 1/2, 0, 1)", FROM_X("5", "5"), STEPS, 0, NULL)
OP(CLIP, "clip", "x between min and max", FROM_X("2", "2"), "min! max!", 0, NULL)
OP(EXP, "exp", "e^x", FROM_Y("4", "1"), "", ROW_WIDE | ROW_ALIKE, NULL)
OP(LOG, "log", "natural logarithm", FROM_X("4", "1"), "", ROW_WIDE | ROW_ALIKE, NULL)
OP(SQRT, "sqrt", "square root", FROM_Y("4", "2"), "", 0, NULL)
OP(SIN, "sin", "sine", FROM_X("6", "7"), "", 0, NULL)
OP(COS, "cos", "cosine", FROM_X("6", "7"), "", 0, NULL)
OP(POW, "pow", "x^exponent", FROM_X("8", "9"), "exponent!", ROW_WIDE | ROW_ALIKE, NULL)
OP(ERF, "erf", "error function", FROM_X("8", "6"), "", 0, NULL)
OP(ABS, "abs", "absolute value", FROM_X("1", "1"), "", 0, NULL)
OP(NEG, "neg", "-x", FROM_DY("1", "1"), "", 0, NULL)
OP(AFFINE, "affine", "alpha x + beta", FROM_DY("2", "1"), "alpha=1 beta=0", 0, NULL)
OP(DROPOUT, "dropout", "each element zero with probability rate, by its global index", FROM_DY("3", "3"), "rate=0.5", 0, NULL)
OP(IDENTITY, "identity", "x", FROM_DY("0", "0"), "", ROW_LOOKUP, NULL)
#undef FROM_X
#undef FROM_Y
#undef FROM_DY
OP(ROPE, "rope", "rotary position embedding of each head",
   "nS tA aA=heads dI", "x[n,t,(a,d)] -> y[n,t,(a,d)]",
   "x -> y / 3ntad; dy -> dx / 3ntad", "heads! theta=10000 " STEPS, ROW_WIDE, NULL)
OP(CUMSUM, "cumsum", "sums up to each element along a dimension", "*", "x -> y", "x -> y / *; dy -> dx / *", "axis! reverse=0", ROW_WIDE | ROW_ALIKE, bind_cumsum)

/* Shape: axes are those of the output (of the input for reduce and split), or common factors */
OP(CONCAT, "concat", "inputs joined along a dimension", "*", "x... -> y", "x -> y; dy -> dx", "axis!", ROW_LOOKUP | ROW_ALIKE, bind_concat)
OP(SPLIT, "split", "one input cut along a dimension", "*", "x -> y...", "x -> y; dy -> dx", "axis! sizes:*!", ROW_LOOKUP, bind_split)
OP(SLICE, "slice", "from start to stop along a dimension", "*", "x -> y", "x -> y; dy -> dx", "axis! start! stop! step=1", ROW_LOOKUP, bind_slice)
OP(PAD, "pad", "zeros before and after each dimension", "*", "x -> y", "x -> y; dy -> dx", "pad:*!", ROW_LOOKUP, bind_pad)
OP(TRANSPOSE, "transpose", "dimensions in another order", "*", "x -> y", "x -> y; dy -> dx", "perm:*!", ROW_LOOKUP, bind_transpose)
OP(RESHAPE, "reshape", "the same elements in another shape", "*", "x -> y", "x -> y; dy -> dx", "shape:*!", ROW_LOOKUP, bind_reshape)
OP(FLATTEN, "flatten", "all dimensions from axis on become one", "*", "x -> y", "x -> y; dy -> dx", "axis=1", ROW_LOOKUP, bind_reshape)
OP(SQUEEZE, "squeeze", "dimensions of size 1 left out", "*", "x -> y", "x -> y; dy -> dx", "axes:*!", ROW_LOOKUP, bind_reshape)
OP(UNSQUEEZE, "unsqueeze", "dimensions of size 1 put in", "*", "x -> y", "x -> y; dy -> dx", "axes:*!", ROW_LOOKUP, bind_reshape)
OP(EXPAND, "expand", "broadcast to a shape", "*", "x -> y", "x -> y; dy -> dx / *", "shape:*!", ROW_LOOKUP, bind_expand)
OP(REDUCE_SUM, "reduce_sum", "sum over dimensions", "*", "x -> y", "x -> y / *; dy -> dx / *", "axes:*! keep=0", ROW_WIDE, bind_reduce)
OP(REDUCE_MEAN, "reduce_mean", "mean over dimensions", "*", "x -> y", "x -> y / *; dy -> dx / *", "axes:*! keep=0", 0, bind_reduce)
OP(REDUCE_MAX, "reduce_max", "largest over dimensions", "*", "x -> y=max", "x -> y / *; x y dy -> dx / *", "axes:*! keep=0", 0, bind_reduce)
OP(GLOBAL_AVG_POOL, "global_avg_pool", "mean over all positions", "*", "x -> y", "x -> y / *; dy -> dx / *", "keep=0", 0, bind_reduce)
OP(GLOBAL_MAX_POOL, "global_max_pool", "largest over all positions", "*", "x -> y=max", "x -> y / *; x y dy -> dx / *", "keep=0", 0, bind_reduce)

/* Elements along a dimension, named by integers: axes are those of the integers' places */
OP(GATHER_ELEMENTS, "gather_elements", "of each line along a dimension the elements i", "*", "x #i -> y", "x i -> y; i dy -> dx / *", "axis!", ROW_LOOKUP, bind_gather)
OP(INDEX_SELECT, "index_select", "slices i along a dimension", "*", "x #i -> y", "x i -> y; i dy -> dx / *", "axis!", ROW_LOOKUP, bind_gather)
OP(SCATTER_ADD, "scatter_add", "x, and s added to the elements i of each line along a dimension", "*", "x #i s -> y", "i s +x -> y; dy -> dx; i dy -> ds", "axis!", ROW_LOOKUP | ROW_ALIKE, bind_gather)
OP(OPAQUE, "opaque", "unknown: its output's shape is given, only samples are split", "*", "x... -> y", "x -> y; x dy -> dx", "shape:*! flops=0 saved saved_bytes forward_s backward_s output_bytes parameter_bytes", ROW_OPAQUE, bind_opaque)
/* clang-format on */
#undef STEPS
