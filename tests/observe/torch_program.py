"""A training program for torch_test.cpp: two steps that hone records, then the same two that torch.profiler records, too.

Usage: torch_program.py FOLDER_OF_HONE_TORCH KINETO_JSON
"""
import sys

import torch

sys.path.insert(0, sys.argv[1])
import hone_torch  # noqa: E402

print("armed:", hone_torch.arm(), flush=True)
torch.manual_seed(0)
torch.set_num_threads(1)


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Net(torch.nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed = torch.nn.Conv2d(3, width, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(width)
        self.blocks = torch.nn.ModuleList([Block(width) for _ in range(2)])
        self.head = torch.nn.Linear(width, 10)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(self.norm(self.embed(x)).relu(), 2)
        x = x.flatten(2).transpose(1, 2)
        heads = x.reshape(x.shape[0], -1, 4, 4).transpose(1, 2)
        if hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            heads = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
        x = x + heads.transpose(1, 2).reshape(x.shape)
        for block in self.blocks:
            x = block(x)
        x = x[:, torch.arange(0, x.shape[1], 2)]  # an index: a list of tensors that may be None
        return self.head(torch.nn.functional.dropout(x.mean(1), 0.25))


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
images, labels = torch.randn(64, 3, 8, 8), torch.randint(0, 10, (64,))
batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), batch_size=8)


def step(batch):
    image, label = batch
    optimizer.zero_grad()
    output = net(image)
    both = torch.cat([output, output.clamp(min=0.5)], 1)
    loss = torch.nn.functional.cross_entropy(both, label)
    loss.backward()
    optimizer.step()
    return loss.item()


def steps():
    iterator = iter(batches)
    with torch.autograd.profiler.record_function("compared"):
        for _ in range(2):
            step(next(iterator))


step((images[:8], labels[:8]))  # the optimizer makes its state
steps()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
    steps()
profile.export_chrome_trace(sys.argv[2])
