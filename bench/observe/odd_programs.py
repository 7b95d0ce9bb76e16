"""Programs that `hone profile` cannot take like a plain training: odd_programs.py NAME SECONDS.

graph: replays a CUDA graph that it captured before; own_profiler: profiles itself at its begin, in its middle and at its end;
jax: a step under jax.jit, without PyTorch; cupy: products, a fused function and a kernel of its own, without PyTorch; compiled: a
training under torch.compile; ranks: a training by DistributedDataParallel, to be started by torchrun (gloo where there are fewer GPUs
than ranks).
Each prints a line of JSON at its end: the median of its own steps in ms, and how many.
"""
import json
import os
import statistics
import sys
import time


def timed(step, seconds):
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    return {"median_ms": statistics.median(times[len(times) // 4:]), "steps": len(times)}


def layers(torch, count=8, width=512):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(count))

        def forward(self, x):
            for layer in self.layers:
                x = torch.nn.functional.gelu(layer(x))
            return x
    return Net().cuda()


def graph(seconds):
    import torch
    net, x, stream = layers(torch), torch.randn(64, 512, device="cuda"), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(stream):
        for _ in range(3):
            net(x)
    torch.cuda.current_stream().wait_stream(stream)
    captured = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(captured):
        net(x)

    def step():
        captured.replay()
        torch.cuda.synchronize()
    return timed(step, seconds)


def training(torch, net):
    optimizer, x = torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(64, 512, device="cuda")

    def step():
        net(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def own_profiler(seconds):
    import torch
    from torch.profiler import ProfilerActivity, profile
    step, seen = training(torch, layers(torch)), []

    def profiled():
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            for _ in range(5):
                step()
            torch.cuda.synchronize()
        seen.append(sum(1 for event in profiler.events() if event.device_type.name == "CUDA"))
    profiled()
    result = timed(step, seconds / 2)
    profiled()
    timed(step, seconds / 2)
    profiled()
    return {**result, "own_device_events": seen}


def jax(seconds):
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    import jax.numpy as jnp
    key = jax.random.PRNGKey(0)
    state = [jax.random.normal(key, (1024, 1024), dtype=jnp.bfloat16) for _ in range(8)]
    x = jax.random.normal(key, (512, 1024), dtype=jnp.bfloat16)

    @jax.jit
    def update(weights):
        def loss(weights):
            y = x
            for weight in weights:
                y = jax.nn.gelu(y @ weight)
            return jnp.mean(y.astype(jnp.float32) ** 2)
        value, gradients = jax.value_and_grad(loss)(weights)
        return [w - 1e-3 * g for w, g in zip(weights, gradients)], value

    def step():
        nonlocal state
        state, value = update(state)
        value.block_until_ready()
    return timed(step, seconds)


def cupy(seconds):
    import cupy
    a, b = (cupy.random.standard_normal((1024, 1024), dtype=cupy.float32) for _ in range(2))
    own = cupy.RawKernel(r'''extern "C" __global__ void halve(float* x, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) x[i] *= 0.5f;
    }''', "halve")

    @cupy.fuse()
    def mixed(x, y):
        return cupy.tanh(x) * y + 1

    def step():
        c = a @ b
        for _ in range(8):
            c = mixed(c, a)
            own((4096,), (256,), (c, c.size))
        float(c.sum())
    return timed(step, seconds)


def compiled(seconds):
    import torch
    net = layers(torch)
    step = training(torch, torch.compile(net))
    for _ in range(3):
        step()

    def waited():
        step()
        torch.cuda.synchronize()
    return timed(waited, seconds)


def ranks(seconds):
    import torch
    shared = torch.cuda.device_count() < int(os.environ["WORLD_SIZE"])
    torch.distributed.init_process_group("gloo" if shared else "nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    net = torch.nn.parallel.DistributedDataParallel(layers(torch))
    step, more, ends = training(torch, net), torch.ones(1, device="cuda"), time.time() + seconds
    times = []
    while True:
        start = time.perf_counter()
        for _ in range(20):
            step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / 20 * 1e3)
        more.fill_(float(time.time() < ends))
        torch.distributed.all_reduce(more, torch.distributed.ReduceOp.MIN)  # all ranks end with the same step
        if more.item() == 0:
            break
    torch.distributed.destroy_process_group()
    return {"rank": int(os.environ["RANK"]), "median_ms": statistics.median(times), "steps": 20 * len(times)}


if __name__ == "__main__":
    print(json.dumps({"program": sys.argv[1], **globals()[sys.argv[1]](float(sys.argv[2]))}), flush=True)
