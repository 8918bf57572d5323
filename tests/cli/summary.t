What `make bench` ends with: a line for each series of the tables that benchmarks write, in the order of the
files; geometric means of their points, and the least and the largest ratio.

$ printf '%s\n' 'paper,figure,what,unit,row,series,printed,ours,ratio' '"A","Figure 1","speed, over dp","","x","one",2,2,1' '"A","Figure 1","speed, over dp","","y","one",8,32,4' '"A","Figure 1","speed, over dp","","x","two, three",10,1,0.1' > $TMP/a.csv
$ printf '%s\n' 'paper,figure,what,unit,row,series,printed,ours,ratio' '"Longer","Table 5","search","s","x","",100,0.5,0.005' > $TMP/b.csv
$ awk -f bench/summary.awk $TMP/a.csv $TMP/b.csv
> paper   what                                 points  paper's     ours  ratio  least   most
> A       Figure 1, speed, over dp: one             2        4        8   2.00   1.00   4.00
> A       Figure 1, speed, over dp: two, three      1       10        1   0.10   0.10   0.10
> Longer  Table 5, search in s                      1      100      0.5  0.005  0.005  0.005
>
> Ratio: ours / paper's; 1: the same. Of several points the geometric mean, and the least and largest ratio.

Without a figure there is nothing to sum up:

$ awk -f bench/summary.awk /dev/null
> no figures
? 1
