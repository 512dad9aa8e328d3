#!/usr/bin/env bash
# What a folder of benchmarks/gpu/pack.sh does on a machine with a GPU, in parts of at most eight minutes each. Goes on after a
# failure. Exit code 0: nothing failed; 1: something did; 77: no GPU here.
set -uo pipefail
folder=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
source=$folder/source
logs=${PPTRAIN_GPU_LOGS:-$folder/logs}
parts=(smoke correct memcheck racecheck speed speed-large models tune)

usage() {
  cat <<USAGE
Usage: gpu.sh PART...
  smoke     versions, GPUs that are seen, a few tests, 20 iterations of inputs/gpt2.toml
  correct   every test for one GPU, on one rank and on ranks that share it
  memcheck  compute-sanitizer's, on all tests of kernels, products, attention, layers and models
  racecheck compute-sanitizer's, on the tests of kernels that are tagged [cuda]: rows, norms, sums, optimizers
  speed, speed-large     GPT-2 124M, and 1.5B, in bf16 beside PyTorch
  models    BERT-base, ViT-base and a Llama of a billion parameters in bf16: steps and memory, predicted and measured
  tune      a small job without and with CUDA graphs
Logs: PPTRAIN_GPU_LOGS (default: FOLDER/logs). With PPTRAIN_GPU_REHEARSAL=1 the host stands for the GPU.
USAGE
}

# --- Where libraries are: the pack's own, and CUDA's from PyTorch or from a toolkit.

cuda_folders() {
  local python folders
  for python in "${PPTRAIN_PYTHON:-python3}" /usr/bin/python3; do
    folders=$("$python" - 2>/dev/null <<'PYTHON'
import glob, os, nvidia
for parent in nvidia.__path__:
    print(":".join(sorted(glob.glob(os.path.join(parent, "*", "lib")))))
PYTHON
    ) && [[ -n $folders ]] && break
  done
  printf '%s:/usr/local/cuda/lib64:/usr/local/cuda/lib' "$folders"
}

set_environment() {
  local cuda
  cuda=$(cuda_folders)
  export LD_LIBRARY_PATH=$folder/lib:$cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export PATH=$folder/bin:$PATH OPAL_PREFIX=$folder PMIX_MCA_mca_base_component_path=$folder/lib/pmix
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 OMPI_MCA_btl_vader_single_copy_mechanism=none
  export PMIX_MCA_pcompress_base_silence_warning=1 OMPI_MCA_hwloc_base_binding_policy=none
  export PPTRAIN=$folder/bin/pptrain PPTRAIN_TEST_SOURCE=$source
}

device=gpu
if [[ -n ${PPTRAIN_GPU_REHEARSAL:-} ]]; then device=host; fi

# --- What a step is: a command with a limit of time, a log, a line.

# step NAME SECONDS PATTERN COMMAND...: the last line of the log with the pattern is the figure.
step() {
  local name=$1 seconds=$2 pattern=$3 log code=0 begin=$SECONDS result=passed
  shift 3
  log=$logs/$name.log
  printf '+ %s\n' "$*" >"$log"
  timeout --kill-after=10 "$seconds" "$@" >>"$log" 2>&1 </dev/null || code=$?
  case $code in
    0) ;;
    77) result=skipped ;;
    124 | 137) result=TIMEOUT ;;
    *) result="FAILED ($code)" ;;
  esac
  if [[ $code -ne 0 && $code -ne 77 ]]; then touch "$logs/failed/$name"; fi
  printf '%-26s %-12s %4d s  %s\n' "$name" "$result" $((SECONDS - begin)) "$(grep -aE "$pattern" "$log" | tail -n 1 | cut -c 1-110)"
  if [[ $code -ne 0 && $code -ne 77 ]]; then grep -aE 'FAILED:|error|rror:|with expansion' "$log" | head -n 12 | cut -c 1-200 | sed 's/^/    /'; fi
}

tests='test cases|tests passed|All tests'
of_one_rank='~[large]~[np1]~[np2]~[np4]~[np8]~[np16]~[long]'  # of test_cuda_gpu, but arrays of over 2^31 elements

part_smoke() {
  step version 60 'back ends' pptrain --version
  step devices 60 'NVIDIA|device' pptrain cluster
  step first-kernels 120 "$tests" test_cuda_gpu '*element*'
  step gpt2-20 120 'iteration' mpirun -np 1 pptrain "$source/inputs/gpt2.toml" --steps 20 --set "job.device=$device" \
    --set training.precision=bf16 --set "job.output=$logs/outputs"
}

# All at once: each is a process, or several, with contexts of their own.
part_correct() {
  local n
  step kernels 400 "$tests" test_cuda_gpu "$of_one_rank" &
  step one-rank 400 "$tests" mpirun --bind-to none -np 1 test_cuda_ranks_gpu '[np1]' &
  for n in 2 4 8; do
    step "shared-by-$n" 400 "$tests" mpirun --bind-to none -np "$n" test_cuda_ranks_gpu "[np$n]~[own]" &
  done
  wait
}

# sanitize TESTS TOOL [OPTION...]: calls that tests have fail on purpose are no finding.
sanitize() {
  step "$2" 460 'SUMMARY' compute-sanitizer --error-exitcode 99 --report-api-errors no --tool "${@:2}" test_cuda_gpu "$1"
}

part_memcheck() { sanitize "$of_one_rank" memcheck; }
# racecheck itself fails within cuBLASLt, which the tests of graphs call.
part_racecheck() { sanitize '[cuda]~[large]~*graphs*~*rows of calls*' racecheck --kernel-name kns=pptrain; }

# compare MODEL [OPTION...]
compare() {
  step "compare-$1" 460 ratio "$source/benchmarks/gpu_compare.sh" --model "$@"
}

part_speed() { compare 124M --rounds 2 --steps 6; }
part_speed_large() { compare 1.5B --rounds 1 --steps 5 --batch 64; }

# train_model MODEL JOB BATCH MICRO_BATCH [OPTION...]: a folder of source/benchmarks/gpu/models, the data of inputs/JOB.toml.
train_model() {
  step "$1" 150 'iteration .*measured' mpirun -np 1 pptrain "$source/inputs/$2.toml" --steps 8 --set "job.device=$device" \
    --set "job.output=$logs/outputs" --set training.precision=bf16 --set "model.from=$source/benchmarks/gpu/models/$1" \
    --set "training.global_batch_size=$3" --set "training.micro_batch_size=$4" --set parallelism.schedule=1f1b \
    --set parallelism.recompute=none --set checkpoint.at_end=false "${@:5}"
  grep -aE '^  memory .*measured' "$logs/$1.log" || true
}

part_models() {
  train_model bert-base bert-small 128 64 --set training.sequence_length=512
  train_model vit-base vit-small 256 128
  train_model llama-1b llama-small 16 8 --set training.sequence_length=2048
}

part_tune() {
  local graphs
  for graphs in false true; do
    step "graphs-$graphs" 120 'iteration' mpirun -np 1 pptrain "$source/inputs/gpt2.toml" --steps 100 --set "job.device=$device" \
      --set training.precision=bf16 --set "job.cuda_graphs=$graphs" --set "job.output=$logs/outputs"
  done
}

if [[ ${1:-} == --help || $# -eq 0 ]]; then
  usage
  exit $(($# == 0 ? 2 : 0))
fi
for part in "$@"; do
  [[ " ${parts[*]} " == *" $part "* ]] || {
    printf 'gpu.sh: no part is called "%s": %s\n' "$part" "${parts[*]}" >&2
    exit 2
  }
done
set_environment
mkdir -p "$logs/failed"
rm -f "$logs/failed"/*
if [[ -z ${PPTRAIN_GPU_REHEARSAL:-} ]] && ! nvidia-smi >"$logs/nvidia-smi.log" 2>&1; then
  echo "gpu.sh: SKIPPED: nvidia-smi finds no GPU" >&2
  exit 77
fi
for part in "$@"; do
  case $part in
    smoke) part_smoke ;;
    correct) part_correct ;;
    memcheck) part_memcheck ;;
    racecheck) part_racecheck ;;
    speed) part_speed ;;
    speed-large) part_speed_large ;;
    models) part_models ;;
    tune) part_tune ;;
  esac
done
[[ -z $(ls "$logs/failed") ]]
