# summary.awk - one line for each series of the figures in tables that benchmarks wrote (--csv): the
# paper's and ours (geometric means where there are several points), their ratio, and the least and
# the largest ratio of a point.
function fields(line, f,    last) { # six "quoted" cells, then three numbers
    split(substr(line, 2), f, "\",\"")
    split(f[6], last, /",/)
    f[6] = last[1]
    split(last[2], last, ",")
    for (i = 1; i <= 3; i++)
        f[6 + i] = last[i]
}
function figure(mean) {
    return sprintf(mean < 1000 ? "%.3g" : "%.0f", mean)
}
function ratio(value) {
    return sprintf(value < 0.095 ? "%.1g" : "%.2f", value)
}
FNR == 1 { next }
{
    fields($0, f)
    key = f[1] SUBSEP f[2] SUBSEP f[6]
    if (!(key in n)) {
        order[++rows] = key
        paper[key] = f[1]
        what[key] = f[2] ", " f[3] (f[4] == "" ? "" : " in " f[4]) (f[6] == "" ? "" : ": " f[6])
        least[key] = most[key] = f[9]
    }
    n[key]++
    printed[key] += log(f[7])
    ours[key] += log(f[8])
    if (f[9] < least[key]) least[key] = f[9]
    if (f[9] > most[key]) most[key] = f[9]
}
END {
    if (!rows) {
        print "no figures"
        exit 1
    }
    for (r = 1; r <= rows; r++) {
        wide_paper = length(paper[order[r]]) > wide_paper ? length(paper[order[r]]) : wide_paper
        wide = length(what[order[r]]) > wide ? length(what[order[r]]) : wide
    }
    line = "%-" wide_paper "s  %-" wide "s %6s %8s %8s %6s %6s %6s\n"
    printf line, "paper", "what", "points", "paper's", "ours", "ratio", "least", "most"
    for (r = 1; r <= rows; r++) {
        k = order[r]
        printf line, paper[k], what[k], n[k], figure(exp(printed[k] / n[k])),
               figure(exp(ours[k] / n[k])), ratio(exp((ours[k] - printed[k]) / n[k])),
               ratio(least[k]), ratio(most[k])
    }
    print "\nRatio: ours / paper's; 1: the same. Of several points the geometric mean, and the least and largest ratio."
}
