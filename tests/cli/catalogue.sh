#!/usr/bin/env bash
# Clusters in one line of text, devices whose figures are known by name, and models by their config.json alone.
# Usage: catalogue.sh PPTRAIN
set -euo pipefail
models=$(realpath -- "$(dirname -- "$0")/../data/models")
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

# job TITLE CODE PATTERN ARGUMENT...: pptrain with these arguments ends with CODE and prints PATTERN.
job() { expect "$1" "$2" "$3" "$pptrain" "${@:4}"; }

# refused TITLE PATTERN ARGUMENT...: exit code 2, one message like PATTERN with a suggestion, nothing on standard output.
refused() {
  job "$1" 2 "$2" "${@:3}"
  check "$1: one message" test "$(grep -ac 'pptrain: error:' errors.txt)" -eq 1
  check "$1: no output" test ! -s output.txt
  check "$1: a suggestion" grep -aEq '; [^;]{3,}$' errors.txt
}

# narrow FILE: no line has more than 80 columns.
narrow() { ! grep -aEq '^.{81,}' "$1"; }

nodes="2x 2x l40s @ 100Gb/s"
plan=(plan --planner amp --global-batch-size 16)

# --- what is known, and clusters of it ---
job "the catalogue" 0 '^ *h100-sxm-80gb +80 +3\.35 +67 +989\.4 ' cluster --list
check "of 80 columns" narrow output.txt
job "its sources" 0 'GB200 NVL72 data sheet, 2024' cluster --list -v
job "a cluster in one line" 0 '52 devices on 7 nodes' cluster "2x dgx-h100, 4x dgx-a100-40, 1x 4x l40s"
job "a network that nobody said" 0 'network of "1x 4x l40s" is taken as 100 Gbit/s' cluster "dgx-h100, 1x 4x l40s"
job "as a file" 0 'Wrote c.toml' cluster "$nodes" -o c.toml
check "which is TOML by its name" grep -q '^kind = "l40s"$' c.toml
job "as JSON" 0 '"device_kind": ?"l40s"' cluster "$nodes" --format json
job "the file is the same cluster" 0 '4 devices on 2 nodes' cluster c.toml
"$pptrain" cluster "$nodes" --format toml >said.toml
"$pptrain" cluster c.toml --format toml >read.toml
check "to the last digit" cmp said.toml read.toml
refused "an unknown node" 'cluster "2x dgx-h101": .*did you mean dgx-' cluster "2x dgx-h101"
refused "a device of several forms" 'did you mean .*h100-pcie-80gb or h100-sxm-80gb' cluster "4x h100"
refused "no count" 'is no whole number|whole number of at least 1' cluster "0x l40s"
refused "no bandwidth" 'has the network "fast"' cluster "2x l40s @ fast"
refused "the catalogue of a file" '--list: it stands alone' cluster --list c.toml
refused "a file that is not there" 'missing.toml: ' cluster missing.toml

# --- devices whose figures are known by name ---
sed '/^memory\|^flops/d' c.toml >short.toml
check "the short file says no rates" test "$(grep -c 'flops\|memory' short.toml)" -eq 0
# seconds ARGUMENT...: the predicted iteration of a plan.
seconds() { "$pptrain" "$@" --format json 2>errors.txt | grep -oE '"iteration_seconds": ?[0-9.e+-]+' | head -n 1; }
llama=(--model "$models/llama/config.json")
whole=$(seconds "${plan[@]}" "${llama[@]}" --cluster c.toml)
check "there is a prediction" test -n "$whole"
check "rates that are left out are those of the kind" test "$whole" = "$(seconds "${plan[@]}" "${llama[@]}" --cluster short.toml)"
check "a line of text is the same cluster" test "$whole" = "$(seconds "${plan[@]}" "${llama[@]}" --cluster "$nodes")"
sed 's/^kind = "l40s"$/kind = "l40x"/; s/kind = "l40s", /kind = "l40x", /' short.toml >misspelt.toml
refused "a misspelt kind without figures" 'misspelt.toml:[0-9]+: device.memory is missing .*did you mean kind = "l40s"' \
  cluster misspelt.toml

# --- models by their config.json ---
# same FAMILY TOKENS ARGUMENT...: --model plans what a configuration of the same job plans.
same() {
  local family=$1 tokens=$2 by_file by_option
  shift 2
  cat >"$family.toml" <<TOML
[model]
from = "$models/$family"
[training]
global_batch_size = 16
precision = "bf16"
${tokens:+sequence_length = $tokens}
$(printf '%s\n' "$@")
[profile]
analytic = true
[cluster]
file = "c.toml"
TOML
  by_file=$(seconds plan "$family.toml" --planner amp)
  by_option=$(seconds "${plan[@]}" --model "$models/$family" --cluster "$nodes" ${@:+--micro-batch-size 4})
  check "$family: a prediction" test -n "$by_file"
  check "$family: the same as of a configuration" test "$by_file" = "$by_option"
}
same llama 64
same gpt2-hf 40
same gpt-neox 64
same opt 24
same bert 40
same mixtral 64
same t5 2048
same vit ""
same resnet "" "micro_batch_size = 4"
job "what was taken is said" 0 'taken: bf16; 64 tokens a sample, the most that config.json admits' \
  "${plan[@]}" "${llama[@]}" --cluster "$nodes"
check "within 80 columns" narrow output.txt
job "fp16 where bf16 is missing" 0 'taken: fp16, as not all devices have bf16' \
  "${plan[@]}" "${llama[@]}" --cluster "2x v100, 1x l40s"
job "what is said is not told" 0 'peak in fp32' "${plan[@]}" "${llama[@]}" --cluster "$nodes" --precision fp32 --sequence-length 32
check "not at all" test -z "$(grep 'taken' errors.txt)"
sed 's/"max_position_embeddings": 64/"max_position_embeddings": 131072/' "$models/llama/config.json" >long.json
job "a file of another name, and a long context" 0 '4096 tokens a sample of the 131072' \
  "${plan[@]}" --model long.json --cluster "$nodes"
job "days of a training" 0 '1T tokens +[0-9.e+]+ d' "${plan[@]}" "${llama[@]}" --cluster "$nodes" --tokens 1e12
job "tokens in another runtime too" 0 'throughput +[0-9.]+[kM]? tokens/s' \
  "${plan[@]}" "${llama[@]}" --cluster "$nodes" --set profile.like=megatron
job "a cluster in a configuration" 0 'PP [0-9]+ x DP [0-9]+' plan llama.toml --planner amp --set cluster.file="$nodes"
job "a plan as a file" 0 'Wrote plan.json' "${plan[@]}" "${llama[@]}" --cluster "$nodes" -o plan.json
job "simulated" 0 'makespan' simulate "${llama[@]}" --cluster "$nodes" --plan plan.json
job "a plan says whose execution it predicts" 0 'times and memory are torchtitan.s' \
  plan --global-batch-size 16 "${llama[@]}" --cluster "$nodes" --like torchtitan -o like.json
job "another execution is simulated" 0 'like.json: made for the execution of torchtitan, and simulated as pptrain .*add --like torchtitan' \
  simulate "${llama[@]}" --cluster "$nodes" --plan like.json
job "its execution is simulated" 0 'makespan' simulate "${llama[@]}" --cluster "$nodes" --plan like.json --like torchtitan
without_warning() { ! grep -aq 'made for the execution' output.txt errors.txt; }
check "its execution is simulated: no warning" without_warning
job "precision of a configuration too" 0 'peak in fp16' plan llama.toml --planner amp --precision fp16

job "a micro-batch of the batch that is asked for" 0 '1 micro-batch of 16 samples' \
  "${plan[@]}" "${llama[@]}" --cluster "$nodes" --set training.micro_batch_size=16

refused "a model beside a configuration" '--model: the model is named beside llama.toml' plan llama.toml "${llama[@]}"
refused "a model beside a profile" '--model: the model is named beside a profile' \
  "${plan[@]}" "${llama[@]}" --cluster "$nodes" --profile p.json
refused "a model twice" '--model: the model is named beside --set model.name' \
  "${plan[@]}" "${llama[@]}" --cluster "$nodes" --set model.name=gpt2
refused "no cluster" '--model: no cluster to plan for .*--cluster' "${plan[@]}" "${llama[@]}"
refused "no batch" '--model: no global batch size .*; add --global-batch-size N' plan "${llama[@]}" --cluster "$nodes"
refused "no such model" '--model: nowhere cannot be read' "${plan[@]}" --model nowhere --cluster "$nodes"
refused "a folder without a model" '--model: ./config.json cannot be read' "${plan[@]}" --model . --cluster "$nodes"
sed 's/"llama"/"lama"/' "$models/llama/config.json" >lama.json
refused "an unknown family" 'lama.json:[0-9]+: .*lama' "${plan[@]}" --model lama.json --cluster "$nodes"
refused "more tokens than a model has positions for" 'config.json:[0-9]+: .*sequence_length = 4096' \
  "${plan[@]}" --model "$models/gpt2-hf" --cluster "$nodes" --sequence-length 4096
refused "tokens of images" '--sequence-length: the model reads no tokens' \
  "${plan[@]}" --model "$models/vit" --cluster "$nodes" --sequence-length 64
refused "a length twice" '--sequence-length: training.sequence_length is set twice' \
  "${plan[@]}" "${llama[@]}" --cluster "$nodes" --sequence-length 64 --set training.sequence_length=32
refused "a precision that devices lack" '"v100" has no FLOP rate for bf16' \
  "${plan[@]}" "${llama[@]}" --cluster "2x v100" --precision bf16
refused "an unknown precision" 'fp64' "${plan[@]}" "${llama[@]}" --cluster "$nodes" --precision fp64
refused "an unknown cluster" 'cluster "toasters": ' "${plan[@]}" "${llama[@]}" --cluster toasters

# --- a key that somebody types finds no faster plan ---
cat >qwen2.5-32b.json <<'JSON'
{"model_type": "qwen2", "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64,
 "num_attention_heads": 40, "num_key_value_heads": 8, "max_position_embeddings": 32768, "vocab_size": 152064,
 "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "use_sliding_window": false, "tie_word_embeddings": false}
JSON
qwen=(plan --model qwen2.5-32b.json --cluster "2x dgx-a100-40, 1x dgx-h100" --global-batch-size 64
      --sequence-length 4096)
free=$(seconds "${qwen[@]}") || fail "auto found no plan"
typed=$(seconds "${qwen[@]}" --set parallelism.zero_stage=3) || fail "auto found no plan with zero_stage = 3"
check "nothing said is no slower than zero_stage = 3" awk "BEGIN { exit !(${free##*:} <= 1.0001 * ${typed##*:}) }"
mistral=(plan --model "$models/../../../inputs/models/mistral-7b-v0.1" --cluster "1x dgx-h100, 4x p3.16xlarge" --global-batch-size 128
         --sequence-length 4096)
free=$(seconds "${mistral[@]}") || fail "auto found no plan"
typed=$(seconds "${mistral[@]}" --set parallelism.zero_stage=2 --set parallelism.pipeline=3 --set parallelism.data=4) \
  || fail "auto found no plan of 3 stages of 4 replicas with zero_stage = 2"
check "nothing said is no slower than three keys" awk "BEGIN { exit !(${free##*:} <= 1.0001 * ${typed##*:}) }"
mistral=(plan --model "$models/../../../inputs/models/mistral-7b-v0.1" --cluster "1x g5.48xlarge, 1x dgx-a100-80, 1x p4d.24xlarge"
         --global-batch-size 64 --sequence-length 4096 --set planner.time_limit=300)  # a busy machine takes longer
free=$(seconds "${mistral[@]}") || fail "auto found no plan on three kinds of nodes"
typed=$(seconds "${mistral[@]}" --set parallelism.data=4) || fail "auto found no plan of 4 replicas"
check "nothing said is no slower than data = 4 on three kinds of nodes" awk "BEGIN { exit !(${free##*:} <= 1.0001 * ${typed##*:}) }"
qwen=(plan --model "$models/../../../inputs/models/qwen2.5-7b" --cluster "1x g5.48xlarge" --global-batch-size 64 --sequence-length 4096)
free=$(seconds "${qwen[@]}") || fail "auto found no plan on eight devices"
typed=$(seconds "${qwen[@]}" --set parallelism.zero_stage=1) || fail "auto found no plan on eight devices with zero_stage = 1"
check "nothing said is no slower than zero_stage = 1 where stages have one replica" \
  awk "BEGIN { exit !(${free##*:} <= 1.0001 * ${typed##*:}) }"

finish
