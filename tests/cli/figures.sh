#!/usr/bin/env bash
# Figures that are printed of one plan, run or machine in several places are the same in all of them, and have a meaning
# where a run is short.
# Usage: figures.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"
export XDG_CACHE_HOME=$folder/cache

training_text text.txt
cat >job.toml <<TOML
[job]
name = "figures"
output = "runs"
[model]
layers = 4
hidden_size = 32
heads = 2
vocabulary_size = 256
[data]
train = "text.txt"
[training]
steps = 4
sequence_length = 16
global_batch_size = 8
[parallelism]
pipeline = 2
[profile]
analytic = true
TOML
this_machine 2 >cluster.toml
this_machine 2 | sed '/^devices =/a cores = 1' >shared.toml

run_of() { dirname -- "$(find runs -name metrics.h5 | sort | tail -n 1)"; }
shares() { grep -aoE 'devices compute (< )?[0-9.]+ % of it' output.txt | sort -u || true; }
# tells SHARE: the last command printed it, and no other one.
tells() { [[ -n $1 && $(shares) == "$1" ]]; }
# among SHARE: the last command printed it.
among() { [[ -n $1 ]] && shares | grep -qxF "$1"; }
# bubble_is FILE SHARE: the plan's bubble_fraction in a file is what is left beside it.
bubble_is() {
  awk -v share="${2//[!0-9.]/}" 'match($0, /"bubble_fraction": ?[0-9.e-]+/) {
    split(substr($0, RSTART, RLENGTH), part, ":"); off = 100 * (1 - part[2]) - share; found = 1 }
    END { exit !(found && off < 0.51 && off > -0.51) }' "$1"
}
# plain: no number of the last run is left as a computer writes it.
plain() { ! grep -aE '[0-9]e-[0-9]+ [num]?s|[0-9]e\+[0-9]+ (s|ms|B)|[^0-9a-z]-0( |$)|[^a-z]nan[^a-z]|[^a-z]inf[^a-z]' output.txt errors.txt; }

for cluster in cluster shared; do
  rm -rf runs
  files=(--set "cluster.file=\"$cluster.toml\"")
  expect "$cluster: a plan" 0 'devices compute' "$pptrain" plan job.toml "${files[@]}" -o plan.json
  share=$(shares)
  check "$cluster: it has one share of computing: $share" tells "$share"
  check "$cluster: its file has the same" bubble_is plan.json "$share"
  expect "$cluster: a dry run" 0 'candidate grids' "$mpiexec" -np 2 "$pptrain" job.toml "${files[@]}" --dry-run -v
  check "$cluster: it has the same share" tells "$share"
  expect "$cluster: a dry run by the table's schedule" 0 'candidate grids .*, schedule 1f1b$' \
    "$mpiexec" -np 2 "$pptrain" job.toml "${files[@]}" --dry-run -v --set parallelism.schedule=1f1b --set planner.name=amp
  share_1f1b=$(shares)
  check "$cluster: the table has the same" grep -qE "PP 2 x DP 1 x TP 1 .* ${share_1f1b//[!0-9.]/} %  " output.txt
  expect "$cluster: a run" 0 'Summary' "$mpiexec" -np 2 "$pptrain" job.toml "${files[@]}"
  check "$cluster: it has the same share" tells "$share"
  check "$cluster: its numbers are for people" plain
  run=$(run_of)
  check "$cluster: so has its plan.json" bubble_is "$run/plan.json" "$share"
  expect "$cluster: its report" 0 '' "$pptrain" report "$run" -o report.html
  check "$cluster: so has the page" bubble_is report.html "$share"
  expect "$cluster: a simulation" 0 'makespan' "$pptrain" simulate job.toml "${files[@]}" --plan "$run/plan.json"
  check "$cluster: the simulator's share is that of the plan" among "$share"
  check "$cluster: its numbers are for people" plain
done
check "the simulator says what shared cores change" printed 'with shared cores .* devices compute'

# Short runs.
files=(--set 'cluster.file="cluster.toml"')
meaningful() { printed 'time +[1-9][0-9.]* % computing' && ! printed '0 % computing, 0 % communicating, 0 % idle'; }
expect "one step" 0 'measured \(one step\)' "$mpiexec" -np 2 "$pptrain" job.toml "${files[@]}" --steps 1
check "it has shares of its time" meaningful
check "they are said to be of the first step" printed 'idle, in the first( step)?$'  # the line may be full before "step"
expect "two steps" 0 'measured \(one step\)' "$mpiexec" -np 2 "$pptrain" job.toml "${files[@]}" --steps 2
check "it has shares of its time, too" meaningful
rm -rf runs
expect "three steps with a checkpoint" 0 'checkpoint runs' "$mpiexec" -np 2 "$pptrain" job.toml "${files[@]}" --steps 3 \
  --set checkpoint.interval=3
expect "the last of four steps" 0 'steps +1, ' "$mpiexec" -np 2 "$pptrain" job.toml "${files[@]}" --resume latest
check "the last step alone has shares of its time" meaningful

# The peak of this machine.
flops_of() { grep -h '^flops' "$1/cluster.toml"; }
machine=(--set 'cluster.file="discover"' --set profile.analytic=false)
expect "a run on this machine" 0 "of the model, .* of the peak" "$mpiexec" -np 2 "$pptrain" job.toml "${machine[@]}"
first=$(flops_of "$(run_of)")
check "its cluster has rates of fp32, bf16 and fp16" grep -q 'bf16.*fp16.*fp32' <<<"$first"
expect "a run in bf16" 0 "of the model, .* of the peak" "$mpiexec" -np 2 "$pptrain" job.toml "${machine[@]}" \
  --set training.precision=bf16
check "the next job counts from the same peak: $first" [ "$(flops_of "$(run_of)")" = "$first" ]
check "the peak is kept" compgen -G 'cache/pptrain/peak-rates-*.json'
sed -i '/^flops/d' cluster.toml
expect "a peak that is not known" 0 'of the model; no peak of the devices is known' "$mpiexec" -np 2 "$pptrain" job.toml \
  "${files[@]}" --set profile.analytic=false --steps 3
finish
