-o writes a file, whole or not at all; '-' is standard output.
$ hypar models --json -o $TMP/models.json
$ hypar models --json | cmp - $TMP/models.json
$ hypar models --json -o - | cmp - $TMP/models.json
$ ls $TMP
> models.json

A result that cannot be written is an error, wherever it was to go.
$ hypar models > /dev/full
> hypar: standard output: cannot write: No space left on device
? 4
$ hypar models >&-
> hypar: standard output: cannot write: Bad file descriptor
? 4
$ hypar --help > /dev/full
> hypar: standard output: cannot write: No space left on device
? 4
$ hypar ops --help > /dev/full
> hypar: standard output: cannot write: No space left on device
? 4
$ hypar models -o $TMP/none/models.json
> hypar: $TMP/none/models.json: cannot write: No such file or directory
? 4
$ hypar models -o $TMP
> hypar: $TMP: cannot write: Is a directory
? 4

A graph and a machine are written beside a summary, which -q leaves out.
$ hypar import lenet5 -q -o $TMP/lenet5.json
$ hypar import $TMP/lenet5.json -o - | cmp - $TMP/lenet5.json
$ hypar machines torus:2x2 -q -o $TMP/torus.json
$ hypar machines $TMP/torus.json -o - | cmp - $TMP/torus.json
$ ls $TMP
> lenet5.json
> models.json
> torus.json

The summary of what was read back is the same.
$ hypar import lenet5 --json > $TMP/a; hypar import $TMP/lenet5.json --json | cmp - $TMP/a
$ hypar machines torus:2x2 --json > $TMP/a; hypar machines $TMP/torus.json --json | cmp - $TMP/a

A model may come through a pipe, whatever its name.
$ hypar import lenet5 --json > $TMP/a; hypar import lenet5 -o - | hypar import /dev/stdin --json | cmp - $TMP/a
$ mkfifo $TMP/pipe; hypar import lenet5 -o - > $TMP/pipe & hypar import $TMP/pipe --json | cmp - $TMP/a; rm $TMP/pipe

A limit on the size of files is an error like another; a signal leaves no file behind.
$ ulimit -f 1; hypar models -o $TMP/b
> hypar: $TMP/b: cannot write: File too large
? 4
$ for s in INT TERM HUP; do for t in 0.1 0.4; do timeout -s $s $t hypar import gpt3-175b:layers=4096 -q -o $TMP/big; done; done; ls $TMP | grep part
? 1

Files appear when all is done, or none; a reader that goes away is no reason to lose one.
$ rm -rf $TMP/* && hypar simulate tests/cli/plan.json --trace $TMP/trace -o $TMP/none/report; ls $TMP
> hypar: $TMP/none/report: cannot write: No such file or directory
$ hypar import lenet5 -o $TMP/graph | true; ls $TMP
> graph

No file is written twice, nor one that is read, however it is spelt; it is said before any work.
$ rm -rf $TMP/* && hypar plan lenet5 --on full:2 --planner dp -q -o $TMP/p.json
$ hypar simulate $TMP/p.json -o $TMP/x --trace $TMP/x
> hypar: --output: '$TMP/x' is what --trace writes, expected another file
? 2
$ hypar simulate $TMP/p.json -o $TMP/x --trace $TMP/./x
> hypar: --output: '$TMP/x' is what --trace writes, expected another file
? 2
$ cd $TMP && hypar simulate p.json -o x --trace ../tmp/x
> hypar: --output: 'x' is what --trace writes, expected another file
? 2
$ touch $TMP/a && ln $TMP/a $TMP/b && ln -s a $TMP/c
$ hypar simulate $TMP/p.json -o $TMP/a --trace $TMP/b
> hypar: --output: '$TMP/a' is what --trace writes, expected another file
? 2
$ hypar simulate $TMP/p.json -o $TMP/a --trace $TMP/c
> hypar: --output: '$TMP/a' is what --trace writes, expected another file
? 2
$ ln -s new $TMP/d && hypar simulate $TMP/p.json -o $TMP/d --trace $TMP/new; rm $TMP/d
> hypar: --output: '$TMP/d' is what --trace writes, expected another file
$ hypar explore lenet5 --on htree:4 --levels H1 --csv $TMP/x --svg $TMP/x
> hypar: --csv: '$TMP/x' is what --svg writes, expected another file
? 2
$ hypar compare lenet5 --on full:2 --csv $TMP/x -o $TMP/x
> hypar: --csv: '$TMP/x' is what --output writes, expected another file
? 2
$ cp $TMP/p.json $TMP/was; hypar simulate $TMP/p.json -o $TMP/p.json
> hypar: --output: '$TMP/p.json' is what this command reads, expected another file
? 2
$ hypar lower $TMP/p.json -q -o $TMP/p.json
> hypar: --output: '$TMP/p.json' is what this command reads, expected another file
? 2
$ hypar simulate - -o $TMP/p.json < $TMP/p.json
> hypar: --output: '$TMP/p.json' is what this command reads, expected another file
? 2
$ hypar simulate $TMP/p.json --profile $TMP/a --trace $TMP/c
> hypar: --trace: '$TMP/c' is what --profile reads, expected another file
? 2
$ hypar import lenet5 -q -o $TMP/g.json; hypar lower $TMP/p.json --model $TMP/g.json -o $TMP/g.json
> hypar: --output: '$TMP/g.json' is what --model reads, expected another file
? 2
$ cp $TMP/g.json $TMP/net.onnx; hypar import $TMP/net.onnx:dim=n=1 -o $TMP/net.onnx
> hypar: --output: '$TMP/net.onnx' is what this command reads, expected another file
? 2
$ cmp $TMP/p.json $TMP/was && cmp $TMP/g.json $TMP/net.onnx && ls $TMP
> a
> b
> c
> g.json
> net.onnx
> p.json
> was

The same holds for the files that a plan names, which may not even fit; seen before any is written.
$ cd $TMP && rm * && mkdir d && hypar import lenet5 -q -o g.json && hypar machines full:2 -q -o m.json
$ cd $TMP && hypar plan g.json --on full:2 --planner dp -q -o d/p.json && sed -i 's|"full:2"|"../m.json"|' d/p.json
$ cd $TMP && ln -s g.json link && cp -r . ../was
$ cd $TMP && hypar lower d/p.json -o g.json
> hypar: d/p.json: model: --output: 'g.json' is what this command reads, expected another file
? 2
$ cd $TMP && hypar lower d/p.json -o d/../m.json
> hypar: d/p.json: machine: --output: 'd/../m.json' is what this command reads, expected another file
? 2
$ cd $TMP && hypar simulate d/p.json --trace g.json
> hypar: d/p.json: model: --trace: 'g.json' is what this command reads, expected another file
? 2
$ cd $TMP && hypar simulate d/p.json -o link --trace new
> hypar: d/p.json: model: --output: 'link' is what this command reads, expected another file
? 2
$ cd $TMP && hypar simulate d/p.json --fits -o m.json
> hypar: d/p.json: machine: --output: 'm.json' is what this command reads, expected another file
? 2
$ cd $TMP && hypar plan --start d/p.json --proposals 4 -o g.json
> hypar: d/p.json: model: --output: 'g.json' is what this command reads, expected another file
? 2
$ cd $TMP/d && hypar plan --start - ../g.json -o ../m.json < p.json
> hypar: standard input: machine: --output: '../m.json' is what this command reads, expected another file
? 2
$ cd $TMP && hypar check d/p.json -o g.json
> hypar: d/p.json: model: --output: 'g.json' is what this command reads, expected another file
? 2
$ cd $TMP && sed 's/"graph_hash": "./&0/; s/\("graph_hash": ".*\).",/\1",/' d/p.json > d/q.json; hypar check d/q.json --json -o g.json
> hypar: d/q.json: model: --output: 'g.json' is what this command reads, expected another file
? 2
$ cd $TMP && hypar check d/q.json --json -o m.json
> hypar: d/q.json: machine: --output: 'm.json' is what this command reads, expected another file
? 2
$ cd $TMP && rm d/q.json && diff -r . ../was && rm -r ../was

Where another model or machine is told, that of the plan is free.
$ cd $TMP && hypar lower d/p.json --model lenet5 -q -o g.json && hypar simulate d/p.json --model lenet5 --on full:2 -o m.json && rm -r *
$ hypar plan lenet5 --on full:2 --planner dp -q -o $TMP/p.json

What takes one thing after the other may be given twice; a file that standard output goes to is not replaced.
$ hypar simulate $TMP/p.json -o /dev/null --trace /dev/null
$ hypar simulate $TMP/p.json -o - --trace - > $TMP/x; hypar simulate $TMP/p.json -o /dev/stdout --trace - > $TMP/y; cmp $TMP/x $TMP/y
$ hypar simulate $TMP/p.json --trace $TMP/y > $TMP/y; cmp $TMP/x $TMP/y
$ { echo first; hypar models -o /dev/stdout; } > $TMP/x; head -n 1 $TMP/x
> first
$ hypar models lenet5 -o /dev/stdout | cat > $TMP/x; hypar models lenet5 -o /dev/fd/3 3>&1 >/dev/null | cmp - $TMP/x; hypar models lenet5 | cmp - $TMP/x

A plan may be improved in its place.
$ hypar plan --start $TMP/p.json --proposals 3 -q -o $TMP/p.json && hypar check -q $TMP/p.json -o /dev/null

A table on standard output stands there alone, and where JSON is to go, too, it is told.
$ hypar explore lenet-c --on htree:4 --levels H1 --csv - | sed 1d | grep -vc '^"htree:4"'
> 0
? 1
$ hypar explore lenet-c --on htree:4 --levels H1 --csv - --json
> hypar: --json beside --csv -: expected one of them on standard output
? 2
$ hypar plan lenet5 --on full:2 --planner dp --csv - --json -o $TMP/plan
> hypar: --json beside --csv -: expected one of them on standard output
? 2
$ hypar compare lenet5 --on full:2 --planner dp --svg - --json
> hypar: --json beside --svg -: expected one of them on standard output
? 2
$ hypar compare lenet5 --on full:2 --planner dp --csv - --json -o $TMP/json | cut -d , -f 1; grep -c '"plans"' $TMP/json
> planner
> dp
> 1

What --json asks for is a result: -q leaves out text, not that.
$ cd $TMP && rm -rf * && hypar plan lenet5 --on full:2 --planner dp -q -o p.json && for c in 'plan lenet5 --on full:2 --planner dp -o x' 'import lenet5 -o x' 'machines full:2 -o x' 'lower p.json -o x' 'export p.json -o x' 'simulate p.json --measured 1ms -o x' 'simulate p.json --trace x' 'simulate p.json --csv x' 'train p.json --in-process --steps 1 -o x'; do hypar $c -q >text; hypar $c -q --json >json; echo "$(head -c 1 text)$(head -c 1 json) $c"; done
> { plan lenet5 --on full:2 --planner dp -o x
> { import lenet5 -o x
> { machines full:2 -o x
> { lower p.json -o x
> { export p.json -o x
> { simulate p.json --measured 1ms -o x
> { simulate p.json --trace x
> { simulate p.json --csv x
> { train p.json --in-process --steps 1 -o x

A text that a spreadsheet would run gets an apostrophe; a number stays one.
$ cd $TMP && rm -rf * && hypar import mlp:4-4 -q -o g.json && sed -i 's/"fc1"/"=cmd()"/' g.json && hypar plan g.json --on full:2 --planner dp --csv - | sed 1d
> "'=cmd()",linear,,n=2,2,0-1,0,none
> "loss",cross_entropy,,n=2,2,0-1,0,none

Files that cannot be written are told before any work, here before the model or the plan is even looked for.
$ cd $TMP && rm -rf * && mkdir folder && long=$(printf %0300d 0) && for c in 'plan none --on full:2 -o' 'plan none --on full:2 --svg' 'plan none --on full:2 --csv' 'compare none --on full:2 -o' 'simulate none --trace' 'simulate none --timeline' 'simulate none --svg' 'export none --nearest' 'report none -o' 'explore none --csv' 'train none --checkpoint' 'train none --trace' 'profile none -o' 'import none -o' 'check none -o' 'lower none -o'; do for f in $long none/x folder; do hypar $c $f 2>&1 | sed "s/$long/LONG/; s/^.*cannot/cannot/" | tr '\n' ';'; done; echo " $c"; done; ls
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; plan none --on full:2 -o
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; plan none --on full:2 --svg
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; plan none --on full:2 --csv
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; compare none --on full:2 -o
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; simulate none --trace
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; simulate none --timeline
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; simulate none --svg
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; export none --nearest
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; report none -o
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; explore none --csv
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; train none --checkpoint
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; train none --trace
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; profile none -o
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; import none -o
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; check none -o
> cannot write: File name too long;cannot write: No such file or directory;cannot write: Is a directory; lower none -o
> folder
$ cd $TMP && echo old > old && hypar import none -o old; cat old; ls
> hypar: unknown model 'none', expected one that 'hypar models' lists, or a path (with a '/', or ending in .json)
> old
> folder
> old
