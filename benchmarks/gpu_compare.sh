#!/usr/bin/env bash
# Training on one GPU beside PyTorch's best, in one run: benchmarks/gpu_compare.sh --help. Exit code 77: no GPU here.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

skip() {
  printf 'gpu_compare: SKIPPED: %s\n' "$1" >&2
  exit 77
}

# A Python whose PyTorch sees a GPU; Debian's does not.
find_python() {
  local python
  for python in "${PPTRAIN_PYTHON:-}" python3 /usr/bin/python3; do
    if [[ -n $python ]] && "$python" -c 'import torch; raise SystemExit(not torch.cuda.is_available())' 2>/dev/null; then
      printf '%s\n' "$python"
      return
    fi
  done
}

if [[ ${1:-} == --help ]]; then exec python3 "$root/benchmarks/gpu_compare.py" --help; fi
command -v nvidia-smi >/dev/null || skip "nvidia-smi is not there, so neither is a GPU"
nvidia-smi >/dev/null 2>&1 || skip "nvidia-smi finds no GPU"
python=$(find_python)
[[ -n $python ]] || skip "no python3 has a PyTorch that sees the GPU (set PPTRAIN_PYTHON)"
pptrain=${PPTRAIN:-$root/pptrain}
[[ -x $pptrain ]] || {
  printf 'gpu_compare: %s is missing: build it with -DPPTRAIN_CUDA=ON (./bootstrap.sh build)\n' "$pptrain" >&2
  exit 2
}
exec "$python" "$root/benchmarks/gpu_compare.py" "$@"
