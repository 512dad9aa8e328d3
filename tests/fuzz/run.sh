#!/usr/bin/env bash
# Runs the fuzzers in BUILD (build/fuzz), each for SECONDS, or those that are named. What they find stays in build/fuzz:
# inputs that reach something new in corpus/, inputs that end a fuzzer as NAME-crash-..., NAME-timeout-...
# Usage: run.sh BUILD SECONDS [NAME...]
set -euo pipefail
build=$1
seconds=$2
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
inputs=$here/../../inputs

names=("${@:3}")
if [[ ${#names[@]} -eq 0 ]]; then
  names=(cluster expression config profile plan cost tokenizer tokens index checkpoint metrics features labelled run config_json nesting safetensors)
fi
# The files that fuzzers write lie in memory where they can.
files=$(mktemp -d -p "$(if [[ -w /dev/shm ]]; then echo /dev/shm; else echo "$build"; fi)")
trap 'rm -rf -- "$files"' EXIT

declare -A seeds=([cluster]="$inputs/clusters" [config]="$inputs")
status=0
for name in "${names[@]}"; do
  dictionary=$here/json.dict
  if [[ $name == cluster || $name == config ]]; then dictionary=$here/toml.dict; fi
  if [[ $name == expression ]]; then dictionary=$here/expression.dict; fi
  corpus=("$build/corpus/$name")
  mkdir -p "${corpus[0]}"
  if [[ -d $here/corpus/$name ]]; then corpus+=("$here/corpus/$name"); fi
  if [[ -n ${seeds[$name]:-} ]]; then
    # Only the small files: mutating a large one takes long and finds little.
    mkdir -p "$build/seeds/$name"
    find "${seeds[$name]}" -name '*.toml' -size -8k -exec cp -t "$build/seeds/$name" {} +
    corpus+=("$build/seeds/$name")
  fi
  if [[ $name == config_json ]]; then
    # The seeds are one file of each family.
    mkdir -p "$build/seeds/$name"
    for config in "$here"/../data/models/*/config.json; do
      cp -- "$config" "$build/seeds/$name/$(basename -- "$(dirname -- "$config")").json"
    done
    corpus+=("$build/seeds/$name")
  fi
  length=4096
  sanitizer=
  case $name in
    cost | expression) length=512 ;;
    nesting) length=1024 ;;
    # HDF5 forgets memory of its own where a file is damaged, and looks whether it gets what it asks for.
    checkpoint | metrics | features | labelled | run) length=1024 sanitizer=detect_leaks=0:allocator_may_return_null=1 ;;
  esac
  log=$build/$name.log
  echo "fuzzing $name for $seconds s"
  if ! ASAN_OPTIONS=$sanitizer TMPDIR=$files "$build/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -max_len="$length" -timeout=10 -rss_limit_mb=1024 \
    -dict="$dictionary" -artifact_prefix="$build/$name-" "${corpus[@]}" >"$log" 2>&1; then
    tail -n 60 "$log"
    echo "fuzzing $name found something: the input is in $build/$name-*, the log is $log" >&2
    status=1
  else
    grep -a '^Done' "$log"
  fi
done
exit "$status"
