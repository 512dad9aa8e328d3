#!/usr/bin/env bash
# A cluster file with emulate = "timing" is rehearsed by as many ranks as it has devices: no data, no loss, predicted beside
# measured; other numbers of ranks and plans that do not fit are refused. With "numbers" the same losses come as without.
# Usage: emulated.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

sed 's/^count = 3/count = 1/; s/count = 4/count = 2/' "$inputs/clusters/aws-heterogeneous.toml" >two.toml

# rehearse TITLE CODE PATTERN RANKS ARGUMENT...: a run of so many ranks ends with CODE and prints PATTERN.
rehearse() {
  expect "$1" "$2" "$3" "$mpiexec" -np "$4" "$pptrain" "${@:5}" --set job.output=runs
}

job=$inputs/amp-heterogeneous-cluster.toml
cluster=(--set "cluster.file=\"$folder/two.toml\"" --steps 3)
rehearse "fewer ranks than devices" 2 '4 devices for 2 ranks.*start 4 ranks' 2 "$job" "${cluster[@]}"
rehearse "a dry run" 0 'stopping before the rehearsal' 4 "$job" "${cluster[@]}" --dry-run
check "nothing is written before a rehearsal" [ ! -e runs ]
rehearse "a rehearsal of the only plan that fits" 0 'steps +3, timing only, no loss' 4 "$job" "${cluster[@]}"
without_loss() { ! printed 'loss +[0-9]'; }
check "a rehearsal has no loss" without_loss
rehearse "a model that is a profile alone" 0 's measured \(median\)' 4 \
  "$inputs/papers/amp-gpt2-heterogeneous.toml" "${cluster[@]}" --set training.global_batch_size=4
sed -i 's/memory = "16 GB"/memory = "2 GB"/' two.toml
rehearse "devices that are too small" 3 'no plan fits|does not fit' 4 "$job" "${cluster[@]}" --set planner.name=data-parallel

# Slow devices play a small model for real.
training_text text.txt
cat >small.toml <<TOML
[job]
name = "small"
[model]
layers = 2
hidden_size = 32
heads = 2
vocabulary_size = 256
[data]
train = "text.txt"
[training]
steps = 4
sequence_length = 16
global_batch_size = 8
micro_batch_size = 2
[parallelism]
pipeline = 2
data = 2
[cluster]
file = "slow.toml"
[profile]
analytic = true
TOML
cat >slow.toml <<TOML
name = "slow"
emulate = "numbers"
[[device]]
kind = "slow"
memory = "100 MB"
flops = { fp32 = "200 MFLOP/s" }
memory_bandwidth = "1 GB/s"
[[node]]
kind = "host"
count = 2
devices = { kind = "slow", count = 2 }
link = { bandwidth = "10 MB/s" }
uplink = { bandwidth = "5 MB/s" }
TOML
losses() { grep -Eo 'loss [0-9.]+ to [0-9.]+' output.txt; }
rehearse "numbers" 0 's measured \(median\)' 4 small.toml
emulated=$(losses)
sed -i 's/^emulate.*/emulate = "no"/' slow.toml
rehearse "the same without emulation" 0 'loss' 4 small.toml
check "losses $emulated with emulation and without" [ "$(losses)" = "$emulated" ]
# A profile that knows of no bytes, and devices that then have too few.
"$pptrain" profile small.toml --analytic -o profile.json 2>/dev/null
sed -i -E 's/"(stored_bytes|weight|gradient|optimizer)": ?[0-9.e+]+/"\1": 0/g; s/"(workspace_bytes|workspace_bytes_per_sample)": ?[0-9.e+]+/"\1": 0/g' profile.json
sed -i 's/^emulate.*/emulate = "numbers"/; s/100 MB/100 kB/' slow.toml
rehearse "a device that is too small for what it holds" 4 'out of device memory: .* asked for with .* in use' 4 \
  small.toml --set profile.file=profile.json --set profile.analytic=false
check "it is said once" [ "$(grep -c 'out of device memory' errors.txt)" -eq 1 ]
# Enough for weights, not for all that an iteration stores: a rank runs out while the others wait for it.
sed 's/100 kB/450 kB/' slow.toml >tight.toml
rehearse "a device that has too little in the midst of an iteration" 4 \
  'error: rank [0-9], device [0-9] \(slow\): out of device memory: .* asked for with .* in use' 4 \
  small.toml --set profile.file=profile.json --set profile.analytic=false --set cluster.file=tight.toml \
  --set parallelism.zero_stage=0 --set parallelism.schedule=gpipe
check "it is said once, and nobody waited" [ "$(grep -c 'pptrain: error' errors.txt)" -eq 1 ]
finish
