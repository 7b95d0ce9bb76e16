"""What the recorder costs a program that launches CUDA graphs: prints a line of JSON for each size of graph.

host_us: how long the launch keeps the host; done_us: from the launch to the end of the graph's works on an idle device.
Both without the recorder, with it, and after it, each with its quartiles.
"""
import json
import statistics
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile


def spread(seconds):
    """The quartiles, in us."""
    return dict(zip(("low", "median", "high"), (q * 1e6 for q in statistics.quantiles(seconds, n=4))))


def measured(graph, rounds=60):
    host, done = [], []
    for _ in range(rounds):
        torch.cuda.synchronize()
        time.sleep(0.0005)
        start = time.perf_counter()
        graph.replay()
        host.append(time.perf_counter() - start)
        torch.cuda.synchronize()
        done.append(time.perf_counter() - start)
    return {"host_us": spread(host), "done_us": spread(done)}


def main():
    x = torch.zeros(1024, device="cuda")
    x.add_(1)
    for nodes in (10, 30, 100, 300, 1000):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(nodes):
                x.add_(1)
        found = {"nodes": nodes, "device": torch.cuda.get_device_name(), "torch": torch.__version__, "plain": measured(graph)}
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True):
            found["recorded"] = measured(graph)
        found["after"] = measured(graph)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
