#!/usr/bin/env bash
# benchmarks/gpu_first_run.sh where programs that say what they were asked stand for those of a GPU machine.
# Usage: first_run.sh GPU_FIRST_RUN_SH
set -euo pipefail
script=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
failed=0

check() {  # WHAT COMMAND...
  if "${@:2}"; then printf 'ok: %s\n' "$1"; else
    printf 'FAILED: %s\n' "$1"
    failed=1
  fi
}

# stub NAME: the program of that name, from standard input.
stub() {
  mkdir -p "$(dirname -- "$work/$1")"
  { printf '#!/usr/bin/env bash\n' && cat; } >"$work/$1"
  chmod +x "$work/$1"
}

exit_code=0
run() {
  exit_code=0
  PATH=$work/bin:$PATH "$script" --build "$work/build" --logs "$work/logs" "$@" >"$work/output" 2>&1 || exit_code=$?
}
# shellcheck disable=SC2317  # called by check
table_has() { grep -qE "$1" "$work/logs/table.md"; }
# shellcheck disable=SC2317
output_has() { grep -qE "$1" "$work/output"; }

stub bin/nvidia-smi <<<'exit 9'
run
check "no GPU: 77" test "$exit_code" -eq 77
check "no GPU: the reason" output_has 'SKIPPED: nvidia-smi finds no GPU'
check "no GPU: no logs" test ! -e "$work/logs"

stub bin/nvidia-smi <<<'echo "0, NVIDIA Test, 81920 MiB, 580.1"'
stub bin/cmake <<<'echo built'
stub bin/compute-sanitizer <<<'echo "$@"; echo "========= ERROR SUMMARY: 0 errors"'
stub bin/mpirun <<'STUB'
for word in "$@"; do if [[ $word == job.output=* ]]; then mkdir -p "${word#*=}/gpt2/run"; fi; done
echo "iteration  15 ms measured"
STUB
stub build/pptrain <<<'echo "pptrain of a test"'
stub bin/ctest <<'STUB'
while (($# > 1)); do if [[ $1 == --output-junit ]]; then report=$2; fi; shift; done
cat >"$report" <<XML
<testsuite>
	<testcase name="cuda.gpu" classname="cuda.gpu" time="12.5" status="run">
	<testcase name="cuda.gpu.own.np2" classname="cuda.gpu.own.np2" time="0.1" status="notrun">
	<testcase name="cuda.gpu.np1" classname="cuda.gpu.np1" time="3" status="${STUB_STATUS:-run}">
</testsuite>
XML
echo "100% tests passed, 0 tests failed out of 3"
exit "${STUB_CODE:-0}"
STUB
export PPTRAIN_PYTHON=/nonexistent
run
check "all is well: 0" test "$exit_code" -eq 0
check "the device is named" table_has '^- GPU 0, NVIDIA Test'
check "a test is a row" table_has '^\| ctest cuda\.gpu \| passed \| 12 \|'
check "a test that was skipped shows" table_has '^\| ctest cuda\.gpu\.own\.np2 \| skipped \|'
for tool in memcheck racecheck initcheck synccheck; do
  check "$tool" table_has "^\| compute-sanitizer $tool \| passed \| [0-9]+ \| .*0 errors"
done
check "own kernels only, where libraries are not ours" grep -q -- '--kernel-name kns=pptrain' "$work/logs/compute-sanitizer-racecheck.log"
check "a job" table_has '^\| pptrain on 8 ranks \| passed \| [0-9]+ \| iteration'
check "the job with CUDA graphs" table_has '^\| pptrain on 1 ranks, --set job\.cuda_graphs=true \| passed \|'
check "its report" table_has '^\| report of 1 ranks \| passed \|'

STUB_STATUS=fail STUB_CODE=8 run tests
check "a test fails: 1" test "$exit_code" -eq 1
check "a test that failed shows" table_has '^\| ctest cuda\.gpu\.np1 \| FAILED \|'

stub bin/compute-sanitizer <<<'if [[ $* == *racecheck* ]]; then sleep 600; fi; exit 99'
run --limit 5 racecheck synccheck
check "a part that hangs and one that fails: 1" test "$exit_code" -eq 1
check "a part that hangs" table_has '^\| compute-sanitizer racecheck \| TIMEOUT \|'
check "the next one runs all the same" table_has '^\| compute-sanitizer synccheck \| FAILED \(99\) \|'

run nothing
check "a part that there is not: 2" test "$exit_code" -eq 2
if ((failed)); then
  cat "$work/output"
  cat "$work/logs/table.md"
fi
exit "$failed"
