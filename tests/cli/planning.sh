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
job "a planning job needs nothing else" 0 '"cluster": ?"two"' plan jobs/toy.toml --format json
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
job "files with --set" 0 '2 stages|pp 2|pipeline.*2' \
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
cd elsewhere
job "files are found beside the job" 0 '"model": ?"toy-3"' plan ../jobs/toy.toml --format json

finish
