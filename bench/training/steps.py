"""What run.py measures: which recipes, on which batches, with what set otherwise, and in which ways PyTorch may run them.
How it is measured is run.py's; the networks in PyTorch are torch_networks.py's."""
import math

MLP = (784, 1024, 1024, 10)
ADAMW = ["optimizer.kind=adamw", "optimizer.rate=1e-3", "schedule.kind=constant", "schedule.warmup=0",
         "schedule.final=1"]
# The large ones start without a warm-up, on labels that mean nothing: what a step costs does not depend on the rate, but with
# a small one the first losses of two precisions stay near each other.
SMALL_RATE = "optimizer.rate=1e-4"

COMPILE = {"compiled": "default"}
TUNED = {"compiled": "max-autotune"}  # with CUDA graphs of forward and backward
CAPTURED = {"captured": True}         # the whole step, optimizer included, as one CUDA graph
LAST = {"channels_last": True}
CUDNN = {"attention": "cudnn"}
# All that can be tried, as torch_steps.py's Training takes them; with the fused optimizer but where it is compiled.
WAYS = {
    "eager": {}, "eager-channels-last": LAST, "compile": COMPILE, "compile-channels-last": COMPILE | LAST,
    "compile-optimizer": COMPILE | {"optimizer": True},
    "eager-captured": CAPTURED, "eager-captured-channels-last": CAPTURED | LAST,
    "captured": COMPILE | CAPTURED, "captured-channels-last": COMPILE | CAPTURED | LAST,
    "captured-optimizer": COMPILE | CAPTURED | {"optimizer": True},
    "captured-cudnn-attention": COMPILE | CAPTURED | CUDNN,
    "reduce-overhead": {"compiled": "reduce-overhead"},
    "reduce-overhead-channels-last": {"compiled": "reduce-overhead"} | LAST,
    "max-autotune": TUNED, "max-autotune-channels-last": TUNED | LAST, "max-autotune-cudnn-attention": TUNED | CUDNN,
    "max-autotune-optimizer": TUNED | {"optimizer": True},
    "max-autotune-captured": {"compiled": "max-autotune-no-cudagraphs"} | CAPTURED,
    "max-autotune-captured-channels-last": {"compiled": "max-autotune-no-cudagraphs"} | CAPTURED | LAST,
    "max-autotune-captured-cudnn-attention": {"compiled": "max-autotune-no-cudagraphs"} | CAPTURED | CUDNN,
}
NEEDS_GPU = {name for name, way in WAYS.items()
             if way.get("captured") or way.get("attention") or way.get("compiled", "default") != "default"}
OTHER_WORK = 3  # torch_steps.py ends with it where its losses are not hone's

PLAIN, IMAGES = "plain", "images"
TRIED = {  # where nothing else is asked for
    "cpu": {PLAIN: ["eager", "compile", "compile-optimizer"],
            IMAGES: ["eager", "eager-channels-last", "compile", "compile-channels-last"]},
    # What is usually fastest comes late: it is running when the rounds begin.
    "cuda": {PLAIN: ["eager", "compile", "reduce-overhead", "compile-optimizer", "max-autotune", "max-autotune-captured",
                     "captured-cudnn-attention", "captured"],
             IMAGES: ["eager", "eager-channels-last", "compile", "captured", "compile-channels-last",
                      "reduce-overhead-channels-last", "max-autotune-channels-last", "max-autotune-captured-channels-last",
                      "captured-channels-last"]},
}


class Setup:
    """A step: `fields` are what its batch is made of, as bench_training takes them; `samples` are counted in `unit`."""

    def __init__(self, network, fields, kind, *, recipe=None, set=(), batch, unit="samples", attends=False):
        self.network, self.fields, self.kind, self.recipe = network, fields, kind, recipe
        self.set, self.batch, self.unit, self.attends = list(set), batch, unit, attends

    def units(self, batch):
        """Of a step, of that batch."""
        length = int(self.fields[0].split(":")[1].split("<")[0]) if self.unit == "tokens" else 1
        return batch * length

    def takes(self, way):
        return (self.kind == IMAGES or "channels-last" not in way) and (self.attends or "attention" not in way)

    def ways(self, device, wanted):
        return [way for way in wanted or TRIED[device][self.kind] if self.takes(way)]


def train(batch, clip=0.0):
    """One batch a step, where the recipes that ship divide it."""
    return f"train={{steps=1000, batch={batch}, clip={clip}, seed=1}}"


def gpt2(batch):
    return Setup("gpt2_124m", ["tokens=i64:1024<50257", "next=i64:1024<50257"], PLAIN, recipe="gpt2_124m", batch=batch,
                 set=["data.path=.", SMALL_RATE, train(batch, 1.0)], unit="tokens", attends=True)


STEPS = {
    "mlp": Setup("mlp", [f"x=f32:{MLP[0]}", "label=i64:<10"], PLAIN, set=["train.batch=128"], batch=128),
    "gpt2_tiny": Setup("gpt2_tiny", ["tokens=i64:64<256", "next=i64:64<256"], PLAIN, recipe="gpt2_tiny", batch=16,
                       unit="tokens", attends=True),
    "bert_mlm": Setup("bert_mlm", ["tokens=i64:64<257", "labels=i64:64<257"], PLAIN, recipe="bert_mlm", batch=16,
                      unit="tokens", attends=True),
    "cells_unet": Setup("cells_unet", ["image=f32:1x64x64", "mask=u8:1x64x64<2"], IMAGES, recipe="cells_unet", batch=8,
                        set=["train={steps=100, batch=8, seed=1}"]),
    "resnet50": Setup("resnet50", ["image=f32:3x64x64", "label=i64:<100"], IMAGES, recipe="resnet50", batch=8,
                      set=["model.sizes={size=64, classes=100}", "train={steps=100, batch=8, seed=1}",
                           "optimizer.weight_decay=1e-4", "loss.smoothing=0", "data.path=."]),
    "gpt2_124m_b4": gpt2(4),
    "gpt2_124m": gpt2(32),
    "unet64": Setup("unet", ["image=f32:1x256x256", "mask=u8:1x256x256<2"], IMAGES, recipe="cells_unet", batch=16,
                    set=["model.sizes={size=256, channels=1, base=64, levels=4, classes=1}", SMALL_RATE, train(16)]),
    "resnet50_b256": Setup("resnet50", ["image=f32:3x224x224", "label=i64:<1000"], IMAGES, recipe="resnet50", batch=256,
                           set=["optimizer.weight_decay=1e-4", "loss.smoothing=0", "data.path=.", SMALL_RATE, train(256)]),
    "vit_b16": Setup("vit_b16", ["image=f32:3x224x224", "label=i64:<1000"], PLAIN, recipe="vit_b16", batch=128,
                     set=["loss.smoothing=0", "data.path=.", SMALL_RATE, train(128, 1.0)], attends=True),
}
DEFAULT = {"cpu": ["mlp", "gpt2_tiny", "cells_unet", "resnet50"],
           "cuda": ["gpt2_124m_b4", "gpt2_124m", "cells_unet", "unet64", "resnet50_b256", "vit_b16"]}
SET_ON = {"cpu": [], "cuda": ["train.deterministic=false"]}  # on a GPU kernels are chosen by measuring

MLP_RECIPE = """name = "mlp"
[model]
onnx = "mlp.onnx"
[data]
source = "digits"
[loss]
kind = "cross-entropy"
[optimizer]
kind = "adamw"
rate = 1e-3
decay_vectors = false
[train]
steps = 100
batch = 128
"""


def write_mlp(folder):
    """Three dense layers, as PyTorch's exporter writes them, with weights as nn.Linear begins with."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    generator = np.random.default_rng(1)
    nodes, weights, value = [], [], "x"
    for i, (inner, outer) in enumerate(zip(MLP, MLP[1:]), 1):
        for name, shape in ((f"dense{i}.weight", (outer, inner)), (f"dense{i}.bias", (outer,))):
            data = generator.uniform(-1, 1, shape) / math.sqrt(inner)
            weights.append(numpy_helper.from_array(data.astype(np.float32), name))
        last = i == len(MLP) - 1
        nodes.append(helper.make_node("Gemm", [value, f"dense{i}.weight", f"dense{i}.bias"],
                                      ["logits" if last else f"h{i}"], name=f"dense{i}", transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [f"h{i}"], [f"a{i}"], name=f"relu{i}"))
        value = f"a{i}"
    graph = helper.make_graph(nodes, "mlp", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", MLP[0]])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", MLP[-1]])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "mlp.onnx")
    (folder / "mlp.toml").write_text(MLP_RECIPE)
    return folder / "mlp.toml"
