The version, then a line for each optional library.
$ hypar --version | sed 's/: \(yes\|no\) .*/: yes or no/'
> hypar 0.1.0
> hwloc: yes or no
> openblas: yes or no
> mpi: yes or no
> cuda: yes or no
> protobuf-c: yes or no

$ hypar version | head -n 1
> hypar 0.1.0

A library that this machine does not have is told of, though the build has it.
$ for name in libmpi.so.40 libopenblas.so.0; do : >$TMP/$name; done
$ LD_LIBRARY_PATH=$TMP hypar --version | grep -c 'yes (fast\|yes (training on several'
> 0
? 1

A library that is there and cannot be used is told of, too.
$ : >$TMP/libcuda.so.1; HYPAR_CUDA_PATH=$TMP hypar --version | sed -n "s|$TMP|TMP|;/^cuda/p"; rm $TMP/libcuda.so.1
> cuda: no (cannot be loaded: NVIDIA's driver: TMP/libcuda.so.1: file too short)

Without mpirun ranks are not started here.
$ mkdir $TMP/bin; ln -s "$(command -v hypar)" $TMP/bin; PATH=$TMP/bin hypar --version | grep '^mpi: yes' | grep -cv 'but mpirun is not in PATH'
> 0
? 1

$ hypar --version --json | python3 -c 'import json, sys; v = json.load(sys.stdin); print(v["version"], *v["libraries"])'
> 0.1.0 hwloc openblas mpi cuda protobuf-c

Tests of the command say so if the library beside it is newer.
$ cp "$(command -v hypar)" $TMP; touch -d '1 hour ago' $TMP/hypar; PATH=$TMP:$PATH sh tests/cli/current.sh
$ touch $TMP/libhypar.a; PATH=$TMP:$PATH sh tests/cli/current.sh
> $TMP/hypar is older than $TMP/libhypar.a: build it first, by 'make tests' or the target hypar-cli
? 2
$ PATH=$TMP:$PATH sh tests/cli/run.sh tests/cli/version.t; PATH=$TMP:$PATH sh tests/documents/run.sh README.md
> $TMP/hypar is older than $TMP/libhypar.a: build it first, by 'make tests' or the target hypar-cli
> $TMP/hypar is older than $TMP/libhypar.a: build it first, by 'make tests' or the target hypar-cli
? 2
