Without a command, the usage is an error.
$ hypar 2>&1 >/dev/null | head -n 1
> Usage: hypar COMMAND [OPTION...] [OPERAND]
$ hypar 2>/dev/null
? 2

A misspelt command gets a suggestion, if there is a near one.
$ hypar modles
> hypar: unknown command 'modles'; did you mean 'models'?
? 2
$ hypar frobnicate
> hypar: unknown command 'frobnicate'; see 'hypar --help'
? 2
$ hypar help chek
> hypar: unknown command 'chek'; did you mean 'check'?
? 2
$ hypar --json models
> hypar: unknown option '--json'; see 'hypar --help'
? 2

Operands are counted.
$ hypar import
> hypar: import: missing operand MODEL; see 'hypar import --help'
? 2
$ hypar check
> hypar: check: missing operand PLAN; see 'hypar check --help'
? 2
$ hypar models resnet50 vgg16
> hypar: models: unexpected operand 'vgg16'; see 'hypar models --help'
? 2
$ hypar import lenet5 vgg16
> hypar: import: unexpected operand 'vgg16'; see 'hypar import --help'
? 2

Options are checked; names may be shortened while they are unique.
$ hypar models --jso=1
> hypar: option '--json' doesn't allow an argument
? 2
$ hypar import lenet5 --frob
> hypar: import: unknown option '--frob'; see 'hypar import --help'
? 2
$ hypar plan lenet5 --on full:2 --planer=dp
> hypar: plan: unknown option '--planer'; did you mean '--planner'?
? 2
$ hypar plan lenet5 --on full:2 --trace t.json
> hypar: plan: unknown option '--trace', an option of compare, simulate, train; see 'hypar plan --help'
? 2
$ hypar compare lenet5 --on full:2 -qo --planer -p dp --memry 2GB
> hypar: compare: unknown option '--memry'; did you mean '--memory'?
? 2
$ hypar plan lenet5 --on full:2 --precision bf61
> hypar: --precision: 'bf61' is not fp32, bf16, fp64, fp16 or tf32; did you mean bf16?
? 2
$ hypar plan lenet5 --on full:2 --shard param
> hypar: --shard: 'param' is not none, optimizer, gradients or parameters; did you mean parameters?
? 2
$ hypar plan lenet5 --on h100
> hypar: machine 'h100': 'h100' is a device, expected a machine of such devices, as cluster:2x8,device=h100
? 3
$ hypar plan lenet5 --on full:2,h100
> hypar: machine 'full:2,h100': 'h100' is a device, expected device=h100
? 3
$ hypar plan gpt3 --on full:2
> hypar: unknown model 'gpt3', did you mean gpt, gpt2 or gpt3-175b?
? 3
$ hypar import lenet5 -Z
> hypar: invalid option -- 'Z'
? 2
$ hypar import lenet5 --batch
> hypar: option '--batch' requires an argument
? 2
$ hypar import lenet5 --batch=many
> hypar: --batch: 'many' is not a whole number from 1 to 1000000000
? 2
$ hypar import lenet5 --batch=0
> hypar: --batch: '0' is not a whole number from 1 to 1000000000
? 2
$ hypar import lenet5 --batch=1.5
> hypar: --batch: '1.5' is not a whole number from 1 to 1000000000
? 2

A message stays one line, whatever it quotes.
$ hypar "$(printf 'two\nlines')"
> hypar: unknown command 'two?lines'; see 'hypar --help'
? 2
$ hypar models "$(printf -- '--two\nlines')"
> hypar: models: unknown option '--two?lines'; see 'hypar models --help'
? 2

One planner makes a plan; auto may have others beside it, from files.
$ hypar plan lenet5 --on full:2 --planner dp,hypar
> hypar: --planner: several, expected one, or auto with files of planners to try, as auto,./mine.so; 'hypar compare' lays several side by side
? 2
$ hypar plan lenet5 --on full:2 --planner auto,dp
> hypar: --planner: several, expected one, or auto with files of planners to try, as auto,./mine.so; 'hypar compare' lays several side by side
? 2
$ hypar plan lenet5 --on full:2 --planner dp --planner-option beam=8
> hypar: --planner-option is for planners of one's own that take it, not dp
? 2
$ hypar compare lenet5 --on full:2 --planner dp --planner-option beam
> hypar: --planner-option is for planners of one's own that take it, not dp
? 2

A plan where a model is expected, and a plan on a machine that is too small for it.
$ cd $TMP && hypar plan lenet5 --on full:4 --planner dp -qo four.plan && hypar plan four.plan --on full:2
> hypar: plan: 'four.plan' is a plan, expected a model; hypar simulate, explain, train and export read plans, and hypar plan --start four.plan searches on from this one
? 2
$ cd $TMP && hypar import four.plan
> hypar: import: 'four.plan' is a plan, expected a model; hypar simulate, explain, train and export read plans, and hypar plan --start four.plan searches on from this one
? 2
$ cd $TMP && hypar simulate four.plan --on full:2
> hypar: four.plan: the plan is for 4 devices, --on full:2 has 2; expected as many, or a plan for them: hypar plan MODEL --on full:2
? 1
