#!/usr/bin/env bash
# A rank that stands still or dies ends the job on all ranks within the timeout + 5 s, or where the machine is slow or
# busy + five times what a short job takes there; each of the others says at which instruction it waited, and for whom.
# Usage: stalled.sh PPTRAIN MPIEXEC [TRIALS]
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

trials=${3:-1}
ranks=4

training_text text.txt
cat >job.toml <<TOML
[job]
name = "stalled"
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

# short_job: what a job of three steps takes now, in milliseconds.
short_job() {
  milliseconds_of "$mpiexec" --bind-to none -np "$ranks" "$pptrain" job.toml --steps 3 --set job.output=short || {
    complain "a short job" "it fails"
    exit 1
  }
}

# trial SIGNAL VICTIM GRID...: starts the job, sends the signal to the rank, and looks at the end.
trial() {
  local signal=$1 victim=$2 launcher pid start milliseconds before allowed timeout rank code=0
  shift 2
  rm -rf outputs
  before=$(short_job)
  timeout=$(at_least 2000 $((2 * before))) # ranks that are only late do not take so long
  "$mpiexec" --bind-to none -np "$ranks" "$pptrain" job.toml --set "job.timeout=$timeout ms" "$@" >output.txt 2>errors.txt &
  launcher=$!
  await_training "$launcher" outputs || true
  sleep "0.$((RANDOM % 90 + 10))"
  pid=$(process_of "$launcher" "$victim")
  start=$(milliseconds)
  kill "-$signal" "$pid"
  wait "$launcher" || code=$?
  milliseconds=$(($(milliseconds) - start))
  mv output.txt errors.txt said/
  allowed=$((timeout + $(at_least 5000 $((5 * $(at_least "$before" "$(short_job)"))))))
  mv said/* .
  if ((code == 0 || milliseconds > allowed)); then
    complain "$signal rank $victim $*" "exit code $code after $milliseconds ms of $allowed"
  fi
  [[ $signal == STOP ]] || return 0
  for ((rank = 0; rank < ranks; ++rank)); do
    ((rank == victim)) && continue
    if ! grep -qE "error: rank $rank(, stage [0-9]+, replica [0-9]+, shard [0-9]+, (at \"|between)|, gathering).*waited" errors.txt; then
      complain "$signal rank $victim $*" "rank $rank does not say what it waits for"
    fi
  done
}

mkdir said
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
