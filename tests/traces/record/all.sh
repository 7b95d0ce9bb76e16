#!/bin/bash
# all.sh OUT [NAME...]: records every program, or those named; what has run stays when time runs out. Programs for one
# GPU run side by side where there are several GPUs, each with cores of its own.
cd "$(dirname "$0")" && raw=/tmp/raw && mkdir -p $raw $1 && out=$1 && shift
export TORCHINDUCTOR_CACHE_DIR=/tmp/inductor PYTHONUNBUFFERED=1 OMP_NUM_THREADS=8
wanted() { [ $# = 1 ] || [[ " ${*:2} " == *" $1 "* ]]; }
pack() {
  flock $raw.lock sh -c "cd $raw && tar -cf $raw.tar \$(ls | grep -v 'new\$') && mv $raw.tar $out/traces.tar"
}
record() {  # NAME COMMAND...
  local log=/tmp/$1.log
  timeout ${HONE_RECORD_LIMIT:-90} "${@:2}" > $log 2>&1 || { echo "$1 FAILED"; tail -3 $log; cp $log $raw/$1.log; rm -f $raw/$1.facts.json; }
  grep -a -- '->' $log
  pack
}
gpus=$(nvidia-smi -L | wc -l) cores=$(($(nproc) / gpus))
lane() {  # GPU: the programs whose turn is that GPU's
  local turn=0 name
  for name in $(python3 record.py --list 1); do
    wanted $name "${@:2}" || continue
    [ $((turn++ % gpus)) = $1 ] || continue
    CUDA_VISIBLE_DEVICES=$1 record $name taskset -c $(($1 * cores))-$((($1 + 1) * cores - 1)) python3 record.py $name $raw
  done
}
for ((gpu = 0; gpu < gpus; ++gpu)); do lane $gpu "$@" & done
wait
for name in $(python3 record.py --list 2); do
  wanted $name "$@" && record $name torchrun --nproc-per-node 2 record.py $name $raw
done
ls -la $raw | awk '{s+=$5} END {print NR, "files", s/1e6, "MB"}'; ls -S -s $raw | head -8
