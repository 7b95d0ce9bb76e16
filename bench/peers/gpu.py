"""The peers' ways on an NVIDIA GPU, and what the GPU was at while they were measured.

Inputs and outputs lie in the device's memory, as hone's do; a step ends when the device has its result. Types: f32 (no
TF32), fp16 or bf16, in which the whole model computes; what a framework keeps in f32 by itself stays so.
"""
import contextlib
import datetime
import os
import subprocess
import threading

import numpy as np

TORCH_TYPES = {"f32": "float32", "fp16": "float16", "bf16": "bfloat16"}


def torch_step(model, inputs, dtype, *, mode, channels_last, device="cuda"):
    """PyTorch: eager where `mode` is None, else torch.compile with inductor's freezing, which replays CUDA graphs."""
    import torch
    from torch_models import load_model

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch._inductor.config.freezing = True
    computed = getattr(torch, TORCH_TYPES[dtype])
    module = load_model(model).to(device, computed)
    images = torch.channels_last if channels_last else torch.contiguous_format
    module = module.to(memory_format=images)
    output_names = module.output_names
    tensors = []
    for value in inputs.values():
        tensor = torch.from_numpy(value).to(device)
        tensor = tensor.to(computed) if tensor.is_floating_point() else tensor
        tensors.append(tensor.to(memory_format=images) if tensor.dim() == 4 else tensor)
    call = module if mode is None else torch.compile(module, fullgraph=True, dynamic=False, mode=mode)
    wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    last = [None]

    def step():
        with torch.inference_mode():
            last[0] = call(*tensors)
        wait()

    def outputs():
        values = last[0] if isinstance(last[0], tuple) else (last[0],)
        return {name: value.float().cpu().numpy() for name, value in zip(output_names, values)}

    for _ in range(3):  # the first calls of a compiled module compile, and record its CUDA graph
        step()
    return step, outputs


def ort_step(model, inputs, dtype, provider):
    """ONNX Runtime on the GPU: all optimisations, inputs and outputs bound to buffers in the device's memory, CUDA graphs."""
    import onnx
    import onnxruntime as ort

    if provider not in ort.get_available_providers():
        raise SystemExit(f"this onnxruntime has no {provider} (package onnxruntime-gpu)")
    if dtype == "bf16":
        raise SystemExit("ONNX Runtime converts models to fp16, not to bf16")
    network = onnx.load(model)
    options = {"device_id": 0}
    if provider == "CUDAExecutionProvider":
        options |= {"enable_cuda_graph": "1", "cudnn_conv_algo_search": "EXHAUSTIVE", "use_tf32": "0", "prefer_nhwc": "1"}
        if dtype == "fp16":
            from onnxruntime.transformers.float16 import convert_float_to_float16
            network = convert_float_to_float16(network, keep_io_types=True)
    else:
        options |= {"trt_cuda_graph_enable": "1", "trt_fp16_enable": str(int(dtype == "fp16")), "trt_builder_optimization_level": "5"}
    session = ort.InferenceSession(network.SerializeToString(), providers=[(provider, options), "CUDAExecutionProvider"])
    binding = session.io_binding()
    for name, value in inputs.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value, "cuda", 0))
    names = [output.name for output in session.get_outputs()]
    shapes = {name: value.shape for name, value in zip(names, _on_cpu(model, inputs, names))}
    held = {name: ort.OrtValue.ortvalue_from_shape_and_type(list(shape), np.float32, "cuda", 0) for name, shape in shapes.items()}
    for name, value in held.items():
        binding.bind_ortvalue_output(name, value)

    def step():
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()

    return step, (lambda: {name: value.numpy() for name, value in held.items()})


def _on_cpu(model, inputs, names):
    """What the outputs look like: buffers of fixed shapes are what a CUDA graph needs."""
    import onnxruntime as ort

    return ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(names, inputs)


STEPS = {
    "eager": lambda *a: torch_step(*a, mode=None, channels_last=False),
    "eager-channels-last": lambda *a: torch_step(*a, mode=None, channels_last=True),
    "max-autotune": lambda *a: torch_step(*a, mode="max-autotune", channels_last=False),
    "reduce-overhead": lambda *a: torch_step(*a, mode="reduce-overhead", channels_last=False),
    "reduce-overhead-channels-last": lambda *a: torch_step(*a, mode="reduce-overhead", channels_last=True),
    "max-autotune-channels-last": lambda *a: torch_step(*a, mode="max-autotune", channels_last=True),
    "ort-cuda": lambda *a: ort_step(*a, "CUDAExecutionProvider"),
    "tensorrt": lambda *a: ort_step(*a, "TensorrtExecutionProvider"),
}
# A peer and the ways to run it; the fastest on a model stands for it there.
PEERS = {
    "eager": ["eager", "eager-channels-last"],
    # Both replay CUDA graphs; to autotune large convolutions takes many minutes a model (--ways leaves it out).
    "compile": ["max-autotune", "max-autotune-channels-last", "reduce-overhead", "reduce-overhead-channels-last"],
    "ort-cuda": ["ort-cuda"],
    "tensorrt": ["tensorrt"],
}
PACKAGES = {"eager": "torch", "compile": "torch", "ort-cuda": "onnxruntime-gpu", "tensorrt": "onnxruntime-gpu"}


def _index():
    """nvidia-smi's number of the GPU that programs see as their first."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0] or "0"


def name():
    """The GPU, its driver and its power limit."""
    fields = "name,driver_version,power.limit"
    said = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader", f"--id={_index()}"], capture_output=True, text=True)
    return said.stdout.strip() or "no NVIDIA GPU"


def _power_field():
    """What the GPU takes at the moment where its driver tells, else the mean of about a second."""
    instant = "power.draw.instant"
    said = subprocess.run(["nvidia-smi", f"--query-gpu={instant}", "--format=csv,noheader,nounits", f"--id={_index()}"], capture_output=True,
                          text=True)
    return instant if said.returncode == 0 and said.stdout.strip().replace(".", "", 1).isdigit() else "power.draw"


class Watch:
    """The GPU's clock and power while it is open, once in `period_ms`."""

    def __init__(self, period_ms=1000):
        self.period_ms = period_ms

    def __enter__(self):
        self.rows = []  # seconds as time.time() counts them, MHz, watts
        self.process = subprocess.Popen(["nvidia-smi", f"--query-gpu=timestamp,clocks.sm,{_power_field()}",
                                         "--format=csv,noheader,nounits", f"--id={_index()}", f"--loop-ms={self.period_ms}"],
                                        stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        return self

    def _read(self):
        for line in self.process.stdout:
            with contextlib.suppress(ValueError):  # "[N/A]"
                when, clock, power = (field.strip() for field in line.split(","))
                seconds = datetime.datetime.strptime(when, "%Y/%m/%d %H:%M:%S.%f").timestamp()
                self.rows.append((seconds, float(clock), float(power)))

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.thread.join()

    def summary(self, within=None):
        """`within`: intervals, as (from, to) by time.time(); without them, all the time."""
        rows = [row for row in self.rows if within is None or any(begin <= row[0] <= end for begin, end in within)]
        if not rows:
            return None
        _, clocks, watts = np.array(rows).T
        return {"sm_mhz": {"median": float(np.median(clocks)), "low": float(clocks.min()), "high": float(clocks.max())},
                "watts": {"median": float(np.median(watts)), "high": float(watts.max())}, "samples": len(rows)}
