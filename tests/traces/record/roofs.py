"""Measures the roofs of a GPU through PyTorch: products by type, memory, copies, launches, and collectives on two.

roofs.py OUT, or torchrun --nproc-per-node 2 roofs.py OUT: writes OUT/roofs.json. Rates are medians over
repetitions with their lowest and highest; products and copies on random data.
"""
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist


def timed(run, repeat, rounds=9):
    """Seconds of one call: median, least, most over rounds of `repeat` calls."""
    for _ in range(3):
        run()
    seconds = []
    for _ in range(rounds):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        for _ in range(repeat):
            run()
        end.record()
        torch.cuda.synchronize()
        seconds.append(start.elapsed_time(end) * 1e-3 / repeat)
    return statistics.median(seconds), min(seconds), max(seconds)


def rate(amount, seconds):
    return {"median": amount / seconds[0], "low": amount / seconds[2], "high": amount / seconds[1]}


def product(dtype, n, tf32=False):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    if dtype == torch.float8_e4m3fn:
        a = torch.randn(n, n, device="cuda").to(dtype)
        b = torch.randn(n, n, device="cuda").to(dtype).t()
        one = torch.ones((), device="cuda")
        run = lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    elif dtype == torch.int8:
        a = torch.randint(-9, 9, (n, n), device="cuda", dtype=dtype)
        b = torch.randint(-9, 9, (n, n), device="cuda", dtype=dtype).t()
        run = lambda: torch._int_mm(a, b)
    else:
        a, b = (torch.randn(n, n, device="cuda", dtype=dtype) for _ in range(2))
        run = lambda: a @ b
    repeat = 3 if dtype in (torch.float32, torch.float64) and not tf32 else 20
    return rate(2.0 * n**3, timed(run, repeat))


def compute():
    kinds = {"f64": (torch.float64, 4096), "f32": (torch.float32, 8192), "f16": (torch.float16, 8192),
             "bf16": (torch.bfloat16, 8192), "f8e4m3fn": (torch.float8_e4m3fn, 8192), "i8": (torch.int8, 8192)}
    rows = {name: product(dtype, n) for name, (dtype, n) in kinds.items()}
    rows["tf32"] = product(torch.float32, 8192, tf32=True)
    rows["bf16 at 4096"] = product(torch.bfloat16, 4096)
    rows["bf16 at 2048"] = product(torch.bfloat16, 2048)
    torch.backends.cuda.matmul.allow_tf32 = False
    return rows


def memory():
    rows = {}
    for level, count in (("DRAM", 1 << 29), ("L2", 1 << 21)):
        x = torch.randn(count, device="cuda")
        y = torch.empty_like(x)
        repeat = 10 if level == "DRAM" else 100  # in one CUDA graph: launches must not matter
        for what, run, bytes_each in (("copy", lambda: y.copy_(x), 8.0), ("write", lambda: y.fill_(1.0), 4.0),
                                      ("read", lambda: torch.sum(x), 4.0)):
            run()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(repeat):
                    run()
            rows[f"{level} {what}"] = rate(bytes_each * count * repeat, timed(graph.replay, 1))
    return rows


def copies():
    rows = {}
    for name, host in (("pinned", torch.randn(1 << 26).pin_memory()), ("pageable", torch.randn(1 << 26))):
        device = torch.empty(1 << 26, device="cuda")
        rows[name + " host to device"] = rate(host.nbytes, timed(lambda: device.copy_(host, non_blocking=True), 3))
        rows["device to host " + name] = rate(host.nbytes, timed(lambda: host.copy_(device, non_blocking=True), 3))
    return rows


def launches():
    x = torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    rows = {}

    def wall(run, count):
        run()
        torch.cuda.synchronize()
        seconds = []
        for _ in range(9):
            start = time.perf_counter()
            run()
            torch.cuda.synchronize()
            seconds.append((time.perf_counter() - start) / count)
        return {"median": statistics.median(seconds), "low": min(seconds), "high": max(seconds)}

    def many():
        for _ in range(1000):
            x.add_(1.0)

    rows["eager operator"] = wall(many, 1000)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        many()
    rows["node of a CUDA graph"] = wall(graph.replay, 1000)
    rows["synchronise"] = wall(torch.cuda.synchronize, 1)
    rows["read one value (item)"] = wall(lambda: [x.item() for _ in range(100)], 100)
    return rows


def collectives():
    rows = {}
    ranks = dist.get_world_size()
    for megabytes in (1, 4, 16, 25, 64, 256, 1024):
        x = torch.randn(megabytes << 18, device="cuda")
        rows[f"all_reduce {megabytes} MiB"] = rate(x.nbytes * 2 * (ranks - 1) / ranks,
                                                  timed(lambda: dist.all_reduce(x), 10))
    x = torch.randn(64 << 18, device="cuda")
    whole = torch.empty(ranks * x.numel(), device="cuda")
    rows["all_gather 64 MiB"] = rate(x.nbytes * (ranks - 1), timed(lambda: dist.all_gather_into_tensor(whole, x), 10))
    rows["reduce_scatter 64 MiB"] = rate(x.nbytes * (ranks - 1),
                                         timed(lambda: dist.reduce_scatter_tensor(x, whole), 10))

    def pass_on():
        dist.send(x, 1) if dist.get_rank() == 0 else dist.recv(x, 0)

    rows["send 64 MiB"] = rate(x.nbytes, timed(pass_on, 10))
    tiny = torch.zeros(1, device="cuda")
    seconds = timed(lambda: dist.all_reduce(tiny), 50)
    return rows, {"all_reduce of 4 bytes": {"median": seconds[0], "low": seconds[1], "high": seconds[2]}}


def main():
    out = sys.argv[1]
    rank = int(os.environ.get("RANK", "0"))
    torch.cuda.set_device(rank)
    found = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    if "RANK" in os.environ:
        dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    if rank == 0:
        found |= {"flop_per_s": compute(), "memory_bytes_per_s": memory(), "copy_bytes_per_s": copies(),
                  "seconds": launches()}
    if "RANK" in os.environ:
        dist.barrier()
        found["bus_bytes_per_s"], latency = collectives()
        if rank == 0:
            found["seconds"] |= latency
        dist.destroy_process_group()
    if rank == 0:
        with open(os.path.join(out, "roofs.json"), "w") as file:
            json.dump(found, file, indent=1)
        print(json.dumps({k: {n: f"{r['median']:.4g}" for n, r in v.items()} for k, v in found.items() if isinstance(v, dict)},
                         indent=1))


if __name__ == "__main__":
    main()
