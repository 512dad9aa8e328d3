#!/usr/bin/env bash
# Trials before training: predicted beside measured, the fastest plan kept.
# Usage: trials.sh PPTRAIN MPIEXEC
set -euo pipefail

pptrain=$(realpath -- "$1")
mpiexec=$2
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd "$folder"
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

for ((i = 0; i < 300; ++i)); do echo "the quick brown fox jumps over the lazy dog"; done >text.txt
cat >job.toml <<'TOML'
[job]
name = "tried"
output = "runs"
[model]
layers = 2
hidden_size = 32
heads = 2
vocabulary_size = 256
[data]
train = "text.txt"
[training]
steps = 4
sequence_length = 16
global_batch_size = 8
[planner]
trials = 3
trial_steps = 2
[profile]
cache = false
TOML

check() { # FILE PATTERN: the file has a line like this
  grep -Eq -- "$2" "$1" || {
    echo "no line \"$2\" in $1:"
    cat "$1"
    exit 1
  }
}

"$mpiexec" --bind-to none -n 4 "$pptrain" train job.toml >out.txt 2>err.txt || { cat out.txt err.txt && exit 1; }
check out.txt '^Trials$'
check out.txt 'rank correlation of predicted and measured'
check out.txt '^  kept: .*, [0-9]+ micro-batch'
check err.txt 'Trial 3 of 3'
plan=$(echo runs/tried/*/plan.json)
[[ $(grep -c '"planner": "trial"' "$plan") -eq 3 ]] || { cat "$plan" && exit 1; }
[[ $(grep -c '"measured_seconds"' "$plan") -eq 3 ]] || { cat "$plan" && exit 1; }
"$pptrain" validate "$plan" >valid.txt || { cat valid.txt && exit 1; }

echo "trials: all as expected"
