"""A vision transformer from timm, trained in f32 with its own optimizer factory."""
import timm
import timm.optim
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
name, batch = ("vit_small_patch16_224", 64) if device == "cuda" else ("vit_tiny_patch16_224", 1)


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        random = torch.Generator().manual_seed(index)
        return torch.randn(3, 224, 224, generator=random), index % 1000


torch.manual_seed(0)
model = timm.create_model(name, pretrained=False, num_classes=1000).to(device)
optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
loader = torch.utils.data.DataLoader(Images(), batch_size=batch, num_workers=4, pin_memory=True)
criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
for step, (images, labels) in enumerate(loader):
    images, labels = images.to(device), labels.to(device)
    loss = criterion(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}", flush=True)
