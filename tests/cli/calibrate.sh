#!/usr/bin/env bash
# Times of layers that a run calibrates, and what is refused or doubted: a run of something else, devices without rates,
# profiles that contradict them.
# Usage: calibrate.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"
export XDG_CACHE_HOME=$folder/cache

training_text text.txt
cat >job.toml <<TOML
[job]
name = "calibrated"
output = "runs"
[model]
layers = 2
hidden_size = 32
heads = 2
vocabulary_size = 256
[data]
train = "text.txt"
[training]
steps = 5
sequence_length = 16
global_batch_size = 8
[cluster]
file = "cluster.toml"
[profile]
analytic = true
TOML
# Devices are played, so that a step takes about what is predicted, however fast or busy this machine is.
{ echo 'emulate = "timing"' && this_machine 2; } >cluster.toml
sed 's/kind = "cpu"/kind = "slower"/' cluster.toml >others.toml
{ echo 'emulate = "timing"' && this_machine 4; } >four.toml

expect "a run" 0 '' "$mpiexec" -np 2 "$pptrain" job.toml
run=$(dirname -- "$(find runs -name metrics.h5)")
# calibrated TITLE CODE PATTERN ARGUMENT...
calibrated() { expect "$1" "$2" "$3" "$pptrain" plan job.toml --calibrate "$run" "${@:4}"; }
calibrated "by a run of the job" 0 'Calibrated: layers take [0-9.e-]+ times as long.*were predicted'
expect "by its metrics" 0 'Calibrated: ' "$pptrain" plan job.toml --calibrate "$run/metrics.h5"
calibrated "by a run of another model" 2 'the run trained "[^"]+" of 4 layers.*of 5 layers is planned' --set model.layers=3
calibrated "by a run of a model of other sizes" 2 'its layers are of other sizes' --set model.hidden_size=64
calibrated "by a run on devices of another kind" 2 'slower' --cluster others.toml
calibrated "by a run on fewer devices" 2 'the run had 2 devices.*has 4.*calibrate by a run on the same cluster' --cluster four.toml
calibrated "by a run with another batch" 2 'the run had a global batch of 8.*16 is planned' --set training.global_batch_size=16

sed '/^flops =/d' cluster.toml >without.toml
expect "a device without any rate" 2 'has no FLOP rate for fp32' "$pptrain" plan job.toml --cluster without.toml
# What an emulated device takes, its file says, and no doubt is left.
this_machine 2 >cluster.toml
"$pptrain" profile job.toml --analytic -o profile.json >/dev/null 2>&1
sed -E 's/("forward": ?)([0-9.e-]+)/\11/' profile.json >slow.json
expect "times that contradict their FLOP" 0 'times what their FLOP and the cluster.s rates come to' \
  "$pptrain" plan job.toml --profile slow.json
expect "times that do not" 0 '^' "$pptrain" plan job.toml --profile profile.json
check "are not doubted" test -z "$(grep -a 'what their FLOP' errors.txt output.txt || true)"
finish
