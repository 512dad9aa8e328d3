#!/usr/bin/env bash
# A cluster of four nodes: network namespaces of this host on one bridge, three with links of 1 Gbit/s and one with
# 200 Mbit/s. The probe has to find every node, every link within 10 % and the cores that all of them share; the plan
# chosen from what was probed has to be faster than data parallelism. Needs root; skipped (77) where namespaces cannot
# be made.
# Usage: namespaces.sh PPTRAIN MPIEXEC
set -euo pipefail

pptrain=$(realpath -- "$1")
mpiexec=$2
folder=$(mktemp -d)
bridge=ppb$$
declare -A holder=() # node to the process that keeps its namespaces

skip() {
  echo "skipped: $1"
  exit 77
}

clean_up() {
  local node
  for node in "${!holder[@]}"; do
    kill "${holder[$node]}" 2>/dev/null || true
    ip link del "ppv$$n$node" 2>/dev/null || true
  done
  ip link del "$bridge" 2>/dev/null || true
  rm -rf -- "$folder"
}
trap clean_up EXIT

[[ $(id -u) -eq 0 ]] || skip "making network namespaces needs root"
for tool in ip tc unshare nsenter; do
  command -v "$tool" >/dev/null || skip "no $tool"
done
ip link add "$bridge" type bridge 2>/dev/null || skip "bridges cannot be made here"
ip link set "$bridge" up

shape() { # DEVICE MBIT [NODE]: what leaves the device, on the host or in a node
  local enter=()
  [[ $# -lt 3 ]] || enter=(nsenter -t "${holder[$3]}" -n)
  # The bucket holds a whole segment of 64 KiB, or a millisecond of traffic.
  local burst=$(($2 * 125))
  "${enter[@]}" tc qdisc add dev "$1" root tbf rate "${2}mbit" burst $((burst > 70000 ? burst : 70000)) latency 50ms
}

add_node() { # NODE MBIT
  local node=$1
  unshare -n -u -m -i sh -c "hostname node$node && mount -t tmpfs tmpfs /dev/shm &&
    mount --bind $folder/hosts /etc/hosts && touch $folder/ready$node && exec sleep 300" </dev/null >/dev/null 2>&1 &
  holder[$node]=$!
  for ((i = 0; i < 100; ++i)); do
    [[ -e $folder/ready$node ]] && break
    sleep 0.05
  done
  [[ -e $folder/ready$node ]] || skip "namespaces cannot be made here"
  ip link add "ppv$$n$node" type veth peer name eth0 netns "${holder[$node]}" || skip "no virtual Ethernet here"
  ip link set "ppv$$n$node" master "$bridge" up
  nsenter -t "${holder[$node]}" -n sh -c "ip link set lo up && ip addr add 10.78.0.$node/24 dev eth0 && ip link set eth0 up"
  shape "ppv$$n$node" "$2" || skip "links cannot be shaped here"
  shape eth0 "$2" "$node"
}

echo "127.0.0.1 localhost" >"$folder/hosts"
for node in 1 2 3 4; do
  echo "10.78.0.$node node$node" >>"$folder/hosts"
  echo "node$node slots=2" >>"$folder/hostfile"
done
for node in 1 2 3; do add_node "$node" 1000; done
add_node 4 200

# Open MPI starts its daemons with this instead of ssh.
for node in 1 2 3 4; do echo "${holder[$node]}" >"$folder/node$node.pid"; done
cat >"$folder/rsh" <<SH
#!/bin/sh
node=\$1
shift
exec nsenter -t "\$(cat "$folder/\$node.pid")" -n -u -m -i -- sh -c "\$*"
SH
chmod +x "$folder/rsh"

on_nodes() { # RANKS of each node COMMAND...
  local ranks=$1
  shift
  nsenter -t "${holder[1]}" -n -u -m -i --wd="$folder" -- env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    timeout 100 "$mpiexec" --hostfile "$folder/hostfile" --map-by "ppr:$ranks:node" --bind-to none --mca plm rsh --mca plm_rsh_agent "$folder/rsh" \
    --mca plm_rsh_no_tree_spawn 1 --mca pml ob1 --mca btl self,vader,tcp --mca btl_tcp_if_include eth0 \
    --mca oob_tcp_if_include eth0 "$@"
}

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
  on_nodes 2 "$pptrain" cluster --format json >"$folder/cluster.json" 2>"$folder/err.txt" || {
    cat "$folder/err.txt"
    exit 1
  }
  python3 "$folder/check.py" "$folder/cluster.json"
}
probe || probe # once more on a noisy machine

# Gradients of 13 MB take most of a second over the slow link, activations of a micro-batch milliseconds.
seq 1 20000 >"$folder/text"
cat >"$folder/job.toml" <<'TOML'
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

train() { # PLANNER: prints measured and predicted seconds of an iteration
  on_nodes 1 "$pptrain" train job.toml --set planner.name="$1" --set job.output="$1" >"$folder/out.txt" 2>"$folder/err.txt" || {
    cat "$folder/out.txt" "$folder/err.txt" >&2
    exit 1
  }
  sed -n 's/^  iteration *\([0-9.]*\) s measured (median), \([0-9.]*\) s predicted.*/\1 \2/p' "$folder/out.txt"
}
read -r auto auto_predicted < <(train auto)
read -r data data_predicted < <(train data-parallel)
echo "seconds of an iteration: auto $auto ($auto_predicted predicted), data-parallel $data ($data_predicted predicted)"
awk -v auto="$auto" -v data="$data" 'BEGIN { exit !(auto > 0 && 1.2 * auto <= data) }' || {
  echo "the plan chosen from what was probed is not 1.2 times as fast as data parallelism" >&2
  exit 1
}
echo "namespaces: all as expected"
