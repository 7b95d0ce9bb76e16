"""A training that gives the defaults itself. Nothing in it is for hone."""
import json
import sys

import torch

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.AdamW(model.parameters(), fused=False)
data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
loader = torch.utils.data.DataLoader(data, 8, True, num_workers=0, pin_memory=False)
done = 0
while done < int(sys.argv[1]):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        done += 1
print(json.dumps({"fused": optimizer.defaults["fused"], "workers": loader.num_workers}))
