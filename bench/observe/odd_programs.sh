#!/usr/bin/env bash
# odd_programs.sh HONE OUT [NAME...]: programs without marks of their own, with CUDA graphs, with a profiler, with several
# ranks (mpi: two processes that know nothing of each other), each by itself and under `hone profile`. Prints for each its
# own step alone, what hone states, and coverage.
set -uo pipefail
hone=$1 out=$2
shift 2
here=$(dirname "$0")
mkdir -p "$out"
[ $# -gt 0 ] || set -- chain native driver replay graph jax own_profiler cupy compiled

# native, driver, replay: chain.cu, whose own times go to a file.
command_of() {
  case $1 in
    native) echo "${CHAIN:-build/observe/chain-static} $2 $out/times --launches 400" ;;
    driver) echo "${CHAIN:-build/observe/chain-static} $2 $out/times --driver" ;;
    replay) echo "${CHAIN:-build/observe/chain-static} $2 $out/times --graph" ;;
    chain) echo "python3 $here/programs.py chain $2" ;;
    ranks) echo "torchrun --nproc_per_node=2 $here/odd_programs.py ranks $2" ;;
    mpi) echo "mpirun --allow-run-as-root -n 2 python3 $here/programs.py vit_b1 $2" ;;
    *) echo "python3 $here/odd_programs.py $1 $2" ;;
  esac
}

own_times() {
  [ -s "$out/times" ] || return
  sort -n -k 2 "$out/times" | awk '{ a[NR] = $2 } END { print "own median of", NR, "steps:", a[int(NR / 2) + 1] / 1e6, "ms" }'
  rm "$out/times"
}

for name in "$@"; do
  echo "=== $name"
  timeout 30 $(command_of "$name" 3) | tail -2
  own_times
  rm -rf "${out:?}/$name"
  timeout 60 "$hone" profile --wait 1.5 --steps 12 --out "$out/$name" -- $(command_of "$name" 9) 2> "$out/$name.err" | tail -2
  echo "status ${PIPESTATUS[0]}"
  own_times
  grep '^hone: ' "$out/$name.err"
  python3 - "$out/$name/explain.json" <<'PY'
import json, sys
try:
    found = json.load(open(sys.argv[1], encoding="utf-8"))
except OSError:
    sys.exit("no report")
step = found["step"]
print({key: step.get(key) for key in ("count", "median_ms", "unrecorded_ms", "recorder_ms", "how_found", "confidence", "notes")})
print("ranks", found["ranks"], "coverage", found.get("coverage"), "warnings", found["warnings"])
print("top", [(row["name"], row["op"], row["ms"]) for row in found["top"]][:3])
PY
done
