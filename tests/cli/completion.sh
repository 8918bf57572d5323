#!/bin/sh
# completion.sh - what bash completes, by its own machinery; every command and every option of
# its --help is completed; zsh and fish are driven, too, where they are installed.
fail=0
complain() {
    echo "$*"
    fail=1
}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
for shell in bash zsh fish; do
    hypar completion $shell >"$dir/$shell" || complain "hypar completion $shell fails"
done

cat >"$dir/complete" <<'END'
# complete WORD... - what TAB offers behind these words of a line, the last being begun
source "$1" && shift
function=$(complete -p hypar | sed 's/.*-F \([^ ]*\) .*/\1/')
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
"$function" hypar "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
END
offers() { # EXPECTED WORD...: the words offered, in one line
    expected=$1
    shift
    got=$(bash "$dir/complete" "$dir/bash" "$@" | tr '\n' ' ' | sed 's/ $//')
    [ "$got" = "$expected" ] || complain "$*: offers '$got', expected '$expected'"
}
has() { # EXPECTED WORD...: among the words offered
    expected=$1
    shift
    bash "$dir/complete" "$dir/bash" "$@" | grep -qxe "$expected" ||
        complain "$*: does not offer $expected"
}
if command -v bash >/dev/null; then
    offers "plan planners" hypar plan
    offers "simulate" hypar si
    offers "--planner --planner-option" hypar plan vgg16 --pla
    offers "pipedream" hypar plan vgg16 --planner pi
    offers "pipedream" hypar plan vgg16 -p pi
    offers "pipedream" hypar plan vgg16 --planner = pi
    offers "bf16" hypar plan vgg16 --precision b
    offers "1f1b" hypar plan gpt2 --schedule 1
    offers "fp32 bf16 fp64 fp16 tf32" hypar plan vgg16 --precision =
    offers "vgg16" hypar plan vgg16
    offers "torus:" hypar plan vgg16 --on tor
    offers "h100 h100-pcie h100-nvl" hypar plan vgg16 --on cluster : 1x8,device = h100
    offers "h100 h100-pcie h100-nvl" hypar plan vgg16 --on cluster : 1x8,device = H100
    offers "./examples" hypar plan vgg16 --planner ./exam
    offers "auto,./examples" hypar plan vgg16 -p auto,./exam
    offers "dp,hypar" hypar explore lenet-c --planner dp,hyp
    offers "simulated" hypar explore lenet-c --cost s
    offers "examples/machines" hypar simulate examples/mac
    offers "examples/machines" hypar plan vgg16 --svg examples/mac
    offers "" hypar plan vgg16 --batch 3
    offers "zsh" hypar completion z
    mkdir -p "$dir/site/hypar/machines" "$dir/site/hypar/devices"
    touch "$dir/site/hypar/machines/prod.json" "$dir/site/hypar/devices/our-card.json"
    export XDG_CONFIG_HOME="$dir/site"
    offers "prod" hypar plan vgg16 --on pro
    offers "prod" hypar machines pro
    offers "our-card" hypar plan vgg16 --on cluster : 1x8,device = our
    unset XDG_CONFIG_HOME
    offers "vgg16" hypar models vgg16
    for command in $(hypar --help | sed -n 's/^  \([a-z][a-z]*\)  *.*/\1/p'); do
        has "$command" hypar ""
        for option in $(hypar "$command" --help | grep -oE -- '^ .{0,5} --[a-z][a-z-]*' | grep -oE -- '--.*'); do
            has "$option" hypar "$command" "$option"
        done
    done
else
    echo "bash is not installed: not tested"
fi

for shell in zsh fish; do
    if ! command -v $shell >/dev/null; then
        echo "$shell is not installed: not checked"
    elif ! $shell -n "$dir/$shell"; then
        complain "$shell does not take what is written for it"
    fi
done
# LINE|WHAT IT BECOMES: in zsh by TAB, in fish the one that is offered
cat >"$dir/lines" <<'END'
hypar expla|explain
hypar plan --use-f|--use-fewer
hypar plan vgg16 -p pi|pipedream
hypar plan vgg16 -p ./examples/planner|./examples/planner.c
hypar plan vgg16 --planner auto,./examples/planner|auto,./examples/planner.c
hypar compare vgg16 -p dp,hypa|dp,hypar
hypar plan vgg16 --on tor|torus:
hypar plan vgg16 --on cluster:1x8,device=K8|cluster:1x8,device=k80
hypar simulate examples/machi|examples/machines/
hypar help planner|planners
hypar --versi|--version
hypar completion z|zsh
END
if command -v fish >/dev/null; then
    while IFS='|' read -r line becomes; do
        got=$(HOME=$dir fish -c "source $dir/fish; complete -C '$line'" | cut -f 1 | tr '\n' ' ')
        [ "$got" = "$becomes " ] || complain "fish: $line: offers '$got', expected '$becomes'"
    done <"$dir/lines"
fi
cat >"$dir/drive" <<'END'
# A shell on a terminal of its own: each line, TAB, and a key that writes what it became.
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner "fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; stty cols 200
tell() { print -r -- \"\$BUFFER\" >$1/new; mv $1/new $1/became; BUFFER=; }; zle -N tell
zle-line-init() { : >$1/ready }; zle -N zle-line-init; bindkey '^I' complete-word '^X' tell"
await() {
    repeat 100; do
        [[ -e $1 ]] && return
        while zpty -r -t inner seen; do :; done # or it waits for somebody to read
        sleep 0.1
    done
}
await $1/ready
while IFS='|' read -r line becomes; do
    rm -f $1/became
    zpty -n -w inner "$line"$'\t\C-x'
    await $1/became
    got=${"$(<$1/became)"% }
    [[ $got = *" $becomes" ]] || print -r -- "zsh: $line: becomes '$got', expected '$becomes'"
done <$1/lines
zpty -d inner
END
if command -v zsh >/dev/null; then
    cp "$dir/zsh" "$dir/_hypar"
    wrong=$(zsh -f "$dir/drive" "$dir" 2>&1)
    [ -z "$wrong" ] || complain "$wrong"
fi
for option in on planner trace-devices; do
    grep -q -e "--$option=\[" "$dir/zsh" || complain "zsh: no --$option"
    grep -q -e "-l $option " "$dir/fish" || complain "fish: no --$option"
done
exit $fail
