#!/usr/bin/env bash
# Trials before training: predicted beside measured, the fastest plan kept.
# Usage: trials.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

training_text text.txt
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

expect "trials" 0 '^ +trial +schedule +micro-batches' "$mpiexec" -np 4 "$pptrain" train job.toml
check "how well predictions rank plans" printed 'rank correlation of predicted and measured'
check "the plan that is kept" printed '^  kept: .*(PP|stages)'
check "progress" grep -q 'Trials: 3 plans run' errors.txt
plan=runs/tried/latest/plan.json
check "all are among its alternatives" [ "$(grep -c '"planner": "trial"' "$plan")" -eq 3 ]
check "with their times" [ "$(grep -c '"measured_seconds"' "$plan")" -eq 3 ]
expect "the plan can be read" 0 '' "$pptrain" validate "$plan"
finish
