#!/usr/bin/env bash
# Everything that a machine with GPUs can say about pptrain, in one run: tests, compute-sanitizer, a job with its report,
# the comparison with PyTorch. Goes on after a failure; leaves a folder of logs and a table for docs/gpu.md.
# Exit code 0: nothing failed; 1: something did; 77: no GPU here.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release
logs=
limit=0
parts=(build tests memcheck racecheck initcheck synccheck job graphs ranks compare)

usage() {
  cat <<USAGE
Usage: benchmarks/gpu_first_run.sh [--build DIR] [--logs DIR] [--limit SECONDS] [PART...]
  --build DIR      where pptrain is built, or will be (default build/release)
  --logs DIR       where logs and table.md go (default build/gpu-first-run/DATE-TIME)
  --limit SECONDS  at most so long for each part
  PART             of ${parts[*]} (default: all)
USAGE
}

fail() {
  printf 'gpu_first_run: %s\n' "$1" >&2
  exit 2
}

skip() {
  printf 'gpu_first_run: SKIPPED: %s\n' "$1" >&2
  exit 77
}

# --- What a part is: a function that says what it does, a log, a row of the table.

rows=()
failures=0

add_row() {  # NAME RESULT SECONDS FIGURE
  rows+=("| $1 | $2 | $3 | $4 |")
  printf '%-40s %-12s %6s s  %s\n' "$1" "$2" "$3" "$4"
  if [[ $2 == FAILED* || $2 == TIMEOUT ]]; then failures=$((failures + 1)); fi
}

result_of() {  # EXIT_CODE
  case $1 in
    0) printf 'passed' ;;
    77) printf 'skipped' ;;
    124 | 137) printf 'TIMEOUT' ;;
    *) printf 'FAILED (%s)' "$1" ;;
  esac
}

# run_logged LOG SECONDS COMMAND...: the command's exit code; 124 where it took too long.
run_logged() {
  local log=$1 seconds=$2 code=0
  shift 2
  if ((limit > 0 && seconds > limit)); then seconds=$limit; fi
  printf '+ %s\n' "$*" >"$log"
  timeout --kill-after=10 "$seconds" "$@" >>"$log" 2>&1 </dev/null || code=$?
  return "$code"
}

# figure_of LOG PATTERN: the last line that has it, for the table.
figure_of() { grep -aE "$2" "$1" | tail -n 1 | tr '|' '/' | sed 's/^ *//' || true; }

# part NAME SECONDS PATTERN COMMAND...
part() {
  local name=$1 seconds=$2 pattern=$3 log code=0 begin=$SECONDS
  shift 3
  log=$logs/$(printf '%s' "$name" | tr -c 'a-zA-Z0-9\n' '-').log
  run_logged "$log" "$seconds" "$@" || code=$?
  add_row "$name" "$(result_of "$code")" "$((SECONDS - begin))" "$(figure_of "$log" "$pattern")"
  return 0
}

# --- The parts.

run_build() {
  if [[ ! -f $build/CMakeCache.txt && $build == "$root/build/release" ]]; then
    part bootstrap 7200 '^-- CUDA' "$root/bootstrap.sh" build
  elif [[ ! -f $build/CMakeCache.txt ]]; then
    part configure 3600 '^-- CUDA' cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DPPTRAIN_CUDA=ON
  fi
  part build 7200 'error|warning' cmake --build "$build" --parallel --target pptrain test_cuda_gpu test_cuda_ranks_gpu
}

# A row for each test, from ctest's own report.
run_tests() {
  local report=$logs/tests.xml code=0 begin=$SECONDS name status seconds
  run_logged "$logs/tests.log" 7200 \
    ctest --test-dir "$build" --label-regex '^gpu$' --output-on-failure --output-junit "$report" || code=$?
  while read -r name status seconds; do
    case $status in
      run) status=passed ;;
      notrun | disabled) status=skipped ;;
      *) status=FAILED ;;
    esac
    add_row "ctest $name" "$status" "${seconds%.*}" ""
  done < <(sed -nE 's/.*<testcase name="([^"]*)".* time="([^"]*)" status="([^"]*)".*/\1 \3 \2/p' "$report" 2>/dev/null)
  add_row "ctest -L gpu" "$(result_of "$code")" "$((SECONDS - begin))" "$(figure_of "$logs/tests.log" 'tests passed')"
}

# Own kernels; memcheck looks at those of CUDA's libraries too. Arrays of many gigabytes would take hours.
run_sanitizer() {
  local tool=$1 options=(--error-exitcode 99 --tool "$1")
  if ! command -v compute-sanitizer >/dev/null; then
    add_row "compute-sanitizer $tool" skipped 0 "compute-sanitizer is not there"
    return
  fi
  if [[ $tool != memcheck ]]; then options+=(--kernel-name kns=pptrain); fi
  part "compute-sanitizer $tool" 3600 'ERROR SUMMARY|RACECHECK SUMMARY' \
    compute-sanitizer "${options[@]}" "$build/tests/cuda/test_cuda_gpu" '~[large]'
}

# pptrain_on RANKS NAME [OPTION...]: inputs/gpt2.toml in bf16 on as many ranks, and its report.
pptrain_on() {
  local output=$logs/$2
  part "pptrain on $1 ranks${3:+, ${*:3}}" 900 'iteration +[0-9]' mpirun --oversubscribe -np "$1" "$build/pptrain" \
    "$root/inputs/gpt2.toml" --set job.device=gpu --set training.precision=bf16 --set "job.output=$output" "${@:3}"
  local runs=("$output"/*/latest/)
  part "report of $1 ranks${3:+, ${*:3}}" 120 '.' "$build/pptrain" report "${runs[0]}"
}

run_job() { pptrain_on 1 job; }
run_graphs() { pptrain_on 1 graphs --set job.cuda_graphs=true; }
# More ranks than most machines have GPUs: they share them.
run_ranks() { pptrain_on 8 ranks; }
run_compare() { part "gpu_compare.sh" 7200 'ratio|SKIPPED' "$root/benchmarks/gpu_compare.sh"; }

# --- The table.

write_table() {
  {
    printf '%s, commit %s\n\n' "$(date +%F)" "$(git -C "$root" describe --always --dirty=+ 2>/dev/null || echo unknown)"
    nvidia-smi --query-gpu=index,name,memory.total,driver_version --format=csv,noheader | sed 's/^/- GPU /'
    if [[ -x $build/pptrain ]]; then "$build/pptrain" --version 2>/dev/null | sed 's/^/- /' || true; fi
    printf '\n| what | result | seconds | figure |\n|---|---|---|---|\n'
    printf '%s\n' "${rows[@]}"
  } >"$logs/table.md"
}

asked=()
while (($# > 0)); do
  case $1 in
    --build | --logs | --limit)
      (($# > 1)) || fail "$1 needs a value"
      if [[ $1 == --limit ]]; then limit=$2; else printf -v "${1#--}" '%s' "$(realpath -m -- "$2")"; fi
      shift 2
      ;;
    --help)
      usage
      exit 0
      ;;
    *)
      [[ " ${parts[*]} " == *" $1 "* ]] || fail "no part $1; there are ${parts[*]}"
      asked+=("$1")
      shift
      ;;
  esac
done

command -v nvidia-smi >/dev/null || skip "nvidia-smi is not there, so neither is a GPU"
nvidia-smi >/dev/null 2>&1 || skip "nvidia-smi finds no GPU"
logs=${logs:-$root/build/gpu-first-run/$(date +%F-%H%M%S)}
mkdir -p "$logs"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 NCCL_DEBUG=${NCCL_DEBUG:-WARN}
{ nvidia-smi && nvidia-smi topo -m; } >"$logs/nvidia-smi.log" 2>&1 || true
export PPTRAIN=$build/pptrain
((${#asked[@]} > 0)) || asked=("${parts[@]}")
for name in "${asked[@]}"; do
  case $name in
    *check) run_sanitizer "$name" ;;
    *) "run_$name" ;;
  esac
done
write_table
printf '\nLogs and table.md: %s\n' "$logs"
if ((failures > 0)); then
  printf 'gpu_first_run: %s FAILED\n' "$failures" >&2
  exit 1
fi
