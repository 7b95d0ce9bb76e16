#!/usr/bin/env python3
"""One runtime with one model in a process of its own, measured on request: the protocol of `hone bench --on-request`.

Says 'ready' when the model is compiled and has run once on INPUTS.npz (its outputs are then in OUTPUTS.npz, by name);
answers each line N of stdin with the mean milliseconds of N steps. run.py starts one of these for each runtime.

worker.py ort|openvino|torch|torch-max-autotune MODEL.onnx INPUTS.npz OUTPUTS.npz THREADS
worker.py WAY MODEL.onnx INPUTS.npz OUTPUTS.npz THREADS TYPE    on an NVIDIA GPU: a way of gpu.py, in f32, fp16 or bf16
"""
import pathlib
import sys
import time

import numpy as np


def ort_step(model, inputs, threads):
    """ONNX Runtime: inputs and outputs bound to fixed buffers, so that a step neither copies nor allocates."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_free_dimension_override_by_name("batch", 1)
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, value in inputs.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value))
    names = [output.name for output in session.get_outputs()]
    outputs = {}
    for name, value in zip(names, session.run(names, inputs)):
        outputs[name] = ort.OrtValue.ortvalue_from_numpy(value)
        binding.bind_ortvalue_output(name, outputs[name])
    return (lambda: session.run_with_iobinding(binding)), (lambda: {n: v.numpy() for n, v in outputs.items()})


def openvino_step(model, inputs, threads):
    """OpenVINO for latency: one stream on all threads. f32 must be asked for: on CPUs with AVX512-BF16 or AMX its
    default may be bf16, which is faster and not the same computation."""
    import openvino as ov

    core = ov.Core()
    network = core.read_model(model)
    network.reshape({name: list(value.shape) for name, value in inputs.items()})
    compiled = core.compile_model(network, "CPU", {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "f32",
        "ENABLE_HYPER_THREADING": True,
        "SCHEDULING_CORE_TYPE": "ANY_CORE",
    })
    precision = compiled.get_property("INFERENCE_PRECISION_HINT").to_string()
    if precision != "f32":
        sys.exit(f"OpenVINO computes in {precision} where f32 was asked for")
    request = compiled.create_infer_request()
    tensors = {name: ov.Tensor(value) for name, value in inputs.items()}  # copies, in aligned memory
    for name, tensor in tensors.items():
        request.set_tensor(name, tensor)
    names = [output.any_name for output in compiled.outputs]
    return (lambda: request.infer(share_outputs=True)), (lambda: {n: request.get_tensor(n).data for n in names})


def torch_step(model, inputs, threads, mode):
    """torch.compile with inductor's freezing: weights are constants, folded and packed for oneDNN."""
    import torch
    from torch_models import load_model

    torch.set_num_threads(threads)
    torch._inductor.config.freezing = True
    module = load_model(pathlib.Path(model))
    output_names = module.output_names
    compiled = torch.compile(module, fullgraph=True, dynamic=False, mode=mode)
    tensors = [torch.from_numpy(value) for value in inputs.values()]
    last = [None]

    def step():
        with torch.inference_mode():
            last[0] = compiled(*tensors)

    def outputs():
        values = last[0] if isinstance(last[0], tuple) else (last[0],)
        return {name: value.numpy() for name, value in zip(output_names, values)}

    return step, outputs


STEPS = {
    "ort": ort_step,
    "openvino": openvino_step,
    "torch": lambda *arguments: torch_step(*arguments, mode="default"),
    "torch-max-autotune": lambda *arguments: torch_step(*arguments, mode="max-autotune"),
}


def main():
    runtime, model, inputs_file, outputs_file, threads, *dtype = sys.argv[1:]
    answers = sys.stdout
    sys.stdout = sys.stderr  # whatever a runtime prints is no answer
    inputs = dict(np.load(inputs_file))
    if dtype:
        import gpu
        step, outputs = gpu.STEPS[runtime](pathlib.Path(model), inputs, dtype[0])
    else:
        step, outputs = STEPS[runtime](model, inputs, int(threads))
    step()
    np.savez(outputs_file, **outputs())
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        calls = int(line)
        start = time.perf_counter_ns()
        for _ in range(calls):
            step()
        print((time.perf_counter_ns() - start) / 1e6 / calls, file=answers, flush=True)


if __name__ == "__main__":
    main()
