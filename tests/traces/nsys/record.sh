#!/bin/bash
# record.sh NSYS OUT: records programs of ../record with the program NSYS of Nsight Systems and leaves databases in OUT.
mkdir -p "$2" && out=$(realpath "$2") && nsys=$1 && cd "$(dirname "$0")" && raw=$(mktemp -d)
record() {  # NAME-OF-FILE OPTIONS-OF-NSYS... -- ARGUMENTS-OF-record.py...
  local name=$1 && shift
  local options=() && while [ "$1" != -- ]; do options+=("$1") && shift; done && shift
  timeout 80 "$nsys" profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --capture-range=cudaProfilerApi \
    --capture-range-end=stop --force-overwrite=true "${options[@]}" -o "$raw/$name" python3 record.py "$@" &&
    "$nsys" export --type=sqlite --force-overwrite=true -o "$raw/$name.sqlite" "$raw/$name.nsys-rep" > "$raw/log" &&
    python3 strip.py "$raw/$name.sqlite" "$out/$name.sqlite.gz" || echo "$name FAILED"
}
record layout_channels_first -- layout_channels_first fault operators
record cuda_graph_nodes --cuda-graph-trace=node -- healthy_cuda_graph repaired
record cuda_graph_whole --cuda-graph-trace=graph -- healthy_cuda_graph repaired
record copy_pageable -- copy_pageable fault
