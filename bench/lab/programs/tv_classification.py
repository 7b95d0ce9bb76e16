"""ResNet-50 on a folder of JPEG files, after torchvision's reference: ImageFolder, random crops, SGD."""
import tempfile
from pathlib import Path

import numpy as np
import torch
import torchvision
from PIL import Image
from torchvision import transforms

device = "cuda" if torch.cuda.is_available() else "cpu"
name, batch = ("resnet50", 64) if device == "cuda" else ("resnet18", 2)


def make_folder(images=512):
    folder, random = Path(tempfile.mkdtemp()), np.random.default_rng(0)
    for i in range(images):
        path = folder / f"class{i % 8}" / f"{i}.jpg"
        path.parent.mkdir(exist_ok=True)
        small = random.integers(0, 255, (24, 32, 3), dtype=np.uint8)
        Image.fromarray(small).resize((500, 375)).save(path, quality=90)
    return folder


torch.manual_seed(0)
dataset = torchvision.datasets.ImageFolder(make_folder(), transforms.Compose([
    transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
    transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]))
loader = torch.utils.data.DataLoader(dataset, batch_size=batch, shuffle=True, num_workers=4)
model = getattr(torchvision.models, name)(num_classes=8).to(device)
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
for epoch in range(1000):
    for step, (images, labels) in enumerate(loader):
        images, labels = images.to(device), labels.to(device)
        output = model(images)
        loss = criterion(output, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}", flush=True)
