#!/usr/bin/env bash
# `pptrain simulate`: a plan from a file against a profile and a cluster, its picture, JSON and trace, and bad input.
# Usage: simulating.sh PPTRAIN
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

cat >profile.json <<'JSON'
{"schema": "pptrain.profile/1", "model": "toy", "bytes_per_parameter": {"weight": 4, "gradient": 4, "optimizer": 8},
 "layers": [
  {"name": "a", "parameters": 1000, "output_bytes": 1e9, "stored_bytes": 64, "tensor_parallel_allreduce_bytes": 0,
   "seconds": [{"device": "g", "tensor_parallel": 1, "samples": 1, "forward": 1, "backward_input": 1, "backward_weight": 1}]},
  {"name": "b", "parameters": 1000, "output_bytes": 0, "stored_bytes": 64, "tensor_parallel_allreduce_bytes": 0,
   "seconds": [{"device": "g", "tensor_parallel": 1, "samples": 1, "forward": 1, "backward_input": 1, "backward_weight": 1}]}]}
JSON
sed 's/"backward_input": 1, "backward_weight": 1/"backward": 2/' profile.json >whole.json
cat >cluster.toml <<'TOML'
[[device]]
kind = "g"
memory = "1 GB"
[[node]]
devices = { kind = "g", count = 2 }
link = { bandwidth = "1 GB/s" }
TOML
cat >plan.json <<'JSON'
{"schema": "pptrain.plan/1", "planner": "hand", "model": "toy", "cluster": "",
 "global_batch_size": 2, "micro_batch_size": 1, "micro_batches": 2,
 "schedule": {"name": "1f1b", "virtual_stages": 1, "unit": 0},
 "stages": [
  {"layers": [[0, 1]], "replicas": 1, "tensor_parallel": 1, "devices": [[0]], "samples": [[0, 1]],
   "shards": {}, "recompute": "none", "zero_stage": 0, "offload": false, "blocks": []},
  {"layers": [[1, 2]], "replicas": 1, "tensor_parallel": 1, "devices": [[1]], "samples": [[0, 1]],
   "shards": {}, "recompute": "none", "zero_stage": 0, "offload": false, "blocks": []}]}
JSON
echo '[["F0.0", "F0.1", "B0.0", "W0.0", "B0.1", "W0.1"], ["F1.0", "B1.0", "F1.1", "B1.1", "W1.0", "W1.1"]]' >order.json
echo '[["F0.0", "B0.0", "F0.1", "B0.1"], ["F1.0", "F1.1", "B1.0", "B1.1"]]' >stuck.json
cat >job.toml <<'TOML'
[profile]
file = "profile.json"
[cluster]
file = "cluster.toml"
TOML

# job TITLE CODE PATTERN ARGUMENT...: pptrain with these arguments ends with CODE and prints PATTERN; bad input gives one
# message alone.
job() {
  expect "$1" "$2" "$3" "$pptrain" "${@:4}"
  if [[ $code -eq 2 && (-s output.txt || $(wc -l <errors.txt) -ne 1) ]]; then complain "$1" "not one message alone"; fi
}

files=(--plan plan.json --cluster cluster.toml --profile profile.json)
# Device 0: F 0-1 and 1-2, BW 6-8 and 9-11; device 1: F 2-3, BW 3-5, F 5-6, BW 6-8.
job "a plan with files" 0 'makespan +11 s' simulate "${files[@]}"
job "its picture" 0 '^ +0  F0F1\.\.\.\.\.\.\.\.B0--\.\.B1--$' simulate "${files[@]}"
job "as JSON" 0 '"schema": ?"pptrain.simulation/1"' simulate "${files[@]}" --format json
job "makespan in JSON" 0 '"makespan_seconds": ?11,' simulate "${files[@]}" --format json
job "another schedule" 0 'stored' simulate "${files[@]}" --schedule gpipe
job "a given order" 0 '^ +1  \.\.\.\.F0B0F1B1W0W1' simulate "${files[@]}" --order order.json
job "a job" 0 'makespan +11 s' simulate job.toml --plan plan.json
job "a trace" 0 'makespan' simulate "${files[@]}" --trace trace.json
check "tasks are in the trace" grep -q '"name":"F0.0","cat":"compute","ph":"X","pid":0' trace.json
check "transfers are in the trace" grep -q 'send activation 0.1' trace.json

# Where results are written.
echo old >kept.json
ln -s kept.json link.json
job "a trace behind a link" 0 'Wrote link.json' simulate "${files[@]}" --trace link.json
check "the link is still one" test -L link.json
check "the file behind it is new" grep -q '"name":"F0.0"' kept.json
mkfifo pipe
cat pipe >received.json &
job "a trace into a pipe" 0 'Wrote pipe' simulate "${files[@]}" --trace pipe
wait
check "the pipe is still one" test -p pipe
check "who reads it gets the trace" cmp -s received.json kept.json
mkdir folder
job "a trace instead of a folder" 2 'folder: cannot be written .*directory' simulate "${files[@]}" --trace folder

job "no plan" 2 '--plan' simulate job.toml
: >empty.json
job "an empty plan" 2 'empty.json.*this is not JSON' simulate "${files[@]:2}" --plan empty.json
job "a cluster instead of a job" 2 'cluster.toml: this is a cluster and no job .*--cluster' simulate cluster.toml --plan plan.json
job "a missing plan" 2 'none.json' simulate job.toml --plan none.json
job "no profile" 2 'nothing to simulate.*--profile' simulate --plan plan.json --cluster cluster.toml
job "an unknown schedule" 2 'unknown schedule "1f2b".*did you mean "1f1b"' simulate "${files[@]}" --schedule 1f2b
job "schedule and order" 2 'excludes' simulate "${files[@]}" --schedule gpipe --order order.json
job "an order that cannot run" 2 'stuck.json: the order cannot be executed.*waits for ever' \
  simulate "${files[@]}" --order stuck.json
job "B and W apart of a whole backward" 2 'one time for the whole backward' \
  simulate --plan plan.json --cluster cluster.toml --profile whole.json --order order.json
job "a trace that cannot be written" 2 'none/trace.json: cannot be written' \
  simulate "${files[@]}" --trace none/trace.json

# Experts alone in a stage: its two replicas are one replica of two members to the layer.
cat >experts.toml <<'TOML'
[model]
vocabulary_size = 64
[[model.layer]]
kind = "embedding"
columns = 32
[[model.layer]]
heads = 4
experts = 4
[[model.layer]]
kind = "output"
[training]
sequence_length = 16
global_batch_size = 4
[cluster]
file = "four.toml"
TOML
cat >four.toml <<'TOML'
[[device]]
kind = "g"
memory = "1 GB"
memory_bandwidth = "10 GB/s"
flops = { fp32 = "1 TFLOP/s" }
[[node]]
devices = { kind = "g", count = 4 }
link = { bandwidth = "1 GB/s" }
TOML
cat >sent_rows.json <<'JSON'
{"schema": "pptrain.plan/1", "global_batch_size": 4, "micro_batch_size": 2, "micro_batches": 2,
 "schedule": {"name": "1f1b", "virtual_stages": 1, "unit": 0},
 "stages": [
  {"layers": [[0, 2]], "replicas": 1, "tensor_parallel": 1, "devices": [[0]], "samples": [[0, 2]]},
  {"layers": [[2, 3]], "replicas": 2, "tensor_parallel": 1, "devices": [[1], [2]], "samples": [[0, 1], [1, 2]],
   "blocks": [{"layers": [2, 3], "replicas": 1, "tensor_parallel": 2, "pattern": "all-to-all",
               "samples": [[0, 1], [1, 2]], "shards": {"experts": [[0, 2], [2, 4]]}}]},
  {"layers": [[3, 4]], "replicas": 1, "tensor_parallel": 1, "devices": [[3]], "samples": [[0, 2]]}]}
JSON
job "experts alone in a stage, whose rows are sent" 0 'makespan' simulate experts.toml --analytic --plan sent_rows.json
job "their plan as a job's" 0 'predicted iteration' plan experts.toml --analytic --set parallelism.plan=sent_rows.json
job "plans that auto makes of such stages" 0 'all-to-all' plan experts.toml --analytic --set parallelism.pipeline=2 \
  --set parallelism.data=2 --set 'parallelism.experts="all-to-all"' --set parallelism.expert=2

finish
