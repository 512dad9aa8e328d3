#!/usr/bin/env bash
# Planning jobs: a profile and a cluster from files, no ranks, any model.
# Usage: planning.sh PPTRAIN
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

mkdir -p jobs/profiles elsewhere
cat >jobs/profiles/toy.json <<'JSON'
{"schema": "pptrain.profile/1", "model": "toy-3", "bytes_per_parameter": {"weight": 4, "gradient": 4, "optimizer": 8},
 "layers": [
  {"name": "a", "parameters": 1000, "output_bytes": 64, "stored_bytes": 64, "tensor_parallel_allreduce_bytes": 0,
   "seconds": [{"device": "g", "tensor_parallel": 1, "samples": 1, "forward": 0.001, "backward": 0.002}]},
  {"name": "b", "parameters": 1000, "output_bytes": 64, "stored_bytes": 64, "tensor_parallel_allreduce_bytes": 0,
   "seconds": [{"device": "g", "tensor_parallel": 1, "samples": 1, "forward": 0.001, "backward": 0.002}]},
  {"name": "c", "parameters": 1000, "output_bytes": 64, "stored_bytes": 64, "tensor_parallel_allreduce_bytes": 0,
   "seconds": [{"device": "g", "tensor_parallel": 1, "samples": 1, "forward": 0.001, "backward": 0.002}]}]}
JSON
cat >jobs/cluster.toml <<'TOML'
name = "two"
[[device]]
kind = "g"
memory = "1 GB"
[[node]]
devices = { kind = "g", count = 2 }
link = { bandwidth = "1 GB/s" }
TOML
sed 's/count = 2/count = 3/; s/two/three/' jobs/cluster.toml >elsewhere/three.toml
sed 's/toy-3/other/' jobs/profiles/toy.json >elsewhere/other.json
cat >jobs/toy.toml <<'TOML'
[model]
name = "toy-3"
[profile]
file = "profiles/toy.json"
[cluster]
file = "cluster.toml"
[training]
global_batch_size = 12
TOML
sed 's/toy-3/toy/' jobs/toy.toml >jobs/misnamed.toml
sed '/\[cluster\]/,+1d' jobs/toy.toml >jobs/no_cluster.toml

# job TITLE CODE PATTERN ARGUMENT...: pptrain with these arguments ends with CODE and prints PATTERN.
job() { expect "$1" "$2" "$3" "$pptrain" "${@:4}"; }

files=(--cluster jobs/cluster.toml --profile jobs/profiles/toy.json)
long=(--set training.sequence_length=100)
job "samples per second, of a model of which only times are known" 0 'throughput +[0-9.]+k? samples/s$' plan jobs/toy.toml
job "tokens where their number is said" 0 'throughput +[0-9.]+k? tokens/s, [0-9.]+k? samples/s' plan jobs/toy.toml "${long[@]}"
job "how long a training takes" 0 '300B tokens +[0-9.e+]+ days' plan jobs/toy.toml "${long[@]}" --tokens 300B
job "the same number otherwise" 0 '"training_tokens": ?300000000000' plan jobs/toy.toml "${long[@]}" --tokens 3e11 --format json
job "six FLOP for each parameter and token" 0 '"model_flops_from": ?"parameters"' plan jobs/toy.toml "${long[@]}" --format json
job "tokens of samples of unknown length" 2 '--tokens: how many tokens a sample of toy-3 has is not known.*sequence_length' \
  plan jobs/toy.toml --tokens 300B
for tokens in many -5 0 inf nan 300Q "3 e9"; do
  job "--tokens '$tokens'" 2 'no number of tokens; write for instance' plan jobs/toy.toml "${long[@]}" "--tokens=$tokens"
done
job "a planning job needs nothing else" 0 '"cluster": ?"two"' plan jobs/toy.toml --format json
# Calibration: a measured iteration scales the times of layers, and a measurement of something else is refused.
job "calibration says what changed" 0 'layers take 0\.741 times as long.*took 40 ms, 54 ms were predicted' plan jobs/toy.toml --calibrate 0.04
job "seconds that nothing explains" 2 '--calibrate: an iteration took 60 min, but .* are predicted' plan jobs/toy.toml --calibrate 3600
for seconds in 0 -1 inf nan; do
  job "--calibrate '$seconds'" 2 'are no seconds of an iteration' plan jobs/toy.toml "--calibrate=$seconds"
done
job "calibration by what is no run" 2 'nowhere' plan jobs/toy.toml --calibrate nowhere
job "rank correlation on request" 0 '"rank_correlations": ?\{"plans": ?[1-9]' plan jobs/toy.toml --correlation --format json
job "rank correlation as text" 0 'minimised by dapple' plan jobs/toy.toml --correlation
job "its batch counts" 0 '"global_batch_size": ?12' plan jobs/toy.toml --format json
job "--cluster replaces its cluster" 0 '"cluster": ?"three"' \
  plan jobs/toy.toml --cluster elsewhere/three.toml --format json
job "--profile replaces its profile" 0 '"model": ?"other"' \
  plan jobs/toy.toml --profile elsewhere/other.json --format json
job "--cluster completes a job without one" 0 '"cluster": ?"three"' \
  plan jobs/no_cluster.toml --cluster elsewhere/three.toml --format json
job "--set replaces its cluster" 0 '"cluster": ?"three"' \
  plan jobs/toy.toml --set cluster.file=elsewhere/three.toml --format json
job "a model that the profile is not of" 2 'misnamed.toml:2: name = "toy".*did you mean "toy-3"' \
  plan jobs/misnamed.toml
job "validate looks at the model too" 2 'misnamed.toml:2: name = "toy".*did you mean "toy-3"' \
  validate jobs/misnamed.toml
job "validate tells a planning job" 0 'a planning job: toy-3 with 3 layers on 2 devices, 12 samples' \
  validate jobs/toy.toml
job "a planning job cannot be trained" 2 'toy.toml:2: name = "toy-3" cannot be trained.*pptrain plan' \
  train jobs/toy.toml
job "nor planned without a cluster" 2 'no_cluster.toml:2: .*--cluster CLUSTER.toml' plan jobs/no_cluster.toml
job "files alone" 0 '"global_batch_size": ?8' plan "${files[@]}" --global-batch-size 8 --format json
job "files with --set" 0 '2 stages|PP 2|pipeline.*2' \
  plan "${files[@]}" --global-batch-size 8 --set parallelism.pipeline=2
job "files with --set beyond the default model" 2 'pipeline = 9 needs 9 devices .the cluster has 2' \
  plan "${files[@]}" --global-batch-size 9 --set parallelism.pipeline=9
job "files with automatic recomputation" 0 '"model": ?"toy-3"' \
  plan "${files[@]}" --global-batch-size 8 --set parallelism.recompute=auto --format json
job "a wrong --set" 2 'did you mean "auto"' \
  plan "${files[@]}" --global-batch-size 8 --set parallelism.recompute=atuo
for schedule in dapple-b interleaved-1f1b breadth-first; do
  job "a batch that replicas share unevenly, by $schedule" 0 '"samples": ?\[\[0,2\],\[2,3\]\]' plan "${files[@]}" \
    --global-batch-size 3 --set parallelism.data=2 --set "parallelism.schedule=\"$schedule\"" --format json
done
job "the batch by --set" 0 '"global_batch_size": ?6' \
  plan "${files[@]}" --set training.global_batch_size=6 --format json
job "no batch" 2 'no global batch size.*--global-batch-size' plan "${files[@]}"
job "a profile alone" 2 'nothing to plan.*add CONFIG.toml' \
  plan --profile jobs/profiles/toy.json --global-batch-size 8
job "a missing profile" 2 'profiles/none.json: cannot read' plan jobs/toy.toml --set profile.file=profiles/none.json
# The same devices under a GPU's name.
sed 's/"g"/"h100-80gb"/; s/memory = "1 GB"/memory = "80 GiB"\nflops = { fp32 = "1 TFLOP\/s" }\nmemory_bandwidth = "1 TB\/s"/' \
  jobs/cluster.toml >h100.toml
cat >gpt2.toml <<'TOML'
[model]
name = "gpt2"
[training]
global_batch_size = 8
[profile]
analytic = true
TOML
job "a GPU has a reserve" 0 'reserved +1.5 GiB of each h100-80gb' plan gpt2.toml --cluster h100.toml
job "and says it in JSON" 0 '"reserve_bytes": ?1610612736' \
  plan gpt2.toml --cluster h100.toml --format json
sed 's/memory = .*/&\nreserve = "79.99 GiB"/' h100.toml >full.toml
job "what does not fit beside it" 3 'of its 10.2 MiB beside a reserve of 80 GiB' plan gpt2.toml --cluster full.toml \
  --set model.hidden_size=1024
for said in 's/memory = .*/&\nreserve = 0/' '1i emulate = "timing"' 's/h100-80gb/fast/'; do
  sed "$said" h100.toml >none.toml
  job "no reserve after $said" 0 '"reserve_bytes": ?0' \
    plan gpt2.toml --cluster none.toml --format json
done
sed 's/"g"/"h100-80gb"/' jobs/profiles/toy.json >h100.json
job "nor with a profile that is given" 0 '"reserve_bytes": ?0' \
  plan --cluster h100.toml --profile h100.json --global-batch-size 8 --format json
"$pptrain" plan gpt2.toml --cluster h100.toml -o plan.json --set model.hidden_size=1024 >/dev/null 2>&1
job "simulate warns of what the reserve leaves" 0 'beside a reserve of 80 GiB' simulate gpt2.toml --cluster full.toml --plan plan.json \
  --set model.hidden_size=1024
cd elsewhere
job "files are found beside the job" 0 '"model": ?"toy-3"' plan ../jobs/toy.toml --format json

finish
