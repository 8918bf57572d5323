# items.awk - the command lines of a document, one by one: items/NNN.run, and NNN.want, what it prints,
# where the document shows that.
function next_item() {
    if (out) close(out)
    if (want) close(want)
    out = sprintf("%s/%03d.run", items, ++n)
    want = ""
}
function complain(text) {
    print FILENAME ":" FNR ": " text
    bad = 1
}
/not run: / { skip = 1; next }

# Manual pages.
/^\.Dl \$ / {
    if (!skip) {
        next_item()
        gsub(/\\&/, "")
        gsub(/\\-/, "-")
        print substr($0, 7) > out
    }
    skip = 0
    next
}

# Markdown.
/^```/ && !block {
    block = substr($0, 4)
    if (block == "sh" && !skip) next_item()
    if (block == "") complain("a block of no kind: ```text, ```console, ...")
    next
}
/^```$/ {
    block = ""
    skip = 0
    next
}
block == "" && /^    +(\$|hypar|mpirun|torchrun|python3?|make|cmake) / {
    complain("a command outside of ```console and ```sh is not run")
}
skip { next }
block == "sh" { print > out }
block == "console" && /^\$ / {
    next_item()
    print substr($0, 3) > out
    next
}
block == "console" && /^> / && !want {
    print substr($0, 3) > out
    next
}
block == "console" {
    if (!want) want = sprintf("%s/%03d.want", items, n)
    print > want
}
END { exit bad }
