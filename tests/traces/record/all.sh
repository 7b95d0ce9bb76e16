#!/bin/bash
# all.sh OUT: records every program; what has run stays when time runs out.
cd "$(dirname "$0")" && raw=/tmp/raw && mkdir -p $raw $1
export TORCHINDUCTOR_CACHE_DIR=/tmp/inductor PYTHONUNBUFFERED=1 OMP_NUM_THREADS=8
pack() { tar -C $raw -cf $1/traces.tar . ; }
for name in $(python3 -c 'import programs; print(*programs.CAUSES)'); do
  timeout 60 python3 record.py $name $raw > /tmp/log 2>&1 || { echo "$name FAILED"; tail -5 /tmp/log; }
  grep -a -- '->' /tmp/log
done
pack $1
for name in comm_after_backward comm_tiny_buckets straggler_sleeps straggler_longer_batch healthy_ddp; do
  timeout 80 torchrun --nproc-per-node 2 record.py $name $raw > /tmp/log 2>&1 || { echo "$name FAILED"; tail -5 /tmp/log; }
  grep -a -- '->' /tmp/log
done
ls -la $raw | awk '{s+=$5} END {print NR, "files", s/1e6, "MB"}'; ls -S -s $raw | head -8
pack $1
