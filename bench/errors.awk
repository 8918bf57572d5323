# errors.awk - of lines "MEASURED PREDICTED NAME" (in unit, seconds): each with its error (predicted over measured, less 1), unless
# brief=1; then median and mean error, bias, how many lie within 10, 15 and 20 % and 2 times, the worst, and of how many pairs
# whose measured times differ by more than 10 % the order is predicted.
function abs(x) { return x < 0 ? -x : x }
function text(s, u) {
    u = unit ? unit : "s"
    return s >= 1 ? sprintf("%.3g %s", s, u) : s >= 1e-3 ? sprintf("%.3g m%s", 1e3 * s, u) : \
        s >= 1e-6 ? sprintf("%.3g u%s", 1e6 * s, u) : sprintf("%.3g n%s", 1e9 * s, u)
}
function line(i) {
    printf "%-*s  %10s  %10s  %+8.1f %%\n", width, name[i], text(measured[i]), text(predicted[i]), 100 * error[i]
}
function sort(value, n,    i, k, v) { # n is small, or nearly sorted
    for (i = 2; i <= n; i++) {
        v = value[i]
        for (k = i - 1; k > 0 && value[k] > v; k--) value[k + 1] = value[k]
        value[k + 1] = v
    }
}
$1 > 0 && $2 > 0 {
    n++
    measured[n] = $1 + 0
    predicted[n] = $2 + 0
    error[n] = $2 / $1 - 1
    name[n] = $0
    sub(/^[^ ]+ [^ ]+ /, "", name[n])
    if (length(name[n]) > width) width = length(name[n])
}
END {
    if (!n) {
        print "nothing to compare"
        exit
    }
    if (!brief) {
        printf "%-*s  %10s  %10s  %10s\n", width, "", "measured", "predicted", "error"
        for (i = 1; i <= n; i++) line(i)
    }
    for (i = 1; i <= n; i++) {
        size[i] = abs(error[i])
        mean += size[i] / n
        bias += error[i] / n
        within10 += size[i] <= .1
        within15 += size[i] <= .15
        within20 += size[i] <= .2
        twice += error[i] <= 1 && error[i] >= -.5
        times = measured[i] > predicted[i] ? measured[i] / predicted[i] : predicted[i] / measured[i]
        if (times > most) {
            most = times
            worst = i
        }
    }
    for (i = 1; i <= n && n <= 100; i++)
        for (k = i + 1; k <= n; k++)
            if (measured[i] > 1.1 * measured[k] || measured[k] > 1.1 * measured[i]) {
                pairs++
                right += (measured[i] > measured[k]) == (predicted[i] > predicted[k])
            }
    sort(size, n)
    median = n % 2 ? size[(n + 1) / 2] : (size[n / 2] + size[n / 2 + 1]) / 2
    printf "%d rows: error median %.1f %%, mean %.1f %%, bias %+.1f %%; within 10 %% %d, 15 %% %d, 20 %% %d, 2 times %d\n",
        n, 100 * median, 100 * mean, 100 * bias, within10, within15, within20, twice
    printf "worst: %s, %s measured, %s predicted (%.3g times off)\n", name[worst], text(measured[worst]),
        text(predicted[worst]), most
    if (pairs) printf "order predicted: %d of %d pairs that differ by more than 10 %%\n", right, pairs
}
