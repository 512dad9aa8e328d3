#!/usr/bin/env bash
# Every file below inputs/ but the published figures is valid (tokenizers with the config.json beside them), and each
# planning job gets a plan, or is told why none fits, at little cost: in less processor time than awk takes to count,
# which is a second or so on any machine of today.
# Usage: inputs.sh PPTRAIN INPUTS
set -euo pipefail

pptrain=$(realpath -- "$1")
inputs=$(realpath -- "$2")
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd "$folder"
output=$folder/output
# Some jobs name tokens that whoever starts them makes first; zeros will do.
truncate -s 4M tokens.bin validation.bin
failures=0

complain() {
  failures=$((failures + 1))
  printf 'FAILED %s: %s\n' "${1#"$inputs"/}" "$2"
  sed 's/^/    /' "$output"
}

TIMEFORMAT=%U
most=$({ time awk 'BEGIN { while (i < 8e7) ++i }' </dev/null; } 2>&1)

# plan JOB: its best uniform grid, judged by exit code and by seconds of processor time.
plan() {
  local code=0 seconds
  seconds=$({ time timeout -k 5 300 "$pptrain" plan "$1" --planner amp >"$output" 2>&1 </dev/null; } 2>&1) || code=$?
  if [[ ! $code =~ ^(0|3)$ ]]; then complain "$1" "exit code $code, not 0 or 3"; return; fi
  if awk "BEGIN { exit !($seconds > $most) }"; then complain "$1" "took $seconds s of $most"; return; fi
  printf 'ok %s planned in %s s (exit code %s)\n' "${1#"$inputs"/}" "$seconds" "$code"
}

mapfile -d '' -t files < \
  <(find "$inputs" \( -name convert -o -name published -o -name 'tokenizer*.json' \) -prune \
    -o \( -name '*.toml' -o -name '*.json' \) -print0 | sort -z)
jobs=0
for file in "${files[@]}"; do
  if ! "$pptrain" validate "$file" >"$output" 2>&1; then complain "$file" "is not valid"; continue; fi
  printf 'ok %s\n' "${file#"$inputs"/}"
  if grep -q 'a planning job' "$output"; then
    jobs=$((jobs + 1))
    plan "$file"
  fi
done

printf '%d files, %d planning jobs, %d failures\n' "${#files[@]}" "$jobs" "$failures"
[[ $failures -eq 0 && $jobs -ge 7 && ${#files[@]} -ge 40 ]]
