#!/usr/bin/env bash
# What people see of a run, and its metrics.h5 as Debian's h5py reads it: while it trains, after kill -9, and where the disk
# is full before it ends. Without h5py, or where nothing can be mounted, that part is skipped, and said to be.
# Usage: metrics.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"
mounted=
clean_up() { if [[ -n $mounted ]]; then umount -- "$mounted" || true; fi; }
python=/usr/bin/python3

training_text text.txt
cat >job.toml <<TOML
[job]
name = "watched"
[model]
layers = 2
hidden_size = 32
heads = 2
vocabulary_size = 256
[data]
train = "text.txt"
[training]
steps = 100000
sequence_length = 16
global_batch_size = 4
micro_batch_size = 2
[parallelism]
pipeline = 2
[cluster]
file = "cluster.toml"
[profile]
analytic = true
TOML
this_machine 2 | sed 's/1 GFLOP/1 PFLOP/' >cluster.toml

cat >check.py <<'PYTHON'
"""Exits with 1 unless metrics.h5 has at least so many steps, each of them whole."""
import math, sys
import h5py

def texts(attributes, *names):
    return [attributes[name] if isinstance(attributes[name], str) else attributes[name].decode() for name in names]

with h5py.File(sys.argv[1], "r", swmr=True) as file:
    steps = [step for step in file["steps/step"][:] if step > 0]
    if len(steps) < int(sys.argv[2]):
        sys.exit(1)
    assert steps == list(range(1, len(steps) + 1)), steps[:5]
    rows = len(steps)
    for name in ("loss", "grad_norm", "learning_rate", "loss_scale", "iteration_seconds", "tokens_per_second",
                 "model_flops_utilization", "peak_bytes"):  # of a peak that no machine exceeds, so that all are known
        series = file["steps"][name]
        assert all(texts(series.attrs, "units", "description")), name
        assert all(math.isfinite(x) and x > 0 for x in series[:rows]), name
    assert max(file["steps/model_flops_utilization"][:rows]) < 1
    speed = file["steps/tokens_per_second"][:rows] * file["steps/iteration_seconds"][:rows]
    assert abs(speed - 64).max() < 1e-6, speed
    for name in ("compute_seconds", "communication_seconds", "idle_seconds", "peak_bytes"):
        series = file["ranks"][name]
        assert series.shape[1] == 2 and all(texts(series.attrs, "units", "description")), name
    whole = sum(file["ranks"][name][:rows, 0] for name in ("compute_seconds", "communication_seconds", "idle_seconds"))
    assert abs(whole / file["steps/iteration_seconds"][:rows] - 1).max() < 1e-6
    environment = file["environment"].attrs
    texts(environment, "pptrain_version", "mpi_version", "hdf5_version", "hosts", "devices", "command_line", "started")
    assert "job.toml" in texts(environment, "command_line")[0]
PYTHON

cat >speed.py <<'PYTHON'
"""Exits with 1 unless the iterations of metrics.h5 take the time that passes: as the last line of progress counts it."""
import re, sys
import h5py

with h5py.File(sys.argv[1], "r") as file:
    seconds = file["steps/iteration_seconds"][1:]
shown = re.findall(r"([0-9.]+)(k?) tokens/s", open(sys.argv[2]).read())[-1]
speed = float(shown[0]) * (1000 if shown[1] else 1)
tokens_per_step = 64
assert abs(tokens_per_step / seconds.mean() / speed - 1) < 0.02, (tokens_per_step / seconds.mean(), speed)
PYTHON

train() { exec "$mpiexec" -np 2 "$pptrain" job.toml "$@"; }
metrics_of() { find "$1" -name metrics.h5; }
# has STEPS: a reader finds so many of the run's steps, at the latest when the job has ended.
has() {
  local runs=1
  while ((runs)); do
    kill -0 "$launcher" 2>/dev/null || runs=0
    if [[ -d runs && -n $(metrics_of runs) ]] && "$python" check.py "$(metrics_of runs)" "$1"; then return 0; fi
    sleep 0.1
  done
  return 1
}

if "$python" -c 'import h5py' 2>/dev/null; then
  train --set job.output=runs >output.txt 2>errors.txt &
  launcher=$!
  check "h5py reads the metrics while the job trains" has 5
  pkill -KILL -P "$launcher" || true
  wait "$launcher" || true
  check "h5py reads the metrics after kill -9" has 5
  rm -rf runs
  # There are so many steps that the moment in which the last line is written counts for little.
  expect "a run to its end" 0 'step 600/600' "$mpiexec" -np 2 "$pptrain" job.toml --steps 600 --set job.output=runs
  check "iterations take the time that passes" "$python" speed.py "$(metrics_of runs)" errors.txt
  rm -rf runs
else
  echo "metrics: H5PY SKIPPED, $python has no h5py (Debian: python3-h5py)"
fi

watched() { expect "$1" 0 "$2" "$mpiexec" -np 2 "$pptrain" "${@:3}" job.toml --steps 3 --set job.output=runs; }
watched "progress in plain lines" 'step 1/3  loss [0-9.]+ .* tokens/s  [0-9]+:[0-9]+ left'
check "no control characters where nobody looks" bash -c "! grep -aq \$'\033' errors.txt"
check "the summary has predicted time and memory" grep -Eq 's measured \(median\), .*s predicted' output.txt
watched "quiet before the command" 'Summary' -q train
check "quiet: nothing but results" test ! -s errors.txt
check "quiet: the summary alone" test "$(wc -l <output.txt)" -eq "$(sed -n '/^Summary/,$p' output.txt | wc -l)"
watched "verbose" 'before the first step' -v train
check "verbose: times of layers" printed '^  block.0 and 1 like it: .*, TP 1, [0-9]+ samples: forward .*, backward '
check "verbose: time and memory of every rank" printed '^  1 +[0-9.]+ % +[0-9.]+ % +[0-9.]+ %  [0-9.]+ '
check "quiet or not, log.txt has the last step" bash -c "! grep -L '^step 3/3 ' runs/*/*/log.txt | grep ."

sed 's/count = 2 }/count = 3 }/' cluster.toml >three.toml
expect "the peak of a run is that of the devices that its plan uses" 0 'of the peak of 2 PFLOP/s' "$mpiexec" -np 3 "$pptrain" \
  job.toml --steps 3 --set job.output=runs --set cluster.file=three.toml --set parallelism.pipeline=1 --set parallelism.tensor=2

# What mpirun writes to a terminal of its own: NAME ENVIRONMENT...
in_terminal() {
  script -qec "stty cols 90; env $2 $mpiexec -np 2 $pptrain job.toml --steps 30 --set job.output=runs \
    --set checkpoint.interval=10" /dev/null >"$1.txt" 2>&1 </dev/null
}
if command -v script >/dev/null; then
  rm -rf runs
  in_terminal bar TERM=xterm
  check "a bar in a terminal under mpirun" grep -aq $'\033\\[36m=' bar.txt
  # mpirun passes on what comes on two pipes in any order: the summary, on the other one, may come before the line's end.
  sed -i 's/leftSummary/left\nSummary/' bar.txt
  widest() { tr '\r' '\n' <bar.txt | grep -aE 'step +[0-9]+/30 ' | sed $'s/\033\\[[0-9;]*[mK]//g' | wc -L; }
  check "it fits the terminal: $(widest) columns" test "$(widest)" -le 89
  check "what is logged takes its place" bash -c "grep -aq 'checkpoint runs' bar.txt && ! grep -aq 'left[^[:space:]]' bar.txt"
  check "log.txt has lines of it" bash -c "grep -q '^step 30/30 ' runs/*/*/log.txt && ! grep -aq \$'\033' runs/*/*/log.txt"
  in_terminal plain "TERM=xterm NO_COLOR=1"
  check "without colours where NO_COLOR is set" bash -c "grep -aq '\[=' plain.txt && ! grep -aq \$'\033\\[36m' plain.txt"
  in_terminal dumb TERM=dumb
  check "lines in a terminal that can rewrite none" bash -c "grep -aq 'step 30/30' dumb.txt && ! grep -aq \$'\033' dumb.txt"
else
  echo "metrics: TERMINAL SKIPPED, there is no script (Debian: bsdutils)"
fi

mkdir full
if mount -t tmpfs -o size=160k none full 2>/dev/null; then
  mounted=$folder/full
  expect "a full disk while metrics are written" 0 'metrics can no longer be written.*training goes on' \
    "$mpiexec" -np 2 "$pptrain" job.toml --set checkpoint.at_end=false --steps 1500 --set job.output=full --set metrics.trace=true
  check "the training went on to its last step" grep -q 'step 1500/1500' errors.txt
else
  echo "metrics: FULL DISK SKIPPED, no tmpfs can be mounted"
fi
finish
