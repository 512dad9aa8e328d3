#!/usr/bin/env bash
# A rank that stands still or dies ends the job on all ranks within the timeout + 5 s; each of the others says at which
# instruction it waited, and for whom.
# Usage: stalled.sh PPTRAIN MPIEXEC [TRIALS]
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

trials=${3:-1}
ranks=4
timeout_seconds=2
most_milliseconds=$(((timeout_seconds + 5) * 1000))

training_text text.txt
cat >job.toml <<TOML
[job]
name = "stalled"
timeout = "$timeout_seconds s"
[model]
layers = 4
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
this_machine "$ranks" >cluster.toml

milliseconds() { date +%s%3N; }

# trial SIGNAL VICTIM GRID...: starts the job, sends the signal to the rank, and looks at the end.
trial() {
  local signal=$1 victim=$2 launcher pid start milliseconds rank code=0
  shift 2
  rm -rf outputs
  "$mpiexec" --bind-to none -np "$ranks" "$pptrain" job.toml "$@" >output.txt 2>errors.txt &
  launcher=$!
  await_training "$launcher" outputs || true
  sleep "0.$((RANDOM % 90 + 10))"
  pid=$(process_of "$launcher" "$victim")
  start=$(milliseconds)
  kill "-$signal" "$pid"
  wait "$launcher" || code=$?
  milliseconds=$(($(milliseconds) - start))
  if ((code == 0 || milliseconds > most_milliseconds)); then
    complain "$signal rank $victim $*" "exit code $code after $milliseconds ms"
  fi
  [[ $signal == STOP ]] || return 0
  for ((rank = 0; rank < ranks; ++rank)); do
    ((rank == victim)) && continue
    if ! grep -qE "error: rank $rank(, stage [0-9]+, replica [0-9]+, shard [0-9]+, (at \"|between)|, gathering).*waited" errors.txt; then
      complain "$signal rank $victim $*" "rank $rank does not say what it waits for"
    fi
  done
}

grids=("parallelism.pipeline=4 parallelism.schedule=1f1b" "parallelism.pipeline=2 parallelism.schedule=zb-v"
  "parallelism.pipeline=1 parallelism.tensor=2" "parallelism.pipeline=2 parallelism.data=2")
for ((i = 0; i < trials; ++i)); do
  settings=()
  for setting in ${grids[i % ${#grids[@]}]}; do settings+=(--set "$setting"); done
  trial STOP $((i % ranks)) "${settings[@]}"
  trial KILL $(((i + 1) % ranks)) "${settings[@]}"
done
echo "$((2 * trials)) trials, $failures failures"
((failures == 0))
