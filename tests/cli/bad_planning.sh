#!/usr/bin/env bash
# Planning from files: whatever is missing or contradicts itself, and whatever does not fit, ends with exit code 2 or
# 3, one message (where, problem, suggestion), nothing on standard output and no file.
# Usage: bad_planning.sh PPTRAIN
# The edits are for sed, which expands them.
# shellcheck disable=SC2016
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

good_cluster() {
  cat <<'TOML'
name = "made"
[[device]]
kind = "fast"
memory = "16 GiB"
[[device]]
kind = "slow"
memory = "8 GiB"
[[node]]
kind = "big"
count = 2
devices = { kind = "fast", count = 2 }
link = { bandwidth = "100 Gbit/s", latency = "5 us" }
uplink = { bandwidth = "10 Gbit/s", latency = "25 us" }
switch = "rack"
[[node]]
kind = "small"
devices = { kind = "slow", count = 1 }
uplink = { bandwidth = "10 Gbit/s" }
[[switch]]
name = "rack"
uplink = { bandwidth = "40 Gbit/s", latency = "1 us" }
TOML
}

good_profile() {
  cat <<'JSON'
{"schema": "pptrain.profile/1", "model": "made",
 "bytes_per_parameter": {"weight": 4, "gradient": 4, "optimizer": 8},
 "layers": [
  {"name": "first", "parameters": 1000000, "output_bytes": 1000, "stored_bytes": 2000,
   "tensor_parallel_allreduce_bytes": 0,
   "seconds": [
    {"device": "fast", "tensor_parallel": 1, "samples": 1, "forward": 0.5, "backward_input": 0.25, "backward_weight": 1},
    {"device": "slow", "tensor_parallel": 1, "samples": 1, "forward": 2, "backward": 3}]},
  {"name": "second", "parameters": 0, "output_bytes": 0, "stored_bytes": 0, "tensor_parallel_allreduce_bytes": 0,
   "seconds": [
    {"device": "fast", "tensor_parallel": 1, "samples": 1, "forward": 0.5, "backward_input": 0.25, "backward_weight": 1},
    {"device": "slow", "tensor_parallel": 1, "samples": 1, "forward": 2, "backward": 3}]}]}
JSON
}

good_plan() {
  cat <<'JSON'
{"schema": "pptrain.plan/1", "planner": "hand", "model": "made", "cluster": "made",
 "global_batch_size": 8, "micro_batch_size": 2, "micro_batches": 4,
 "schedule": {"name": "1f1b", "virtual_stages": 1, "unit": 0},
 "stages": [
  {"layers": [[0, 1]], "replicas": 2, "tensor_parallel": 1, "devices": [[0], [1]], "samples": [[0, 1], [1, 2]],
   "shards": {}, "recompute": "none", "zero_stage": 0, "offload": false, "blocks": []},
  {"layers": [[1, 2]], "replicas": 1, "tensor_parallel": 1, "devices": [[2]], "samples": [[0, 2]],
   "shards": {}, "recompute": "none", "zero_stage": 0, "offload": false, "blocks": []}]}
JSON
}

# job ARGUMENT...: a run of pptrain.
job() { run "$longest_seconds" "$pptrain" "$@"; }

# refused TITLE CODE WHERE PROBLEM: judges what `job` left; WHERE and PROBLEM are extended regular expressions.
refused() {
  local title=$1 wanted_code=$2 where=$3 problem=$4 messages message
  cases=$((cases + 1))
  messages=$(grep -ac 'pptrain: error:' errors.txt || true)
  message=$(tr '\n' ' ' <errors.txt)
  if [[ $code -eq 124 || $code -eq 137 ]]; then complain "$title" "it hangs"; return; fi
  if [[ $code -ne $wanted_code ]]; then complain "$title" "exit code $code, not $wanted_code"; return; fi
  if [[ $messages -ne 1 ]]; then complain "$title" "$messages messages, not 1"; return; fi
  if [[ -s output.txt ]]; then complain "$title" "something on standard output"; return; fi
  if [[ -e plan.out ]]; then complain "$title" "a plan was written"; rm plan.out; return; fi
  if ! grep -aEq -- "pptrain: error: ($where): " <<<"$message"; then complain "$title" "no place like '$where'"; return; fi
  if ! grep -aEiq -- "$problem" <<<"$message"; then complain "$title" "no problem like '$problem'"; return; fi
  if ! grep -aEq -- '; [^;]{3,}$' <<<"$message"; then complain "$title" "no suggestion"; return; fi
  printf 'ok %s\n' "$title"
}

plan_made() { job plan --cluster cluster.toml --profile profile.json --global-batch-size 8 --format json -o plan.out "$@"; }

# line FILE TEXT: number of the first line with TEXT.
line() { grep -nF -- "$2" "$1" | head -n 1 | cut -d: -f1; }

# cluster TITLE PROBLEM LINE_WITH SED...: the good cluster after these edits is refused at the line that holds LINE_WITH
# afterwards ("" for the file as a whole).
cluster() {
  local title=$1 problem=$2 with=$3 edit where='cluster.toml(:[0-9]+(:[0-9]+)?)?'
  shift 3
  good_cluster >cluster.toml
  good_profile >profile.json
  for edit in "$@"; do sed -Ei "$edit" cluster.toml; done
  if [[ -n $with ]]; then where="cluster.toml:$(line cluster.toml "$with")(:[0-9]+)?"; fi
  plan_made
  refused "cluster: $title" 2 "$where" "$problem"
}

# profile TITLE PROBLEM SED...: the good profile after these edits is refused, by line or path.
profile() {
  local title=$1 problem=$2 edit
  shift 2
  good_cluster >cluster.toml
  good_profile >profile.json
  for edit in "$@"; do sed -Ei "$edit" profile.json; done
  plan_made
  refused "profile: $title" 2 'profile.json[^ ]*' "$problem"
}

# plan TITLE PROBLEM SED...: the good plan after these edits is refused.
plan() {
  local title=$1 problem=$2 edit
  shift 2
  good_plan >plan.json
  for edit in "$@"; do sed -Ei "$edit" plan.json; done
  job validate plan.json
  refused "plan: $title" 2 'plan.json[^ ]*' "$problem"
}

# Everything is good to begin with: whatever is refused below is refused for its own fault.
good_cluster >cluster.toml
good_profile >profile.json
good_plan >plan.json
plan_made
if [[ $code -ne 0 || ! -s plan.out ]]; then complain "the good files" "exit code $code"; fi
rm -f plan.out
job validate plan.json
if [[ $code -ne 0 ]]; then complain "the good plan" "exit code $code"; fi

# --- clusters
cluster "count of 0" 'count' 'count = 0' 's/^count = 2/count = 0/'
cluster "negative count" 'count' 'count = -1' 's/^count = 2/count = -1/'
cluster "count that is no number" 'count' 'count = "2"' 's/^count = 2/count = "2"/'
cluster "more devices than can be numbered" 'count|device' 'count = 4000000000' 's/^count = 2/count = 4000000000/'
cluster "more devices than an int, multiplied" 'count|device' '' 's/^count = 2/count = 2000000000/'
cluster "no devices on a node" 'count' 'count = 0' 's/"fast", count = 2/"fast", count = 0/'
cluster "negative bandwidth" 'bandwidth' '"-100 Gbit/s"' 's/"100 Gbit/"-100 Gbit/'
cluster "zero bandwidth" 'bandwidth' '"0 Gbit/s"' 's/"100 Gbit/"0 Gbit/'
cluster "infinite bandwidth" 'bandwidth' 'bandwidth = inf' 's/"100 Gbit.s"/inf/'
cluster "bandwidth that is no number" 'bandwidth' 'bandwidth = nan' 's/"100 Gbit.s"/nan/'
cluster "negative latency" 'latency' '"-5 us"' 's/"5 us"/"-5 us"/'
cluster "negative latency of a switch" 'latency' '"-1 us"' 's/"1 us"/"-1 us"/'
cluster "wrong unit" 'GiB|unit' '"5 GiB"' 's/"5 us"/"5 GiB"/'
cluster "no memory" 'memory' 'memory = "0 GiB"' 's/"16 GiB"/"0 GiB"/'
cluster "negative memory" 'memory' 'memory = "-1 GiB"' 's/"16 GiB"/"-1 GiB"/'
cluster "memory that no device has" 'memory is too large' 'memory = 4611686018427387904' \
  's/"16 GiB"/4611686018427387904/'
cluster "less memory than any device has" 'memory is too small' 'memory = 5e-324' 's/"16 GiB"/5e-324/'
cluster "bandwidth beyond any link" 'bandwidth is too large' 'bandwidth = 1e300' 's/"100 Gbit.s"/1e300/'
cluster "latency beyond any link" 'latency is too large' 'latency = 1e300' 's/"5 us"/1e300/'
cluster "memory not given" 'memory' '' '/16 GiB/d'
cluster "a reserve of all the memory" 'reserve leaves no memory' 'reserve' 's/"16 GiB"/"16 GiB"\nreserve = "16 GiB"/'
cluster "a negative reserve" 'reserve must not be negative' 'reserve' 's/"16 GiB"/"16 GiB"\nreserve = -1/'
cluster "a reserve without unit" 'unit' 'reserve' 's/"16 GiB"/"16 GiB"\nreserve = "1.5"/'
cluster "unknown device kind" 'fats.*fast' 'fats' 's/= \{ kind = "fast"/= { kind = "fats"/'
cluster "device kind twice" 'fast' '' 's/^kind = "slow"/kind = "fast"/'
cluster "unknown key" 'bandwidth instead of bandwith' 'bandwith' 's/link = \{ bandwidth = "100/link = { bandwith = "100/'
cluster "unknown section" 'nodes.*node' '[[nodes]]' '0,/\[\[node\]\]/s//[[nodes]]/'
cluster "a key twice" 'count|redefin|duplicate|twice' '' 's/^count = 2/count = 2\ncount = 3/'
cluster "no link between two devices of a node" 'link' '' '/^link/d'
cluster "no uplink where there are several nodes" 'uplink' '' '0,/^uplink.*/s///'
cluster "a switch above itself" 'rack' '' 's/^name = "rack"/name = "rack"\nswitch = "rack"/'
cluster "a switch twice" 'rack' '' '$a[[switch]]\nname = "rack"'
cluster "no nodes" 'node' '' '/\[\[node\]\]/,$d'
cluster "nothing in the file" 'node' '' '1,$d'
cluster "not TOML" '.' '' 's/^count = 2/count = = 2/'
good_cluster | head -c 150 >cluster.toml
plan_made
refused "cluster: torn file" 2 'cluster.toml(:[0-9]+)*' '.'
head -c 4096 /dev/zero >cluster.toml
plan_made
refused "cluster: zeros" 2 'cluster.toml(:[0-9]+)*' '.'
good_cluster >cluster.toml
job plan --cluster missing.toml --profile profile.json --global-batch-size 8
refused "cluster: no such file" 2 'missing.toml' 'missing.toml'
job plan --cluster "$folder" --profile profile.json --global-batch-size 8
refused "cluster: a folder" 2 "$folder" '.'

# --- profiles
profile "negative seconds" 'forward' 's/"forward": 0.5/"forward": -0.5/'
profile "seconds beyond any number" 'forward|number|1e999' 's/"forward": 0.5/"forward": 1e999/'
profile "seconds that are no number" '.' 's/"forward": 0.5/"forward": NaN/'
profile "seconds as text" 'forward' 's/"forward": 0.5/"forward": "0.5"/'
profile "no seconds" 'forward' 's/"forward": 0.5, //'
profile "both kinds of backward" 'backward' 's/"backward": 3/"backward": 3, "backward_input": 1/'
profile "half a backward" 'backward_weight' 's/, "backward_weight": 1//'
profile "samples below 1" 'samples' 's/"samples": 1/"samples": 0.5/'
profile "degree of 0" 'tensor_parallel' 's/"tensor_parallel": 1/"tensor_parallel": 0/'
profile "fraction of a degree" 'tensor_parallel' 's/"tensor_parallel": 1/"tensor_parallel": 1.5/'
profile "two rows for the same" 'fast|twice|row' 's/"device": "slow"/"device": "fast"/'
profile "a device kind without rows" 'slow' '/"device": "slow"/d' 's/"backward_weight": 1\},/"backward_weight": 1}]},/' \
  '$s/\]\},$/]}]}/'
profile "a device kind without rows at degree 1" 'slow' \
  's/"slow", "tensor_parallel": 1/"slow", "tensor_parallel": 2/'
profile "unknown schema" 'pptrain.profile/2.*pptrain.profile/1' 's/profile\/1/profile\/2/'
profile "no schema" 'schema' 's/"schema": "pptrain.profile.1", //'
profile "unknown key" 'paramters.*parameters' 's/"parameters"/"paramters"/'
profile "a key twice" 'model' 's/"model": "made",/"model": "made", "model": "made",/'
profile "negative parameters" 'parameters' 's/"parameters": 1000000/"parameters": -1/'
profile "negative bytes" 'stored_bytes' 's/"stored_bytes": 2000/"stored_bytes": -1/'
profile "negative bytes per parameter" 'weight' 's/"weight": 4/"weight": -4/'
profile "parameters beyond any model" 'parameters.*at most' 's/"parameters": 1000000/"parameters": 1e300/'
profile "seconds beyond any job" 'forward.*at most' 's/"forward": 0.5/"forward": 1e300/'
profile "empty name" 'name' 's/"second"/""/'
profile "repeated name" 'first' 's/"second"/"first"/'
profile "no layers" 'layers' '/"layers"/,$d' '$s/$/"layers": []}/'
profile "layers that are no list" 'layers' '/"layers"/,$d' '$s/$/"layers": {}}/'
profile "nothing in the file" '.' '1,$d'
profile "more after the end" '.' '$s/$/}/'
good_profile | head -c 500 >profile.json
plan_made
refused "profile: torn file" 2 'profile.json[^ ]*' '.'
printf '[%.0s' {1..200000} >profile.json
plan_made
refused "profile: brackets without end" 2 'profile.json[^ ]*' '.'
good_profile >profile.json
job plan --cluster cluster.toml --profile missing.json --global-batch-size 8
refused "profile: no such file" 2 'missing.json' 'missing.json'

# --- plans
plan "a stage's layers the wrong way round" 'layers' 's/"layers": \[\[0, 1\]\]/"layers": [[1, 0]]/'
plan "stages out of order" 'layer' 's/\[\[0, 1\]\], "replicas": 2/[[1, 2]], "replicas": 2/' \
  's/\[\[1, 2\]\], "replicas": 1/[[0, 1]], "replicas": 1/'
plan "a layer left out" 'layer' 's/"layers": \[\[1, 2\]\]/"layers": [[2, 3]]/'
plan "a layer in two stages" 'layer' 's/"layers": \[\[1, 2\]\]/"layers": [[0, 2]]/'
plan "negative layers" 'layers' 's/"layers": \[\[0, 1\]\]/"layers": [[-1, 1]]/'
plan "a device in two stages" 'device' 's/"devices": \[\[2\]\]/"devices": [[1]]/'
plan "a negative device" 'device' 's/"devices": \[\[2\]\]/"devices": [[-2]]/'
plan "fewer devices than replicas" 'devices|replicas' 's/"devices": \[\[0\], \[1\]\]/"devices": [[0]]/'
plan "more members than the degree" 'devices|tensor_parallel' 's/"devices": \[\[2\]\]/"devices": [[2, 3]]/'
plan "samples left out" 'samples' 's/"samples": \[\[0, 2\]\]/"samples": [[0, 1]]/'
plan "samples twice" 'samples' 's/\[\[0, 1\], \[1, 2\]\]/[[0, 2], [1, 2]]/'
plan "batch sizes that contradict each other" 'micro_batch' 's/"micro_batches": 4/"micro_batches": 3/'
plan "more micro-batches than can be numbered" 'micro_batches: is too large' \
  's/"micro_batches": 4/"micro_batches": 9007199254740992/'
plan "no replicas" 'replicas' 's/"replicas": 1/"replicas": 0/'
plan "no stages" 'stages' '/"stages"/,$d' '$s/$/"stages": []}/'
plan "unknown schedule" '1f1c.*1f1b' 's/"1f1b"/"1f1c"/'
plan "ZeRO stage of 4" 'zero_stage' 's/"zero_stage": 0/"zero_stage": 4/'
plan "unknown recomputation" 'recompute' 's/"recompute": "none"/"recompute": "nine"/'
plan "unknown key" 'replica.*replicas' 's/"replicas": 1/"replica": 1/'

# --- command line
good_cluster >cluster.toml
good_profile >profile.json
plan_made --micro-batch-size 3
refused "micro-batches that do not make up the batch" 2 '[^ ].*' 'micro.batch'
plan_made --micro-batch-size 16
refused "a micro-batch larger than the batch" 2 '[^ ].*' 'micro.batch'
plan_made --planner amq
refused "unknown planner" 2 '[^ ].*' 'amq.*amp'
good_cluster | sed -E 's/^count = 2/count = 20/' >cluster.toml
plan_made --planner exhaustive
refused "too many plans to look at each" 2 '[^ ].*' '[0-9] plans'
good_cluster >cluster.toml
job plan --cluster cluster.toml --profile profile.json --global-batch-size 0
refused "no samples" 2 '[^ ].*' 'batch'
job plan --cluster cluster.toml
refused "neither configuration nor profile" 2 '[^ ].*' 'profile'

# --- what does not fit
for planner in auto amp megatron data-parallel; do
  good_cluster | head -n 14 | sed -E 's/"16 GiB"/"2 MB"/; s/^count = 2/count = 1/' >cluster.toml
  plan_made --planner $planner
  refused "nothing fits, $planner" 3 '[^ ].*' 'needs .*(B|more|much)'
done

finish
