#!/usr/bin/env bash
# cmake --install: what is there, and that it works from where it lies.
# Usage: install.sh PPTRAIN MPIEXEC CMAKE BUILD_FOLDER CXX
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/../cli/common.sh"
cmake=$3
build=$4
compiler=$5
examples=$inputs/../examples

# Installed for one place by way of another, then moved: nothing may hold a path.
expect "cmake --install" 0 Installing env DESTDIR="$folder/stage" "$cmake" --install "$build" --prefix /opt/pptrain
mv stage/opt/pptrain prefix
prefix=$folder/prefix
share=$prefix/share/pptrain
library=$(dirname -- "$(find "$prefix" -name libpptrain_plan.a)")
check "no path in text files" bash -c "! grep -rIl -e /opt/pptrain -e '$folder' -- '$prefix'"

for file in bin/pptrain share/man/man1/pptrain.1 share/bash-completion/completions/pptrain \
  share/zsh/site-functions/_pptrain share/fish/vendor_completions.d/pptrain.fish share/pptrain/inputs/gpt2.toml \
  share/pptrain/job-scripts/hetero.slurm share/pptrain/job-scripts/sites include/pptrain/planners/search.hpp include/pptrain/plan/plan.hpp \
  share/doc/pptrain/docs/tutorial.md share/doc/pptrain/docs/reference/config.md share/doc/pptrain/LICENSE share/doc/pptrain/CITATION.cff share/doc/pptrain/examples/plan_and_simulate.cpp; do
  check "$file" test -e "$prefix/$file"
done
check "job scripts can be executed" test -x "$share/job-scripts/workstation.sh"

# --- the program ---
installed=$prefix/bin/pptrain
cd "$(mktemp -d -p "$folder")"
expect "starts" 0 '^pptrain [0-9]' "$installed" --version
version=$("$installed" --version | sed -n 's/^pptrain //p')
check "CITATION.cff has version $version" grep -qx "version: $version" "$prefix/share/doc/pptrain/CITATION.cff"
check "pptrain_plan.pc has version $version" grep -qx "Version: $version" "$library/pkgconfig/pptrain_plan.pc"
expect "plans" 0 'dapple' "$installed" plan "$share/inputs/papers/dapple-bert-48.toml" --planner dapple -o plan.json
expect "simulates" 0 makespan "$installed" simulate "$share/inputs/papers/dapple-bert-48.toml" --plan plan.json
mkdir "$folder/links"
ln -s "$installed" "$folder/links/pptrain"
expect "a job script plans, found by a link on PATH" 0 'the plan is in plan-' \
  env PATH="$folder/links:$PATH" bash "$share/job-scripts/plan-only.slurm" "$share/inputs/papers/dapple-vgg-19.toml" \
  --planner dapple
expect "a job script trains" 0 'plan' env PPTRAIN_LAUNCHER="$mpiexec -np 2" \
  "$share/job-scripts/workstation.sh" "$share/inputs/classifier.toml" --dry-run

for tool in man mandoc zsh fish; do
  command -v "$tool" >/dev/null || echo "SKIPPED what needs $tool, which is not there"
done

# --- man pages ---
commands=$("$installed" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
check "eleven subcommands" test "$(wc -w <<<"$commands")" -eq 11
for command in '' $commands; do
  page=$prefix/share/man/man1/pptrain${command:+-$command}.1
  if command -v man >/dev/null; then
    check "man ${page##*/}" bash -c "[[ -z \$(LC_ALL=C.UTF-8 man --warnings -l -Tutf8 -Z '$page' 2>&1 >/dev/null) ]]"
  fi
  if command -v mandoc >/dev/null; then check "mandoc ${page##*/}" mandoc -T lint -W warning "$page"; fi
  # shellcheck disable=SC2086  # no subcommand is no word
  check "pptrain $command --help fits 80 columns" awk 'length > 80 {exit 1}' <("$installed" $command --help)
  # shellcheck disable=SC2086
  options=$("$installed" $command --help | grep -oE '^  (-[a-z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+')
  for option in $options; do
    grep -qF -- "${option//-/\\-}" "$page" || complain "${page##*/}" "$option is missing"
  done
done

# --- completions ---
# What a shell offers for the last of the words behind "pptrain".
by_bash() {
  bash -c 'source "$1"; shift; COMP_WORDS=(pptrain "$@"); COMP_CWORD=$#; _pptrain; printf "%s\n" "${COMPREPLY[@]}"' \
    bash "$prefix/share/bash-completion/completions/pptrain" "$@"
}
by_zsh() { timeout 300 zsh -f "$here/complete.zsh" "$prefix/share/zsh/site-functions" "pptrain $*"; }
by_fish() {
  HOME=$folder fish -c "source $prefix/share/fish/vendor_completions.d/pptrain.fish; complete -C 'pptrain $*'" | cut -f 1
}
# offers SHELLS EXPECTED WORD...
offers() {
  local shell offered title
  for shell in $1; do
    if ! command -v "$shell" >/dev/null; then continue; fi
    title="$shell offers '$2' after ${*:3}"
    cases=$((cases + 1))
    offered=$("by_$shell" "${@:3}" | sort | tr '\n' ' ')
    if [[ $offered == "$2" ]]; then printf 'ok %s\n' "$title"; else complain "$title" "not '$offered'"; fi
  done
}
cd "$(mktemp -d -p "$folder")"
mkdir folder
touch job.toml plan.json notes.txt
offers 'bash zsh fish' 'profile ' pr
offers 'bash zsh fish' '--verbose --version ' --ver
offers 'bash zsh fish' '--format ' plan --fo
offers 'bash zsh fish' 'json text ' plan --format ''
offers 'bash zsh fish' 'json text ' -q plan --format ''
offers 'bash zsh fish' 'json text toml ' cluster --format ''
offers 'bash zsh fish' 'plan.json ' simulate --plan p
offers 'bash zsh fish' '--resume ' job.toml --res
offers 'bash zsh fish' 'latest ' train job.toml --resume l
offers 'bash zsh fish' 'zb-h1 zb-h2 zb-v zeropp ' simulate --schedule z
offers 'bash zsh' 'folder job.toml ' plan ''
offers 'bash zsh' 'folder ' report ''

# --- libpptrain_plan ---
cluster=$share/inputs/clusters/dapple-a.toml
profile=$share/inputs/profiles/bert-48.json
find "$prefix/include/pptrain" -name '*.hpp' -printf '#include <pptrain/%P>\n' | sort >all.cpp
check "headers of the pure half only" bash -c "! grep -vE 'pptrain/(base|config|model|cluster|profile|plan|program|cost|schedule|simulate|planners)/' all.cpp"
export PKG_CONFIG_PATH=$library/pkgconfig
strict=(-std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror)
for other in "$compiler" clang++-16; do
  if ! command -v "$other" >/dev/null; then echo "SKIPPED what needs $other, which is not there"; continue; fi
  # shellcheck disable=SC2046  # words
  check "${other##*/} compiles every public header without a warning" \
    "$other" "${strict[@]}" -fsyntax-only $(pkg-config --cflags pptrain_plan) all.cpp
  # shellcheck disable=SC2046
  check "${other##*/} builds by pkg-config" "$other" "${strict[@]}" "$examples/plan_and_simulate.cpp" \
    $(pkg-config --cflags --libs pptrain_plan) -o "by_pkg_config_${other##*/}"
done
check "configures by CMake" bash -c "'$cmake' -S '$examples' -B by_cmake -DCMAKE_PREFIX_PATH='$prefix' -DCMAKE_CXX_COMPILER='$compiler' >configured.txt 2>&1"
check "builds by CMake" bash -c "'$cmake' --build by_cmake >built.txt 2>&1"
predicted=$("$installed" plan --cluster "$cluster" --profile "$profile" --global-batch-size 64 --format json |
  sed -n 's/.*"iteration_seconds": \([0-9.e-]*\).*/\1/p' | head -n 1)
for example in ./by_pkg_config_* by_cmake/plan_and_simulate; do
  expect "$example" 0 'an iteration takes' "$example" "$cluster" "$profile" 64
  simulated=$(sed -n 's/an iteration takes \([0-9.e-]*\) s.*/\1/p' output.txt)
  check "$example predicts what pptrain plan does" awk -v a="$simulated" -v b="$predicted" \
    'BEGIN {exit !(a > 0 && (a - b)^2 < (1e-4 * b)^2)}'
  expect "$example says what is wrong" 2 'no-such.json' "$example" "$cluster" no-such.json 64
  expect "$example takes numbers alone" 2 'SAMPLES_PER_STEP' "$example" "$cluster" "$profile" many
done
finish
