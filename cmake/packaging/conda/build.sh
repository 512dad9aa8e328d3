#!/usr/bin/env bash
# Called by conda-build in the folder of the source.
set -euo pipefail
# CMAKE_ARGS is a list of options that conda's compilers set.
read -ra options <<<"${CMAKE_ARGS:-}"
cmake -S . -B build/conda -G Ninja "${options[@]}" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" \
  -DBUILD_TESTING=OFF -DPPTRAIN_ARCH= -DPPTRAIN_CUDA=OFF -DPPTRAIN_CCACHE=OFF
cmake --build build/conda --target pptrain pptrain_planning manual
cmake --install build/conda
