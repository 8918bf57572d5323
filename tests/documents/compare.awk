# compare.awk - is what a command printed (file `got`, and `err` for lines that begin with "hypar: ") what
# the document shows?
function plain(text) {
    gsub(/[ \t\n]+/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    return text
}
function whole(file,    line, text) {
    while ((getline line < file) > 0)
        text = text "\n" line
    return text
}
function wrong(piece) {
    print document ": " whole(run) "\n  does not print: " piece
    exit 1
}
function compare(want, text,    n, i, piece, at, parts) {
    want = plain(want)
    text = plain(text)
    n = split(want, parts, /\.\.\./)
    for (i = 1; i <= n; i++) {
        piece = plain(parts[i])
        if (piece == "")
            continue
        at = i == n && i > 1 ? length(text) - length(piece) + 1 : index(text, piece)
        if (at < 1 || substr(text, at, length(piece)) != piece || (i == 1 && at != 1))
            wrong(piece)
        text = substr(text, at + length(piece))
        if (i == n && text != "")
            wrong(piece " (and nothing after it)")
    }
}
/^hypar: / { notes = notes "\n" $0; next }
{ results = results "\n" $0 }
END {
    if (notes) compare("... " notes " ...", whole(err))
    compare(results, whole(got))
}
