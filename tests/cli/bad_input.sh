#!/usr/bin/env bash
# Bad input ends all ranks with one message: where, the problem, a suggestion. Exit code 2 or 3, no hang,
# nothing below the output directory.
# Usage: bad_input.sh PPTRAIN MPIEXEC
set -euo pipefail
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

tokenizers=$inputs/../tests/data/tokenizers

# bytes WIDTH NUMBER...: the numbers as little-endian integers of WIDTH bytes, as escapes for printf.
bytes() {
  local width=$1 number i
  shift
  for number in "$@"; do
    for ((i = 0; i < width; ++i)); do printf '\\x%02x' $(((number >> (8 * i)) & 255)); done
  done
}

# tokens FILE COUNT TOKEN: a token file (256 int32 of header, then uint16) of COUNT tokens, the last one TOKEN.
tokens() {
  local body i
  for ((i = 0; i < $2 - 1; ++i)); do body+="$((i * 7 % 250)) "; done
  # shellcheck disable=SC2059,SC2086
  printf "$(bytes 4 20240520 1 "$2")$(printf '\\0%.0s' {1..1012})$(bytes 2 $body "$3")" >"$1"
}

tokens good.bin 2000 1
tokens too_large.bin 257 300
tokens short.bin 100 1
: >empty.bin
echo "a file, so nothing can be below it" >occupied

good_config() {
  cat <<'TOML'
[job]
name = "bad-input"
output = "outputs"
[model]
layers = 2
hidden_size = 32
heads = 4
vocabulary_size = 257
[data]
train = "good.bin"
[training]
steps = 1
sequence_length = 32
global_batch_size = 8
micro_batch_size = "auto"
[optimizer]
learning_rate = 1e-3
[lr_scheduler]
warmup_steps = 0
[parallelism]
data = "auto"
pipeline = "auto"
tensor = "auto"
TOML
}

# job RANKS ARGUMENT...: a run of pptrain.
# mpirun kills the others at once when a rank of a job fails: rank 0 has to have spoken by then.
job() { OMPI_MCA_odls_base_sigkill_timeout=0 run "$longest_seconds" "$mpiexec" -np "$1" "$pptrain" "${@:2}"; }

# late_job ...: the same where rank 0 comes last.
late_job() {
  # shellcheck disable=SC2016  # expanded by each rank
  OMPI_MCA_odls_base_sigkill_timeout=0 run "$longest_seconds" "$mpiexec" -np "$1" bash -c '
    if [[ $OMPI_COMM_WORLD_RANK -eq 0 ]]; then sleep 1; fi
    exec "$@"' late "$pptrain" "${@:2}"
}

written() { find outputs -type f 2>/dev/null | head -n 1; }

# refused TITLE CODE WHERE PROBLEM: judges what `job` left; WHERE and PROBLEM are extended regular expressions.
refused() {
  local title=$1 wanted_code=$2 where=$3 problem=$4 messages
  cases=$((cases + 1))
  messages=$(grep -c 'pptrain: error:' errors.txt || true)
  if [[ $code -eq 124 || $code -eq 137 ]]; then complain "$title" "it hangs"; return; fi
  if [[ ! $code =~ ^($wanted_code)$ ]]; then complain "$title" "exit code $code, not $wanted_code"; return; fi
  if [[ $messages -ne 1 ]]; then complain "$title" "$messages messages, not 1"; return; fi
  if ! grep -Eq "pptrain: error: ($where): " errors.txt; then complain "$title" "no place like '$where'"; return; fi
  if ! grep 'pptrain: error:' errors.txt | grep -Eiq -- "$problem"; then
    complain "$title" "no problem like '$problem'"
    return
  fi
  if ! grep 'pptrain: error:' errors.txt | grep -Eq '; [^;]{8,}$'; then complain "$title" "no suggestion"; return; fi
  if [[ -n $(written) ]]; then complain "$title" "wrote $(written)"; return; fi
  printf 'ok %s\n' "$title"
}

# bad TITLE RANKS CODE PROBLEM KEY LINE [SED ...]: the good configuration with the line of KEY replaced by
# LINE (and other edits) is refused, naming that line, or the file when no single line is to blame.
bad() {
  local title=$1 ranks=$2 wanted_code=$3 problem=$4 key=$5 line=$6 number
  shift 6
  good_config >bad.toml
  number=$(grep -nE "^$key( |$)" bad.toml | head -n 1 | cut -d: -f1)
  sed -i "${number}c\\$line" bad.toml
  local edit
  for edit in "$@"; do sed -i "$edit" bad.toml; done
  job "$ranks" bad.toml
  refused "$title" "$wanted_code" "${where:-([^ ]*/)?bad.toml:$number(:[0-9]+)?}" "$problem"
}

# The configuration itself is good: whatever is refused below is refused for its own fault.
good_config >good.toml
job 2 good.toml
if [[ $code -ne 0 || -z $(written) ]]; then complain "the good configuration" "exit code $code"; fi
cp outputs/bad-input/latest/plan.json good_plan.json
rm -rf outputs

# Some line of the 23 that the user wrote, for what several lines bring about together.
anywhere='([^ ]*/)?bad.toml(:(1?[0-9]|2[0-3]))?'

# --- data
bad "missing data file" 2 2 'missing\.bin' train 'train = "missing.bin"'
where='[^ ]*(bad.toml:[0-9]+|empty.bin)' bad "empty data file" 2 2 'empty|holds (0|no) tokens' train \
  'train = "empty.bin"'
where='[^ ]*(bad.toml:[0-9]+|too_large.bin)' bad "token outside the vocabulary" 2 2 '300' train \
  'train = "too_large.bin"'
where='[^ ]*(bad.toml:[0-9]+|short.bin)' bad "less data than one global batch" 2 2 '257' train 'train = "short.bin"'

# Text, whatever its name, for a vocabulary that is not of bytes.
seq 1 1000 >numbers
for kind in txt jsonl parquet arrow gz zst npy ds pt; do
  cp numbers "text.$kind"
  where='[^ ]*bad.toml:10' bad "text as .$kind for another vocabulary" 1 2 "text.$kind holds no tokens.*tokenize --tokenizer" \
    train "train = \"text.$kind\"" 's/^vocabulary_size.*/vocabulary_size = 2000/'
  job 1 validate bad.toml
  refused "validate: text as .$kind" 2 '[^ ]*bad.toml:10' "text.$kind holds no tokens.*tokenize --tokenizer"
done
cp numbers bare.bin
truncate -s 3000 bare.bin
where='[^ ]*bad.toml:10' bad "16-bit tokens for a large vocabulary" 2 2 'bare.bin .*16 bits.*tokenize --tokenizer' \
  train 'train = "bare.bin"' 's/^vocabulary_size.*/vocabulary_size = 70000/'
gzip <numbers >packed
where='[^ ]*bad.toml:10' bad "what is compressed for a model of bytes" 1 2 'packed is compressed by gzip' train 'train = "packed"'
"$pptrain" tokenize numbers -o seq_bytes.bin >/dev/null
"$pptrain" tokenize numbers -o seq_tokens.bin --tokenizer "$tokenizers/gpt2" >/dev/null
where='[^ ]*bad.toml:11' bad "held-back tokens of another tokenizer" 2 2 \
  'seq_bytes.bin and [^ ]*seq_tokens.bin are of different tokenizers.*tokenize --tokenizer' \
  train 'train = "seq_tokens.bin"' 's/^vocabulary_size.*/vocabulary_size = 400/' '10a validation = "seq_bytes.bin"'
job 1 validate bad.toml
refused "validate: held-back tokens of another tokenizer" 2 '[^ ]*bad.toml:11' 'of different tokenizers'

# --- model and batch
bad "heads do not divide the hidden size" 2 2 'heads|hidden_size' heads 'heads = 5'
where=$anywhere bad "micro-batches do not make up the global batch" 2 2 'micro_batch_size|global_batch_size' \
  micro_batch_size 'micro_batch_size = 3'
where=$anywhere bad "micro-batch larger than the global batch" 2 2 'micro_batch_size|global_batch_size' \
  micro_batch_size 'micro_batch_size = 16'

# --- device
CUDA_VISIBLE_DEVICES='' bad "a GPU where there is none" 2 2 'no GPU' output 'device = "gpu"'

for key in offload offload_activations; do
  CUDA_VISIBLE_DEVICES='' job 2 good.toml --set "parallelism.$key=true"
  refused "$key on the host" 2 "--set parallelism.$key" "$key = true, but all ranks .* the host's already"
done
for key in offload offload_activations; do
  sed 's/"offload": *false/"'$key'": true/' good_plan.json >offload_plan.json
  CUDA_VISIBLE_DEVICES='' job 2 good.toml --set parallelism.plan=offload_plan.json
  refused "a plan with $key on the host" 2 '[^ ]*offload_plan.json: stages.0..'$key 'rank 0 computes on the host'
done

# --- grid
# Other planners leave ranks out. The edit is for sed, which expands it.
# shellcheck disable=SC2016
grids_only='$a [planner]\nname = "amp"'
where=$anywhere bad "the grid does not multiply up to the ranks" 2 '2|3' 'rank|device' data 'data = 3' \
  's/^pipeline = .*/pipeline = 1/; s/^tensor = .*/tensor = 1/'
where=$anywhere bad "more stages than layers" 4 '2|3' 'stage|layer' pipeline 'pipeline = 4' 's/^layers = .*/layers = 1/'
where=$anywhere bad "the settings leave no plan for the rank count" 2 '2|3' 'plan|rank|device|grid' \
  pipeline 'pipeline = 1' 's/^heads = .*/heads = 1/; s/^global_batch_size = .*/global_batch_size = 1/' "$grids_only"
where=$anywhere bad "no plan at all fits the rank count" 4 3 'plan|rank|device|grid' heads 'heads = 1' \
  's/^layers = .*/layers = 1/; s/^global_batch_size = .*/global_batch_size = 1/' "$grids_only"
where=$anywhere bad "heads cannot be divided by the tensor-parallel degree" 2 '2|3' 'head|tensor' tensor 'tensor = 2' \
  's/^heads = .*/heads = 1/'

# --- plans that are for another job
job 4 good.toml --set parallelism.plan=good_plan.json
refused "a plan for fewer ranks" 2 '[^ ]*good_plan.json' 'for 2 devices, but the job has 4 .*start 2 ranks'
job 1 good.toml --set parallelism.plan=good_plan.json
refused "a plan for more ranks" 2 '[^ ]*good_plan.json' 'for 2 devices, but the job has 1 .*start 2 ranks'
sed 's/"kind": *"[^"]*"/"kind": "v100"/' good_plan.json >kinds_plan.json
job 2 good.toml --set parallelism.plan=kinds_plan.json
refused "a plan for devices of another kind" 2 '[^ ]*kinds_plan.json: device_kinds' 'device 0 is a "v100"'
job 2 good.toml --set parallelism.plan=good_plan.json --set model.layers=3
refused "a plan for fewer layers" 2 '[^ ]*good_plan.json: stages' \
  'layer 4 is in no stage, but the model of this job has 5 layers .the plan was made for gpt2 with 4 layers.*plan again'
job 2 good.toml --set parallelism.plan=good_plan.json --set model.layers=1
refused "a plan for more layers" 2 '[^ ]*good_plan.json: stages' \
  'layer 3 does not exist, but the model of this job has 3 layers .the plan was made for gpt2 with 4 layers.*plan again'
job 2 good.toml --set parallelism.plan=good_plan.json --set training.global_batch_size=16
refused "a plan for another global batch" 2 '[^ ]*good_plan.json' 'global_batch_size = 8.*16'
cat >shards_plan.json <<'JSON'
{"schema": "pptrain.plan/1", "global_batch_size": 8, "micro_batch_size": 8, "micro_batches": 1,
 "schedule": {"name": "1f1b"},
 "stages": [{"layers": [[0, 4]], "replicas": 1, "tensor_parallel": 2, "devices": [[0, 1]], "samples": [[0, 8]],
             "shards": {"columns": [[0, 640], [640, 1024]]}}]}
JSON
job 2 good.toml --set parallelism.plan=shards_plan.json
refused "shards of a wider model" 2 '[^ ]*shards_plan.json: stages.0..shards.columns' 'end at 1024.* 128 columns'

# --- what is written in the file
bad "text where a number belongs" 2 2 'layers' layers 'layers = "two"'
bad "a fraction where a whole number belongs" 2 2 'layers' layers 'layers = 2.5'
bad "a negative number" 2 2 'layers' layers 'layers = -2'
bad "zero steps of a sequence" 2 2 'sequence_length' sequence_length 'sequence_length = 0'
bad "an unknown key" 2 2 'hiden_size.*hidden_size' hidden_size 'hiden_size = 32'
bad "an unknown section" 2 2 'modle.*model' '\[model\]' '[modle]'
where='([^ ]*/)?bad.toml:6(:[0-9]+)?' bad "a key twice" 2 2 'layers|redefin|duplicate|twice' hidden_size 'layers = 3'
bad "a wrong unit" 2 2 'GiB|unit' output 'timeout = "3 GiB"'
bad "an unknown name" 2 2 'adamm.*adamw' learning_rate 'name = "adamm"'
bad "an unknown schedule" 2 2 '1f1c.*1f1b' data 'schedule = "1f1c"'
bad "not TOML" 2 2 '.' heads 'heads = = 4'

bad "more layers than any model" 2 2 'at most 65536' layers 'layers = 1000000000000'
bad "more steps than anybody takes" 2 2 'at least 1 and at most 2147483647' steps 'steps = 1000000000000'
where='([^ ]*/)?bad.toml:5(:[0-9]+)?' bad "a number of more than 64 bits" 2 2 '64 bits.*write a smaller number' layers \
  'layers = 100000000000000000000'
bad "a key of another section" 2 2 'model.steps is not known; it is a key of .training' heads 'steps = 3'
for encoding in UTF-16 UTF-16LE; do
  good_config | iconv -t "$encoding" >encoded.toml
  job 1 encoded.toml
  refused "a configuration in $encoding" 2 encoded.toml 'UTF-16.*iconv'
done
printf '[model]\nname = "caf\xe9"\n' >encoded.toml
job 1 encoded.toml
refused "a configuration in Latin-1" 2 'encoded.toml:2:[0-9]+' 'utf-8.*save the file as UTF-8'
job 1 good_plan.json
refused "a plan given as a job" 2 good_plan.json 'JSON.*give a TOML file'
good_config | sed 's/^train = .*/train = "wide.txt"/' >wide.toml
for _ in {1..200}; do echo "the quick brown fox jumps over the lazy dog"; done | iconv -t UTF-16 >wide.txt
job 1 wide.toml
refused "text to train on in UTF-16" 2 'wide.toml:[0-9]+' 'wide.txt is text in UTF-16.*iconv'

job 1 tokenize wide.txt -o wide.bin
refused "text to tokenize in UTF-16" 2 tokenize 'wide.txt is text in UTF-16.*iconv'
echo '{"model": {"type": "WordLevel", "vocab": {}}}' >tokenizer.json
job 1 tokenize text.txt -o text.bin --tokenizer tokenizer.json
refused "a tokenizer of another kind" 2 'tokenizer.json: model.type' 'the model "WordLevel" is not known'
# What lies within itself so often that a function for each level would overflow the stack.
deep=$(printf '[%.0s' {1..100000})
printf '{"model": %s' "$deep" >tokenizer.json
job 1 tokenize text.txt -o text.bin --tokenizer tokenizer.json
refused "a tokenizer of 100,000 levels" 2 'tokenizer.json:1' 'more than 32 levels'
printf '{"schema": %s' "$deep" >deep.json
job 1 validate deep.json
refused "a plan of 100,000 levels" 2 'deep.json:1' 'more than 32 levels'
printf '[job]\n%sa = 1\n' "$(printf 'a.%.0s' {1..50000})" >deep.toml
job 2 deep.toml
refused "a key of 50,000 parts" 2 'deep.toml:2' 'more than 32 parts.*sections'
printf '{"text": "a"}\n{"text": "b", "score": NaN}\n' >lines.jsonl
job 1 tokenize lines.jsonl -o text.bin --tokenizer "$inputs/../tests/data/tokenizers/gpt2"
refused "a line that is no JSON" 2 'lines.jsonl:2' 'invalid literal.*--skip-bad-lines'
job 1 cluster encoded.toml
refused "a cluster that is no TOML" 2 'encoded.toml:2:[0-9]+' 'UTF-8'

# What is quoted from the user's input is cut to a screen, and does nothing to the terminal.
long=$(printf 'k%.0s' {1..100000})
screenful=2000
short() {
  cases=$((cases + 1))
  if (($(wc -c <errors.txt) > screenful)); then complain "$1" "$(wc -c <errors.txt) bytes"; else echo "ok $1"; fi
}
printf '[model]\n%s = 3\n' "$long$long$long" >long.toml
job 1 long.toml
refused "a key of 300 kB" 2 'long.toml:2' 'bytes left out.*is not known'
short "a key of 300 kB is cut"
printf '[job]\nname = "%s/"\n' "$long" >long.toml
job 1 long.toml
refused "a name of 100 kB" 2 'long.toml:2' 'cannot name a folder'
short "a name of 100 kB is cut"
job 1 "--$long"
refused "an option of 100 kB" 2 'command line' 'is no option of pptrain'
short "an option of 100 kB is cut"
job 1 good.toml --set "model.name=$(printf '\033[31mred')"
refused "control characters" 2 '--set model.name' 'x1b.31mred'
if grep -q "$(printf '\033')" errors.txt; then complain "control characters" "they reach the terminal"; fi

# --- files that a job names, seen without starting it
good_config | sed 's/^vocabulary_size.*/vocabulary_size = 300/; $a [metrics]\nsample_prompts = ["one"]' >prompts.toml
job 2 prompts.toml
refused "prompts without a tokenizer" 2 '[^ ]*prompts.toml:[0-9]+' 'no tokenizer for the 300 tokens'
job 1 validate prompts.toml
refused "validate: prompts without a tokenizer" 2 '[^ ]*prompts.toml:[0-9]+' 'no tokenizer for the 300 tokens'
cat >unlike_experts.toml <<'TOML'
[training]
micro_batch_size = 2
router_aux_loss = 0.01
router_aux_loss_over = "model"
[model]
name = "unlike"
vocabulary_size = 257
[[model.layer]]
kind = "embedding"
columns = 32
[[model.layer]]
heads = 2
experts = 4
[[model.layer]]
heads = 2
experts = 8
[[model.layer]]
kind = "output"
TOML
job 1 validate unlike_experts.toml
refused "a balance over layers of unlike experts" 2 '[^ ]*unlike_experts.toml:4' 'rows go to 2 of 4 experts in one .* 2 of 8 in another'
good_config >named.toml
sed 's/^train = .*/train = "missing.bin"/' named.toml >missing_data.toml
job 1 validate missing_data.toml
refused "validate: a missing data file" 2 'missing_data.toml:[0-9]+' 'missing.bin'
sed 's/^train = .*/train = "too_large.bin"/' named.toml >foreign_data.toml
job 1 validate foreign_data.toml
refused "validate: a token outside the vocabulary" 2 'foreign_data.toml:[0-9]+' '300'
{ cat named.toml; printf '[cluster]\nfile = "missing_cluster.toml"\n'; } >missing_cluster_job.toml
job 1 validate missing_cluster_job.toml
refused "validate: a missing cluster" 2 '[^ ]*missing_cluster.toml' 'does not exist'
sed 's/^data = .*/plan = "missing_plan.json"/' named.toml >missing_plan_job.toml
job 1 validate missing_plan_job.toml
refused "validate: a missing plan" 2 '[^ ]*missing_plan.json' '.'

# --- one kind of file in place of another
job 1 plan good.toml --analytic --cluster good.toml
refused "a job given as a cluster" 2 '[^ ]*good.toml' 'a job and no cluster.*CLUSTER.toml'

# --- places
where='[^ ]*(bad.toml:[0-9]+|occupied[^ ]*)'
bad "an output directory that cannot be made" 2 2 'occupied' output 'output = "occupied/outputs"'
bad "an output directory that is a file" 2 2 'occupied' output 'output = "occupied"'
unset where
job 2 missing.toml
refused "a missing configuration" 2 '[^ ]*missing.toml' 'missing.toml'
job 2 good.toml --set model.heads=5
refused "a bad --set" 2 '(--set model.heads|[^ ]*good.toml:[0-9]+)' 'heads|hidden_size'
job 2 good.toml --set model.headz=4
refused "an unknown key in --set" 2 '--set model.headz' 'headz.*heads'
job 2 good.toml --set pipeline=2
refused "a --set without section" 2 '--set pipeline' 'write --set parallelism.pipeline=2'
job 2 good.toml --set data=2
refused "a --set of a section's name" 2 '--set data' 'write --set parallelism.data=2'
job 2 good.toml --set stepz=2
refused "a misspelt --set without section" 2 '--set stepz' 'write --set training.steps=2'
job 2 good.toml --set zzzzzzzz=2
refused "a --set of nothing that there is" 2 '--set zzzzzzzz' 'SECTION.KEY=VALUE'

# --- profiles without a machine
job 2 profile good.toml --analytic
refused "an analytic profile without a cluster" 2 '[^ ]*good.toml' 'cluster'
job 2 plan --analytic --cluster "$inputs/clusters/aws-heterogeneous.toml" --global-batch-size 8 \
  --set 'model.name="gpt-1.5b"' --set 'training.precision="bf16"'
refused "a precision without a rate" 2 '[^ ]*aws-heterogeneous.toml' 'v100.*bf16'
job 2 plan good.toml --analytic --cluster "$inputs/clusters/aws-homogeneous.toml" --set 'model.name="t5-larg"'
refused "a model that is not in the zoo" 2 '--set model.name' 't5-large'

# --- results that cannot be written
mkdir taken
job 1 profile good.toml -o taken
refused "a measured profile into a folder" 2 taken 'cannot be written'
if printed 'Profiling'; then complain "a measured profile into a folder" "it is measured first"; fi
rmdir taken
job 1 plan "$inputs/papers/dapple-bert-48.toml" -o nowhere/plan.json
refused "a plan into a folder that is not there" 2 nowhere/plan.json 'cannot be written'
# shellcheck disable=SC2016  # for the inner shell
expect "a plan to a full disk" 4 'standard output: cannot be written' \
  bash -c '"$0" plan "$1" >/dev/full' "$pptrain" "$inputs/papers/dapple-bert-48.toml"

# --- the command line itself
job 2 plan good.toml --plannr amp
refused "a misspelt option" 2 'command line' '--plannr is no option of pptrain plan; did you mean .--planner.'
job 2 --verison
refused "a misspelt option without a subcommand" 2 'command line' 'did you mean .--version.'
job 2 pla good.toml
refused "a misspelt subcommand" 2 'command line' 'did you mean .pptrain plan.'
job 2 train good.toml --steps 0
refused "no steps" 2 'command line' '0 is no whole number of at least 1; see pptrain train --help'
late_job 2 train good.toml --steps 0
refused "no steps, where rank 0 is late" 2 'command line' '0 is no whole number of at least 1'
mkdir folder
late_job 2 validate folder
refused "a folder instead of a file, where rank 0 is late" 2 'folder' 'directory'
job 2 validate folder
refused "a folder instead of a file" 2 'folder' 'directory'
for command in "" train plan cluster profile validate; do
  # shellcheck disable=SC2086  # an empty one is no argument
  job 1 $command folder
  refused "a folder instead of a configuration ($command)" 2 'folder' 'directory'
done
rmdir folder

finish
