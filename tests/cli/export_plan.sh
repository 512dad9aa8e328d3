#!/usr/bin/env bash
# Plans as files of other trainers, read back by what these say of their files, and what they cannot run.
# Usage: export_plan.sh PPTRAIN PYTHON [PYTHON_WITH_TORCH]
set -euo pipefail
reader=$(realpath -- "$(dirname -- "$0")")/read_export.py
torch_reader=$(dirname -- "$reader")/torch_schedule.py
python=$2
with_torch=${3:-}
# shellcheck source=tests/cli/common.sh
. "$(dirname -- "$0")/common.sh"

# Slurm and Python as an export meets them: each task of job.sbatch leaves what rank.sh gave it in run/RANK.
mkdir -p bin Megatron-LM orders
cat >bin/scontrol <<'SH'
#!/usr/bin/env bash
printf 'HOST-%d\n' 0 1 2 3
SH
cat >bin/srun <<'SH'
#!/usr/bin/env bash
set -euo pipefail
while [[ $1 == --* ]]; do shift; done
mkdir -p run
rank=0
while read -r host; do HOST=$host SLURM_PROCID=$rank RUN=$PWD/run "$@" </dev/null; rank=$((rank + 1)); done <"$SLURM_HOSTFILE"
SH
cat >bin/recorder <<'SH'
#!/usr/bin/env bash
printf '%s\n' "HOST=$HOST" "LOCAL_RANK=$LOCAL_RANK" "WORLD_SIZE=$WORLD_SIZE" "MASTER_ADDR=$MASTER_ADDR" -- "$@" >"$RUN/$RANK"
SH
chmod +x bin/*
cp -r "$inputs/models" .

# cluster NAME KIND:NODES:DEVICES...: a cluster file of fast GPUs, whose hosts have names where NAME is "named".
cluster() {
  local name=$1 group kind nodes devices first=0 i
  echo "name = \"$name\""
  for group in "${@:2}"; do
    IFS=: read -r kind nodes devices <<<"$group"
    printf '[[device]]\nkind = "%s"\nmemory = "8 GiB"\nmemory_bandwidth = "1 TB/s"\n' "$kind"
    printf 'flops = { fp32 = "%s TFLOP/s", bf16 = "%s TFLOP/s" }\n' $((${#kind} * 10)) $((${#kind} * 100))
  done
  for group in "${@:2}"; do
    IFS=: read -r kind nodes devices <<<"$group"
    printf '[[node]]\nkind = "%s-node"\ncount = %d\ndevices = { kind = "%s", count = %d }\n' "$kind" "$nodes" "$kind" "$devices"
    printf 'link = { bandwidth = "100 GB/s", latency = "5 us" }\nuplink = { bandwidth = "10 GB/s", latency = "10 us" }\n'
    if [[ $name == named ]]; then
      printf 'hosts = ['
      for ((i = 0; i < nodes; ++i)); do printf '"gpu%d", ' $((first + i)); done
      printf ']\n'
    fi
    first=$((first + nodes))
  done
}
cluster alike gg:2:4 >alike.toml
cluster named gg:2:4 >named.toml
cluster named gg:1:4 g:1:4 >mixed.toml

# job MODEL PRECISION [KEY=VALUE...] of [model]: a planning job.
job() {
  printf '[job]\nname = "exported job"\n[model]\n'
  printf '%s\n' "${@:3}"
  printf '[training]\nsequence_length = 64\nglobal_batch_size = 16\nsteps = 100\nprecision = "%s"\n' "$2"
  printf '[cluster]\nfile = "alike.toml"\n[profile]\nanalytic = true\n'
}
job gpt2 bf16 'name = "gpt2"' 'layers = 10' 'hidden_size = 64' 'heads = 4' 'vocabulary_size = 512' >gpt2.toml
job llama bf16 'from = "models/llama-small"' 'initial = "random"' >llama.toml
job mixtral fp32 'from = "models/mixtral-small"' 'initial = "random"' >mixtral.toml

# plan JOB ARGUMENT...: plan.json.
plan() { run "$longest_seconds" "$pptrain" plan "$1" "${@:2}" -o plan.json; [[ $code -eq 0 ]] || complain "plan $*" "exit code $code"; }

# exported TITLE TRAINER JOB LAYERS NODE_DEVICES ARGUMENT...: plan.json exported, its batch script run, and all of it read back.
exported() {
  local title=$1 trainer=$2 job=$3 layers=$4 nodes=$5
  rm -rf out
  expect "$title: export" 0 'README.md says how' "$pptrain" export-plan "$job" --plan plan.json --for "$trainer" -o out "${@:6}"
  [[ -d out ]] || return 0
  check "$title: the page names no other program's path" grep -q "^## How to use it" out/README.md
  if [[ $trainer != flagscale ]]; then
    run "$longest_seconds" env -C out PATH="$folder/bin:$PATH" MEGATRON="$folder/Megatron-LM" TRAIN=train.py PYTHON="$folder/bin/recorder" \
      SLURM_JOB_NODELIST='host-[0-3]' bash job.sbatch
    [[ $code -eq 0 ]] || complain "$title: job.sbatch" "exit code $code"
  fi
  local simulation=()
  if [[ $trainer == torchtitan ]]; then
    "$pptrain" simulate "$job" --plan plan.json --like torchtitan --format json "${@:6}" >simulation.json
    simulation=(--order simulation.json)
  fi
  # shellcheck disable=SC2086  # a number for each node
  expect "$title: read back" 0 'are the same' "$python" "$reader" "$trainer" out plan.json "$layers" $nodes "${simulation[@]}"
}

# scatter FIRST SECOND...: plan.json on other devices: the N-th of them in place of device N.
scatter() {
  "$python" - "$@" <<'PY'
import json, sys
order = [int(device) for device in sys.argv[1:]]
plan = json.load(open("plan.json"))
for stage in plan["stages"]:
    stage["devices"] = [[order[device] for device in row] for row in stage["devices"]]
json.dump(plan, open("plan.json", "w"))
PY
}

# edit CODE: plan.json changed by a line of Python.
edit() {
  "$python" - "$1" <<'PY'
import json, sys
plan = json.load(open("plan.json"))
exec(sys.argv[1])
json.dump(plan, open("plan.json", "w"))
PY
}
amp=(--planner amp --set parallelism.schedule=1f1b)
grid() { printf -- '--set parallelism.pipeline=%d --set parallelism.data=%d --set parallelism.tensor=%d' "$@"; }

# Megatron-LM: grids on all devices, chunks, devices in another order and left out, savings of memory, experts.
plan gpt2.toml --planner uniform --set parallelism.schedule=1f1b
exported "megatron, as found" megatron gpt2.toml 1 "4 4"
for degrees in "1 8 1" "8 1 1" "2 2 2"; do
  # shellcheck disable=SC2046,SC2086
  plan gpt2.toml "${amp[@]}" $(grid $degrees) --set parallelism.zero_stage=1 --set parallelism.recompute=full
  exported "megatron, $degrees" megatron gpt2.toml 1 "4 4"
done
scatter 7 2 0 5 4 1 6 3
exported "megatron, on scattered devices" megatron gpt2.toml 1 "4 4" --cluster named.toml
# shellcheck disable=SC2046
plan gpt2.toml --planner amp --set parallelism.schedule=interleaved-1f1b --set parallelism.virtual_stages=2 $(grid 4 2 1) \
  --set training.micro_batch_size=2
exported "megatron, two chunks per stage" megatron gpt2.toml 1 "4 4"
check "the layout has a part for each of eight chunks" grep -Eq '^--pipeline-model-parallel-layout E,?[^|]*(\|[^|]+){6}\|[^|]*L$' out/arguments.txt
plan llama.toml "${amp[@]}" --set parallelism.pipeline=2
exported "megatron, a Llama" megatron llama.toml 1 "4 4"
check "its shape" grep -q -- '--num-query-groups 4' out/arguments.txt
check "its positions" grep -q -- '--rotary-base 10000' out/arguments.txt
for experts in columns whole; do
  plan mixtral.toml "${amp[@]}" --set parallelism.experts=$experts --set parallelism.tensor=2 --set parallelism.pipeline=2
  exported "megatron, a Mixtral with $experts experts" megatron mixtral.toml 2 "4 4"
done

# torchtitan: its configuration, and the order of every schedule.
plan llama.toml "${amp[@]}" --set parallelism.tensor=1 --set parallelism.pipeline=2 --set parallelism.zero_stage=1
exported "torchtitan, 1f1b" torchtitan llama.toml 1 "4 4"
scatter 7 2 0 5 4 1 6 3
exported "torchtitan, on scattered devices" torchtitan llama.toml 1 "4 4" --cluster named.toml
plan llama.toml "${amp[@]}" --set parallelism.tensor=1 --set parallelism.data=8 --set parallelism.zero_stage=3
exported "torchtitan, one stage" torchtitan llama.toml 1 "4 4"
four=(--planner amp --set training.micro_batch_size=2 --set parallelism.tensor=1 --set parallelism.zero_stage=1 --set parallelism.pipeline=4)
plan llama.toml "${four[@]}" --set parallelism.schedule=zb-h1 && mv plan.json single.json
plan llama.toml "${four[@]}" --set parallelism.schedule=interleaved-1f1b --set parallelism.virtual_stages=2 && mv plan.json double.json
plan llama.toml "${four[@]}" --set parallelism.schedule=zb-v && mv plan.json v.json
for schedule in gpipe:single dapple-b:single zb-h1:single zb-h2:single interleaved-1f1b:double breadth-first:double zeropp:double auto:double \
  zb-v:v; do
  cp "${schedule#*:}.json" plan.json
  schedule=${schedule%:*}
  edit "plan['schedule']['name'] = '$schedule'"
  exported "torchtitan, $schedule" torchtitan llama.toml 1 "4 4"
  if [[ -f out/schedule.csv ]]; then cp out/schedule.csv "orders/$schedule.csv" && cp plan.json "orders/$schedule.json"; fi
done
check "every order but one that torch has a name for has a file" test "$(find orders -name '*.csv' | wc -l)" -eq 8
if [[ -n $with_torch ]]; then
  run "$longest_seconds" "$with_torch" "$torch_reader" orders/*.csv
  if [[ $code -eq 77 ]]; then echo "skipped: torch's own reader"; else check "torch reads the orders, and they end" test "$code" -eq 0; fi
fi

# Context parallelism: replicas that follow one another divide the positions of each sample.
for searched in megatron:1 megatron:2 torchtitan:1 torchtitan:2; do
  IFS=: read -r trainer pipeline <<<"$searched"
  plan llama.toml --like "$trainer" --set parallelism.context=2 --set "parallelism.pipeline=$pipeline" --set parallelism.tensor=1
  exported "$trainer, $pipeline stages of replicas that divide samples" "$trainer" llama.toml 1 "4 4"
  check "its page counts whole samples, as the plan does" grep -qF \
    "$(COLUMNS=200 "$pptrain" simulate llama.toml --plan plan.json --like "$trainer" 2>/dev/null | grep -oE '[0-9]+ micro-batch[es]* of [0-9]+ sample')" out/README.md
done
cp plan.json context.json

# FlagScale: stages of unlike shape on unlike nodes.
plan gpt2.toml "${amp[@]}" --set parallelism.pipeline=2 --set parallelism.tensor=1 --cluster mixed.toml
exported "flagscale, a grid" flagscale gpt2.toml 1 "4 4" --cluster mixed.toml
edit 'plan["stages"][1].update(replicas=2, tensor_parallel=2, devices=[[4, 5], [6, 7]], samples=[[0, plan["micro_batch_size"] // 2], [plan["micro_batch_size"] // 2, plan["micro_batch_size"]]])'
exported "flagscale, unlike stages" flagscale gpt2.toml 1 "4 4" --cluster mixed.toml
check "its meshes" grep -q 'hetero_process_meshes: \[1, 1, 1, 4, 1, 2, 1, 1, 2, 1\]' out/config.yaml
scatter 3 1 0 2 7 6 5 4
exported "flagscale, devices in another order" flagscale gpt2.toml 1 "4 4" --cluster mixed.toml

# DeepSpeed.
plan gpt2.toml "${amp[@]}" --set parallelism.pipeline=4 --set parallelism.tensor=1 --set parallelism.zero_stage=1
exported "deepspeed, a pipeline" deepspeed gpt2.toml 1 "4 4"
plan gpt2.toml "${amp[@]}" --set parallelism.data=8 --set parallelism.zero_stage=3
exported "deepspeed, ZeRO 3" deepspeed gpt2.toml 1 "4 4"

# What is searched for a trainer is what it runs: on like and unlike nodes, with little memory, of layers that are cut between blocks.
sed 's/memory = "8 GiB"/memory = "200 MiB"/' mixed.toml >short.toml
sed 's/layers = 10/layers = 10\ntied = true/' gpt2.toml >tied.toml
for searched in megatron:gpt2:1 megatron:llama:1 megatron:mixtral:2 torchtitan:llama:1 flagscale:gpt2:1 flagscale:tied:1 \
  flagscale:mixtral:2 deepspeed:gpt2:1 deepspeed:mixtral:2; do
  IFS=: read -r trainer network layers <<<"$searched"
  for nodes in named mixed short; do
    plan "$network.toml" --like "$trainer" --cluster "$nodes.toml"
    exported "$trainer, $network as searched on $nodes" "$trainer" "$network.toml" "$layers" "4 4" --cluster "$nodes.toml"
  done
done
expect "a model that a trainer cannot be told of" 2 'parallelism.like: torchtitan cannot be told of the model gpt2' \
  "$pptrain" plan gpt2.toml --like torchtitan
# not_run KEY=VALUE TRAINER PATTERN: of [parallelism].
not_run() { expect "like $2 with $1" 2 "parallelism.${1%%=*}.*$3" "$pptrain" plan gpt2.toml --like "$2" --set "parallelism.$1"; }
not_run schedule=zb-h1 megatron 'schedule = "zb-h1" with like = "megatron" \(Megatron-LM runs 1f1b'
not_run zero_stage=2 megatron 'zero_stage = 2 with like = "megatron"'
not_run tensor=2 deepspeed 'tensor = 2 with like = "deepspeed"'
expect "like megatron with more members than key heads" 2 'tensor = 8 with like = "megatron"' \
  "$pptrain" plan llama.toml --like megatron --set parallelism.tensor=8
not_run virtual_stages=2 flagscale 'virtual_stages = 2 with like = "flagscale"'
not_run recompute=selective deepspeed 'recompute = "selective" with like = "deepspeed"'
not_run zero_group=node flagscale 'zero_group = "node" with like = "flagscale"'
not_run context=2 flagscale 'context = 2 with like = "flagscale" \(FlagScale.s meshes run without'
not_run context=2 deepspeed 'context = 2 with like = "deepspeed"'
not_run offload=true flagscale 'offload = true with like = "flagscale"'
expect "like megatron by a planner of unlike stages" 2 'planner "dapple" with like = "megatron" \(it makes stages of any shape' \
  "$pptrain" plan gpt2.toml --like megatron --planner dapple
expect "a trainer that is not known" 2 'like' "$pptrain" plan gpt2.toml --set parallelism.like=megatrn
expect "a model of which only times are known" 2 'only times are known' \
  "$pptrain" plan "$inputs/papers/dapple-bert-48.toml" --like megatron
expect "a job that is trained here" 2 'like = "megatron", but pptrain runs here' \
  "$pptrain" train "$inputs/gpt2.toml" --set parallelism.like=megatron --dry-run

# What trainers cannot run: one message with the reason, and what to set.
# refused TITLE TRAINER PATTERN [ARGUMENT...]: plan.json.
refused() {
  rm -rf out
  expect "$1" 2 "$3" "$pptrain" export-plan "${job:-gpt2.toml}" --plan plan.json --for "$2" -o out "${@:4}"
  check "$1: nothing is written" test ! -e out
}
# Context parallelism of jobs that do not have it, or not so much.
cp context.json plan.json
scatter 0 4 1 5 2 6 3 7
job=llama.toml refused "replicas that divide samples, on two nodes each" torchtitan 'on 2 nodes \(1 holds them'
expect "pptrain divides no samples" 2 'context.json: context = 2: .* add --like' "$pptrain" simulate llama.toml --plan context.json
expect "nor does it take such a plan" 2 'context.json: context = 2, but the job says 1' "$pptrain" plan llama.toml --set parallelism.plan=context.json
expect "context without a trainer" 2 'parallelism.context: context = 2 .*--like megatron or torchtitan' \
  "$pptrain" plan llama.toml --set parallelism.context=2
expect "positions that are not divided evenly" 2 'context = 3 with sequence_length = 64 .*not divisible by 6' \
  "$pptrain" plan llama.toml --like megatron --set parallelism.context=3
expect "more replicas than devices" 2 'parallelism.context: context = 16 .*divides the number of devices' \
  "$pptrain" plan llama.toml --like megatron --set parallelism.context=16

plan gpt2.toml "${amp[@]}" --set parallelism.pipeline=2 --set parallelism.data=4 --set parallelism.tensor=1 --set training.micro_batch_size=8
cp plan.json grid.json
edit 'plan["stages"][1].update(replicas=2, tensor_parallel=2, devices=[[4, 5], [6, 7]], samples=[[0, plan["micro_batch_size"] // 2], [plan["micro_batch_size"] // 2, plan["micro_batch_size"]]])'
for trainer in megatron deepspeed; do
  refused "$trainer: unlike stages" $trainer 'plan.json: stages 0 and 1 have 4 and 2 replicas \(.* has one value for all stages\); plan again with --like [a-z]*'
done
cp grid.json plan.json
edit 'plan["stages"][0]["samples"] = [[0, 5], [5, 6], [6, 7], [7, 8]]'
for trainer in megatron flagscale; do
  refused "$trainer: unequal samples" $trainer 'stage 0 has unequal numbers of samples on its replicas \(.* divides everything evenly\); plan again with --like [a-z]*'
done
cp grid.json plan.json
edit 'plan["stages"][1]["recompute"] = "full"'
refused "megatron: other recomputation" megatron 'stages 0 and 1 have recompute "none" and "full"'
refused "flagscale: other recomputation" flagscale 'stages 0 and 1 compute other things again .*--like flagscale'
cp grid.json plan.json
edit 'for s in plan["stages"]: s["zero_stage"] = 2'
refused "megatron: ZeRO 2" megatron 'replicas with ZeRO stage 2 beside .*--like megatron'
refused "deepspeed: ZeRO 2 in a pipeline" deepspeed 'replicas with ZeRO stage 2 beside pipeline'
cp grid.json plan.json
edit 'plan["schedule"]["name"] = "zb-h1"'
refused "megatron: a schedule" megatron 'schedule "zb-h1" \(Megatron-LM runs 1f1b.*plan again with --like megatron'
refused "flagscale: a schedule" flagscale 'schedule "zb-h1" \(FlagScale runs'
refused "deepspeed: a schedule" deepspeed 'schedule "zb-h1" \(DeepSpeed'
cp grid.json plan.json
refused "torchtitan: a GPT-2" torchtitan 'torchtitan cannot be told of the model gpt2'
job=llama.toml
plan llama.toml "${amp[@]}" --set parallelism.pipeline=2 --set parallelism.data=4 --set parallelism.tensor=1
refused "torchtitan: ZeRO 0 beside a pipeline" torchtitan 'replicas with ZeRO stage 0 beside .*--like torchtitan'
edit 'plan["stages"][1].update(replicas=2, tensor_parallel=2, devices=[[4, 5], [6, 7]], samples=[[0, plan["micro_batch_size"] // 2], [plan["micro_batch_size"] // 2, plan["micro_batch_size"]]])'
refused "torchtitan: unlike stages" torchtitan 'stages 0 and 1 have 4 and 2 replicas .*--like torchtitan'
refused "an optimizer" megatron 'set optimizer.name: Megatron-LM is not told of the optimizer "lion"' --set optimizer.name=lion
job=mixtral.toml
plan mixtral.toml "${amp[@]}" --set parallelism.pipeline=2 --set parallelism.data=4
edit 'cut = plan["stages"][0]["layers"][0][1]; cut += 1 if cut % 2 else 0; plan["stages"][0]["layers"] = [[0, cut]]; plan["stages"][1]["layers"][0][0] = cut'
refused "a cut within a block" megatron 'are a part of a block'
# Families of which no trainer can be told all: scaled parts and scores, norms behind parts, positions by YaRN.
decoder=(hidden_size=64 intermediate_size=96 num_hidden_layers=4 num_attention_heads=4 num_key_value_heads=4 vocab_size=512)
# family TYPE KEY=VALUE...: a folder in models/TYPE.
family() {
  mkdir -p "models/$1"
  "$python" - "$@" >"models/$1/config.json" <<'PY'
import json, sys
print(json.dumps({"model_type": sys.argv[1], **{key: json.loads(value) for key, value in (pair.split("=", 1) for pair in sys.argv[2:])}}))
PY
  job "$1" bf16 "from = \"models/$1\"" 'initial = "random"' >"$1.toml"
  plan "$1.toml" "${amp[@]}" --set parallelism.pipeline=2 --set parallelism.data=4 --set parallelism.zero_stage=1
}
family granite "${decoder[@]}" residual_multiplier=0.3
job=granite.toml refused "megatron: scaled parts" megatron 'cannot be told of the model granite \(its blocks are no causal attention'
family granite "${decoder[@]}" attention_multiplier=0.25 logits_scaling=2.0
job=granite.toml refused "megatron: scaled logits" megatron 'cannot be told of the model granite \(its logits are scaled'
family granite "${decoder[@]}" attention_multiplier=0.3
job=granite.toml refused "megatron: scaled scores" megatron 'cannot be told of the model granite \(its blocks are no causal attention'
family olmo2 "${decoder[@]}"
job=olmo2.toml refused "megatron: norms behind parts" megatron 'cannot be told of the model olmo2 \(its blocks are no causal attention'
family qwen2 "${decoder[@]}" max_position_embeddings=64 'rope_scaling={"rope_type": "yarn", "factor": 4.0}'
job=qwen2.toml refused "megatron: YaRN" megatron 'positions are scaled by YaRN'
job=gpt2.toml
cp grid.json plan.json
refused "a plan for another model" megatron 'plan.json: ' --set model.layers=12
refused "a plan for layers of other sizes" megatron 'plan.json: made for a gpt2 of .* FLOP a sample, but a gpt2 of 64 tokens' \
  --set model.hidden_size=128
refused "a plan for samples of another length" megatron 'plan.json: made for .* of 32 tokens .*the sequence length that were planned' \
  --set training.sequence_length=32
check "nothing is written then" test ! -e out
expect "a trainer that is not known" 2 '--for' "$pptrain" export-plan gpt2.toml --plan plan.json --for megatrn -o out
expect "no folder to write" 2 'output' "$pptrain" export-plan gpt2.toml --plan plan.json --for megatron
expect "no plan" 2 'plan' "$pptrain" export-plan gpt2.toml --for megatron -o out
echo text >file
expect "a file in the folder's place" 2 'file: the folder cannot be made' "$pptrain" export-plan gpt2.toml --plan plan.json --for megatron -o file
sed '/\[cluster\]/,$d' gpt2.toml >no_cluster.toml
expect "a job without a cluster" 2 'no_cluster.toml: the job does not say where its devices.*--cluster' \
  "$pptrain" export-plan no_cluster.toml --plan plan.json --for megatron -o out
expect "a model of which times are known" 2 'only times are known' \
  "$pptrain" export-plan "$inputs/papers/dapple-bert-48.toml" --plan plan.json --for megatron -o out
# Hosts of several kinds without names: the script asks for them.
cluster unnamed gg:1:4 g:1:4 >unnamed.toml
plan gpt2.toml "${amp[@]}" --cluster unnamed.toml
rm -rf out
run "$longest_seconds" "$pptrain" export-plan gpt2.toml --plan plan.json --cluster unnamed.toml --for megatron -o out
expect "hosts of two kinds without names" 2 'hosts.txt: write the name of a host of the kind' \
  env -C out PATH="$folder/bin:$PATH" SLURM_JOB_NODELIST=x bash job.sbatch

finish
