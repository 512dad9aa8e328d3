#!/usr/bin/env bash
# Four ranks on two nodes of two: network namespaces of this host with links of 100 Mbit/s. What the ranks of a node send
# at the same time shares its link, and predictions know that: of tensor-parallel members whose replicas are on the other
# node, of a pipeline in each node, without and with ZeRO, and of members on both nodes. Counted as if each were alone on
# the link they would be half of what is measured. Needs root; skipped (77) where namespaces cannot be made.
# Usage: uplinks.sh PPTRAIN MPIEXEC
set -euo pipefail

pptrain=$(realpath -- "$1")
mpiexec=$2
# shellcheck source=tests/support/namespaces.sh
. "$(dirname -- "$0")/../support/namespaces.sh"
run_in_namespaces "$0" "$pptrain" "$mpiexec"

: "${folder:?}" # by it
add_mpi_nodes 100 100

cd "$folder"
seq 1 20000 >text
cat >job.toml <<'TOML'
[model]
layers = 4
hidden_size = 256
heads = 4
vocabulary_size = 256
[data]
train = "text"
[training]
steps = 6
sequence_length = 64
global_batch_size = 16
micro_batch_size = 4
[parallelism]
schedule = "1f1b"
recompute = "none"
TOML

cat >plan.py <<'PY'
import json
import sys

plan = json.load(open(sys.argv[1]))
pipeline, zero_stage = plan["stages"][1:], int(sys.argv[3])
placed = [[[0], [2]], [[1], [3]]] if pipeline else [[[0, 2], [1, 3]] if sys.argv[4] == "across" else [[0, 1], [2, 3]]]
for stage, devices in zip(plan["stages"], placed):
    stage.update(devices=devices, zero_stage=zero_stage)
json.dump(plan, open(sys.argv[2], "w"))
PY

# measured NAME ZERO PLACE KEY...: trains the plan of these degrees with its devices in their places.
measured() {
  local name=$1 zero=$2 place=$3
  shift 3
  on_nodes "$mpiexec" 2 "$pptrain" train job.toml --steps 1 --set parallelism.zero_stage=0 "$@" >out.txt 2>err.txt || { cat out.txt err.txt; exit 1; }
  python3 plan.py "$(find outputs -name plan.json -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-)" plan.json "$zero" "$place"
  on_nodes "$mpiexec" 2 "$pptrain" train job.toml --set parallelism.plan=plan.json >out.txt 2>err.txt || { cat out.txt err.txt; exit 1; }
  awk -v name="$name" 'BEGIN { unit["us"] = 1e-6; unit["ms"] = 1e-3; unit["s"] = 1 }
    /^  iteration .* measured \(median\), .* predicted/ { measured = $2 * unit[$3]; predicted = $6 * unit[$7] }
    END {
      printf "%-45s %.2f s predicted, %.2f s measured\n", name, predicted, measured
      exit !(predicted > 0 && measured >= 0.8 * predicted && measured <= 1.5 * predicted)
    }' out.txt
}
two=(--set parallelism.data=2)
for _ in 1 2; do # once more on a noisy machine
  if measured "TP 2 in the nodes, DP 2 between them" 0 inside "${two[@]}" --set parallelism.tensor=2 --set parallelism.pipeline=1 &&
    measured "PP 2 in the nodes, DP 2 between them" 0 inside "${two[@]}" --set parallelism.tensor=1 --set parallelism.pipeline=2 &&
    measured "PP 2 in the nodes, DP 2 with ZeRO 1" 1 inside "${two[@]}" --set parallelism.tensor=1 --set parallelism.pipeline=2 &&
    measured "DP 2 in the nodes, TP 2 between them" 0 across "${two[@]}" --set parallelism.tensor=2 --set parallelism.pipeline=1; then
    echo "uplinks: all as expected"
    exit 0
  fi
done
exit 1
