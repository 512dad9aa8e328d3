#!/usr/bin/env bash
# A trained model continues texts: from a run, a checkpoint and an exported folder; greedy and drawn; what is refused.
# Usage: generate.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

training_text fox.txt
cat >job.toml <<'TOML'
[job]
name = "fox"
timeout = "10 min"
[model]
layers = 1
hidden_size = 32
heads = 2
vocabulary_size = 256
[data]
train = "fox.txt"
validation = "fox.txt"
[training]
steps = 400
sequence_length = 32
global_batch_size = 8
[optimizer]
learning_rate = 1e-2
[lr_scheduler]
name = "cosine"
warmup_steps = 20
minimum = 1e-4
[checkpoint]
interval = 400
[metrics]
evaluation_interval = 400
sample_prompts = ["the quick", "lazy"]
[profile]
cache = false
TOML
expect "samples at an evaluation" 0 'step 400: "the quick" goes on " brown fox jumps over the lazy' "$pptrain" job.toml
check "a sample for each prompt" printed 'step 400: "lazy" goes on " dog'
# Words that have been learned so well are said on every processor, whatever its rounding.
check "the text is learned" printed 'step 400: loss on held-back data 0\.[01]'
check "samples in the run's log" grep -q 'goes on' outputs/fox/latest/log.txt
run_folder=outputs/fox/latest
checkpoint=$run_folder/checkpoints/step-400.h5

# generated FILE ARGUMENTS...: what `pptrain generate` prints, quietly.
generated() { "$pptrain" generate -q "${@:2}" >"$1"; }
same() { cmp -s -- "$1" "$2"; }

expect "a run directory" 0 '^the quick brown fox jumps' "$pptrain" generate "$run_folder" --prompt 'the quick' --tokens 20
check "nothing but the text on standard output" test "$(wc -l <output.txt)" = 1
check "as many tokens as were asked for" printed 'gpt2 after step 400: 9 prompt . 20 new tokens,'
generated run.txt "$run_folder" --prompt 'the quick' --tokens 20
check "quietly without the prompt" grep -qx ' brown fox jumps ove' run.txt
printf 'the quick\n' >prompt.txt
generated file.txt "$checkpoint" --prompt-file prompt.txt --tokens 20
check "a checkpoint, and a prompt in a file" same run.txt file.txt
generated long.txt "$checkpoint" --prompt 'the quick' --tokens 100
check "more tokens than the model has places" test "$(wc -c <long.txt)" -gt 90
"$pptrain" export "$run_folder" -o exported >/dev/null
generated exported.txt exported --prompt 'the quick' --tokens 20
check "an exported folder" same run.txt exported.txt
check "... has a tokenizer of bytes" grep -q '"ByteLevel"' exported/tokenizer.json
expect "... that makes their tokens" 0 'vocabulary_size = 256' "$pptrain" tokenize prompt.txt -o exported.bin --tokenizer exported

# A network of one's own, which no other library has.
layers='[[model.layer]]\nkind = "embedding"\ncolumns = 32\n[[model.layer]]\nheads = 2\n[[model.layer]]\nkind = "output"'
sed "/^layers/d; /^hidden_size/d; /^heads/d; s/^vocabulary_size.*/&\n$layers/" job.toml >own.toml
expect "training a network of one's own" 0 '' "$pptrain" own.toml --set job.name=own --set metrics.sample_prompts=[] --steps 2 \
  --set checkpoint.interval=2
expect "no export of it" 2 'step-2\.h5: a network of \[\[model\.layer\]\] has no place.*no config\.json.*; read its parameters' \
  "$pptrain" export outputs/own/latest -o nothing
check "one message" test "$(grep -c 'pptrain: error:' errors.txt)" = 1
check "nothing exported" test ! -e nothing
expect "it continues texts" 0 '^the' "$pptrain" generate outputs/own/latest --prompt the --tokens 5

drawn=(--prompt 'the quick' --tokens 60 --temperature 3)
generated first.txt "$run_folder" "${drawn[@]}" --seed 1
generated again.txt "$run_folder" "${drawn[@]}" --seed 1
generated other.txt "$run_folder" "${drawn[@]}" --seed 2
generated greedy.txt "$run_folder" --prompt 'the quick' --tokens 60
generated likeliest.txt "$run_folder" "${drawn[@]}" --top-k 1
generated nucleus.txt "$run_folder" "${drawn[@]}" --top-p 0
check "one seed gives one text" same first.txt again.txt
check "another seed another" test "$(cmp first.txt other.txt | wc -l)" = 1
check "--top-k 1 takes the likeliest" same greedy.txt likeliest.txt
check "--top-p 0 takes the likeliest" same greedy.txt nucleus.txt

# A model with a tokenizer of its own.
tokenizer=$inputs/../tests/data/tokenizers/gpt2
size=$("$pptrain" tokenize fox.txt -o fox.bin --tokenizer "$tokenizer" | sed 's/.*vocabulary_size = //')
expect "training on tokens" 0 '' "$pptrain" job.toml --set job.name=tokens --set data.train=fox.bin \
  --set data.validation=fox.bin --set model.vocabulary_size="$size" --set metrics.sample_prompts=[] --steps 60 \
  --set checkpoint.interval=60
expect "a tokenizer" 0 '^the quick brown fox' "$pptrain" generate outputs/tokens/latest --prompt 'the quick' --tokens 20 \
  --tokenizer "$tokenizer"
expect "no tokenizer" 2 "no tokenizer for the $size tokens.*--tokenizer" "$pptrain" generate outputs/tokens/latest --prompt the
expect "too large a tokenizer" 2 "the tokenizer has $size tokens" "$pptrain" generate "$run_folder" --prompt the \
  --tokenizer "$tokenizer"

# A vocabulary of the text's own.
size=$("$pptrain" tokenize fox.txt -o own.bin --train-vocabulary 310 | sed 's/.*vocabulary_size = //')
expect "training on tokens of an own vocabulary" 0 '' "$pptrain" job.toml --set job.name=own-tokens --set data.train=own.bin \
  --set data.validation=own.bin --set model.vocabulary_size="$size" --set metrics.sample_prompts=[] --steps 60 \
  --set checkpoint.interval=60
expect "an own vocabulary" 0 '^the quick' "$pptrain" generate outputs/own-tokens/latest --prompt 'the quick' --tokens 20 \
  --tokenizer own.tokenizer.json
expect "an own vocabulary is valid" 0 "a tokenizer of $size tokens" "$pptrain" validate own.tokenizer.json

expect "an empty prompt" 2 'the prompt is empty' "$pptrain" generate "$run_folder"
expect "no such prompt file" 2 'none.txt: cannot be read' "$pptrain" generate "$run_folder" --prompt-file none.txt
expect "--top-k without a temperature" 2 'top-k: changes nothing without --temperature' "$pptrain" generate "$run_folder" \
  --prompt the --top-k 3
expect "a negative temperature" 2 'temperature' "$pptrain" generate "$run_folder" --prompt the --temperature -1
expect "no model" 2 'nowhere: there is no such model' "$pptrain" generate nowhere --prompt the
expect "a folder without checkpoint" 2 'has no checkpoint' "$pptrain" generate "$inputs" --prompt the
# Several processes with a share of the model each.
together() { "$mpiexec" -np "$1" "$pptrain" generate -q "${@:3}" >"$2"; }
together 2 shared.txt "$run_folder" --prompt 'the quick' --tokens 60
check "two ranks that share every layer" same greedy.txt shared.txt
cat >three.toml <<'TOML'
name = "three"
[[device]]
kind = "host"
memory = "1 GB"
flops = { fp32 = "1 TFLOP/s" }
memory_bandwidth = "50 GB/s"
[[node]]
devices = { kind = "host", count = 3 }
link = { bandwidth = "1 GB/s" }
TOML
"$pptrain" plan job.toml --cluster three.toml --analytic --set parallelism.pipeline=3 \
  --set parallelism.data=1 --set parallelism.tensor=1 -o staged.json >/dev/null
together 4 staged.txt "$run_folder" --prompt 'the quick' --tokens 60 --plan staged.json
check "three ranks with a layer each by a plan, and one without" same greedy.txt staged.txt
together 2 bf16.txt "$run_folder" --prompt 'the quick' --tokens 20 --precision bf16
check "bf16" grep -q '^ brown fox jumps' bf16.txt
expect "more ranks than heads" 2 'started on 3 ranks.*the model has 2 heads.*--plan' "$mpiexec" -np 3 "$pptrain" generate \
  "$run_folder" --prompt the
check "said by one rank" test "$(grep -c 'the model has 2 heads' errors.txt)" = 1
expect "too few ranks for a plan" 2 'on 3 devices, but the job has 2 ranks.*mpirun -np 3' "$mpiexec" -np 2 "$pptrain" \
  generate "$run_folder" --prompt the --plan staged.json
expect "a plan without mpirun" 2 'plan: changes nothing without mpirun' "$pptrain" generate "$run_folder" --prompt the \
  --plan staged.json
expect "a classifier" 2 'sample_prompts.*mlp-classifier' "$pptrain" "$inputs/classifier.toml" --set metrics.sample_prompts='["a"]'
expect "samples of a divided model" 0 'step 2: "the quick" goes on "' "$mpiexec" -np 2 "$pptrain" job.toml \
  --steps 2 --set parallelism.pipeline=2 --set checkpoint.interval=0 --set job.name=divided
# A plan for device 1 alone.
expect "a plan" 0 '' "$mpiexec" -np 2 "$pptrain" job.toml --steps 1 --set parallelism.data=2 --set checkpoint.interval=0 \
  --set job.name=both
python3 - outputs/both/latest/plan.json <<'PYTHON' >second.json
import json, sys

plan = json.load(open(sys.argv[1], encoding="utf-8"))
stage = plan["stages"][0]
stage.update(replicas=1, devices=[[1]], samples=[[0, plan["micro_batch_size"]]])
print(json.dumps(plan))
PYTHON
expect "samples of a model that rank 0 has nothing of" 0 'step 2: "the quick" goes on "' "$mpiexec" -np 2 "$pptrain" job.toml \
  --steps 2 --set parallelism.plan=second.json --set checkpoint.interval=0 --set job.name=second
expect "no samples of weights that replicas divide" 0 'ZeRO stage 3 spreads the weights.*pptrain generate' "$mpiexec" -np 2 "$pptrain" \
  job.toml --steps 2 --set parallelism.data=2 --set parallelism.zero_stage=3 --set checkpoint.interval=0 --set job.name=spread
finish
