#!/usr/bin/env bash
# `pptrain report` of runs that ended in every way: trained with a trace, killed, resumed, planned again, rehearsed, a
# classifier. Pages are opened in headless Chromium, all that can be clicked is clicked, and nothing may be complained of;
# event files and traces are read back by plain decoders. Without Chromium, python3 or h5py that part is skipped, and said to be.
# Usage: report.sh PPTRAIN MPIEXEC
set -euo pipefail
tests=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")")
# shellcheck source=tests/cli/common.sh
. "$tests/common.sh"
python=/usr/bin/python3
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)

training_text text.txt
job() {  # NAME FILE MORE: a job of two ranks
  cat >"$2" <<TOML
[job]
name = "$1"
[model]
$3
[data]
train = "text.txt"
[training]
steps = 12
sequence_length = 16
global_batch_size = 8
micro_batch_size = 2
[parallelism]
pipeline = 2
[cluster]
file = "cluster.toml"
[profile]
analytic = true
TOML
}
job trained job.toml $'layers = 2\nhidden_size = 32\nheads = 2\nvocabulary_size = 256'
# A peak that no machine exceeds, so that utilisation is known.
this_machine 2 | sed 's/this machine/this <machine>/; s/1 GFLOP/1 PFLOP/' >cluster.toml

train() { expect "$1" "$2" "" "$mpiexec" -np 2 "$pptrain" "${@:3}"; }
run_of() { dirname -- "$(find "$1" -name metrics.h5 | sort | tail -n 1)"; }

# opens TITLE REPORT WIDTH: Chromium shows the page, clicks everything, nothing is logged, and no text of a chart is cut off.
opens() {
  local title=$1 page=$2 width=$3
  if [[ -z $chromium ]]; then return; fi
  cases=$((cases + 1))
  # The page with a visitor in it, who leaves in the title how it went.
  "$python" "$tests/report_visitor.py" "$page" visited.html "$width"
  timeout "$longest_seconds" "$chromium" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$folder/browser" \
    --enable-logging=stderr --virtual-time-budget=20000 --window-size="$width,900" --dump-dom "file://$folder/visited.html" \
    >output.txt 2>errors.txt </dev/null || true
  if ! grep -q '<title>visited: [1-9][0-9]* clicks, [1-9][0-9]* keys, 0 errors</title>' output.txt; then
    complain "$title" "the visitor says: $(grep -o '<title>[^<]*' output.txt | head -n 1)"
    return
  fi
  if grep -q 'CONSOLE' errors.txt; then complain "$title" "something is logged"; return; fi
  printf 'ok %s\n' "$title"
}

# reported TITLE RUN PATTERN...: a report is written, which holds the patterns and opens.
reported() {
  local title=$1 run=$2 pattern
  expect "report: $title" 0 'Wrote .*report\.html' "$pptrain" report "$run"
  for pattern in "${@:3}"; do check "$title: $pattern" grep -aq -- "$pattern" "$run/report.html"; done
  opens "in a browser: $title" "$run/report.html" 1000
}

if [[ -z $chromium ]]; then echo "report: BROWSER SKIPPED, there is no chromium"; fi

train "a job with a trace" 0 job.toml --set metrics.trace=true --set data.validation='"text.txt"' \
  --set metrics.evaluation_interval=4 --set job.output=traced
traced=$(run_of traced)
reported "with a trace" "$traced" 'this \\u003cmachine>' '"schema":"pptrain.report/1"'
opens "on a phone: with a trace" "$traced/report.html" 320
check "the trace is as viewers want it" "$python" "$tests/read_trace.py" "$traced/trace.json" 2
check "a page of less than a megabyte" test "$(stat -c %s "$traced/report.html")" -lt 1000000
check "nothing is loaded" bash -c "! grep -aEq '(src|href)=\"(https?:)?//' '$traced/report.html'"
expect "another name" 0 'Wrote page.html' "$pptrain" report "$traced" -o page.html
expect "no run directory" 2 'is no run directory' "$pptrain" report "$folder"
cp "$traced/plan.json" "$traced/plan-after-6.json"  # as if a rank had fallen behind
reported "planned again" "$traced" '"from_step":6'

expect "event files" 0 'Wrote events/events.out.tfevents' "$pptrain" report "$traced" --tensorboard events
if "$python" -c 'import h5py' 2>/dev/null; then
  check "hosts are known, whatever the cluster file says" "$python" -c "
import h5py, socket, sys
hosts = h5py.File(sys.argv[1], 'r', swmr=True)['environment'].attrs['hosts'].decode()
assert hosts == socket.gethostname(), hosts" "$traced/metrics.h5"
  check "a plain decoder finds the series of metrics.h5 in the event file" \
    "$python" "$tests/read_events.py" events/events.out.tfevents.* "$traced/metrics.h5"
else
  echo "report: EVENT FILES SKIPPED, $python has no h5py"
fi

# Killed, then reported at once and after the file has been left alone for an hour.
"$mpiexec" -np 2 "$pptrain" job.toml --steps 1000000 --set job.output=killed --set checkpoint.interval=50 --set checkpoint.keep=1 \
  >output.txt 2>errors.txt &
launcher=$!
until [[ -n $(find killed -name 'step-*.h5' 2>/dev/null) ]] || ! kill -0 "$launcher" 2>/dev/null; do sleep 0.1; done
pkill -KILL -P "$launcher" || true
wait "$launcher" || true
killed=$(run_of killed)
reported "killed" "$killed" '"left_open":true'
expect "a file that may still be written stays open" 0 'may still be written' "$pptrain" report "$killed"
touch -d '1 hour ago' "$killed/metrics.h5"
expect "a file left alone is closed" 0 'closed it' "$pptrain" report "$killed"
if "$python" -c 'import h5py' 2>/dev/null; then
  check "and opens without swmr" "$python" -c "
import h5py, sys
file = h5py.File(sys.argv[1], 'r')
steps = list(file['steps/step'][:])
assert len(steps) >= 50 and steps == list(range(1, len(steps) + 1)), steps[-3:]
assert 'command_line' in file['environment'].attrs and file['plan'][()]" "$killed/metrics.h5"
fi
steps=$(($(find "$killed" -name 'step-*.h5' | sed 's/.*step-\([0-9]*\)\.h5/\1/' | sort -n | tail -n 1) + 5))
train "resumed" 0 job.toml --resume latest --steps "$steps" --set job.output=killed
reported "resumed" "$killed" "\"steps_done\":$steps," '"left_open":false'

if "$python" -c 'import h5py' 2>/dev/null; then
  expect "event files of a resumed run" 0 'Wrote again/events.out.tfevents' "$pptrain" report "$killed" --tensorboard again
  expect "once more, into the same file" 0 'Wrote again/events.out.tfevents' "$pptrain" report "$killed" --tensorboard again
  check "a plain decoder finds the series, and the times before and after" \
    "$python" "$tests/read_events.py" again/events.out.tfevents.* "$killed/metrics.h5"
fi

# Stopped under way, then planned again, then resumed on one device.
train_until_stopped() {
  "$mpiexec" -np 2 "$pptrain" job.toml --steps 1000000 --set job.output=stopped --set metrics.trace=true \
    --set metrics.interval=3 >output.txt 2>errors.txt &
  launcher=$!
  # Some steps are done where progress, of which lines come every few seconds, tells of the sixth or a later one.
  until awk '/^step / { done = $2 + 0 } END { exit !(done >= 6) }' errors.txt; do
    kill -0 "$launcher" || return 1
    sleep 0.1
  done
  kill -USR1 "$launcher"
  code=0
  wait "$launcher" || code=$?
  [[ $code -eq 75 ]]
}
check "a job is stopped" train_until_stopped
stopped=$(run_of stopped)
check "what is stopped leaves a trace" "$python" "$tests/read_trace.py" "$stopped/trace.json" 2
steps=$(find "$stopped" -name 'step-*.h5' | sed 's/.*step-\([0-9]*\)\.h5/\1/')
cp "$stopped/plan.json" "$stopped/plan-after-2.json"
reported "stopped" "$stopped" '"from_step":2'
this_machine 1 | sed 's/1 GFLOP/1 PFLOP/' >one.toml
expect "on one device" 0 '' "$mpiexec" -np 1 "$pptrain" job.toml --resume latest --steps $((steps + 5)) \
  --set job.output=stopped --set cluster.file='"one.toml"' --set parallelism.pipeline=1 --set metrics.interval=3
check "plans and times of the first job are gone" test ! -e "$stopped/plan-after-2.json" -a ! -e "$stopped/trace.json"
reported "resumed on one device" "$stopped" "\"resumed_step\":$steps" '"devices":1,'
if "$python" -c 'import h5py' 2>/dev/null; then
  expect "event files with every third step" 0 'Wrote third/events' "$pptrain" report "$stopped" --tensorboard third
  check "their times count the steps between" "$python" "$tests/read_events.py" third/events.out.tfevents.* "$stopped/metrics.h5"
fi

sed 's/^name = "this/emulate = "timing"\n&/' cluster.toml >timing.toml
train "a rehearsal" 0 job.toml --set cluster.file='"timing.toml"' --set job.output=rehearsed --steps 3 --set metrics.trace=true
check "a rehearsal's trace" "$python" "$tests/read_trace.py" "$(run_of rehearsed)/trace.json" 2
if "$python" -c 'import h5py' 2>/dev/null; then
  check "no time of a rehearsal is less than nothing" "$python" -c "
import h5py, sys
ranks = h5py.File(sys.argv[1], 'r', swmr=True)['ranks']
assert all((ranks[name][:] >= 0).all() for name in ranks)" "$(run_of rehearsed)/metrics.h5"
fi
reported "rehearsed" "$(run_of rehearsed)" '"rehearsal":true' '"loss":null'

# A plan of nodes of two kinds, which nothing runs by.
expect "a plan as a page" 0 'Wrote plan.html' "$pptrain" plan "$inputs/papers/whale-bert-large.toml" --report plan.html
check "parts of the cluster are planned" grep -aq '"fewer_nodes":\[{"devices"' plan.html
for width in 420 800 1280; do opens "in a browser: a plan, $width wide" plan.html "$width"; done
expect "a page that cannot be written" 2 'nowhere is no directory' \
  "$pptrain" plan "$inputs/papers/whale-bert-large.toml" --report nowhere/plan.html
opens "a run on half a screen" "$traced/report.html" 420

train "a classifier" 0 "$inputs/classifier.toml" --steps 3 --set job.output=classified --set model.hidden_size=16 \
  --set model.input_size=16 --set model.classes=10 --set training.global_batch_size=8
reported "a classifier" "$(run_of classified)" '"unit":"samples"'
finish
