#!/usr/bin/env bash
# Compiles the programs of this folder into build/observe with nvcc, each with CUDA's runtime shared and static: an
# injected library must work with both. Not part of the normal build.
set -euo pipefail
cd "$(dirname "$0")/../.."
nvcc=${NVCC:-/usr/local/cuda/bin/nvcc}
architecture=${1:-sm_90a}
mkdir -p build/observe
for program in chain stress; do
  for runtime in shared static; do
    "$nvcc" -std=c++20 -O2 -arch="$architecture" -cudart "$runtime" -o "build/observe/$program-$runtime" \
      "bench/observe/$program.cu" -lcuda -L"$(dirname "$nvcc")/../lib64/stubs" -lpthread
  done
done
cupti=$(dirname "$nvcc")/..
"$nvcc" -std=c++20 -O2 -arch="$architecture" -cudart shared -o build/observe/call_cost bench/observe/call_cost.cu \
  -I"$cupti/include" -I"$cupti/extras/CUPTI/include" -L"$cupti/lib64" -L"$cupti/extras/CUPTI/lib64" -lcupti -lcuda -L"$cupti/lib64/stubs"
ls -l build/observe
