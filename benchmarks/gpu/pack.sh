#!/usr/bin/env bash
# Packs pptrain with its tests and all libraries but CUDA's and C's into one folder, for a machine that has a GPU, a driver and
# PyTorch (whose CUDA libraries serve), and neither network nor Debian's packages. There: FOLDER/gpu.sh PART.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)

usage() {
  cat <<USAGE
Usage: benchmarks/gpu/pack.sh FOLDER [--build DIR]
  FOLDER       what is made; must not exist
  --build DIR  where pptrain, test_cuda_gpu and test_cuda_ranks_gpu are built. Without it they are built in
               build/gpu-pack, for processors of x86-64-v3 and GPUs of PPTRAIN_GPU_ARCHITECTURES (default: 80;90)
USAGE
}

fail() {
  printf 'gpu/pack.sh: %s\n' "$1" >&2
  exit 2
}

folder=
build=
while (($# > 0)); do
  case $1 in
    --build)
      (($# > 1)) || fail "--build needs a value"
      build=$(realpath -m -- "$2")
      shift
      ;;
    --help)
      usage
      exit 0
      ;;
    -*) fail "unknown option $1 (benchmarks/gpu/pack.sh --help)" ;;
    *) folder=$1 ;;
  esac
  shift
done
[[ -n $folder ]] || fail "the folder to make is missing (benchmarks/gpu/pack.sh --help)"
[[ ! -e $folder ]] || fail "$folder is there already"

if [[ -z $build ]]; then
  build=$root/build/gpu-pack
  if [[ ! -f $build/CMakeCache.txt ]]; then
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPPTRAIN_ARCH=x86-64-v3 -DPPTRAIN_CUDA=ON \
      "-DCMAKE_CUDA_ARCHITECTURES=${PPTRAIN_GPU_ARCHITECTURES:-80;90}"
  fi
  cmake --build "$build" --parallel --target pptrain test_cuda_gpu test_cuda_ranks_gpu
fi

mkdir -p "$folder"/{bin,lib}
folder=$(cd -- "$folder" && pwd)
cp "$build/pptrain" "$build"/tests/cuda/test_cuda{,_ranks}_gpu "$folder/bin/"
for program in mpirun orted; do cp -L "$(readlink -f -- "$(command -v $program)")" "$folder/bin/$program"; done

# Open MPI looks for its plugins and messages below OPAL_PREFIX, which the folder is; gpu.sh says where PMIx finds its own.
prefix=$(ompi_info --path prefix --parsable | cut -d: -f3)
copy_below() {  # PATH: of the prefix
  mkdir -p "$folder/${1#"$prefix"/}"
  cp -rL "$1/." "$folder/${1#"$prefix"/}/"
}
for kind in pkglibdir pkgdatadir; do copy_below "$(ompi_info --path "$kind" --parsable | cut -d: -f3)"; done
# One machine needs no plugin of a network.
find "$folder/lib" -regextype egrep -regex '.*/mca_((btl|mtl)_(ofi|openib|psm2?|usnic)|.*_ucx|(pml_(cm|monitoring)|osc_monitoring|coll_monitoring)|(spml|scoll|memheap|sshmem)_.*|.*_(slurm|flux|jsm|gridengine))\.so' -delete
pmix=$(dirname -- "$(readlink -f -- "$(ldconfig -p | awk '/libpmix\.so\.2/ {print $NF; exit}')")")
if [[ -d $pmix/pmix ]]; then
  mkdir -p "$folder/lib/pmix"
  cp -rL "$pmix/pmix/." "$folder/lib/pmix/"
fi

# The C library and CUDA's are the machine's own.
libraries() {
  ldd "$@" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libutil|libresolv|ld-linux[^/]*)\.so|/lib(cudart|cublas|cublasLt|cudnn[^/]*|nccl|cuda|nvidia[^/]*)\.so'
}
mapfile -t programs < <(ls -d "$folder"/bin/* && find "$folder/lib" -name '*.so')
while read -r library; do cp -L "$library" "$folder/lib/"; done < <(libraries "${programs[@]}")
find "$folder/bin" "$folder/lib" -type f -exec strip --strip-unneeded {} + 2>/dev/null || true

# What the tests read, the jobs and the comparison with PyTorch.
for path in tests/data inputs benchmarks; do
  mkdir -p "$folder/source/$path"
  cp -r "$root/$path/." "$folder/source/$path/"
done
: >"$folder/source/env.sh"  # gpu.sh exports what Open MPI needs
cp "$root/benchmarks/gpu/gpu.sh" "$folder/"
du -sh "$folder" | sed 's|^|gpu/pack.sh: |'
