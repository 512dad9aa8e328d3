#!/usr/bin/env bash
# A rank that stands still or dies, in training or before it, ends the job on all ranks within the timeout + 5 s, or
# where the machine is slow or busy + five times what a short job takes there; each of the others says at which
# instruction it waited, and for whom. A rank that only takes long before training ends nothing.
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

# --- before training -----------------------------------------------------------------------------------------------

# start_slowly ARGUMENT...: starts a job with a timeout of its own (`timeout`), of which the test is free to stop a rank.
start_slowly() {
  rm -rf outputs
  before=$(short_job)
  timeout=$(at_least 2000 $((2 * before)))
  "$mpiexec" --bind-to none -np "$ranks" "$pptrain" --verbose job.toml --set "job.timeout=$timeout ms" "$@" \
    >output.txt 2>errors.txt &
  launcher=$!
}

# stop_now TITLE VICTIM: stops the rank of the job that was started; each of the others has to name it, and soon.
stop_now() {
  local title="stop of rank $2 $1" victim=$2 pid start took allowed rank code=0
  pid=
  while [[ -z $pid ]] && kill -0 "$launcher" 2>/dev/null; do pid=$(process_of "$launcher" "$victim"); done
  start=$(milliseconds)
  kill -STOP "$pid" || true
  wait "$launcher" || code=$?
  took=$(($(milliseconds) - start))
  mv output.txt errors.txt said/
  allowed=$((timeout + $(at_least 5000 $((5 * $(at_least "$before" "$(short_job)"))))))
  mv said/* .
  ((code != 0 && took <= allowed)) || complain "$title" "exit code $code after $took ms of $allowed"
  if [[ $1 == "at any moment" ]]; then
    # In training those that wait for others name these.
    grep -qE "error: rank [0-9]+.*rank ([0-9]+, )*$victim\b" errors.txt || complain "$title" "nobody names it"
    return 0
  fi
  for ((rank = 0; rank < ranks; ++rank)); do
    ((rank == victim)) && continue
    grep -qE "error: rank ${rank}[,:].*rank $victim (has not answered|is stopped)" errors.txt ||
      complain "$title" "rank $rank does not name it"
  done
}

# until_said PATTERN: until the job prints it.
until_said() {
  until printed "$1" || ! kill -0 "$launcher" 2>/dev/null; do sleep 0.02; done
}

mkdir said
# Tasks of rank 0 and of the others take seconds each.
slow_layers=(--set profile.analytic=false --set profile.cache=false --set model.hidden_size=512
  --set training.sequence_length=512 --set training.global_batch_size=16)
# A search of hours, with the layer times that are printed before it.
many_layers=(--set model.hidden_size=16 --set training.global_batch_size=64 --set planner.name=auto)
long_search=("${many_layers[@]}" --set model.layers=2000 --set "planner.time_limit=1 h")
victims=(0 $((1 + RANDOM % 3)))
for victim in "${victims[@]}"; do
  start_slowly "${slow_layers[@]}"
  until_said "Measuring layer times"
  stop_now "in layer times" "$victim"
  start_slowly "${long_search[@]}"
  until_said "layer times"
  stop_now "in search" "$victim"
done
for ((i = 0; i < trials; ++i)); do
  start_slowly
  sleep "$(((RANDOM * 32768 + RANDOM) % before / 1000)).$(printf '%03d' $((RANDOM % 1000)))"
  stop_now "at any moment" $((RANDOM % ranks))
done

# Twice the timeout for a search is no reason to end.
start_slowly "${many_layers[@]}" --set model.layers=400 --steps 2 --set "planner.time_limit=$((2 * $(at_least 2000 $((2 * $(short_job)))))) ms"
code=0
wait "$launcher" || code=$?
((code == 0)) || complain "a search that lasts longer than the timeout" "exit code $code"

# --- in training -----------------------------------------------------------------------------------------------------

grids=("parallelism.pipeline=4 parallelism.schedule=1f1b" "parallelism.pipeline=2 parallelism.schedule=zb-v"
  "parallelism.pipeline=1 parallelism.tensor=2" "parallelism.pipeline=2 parallelism.data=2")
for ((i = 0; i < trials; ++i)); do
  settings=()
  for setting in ${grids[i % ${#grids[@]}]}; do settings+=(--set "$setting"); done
  trial STOP $((i % ranks)) "${settings[@]}"
  trial KILL $(((i + 1) % ranks)) "${settings[@]}"
done
echo "$((3 * trials)) trials, $failures failures"
((failures == 0))
