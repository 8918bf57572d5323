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
