"""The zoo's architectures in PyTorch, with the weights of the ONNX file: the same names, the same numbers.

ResNet-50 and MobileNetV2 are torchvision's. The others are written here under Hugging Face's module paths (and the
U-Net under those of its best-known implementation), with scaled_dot_product_attention, as a careful user would.
"""
import onnx
import torch
import torchvision
from onnx import numpy_helper
from torch import nn
from torch.nn import functional


def part(**children):
    """A module that only holds others, under these names."""
    module = nn.Module()
    for name, child in children.items():
        setattr(module, name, child)
    return module


def double_convolution(channels_in, channels):
    return nn.Sequential(nn.Conv2d(channels_in, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
                         nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU())


class UNet(nn.Module):
    output_names = ["logits"]

    def __init__(self, base=64, levels=4, classes=3):
        super().__init__()
        self.levels = levels
        self.inc = part(double_conv=double_convolution(3, base))
        for level in range(1, levels + 1):
            wide = base << level
            inner = part(double_conv=double_convolution(wide // 2, wide))
            setattr(self, f"down{level}", part(maxpool_conv=nn.ModuleList([nn.MaxPool2d(2), inner])))
            setattr(self, f"up{levels + 1 - level}", part(
                up=nn.ConvTranspose2d(wide, wide // 2, 2, stride=2),
                conv=part(double_conv=double_convolution(wide, wide // 2))))
        self.outc = part(conv=nn.Conv2d(base, classes, 1))

    def forward(self, image):
        skips = [self.inc.double_conv(image)]
        for level in range(1, self.levels + 1):
            pool, inner = getattr(self, f"down{level}").maxpool_conv
            skips.append(inner.double_conv(pool(skips[-1])))
        x = skips.pop()
        for level in range(1, self.levels + 1):
            up = getattr(self, f"up{level}")
            x = up.conv.double_conv(torch.cat([skips.pop(), up.up(x)], 1))
        return self.outc.conv(x)


def split_heads(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def attend(q, k, v, heads, **options):
    q, k, v = (split_heads(x, heads) for x in (q, k, v))
    return functional.scaled_dot_product_attention(q, k, v, **options).transpose(1, 2).flatten(2)


class Bert(nn.Module):
    output_names = ["last_hidden_state", "pooler_output"]

    def __init__(self, layers=12, hidden=768, heads=12, intermediate=3072):
        super().__init__()
        self.heads = heads

        def norm():
            return nn.LayerNorm(hidden, eps=1e-12)

        def square():
            return nn.Linear(hidden, hidden)

        self.embeddings = part(word_embeddings=nn.Embedding(30522, hidden), LayerNorm=norm(),
                               position_embeddings=nn.Embedding(512, hidden),
                               token_type_embeddings=nn.Embedding(2, hidden))
        self.encoder = part(layer=nn.ModuleList(part(
            attention=part(self=part(query=square(), key=square(), value=square()),
                           output=part(dense=square(), LayerNorm=norm())),
            intermediate=part(dense=nn.Linear(hidden, intermediate)),
            output=part(dense=nn.Linear(intermediate, hidden), LayerNorm=norm())) for _ in range(layers)))
        self.pooler = part(dense=square())

    def forward(self, ids, mask, types):
        at = self.embeddings
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = at.LayerNorm(at.word_embeddings(ids) + at.token_type_embeddings(types) + at.position_embeddings(positions))
        added = (1 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for at in self.encoder.layer:
            own, out = at.attention.self, at.attention.output
            seen = attend(own.query(x), own.key(x), own.value(x), self.heads, attn_mask=added)
            x = out.LayerNorm(out.dense(seen) + x)
            x = at.output.LayerNorm(at.output.dense(functional.gelu(at.intermediate.dense(x))) + x)
        return x, torch.tanh(self.pooler.dense(x[:, 0]))


class Gpt2(nn.Module):
    output_names = ["logits"]

    def __init__(self, layers=12, hidden=768, heads=12):
        super().__init__()
        self.heads = heads
        self.transformer = part(
            wte=nn.Embedding(50257, hidden), wpe=nn.Embedding(1024, hidden), ln_f=nn.LayerNorm(hidden),
            h=nn.ModuleList(part(
                ln_1=nn.LayerNorm(hidden), ln_2=nn.LayerNorm(hidden),
                attn=part(c_attn=nn.Linear(hidden, 3 * hidden), c_proj=nn.Linear(hidden, hidden)),
                mlp=part(c_fc=nn.Linear(hidden, 4 * hidden), c_proj=nn.Linear(4 * hidden, hidden)))
                for _ in range(layers)))

    def forward(self, ids):
        at = self.transformer
        x = at.wte(ids) + at.wpe(torch.arange(ids.shape[1], device=ids.device))
        for block in at.h:
            q, k, v = block.attn.c_attn(block.ln_1(x)).chunk(3, -1)
            x = x + block.attn.c_proj(attend(q, k, v, self.heads, is_causal=True))
            x = x + block.mlp.c_proj(functional.gelu(block.mlp.c_fc(block.ln_2(x)), approximate="tanh"))
        return functional.linear(at.ln_f(x), at.wte.weight)


class Vit(nn.Module):
    output_names = ["logits"]

    def __init__(self, layers=12, hidden=768, heads=12, patches=196, classes=1000):
        super().__init__()
        self.heads = heads

        def norm():
            return nn.LayerNorm(hidden, eps=1e-12)

        def square():
            return nn.Linear(hidden, hidden)

        embeddings = part(patch_embeddings=part(projection=nn.Conv2d(3, hidden, 16, stride=16)),
                          cls_token=nn.Parameter(torch.zeros(1, 1, hidden)),
                          position_embeddings=nn.Parameter(torch.zeros(1, patches + 1, hidden)))
        layer = nn.ModuleList(part(
            layernorm_before=norm(), layernorm_after=norm(),
            attention=part(attention=part(query=square(), key=square(), value=square()), output=part(dense=square())),
            intermediate=part(dense=nn.Linear(hidden, 4 * hidden)),
            output=part(dense=nn.Linear(4 * hidden, hidden))) for _ in range(layers))
        self.vit = part(embeddings=embeddings, encoder=part(layer=layer), layernorm=norm())
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, image):
        at = self.vit.embeddings
        x = at.patch_embeddings.projection(image).flatten(2).transpose(1, 2)
        x = torch.cat([at.cls_token.expand(x.shape[0], -1, -1), x], 1) + at.position_embeddings
        for at in self.vit.encoder.layer:
            y, own = at.layernorm_before(x), at.attention.attention
            x = x + at.attention.output.dense(attend(own.query(y), own.key(y), own.value(y), self.heads))
            x = x + at.output.dense(functional.gelu(at.intermediate.dense(at.layernorm_after(x))))
        return self.classifier(self.vit.layernorm(x)[:, 0])


def of_torchvision(build):
    def make():
        module = build()
        module.output_names = ["output"]
        return module
    return make


BUILDERS = {
    "unet": UNet,
    "resnet50": of_torchvision(torchvision.models.resnet50),
    "mobilenet_v2": of_torchvision(torchvision.models.mobilenet_v2),
    "bert_base": Bert,
    "minilm": lambda: Bert(layers=6, hidden=384, intermediate=1536),
    "gpt2": Gpt2,
    "vit": Vit,
}


def weights_of(graph):
    """The named weights as PyTorch stores them: those of linear layers that the file has as [in, out] are turned."""
    turned = set()
    for node in graph.node:
        transposed = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
        if node.op_type in ("MatMul", "Gemm") and not transposed:
            turned.add(node.input[1])
    weights = {}
    for tensor in graph.initializer:
        value = torch.from_numpy(numpy_helper.to_array(tensor).copy())
        weights[tensor.name] = value.T.contiguous() if tensor.name in turned and value.ndim == 2 else value
    return weights


def load_model(path):
    """The architecture that the file is named after, with the file's weights: all of them, each in its shape."""
    module = BUILDERS[path.stem]().eval()
    # Constants that are no weights have other names: "layer.0/Constant", "Constant_1".
    weights = {name: value for name, value in weights_of(onnx.load(path).graph).items() if "." in name and "/" not in name}
    counters = {name: value for name, value in module.state_dict().items() if name.endswith("num_batches_tracked")}
    module.load_state_dict(weights | counters)  # strict: a name too many or too few, or another shape, is an error
    print(f"{path.name}: {sum(parameter.numel() for parameter in module.parameters()):,} parameters")
    return module
