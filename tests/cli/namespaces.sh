#!/usr/bin/env bash
# A cluster of four nodes: network namespaces of this host on one bridge, three with links of 1 Gbit/s and one with
# 200 Mbit/s. The probe has to find every node, every link within 10 % and the cores that all of them share; the plan
# chosen from what was probed has to be faster than data parallelism. Needs root; skipped (77) where namespaces cannot
# be made.
# Usage: namespaces.sh PPTRAIN MPIEXEC
set -euo pipefail

pptrain=$(realpath -- "$1")
mpiexec=$2
# shellcheck source=tests/support/namespaces.sh
. "$(dirname -- "$0")/../support/namespaces.sh"
run_in_namespaces "$0" "$pptrain" "$mpiexec"

: "${folder:?}" # by it
add_mpi_nodes 1000 1000 1000 200

cd "$folder"
cat >"$folder/check.py" <<'PY'
import json
import os
import sys

cluster = json.load(open(sys.argv[1]))
found = {}
for group in cluster["node_groups"]:
    for host in group["hosts"]:
        found[host] = (group["devices_per_node"], group["uplink"]["bandwidth_bytes_per_second"])
print(found)
wanted = {"node1": 125e6, "node2": 125e6, "node3": 125e6, "node4": 25e6}
assert set(found) == set(wanted), found
for host, bandwidth in wanted.items():
    devices, measured = found[host]
    assert devices == 2, (host, devices)
    assert 0.9 * bandwidth <= measured <= 1.1 * bandwidth, (host, measured)
# The eight ranks run on the cores of one host, whatever their nodes are called.
pools = {(group["core_pool"], group["cores"]) for group in cluster["node_groups"]}
assert len(pools) == 1, pools
pool, cores = pools.pop()
assert cores <= len(os.sched_getaffinity(0)) and bool(pool) == (cores > 0), (pool, cores)
assert cores > 0 or len(os.sched_getaffinity(0)) >= 8, cores
PY

probe() {
  on_nodes "$mpiexec" 2 "$pptrain" cluster --format json >"$folder/cluster.json" 2>"$folder/err.txt" || {
    cat "$folder/err.txt"
    exit 1
  }
  python3 "$folder/check.py" "$folder/cluster.json"
}
probe || probe # once more on a noisy machine

# Gradients of 13 MB take most of a second over the slow link, activations of a micro-batch milliseconds.
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
[profile]
cache = false
TOML

train() { # PLANNER
  train_on_nodes "$mpiexec" "$pptrain" job.toml --set planner.name="$1" --set job.output="$1"
}
read -r auto auto_predicted < <(train auto)
read -r data data_predicted < <(train data-parallel)
echo "seconds of an iteration: auto $auto ($auto_predicted predicted), data-parallel $data ($data_predicted predicted)"
awk -v auto="$auto" -v data="$data" 'BEGIN { exit !(auto > 0 && 1.2 * auto <= data) }' || {
  echo "the plan chosen from what was probed is not 1.2 times as fast as data parallelism" >&2
  exit 1
}
echo "namespaces: all as expected"
