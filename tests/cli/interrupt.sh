#!/usr/bin/env bash
# Ctrl-C ends a job in any of its phases with exit code 130 and one line that says what was reached and how to go on;
# nothing is left behind, neither ranks nor a daemon of a job that no launcher started.
# Usage: interrupt.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

training_text text.txt
cat >job.toml <<'TOML'
[job]
name = "interrupted"
[model]
layers = 2
hidden_size = 64
heads = 4
vocabulary_size = 256
[data]
train = "text.txt"
[training]
steps = 1000000
sequence_length = 32
global_batch_size = 8
[cluster]
file = "cluster.toml"
[profile]
analytic = true
TOML
sed '/\[cluster\]/,$d' job.toml >measured.toml
this_machine 1 >cluster.toml
this_machine 2 >two.toml
export XDG_CACHE_HOME=$PWD/cache
longest_seconds=60
started=
clean_up() { [[ -z $started ]] || kill -KILL "$started" 2>/dev/null || true; }

# start COMMAND...: in the background as `started`. Scripts start background processes with SIGINT ignored, which stays so.
start() {
  rm -rf outputs
  : >output.txt
  : >errors.txt
  env --default-signal=INT "$@" >output.txt 2>errors.txt </dev/null &
  started=$!
}

# await CONDITION...: until it holds; fails where the process ends before, or where it takes too long.
await() {
  local end=$((SECONDS + longest_seconds))
  until "$@"; do
    if ! kill -0 "$started" 2>/dev/null || ((SECONDS > end)); then return 1; fi
    sleep 0.02
  done
}

said() { grep -aEq -- "$1" output.txt errors.txt; }
trains() { compgen -G 'outputs/*/*/metrics.h5' >/dev/null && said 'step +1/'; }
catches_interrupts() {
  [[ /proc/$started/exe -ef $pptrain ]] &&
    (((0x$(awk '/^SigCgt/ {print $2}' "/proc/$started/status" 2>/dev/null || echo 0) & 2) != 0))
}

# ended: exit code of what was started in `code`; 124 where it does not end.
ended() {
  local end=$((SECONDS + longest_seconds))
  while kill -0 "$started" 2>/dev/null && ((SECONDS < end)); do sleep 0.02; done
  if kill -0 "$started" 2>/dev/null; then kill -KILL "$started"; code=124; wait "$started" || true; return; fi
  code=0
  wait "$started" || code=$?
}

# judged TITLE CODE LINE: the end of what was started; LINE is the one that says so.
judged() {
  local lines
  cases=$((cases + 1))
  ended
  lines=$(grep -acE '^pptrain: (interrupted|ended by mpirun) ' errors.txt || true)
  if [[ ! $code =~ ^($2)$ ]]; then complain "$1" "exit code $code, not $2"; return; fi
  if [[ $lines -ne 1 ]]; then complain "$1" "$lines lines that say it, not 1"; return; fi
  if ! grep -aEq "^pptrain: $3\$" errors.txt; then complain "$1" "nothing like '$3'"; return; fi
  printf 'ok %s\n' "$1"
}

# --- without a launcher

start "$pptrain" job.toml
await catches_interrupts && kill -INT "$started"
judged "before anything is done" 130 'interrupted (while|before|after) .*'

start "$pptrain" measured.toml --set model.layers=6 --set model.hidden_size=512 --set training.global_batch_size=64
await said 'Measuring layer times' && kill -INT "$started"
judged "while layers are timed" 130 'interrupted while timing layers: nothing was saved; .*'

start "$pptrain" job.toml
await trains && kill -INT "$started"
judged "in training without checkpoints" 130 \
  'interrupted after step [0-9]+ of 1000000: nothing was saved; --set checkpoint.interval=N .*'
check "and nothing is saved" test -z "$(find outputs -name 'step-*.h5')"

start "$pptrain" job.toml --set checkpoint.interval=900000
await trains && kill -INT "$started"
judged "in training with checkpoints" 130 'interrupted after step [0-9]+ of 1000000: go on with --resume latest, from .*'
saved=$(find outputs -name 'step-*.h5')
steps=$(basename "$saved" .h5)
steps=${steps#step-}
check "the checkpoint is of the step that is told" grep -q "after step $steps of" errors.txt
expect "it is sound" 0 "after $steps steps" "$pptrain" validate "$saved"
expect "the job goes on from it" 0 "$steps steps done" \
  "$pptrain" job.toml --set checkpoint.interval=900000 --resume latest --set training.steps=$((steps + 2))

start "$pptrain" job.toml --set checkpoint.interval=900000
await trains && kill -INT "$started" && { await said 'Ctrl-C again ends at once' || true; }
kill -INT "$started" 2>/dev/null || true
judged "twice" 130 'interrupted after step [0-9]+ of 1000000: .*'

start "$pptrain" -q job.toml --set checkpoint.interval=900000
await compgen -G 'outputs/*/*/metrics.h5' >/dev/null && kill -INT "$started"
judged "the line also comes when quiet" 130 'interrupted (before|after|while) .*'

# --- the daemon that Open MPI starts beside a process without launcher

children() { pgrep -P "$started" | tr '\n' ' ' || true; }
start "$pptrain" job.toml
await trains || true
beside=$(children)
kill -KILL "$started" 2>/dev/null || true
ended
check "a job without launcher has no process beside it (found: $beside)" test -z "$beside"
start "$pptrain" profile measured.toml --set model.layers=6 --set model.hidden_size=512 --set training.global_batch_size=64
await said 'Measuring layer times' || true
beside=$(children)
kill -KILL "$started" 2>/dev/null || true
ended
check "nor has a measurement (found: $beside)" test -z "$beside"

# --- under mpirun, which sends SIGTERM for a Ctrl-C and kills a second later

parallel=(--set cluster.file=two.toml)
start "$mpiexec" --bind-to none -np 2 "$pptrain" job.toml "${parallel[@]}"
await trains && kill -INT "$started"
judged "mpirun, in training" '1|130' 'ended by mpirun after step [0-9]+ of 1000000: nothing was saved; .*'

start "$mpiexec" --bind-to none -np 2 "$pptrain" job.toml "${parallel[@]}" --set checkpoint.interval=1
await trains && kill -INT "$started"
judged "mpirun, with earlier checkpoints" '1|130' \
  'ended by mpirun after step [0-9]+ of 1000000: go on with --resume latest, from .*'

start "$mpiexec" --bind-to none --mca odls_base_sigkill_timeout 8 -np 2 "$pptrain" job.toml "${parallel[@]}" \
  --set checkpoint.interval=900000
await trains && kill -INT "$started"
judged "mpirun that leaves time for a checkpoint" '1|130' \
  'ended by mpirun after step [0-9]+ of 1000000: go on with --resume latest, from .*'
check "which is there" test -n "$(find outputs -name 'step-*.h5')"

start "$mpiexec" --bind-to none -np 2 "$pptrain" job.toml "${parallel[@]}" --set checkpoint.interval=900000
await trains
for rank in 0 1; do kill -INT "$(process_of "$started" "$rank")"; done
judged "every rank by itself, as where a terminal's Ctrl-C reaches them" 130 \
  'interrupted after step [0-9]+ of 1000000: (go on with --resume latest, from .*|nothing was saved; .*)'

finish
