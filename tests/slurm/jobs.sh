#!/usr/bin/env bash
# The job scripts on a Slurm cluster of this host (cluster.sh): a job is stopped by signals, goes back into the queue by
# itself, and ends with the curve of one that was never stopped, bit for bit; another finds the nodes as Slurm describes
# them. "long" goes on with long.sh.
# Usage: jobs.sh PPTRAIN short|long
set -euo pipefail

here=$(cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=tests/support/namespaces.sh
. "$here/../support/namespaces.sh"
for tool in munged slurmctld slurmd sbatch mpirun; do
  command -v "$tool" >/dev/null || skip "no $tool (Debian: slurm-wlm munge openmpi-bin)"
done
/usr/bin/python3 -c 'import h5py' 2>/dev/null || skip "/usr/bin/python3 has no h5py"
pptrain=$(realpath -- "$1")
kind=$2
run_in_namespaces "$0" "$pptrain" "$kind"
# shellcheck source=tests/slurm/cluster.sh
. "$here/cluster.sh"
start_slurm

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1
export XDG_CACHE_HOME=$folder/cache # of measured layer times
cd "$folder"
cp -r "$here/../../job-scripts" .
ln -s "$pptrain" pptrain
for ((i = 0; i < 200; ++i)); do echo "the quick brown fox jumps over the lazy dog $i"; done >text.txt
if [[ $kind == long ]]; then steps=400; else steps=120; fi
# Half a megabyte of gradients over the slow link: an iteration takes 30 ms at least, on any machine. Without it a few.
if [[ $links == plain ]]; then steps=$((steps * 5)); fi
cat >job.toml <<TOML
[job]
timeout = "30 s"
[model]
layers = 2
hidden_size = 64
heads = 4
vocabulary_size = 256
[data]
train = "text.txt"
[training]
steps = $steps
sequence_length = 32
global_batch_size = 8
[parallelism]
data = 4
pipeline = 1
[cluster]
file = "cluster.toml"
[profile]
analytic = true
[checkpoint]
interval = 50
TOML
cat >cluster.toml <<'TOML'
[[device]]
kind = "cpu"
memory = "1 GiB"
flops = { fp32 = "1 GFLOP/s" }
memory_bandwidth = "1 GB/s"
[[node]]
count = 4
devices = { kind = "cpu", count = 1 }
uplink = { bandwidth = "200 Mbit/s", latency = "50 us" }
TOML

# submit NAME ARGUMENT...: a job of this name, one rank to a node; arguments up to "--" are sbatch's. Its number in `job`.
submit() {
  local name=$1 options=()
  shift
  while [[ ${1:-} != -- ]]; do
    options+=("$1")
    shift
  done
  job=$(timeout 100 sbatch --parsable --job-name="$name" --ntasks-per-node=1 "${options[@]}" job-scripts/hetero.slurm job.toml \
    --set "job.name=$name" "${@:2}") || fail "sbatch"
}

log_of() { echo "$folder"/*-"$1".log; }
# says JOB PATTERN [TIMES]: the job's log has the pattern, in so many lines.
says() { [[ $(grep -caE -- "$2" "$(log_of "$1")" 2>/dev/null) -ge ${3:-1} ]]; }
# trains JOB START: the job was started so often, or more, and is past the first steps of this start.
trains() {
  awk -v start="$2" '/: job [0-9_]+, start [0-9]+ on/ { match($0, /start [0-9]+/); now = substr($0, RSTART + 6, RLENGTH - 6) }
    /^step +[0-9]+\/.*tokens\/s/ && now + 0 >= start { found = 1 }
    END { exit !found }' "$(log_of "$1")" 2>/dev/null
}
# ends JOB: waits for its end, which is a good one.
ends() {
  wait_until "the end of job $1" is_over "$1"
  [[ $(state_of "$1") == COMPLETED ]] || fail "job $1 ended as $(state_of "$1")"
}
run_of() { echo "outputs/$1/latest"; }
# compare COMPARED TOLERANCE NAME...: the curves of these jobs (curves.py).
compare() {
  local runs=() name
  for name in "${@:3}"; do runs+=("$(run_of "$name")"); done
  /usr/bin/python3 "$here/curves.py" "$steps" "$1" "$2" "${runs[@]}" || fail "the curves of ${*:3}"
}
same_curves() { compare "$steps" 0 "$@"; }

# Typed by mistake, it starts nothing.
code=0
bash job-scripts/hetero.slurm job.toml >typed.log 2>&1 || code=$?
if [[ $code -ne 2 ]] || ! grep -q 'submit the script with sbatch' typed.log; then fail "the script typed: $(cat typed.log)"; fi

submit through --
through=$job
submit stopped --
stopped=$job
wait_until "training under srun" trains "$stopped" 1
timeout 100 scancel --batch --signal=USR1 "$stopped"
wait_until "a checkpoint and a requeue after USR1" says "$stopped" 'stopped early with a checkpoint: putting the job back'

# While it waits in the queue: mpirun, and what the nodes are found to be.
PPTRAIN_LAUNCHER=mpirun submit found -- --steps 3 --set cluster.file=discover --set profile.analytic=false \
  --set profile.cache=false
found=$job

# srun brings TERM, which scancel sends, to the ranks, and Slurm waits for them. The job stays ended.
wait_until "the second start" trains "$stopped" 2
says "$stopped" 'Resuming from .*step-[0-9]+.h5' || fail "the second start does not resume"
timeout 100 scancel "$stopped"
wait_until "the end of a cancelled job" is_over "$stopped"
wait_until "what the script says at the end" says "$stopped" 'the job was ended \(exit code 75\)'
submit stopped --
ends "$found"
says "$found" 'start 1 on .* mpirun' || fail "mpirun was not used"
/usr/bin/python3 - "$(run_of found)/cluster.toml" <<'PY' || fail "the nodes are not as Slurm describes them"
import sys
import tomllib

cluster = tomllib.load(open(sys.argv[1], "rb"))
found = {(host, node["kind"], node["switch"]) for node in cluster["node"] for host in node["hosts"]}
fast = {(f"fast{i}", "fast,even", "leaf1") for i in (1, 2, 3)}
assert found == fast | {("slow1", "slow", "leaf2")}, found
assert {(s["name"], s["switch"]) for s in cluster["switch"]} == {("leaf1", "spine"), ("leaf2", "spine")}, cluster["switch"]
PY
ends "$through"
says "$through" 'job [0-9]+, start 1 on fast\[1-3\],slow1 at .* srun --mpi=pmix' || fail "the job does not say where it is"
ends "$job"
same_curves through stopped
echo "slurm: stopped by USR1 and TERM, resumed: all as expected"
# shellcheck source=tests/slurm/long.sh
if [[ $kind == long ]]; then . "$here/long.sh"; fi
