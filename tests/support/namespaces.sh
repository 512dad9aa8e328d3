# Nodes for tests: namespaces of this host, with a link of their own each. Sourced by scripts of cli/ and slurm/, which
# begin with:  run_in_namespaces "$0" "$@"
# shellcheck shell=bash
PATH=$PATH:/usr/sbin:/sbin

skip() {
  echo "skipped: $1"
  exit 77
}

# run_in_namespaces SCRIPT ARGUMENT...: runs the script in namespaces of its own (processes, network, mounts, host name)
# and ends as it does; in the script that was so started it only makes `folder`, which all nodes see, but for $folder/own,
# which each has for itself. Every process, mount, link and file there goes when the script ends, also when it or the test
# is killed, and every port is free.
run_in_namespaces() {
  if [[ ${PPTRAIN_TEST_NAMESPACES:-} == entered ]]; then
    unset PPTRAIN_TEST_NAMESPACES
    mount -t tmpfs -o mode=755 tmpfs /run
    folder=/run/test
    mkdir -p "$folder/own"
    ip link set lo up
    return
  fi
  [[ $(id -u) -eq 0 ]] || skip "making namespaces needs root"
  local tool
  for tool in ip tc unshare nsenter setpriv; do
    command -v "$tool" >/dev/null || skip "no $tool"
  done
  local own=(unshare --net --uts --mount --ipc --pid --fork --kill-child --mount-proc)
  "${own[@]}" ip link add ppb type bridge 2>/dev/null || skip "namespaces with bridges cannot be made here"
  PPTRAIN_TEST_NAMESPACES=entered setpriv --pdeathsig KILL "${own[@]}" bash "$@" </dev/null &
  local started=$! code=0
  # shellcheck disable=SC2064  # the process of now
  trap "kill -KILL $started" INT TERM
  wait "$started" || code=$?
  exit "$code"
}

declare -A holder=() # node to the process that keeps its namespaces, the first of its own

# add_bridge: that the nodes are linked to, 10.78.0.254 to them. Before it, /etc/hosts of all nodes is $folder/hosts.
add_bridge() {
  ip link add ppb type bridge
  ip addr add 10.78.0.254/24 dev ppb
  ip link set ppb up
  mount --bind "$folder/hosts" /etc/hosts
}

# shape DEVICE MBIT [NODE]: what leaves the device, here or in a node.
shape() {
  local enter=()
  [[ $# -lt 3 ]] || enter=(nsenter -t "${holder[$3]}" -n)
  # The bucket holds a whole segment of 64 KiB, or a millisecond of traffic.
  local burst=$(($2 * 125))
  "${enter[@]}" tc qdisc add dev "$1" root tbf rate "${2}mbit" burst $((burst > 70000 ? burst : 70000)) latency 50ms
}

# add_node NAME NUMBER MBIT: a node 10.78.0.NUMBER with a link of this rate; fails where links cannot be shaped.
add_node() {
  local node=$1 number=$2 i
  unshare --net --uts --mount --ipc --pid --fork --kill-child --mount-proc bash -c \
    "hostname $node && mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs $folder/own && touch $folder/$node.ready && while :; do sleep 60; done" 2>/dev/null &
  local outer=$!
  for ((i = 0; i < 200; ++i)); do
    [[ -e $folder/$node.ready ]] && break
    sleep 0.02
  done
  rm "$folder/$node.ready"
  holder[$node]=$(pgrep -P "$outer")
  echo "${holder[$node]}" >"$folder/$node.pid"
  ip link add "ppv$number" type veth peer name eth0 netns "${holder[$node]}"
  ip link set "ppv$number" master ppb up
  nsenter -t "${holder[$node]}" -n sh -c \
    "ip link set lo up && ip addr add 10.78.0.$number/24 dev eth0 && ip link set eth0 up"
  shape "ppv$number" "$3" && shape eth0 "$3" "$node"
}

# in_node NAME COMMAND...
in_node() { nsenter -t "${holder[$1]}" -n -u -m -i -p --wd="$folder" -- "${@:2}"; }

# remove_node NAME: ends all its processes at once and takes its link away, as when the power fails.
remove_node() {
  kill -KILL "${holder[$1]}"
  unset "holder[$1]"
}

# add_mpi_nodes MBIT...: nodes node1, node2, ... with links of these rates, for on_nodes; skips the test where links
# cannot be shaped.
add_mpi_nodes() {
  local node=0 mbit
  echo "127.0.0.1 localhost" >"$folder/hosts"
  for mbit in "$@"; do
    node=$((node + 1))
    echo "10.78.0.$node node$node" >>"$folder/hosts"
    echo "node$node slots=2" >>"$folder/hostfile"
  done
  add_bridge
  node=0
  for mbit in "$@"; do
    node=$((node + 1))
    add_node node$node $node "$mbit" || skip "links cannot be shaped here"
  done
  # Open MPI starts its daemons with this instead of ssh.
  cat >"$folder/rsh" <<SH
#!/bin/sh
node=\$1
shift
exec nsenter -t "\$(cat "$folder/\$node.pid")" -n -u -m -i -p --wd="$folder" -- sh -c "\$*"
SH
  chmod +x "$folder/rsh"
}

# on_nodes MPIEXEC RANKS COMMAND...: with so many ranks on each node.
on_nodes() {
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 600 "$1" --hostfile "$folder/hostfile" \
    --map-by "ppr:$2:node" --bind-to none --mca plm rsh --mca plm_rsh_agent "$folder/rsh" \
    --mca plm_rsh_no_tree_spawn 1 --mca pml ob1 --mca btl self,vader,tcp --mca btl_tcp_if_include 10.78.0.0/24 \
    --mca oob_tcp_if_include 10.78.0.0/24 "${@:3}"
}

# train_on_nodes MPIEXEC PPTRAIN CONFIG OPTION...: with a rank on each node; prints measured and predicted seconds of an
# iteration.
train_on_nodes() {
  on_nodes "$1" 1 "$2" train "${@:3}" >"$folder/out.txt" 2>"$folder/err.txt" || {
    cat "$folder/out.txt" "$folder/err.txt" >&2
    exit 1
  }
  awk 'BEGIN { unit["us"] = 1e-6; unit["ms"] = 1e-3; unit["s"] = 1 }
    /^  iteration .* measured \(median\), .* predicted/ { print $2 * unit[$3], $6 * unit[$7] }' "$folder/out.txt"
}
