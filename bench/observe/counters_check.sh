#!/usr/bin/env bash
# Counts the kernels of counted.py with hone profile and with Nsight Compute, and prints how far they agree: FLOPs within
# 1 %, DRAM bytes within 5 %. Needs a GPU whose counters may be read, PyTorch, and ncu; nvcc unless libcounted.so is given.
#
# Usage: bench/observe/counters_check.sh HONE OUT [libcounted.so]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
hone=$1 out=$2 library=${3:-}
mkdir -p "$out"
if [ -z "$library" ]; then
  library=$out/libcounted.so
  "${NVCC:-/usr/local/cuda/bin/nvcc}" -O2 -arch=native -shared -Xcompiler -fPIC -o "$library" "$here/counted.cu"
fi
library=$(realpath "$library")
"$hone" profile --top 24 --steps 6 --wait 0.5 --then stop --out "$out/run" -- python3 "$here/counted.py" "$library"
"$hone" explain "$out/run" --sql "$out/hone.db" >/dev/null || [ -s "$out/hone.db" ]
metrics=$(python3 "$here/counters_check.py" metrics)
ncu --csv --page raw --print-units base --clock-control none --metrics "$metrics" --log-file "$out/ncu.csv" \
  python3 "$here/counted.py" "$library" 1 >/dev/null
"$hone" explain "$out/ncu.csv" --sql "$out/ncu.db" >/dev/null || [ -s "$out/ncu.db" ]
python3 "$here/counters_check.py" compare "$out/hone.db" "$out/ncu.db"
