#!/usr/bin/env bash
# Counts the kernels of counted.py with hone profile and with Nsight Compute, and prints how far they agree: FLOPs within
# 1 %, DRAM bytes within 5 %. hone counts the traffic of the program as it runs, so Nsight Compute is told to leave caches alone
# (--cache-control none) and counts time and DRAM's bytes in one pass, without replay; FLOPs in a run of their own. Needs a GPU whose counters may be read, PyTorch, and ncu; nvcc unless libcounted.so is given.
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
ncu_counts() {  # WHAT STEPS
  ncu --csv --page raw --print-units base --clock-control none --cache-control none \
    --metrics "$(python3 "$here/counters_check.py" metrics "$1")" --log-file "$out/ncu_$1.csv" \
    python3 "$here/counted.py" "$library" "$2" >/dev/null
  "$hone" explain "$out/ncu_$1.csv" --sql "$out/ncu_$1.db" >/dev/null || [ -s "$out/ncu_$1.db" ]
}
ncu_counts dram 4
ncu_counts flops 1
python3 "$here/counters_check.py" compare "$out/hone.db" "$out/ncu_flops.db" "$out/ncu_dram.db"
