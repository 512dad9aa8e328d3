#!/usr/bin/env bash
# Measured layer times are kept for the user alone, and a home that cannot be reached is no reason to fail.
# Usage: cache.sh PPTRAIN
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

training_text text.txt
cat >job.toml <<'TOML'
[model]
layers = 1
hidden_size = 16
heads = 2
vocabulary_size = 256
[data]
train = "text.txt"
[training]
steps = 1
sequence_length = 16
global_batch_size = 2
TOML
unset XDG_CACHE_HOME

# warned TITLE: the job ran, and one line says that times are not kept.
warned() {
  cases=$((cases + 1))
  if ((code != 0)); then complain "$1" "exit code $code"; return; fi
  if (($(grep -c 'warning: measured layer times are not kept: ' errors.txt) != 1)); then complain "$1" "no such line"; return; fi
  printf 'ok %s\n' "$1"
}

mkdir home
run 60 env HOME="$PWD/home" "$pptrain" job.toml
check "times are kept in the home directory" test -n "$(compgen -G 'home/.cache/pptrain/profile-*.json')"
run 60 env HOME="$PWD/home" "$pptrain" job.toml
check "and found there" printed '^Profile: .*home/.cache/pptrain/profile-'
run 60 env HOME="$PWD/home" XDG_CACHE_HOME="$PWD/home/other" "$pptrain" job.toml
check "or where XDG_CACHE_HOME says" test -n "$(compgen -G 'home/other/pptrain/profile-*.json')"

ln -s loop loop
run 60 env HOME="$PWD/loop" "$pptrain" job.toml
warned "a home directory that cannot be reached"
run 60 env HOME="$PWD/home" XDG_CACHE_HOME="$PWD/loop" "$pptrain" job.toml
warned "a cache directory that cannot be reached"

# The user is one whom this host does not know; only root can become one. The program may be where that user may not go.
unknown=54321
as_unknown=(setpriv --reuid "$unknown" --regid "$unknown" --clear-groups)
chmod 711 .
chmod -R a+rwX outputs
install -m 755 -- "$pptrain" program
if [[ $(id -u) -eq 0 ]] && "${as_unknown[@]}" env "$PWD/program" --version >/dev/null 2>&1; then
  mkdir -m 700 locked
  run 60 "${as_unknown[@]}" env HOME="$PWD/locked" "$PWD/program" job.toml
  warned "a home directory that the user may not enter"
  check "the reason is told" printed 'locked/.cache/pptrain: Permission denied'
  before=$(ls -A /tmp/.cache/pptrain 2>/dev/null || true)
  run 60 "${as_unknown[@]}" env -u HOME "$PWD/program" job.toml
  warned "neither HOME nor a home directory"
  check "no folder that users share is used" test "$before" == "$(ls -A /tmp/.cache/pptrain 2>/dev/null || true)"
fi

finish
