"""Trains nothing for the seconds that are its argument; prints how many steps it took."""
import sys
import time

import torch


class Net(torch.nn.Module):
    def forward(self, batch):
        torch.operator("aten::linear", 0.002)
        torch.operator("aten::relu", 0.001)
        return batch


class Batches:
    def __init__(self, seconds):
        self.end = time.time() + seconds

    def __iter__(self):
        while time.time() < self.end:
            yield 1


model = Net().train()
optimizer = torch.optim.SGD()
steps = 0
for batch in torch.utils.data.DataLoader(Batches(float(sys.argv[1]))):
    model(batch)
    optimizer.step()
    steps += 1
print("trained" if steps > 10 else "no time")
