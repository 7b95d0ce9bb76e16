"""A training of one rank on gloo, which says at its end how its gradients are reduced."""
import json
import os
import sys

import torch
import torch.distributed

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(int(sys.argv[1])):
    loss = model(torch.ones(2, 16)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"views": model.gradient_as_bucket_view, "bytes": model.bucket_bytes_cap}))
