#!/usr/bin/env bash
# Runs the fuzzers in FOLDER (build/fuzz/tests/fuzz), each for SECONDS. What they find stays in build/fuzz:
# inputs that reach something new in corpus/, inputs that end a fuzzer as NAME-crash-..., NAME-timeout-...
set -euo pipefail
build=$1
seconds=$2
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
inputs=$here/../../inputs

declare -A seeds=([cluster]="$inputs/clusters" [config]="$inputs")
status=0
for name in cluster config profile plan cost; do
  dictionary=$here/json.dict
  if [[ $name == cluster || $name == config ]]; then dictionary=$here/toml.dict; fi
  corpus=("$build/corpus/$name")
  mkdir -p "${corpus[0]}"
  if [[ -d $here/corpus/$name ]]; then corpus+=("$here/corpus/$name"); fi
  if [[ -n ${seeds[$name]:-} ]]; then
    # Only the small files: mutating a large one takes long and finds little.
    mkdir -p "$build/seeds/$name"
    find "${seeds[$name]}" -name '*.toml' -size -8k -exec cp -t "$build/seeds/$name" {} +
    corpus+=("$build/seeds/$name")
  fi
  length=4096
  if [[ $name == cost ]]; then length=512; fi
  log=$build/$name.log
  echo "fuzzing $name for $seconds s"
  if ! "$build/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -max_len="$length" -timeout=10 -rss_limit_mb=1024 \
    -dict="$dictionary" -artifact_prefix="$build/$name-" "${corpus[@]}" >"$log" 2>&1; then
    tail -n 60 "$log"
    echo "fuzzing $name found something: the input is in $build/$name-*, the log is $log" >&2
    status=1
  else
    grep -a '^Done' "$log"
  fi
done
exit "$status"
