"""A residual network in DistributedDataParallel; start it with torchrun. Ranks share a GPU over gloo where there are too few."""
import torch
import torch.distributed as dist
import torchvision
from torch.nn.parallel import DistributedDataParallel

cuda = torch.cuda.is_available()
enough = torch.cuda.device_count() > 1
dist.init_process_group("nccl" if enough else "gloo")
rank = dist.get_rank()
device = torch.device("cuda", rank if enough else 0) if cuda else torch.device("cpu")
batch, size = (64, 224) if cuda else (2, 32)
torch.manual_seed(rank)
model = DistributedDataParallel(torchvision.models.resnet18(num_classes=10).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
step = 0
while True:
    images, labels = torch.randn(batch, 3, size, size).to(device), torch.randint(0, 10, (batch,)).to(device)
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if rank == 0 and step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}", flush=True)
