#!/bin/sh
# The documents have a line for each term of memory (include/hypar/memory_terms.h): docs/formats-results.md for its key,
# docs/terms.md for its words.
rows=$(sed -nE 's/^ *TERM\(([a-z_]+), [A-Z]+, ([A-Z]+), "([^"]*)", "([^"]*)"\).*/\1|\2|\3|\4/p' include/hypar/memory_terms.h)
[ "$(echo "$rows" | wc -l)" -gt 10 ] || { echo "too few rows in include/hypar/memory_terms.h" && exit 1; }
missing=$(echo "$rows" | while IFS='|' read -r member told words meaning; do
    absent=
    [ "$told" = NONZERO ] && absent='; absent where it is 0'
    first=$(echo "$meaning" | cut -c1 | tr '[:lower:]' '[:upper:]')
    key="| \`${member}_bytes\` | $meaning$absent |"
    term="| $words | $first${meaning#?}. | simulate, plan, check |"
    grep -qxF -e "$key" docs/formats-results.md || echo "docs/formats-results.md lacks: $key"
    grep -qxF -e "$term" docs/terms.md || echo "docs/terms.md lacks: $term"
done)
[ -z "$missing" ] || { echo "$missing" && exit 1; }
