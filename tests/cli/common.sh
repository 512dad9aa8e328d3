# What the scripts of this folder have in common. They source it first, with their own arguments PPTRAIN [MPIEXEC]; it
# takes them to a folder of their own, which goes when they end.
# shellcheck shell=bash
# shellcheck disable=SC2034  # used by those who source it

pptrain=$(realpath -- "$1")
mpiexec=${2:-}
inputs=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/../../inputs")
# More ranks than cores, by root too.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1

folder=$(mktemp -d)
clean_up() { :; }  # of what a script has outside of its folder; it may define this anew
trap 'clean_up; rm -rf -- "$folder"' EXIT
cd "$folder" || exit 1
cases=0
failures=0
longest_seconds=300 # beyond what any command takes, on a slow and busy machine too: it ends what hangs

# run LONGEST_SECONDS COMMAND...: exit code in `code`, standard output in output.txt, the rest in errors.txt.
run() {
  code=0
  timeout -k 5 "$1" "${@:2}" >output.txt 2>errors.txt </dev/null || code=$?
}

# complain TITLE PROBLEM: a failure, with what the last run printed.
complain() {
  failures=$((failures + 1))
  printf 'FAILED %s: %s\n' "$1" "$2"
  cat output.txt errors.txt 2>/dev/null | cut -c1-400 | sed 's/^/    /'
}

# printed PATTERN: whether the last run printed something like that.
printed() { grep -aEq -- "$1" output.txt errors.txt; }

# expect TITLE CODE PATTERN COMMAND...: the command ends with CODE and prints PATTERN.
expect() {
  local title=$1 wanted=$2 pattern=$3
  cases=$((cases + 1))
  run "$longest_seconds" "${@:4}"
  if [[ $code -ne $wanted ]]; then complain "$title" "exit code $code, not $wanted"; return; fi
  if ! printed "$pattern"; then complain "$title" "nothing like '$pattern'"; return; fi
  printf 'ok %s\n' "$title"
}

# check TITLE COMMAND...: the command succeeds on what a run left.
check() {
  cases=$((cases + 1))
  if "${@:2}"; then printf 'ok %s\n' "$1"; else complain "$1" "not so"; fi
}

# finish: tells the counts; fails where anything did.
finish() {
  printf '%d cases, %d failures\n' "$cases" "$failures"
  [[ $failures -eq 0 ]]
}

# training_text FILE: some thousand tokens.
training_text() {
  local i
  for ((i = 0; i < 200; ++i)); do echo "the quick brown fox jumps over the lazy dog $i"; done >"$1"
}

# this_machine RANKS: a cluster file of as many devices on one node.
this_machine() {
  cat <<TOML
name = "this machine"
[[device]]
kind = "cpu"
memory = "1 GiB"
flops = { fp32 = "1 GFLOP/s" }
memory_bandwidth = "1 GB/s"
[[node]]
kind = "host"
count = 1
devices = { kind = "cpu", count = $1 }
link = { bandwidth = "10 Gbit/s", latency = "1 us" }
TOML
}

# await_training PROCESS OUTPUT: until some iterations are in the metrics of the run in the output directory; fails where
# the process ends before.
await_training() {
  until compgen -G "$2/*/*/metrics.h5" >/dev/null; do
    kill -0 "$1" 2>/dev/null || return 1
    sleep 0.05
  done
}

milliseconds() { date +%s%3N; }

# milliseconds_of COMMAND...: what it takes here and now. What it prints goes to output.txt and errors.txt; fails as it does.
milliseconds_of() {
  local start
  start=$(milliseconds)
  "$@" >output.txt 2>errors.txt </dev/null || return
  echo $(($(milliseconds) - start))
}

# at_least A B: the larger of two numbers.
at_least() { echo $(($1 > $2 ? $1 : $2)); }

# process_of LAUNCHER RANK: its process id; nothing where it has ended.
process_of() {
  local pid
  for pid in $(pgrep -P "$1"); do
    if grep -qzx "OMPI_COMM_WORLD_RANK=$2" "/proc/$pid/environ" 2>/dev/null; then echo "$pid"; fi
  done
}
