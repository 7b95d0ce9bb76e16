"""Where the programs run: on a GPU, or (HONE_RECORD_ON=cpu) on the CPU with small sizes, to try them without a GPU."""
import os

import torch

GPU = os.environ.get("HONE_RECORD_ON", "cuda")
DRY = GPU == "cpu"


def size(full, small):
    return small if DRY else full


def wait():
    if not DRY:
        torch.cuda.synchronize()


def compiled(model):
    return torch.compile(model, backend="eager") if DRY else torch.compile(model)


def graphed(run):
    """`run` as a CUDA graph: the function that replays it. On the CPU `run` itself."""
    if DRY:
        return run
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()

    def replay():
        graph.replay()

    replay.captured = run  # its tensors, which the graph reads, live as long
    return replay


def trained(model, batch, optimizer=None, autocast=True):
    """One training step: forward, backward, optimizer (AdamW if none is given)."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-4, fused=not DRY)

    def step():
        with torch.autocast(GPU, dtype=torch.bfloat16, enabled=autocast):
            loss = model(*batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step
