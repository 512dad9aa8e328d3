# A Slurm cluster in namespaces of this host: a controller and four nodes, fast1 to fast3 and slow1, of four CPUs and
# behind a link each. Sourced after support/namespaces.sh.
# shellcheck shell=bash

# shellcheck disable=SC2154  # `folder` is set there
: "$folder"
nodes=(fast1 fast2 fast3 slow1)
links=shaped
export SLURM_CONF=$folder/slurm/slurm.conf

write_slurm_configuration() {
  mkdir -p "$folder/slurm"
  cat >"$folder/slurm/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=controller(10.78.0.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# cred_expire is also how long a job waits before it starts again. That must be longer than KillWait: what is killed
# then are all steps of the job on a node, also of its next start.
AuthInfo=socket=$folder/slurm/munge.sock,cred_expire=10
CredType=cred/munge
StateSaveLocation=$folder/slurm/state
SlurmdSpoolDir=$folder/own/spool
TmpFS=$folder/own/tmp
SlurmctldPidFile=$folder/slurm/slurmctld.pid
SlurmdPidFile=$folder/own/slurmd.pid
SlurmctldLogFile=$folder/slurm/slurmctld.log
SlurmdLogFile=$folder/slurm/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1
TopologyPlugin=topology/tree
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
MpiDefault=none
SlurmdParameters=config_overrides
SlurmdTimeout=10
KillWait=8
ReturnToService=2
NodeName=DEFAULT CPUs=4 RealMemory=1000
NodeName=fast1 NodeAddr=10.78.0.1 Feature=fast,even
NodeName=fast2 NodeAddr=10.78.0.2 Feature=fast,even
NodeName=fast3 NodeAddr=10.78.0.3 Feature=fast,even
NodeName=slow1 NodeAddr=10.78.0.4 Feature=slow
PartitionName=mixed Nodes=ALL Default=YES MaxTime=1-0
CONF
  cat >"$folder/slurm/topology.conf" <<CONF
SwitchName=leaf1 Nodes=fast[1-3]
SwitchName=leaf2 Nodes=slow1
SwitchName=spine Switches=leaf[1-2]
CONF
}

# start_node NAME: the node, and Slurm's daemon on it.
start_node() {
  local number mbit=1000 i
  for ((i = 0; i < 4; ++i)); do if [[ ${nodes[i]} == "$1" ]]; then number=$((i + 1)); fi; done
  if [[ $1 == slow1 ]]; then mbit=200; fi
  if ! add_node "$1" "$number" "$mbit"; then
    echo "slurm: LINKS NOT SHAPED, they cannot be here"
    # shellcheck disable=SC2034  # jobs.sh reads it
    links=plain
  fi
  # PMIx and Open MPI leave files there that another node, or another life of this one, must not meet.
  in_node "$1" mkdir "$folder/own/spool" "$folder/own/tmp"
  in_node "$1" slurmd -N "$1"
}

# fail WHAT...: ends the test with what it was and what the jobs and Slurm said.
fail() {
  echo "FAILED: $*"
  tail -n 40 "$folder/slurm/slurmctld.log" "$folder"/*.log 2>/dev/null | cut -c1-300
  timeout 100 squeue
  timeout 100 sinfo -N -l
  exit 1
}

# wait_until WHAT COMMAND...: until the command succeeds; fails with WHAT where that takes longer than on any machine that
# is slow or busy.
wait_until() {
  local end=$((SECONDS + 600)) what=$1
  shift
  until "$@"; do
    if ((SECONDS >= end)); then fail "waited too long for $what"; fi
    sleep 0.1
  done
}

all_idle() { [[ $(timeout 100 sinfo -h -t idle -o %D) == 4 ]]; }
state_of() { timeout 100 squeue -h -j "$1" -t all -o %T | head -n 1; }
is_over() { [[ $(state_of "$1") =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)$ ]]; }

start_slurm() {
  mkdir "$folder/own/tmp"
  export TMPDIR=$folder/own/tmp
  hostname controller
  { echo "127.0.0.1 localhost"; echo "10.78.0.254 controller"; } >"$folder/hosts"
  local i
  for i in 1 2 3 4; do echo "10.78.0.$i ${nodes[i - 1]}" >>"$folder/hosts"; done
  add_bridge
  write_slurm_configuration
  (umask 077 && head -c 1024 /dev/urandom >"$folder/slurm/munge.key")
  munged --force --key-file="$folder/slurm/munge.key" --socket="$folder/slurm/munge.sock" --num-threads=4 \
    --pid-file="$folder/slurm/munged.pid" --log-file="$folder/slurm/munged.log" --seed-file="$folder/slurm/munged.seed" 2>/dev/null
  mkdir "$folder/slurm/state"
  slurmctld -c
  local node
  for node in "${nodes[@]}"; do start_node "$node"; done
  wait_until "the nodes of the cluster" all_idle
}
