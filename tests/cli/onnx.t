An ONNX file as PyTorch writes it, without values of weights. What the file leaves open is told.
$ hypar import examples/models/encoder.onnx --batch 8 -q | tail -n 3
>
> encoder: 231,016 parameters, 10.9 MFLOP per sample forward, 34 operators, 14
> weighted layers, batch 8
$ hypar import examples/models/encoder.onnx --json 2>&1 | grep -E 'note|batch|params|opaque|shape'
> hypar: note: examples/models/encoder.onnx: the file leaves the batch open: 32
>        samples, --batch changes it
> hypar: note: examples/models/encoder.onnx: dropout of attention weights is left
>   "batch": 32,
>   "params": 231016,
>   "opaque": [],
>     {"name": "x", "shape": [32, 32]},
>     {"name": "labels", "shape": [32, 32]}
>     {"name": "/head", "shape": [32, 32, 1000]}
$ hypar import examples/models/encoder.onnx --batch 8 -q | grep -E 'layers.0' | sed 's/  *n=.*//'
> /encoder/layers.0/self_attn[0:64]     linear         8x32x64     4,160   262 k
> /encoder/layers.0/self_attn[64:128]   linear         8x32x64     4,160   262 k
> /encoder/layers.0/self_attn[128:192]  linear         8x32x64     4,160   262 k
> /encoder/layers.0/self_attn           attention      8x32x64             262 k
> /encoder/layers.0/self_attn/Gemm      linear         8x32x64     4,160   262 k
> /encoder/layers.0/dropout1/Dropout    dropout        8x32x64
> /encoder/layers.0/Add                 add            8x32x64
> /encoder/layers.0/norm1               layer_norm     8x32x64       128
> /encoder/layers.0/linear1             linear         8x32x256   16,640  1.05 M
> /encoder/layers.0/Mul_1               gelu           8x32x256
> /encoder/layers.0/dropout/Dropout     dropout        8x32x256
> /encoder/layers.0/linear2             linear         8x32x64    16,448  1.05 M
> /encoder/layers.0/dropout2/Dropout    dropout        8x32x64
> /encoder/layers.0/Add_2               add            8x32x64
> /encoder/layers.0/norm2               layer_norm     8x32x64       128

Sequence first: the file says where its samples are, or the user does.
$ hypar import tests/data/onnx/train/lstm_lm.onnx --batch 8 -q | head -n 9
> operator                     kind          output     params   FLOP split along
> /embed/Gather                embedding     20x8x128  128,000        n=8 t=20
>                                                                     k=128 v=1000
> /drop/Dropout                dropout       20x8x128                 t=20
>                                                                     n=8 c=128
> /drop/Dropout.view.transpose transpose     8x20x128                 n=8
>                                                                     t=20 c=128
> /lstm/LSTM                   lstm          8x20x128  132,096 5.24 M n=8
> /lstm/LSTM_1                 lstm          8x20x128  132,096 5.24 M n=8
$ hypar import tests/data/onnx/train/lstm_lm.onnx --batch 8 --batch-dim x=1 --json | grep shape
>     {"name": "x", "shape": [20, 8]},
>     {"name": "labels", "shape": [20, 8]}
>     {"name": "/head.view.transpose", "shape": [20, 8, 1000]}
$ hypar import tests/data/onnx/train/lstm_lm.onnx --batch 8 --batch-dim x=2
> hypar: tests/data/onnx/train/lstm_lm.onnx: input 'x' has 2 dimensions, the samples cannot be in 2
? 3
$ hypar import tests/data/onnx/train/lstm_lm.onnx:batch-dim=x=1 --batch 4 --json | grep shape
>     {"name": "x", "shape": [20, 4]},
>     {"name": "labels", "shape": [20, 4]}
>     {"name": "/head.view.transpose", "shape": [20, 4, 1000]}

A plan of it is a plan like any other, and remembers how the file was read.
$ cp tests/data/onnx/train/lstm_lm.onnx $TMP/lm.onnx
$ hypar plan $TMP/lm.onnx --batch 32 --batch-dim x=1 --on full:4 -q -o $TMP/plan.json && grep '"model"' $TMP/plan.json
>   "model": "./lm.onnx:batch-dim=x=1",
$ hypar check $TMP/plan.json | head -n 1
> ok: lm, batch 32: 9 operators in 36 parts on a machine of 4 devices

So does one on standard output, in a pipe or behind a link, also of a file of another name.
$ cd $TMP && mkdir d && ln -s d/q.json link && mkfifo pipe && cp lm.onnx lm.net
$ cd $TMP && plan='hypar plan lm.onnx --batch-dim x=0 --dim batch=5 --on full:4 --planner dp -q' && { $plan -o -; $plan -o /dev/stdout; $plan -o /dev/stdout | cat; $plan -o link && cat d/q.json; $plan -o pipe & timeout 60 cat pipe; } | grep '"model"'
>   "model": "lm.onnx:batch-dim=x=0,dim=batch=5",
>   "model": "lm.onnx:batch-dim=x=0,dim=batch=5",
>   "model": "lm.onnx:batch-dim=x=0,dim=batch=5",
>   "model": "../lm.onnx:batch-dim=x=0,dim=batch=5",
>   "model": "./lm.onnx:batch-dim=x=0,dim=batch=5",
$ cd $TMP && hypar check link | head -n 1 && hypar plan ./lm.net --batch-dim x=0 --dim batch=5 --on full:4 --planner dp -o - | hypar check /dev/stdin | head -n 1
> ok: lm, batch 20: 9 operators in 36 parts on a machine of 4 devices
> ok: lm, batch 20: 9 operators in 36 parts on a machine of 4 devices
$ cd $TMP && hypar plan ./lm.net --batch-dim x=0 --dim batch=5 --on full:4 --planner dp -q -o d/q.json && grep '"model"' d/q.json && hypar check d/q.json | head -n 1
>   "model": "../lm.net:batch-dim=x=0,dim=batch=5",
> ok: lm, batch 20: 9 operators in 36 parts on a machine of 4 devices
$ cd $TMP && hypar plan --start d/q.json --proposals 4 -o - | hypar check - | head -n 1
> ok: lm, batch 20: 9 operators in 36 parts on a machine of 4 devices
$ cd $TMP && hypar import lm.onnx:$(printf 'dim=seq=128,%.0s' $(seq 100))
> hypar: model 'lm.onnx:dim=seq=128,dim=seq=128,dim=seq=...': too long, expected options of less than 1024 characters
? 3
$ hypar import $TMP/lm.onnx --batch 8 -q -o $TMP/lm.json && hypar import $TMP/lm.json | tail -n 2
> lm: 521,192 parameters, 15.6 MFLOP per sample forward, 9 operators, 4 weighted
> layers, batch 8

Options of which there may be several add up, with commas or one by one.
$ for d in nope=3,batch=5 'nope=3 --dim batch=5' 'batch=5 --dim nope=3'; do hypar import tests/data/onnx/train/lstm_lm.onnx --dim $d; done
> hypar: tests/data/onnx/train/lstm_lm.onnx: the model has no symbolic dimension 'nope'; it has batch
> hypar: tests/data/onnx/train/lstm_lm.onnx: the model has no symbolic dimension 'nope'; it has batch
> hypar: tests/data/onnx/train/lstm_lm.onnx: the model has no symbolic dimension 'nope'; it has batch
? 3

Weights in a file beside the model; a link out of its folder is followed only if that is asked for.
$ mkdir $TMP/x $TMP/elsewhere && cp tests/data/external.onnx $TMP/x && head -c 96 /dev/zero > $TMP/elsewhere/w.bin && ln -s ../elsewhere/w.bin $TMP/x && cd $TMP/x && hypar import external.onnx -q; hypar import external.onnx --follow-links | tail -n 1
> hypar: external.onnx: initializer 'w': external data 'w.bin' is a link out of the model's folder, which --follow-links allows
> hypar: note: external.onnx: the file leaves the batch open: 32 samples, --batch
>        changes it
> layer, batch 32
$ cd $TMP/x && hypar plan external.onnx --on full:2 -q -o p.json; hypar plan external.onnx --follow-links --on full:2 -q -o p.json; hypar check p.json -q; hypar check p.json --follow-links | head -n 1
> hypar: external.onnx: initializer 'w': external data 'w.bin' is a link out of the model's folder, which --follow-links allows
> hypar: p.json: model: ./external.onnx: initializer 'w': external data './w.bin' is a link out of the model's folder, which --follow-links allows
> hypar: note: 1 of 2 devices has nothing to do
> ok: external, batch 32: 2 operators in 2 parts on a machine of 2 devices
$ cd $TMP/x && for c in 'lower -o /dev/null' simulate compare; do hypar $c p.json; hypar $c p.json --follow-links > /dev/null && echo read; done
> hypar: p.json: model: ./external.onnx: initializer 'w': external data './w.bin' is a link out of the model's folder, which --follow-links allows
> hypar: note: 1 of 2 devices has nothing to do
> read
> hypar: p.json: model: ./external.onnx: initializer 'w': external data './w.bin' is a link out of the model's folder, which --follow-links allows
> hypar: note: 1 of 2 devices has nothing to do
> read
> hypar: p.json: model: ./external.onnx: initializer 'w': external data './w.bin' is a link out of the model's folder, which --follow-links allows
> read
$ cd $TMP/x && for l in '' --follow-links; do hypar explore external.onnx $l -q --on htree:4 --devices 2,4 | head -n 1; done
> hypar: external.onnx: initializer 'w': external data 'w.bin' is a link out of the model's folder, which --follow-links allows
> external, batch 32, on 2 machines like htree:4: plans of hypar and dp

Names beyond ASCII stay.
$ LC_ALL=C sed 's|/norm/|/n\xc3\xb6m/|g' tests/data/onnx/small/convolutions.onnx > $TMP/c.onnx; hypar import $TMP/c.onnx -q -o $TMP/c.json; grep -o '"/nöm/[^"]*"' $TMP/c.json | head -1
> "/nöm/BatchNormalization"
