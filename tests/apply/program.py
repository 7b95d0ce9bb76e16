"""A training as somebody writes it, which says at its end what it ran with. Nothing in it is for hone."""
import json
import sys

import torch
import torch.nn.functional as F


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.head = torch.nn.Linear(8, 4)
        self.types = []

    def forward(self, x):
        x = self.conv(x)
        self.types.append(str(x.dtype))
        return self.head(x.mean((2, 3)))


def main(steps):
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    data = torch.utils.data.TensorDataset(torch.randn(64, 3, 8, 8), torch.randint(0, 4, (64,)))
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    done, nones, losses = 0, True, []
    while done < steps:
        for x, y in loader:
            optimizer.zero_grad(set_to_none=False)
            nones = nones and all(p.grad is None for p in model.parameters())
            out = model(x)
            loss = F.cross_entropy(out, y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            done += 1
    print(json.dumps({
        "fused": optimizer.defaults["fused"], "workers": loader.num_workers, "batch_size": loader.batch_size, "types": sorted(set(model.types)),
        "loss_type": str(loss.dtype), "channels_last": model.conv.weight.is_contiguous(memory_format=torch.channels_last)
        and not model.conv.weight.is_contiguous(), "precision": torch.get_float32_matmul_precision(),
        "benchmark": torch.backends.cudnn.benchmark, "grads_were_none": nones,
        "compiled": model._compiled_call_impl is not None, "losses": losses}))


main(int(sys.argv[1]))
