"""Faster R-CNN of torchvision, two images a step, in f32."""
import torch
import torchvision

device = "cuda" if torch.cuda.is_available() else "cpu"
height, width = (600, 800) if device == "cuda" else (96, 128)
sizes = {} if device == "cuda" else {"min_size": 96, "max_size": 128}
torch.manual_seed(0)
model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=5, **sizes).to(device)
model.train()
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.005, momentum=0.9, weight_decay=5e-4)


def batch():
    images = [torch.rand(3, height, width) for _ in range(2)]
    targets = [{"boxes": torch.tensor([[10.0, 10.0, width / 2, height / 2], [20.0, 20.0, width - 10.0, height - 10.0]]),
                "labels": torch.tensor([1, 2])} for _ in images]
    return [i.to(device) for i in images], [{k: v.to(device) for k, v in t.items()} for t in targets]


step = 0
while True:
    images, targets = batch()
    losses = model(images, targets)
    loss = sum(losses.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 10 == 0:
        print(f"step {step}: loss {loss.item():.4f}", flush=True)
