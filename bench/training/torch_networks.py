"""The networks of steps.py in PyTorch, as functions of hone's weights, a batch and run.json: each gives its loss.

Written so that PyTorch is fast with them: products with their bias in one call (under autocast its result is then bf16, and no
sum in f32), attention by scaled_dot_product_attention, queries, keys and values by one product.
"""
import pathlib
import sys

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests" / "training"))
from torch_parity import gpt2 as plain_gpt2  # noqa: E402
from torch_parity import resnet50, unet  # noqa: E402

JOINED = ("query", "key", "value")


def mlp(p, batch, run):
    x = batch["x"]
    for i in (1, 2):
        x = F.relu(F.linear(x, p[f"dense{i}.weight"], p[f"dense{i}.bias"]))
    return F.cross_entropy(F.linear(x, p["dense3.weight"], p["dense3.bias"]), batch["label"])


def dense(p, x, at):
    """Of a weight [in, out]."""
    rows = torch.addmm(p[at + ".bias"], x.flatten(0, -2), p[at + ".weight"])
    return rows.unflatten(0, x.shape[:-1])


def attend(joined, heads, causal):
    """`joined`: queries, keys and values, [samples, places, 3 · hidden]."""
    width = joined.shape[-1] // 3 // heads
    q, k, v = (part.unflatten(-1, (heads, width)).transpose(1, 2) for part in joined.chunk(3, -1))
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(2)


def layers_of(p, prefix):
    return 1 + max(int(name[len(prefix):].split(".")[0]) for name in p if name.startswith(prefix))


def gpt2(p, batch, run):
    tokens, table = batch["tokens"], p["transformer.wte.weight"]
    norm = lambda x, at: F.layer_norm(x, x.shape[-1:], p[at + ".weight"], p[at + ".bias"], 1e-5)
    x = F.embedding(tokens, table) + p["transformer.wpe.weight"][:tokens.shape[1]]
    for i in range(layers_of(p, "transformer.h.")):
        at = f"transformer.h.{i}."
        y = attend(dense(p, norm(x, at + "ln_1"), at + "attn.c_attn"), run["heads"], True)
        x = x + dense(p, y, at + "attn.c_proj")
        y = F.gelu(dense(p, norm(x, at + "ln_2"), at + "mlp.c_fc"), approximate="tanh")
        x = x + dense(p, y, at + "mlp.c_proj")
    logits = F.linear(norm(x, "transformer.ln_f"), table)
    return F.cross_entropy(logits.flatten(0, 1), batch["next"].flatten())


def vit(p, batch, run):
    norm = lambda x, at: F.layer_norm(x, x.shape[-1:], p[at + ".weight"], p[at + ".bias"], 1e-12)
    at = "vit.embeddings."
    patches = p[at + "patch_embeddings.projection.weight"]
    x = F.conv2d(batch["image"], patches, p[at + "patch_embeddings.projection.bias"], stride=patches.shape[2:])
    x = x.flatten(2).transpose(1, 2)
    x = torch.cat([p[at + "cls_token"].expand(len(x), -1, -1).to(x.dtype), x], 1) + p[at + "position_embeddings"]
    for i in range(layers_of(p, "vit.encoder.layer.")):
        at = f"vit.encoder.layer.{i}."
        y = attend(dense(p, norm(x, at + "layernorm_before"), at + "attention.attention.joined"), run["heads"], False)
        x = x + dense(p, y, at + "attention.output.dense")
        y = F.gelu(dense(p, norm(x, at + "layernorm_after"), at + "intermediate.dense"))
        x = x + dense(p, y, at + "output.dense")
    first = norm(x, "vit.layernorm")[:, 0]
    return F.cross_entropy(F.linear(first, p["classifier.weight"], p["classifier.bias"]), batch["label"])


def bert_mlm(p, batch, run):
    tokens, table = batch["tokens"], p["bert.embeddings.word_embeddings.weight"]
    norm = lambda x, at: F.layer_norm(x, x.shape[-1:], p[at + ".LayerNorm.weight"], p[at + ".LayerNorm.bias"], 1e-12)
    x = F.embedding(tokens, table) + p["bert.embeddings.token_type_embeddings.weight"][0]
    x = norm(x + p["bert.embeddings.position_embeddings.weight"][:tokens.shape[1]], "bert.embeddings")
    for i in range(layers_of(p, "bert.encoder.layer.")):
        at = f"bert.encoder.layer.{i}."
        y = attend(dense(p, x, at + "attention.self.joined"), run["heads"], False)
        x = norm(x + dense(p, y, at + "attention.output.dense"), at + "attention.output")
        y = F.gelu(dense(p, x, at + "intermediate.dense"))
        x = norm(x + dense(p, y, at + "output.dense"), at + "output")
    x = norm(F.gelu(dense(p, x, "cls.predictions.transform.dense")), "cls.predictions.transform")
    logits = F.linear(x, table, p["cls.predictions.bias"])
    return F.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=-100)


def join_attention(values):
    """Weights and biases of queries, keys and values as one each, which is the same step."""
    joined = {}
    for name, value in values.items():
        parts = name.split(".")
        if parts[-2] not in JOINED:
            joined[name] = value
        elif parts[-2] == JOINED[0]:
            of = lambda part: values[".".join([*parts[:-2], part, parts[-1]])]
            joined[".".join([*parts[:-2], "joined", parts[-1]])] = torch.cat([of(part) for part in JOINED], -1)
    return joined


def width_of(values):
    """Of the hidden values of a transformer."""
    return next((value.shape[-1] for name, value in values.items() if "position" in name or "wpe" in name), 0)


def heads_of(network, values):
    """64 numbers a head, but in the tiny networks."""
    return 4 if network in ("gpt2_tiny", "bert_mlm") else max(1, width_of(values) // 64)


# On a CPU gpt2_tiny stays as it has always been measured there.
NETWORKS = {"mlp": mlp, "bert_mlm": bert_mlm, "gpt2_tiny": gpt2, "gpt2_124m": gpt2, "cells_unet": unet, "unet": unet,
            "resnet50": resnet50, "vit_b16": vit}
NETWORKS_ON_CPU = {"gpt2_tiny": plain_gpt2}
PREPARED = {"vit_b16": join_attention, "bert_mlm": join_attention}


def network_of(name, device):
    return NETWORKS_ON_CPU.get(name, NETWORKS[name]) if device == "cpu" else NETWORKS[name]
