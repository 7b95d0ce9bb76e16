"""A model that only answers."""
import json
import sys

import torch

model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).eval()
with torch.no_grad():
    for _ in range(int(sys.argv[1])):
        answer = model(torch.ones(2, 16))
print(json.dumps({"answer": answer.float().sum().item()}))
