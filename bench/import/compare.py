#!/usr/bin/env python3
"""Measures how fast traces are imported: hone at sizes from 10 MB to 2 GB, and beside HolisticTraceAnalysis.

Usage: compare.py TRACE.json.gz --hone build/bench_import [--peers VENV/bin/python] [--work DIR] [-o RESULT.json]

Files are made by inflate.py from TRACE and read from the page cache. Rounds are interleaved: every reader once a
round, each in a process of its own. HolisticTraceAnalysis runs with each of its parser's backends that is
installed; the fastest counts. perfetto's trace_processor is measured where the package finds its program, and as the
WebAssembly build that its UI uses (trace_processor.py).
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# What runs in the peers' Python; prints one JSON line. The import of the package is not timed.
HTA = """
import json, logging, resource, sys, time
logging.disable(logging.CRITICAL)
from hta.common.trace import parse_trace_file
from hta.configs.parser_config import ParserBackend, ParserConfig
config = ParserConfig(ParserConfig.get_minimum_args())
config.set_parser_backend(ParserBackend(sys.argv[2]))
start = time.perf_counter()
meta, frame, symbols = parse_trace_file(sys.argv[1], config)
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "events": len(frame),
                  "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""
PERFETTO = """
import json, sys, time
from perfetto.trace_processor import TraceProcessor
start = time.perf_counter()
processor = TraceProcessor(trace=sys.argv[1])
events = next(processor.query("select count(*) as n from slice")).n
print(json.dumps({"seconds": time.perf_counter() - start, "events": events}))
"""
SETTLED = set()  # files that lie in the page cache as after a read
PEERS = {  # what the peers' Python is given before and after the file
    "hta json": (["-c", HTA], ["json"]),
    "hta ijson_batch_and_compress": (["-c", HTA], ["ijson_batch_and_compress"]),
    "perfetto trace_processor": (["-c", PERFETTO], []),
    "perfetto trace_processor, WebAssembly": ([HERE / "trace_processor.py"], []),
}


def last_line(command):
    """The JSON that a program printed last; a text if it failed."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        lines = [line for line in done.stderr.strip().split("\n") if line]
        return lines[-1][:200] if lines else f"exit {done.returncode}"
    return json.loads(done.stdout.strip().split("\n")[-1])


def settle(path):
    """Drops the file from the page cache and reads it back: pages that were just written lie more scattered than
    those of a file that was read, and copy several times slower."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    while os.read(descriptor, 1 << 22):
        pass
    os.close(descriptor)


def inflate(options, size, suffix=""):
    path = options.work / f"inflated_{int(size):d}.json{suffix}"
    if path in SETTLED:
        return path
    if not path.exists():
        subprocess.run([sys.executable, HERE / "inflate.py", options.trace, path, "--size", str(size)], check=True,
                       stdout=subprocess.DEVNULL)
    settle(path)
    SETTLED.add(path)
    return path


def hone(options, path, threads, repeat=1):
    return last_line([options.hone, path, "--threads", str(threads), "--repeat", str(repeat)])


def scaling(options):
    """hone alone, by size, compression and threads."""
    rows = []
    packed = [(options.sizes[-2], suffix) for suffix in (".gz", ".zst")] if len(options.sizes) > 1 else []
    files = [(size, "") for size in options.sizes] + packed
    for size, suffix in files:
        path = inflate(options, size, suffix)
        plain = inflate(options, size).stat().st_size
        for threads in (1, 2):
            runs = [hone(options, path, threads) for _ in range(options.rounds)]
            seconds = sorted(run["seconds"] for run in runs)
            median = statistics.median(seconds)
            rows.append({
                "file": path.suffix[1:], "bytes": plain, "bytes_on_disk": path.stat().st_size, "threads": threads,
                "seconds": {"median": median, "low": seconds[0], "high": seconds[-1]},
                "gb_per_s": plain / median / 1e9, "peak_bytes": max(run["peak_bytes"] for run in runs),
                "peak_over_file": max(run["peak_bytes"] for run in runs) / plain, "spans": runs[0]["spans"]})
            print(f"{path.name} {threads} threads: {median:.3f} s, {plain / median / 1e9:.2f} GB/s, "
                  f"peak {rows[-1]['peak_over_file']:.2f} of the file")
    return rows


def beside_peers(options):
    rows = []
    for size in options.peer_sizes:
        path = inflate(options, size)
        runs = {"hone": []} | {name: [] for name in PEERS}
        for _ in range(options.rounds):
            runs["hone"].append(hone(options, path, 2))
            for name, (program, arguments) in PEERS.items():
                if runs[name] and isinstance(runs[name][-1], str):
                    continue  # it failed before
                if options.only and name not in options.only:
                    continue
                runs[name].append(last_line([options.peers, *program, path, *arguments]))
        row = {"bytes": path.stat().st_size, "hone_peak_bytes": max(run["peak_bytes"] for run in runs["hone"])}
        ours = row["hone_s"] = [run["seconds"] for run in runs.pop("hone")]
        row["peers"] = {}
        for name, each in runs.items():
            if not each:
                continue
            if isinstance(each[0], str):
                print(f"{name}: {each[0]}", file=sys.stderr)
                row["peers"][name] = {"not_measured": each[0].split(": ")[0]}  # the rest names paths of this machine
                continue
            seconds = [run["seconds"] for run in each]
            ratios = sorted(theirs / mine for theirs, mine in zip(seconds, ours))
            row["peers"][name] = {"s": seconds, "ratio": {"median": statistics.median(ratios), "low": ratios[0],
                                                          "high": ratios[-1]},
                                  "peak_bytes": max(run.get("peak_bytes", 0) for run in each)}
            print(f"{path.name}: {name} {statistics.median(seconds):.2f} s, "
                  f"{statistics.median(ratios):.0f} times hone's {statistics.median(ours):.3f} s")
        rows.append(row)
    return rows


def version_of(python, package):
    code = f"import importlib.metadata as m; print(m.version('{package}'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def machine():
    for line in Path("/proc/cpuinfo").read_text().split("\n"):
        if line.startswith("model name"):
            return f"{line.split(':')[1].strip()}, {os.cpu_count()} cores"
    return f"{os.cpu_count()} cores"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("--hone", required=True, help="the program bench_import")
    parser.add_argument("--peers", help="a Python with bench/import/requirements.txt installed")
    parser.add_argument("--work", type=Path, default=Path("/tmp/hone-bench-import"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=float, nargs="*", default=[1e7, 3e7, 1e8, 3e8, 1e9, 2e9])
    parser.add_argument("--peer-sizes", type=float, nargs="*", default=[1e7, 1e8])
    parser.add_argument("--only", nargs="+", choices=PEERS, help="these peers")
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE)
    result = {
        "schema": 1, "date": datetime.date.today().isoformat(), "commit": commit.stdout.strip(),
        "machine": machine(), "command": "bench/import/compare.py " + options.trace.name,
        "trace": options.trace.name, "rounds": options.rounds,
        "ratio": "a peer's time over hone's with 2 threads, in the same round: above 1, hone is faster",
        "scaling": scaling(options)}
    if options.peers:
        result["versions"] = {name: version_of(options.peers, name)
                              for name in ("HolisticTraceAnalysis", "pandas", "ijson", "perfetto", "viztracer")}
        result["peers"] = beside_peers(options)
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
