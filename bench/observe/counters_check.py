"""Compares what hone profile and Nsight Compute counted of the same kernels, as hone explain --sql writes it.

Usage: counters_check.py metrics dram|flops                            what ncu is to count, separated by commas
       counters_check.py compare HONE.db NCU_FLOPS.db NCU_DRAM.db      a row a kernel; exits 1 where they differ too much
"""
import sqlite3
import statistics
import sys

VECTOR = {f"smsp__sass_thread_inst_executed_op_{kind}{what}_pred_on.sum": 2 if what == "fma" else 1
          for kind in "fdh" for what in ("add", "mul", "fma")}
TENSOR = {f"sm__ops_path_tensor_src_{kind}.sum": 1
          for kind in ("bf16_dst_fp32", "fp16", "tf32_dst_fp32", "fp64", "fp8", "int8")}
FLOPS = VECTOR | TENSOR
DRAM = ("dram__bytes_read.sum", "dram__bytes_write.sum")
TIME = "gpu__time_duration.sum"
LEAST_BYTES = 1e6  # below, what else the device does weighs more


def counted(path):
    """{(kernel, grid, block): {metric: median over launches}}"""
    rows = sqlite3.connect(path).execute("""
        SELECT s.text, l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z, c.metric, c.value
        FROM counted_launches l JOIN counters c ON c.launch = l.id JOIN strings s ON s.id = l.kernel""")
    values = {}
    for name, *geometry, metric, value in rows:
        values.setdefault((name, *geometry), {}).setdefault(metric, []).append(value)
    return {key: {metric: statistics.median(each) for metric, each in found.items()}
            for key, found in values.items()}


def difference(ours, theirs):
    return 0.0 if ours == theirs else 100 * (ours - theirs) / theirs if theirs else float("inf")


def compare(ours, their_flops, their_dram):
    theirs = {key: their_flops[key] | their_dram[key] for key in set(their_flops) & set(their_dram)}
    wrong = 0
    print(f"{'kernel':60} {'FLOP':>10} {'vs ncu':>8} {'DRAM bytes':>11} {'vs ncu':>8} {'us':>8} {'ncu us':>8}")
    common = sorted(set(ours) & set(theirs), key=lambda key: -ours[key].get(TIME, 0))
    for key in common:
        mine, other = ours[key], theirs[key]
        flops = [sum(values.get(metric, 0) * factor for metric, factor in FLOPS.items()) for values in (mine, other)]
        dram = [sum(values.get(metric, 0) for metric in DRAM) for values in (mine, other)]
        off_flops, off_dram = difference(*flops), difference(*dram)
        bad = abs(off_flops) > 1 or (abs(off_dram) > 5 and max(dram) > LEAST_BYTES)
        wrong += bad
        print(f"{key[0][:60]:60} {flops[0]:10.4g} {off_flops:+7.2f}% {dram[0]:11.4g} {off_dram:+7.2f}% "
              f"{mine.get(TIME, 0) / 1e3:8.1f} {other.get(TIME, 0) / 1e3:8.1f}{'  <--' if bad else ''}")
    print(f"{len(common)} kernels counted by both, {len(set(ours) - set(theirs))} by hone alone, "
          f"{len(set(theirs) - set(ours))} by ncu alone; {wrong} differ too much")
    return 1 if wrong or len(common) < 12 else 0


def main():
    if sys.argv[1] == "metrics":
        print(",".join([TIME, *(DRAM if sys.argv[2] == "dram" else FLOPS)]))
        return 0
    return compare(*[counted(path) for path in sys.argv[2:5]])


if __name__ == "__main__":
    sys.exit(main())
