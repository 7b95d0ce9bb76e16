#!/usr/bin/env bash
# Compares hone top with nvidia-smi while a program of known kind loads the GPU: five pictures of each, side by side.
#
# Usage: bench/observe/top_check.sh [HONE]        HONE: the program, build/hone by default; PyTorch is needed for the load
#
# Expected on an H100: busy and memory as nvidia-smi has them; of "matmul" a high tensor share (bf16 products of 8192²:
# about as much as FLOP/s ÷ peak FLOP/s, which is printed) and power near its limit; of "copy" a high DRAM share (as much
# as the printed bandwidth ÷ peak) and no tensor share; of "idle" neither; of "pcie" what the program says that it copies.
set -euo pipefail
hone=${1:-build/hone}
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat > "$work/load.py" <<'PY'
import sys, time, torch
kind, seconds = sys.argv[1], float(sys.argv[2])
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
x = torch.empty(1 << 30, device="cuda", dtype=torch.uint8); y = torch.empty_like(x)
pinned = torch.empty(1 << 28, dtype=torch.uint8).pin_memory(); there = torch.empty(1 << 28, device="cuda", dtype=torch.uint8)
torch.cuda.synchronize(); start = time.time(); n = 0
print("load ready", flush=True)
while time.time() - start < seconds:
    for _ in range(20):
        if kind == "matmul": torch.mm(a, b)
        elif kind == "copy": y.copy_(x)
        elif kind == "pcie": there.copy_(pinned, non_blocking=True)
        else: time.sleep(0.01)
        n += 1
    torch.cuda.synchronize()
took = time.time() - start
if kind == "matmul": print(f"load: {2 * 8192**3 * n / took / 1e12:.0f} TFLOP/s bf16")
if kind == "copy": print(f"load: {2 * x.numel() * n / took / 1e9:.0f} GB/s read and written")
if kind == "pcie": print(f"load: {pinned.numel() * n / took / 1e9:.1f} GB/s to the GPU")
PY

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
for kind in matmul copy pcie idle; do
  echo; echo "== $kind"
  "$python" "$work/load.py" "$kind" 14 > "$work/load.txt" &
  load=$!
  until grep -q ready "$work/load.txt" 2> /dev/null; do
    sleep 0.2
    kill -0 "$load" || { echo "the load has ended before it was ready"; exit 1; }
  done
  sleep 2
  nvidia-smi --query-gpu=utilization.gpu,memory.used,power.draw,clocks.sm,temperature.gpu,clocks_event_reasons.active \
    --format=csv,noheader -l 1 > "$work/smi.txt" & smi=$!
  (time "$hone" top --json - --count 5) > "$work/top.jsonl" 2> "$work/time.txt"
  kill "$smi"
  echo "nvidia-smi (busy, memory used, power, SM clock, temperature, reasons):"; sed 's/^/  /' "$work/smi.txt"
  echo "hone top:"
  "$python" - "$work/top.jsonl" "$load" <<'PY'
import json, sys
def text(value, form): return "–" if value is None else format(value, form)
for line in open(sys.argv[1]):
    picture = json.loads(line)
    for gpu in picture["gpus"]:
        own = [p for p in picture["processes"] if p["pid"] == int(sys.argv[2])]
        print(f'  GPU {gpu["index"]} busy {text(gpu["busy_share"], ".0%")} SMs {text(gpu["sm_share"], ".0%")} tensor {text(gpu["tensor_share"], ".1%")} '
              f'DRAM {text(gpu["dram_share"], ".1%")} fp32 {text(gpu["fp32_share"], ".1%")} memory {text((gpu["memory_used_bytes"] or 0) / 2**20, ".0f")} MiB '
              f'{text(gpu["power_w"], ".0f")} W {text(gpu["sm_clock_mhz"], ".0f")} MHz {text(gpu["temperature_c"], ".0f")} °C {gpu["clock_reasons"]} '
              f'held by power {text(gpu["held_by_power_share"], ".0%")} PCIe in {text(gpu["pcie_received_bytes_per_s"], ".3g")} '
              f'NVLink in {text(gpu["nvlink_received_bytes_per_s"], ".3g")} process: '
              + (f'GPU memory {text(own[0]["gpu_memory_bytes"], ".3g")}, share {text(own[0]["gpu_share"], ".0%")}, CPU {text(own[0]["cpus"], ".0%")}' if own else "not seen"))
    notes = picture["notes"]
for note in notes: print("  note:", note)
PY
  echo "hone's own cost over 6 s:"; grep -E 'user|sys' "$work/time.txt" | sed 's/^/  /'
  wait "$load"; grep load: "$work/load.txt" || true
done
echo; "$hone" top --once
