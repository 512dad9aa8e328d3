#!/usr/bin/env bash
# Ten mistakes that people make, each answered with what to type instead.
# Usage: mistakes.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

training_text text.txt
this_machine 2 >cluster.toml
cat >job.toml <<'TOML'
[job]
name = "mistakes"
[model]
layers = 4
hidden_size = 32
heads = 2
vocabulary_size = 256
[data]
train = "text.txt"
[training]
steps = 2
sequence_length = 16
global_batch_size = 4
[profile]
analytic = true
TOML

# job EDIT...: the job with edits of sed, in wrong.toml.
job() { sed "$@" job.toml >wrong.toml; }

# 0. Help where people look for it.
expect "help of a subcommand" 0 'Usage: pptrain plan' "$pptrain" help plan
expect "help" 0 'Subcommands:' "$pptrain" help

# 1. A wrong path.
mkdir model
cp "$inputs/models/llama-small/config.json" model
model=(--cluster cluster.toml --global-batch-size 4)
expect "a model's folder in place of a job" 2 "model: this is a model's folder .*--model model, or name its folder in .model. from" \
  "$pptrain" plan model "${model[@]}"
expect "its config.json in place of a job" 2 'it describes a model\); plan it by --model model/config\.json' \
  "$pptrain" plan model/config.json "${model[@]}"
expect "the name of a model at Hugging Face" 2 "nothing is downloaded: fetch the model's config\.json" \
  "$pptrain" plan --model org/Llama "${model[@]}"
expect "a model's file in place of a checkpoint" 2 "this is no checkpoint .*name the model's folder, model" \
  "$pptrain" generate model/config.json --prompt the
expect "a job that is not there" 2 'jop\.toml: the file does not exist; did you mean job\.toml\?' "$pptrain" train jop.toml

# 2. Degrees without a launcher.
expect "degrees without mpirun" 2 'data = 2, pipeline = 2 need 4 ranks .*type mpirun -np 4 pptrain train job\.toml' \
  "$pptrain" train job.toml --set parallelism.data=2 --set parallelism.pipeline=2
expect "one degree without mpirun" 2 'tensor = 2 needs 2 ranks' "$pptrain" train job.toml --set parallelism.tensor=2
expect "too few ranks" 2 'needs 4 ranks \(2 were started\); type mpirun -np 4 pptrain train job\.toml' \
  "$mpiexec" -np 2 "$pptrain" train job.toml --set parallelism.pipeline=4

# 3. Keys as other tools call them.
while read -r section key own; do
  job "s/^\[$section\]/[$section]\n$key = 1/"
  if ! grep -q "^\[$section\]" wrong.toml; then printf '[%s]\n%s = 1\n' "$section" "$key" >>wrong.toml; fi
  expect "$section.$key" 2 "wrong.toml:[0-9]+: $section\.$key is not known; did you mean \[${own%.*}\] ${own#*.}\?" \
    "$pptrain" validate wrong.toml
done <<'KEYS'
optimizer lr optimizer.learning_rate
parallelism dp parallelism.data
parallelism tp parallelism.tensor
parallelism pp parallelism.pipeline
parallelism tensor_parallel parallelism.tensor
training micro_batch training.micro_batch_size
training seq_len training.sequence_length
training batch_size training.global_batch_size
model n_layer model.layers
training lr optimizer.learning_rate
parallelism cp parallelism.context
KEYS
sed 's/^\[training\]/[train]/' job.toml >train.toml
expect "a section of another tool" 2 'train is not known; did you mean \[training\]\?' \
  "$pptrain" validate train.toml
expect "--set with such a key" 2 'write --set optimizer\.learning_rate=1e-3' "$pptrain" train job.toml --set lr=1e-3
expect "an option of another tool" 2 '--lr is no option of pptrain train; did you mean .--set optimizer\.learning_rate=VALUE' \
  "$pptrain" train job.toml --lr 1e-3

expect "an option as another tool calls it" 2 '--seq-len is no option of pptrain plan; did you mean .--sequence-length.\? \(see' \
  "$pptrain" plan job.toml --seq-len 16
job 's/^\[model\]/[model]\nfrom = "model"/'
expect "a model's folder beside dimensions" 2 'wrong.toml:[0-9]+: model\.heads stands beside model\.from \(.*; remove one of them' \
  "$pptrain" validate wrong.toml

# 4. A vocabulary that does not go with the data.
expect "a vocabulary too small for bytes" 2 'vocabulary_size' "$pptrain" train job.toml --set model.vocabulary_size=100

# 5. Out of memory: what the bytes are for, and a change that was checked.
sed 's/1 GiB/550 KiB/' cluster.toml >small.toml
expect "out of memory" 3 'too much: weights .*, gradients .*, optimizer state .*' \
  "$pptrain" plan job.toml --cluster small.toml --set parallelism.zero_stage=0 --set parallelism.recompute=none
check "a change that helps is named" printed '; try '

# 6. Too many stages.
this_machine 12 >many.toml
expect "more stages than layers" 2 'pipeline = 12 is more stages than the model has layers .*use at most 6' \
  "$pptrain" plan job.toml --cluster many.toml --set parallelism.pipeline=12

# 7. A vocabulary of one's own: its tokenizer is found beside the tokens, and asked for where it is not.
expect "a vocabulary is trained" 0 'tokenizer: tokens\.tokenizer\.json\), vocabulary_size = 300' \
  "$pptrain" tokenize text.txt -o tokens.bin --train-vocabulary 300
own=(--set model.vocabulary_size=300 --set 'data.train="tokens.bin"' --set 'job.name="own"')
expect "a job learns from its tokens" 0 'Summary' "$pptrain" train job.toml "${own[@]}"
expect "generate finds the tokenizer" 0 '^the quick' "$pptrain" generate outputs/own/latest --prompt 'the quick' --tokens 4
expect "export takes it along" 0 '' "$pptrain" export outputs/own/latest -o exported
check "as tokenizer.json" cmp tokens.tokenizer.json exported/tokenizer.json
check "with the class that reads it as it is" grep -q '"PreTrainedTokenizerFast"' exported/tokenizer_config.json
check "beside a config.json with its class" grep -q '"GPT2LMHeadModel"' exported/config.json
mv tokens.tokenizer.json elsewhere.json
expect "without it" 2 'no tokenizer for the 300 tokens.*--tokenizer TOKENIZER\.json' \
  "$pptrain" generate outputs/own/latest --prompt the

# 8. A checkpoint that is not there.
expect "the folder of a job" 2 'outputs/own: the folder has no checkpoint .*write outputs/own/latest' \
  "$pptrain" generate outputs/own --prompt the --tokenizer elsewhere.json
expect "a job without one" 0 'Summary' "$pptrain" train job.toml --set checkpoint.at_end=false --set 'job.name="none"'
expect "the report of a folder of a job" 2 'outputs/own: is no run directory .*write outputs/own/latest' \
  "$pptrain" report outputs/own
expect "a run without one" 2 'outputs/none/latest: the folder has no checkpoint .*interval' \
  "$pptrain" generate outputs/none/latest --prompt the
expect "to go on from nothing" 2 'nowhere\.h5' "$pptrain" train job.toml --resume nowhere.h5

# 9. The wrong cluster.
expect "a job in place of a cluster" 2 'job\.toml' "$pptrain" plan job.toml --cluster job.toml
expect "a cluster in place of a job" 2 'cluster\.toml: this is a cluster and no job.*--cluster' "$pptrain" train cluster.toml
printf '[node]\nkind = "dgx-h100"\n' >table.toml
expect "a table in place of several" 2 'table\.toml:1: node is a table .*write \[\[node\]\]' "$pptrain" validate table.toml
expect "a cluster of other devices" 2 '2 devices for 1 rank .*start 2 ranks' \
  "$pptrain" train job.toml --set 'cluster.file="cluster.toml"'

# 10. The plan of another model.
expect "a plan" 0 'plan by' "$pptrain" plan job.toml --cluster cluster.toml -o plan.json
expect "of another model" 2 'plan\.json.*(layers|model)' \
  "$pptrain" plan job.toml --cluster cluster.toml --set model.layers=8 --set 'parallelism.plan="plan.json"'

finish
