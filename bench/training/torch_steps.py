"""PyTorch's side of run.py: the ways to run a training step of the networks in torch_networks.py, from hone's weights.

torch_steps.py WAY NETWORK FOLDER THREADS [--device cuda] [--facts FILE] reads what bench_training left in FOLDER, trains some
steps, fails where the losses are not hone's, then answers each line N of stdin with the mean milliseconds of N steps. On a GPU
the steps of a line are given to it one after another, and it is waited for once.
"""
import argparse
import contextlib
import gc
import json
import pathlib
import sys
import time

import torch
from steps import NEEDS_GPU, OTHER_WORK, WAYS
from torch_networks import PREPARED, heads_of, network_of
from torch_parity import read_safetensors

# Of the first loss, over the first steps: that it is the same work, not how near.
TOLERANCE = {"f32": 2e-3, "bf16": 2e-2}

STEPS_BEFORE_CAPTURE = 3


def is_state(name):
    return name.endswith(("running_mean", "running_var"))


class Training:
    """One network with its batch and optimizer, on a device."""

    def __init__(self, network, folder, device, compiled=None, channels_last=False, optimizer=False, captured=False,
                 attention=None):
        self.run = json.loads((folder / "run.json").read_text())
        self.device, self.captured, self.graph = device, captured, None
        self.marks_steps = compiled in ("reduce-overhead", "max-autotune")
        values = read_safetensors(folder / "initial.safetensors")
        self.run["heads"] = heads_of(network, values)
        values = self.placed(PREPARED.get(network, dict)(values), channels_last)
        self.batch = self.placed(read_safetensors(folder / "batch.safetensors"), channels_last)
        self.trained = {name: value.requires_grad_() for name, value in values.items() if not is_state(name)}
        self.values = self.trained | {name: value for name, value in values.items() if is_state(name)}
        if device == "cuda" and compiled:  # as a module's parameters: CUDA graphs then copy none of them
            for value in [*self.values.values(), *self.batch.values()]:
                torch._dynamo.mark_static_address(value)
        self.optimizer = self.make_optimizer(fused=None if optimizer else True)
        self.loss = network_of(network, device)
        self.update = self.clip_and_update
        if compiled:
            self.loss = torch.compile(self.loss, dynamic=False, mode=None if compiled == "default" else compiled)
        if optimizer:
            self.update = torch.compile(self.clip_and_update)

    def placed(self, values, channels_last):
        order = lambda t: {"memory_format": torch.channels_last} if channels_last and t.dim() == 4 else {}
        return {name: value.to(self.device).contiguous(**order(value)) for name, value in values.items()}

    def make_optimizer(self, fused):
        weights, run = list(self.trained.values()), self.run
        return torch.optim.AdamW(
            [{"params": [w for w in weights if w.dim() >= 2], "weight_decay": run["weight_decay"]},
             {"params": [w for w in weights if w.dim() < 2], "weight_decay": 0}],
            lr=run["rate"], betas=(run["beta1"], run["beta2"]), eps=run["epsilon"], fused=fused,
            capturable=self.device == "cuda")

    def clip_and_update(self):
        if self.run["clip"] > 0:
            torch.nn.utils.clip_grad_norm_(list(self.trained.values()), self.run["clip"])
        self.optimizer.step()

    def given_step(self):
        self.optimizer.zero_grad()
        with torch.autocast(self.device, torch.bfloat16, enabled=self.run["precision"] == "bf16"):
            loss = self.loss(self.values, self.batch, self.run)
        loss.backward()
        self.update()
        return loss

    def capture(self):
        """What follows replays one graph: forward, loss, backward, clipping and update in memory of its own."""
        self.optimizer.zero_grad()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.graph_loss = self.given_step()
        torch.cuda.synchronize()

    def step(self):
        if self.graph is not None:
            self.graph.replay()
            return self.graph_loss
        if self.marks_steps:
            torch.compiler.cudagraph_mark_step_begin()
        return self.given_step()

    def first_losses(self):
        """As many as hone has told of its own."""
        losses, side = [], contextlib.nullcontext()
        if self.captured:  # what is captured has run on another stream than the default one before
            torch.cuda.synchronize()
            side = torch.cuda.stream(torch.cuda.Stream())
        count = len(self.run["losses"])
        with side:
            losses += [self.step().item() for _ in range(min(STEPS_BEFORE_CAPTURE, count) if self.captured else count)]
        if self.captured:
            torch.cuda.synchronize()
            self.capture()
            losses += [self.step().item() for _ in range(count - len(losses))]
        return losses


def difference_from_hone(training, network):
    """The largest, relative to the first loss; ends the program where it is too large."""
    run, worst = training.run, 0
    for loss, expected in zip(training.first_losses(), run["losses"]):
        worst = max(worst, abs(loss - expected) / run["losses"][0]) if loss == loss else float("inf")
        if not worst <= TOLERANCE[run["precision"]]:
            print(f"{network}: the loss is {loss:.6f}, hone's is {expected:.6f}: not the same work", file=sys.stderr)
            sys.exit(OTHER_WORK)
    return worst


def steady_memory(training, free_at_first):
    """From now on the peaks are those of steps as they go on, without what compiling and trying out took."""
    torch.cuda.synchronize()
    facts = {"peak_with_compiling_bytes": torch.cuda.max_memory_reserved()}
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(2):
        training.step()
    torch.cuda.synchronize()
    return facts | {"device_bytes": free_at_first - torch.cuda.mem_get_info()[0]}


def facts_of_gpu():
    return {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
            "gpu_name": torch.cuda.get_device_name(), "capability": list(torch.cuda.get_device_capability())}


def set_up_gpu(attention, contexts):
    """f32 is f32: no TF32, as hone's. cuDNN tries its algorithms out."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    if attention == "cudnn":
        from torch.nn.attention import SDPBackend, sdpa_kernel
        order = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
        contexts.enter_context(sdpa_kernel(order, set_priority=True))


def answer_requests(training, answers):
    wait = torch.cuda.synchronize if training.device == "cuda" else (lambda: None)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        steps = int(line)
        start = time.perf_counter_ns()
        for _ in range(steps):
            training.step()
        wait()
        print((time.perf_counter_ns() - start) / 1e6 / steps, file=answers, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=list(WAYS))
    parser.add_argument("network")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("threads", type=int)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--facts", type=pathlib.Path, help="write what is known beside the times here, again at the end")
    options = parser.parse_args()
    if options.way in NEEDS_GPU and options.device != "cuda":
        parser.error(f"{options.way}: only with --device cuda")
    return options


def main():
    options = arguments()
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever is printed is no answer
    torch.set_num_threads(options.threads)
    way, facts = WAYS[options.way], {}
    with contextlib.ExitStack() as contexts:
        if options.device == "cuda":
            free_at_first = torch.cuda.mem_get_info()[0]
            set_up_gpu(way.get("attention"), contexts)
        begun = time.monotonic()
        training = Training(options.network, options.folder, options.device, **way)
        facts["loss_difference"] = difference_from_hone(training, options.network)
        facts["first_steps_s"] = round(time.monotonic() - begun, 1)
        if options.device == "cuda":
            facts |= facts_of_gpu()
            memory = steady_memory(training, free_at_first)

        def write_facts():
            if options.device == "cuda":
                facts["memory"] = memory | {"allocated_bytes": torch.cuda.max_memory_allocated(),
                                            "reserved_bytes": torch.cuda.max_memory_reserved()}
            if options.facts:
                options.facts.write_text(json.dumps(facts, indent=1) + "\n")

        write_facts()
        answer_requests(training, answers)
        write_facts()


if __name__ == "__main__":
    main()
