What there is. One model with its options, one operator in words.
$ hypar models gpt2
> gpt2: GPT-2 small (Radford et al. 2019)
> 124,439,808 parameters, 292 GFLOP per sample forward, 174 operators, 74 weighted
> layers, batch 32
>
> option                     default  least      most
> layers                          12      1      4096
> hidden                         768      1   1048576
> heads                           12      1   1048576
> seq                           1024      1   1048576
> vocab                        50257      1  16777216
> positions                     1024      0   1048576
> attention                    fused  fused   unfused
> attention_dropout_percent        0      0        99
> dropout_percent                 10      0        99
> ffn                              0      0   1048576
> kv_heads                         0      0   1048576
> tied                             1      0         1
> biases                           1      0         1
> gated                            0      0         1
>
> As in gpt2:layers=12.
$ hypar models mlp
> mlp: mlp:784-8192-10: layers of these sizes, the input first
> 407,050 parameters, 813 kFLOP per sample forward, 4 operators, 2 weighted
> layers, batch 32
>
> Sizes follow a colon, the input's first: mlp:784-512-10.
$ hypar models sfc
> sfc: HyPar: four fully-connected layers, MNIST (Song et al., HPCA 2019)
> 140,722,176 parameters, 281 MFLOP per sample forward, 8 operators, 4 weighted
> layers, batch 256
>
> It has no options.
$ hypar models resnet18:image=32 --json
> {
>   "name": "resnet18:image=32",
>   "params": 11689512,
>   "flops_per_sample": 75046912,
>   "ops": 69,
>   "layers": 21,
>   "batch": 32,
>   "summary": "ResNet-18",
>   "options": "depth=18,image=224,classes=1000",
>   "source": "He et al., CVPR 2016",
>   "option_list": [
>     {"name": "depth", "default": 18, "least": 18, "most": 152},
>     {"name": "image", "default": 224, "least": 32, "most": 4096},
>     {"name": "classes", "default": 1000, "least": 1, "most": 1048576}
>   ]
> }
$ hypar models | grep -E 'model|lenet5|mlp'
> model           params    FLOP   ops  layers  batch
> mlp              407 k   813 k     4       2     32  mlp:784-8192-10: layers of
> lenet5          61.7 k   833 k    13       5     32  LeNet-5
> rnnlm            108 M  7.01 G   222     160     32  FlexFlow: language model,
> bert-base:seq=128, resnet18:image=32,classes=10, mlp:784-8192-10. 'hypar models
$ hypar models | tail -n 2
> bert-base:seq=128, resnet18:image=32,classes=10, mlp:784-8192-10. 'hypar models
> NAME' tells those of one.

$ hypar ops | grep -A 1 -E '^(conv|lstm|relu) '
> conv             convolution, 1D to 3D
>     nS kP cR dA hA wA lI iI jI   x[n,c,d~l??,h~i,w~j?] | w[k,c,l??,i,j?] b?[k]
> --
> lstm             LSTM over a whole sequence (y: every h; h, z: the last)
>     nS tI kI cI   x[n,t,c] e?[n,k] f?[n,k] | w[4,k,c] u[4,k,k] b?[4,k] d?[4,k]
> --
> relu             max(x, 0)
>     *   x[*] -> y[*]
$ hypar ops conv
> conv: convolution, 1D to 3D
>
> axis  role                extent
> n     sample              of its tensors
> k     parameter           attribute out
> c     reduction           of its tensors
> d     attribute           of its tensors
> h     attribute           of its tensors
> w     attribute           of its tensors
> l     inner, never split  attribute kernel
> i     inner, never split  attribute kernel
> j     inner, never split  attribute kernel
> r     copies              any
>
> operand  role                indexed by
> x        input               [n,c,d~l??,h~i,w~j?]
> w        parameter           [k,c,l??,i,j?]        made where it is left out
> b        optional parameter  [k]                   made where its place says
>                                                    true
> y        output              [n,k,d??,h,w?]
>
> pass reads  writes  multiply-adds  other
> x w +b      y       ndhw|k|clij
> dy w        dx      ndhw|c|klij
> x dy        dw      clij|k|ndhw
> dy          db                     nkdhw
>
> attribute  values                     default   least        most
> kernel     one per spatial dimension  required      1     1048576  taps of the
>                                                                    window
> stride     one per spatial dimension  1             1     1048576  step of the
>                                                                    window
> pad        two per spatial dimension  0             0     1048576  zeros before
>                                                                    each
>                                                                    dimension,
>                                                                    then after
>                                                                    each
> dilation   one per spatial dimension  1             1     1048576  distance of
>                                                                    the taps
> out        one                        none          1  1073741824  output
>                                                                    features,
>                                                                    where no
>                                                                    parameter
>                                                                    tells
$ hypar ops matmul
> matmul: batched product of two activations
>
> axis  role       extent
> n     sample     of its tensors
> b     attribute  of its tensors
> m     attribute  of its tensors
> k     attribute  of its tensors
> c     reduction  of its tensors
> r     copies     any
>
> operand  role    indexed by
> x        input   [n,b?,m,c]
> y        input   [n,b?,c,k]  transposed: last two exchanged
> z        output  [n,b?,m,k]
>
> pass reads  writes  multiply-adds  other
> x y         z       nb|m|k|c
> dz y        dx      nb|m|c|k
> x dz        dy      nb|c|k|m
>
> attribute   values  default  least  most
> transposed  one     0            0     1  the last two dimensions of w (matmul:
>                                           of y) are exchanged
$ hypar ops relu
> relu: max(x, 0)
>
> axis  role               extent
> *     sample, attribute  one per dimension: n; n c; n t c; n c h w
> r     copies             any
>
> operand  role    indexed by
> x        input   [*]
> y        output  [*]
>
> pass reads  writes  multiply-adds  other
> x           y                      1*
> y dy        dx                     1*
>
> It has no attributes.
$ hypar ops split
> split: one input cut along a dimension
>
> axis  role               extent
> *     sample, attribute  one per dimension: n; n c; n t c; n c h w
> r     copies             any
>
> operand  role    indexed by
> x        input   what its shape says
> y, ...   output  what its shape says
>
> pass reads  writes  multiply-adds  other
> x           y
> dy          dx
>
> attribute  values      default   least           most
> axis       one         required     -6              5  a dimension; -1 is the
>                                                        last
> sizes      any number  required      1  1099511627776  one for each output
$ hypar ops rms_norm --json
> {
>   "name": "rms_norm",
>   "summary": "by the root mean square over the last dimension",
>   "axes": "nS tA uA cP",
>   "operands": "x[n,t?,u?,c] | w?[c] -> y[n,t?,u?,c]; s=sum[n,t?,u?] g=sum[n,t?,u?]",
>   "passes": "x -> s / 2ntuc; x s w -> y / 2ntuc; x w dy -> g / 3ntuc; x s w g dy -> dx / 4ntuc; x s dy -> dw / 3ntuc",
>   "attributes": "eps=0.000001 forward_steps backward_steps saved_fp32 saved_short",
>   "axis_list": [
>     {"name": "n", "role": "sample"},
>     {"name": "t", "role": "attribute"},
>     {"name": "u", "role": "attribute"},
>     {"name": "c", "role": "parameter"}
>   ],
>   "operand_list": [
>     {"name": "x", "role": "input", "optional": false, "index": false, "many": false, "map": "[n,t?,u?,c]"},
>     {"name": "w", "role": "parameter", "optional": true, "index": false, "many": false, "map": "[c]"},
>     {"name": "y", "role": "output", "optional": false, "index": false, "many": false, "map": "[n,t?,u?,c]"},
>     {"name": "s", "role": "statistic", "optional": false, "index": false, "many": false, "map": "[n,t?,u?]"},
>     {"name": "g", "role": "statistic", "optional": false, "index": false, "many": false, "map": "[n,t?,u?]"}
>   ],
>   "attribute_list": [
>     {"name": "eps", "values": "one", "required": false, "default": 1e-06, "least": 0, "most": 1, "integer": false, "summary": "added to what is divided by"},
>     {"name": "forward_steps", "values": "one", "required": false, "least": 1, "most": 1000, "integer": true, "summary": "kernels that a framework which runs operator by operator needs, forward, where a model writes the operator out"},
>     {"name": "backward_steps", "values": "one", "required": false, "least": 1, "most": 1000, "integer": true, "summary": "... and backward"},
>     {"name": "saved_fp32", "values": "one", "required": false, "least": 0, "most": 1000, "integer": true, "summary": "bytes that such a framework saves for the backward half beside the input, of each element of it, in fp32"},
>     {"name": "saved_short", "values": "one", "required": false, "least": 0, "most": 1000, "integer": true, "summary": "... in 16 bits"}
>   ]
> }

What decides the time of an exchange stands beside the peaks.
$ hypar machines | grep -E '^(device|v100|h100) '
> device       fp64/s  fp32/s  tf32/s  fp16/s  bf16/s  memory    bytes/s
> v100          7.8 T  15.7 T  15.7 T   125 T  15.7 T   16 GB   900 GB/s
> h100           67 T    67 T   494 T   989 T   989 T   80 GB  3.35 TB/s
> device      efficiency links      each latency network card for       energy/bit
> v100               0.5     6   25 GB/s    1 us    12.5 GB/s a node          8 pJ
> h100             0.906    18   25 GB/s  2.5 us      50 GB/s 1 device        8 pJ
> h100                   0.96      0.94     33.5 us  3.35 TB/s         0.17
> v100        NVIDIA Tesla V100 data sheet: NVLink 300 GB/s both ways; one 100
> h100        NVIDIA H100 data sheet: fp64 tensor core, NVLink 900 GB/s both ways;
$ hypar machines --json | grep -o '"name": "v100".*"source"'
> "name": "v100", "fp32_op_per_s": 15700000000000, "fp64_op_per_s": 7800000000000, "bf16_op_per_s": 15700000000000, "fp16_op_per_s": 125000000000000, "tf32_op_per_s": 15700000000000, "fp8_op_per_s": 0, "efficiency": 0.5, "memory_bytes": 16000000000, "usable_bytes": 0, "context_bytes": 0, "workspace_bytes": 0, "memory_bytes_per_s": 900000000000, "add_j": 9e-13, "multiply_j": 3.7e-12, "sram_access_j": 5e-12, "dram_access_j": 1.2544e-10, "idle_w": 0, "power_limit_w": 0, "busy_w": 0, "fp64_op_j": 0, "fp32_op_j": 0, "tf32_op_j": 0, "bf16_op_j": 0, "fp8_op_j": 0, "vector_op_j": 0, "reduction_length": 0, "output_length": 0, "unaligned_efficiency": 0, "stream_efficiency": 0, "product_efficiency": 0, "row_efficiency": 0, "column_efficiency": 0, "compiled_column_efficiency": 0, "window_efficiency": 0, "scatter_efficiency": 0, "column_sums": 0, "attention_efficiency": 0, "attention_backward": 0, "attention_width": 0, "attention_keys": 0, "attention_causal": 0, "flash2_share": 0, "kernel_s": 0, "reduction_s": 0, "column_s": 0, "summed_s": 0, "vector_op_per_s": 0, "eager_launch_s": 2.6e-05, "compiled_launch_s": 0, "comm_latency_s": 0, "copy_bytes_per_s": 0, "comm_share": 0, "jitter": 0, "ports": 6, "link_bytes_per_s": 25000000000, "nic_bytes_per_s": 12500000000, "devices_per_card": 0, "link_efficiency": 1, "nic_efficiency": 1, "latency_s": 1e-06, "energy_j_per_bit": 8e-12, "source"

One is not many, and a machine of one device has no levels.
$ hypar machines ring:1
> ring:1: ring, 1 device, 0 switches, 0 links
>
> devices   fp32/s  fp16/s  bf16/s  memory   bytes/s
> 1 x v100  15.7 T   125 T  15.7 T   16 GB  900 GB/s
>
> links
> bandwidth        25 GB/s  of each link and direction (htree: at the leaves)
> link-efficiency        1  share of the bandwidth that messages reach
> latency             1 us  of each link
> energy              8 pJ  of each bit on each link
>
> v100
> fp32              15.7 TFLOP/s  peak of 32-bit arithmetic
> fp64               7.8 TFLOP/s  peak of 64-bit arithmetic
> bf16              15.7 TFLOP/s  peak in bfloat16
> fp16               125 TFLOP/s  peak of 16-bit arithmetic
> tf32              15.7 TFLOP/s  peak of 32-bit arithmetic by matrix units
> efficiency                 0.5  share of the peak that large products reach
> memory                   16 GB  memory of a device
> memory-bandwidth      900 GB/s  between a device and its memory
> add-energy              0.9 pJ  energy of a 32-bit addition
> multiply-energy         3.7 pJ  energy of a 32-bit multiplication
> sram-energy               5 pJ  energy of a 32-bit access to memory on the chip
> dram-energy             125 pJ  energy of a 32-bit access to the device's memory
> eager-launch             26 us  that the host takes to launch a kernel, one by
>                                 one
> 0, without effect: fp8, usable-memory, context-memory, workspace-memory,
> idle-power, power-limit, busy-power, fp64-energy, fp32-energy, tf32-energy,
> bf16-energy, fp8-energy, vector-energy, reduction-length, output-length,
> unaligned-efficiency, stream-efficiency, product-efficiency, row-efficiency,
> column-efficiency, compiled-column-efficiency, window-efficiency,
> scatter-efficiency, column-sums, attention-efficiency, attention-backward,
> attention-width, attention-keys, attention-causal, flash2-share, kernel-time,
> reduction-time, column-time, summed-time, vector-rate, compiled-launch,
> comm-latency, copy-bandwidth, comm-share, jitter
> From: NVIDIA Tesla V100 data sheet: NVLink 300 GB/s both ways; one 100 Gb/s card
> a node as in AWS p3dn.24xlarge; launches one by one like h200; energy: Horowitz
> ISSCC'14, O'Connor MICRO'17; efficiency, latency and link energy assumed
> Not calibrated: a step may take 0.62 to 1.6 times the prediction, one that is
> all convolutions from 0.29 times.
$ echo '{"format": "hypar-machine/1", "topology": "ring", "shape": [2], "device": {"name": "npu", "source": "its data sheet", "fp32_op_per_s": 1e13, "memory_bytes": 16e9, "memory_bytes_per_s": 4e11, "dram_access_j": 2e-10}, "bytes_per_s": 1e10}' > $TMP/npu.json; hypar machines $TMP/npu.json | tail -n +8; hypar machines $TMP/npu.json -o - | grep source
>
> links
> bandwidth         10 GB/s  of each link and direction (htree: at the leaves)
> link-efficiency~        1  share of the bandwidth that messages reach
> latency~             1 us  of each link
> energy~              8 pJ  of each bit on each link
>
> npu
> fp32              10 TFLOP/s  peak of 32-bit arithmetic
> fp64~              5 TFLOP/s  peak of 64-bit arithmetic
> bf16~             10 TFLOP/s  peak in bfloat16
> fp16~             10 TFLOP/s  peak of 16-bit arithmetic
> tf32~             10 TFLOP/s  peak of 32-bit arithmetic by matrix units
> efficiency~              0.5  share of the peak that large products reach
> memory                 16 GB  memory of a device
> memory-bandwidth    400 GB/s  between a device and its memory
> add-energy~           0.9 pJ  energy of a 32-bit addition
> multiply-energy~      3.7 pJ  energy of a 32-bit multiplication
> sram-energy~            5 pJ  energy of a 32-bit access to memory on the chip
> dram-energy           200 pJ  energy of a 32-bit access to the device's memory
> 0, without effect: fp8, usable-memory, context-memory, workspace-memory,
> idle-power, power-limit, busy-power, fp64-energy, fp32-energy, tf32-energy,
> bf16-energy, fp8-energy, vector-energy, reduction-length, output-length,
> unaligned-efficiency, stream-efficiency, product-efficiency, row-efficiency,
> column-efficiency, compiled-column-efficiency, window-efficiency,
> scatter-efficiency, column-sums, attention-efficiency, attention-backward,
> attention-width, attention-keys, attention-causal, flash2-share, kernel-time,
> reduction-time, column-time, summed-time, vector-rate, eager-launch,
> compiled-launch, comm-latency, copy-bandwidth, comm-share, jitter
> ~ assumed: peaks from those that were given, the rest as of v100
> From: its data sheet
> Not calibrated: a step may take 0.62 to 1.6 times the prediction, one that is
> all convolutions from 0.29 times.
>     "source": "its data sheet",
$ echo '{"format": "hypar-machine/1", "devices": [{"name": "npu", "source": "its data sheet", "fp32_op_per_s": 1e13, "memory_bytes": 16e9, "memory_bytes_per_s": 4e11}], "links": []}' > $TMP/npu.json; hypar machines $TMP/npu.json -o - | grep -o '"source": "[a-z ]*"'
> "source": "its data sheet"
$ hypar machines cluster:1x2
> cluster:1x2: cluster, 2 devices, 1 switch, 2 links
>
> devices   fp32/s  fp16/s  bf16/s  memory   bytes/s
> 2 x v100  15.7 T   125 T  15.7 T   16 GB  900 GB/s
>
> level  ways  bandwidth  latency
> H1        2   150 GB/s     2 us
>
> links
> intra              150 GB/s  cluster: of each device into its node's switch
> inter             12.5 GB/s  cluster: of each network card of a node
> rails                     0  cluster: card i of every node is at its device i,
>                              on switch i
> nics                      1  cluster: network cards of a node
> intra-efficiency          1  cluster: the same of links inside a node
> inter-efficiency          1  cluster: the same of network cards
> latency                1 us  of each link
> inter-latency          2 us  cluster: of each link between nodes
> nvls                      0  cluster: switches inside a node sum for all-reduces
> sharp                     0  cluster: switches between nodes sum for all-reduces
> nccl                      0  cluster: collectives by NCCL's algorithms alone
> leaf                      0  cluster: nodes of a leaf switch (0: one switch for
>                              all nodes)
> oversubscription          1  cluster: the bandwidth into a leaf switch over that
>                              above it
> energy                 8 pJ  of each bit on each link
>
> v100
> fp32              15.7 TFLOP/s  peak of 32-bit arithmetic
> fp64               7.8 TFLOP/s  peak of 64-bit arithmetic
> bf16              15.7 TFLOP/s  peak in bfloat16
> fp16               125 TFLOP/s  peak of 16-bit arithmetic
> tf32              15.7 TFLOP/s  peak of 32-bit arithmetic by matrix units
> efficiency                 0.5  share of the peak that large products reach
> memory                   16 GB  memory of a device
> memory-bandwidth      900 GB/s  between a device and its memory
> add-energy              0.9 pJ  energy of a 32-bit addition
> multiply-energy         3.7 pJ  energy of a 32-bit multiplication
> sram-energy               5 pJ  energy of a 32-bit access to memory on the chip
> dram-energy             125 pJ  energy of a 32-bit access to the device's memory
> eager-launch             26 us  that the host takes to launch a kernel, one by
>                                 one
> 0, without effect: fp8, usable-memory, context-memory, workspace-memory,
> idle-power, power-limit, busy-power, fp64-energy, fp32-energy, tf32-energy,
> bf16-energy, fp8-energy, vector-energy, reduction-length, output-length,
> unaligned-efficiency, stream-efficiency, product-efficiency, row-efficiency,
> column-efficiency, compiled-column-efficiency, window-efficiency,
> scatter-efficiency, column-sums, attention-efficiency, attention-backward,
> attention-width, attention-keys, attention-causal, flash2-share, kernel-time,
> reduction-time, column-time, summed-time, vector-rate, compiled-launch,
> comm-latency, copy-bandwidth, comm-share, jitter
> From: NVIDIA Tesla V100 data sheet: NVLink 300 GB/s both ways; one 100 Gb/s card
> a node as in AWS p3dn.24xlarge; launches one by one like h200; energy: Horowitz
> ISSCC'14, O'Connor MICRO'17; efficiency, latency and link energy assumed
> Not calibrated: a step may take 0.62 to 1.6 times the prediction, one that is
> all convolutions from 0.29 times.

What decides how long kernels take is told of each kind of device, and what was given instead.
$ hypar machines cluster:1x2,device=h200,efficiency=0.5+cluster:1x2,device=t4 | grep -E '^(efficiency|stream|eager|comm|h200|t4|\*|From)'
> h200
> efficiency*                          0.5  share of the peak that large products
> stream-efficiency                  0.766  share of memory-bandwidth of
> eager-launch                       26 us  that the host takes to launch a
> comm-latency                     33.5 us  of every comm, besides its messages
> comm-share                          0.17  of a collective's time: what kernels
> * as given, not as in the table of devices
> From: NVIDIA H200 data sheet: fp64 tensor core, NVLink 900 GB/s both ways; a 400
> t4
> efficiency                         0.62  share of the peak that large products
> stream-efficiency                 0.766  share of memory-bandwidth of
> eager-launch                      26 us  that the host takes to launch a kernel,
> comm-latency                    33.5 us  of every comm, besides its messages
> From: NVIDIA T4 data sheet, PCIe 3.0 x16; fp64 a 32nd of fp32 (Turing
> h200, element-wise arithmetic scaled by multiprocessors and clock; collectives:

No line of a report ends in blanks, and none is longer than 96 characters.
$ hypar plan lenet5 --on full:4 --planner hypar -q -o $TMP/plan.json
$ for c in models ops machines 'models vgg16' 'ops attention' 'machines torus:4x4' 'machines cluster:2x8,device=h200' 'import resnet18' "check $TMP/plan.json" 'plan lenet5 --on full:4'; do hypar $c; done > $TMP/all; awk 'length > 96 || / $/' $TMP/all
$ (hypar planners; hypar lower $TMP/plan.json) | grep -n ' $'
? 1

Parallel links of two devices are one, but those of another latency, which no route takes;
equal devices are one row.
$ echo '{"format": "hypar-machine/1", "devices": ["v100", "v100"], "links": [{"from": 0, "to": 1, "bytes_per_s": 1e9}, {"from": 0, "to": 1, "bytes_per_s": 1e9}, {"from": 1, "to": 0, "bytes_per_s": 1e9, "latency_s": 1e-3}]}' > $TMP/parallel.json; hypar machines $TMP/parallel.json | sed -n '/^level/,/^$/p; /^On no/,/^$/p; /^devices/,/^$/p'
> devices   fp32/s  fp16/s  bf16/s  memory   bytes/s
> 2 x v100  15.7 T   125 T  15.7 T   16 GB  900 GB/s
>
> level  ways  bandwidth  latency
> H1        2     2 GB/s     1 us
>
> On no route between devices: 1 of 2 links (1 - 0). Parallel links of two devices
> are added up only if their latencies are equal.
>
