#!/usr/bin/env bash
# Host names of a cluster file are held against where ranks run; without names a warning says what was taken for granted.
# Usage: hosts.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

training_text text.txt
cat >job.toml <<'TOML'
[job]
name = "hosts"
[model]
layers = 2
hidden_size = 16
heads = 2
vocabulary_size = 256
[data]
train = "text.txt"
[training]
steps = 2
sequence_length = 16
global_batch_size = 4
[profile]
analytic = true
TOML

# cluster FIRST SECOND [EMULATE]: two nodes of a device; each argument is a line of its node.
cluster() {
  local node='[[node]]
devices = { kind = "cpu", count = 1 }
uplink = { bandwidth = "10 Gbit/s", latency = "1 us" }'
  cat >cluster.toml <<TOML
name = "two nodes"
emulate = "${3:-no}"
[[device]]
kind = "cpu"
memory = "1 GiB"
flops = { fp32 = "1 GFLOP/s" }
memory_bandwidth = "1 GB/s"
$node
kind = "first"
$1
$node
kind = "second"
$2
TOML
}

own=$(hostname)
short=${own%%.*}
start=("$mpiexec" --bind-to none -np 2 "$pptrain" train job.toml --set cluster.file=cluster.toml)
says_nothing() { ! grep -q 'taking node' errors.txt; }

cluster "hosts = [\"$short\"]" "hosts = [\"$short\"]"
expect "nodes of this host" 0 'steps' "${start[@]}"
check "nothing is taken for granted" says_nothing
cluster "hosts = [\"$short\"]" 'hosts = ["elsewhere"]'
expect "a node of another host" 2 "cluster.toml: 1 devices? of $short.* for ranks 0-1" "${start[@]}"
cluster 'hosts = ["elsewhere"]' 'hosts = ["nowhere"]'
expect "no node of this host" 2 "cluster.toml: ranks 0-1 run on ${short}[^,]*, which is no host of it" "${start[@]}"
cluster '' ''
expect "nodes without a name" 0 "taking node 0 \(first\) for ${short}[^,]*, node 1 \(second\) for $short" "${start[@]}"
cluster '' '' timing
expect "emulated nodes, which are nowhere" 0 'timing only, no loss' "${start[@]}"
check "nothing is said of hosts" says_nothing
cluster 'hosts = ["elsewhere"]' 'hosts = ["nowhere"]' numbers
expect "emulated nodes with names" 0 'steps' "${start[@]}"
finish
