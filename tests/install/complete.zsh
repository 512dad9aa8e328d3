#!/usr/bin/env zsh
# What zsh offers, in the present folder, when Tab is pressed behind LINE.
# Usage: zsh -f complete.zsh FUNCTIONS_FOLDER LINE
zmodload zsh/zpty
setup=$(mktemp)
trap 'rm -f -- $setup' EXIT

# Completion needs the line editor, so a shell of its own behind a terminal. It prints what is offered, too.
print -r -- "fpath=(${(q)1} \$fpath)" >$setup
cat >>$setup <<'SETUP'
PROMPT= RPROMPT=
autoload -Uz compinit
compinit -D -u
bindkey '^I' complete-word
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a offered=()
  builtin compadd -A offered "$@"
  (( $#offered )) && print -rl -- "" OFFERED:${^offered}
  builtin compadd "$@"
}
finish() { print -r -- FINISHED; exit }
zle -N finish
bindkey '^X' finish
print -r -- READY
SETUP

TERM=dumb zpty terminal zsh -f -i
zpty -w terminal ". ${(q)setup}"
zpty -r terminal output '*READY*'
zpty -w -n terminal "$2"$'\t\x18'
zpty -r terminal output '*FINISHED*'
zpty -d terminal
for line in ${(f)output//$'\r'}; do
  [[ $line == OFFERED:* ]] && print -r -- ${line#OFFERED:}
done | sort -u
