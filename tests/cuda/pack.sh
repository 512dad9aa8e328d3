#!/usr/bin/env bash
# benchmarks/gpu/pack.sh: its folder holds all that its programs load but the C library's and CUDA's, starts from an empty
# environment, and says where it is that there is no GPU. Usage: pack.sh PACK_SH BUILD
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

"$1" "$work/pack" --build "$2"
outside=$(LD_LIBRARY_PATH=$work/pack/lib ldd "$work"/pack/bin/* | awk '$2 == "=>" {print $1, $3}' | sort -u | grep -v " $work/pack/lib/" |
  grep -vE '^(libc|libm|libdl|librt|libpthread|libutil|libresolv|ld-linux[^ ]*)\.so|^lib(cudart|cublas|cublasLt|cudnn[^ ]*|nccl|cuda|nvidia[^ ]*)\.so' || true)
if [[ -n $outside ]]; then
  printf 'not in the folder:\n%s\n' "$outside"
  exit 1
fi

env -i PATH=/usr/bin:/bin HOME="$work" PPTRAIN_GPU_REHEARSAL=1 "$work/pack/gpu.sh" smoke
if ! nvidia-smi >/dev/null 2>&1; then
  code=0
  env -i PATH=/usr/bin:/bin HOME="$work" "$work/pack/gpu.sh" correct || code=$?
  test "$code" -eq 77
fi
code=0
"$work/pack/gpu.sh" nonsense 2>"$work/message" || code=$?
test "$code" -eq 2
grep -q 'no part is called "nonsense"' "$work/message"
