#!/bin/bash
# all.sh OUT [NAME...]: records every program, or those named; what has run stays when time runs out.
cd "$(dirname "$0")" && raw=/tmp/raw && mkdir -p $raw $1 && out=$1 && shift
export TORCHINDUCTOR_CACHE_DIR=/tmp/inductor PYTHONUNBUFFERED=1 OMP_NUM_THREADS=8
wanted() { [ $# = 1 ] || [[ " ${*:2} " == *" $1 "* ]]; }
pack() { tar -C $raw -cf $raw.tar . && mv $raw.tar $out/traces.tar; }
record() {
  timeout 100 "${@:2}" > /tmp/log 2>&1 || { echo "$1 FAILED"; tail -3 /tmp/log; cp /tmp/log $raw/$1.log; }
  grep -a -- '->' /tmp/log
  pack
}
for name in $(python3 record.py --list 1); do
  wanted $name "$@" && record $name python3 record.py $name $raw
done
for name in $(python3 record.py --list 2); do
  wanted $name "$@" && record $name torchrun --nproc-per-node 2 record.py $name $raw
done
ls -la $raw | awk '{s+=$5} END {print NR, "files", s/1e6, "MB"}'; ls -S -s $raw | head -8
