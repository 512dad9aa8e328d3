#!/usr/bin/env bash
# A rank that is stopped or killed at any moment, from MPI_Init to the last checkpoint, ends the job within the timeout
# + 5 s, or where the machine is slow or busy + five times what a short job takes there. Somebody names the rank, and of
# what lies there afterwards nothing is torn: the job goes on from the newest checkpoint. Jobs, ranks, signals and moments
# are drawn by a seed.
# Usage: stops.sh PPTRAIN MPIEXEC [DRAWS [SEED]]
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

draws=${3:-8}
RANDOM=${4:-5}
export XDG_CACHE_HOME=$folder/cache
started=
clean_up() { [[ -z $started ]] || kill -KILL "$started" 2>/dev/null || true; }

training_text text.txt
head -n 20 text.txt >held-back.txt
this_machine 2 >cluster-2.toml
this_machine 4 >cluster-4.toml
cat >common.toml <<'TOML'
[job]
name = "stops"
[training]
steps = 1000000
sequence_length = 16
global_batch_size = 8
[planner]
trial_steps = 20
[checkpoint]
interval = 2
keep = 2
[metrics]
evaluation_interval = 3
TOML
cat common.toml - >gpt2.toml <<'TOML'
[model]
layers = 3
hidden_size = 32
heads = 4
vocabulary_size = 256
[data]
train = "text.txt"
validation = "held-back.txt"
TOML
cat common.toml - >mlp.toml <<'TOML'
[model]
name = "mlp-classifier"
layers = 3
input_size = 16
hidden_size = 64
classes = 100
[data]
train = "synthetic"
validation = "synthetic"
TOML
sed -i '/sequence_length/d' mlp.toml

# --- what is drawn --------------------------------------------------------------------------------------------------

# What a job has come to, by what it prints then: the moment is drawn from as many milliseconds behind that.
phases=(starting machine "layer times" search trials preparing training evaluation checkpoint end)
declare -A begins=(["layer times"]="Measuring layer times" [search]="^layer times" [trials]="Trials: "
  [preparing]="^plan by" [training]="step +1/" [evaluation]="loss on held-back data"
  [checkpoint]="step-[0-9]+[.]h5" [end]="step +6/6")
declare -A lasts=([starting]=400 [machine]=2000 ["layer times"]=1500 [search]=1500 [trials]=800 [preparing]=300
  [training]=600 [evaluation]=60 [checkpoint]=60 [end]=60)

# What makes a phase long enough to be met; gpt2 alone has layers whose times and plans take long.
declare -A prolonged=(["layer times"]="profile.analytic=false model.hidden_size=512 training.sequence_length=256"
  [search]="model.layers=2000 model.hidden_size=16 planner.time_limit=1h training.global_batch_size=64"
  [trials]="planner.trials=4 parallelism.pipeline=auto parallelism.zero_stage=0" [end]="training.steps=6")

# draw: sets job, ranks, signal, victim, phase, delay (milliseconds) and settings of the next trial.
draw() {
  local truth=(false true) grids=("" "parallelism.pipeline=2" "parallelism.data=2" "parallelism.pipeline=2 parallelism.schedule=zb-h1"
    "parallelism.pipeline=1 parallelism.zero_stage=1")
  phase=${phases[RANDOM % ${#phases[@]}]}
  ranks=$((RANDOM % 2 ? 2 : 4))
  victim=$((RANDOM % ranks))
  signal=$((RANDOM % 2 ? 9 : 19))
  delay=$((RANDOM % ${lasts[$phase]}))
  job=gpt2
  if ((RANDOM % 3 == 0)) && [[ $phase != "layer times" && $phase != search ]]; then job=mlp; fi
  drawn=${grids[RANDOM % ${#grids[@]}]}
  drawn+=" profile.analytic=${truth[RANDOM % 2]} profile.cache=${truth[RANDOM % 2]} checkpoint.interval=$((1 + RANDOM % 2))"
  if ((RANDOM % 2)) && [[ $phase != machine ]]; then drawn+=" cluster.file=cluster-$ranks.toml"; fi
  if ((RANDOM % 4 == 0)); then drawn+=" planner.trials=2"; fi
  drawn+=" ${prolonged[$phase]:-}"
}

# --- a trial -----------------------------------------------------------------------------------------------------------

# short_job: what a job of three steps takes now, in milliseconds.
short_job() {
  milliseconds_of "$mpiexec" --bind-to none -np "$ranks" "$pptrain" gpt2.toml --steps 3 --set job.output=short \
    --set cluster.file="cluster-$ranks.toml" --set profile.analytic=true --set checkpoint.interval=0
}

# train_drawn ARGUMENT...: the drawn job, in its place.
train_drawn() {
  exec "$mpiexec" --bind-to none -np "$ranks" "$pptrain" --verbose train "$job.toml" "${settings[@]}" "$@"
}

# await_phase: until the job has come to the phase that is drawn, or past it where it has none, as trials of one plan.
await_phase() {
  local pattern=${begins[$phase]:-}
  [[ $phase == end ]] || pattern+="|loss on held-back data"
  if [[ -n ${begins[$phase]:-} ]]; then
    until printed "$pattern" || ! kill -0 "$started" 2>/dev/null; do sleep 0.01; done
  fi
  sleep "$((delay / 1000)).$(printf '%03d' $((delay % 1000)))"
}

# strike: sends the signal to the victim; fails where it is no longer there.
strike() {
  local pid=
  while [[ -z $pid ]]; do
    kill -0 "$started" 2>/dev/null || return 1
    pid=$(process_of "$started" "$victim")
  done
  kill "-$signal" "$pid" 2>/dev/null
}

# await_end: the exit code of the job in `ended`, and in `took` the milliseconds since `start`. Where the others had ended
# when the rank was stopped, which no one can know who has ended, the rank goes on.
await_end() {
  local last=$((start + 2 * timeout + 10000))
  while kill -0 "$started" 2>/dev/null && (($(milliseconds) < last)); do sleep 0.05; done
  if kill -0 "$started" 2>/dev/null && [[ $(pgrep -cP "$started") == 1 ]]; then
    others_had_ended=1
    kill -CONT "$(process_of "$started" "$victim")"
  elif kill -0 "$started" 2>/dev/null; then
    kill -KILL "$started"
  fi
  wait "$started" || ended=$?
  started=
  took=$(($(milliseconds) - start))
}

# names_victim: whether a rank or the launcher says which rank it was.
names_victim() {
  grep -aqE "error: rank [0-9]+.*rank ([0-9]+, )*$victim\b" errors.txt ||
    grep -aqE "process rank $victim .*exited on signal" errors.txt output.txt
}

# check_files TITLE: of what the job has left nothing is torn.
check_files() {
  local file
  while IFS= read -r file; do
    cp output.txt errors.txt said/
    run "$longest_seconds" "$pptrain" validate "$file"
    ((code == 0)) || complain "$1" "$file is torn"
    cp said/* .
  done < <(find outputs cache -name 'step-*.h5' -o -name plan.json -o -name profile.json -o -name config.toml \
    -o -name 'profile-*.json')
}

# check_resumed TITLE: the job goes on from its newest checkpoint, and one step further.
check_resumed() {
  local newest=0 file steps
  while IFS= read -r file; do
    steps=${file##*step-}
    newest=$(at_least "$newest" "${steps%.h5}")
  done < <(find outputs -name 'step-*.h5')
  ((newest > 0)) || return 0
  resumed=", resumed from step $newest"
  code=0
  (train_drawn --resume latest --steps $((newest + 1)) >output.txt 2>errors.txt) || code=$?
  ((code == 0)) || complain "$1" "exit code $code of the job that goes on from step $newest"
  ! grep -aqE 'damaged|cannot be read' errors.txt || complain "$1" "something is damaged for the job that goes on"
}

# trial NUMBER: draws a job and a moment, and looks at what comes of it.
trial() {
  local drawn settings=() setting title before timeout start took allowed later=0 ended=0 others_had_ended=0 resumed=
  draw
  for setting in $drawn; do
    settings+=(--set "$setting")
  done
  rm -rf outputs
  mkdir -p outputs cache
  before=$(short_job) || { complain "a short job" "it fails"; return; }
  timeout=$(at_least 2000 $((2 * before))) # ranks that are only late do not take so long
  settings+=(--set "job.timeout=$timeout ms")
  title="draw $1: $job, signal $signal to rank $victim of $ranks, $phase + $delay ms, $drawn"
  : >output.txt
  : >errors.txt
  (train_drawn >output.txt 2>errors.txt </dev/null) &
  started=$!
  await_phase
  start=$(milliseconds)
  strike || later=1
  await_end
  cases=$((cases + 1))
  if ((later || others_had_ended)); then
    ((ended == 0)) || complain "$title" "exit code $ended before the signal"
    echo "$title: the job was done before"
    return
  fi
  cp output.txt errors.txt said/
  allowed=$((timeout + $(at_least 5000 $((5 * $(at_least "$before" "$(short_job)"))))))
  cp said/* .
  # A signal that comes when the rank is done changes nothing.
  if ((ended != 0 || took > allowed)); then
    ((ended != 0 && took <= allowed)) || complain "$title" "exit code $ended after $took ms of $allowed"
    names_victim || complain "$title" "nobody names rank $victim"
  fi
  check_files "$title"
  check_resumed "$title"
  echo "$title: exit code $ended after $took ms, timeout $timeout ms$resumed"
}

mkdir said
for ((i = 1; i <= draws; ++i)); do trial "$i"; done
finish
