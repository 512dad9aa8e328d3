#!/usr/bin/env bash
# A cluster file with emulate = "timing" is rehearsed by as many ranks as it has devices: no data, no loss, predicted beside
# measured; other numbers of ranks and plans that do not fit are refused. With "numbers" the same losses come as without.
# Usage: emulated.sh PPTRAIN MPIEXEC
set -euo pipefail

pptrain=$(realpath -- "$1")
inputs=$(realpath -- "$(dirname -- "$0")/../../inputs")
mpiexec=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd "$folder"
sed 's/^count = 3/count = 1/; s/count = 4/count = 2/' "$inputs/clusters/aws-heterogeneous.toml" >two.toml
failures=0

# expect NAME CODE PATTERN RANKS ARGUMENT...: exit code and text of a run.
expect() {
  local name=$1 code=0 want=$2 pattern=$3 ranks=$4
  shift 4
  timeout -k 5 60 "$mpiexec" -np "$ranks" "$pptrain" "$@" --set job.output=runs >output 2>&1 </dev/null || code=$?
  if [[ $code -ne $want ]] || ! grep -Eq "$pattern" output; then
    failures=$((failures + 1))
    printf 'FAILED %s: exit code %s, wanted %s and %s\n' "$name" "$code" "$want" "$pattern"
    sed 's/^/    /' output
    return
  fi
  printf 'ok %s\n' "$name"
}

job=$inputs/amp-heterogeneous-cluster.toml
cluster=(--set "cluster.file=\"$folder/two.toml\"" --steps 3)
expect "fewer ranks than devices" 2 '4 devices for 2 ranks.*start 4 ranks' 2 "$job" "${cluster[@]}"
expect "a dry run" 0 'stopping before the rehearsal' 4 "$job" "${cluster[@]}" --dry-run
if [[ -e runs ]]; then
  failures=$((failures + 1))
  echo 'FAILED: something was written before a rehearsal'
fi
expect "a rehearsal of the only plan that fits" 0 'steps +3, rehearsed: no numbers' 4 "$job" "${cluster[@]}"
if grep -q 'loss' output; then
  failures=$((failures + 1))
  echo 'FAILED: a rehearsal has no loss'
fi
expect "a model that is a profile alone" 0 ' s measured \(median\)' 4 \
  "$inputs/papers/amp-gpt2-heterogeneous.toml" "${cluster[@]}" --set training.global_batch_size=4
sed -i 's/memory = "16 GB"/memory = "2 GB"/' two.toml
expect "devices that are too small" 3 'no plan fits|does not fit' 4 "$job" "${cluster[@]}" --set planner.name=data-parallel

# Slow devices play a small model for real.
for ((i = 0; i < 200; ++i)); do echo "the quick brown fox jumps over the lazy dog $i"; done >text.txt
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
losses() { grep -Eo 'loss [0-9.]+ to [0-9.]+' output; }
expect "numbers" 0 ' s measured \(median\)' 4 small.toml
emulated=$(losses)
sed -i 's/^emulate.*/emulate = "no"/' slow.toml
expect "the same without emulation" 0 'loss' 4 small.toml
if [[ -z $emulated || $(losses) != "$emulated" ]]; then
  failures=$((failures + 1))
  printf 'FAILED: losses "%s" with emulation, "%s" without\n' "$emulated" "$(losses)"
fi
# A profile that knows of no bytes, and devices that then have too few.
"$pptrain" profile small.toml --analytic -o profile.json 2>/dev/null
sed -i -E 's/"(stored_bytes|weight|gradient|optimizer)": ?[0-9.e+]+/"\1": 0/g; s/"(workspace_bytes|workspace_bytes_per_sample)": ?[0-9.e+]+/"\1": 0/g' profile.json
sed -i 's/^emulate.*/emulate = "numbers"/; s/100 MB/100 kB/' slow.toml
expect "a device that is too small for what it holds" 4 'out of device memory: .* asked for with .* in use' 4 \
  small.toml --set profile.file=profile.json --set profile.analytic=false
[[ $failures -eq 0 ]]
