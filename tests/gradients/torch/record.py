"""Records what PyTorch's autograd says of the operators in torch_test.cpp: `python record.py > gradients.txt`.

Each case is a function of float64 tensors. Written are its inputs, the gradient that flows into its result (both random;
inputs named by `whole` are rounded to integers, which is where points between pixels have kinks),
and the gradients of its inputs, in %.17g: a line "case NAME", then "tensor DIMS… : VALUES…" for the inputs, the flowing
gradient and the inputs' gradients.
"""

import torch
import torch.nn.functional as F
from torchvision.ops import deform_conv2d, roi_align

CASES = {}


def case(name, function, *shapes, **limits):
    CASES[name] = (function, shapes, limits.get("low", -2.0), limits.get("high", 2.0), limits.get("whole", ()))


case("conv strided", lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=(1, 0)), (2, 3, 6, 5), (4, 3, 3, 2), (4,))
case("conv grouped dilated", lambda x, w: F.conv2d(x, w, groups=2, dilation=2), (1, 4, 6, 6), (6, 2, 2, 3))
case("conv 3d", lambda x, w: F.conv3d(x, w, padding=1, stride=(1, 2, 2)), (1, 2, 3, 4, 3), (2, 2, 2, 3, 2))
case("conv transposed", lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1), (2, 3, 3, 2), (3, 2, 3, 3), (2,))
case("max pool", lambda x: F.max_pool2d(x, 3, 2, 1), (1, 2, 6, 5))
case("average pool", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), (1, 2, 6, 5))
case("batch norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, True, 0.1, 1e-5), (3, 2, 4), (2,), (2,))
case("layer norm", lambda x, w, b: F.layer_norm(x, (5,), w, b), (2, 3, 5), (5,), (5,))
case("group norm", lambda x, w, b: F.group_norm(x, 2, w, b), (2, 4, 3), (4,), (4,))
case("instance norm", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), (2, 3, 5), (3,), (3,))
case("rms norm", lambda x, w: F.rms_norm(x, (5,), w, 1e-5), (2, 3, 5), (5,))
case("gelu", F.gelu, (4, 5))
case("gelu tanh", lambda x: F.gelu(x, approximate="tanh"), (4, 5))
for name, function in {"silu": F.silu, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "mish": F.mish, "elu": F.elu,
                       "selu": F.selu, "softplus": F.softplus, "softsign": F.softsign, "celu": lambda x: F.celu(x, 1.5)}.items():
    case(name, function, (4, 5), low=-4, high=4)
case("prelu", F.prelu, (2, 3, 4), (3,))
case("clip", lambda x: x.clamp(-0.5, 1.0), (4, 5))
case("softmax", lambda x: x.softmax(1), (2, 4, 3))
case("log softmax", lambda x: x.log_softmax(1), (2, 4, 3))
case("attention causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (1, 2, 4, 3), (1, 2, 4, 3), (1, 2, 4, 3))
case("attention masked shared", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, enable_gqa=True), (1, 4, 3, 2), (1, 2, 5, 2), (1, 2, 5, 2), (3, 5))
case("resize nearest", lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), (1, 2, 3, 2))
case("resize linear", lambda x: F.interpolate(x, size=(5, 7), mode="bilinear", align_corners=False), (1, 2, 3, 4))
case("resize linear corners", lambda x: F.interpolate(x, size=(5, 7), mode="bilinear", align_corners=True), (1, 2, 3, 4))
case("resize cubic", lambda x: F.interpolate(x, size=(5, 7), mode="bicubic", align_corners=False), (1, 2, 3, 4))
case("pad reflect", lambda x: F.pad(x, (2, 1, 1, 2), "reflect"), (1, 1, 4, 4))
case("pad edge", lambda x: F.pad(x, (2, 1, 1, 2), "replicate"), (1, 1, 4, 4))
case("pad wrap", lambda x: F.pad(x, (2, 1, 1, 2), "circular"), (1, 1, 4, 4))
case("gather", lambda x: x.gather(1, torch.tensor([[0, 3, 3], [1, 1, 2]])), (2, 4))
case("scatter add", lambda x, u: x.scatter_add(0, torch.tensor([[0, 1, 0], [2, 2, 1]]), u), (3, 4), (2, 3))
case("running sum", lambda x: x.cumsum(1), (3, 4))
case("largest", lambda x: x.amax(1), (3, 4))
case("product with zeros", lambda x: (x * torch.tensor([[1.0, 0, 1], [0, 0, 1], [1, 1, 1]])).prod(1), (3, 3))
case("log sum exp", lambda x: x.logsumexp(1), (3, 4))
case("norm", lambda x: x.norm(dim=1), (3, 4))
case("top k", lambda x: x.topk(2, 1)[0], (3, 5))
case("einsum", lambda a, b: torch.einsum("bqhd,bkhd->bhqk", a, b), (1, 3, 2, 4), (1, 2, 2, 4))
case("einsum of three", lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c), (2, 3), (3, 4), (4, 2))


def reordered(weights, order):
    """Gates in PyTorch's order, of gates in ONNX's."""
    return torch.cat([weights.chunk(len(order))[i] for i in order])


def recurrent(run, order, hidden):
    def function(x, w, r, b, *states):
        parameters = []
        for d in range(w.shape[0]):
            parameters += [reordered(w[d], order), reordered(r[d], order)]
            parameters += [reordered(half, order) for half in b[d].chunk(2)]
        hx = states if len(states) > 1 else states[0]
        return run(x, hx, parameters, True, 1, 0.0, False, w.shape[0] == 2, False)[0]

    return function


# ONNX's Y is [time, directions, batch, hidden], PyTorch's [time, batch, directions · hidden]: the test turns it.
case("lstm", recurrent(torch.lstm, (0, 2, 3, 1), 2), (3, 2, 3), (2, 8, 3), (2, 8, 2), (2, 16), (2, 2, 2), (2, 2, 2))
case("gru", recurrent(torch.gru, (1, 0, 2), 2), (3, 2, 3), (1, 6, 3), (1, 6, 2), (1, 12), (1, 2, 2))
case("rnn", recurrent(torch.rnn_tanh, (0,), 2), (3, 2, 3), (2, 2, 3), (2, 2, 2), (2, 4), (2, 2, 2))

case("cross entropy", lambda x, w: F.cross_entropy(x, torch.tensor([2, 0, -100, 1]), w.detach(), ignore_index=-100, label_smoothing=0.1), (4, 3), (3,), low=0.5)
case("cross entropy of pixels", lambda x: F.cross_entropy(x, torch.tensor([[[0, 1], [2, 255]]]), ignore_index=255), (1, 3, 2, 2))
case("cross entropy extreme", lambda x: F.cross_entropy(x * 1e4, torch.tensor([2, 0, 1])), (3, 3))
case("binary cross entropy", lambda x, w: F.binary_cross_entropy_with_logits(x, torch.tensor([[0, 1, 0.25], [1, 0, 0.9]]).double(), pos_weight=w.detach()), (2, 3), (3,), low=0.5)
case("binary cross entropy extreme", lambda x: F.binary_cross_entropy_with_logits(x * 1e4, torch.tensor([[0, 1, 0], [1, 0, 1]]).double()), (2, 3))
case("squared error", F.mse_loss, (2, 3), (2, 3))
case("absolute error", F.l1_loss, (2, 3), (2, 3))
case("huber", lambda x, t: F.huber_loss(x, t, delta=0.7), (2, 3), (2, 3))
case("distillation", lambda s, t: 9 * F.kl_div((s / 3).log_softmax(1), (t / 3).log_softmax(1), reduction="batchmean", log_target=True), (2, 4), (2, 4))

for mode in ("nearest", "bilinear", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        for align in (False, True):
            case(f"grid {mode} {padding} {int(align)}",
                 lambda x, grid, mode=mode, padding=padding, align=align: F.grid_sample(x, grid, mode, padding, align),
                 (1, 2, 4, 5), (1, 3, 7, 2), low=-2.6, high=2.6)
for padding in ("zeros", "border", "reflection"):
    case(f"grid of a volume {padding}", lambda x, grid, padding=padding: F.grid_sample(x, grid, "bilinear", padding, False),
         (1, 2, 3, 4, 2), (1, 2, 2, 3, 3))
    for mode in ("bilinear", "bicubic"):  # points on pixels, on the border and beyond it
        case(f"grid on pixels {mode} {padding}", lambda x, grid, mode=mode, padding=padding: F.grid_sample(x, grid, mode, padding, True),
             (1, 2, 5, 7), (1, 4, 6, 2), low=-3.0, high=3.0, whole=(1,))
case("spatial transformer", lambda x, theta: F.grid_sample(x, F.affine_grid(theta, (2, 3, 5, 3), align_corners=False), align_corners=False),
     (2, 3, 4, 5), (2, 2, 3), low=-0.9, high=0.9)
case("affine grid of a volume", lambda theta: F.affine_grid(theta, (2, 1, 3, 2, 4), align_corners=True), (2, 3, 4))

BOXES = [[0.3, 0.6, 3.7, 4.1], [-2.5, -1.5, 2.2, 1.9], [3.1, 2.2, 9.5, 8.5], [20, 20, 25, 24], [1.5, 1.5, 1.5, 1.5]]
REGIONS = torch.tensor([[image, *box] for image, box in zip((0, 1, 0, 1, 1), BOXES)], dtype=torch.float64)
for ratio in (-1, 2):
    for aligned in (False, True):
        case(f"regions {ratio} {int(aligned)}", lambda x, ratio=ratio, aligned=aligned: roi_align(x, REGIONS, (3, 2), 0.75, ratio, aligned), (2, 3, 5, 4))

case("deformed", lambda x, w, o, b, m: deform_conv2d(x, o, w, b, stride=(2, 1), padding=(1, 1), dilation=(1, 2), mask=m),
     (2, 4, 5, 4), (6, 2, 2, 2), (2, 32, 3, 4), (6,), (2, 16, 3, 4))
# As such layers begin: no offset, or a whole one, so that points are on pixels and on the line of zeros around the image.
case("deformed by whole pixels", lambda x, w, o: deform_conv2d(x, o, w, padding=1), (1, 2, 4, 3), (3, 2, 3, 3), (1, 18, 4, 3), whole=(2,))
case("deformed by nothing", lambda x, w, o: deform_conv2d(x, o, w, padding=1), (1, 2, 4, 3), (3, 2, 3, 3), (1, 18, 4, 3), low=-0.4, high=0.4, whole=(2,))

case("columns", lambda x: F.fold(x, (5, 6), (2, 3), dilation=(3, 1), padding=(1, 1), stride=2), (2, 12, 6))
case("unpool", lambda x: F.max_unpool2d(x, torch.tensor([[[[5, 0, 9], [17, 14, 23]]]]), 2), (1, 1, 2, 3))
case("determinant", torch.linalg.det, (2, 4, 4))
case("running product", lambda x: x.cumprod(1), (3, 4))
case("running product with zeros", lambda x: (x * torch.tensor([[1.0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 0]])).cumprod(1), (3, 4))
PLACES = torch.tensor([[0, 1, 0], [2, 2, 1], [0, 1, 1]])
for reduction in ("amax", "amin", "prod"):
    case(f"scatter {reduction}", lambda x, u, reduction=reduction: x.scatter_reduce(0, PLACES, u, reduction), (3, 4), (3, 3))
case("scatter amax of equals", lambda x, u: x.scatter_reduce(0, PLACES, u, "amax"), (3, 4), (3, 3), low=-0.9, high=0.9, whole=(0, 1))
case("fourier", lambda x: torch.view_as_real(torch.fft.fft(torch.view_as_complex(x), dim=1)), (2, 5, 2))
case("fourier inverse", lambda x: torch.view_as_real(torch.fft.ifft(torch.view_as_complex(x), n=7, dim=1)), (2, 5, 2))
case("fourier half", lambda x: torch.view_as_real(torch.fft.rfft(x[..., 0], dim=1)), (2, 6, 1))
case("fourier half inverse", lambda x: torch.fft.irfft(torch.view_as_complex(x), n=6, dim=1)[..., None], (2, 4, 2))
case("frames", lambda x, w: torch.view_as_real(torch.stft(x[..., 0], 5, 3, window=w, center=False, return_complex=True).transpose(1, 2)), (2, 11, 1), (5,))


def write(tensor):
    values = " ".join("%.17g" % value for value in tensor.detach().reshape(-1).tolist())
    print("tensor", *tensor.shape, ":", values)


def main():
    print("# PyTorch", torch.__version__)
    for number, (name, (function, shapes, low, high, whole)) in enumerate(CASES.items()):
        generator = torch.Generator().manual_seed(number)
        inputs = [torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low for shape in shapes]
        inputs = [(x.round() if i in whole else x).requires_grad_() for i, x in enumerate(inputs)]
        result = function(*inputs)
        flowing = torch.rand(result.shape, generator=generator, dtype=torch.float64) + 0.5
        gradients = torch.autograd.grad(result, inputs, flowing, allow_unused=True)
        print("case", name)
        for tensor in inputs + [flowing]:
            write(tensor)
        for tensor, gradient in zip(inputs, gradients):
            write(gradient if gradient is not None else torch.zeros_like(tensor))


if __name__ == "__main__":
    main()
