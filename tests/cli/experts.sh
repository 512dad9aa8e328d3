#!/usr/bin/env bash
# Experts on four nodes, namespaces of this host of which two have links of 1 Gbit/s and two of 100 Mbit/s: the plan that
# `auto` finds by what it probes gives less to those behind slow links, and has to be faster than even samples and
# experts by what is predicted, less 15 %. Needs root; skipped (77) where namespaces cannot be made.
# Usage: experts.sh PPTRAIN MPIEXEC
set -euo pipefail

pptrain=$(realpath -- "$1")
mpiexec=$2
# shellcheck source=tests/support/namespaces.sh
. "$(dirname -- "$0")/../support/namespaces.sh"
run_in_namespaces "$0" "$pptrain" "$mpiexec"

: "${folder:?}" # by it
add_mpi_nodes 1000 1000 100 100
cd "$folder"
seq 1 20000 >text
cat >job.toml <<'TOML'
[job]
name = "experts"
[model]
name = "moe"
vocabulary_size = 257
[[model.layer]]
kind = "embedding"
columns = 128
positions = true
[[model.layer]]
repeat = 2
heads = 4
feed_forward = 256
experts = 16
experts_per_token = 2
[[model.layer]]
kind = "output"
[data]
train = "text"
[training]
steps = 15
router_aux_loss = 1.0
sequence_length = 64
global_batch_size = 32
micro_batch_size = 32
[profile]
cache = false
[parallelism]
pipeline = 1
data = 4
experts = "all-to-all"
TOML

# even.py PLAN: the plan with as many samples and experts for each device.
cat >even.py <<'PY'
import json
import sys

plan = json.load(open(sys.argv[1]))
(stage,) = plan["stages"]
shares = [block["shards"]["experts"] for block in stage["blocks"] if block["pattern"] == "all-to-all"]
print("planned: samples", stage["samples"], "experts", shares[0], file=sys.stderr)
assert len(shares) == 2, "both layers with experts divide them"
slow = [device[0] >= 2 for device in stage["devices"]]
assert all((end - begin < 4) == is_slow for (begin, end), is_slow in zip(shares[0], slow)), shares[0]
for part in [stage, *stage["blocks"]]:
    part["samples"] = [[8 * k, 8 * k + 8] for k in range(4)]
for block in stage["blocks"]:
    block["shards"]["experts"] = [[4 * k, 4 * k + 4] for k in range(4)]
json.dump(plan, sys.stdout)
PY

read -r planned planned_predicted < <(train_on_nodes "$mpiexec" "$pptrain" job.toml --set job.output=planned)
python3 even.py planned/*/latest/plan.json >even.json
read -r even even_predicted < <(train_on_nodes "$mpiexec" "$pptrain" job.toml --set job.output=even \
  --set parallelism.plan=even.json)
echo "seconds of an iteration: planned $planned ($planned_predicted predicted), even $even ($even_predicted predicted)"
awk -v planned="$planned" -v even="$even" -v wanted="$planned_predicted $even_predicted" 'BEGIN {
  split(wanted, predicted, " ")
  exit !(planned > 0 && predicted[2] > 1.2 * predicted[1] && even / planned >= 0.85 * predicted[2] / predicted[1])
}' || {
  echo "the planned experts are not faster than even ones by what is predicted" >&2
  exit 1
}
echo "experts: all as expected"
