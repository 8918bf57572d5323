The version, then a line for each optional library.
$ hypar --version | sed 's/: \(yes\|no\) .*/: yes or no/'
> hypar 0.1.0
> hwloc: yes or no
> openblas: yes or no
> onednn: yes or no
> mpi: yes or no
> protobuf-c: yes or no

$ hypar version | head -n 1
> hypar 0.1.0
