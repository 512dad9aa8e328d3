#!/usr/bin/env bash
# Folders of models with something wrong: one message with the file, the reason and what to do, exit code 2 on one rank
# and on two, and nothing below the output directory. Planning needs no weights.
# Usage: models.sh PPTRAIN MPIEXEC MODELS
set -euo pipefail
models=$(realpath -- "$3")
here=$(dirname -- "$(realpath -- "$0")")
# shellcheck source=tests/cli/common.sh
. "$here/common.sh"
# mpirun waits as long for ranks of a failed training before it kills them, and they end together.
export OMPI_MCA_odls_base_sigkill_timeout=0

# start FAMILY: a fresh folder "model" of this family, and a job that trains it, on `data` where that is set.
start() {
  rm -rf model part.safetensors outputs
  cp -r "$models/$1" model
  chmod -R u+w model
  cat >job.toml <<TOML
[job]
name = "models"
output = "outputs"
[model]
from = "model"
[data]
train = "${data:-text.txt}"
[training]
steps = 1
sequence_length = 32
global_batch_size = 4
TOML
}

damage() { python3 "$here/damage_model.py" model "$@"; }

# judge TITLE WHERE PROBLEM: what the last run said and left; WHERE and PROBLEM are extended regular expressions.
judge() {
  local message
  cases=$((cases + 1))
  message=$(grep -a 'pptrain: error:' errors.txt || true)
  if [[ $code -ne 2 ]]; then complain "$1" "exit code $code, not 2"; return; fi
  if [[ $(wc -l <<<"$message") -ne 1 ]]; then complain "$1" "more than one message"; return; fi
  if ! grep -Eq "pptrain: error: ($2): " <<<"$message"; then complain "$1" "no place like '$2'"; return; fi
  if ! grep -Eq -- "$3" <<<"$message"; then complain "$1" "no problem like '$3'"; return; fi
  if ! grep -Eq '; [^;]{8,}$' <<<"$message"; then complain "$1" "no suggestion"; return; fi
  if [[ -e outputs ]]; then complain "$1" "it wrote something"; return; fi
  printf 'ok %s\n' "$1"
}

# refused TITLE WHERE PROBLEM: training says so.
refused() {
  local ranks
  for ranks in 1 2; do
    run "$longest_seconds" "$mpiexec" -np "$ranks" "$pptrain" job.toml
    judge "$1, $ranks ranks" "$2" "$3"
  done
}

# wrong FAMILY TITLE WHERE PROBLEM DAMAGE [ARGUMENT...]: training and `pptrain validate` refuse the damaged folder.
wrong() {
  start "$1"
  damage "${@:5}"
  refused "$2" "$3" "$4"
  run "$longest_seconds" "$pptrain" validate model
  judge "$2, validate" "$3" "$4"
}

training_text text.txt

# The folders themselves are good: whatever is refused below is refused for its own fault.
for family in llama gpt2-hf; do
  start "$family"
  expect "$family is valid" 0 'model: valid, a (llama|gpt2) of [56] layers and [0-9]+ parameters, with weights and no tokenizer' \
    "$pptrain" validate model
  expect "$family trains" 0 '' "$mpiexec" -np 2 "$pptrain" job.toml
done

config='model/config\.json(:[0-9]+)?'
weights='model/model\.safetensors'
wrong llama "an unknown key" "$config" 'rope_twist' set-key rope_twist 2
wrong llama "an unknown family" "$config" 'lama2.*llama' set-key model_type '"lama2"'
wrong llama "an activation that is not known" "$config" 'hidden_act' set-key hidden_act '"tanh"'
wrong llama "key heads that do not divide heads" "$config" '3 key-value heads' set-key num_key_value_heads 3
wrong llama "a value of another type" "$config" 'hidden_size' set-key hidden_size '"64"'

norm=model.layers.1.input_layernorm.weight
query=model.layers.0.self_attn.k_proj.weight
wrong llama "a tensor that is missing" "(model|$weights)" "$norm" rename-tensor "$norm" "$norm.bak"
wrong llama "a tensor too many" "$weights" 'no use for the tensor model\.layers\.4' add-tensor model.layers.4.extra
wrong llama "a tensor of another shape" "$weights" "$query has the shape" reshape-tensor "$query"
wrong llama "a tensor of another type" "$weights" "$norm" retype-tensor "$norm"
wrong llama "tensors that overlap" "$weights" 'model\.|overlap' overlap-tensor "$norm"
wrong llama "a tensor beyond the end" "$weights" "$norm" tensor-beyond-end "$norm"
wrong llama "a file that is cut off" "$weights" 'bytes|ends' truncate
wrong llama "a header that lies" "$weights" 'header' lie-about-header
wrong llama "an index that names a file outside" 'model/model\.safetensors\.index\.json.*' '\.\./part' point-outside "$norm"

wrong phi3 "a tensor of several matrices of another shape" "$weights" 'layers\.0\.self_attn\.qkv_proj\.weight has the shape \(48, 96\)' \
  reshape-tensor model.layers.0.self_attn.qkv_proj.weight
wrong llama "weights of images" "$weights" 'visual\.patch belongs to a model with other parts than its llama' add-tensor visual.patch
wrong gemma3-text "weights of a model with other parts than text" "$weights" \
  'language_model\.model\.[a-z_.0-9]* belongs to a model with other parts than its gemma3_text' nest gemma3
rm model/model.safetensors
expect "the text model of one with other parts is valid" 0 'valid, a gemma3_text of 5 layers' "$pptrain" validate model
sed -i 's/from = "model"/&\ninitial = "random"/' job.toml
expect "the text model of one with other parts trains from random weights" 0 '' "$pptrain" job.toml

start llama
rm model/model.safetensors
refused "no weights" 'model' 'safetensors'
tokenizers=$models/../tokenizers
expect "a tokenizer alone is valid" 0 'valid, a tokenizer of [0-9]+ tokens' "$pptrain" validate "$tokenizers/gpt2/tokenizer.json"
echo '{"model": {"type": "WordLevel"}}' >tokenizer.json
expect "a tokenizer that is not known" 2 'tokenizer.json: .*' "$pptrain" validate tokenizer.json
expect "a folder without weights is valid" 0 'with no weights' "$pptrain" validate model

start llama
rm model/config.json
refused "no config.json" 'job\.toml:5' 'model/config\.json cannot be read'

start llama
printf '{"model_type": "llama",' >model/config.json
refused "half a config.json" "$config" 'JSON|parse|syntax|end'

start llama
damage not-a-number "$norm"
refused "a weight that is no number" "$weights: tensor \"$norm\"" 'element 1 is nan'
expect "a folder with a weight that is no number is not valid" 2 "$weights: tensor \"$norm\": element 1 is nan" \
  "$pptrain" validate model
start gpt2-hf
damage not-a-number transformer.h.1.mlp.c_fc.weight
refused "a weight that is no number, transposed" "$weights: tensor .*" 'element 1 is nan'

# --- links, and what is no file
echo secret >secret
start llama
ln -s "$PWD/secret" model/chat_template.jinja
refused "a companion that leads elsewhere" 'model/chat_template\.jinja' 'leads out of its folder'
for name in tokenizer.json chat_template.jinja; do
  start llama
  mkfifo "model/$name"
  refused "a pipe as $name" "model/$name" 'it is a pipe, not a regular file'
done
start llama
ln -s /dev/zero model/vocab.json
refused "a device as vocab.json" 'model/vocab\.json' 'it is a device, not a regular file'
start llama
rm model/config.json
mkfifo model/config.json
refused "a pipe as config.json" 'job\.toml:5' 'model/config\.json cannot be read .it is a pipe'
start llama
rm model/model.safetensors
ln -s /dev/zero model/model.safetensors
refused "a device as weights" 'model' 'model\.safetensors is not a regular file'
rm -rf model
mkfifo pipe.toml pipe.json tokenizer.json 2>/dev/null || { rm -f tokenizer.json; mkfifo tokenizer.json; }
for name in pipe.toml pipe.json tokenizer.json; do
  expect "validate: a pipe as $name" 2 "$name: .*it is a pipe, not a regular file" "$pptrain" validate "$name"
done
expect "a pipe as a job" 2 'pipe\.toml: .*it is a pipe' "$pptrain" plan pipe.toml
rm tokenizer.json pipe.toml pipe.json

# The cache of Hugging Face's libraries: a revision's files are links to files beside all revisions.
start llama
echo '{{ messages }}' >model/chat_template.jinja
mkdir -p cache/models--a--b/blobs cache/models--a--b/snapshots/1f
for file in model/*; do
  mv "$file" "cache/models--a--b/blobs/${file##*/}.blob"
  ln -s "../../blobs/${file##*/}.blob" "cache/models--a--b/snapshots/1f/${file##*/}"
done
rm -r model
sed -i 's|^from.*|from = "cache/models--a--b/snapshots/1f"|' job.toml
printf '[checkpoint]\ninterval = 1\n' >>job.toml
expect "a folder of the cache trains" 0 '' "$mpiexec" -np 2 "$pptrain" job.toml
expect "... and is exported" 0 '' "$pptrain" export outputs/models/latest -o exported
check "... with its companion" grep -q messages exported/chat_template.jinja
run_folder=$(dirname -- "$(find outputs -name plan.json)")
ln -sf "$PWD/secret" "$run_folder/model/chat_template.jinja"
expect "no link is exported" 2 'chat_template\.jinja: is a link that leads out' "$pptrain" export "$run_folder" -o secrets
check "nothing of that is written" test ! -e secrets

# --- what a job asks of the folder
start gpt2-hf
sed -i 's/^sequence_length.*/sequence_length = 4096/' job.toml
refused "samples longer than the table of places" "$config" 'sequence_length = 4096 with n_positions'

start llama
damage set-key vocab_size 256
refused "weights of another vocabulary" "$weights" 'embed_tokens|lm_head'
damage set-key vocab_size 100
printf 'initial = "random"\n' >random
sed -i '/^from/r random' job.toml
refused "text for a vocabulary that is not of bytes" '[^ ]*job\.toml:[0-9]+' 'text\.txt holds no tokens of a vocabulary of 100'
expect "bytes become tokens where that is asked for" 0 'vocabulary_size = 256' "$pptrain" tokenize text.txt -o bytes.bin
sed -i 's/text\.txt/bytes.bin/' job.toml
refused "a token outside the vocabulary" '[^ ]*job\.toml:[0-9]+' 'token 1[0-9][0-9] at position'

for limit in 'pipeline = 7' 'tensor = 5'; do
  start llama
  printf '[parallelism]\n%s\n' "$limit" >>job.toml
  refused "$limit" 'job\.toml:13' "$limit is more"
done

# --- experts
for family in mixtral qwen2-moe; do
  start "$family"
  sed -i 's|^train.*|train = "model/tokens.bin"|' job.toml
  expect "$family is valid" 0 "model: valid, a ${family//-/_} of 6 layers and [0-9]+ parameters, with weights" "$pptrain" validate model
  expect "$family trains" 0 '' "$mpiexec" -np 2 "$pptrain" job.toml
done
wrong mixtral "more experts than there are" "$config" 'num_experts_per_tok = 5 with num_local_experts = 4' set-key num_experts_per_tok 5
wrong mixtral "noise of a router" "$config" 'router_jitter_noise' set-key router_jitter_noise 0.1
data=bytes.bin wrong mixtral "an expert too few" "$weights" 'gate\.weight has the shape \(4, 48\)' set-key num_local_experts 3

# --- samples with labels
# with_samples FAMILY FILE [LENGTH]: a job of this family that takes its samples from there.
with_samples() {
  start "$1"
  sed -i "s|^train.*|train = \"$2\"|; s|^sequence_length.*|sequence_length = ${3:-32}|" job.toml
}
for family in bert vit; do
  with_samples "$family" model/data.h5
  expect "$family is valid" 0 "model: valid, a $family of [45] layers and [0-9]+ parameters, with weights" "$pptrain" validate model
  expect "$family trains" 0 '' "$mpiexec" -np 2 "$pptrain" job.toml
  with_samples "$family" text.txt
  refused "text for a $family" 'job\.toml:7' 'text\.txt: the file cannot be read as HDF5'
  wrong "$family" "a $family with heads that do not divide its columns" "$config" 'heads of' set-key num_attention_heads 5
done
masks() { with_samples "$1" "$2"; sed -i '/^train/a mask_token = 4' job.toml; }
masks bert bytes.bin
sed -i '/^mask_token/a unmasked_tokens = [32, 46]\nvalidation = "bytes.bin"' job.toml
expect "a bert finds hidden tokens of a text" 0 'held-back data' "$mpiexec" -np 2 "$pptrain" job.toml \
  --set metrics.evaluation_interval=1
# untrained VOCABULARY: the folder without weights, for a tokenizer with so many tokens.
untrained() {
  rm model/model.safetensors
  damage set-key vocab_size "$1"
  sed -i '/^from/a initial = "random"' job.toml
}
expect "text becomes samples of a bert" 0 'samples.h5: [0-9]+ samples of [0-9]+ tokens, vocabulary_size = 400' \
  "$pptrain" tokenize text.txt -o samples.h5 --tokenizer "$tokenizers/bert" --sequence-length 32
masks bert samples.h5
untrained 400
expect "a bert finds hidden tokens of samples" 0 '' "$mpiexec" -np 2 "$pptrain" job.toml
sed -i '/^mask_token/a validation = "bytes.bin"' job.toml
rm -rf outputs
refused "held-back tokens of another tokenizer than the samples" 'job\.toml:10' \
  'bytes\.bin and [^ ]*samples\.h5 are of different tokenizers'
masks bert model/data.h5
refused "a file of masked text to hide tokens of" 'job\.toml:7' 'data\.h5: it has /labels'
with_samples bert model/data.h5
sed -i 's|^train.*|mask_token = 4\n[[data.mix]]\npath = "model/data.h5"\nweight = 1.0|' job.toml
refused "a mixed file of samples" 'job\.toml:[0-9]+' 'data\.h5 is no token file'
masks bert synthetic
refused "synthetic text to hide tokens of" 'job\.toml:7' 'synthetic text is masked already'
masks bert text.txt
refused "text for a bert whose vocabulary is not of bytes" 'job\.toml:7' 'text\.txt holds no tokens of a vocabulary of 200'
masks bert bytes.bin
sed -i 's/^mask_token.*/mask_token = 99999/' job.toml
refused "a mask outside the vocabulary" 'job\.toml:8' '99999 of mask_token is no token'
masks llama text.txt
refused "a mask for a llama" 'job\.toml:8' 'mask_token for llama'

with_samples bert "$models/vit/data.h5"
refused "images for a bert" 'job\.toml:7' "object 'input_ids' doesn't exist"
with_samples bert model/data.h5 16
refused "samples of another length" 'job\.toml:7' 'its shape is \(64, 32\) and not \(n, 16\)'
with_samples bert model/data.h5 41
refused "samples longer than the places" "$config" 'sequence_length = 41 with max_position_embeddings = 40'
with_samples bert model/data.h5
printf 'attend_across_documents = false\n' >key
sed -i '/^train/r key' job.toml
refused "documents of a bert" 'job\.toml:8' 'attend_across_documents = false without documents'
with_samples vit model/data.h5
sed -i '/^train/a crop_padding = 2\nflip = true' job.toml
expect "a vit is trained on images that are moved and mirrored" 0 '' "$mpiexec" -np 2 "$pptrain" job.toml
with_samples vit model/data.h5
sed -i '/^train/a crop_padding = 32' job.toml
refused "images that are moved out of sight" 'job\.toml:8' 'crop_padding = 32 .*nothing would be left'
with_samples vit model/data.h5
sed -i 's/^train.*/train = "synthetic"\nflip = true/' job.toml
refused "made images that are mirrored" 'job\.toml:8' 'data\.flip with train = "synthetic"'
with_samples bert model/data.h5
sed -i '/^from/a image_size = 32' job.toml
refused "text of so many pixels" 'job\.toml:6' 'image_size = 32 for bert'
with_samples bert model/data.h5
sed -i '/^train/a flip = true' job.toml
refused "text that is mirrored" 'job\.toml:8' 'data\.flip for bert'
with_samples vit "$models/bert/data.h5"
refused "text for a vit" 'job\.toml:7' "object 'images' doesn't exist"
wrong vit "patches that do not fill an image" "$config" 'patches of 7 pixels in images of 32' set-key patch_size 7

# --- pairs of texts
# with_pairs FILE [TARGETS [SOURCE_LENGTH]]: a t5 that takes its samples from there.
with_pairs() {
  with_samples t5 "$1" "${2:-18}"
  printf 'source_length = %s\n' "${3:-26}" >key
  sed -i '/^sequence_length/r key' job.toml
}
for family in t5 t5-tied; do
  start "$family"
  expect "$family is valid" 0 'model: valid, a t5 of [69] layers and [0-9]+ parameters, with weights' "$pptrain" validate model
done
with_pairs model/data.h5
expect "t5 trains" 0 '' "$mpiexec" -np 2 "$pptrain" job.toml
for i in {1..20}; do echo "{\"en\": \"a cat $i\", \"de\": \"that hat $i sat\"}"; done >pairs.jsonl
expect "lines become pairs of a t5" 0 'pairs.h5: 20 samples of [0-9]+ tokens, vocabulary_size = 400' \
  "$pptrain" tokenize pairs.jsonl -o pairs.h5 --tokenizer "$tokenizers/t5" --pairs en,de --sequence-length 18 --source-length 26 \
  --pad-token '<pad>'
with_pairs pairs.h5
untrained 400
expect "a t5 trains on them" 0 '' "$mpiexec" -np 2 "$pptrain" job.toml
with_pairs text.txt
refused "text for a t5" 'job\.toml:7' 'text\.txt: the file cannot be read as HDF5 with /source and /target'
with_pairs "$models/bert/data.h5"
refused "masked text for a t5" 'job\.toml:7' "object 'source' doesn't exist"
with_samples t5 model/data.h5 18
refused "sources of another length" 'job\.toml:7' 'its shape is \(64, 26\) and not \(n, 18\).*source_length'
with_pairs model/data.h5 17
refused "targets of another length" 'job\.toml:7' 'its shape is \(64, 18\) and not \(64, 17\)'
with_pairs model/data.h5 18 '"long"'
refused "a length that is no number" 'job\.toml:11' 'source_length'
with_samples bert model/data.h5
printf 'source_length = 32\n' >>job.toml
refused "sources of a bert" 'job\.toml:12' 'source_length = 32 without a source'
with_pairs model/data.h5
damage set-key vocab_size 100
refused "tokens that are none" 'job\.toml:7' 'sample [0-9]+ has [0-9]+ at position [0-9]+ of /source .the model has tokens 0 to 99'
with_pairs model/data.h5
damage set-key scale_decoder_outputs true
refused "an output of its own where the table of tokens is tied" "$weights" 'lm_head.weight is another tensor than shared.weight'
wrong t5 "a decoder alone" "$config" 'is_encoder_decoder' set-key is_encoder_decoder false
wrong t5 "an odd number of buckets" "$config" '7 buckets' set-key relative_attention_num_buckets 7
with_pairs model/data.h5
expect "a t5 continues no text" 2 'a t5 continues no text' "$pptrain" generate model --prompt one

# convolutional [SIDE [MICRO_BATCH]]: what a job of convolutional networks says beside.
convolutional() {
  sed -i "s|^global_batch_size.*|&\nmicro_batch_size = ${2:-4}|; s|^from.*|&\nimage_size = ${1:-32}|" job.toml
}
for family in resnet vgg; do
  with_samples "$family" model/data.h5
  convolutional
  expect "$family is valid" 0 "model: valid, a $family of [56] layers and [0-9]+ parameters, with weights" "$pptrain" validate model
  expect "$family trains" 0 '' "$mpiexec" -np 2 "$pptrain" job.toml
  with_samples "$family" text.txt
  convolutional
  refused "text for a $family" 'job\.toml:8' 'text\.txt: the file cannot be read as HDF5'
done
with_samples resnet model/data.h5
refused "batch norms over micro-batches of any size" 'job\.toml(:[0-9]+)?' 'micro_batch_size = "auto" for a resnet'
with_samples resnet model/data.h5
convolutional 8 1
refused "batch norms of one value" 'job\.toml:13' 'one value in each channel'
with_samples resnet model/data.h5
convolutional 64
refused "images of another size" 'job\.toml:8' 'its shape is'
with_samples vgg model/data.h5
convolutional 64
refused "two sizes of images" "$config" 'images of 32 x 32 pixels'
wrong vgg "a list of something else" "$config" '"cfg"|cfg' set-key cfg '"M"'
wrong resnet "blocks that nobody knows" "$config" 'layer_type = "preact"' set-key layer_type '"preact"'

# --- planning from config.json alone
start llama
rm model/model.safetensors
this_machine 4 >cluster.toml
expect "planning needs no weights" 0 'step|stage' "$pptrain" plan job.toml --cluster cluster.toml --analytic
printf '[parallelism]\ntensor = 5\n' >>job.toml
run "$longest_seconds" "$pptrain" plan job.toml --cluster cluster.toml --analytic
judge "planning with too many shards" 'job\.toml:13' 'tensor = 5 is more shards'

finish
