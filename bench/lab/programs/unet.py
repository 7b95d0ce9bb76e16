"""A U-Net on microscopy-like images, in f32, as it is first written."""
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
width, size, batch = (64, 256, 16) if device == "cuda" else (4, 64, 2)


def block(inside, outside):
    return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(),
                         nn.Conv2d(outside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, width, depth=4):
        super().__init__()
        widths = [width * 2 ** i for i in range(depth + 1)]
        self.down = nn.ModuleList([block(1, widths[0])] + [block(a, b) for a, b in zip(widths, widths[1:])])
        self.up = nn.ModuleList([nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(widths, widths[1:])])
        self.merge = nn.ModuleList([block(2 * a, a) for a in widths[:-1]])
        self.head = nn.Conv2d(widths[0], 1, 1)

    def forward(self, x):
        skips = []
        for i, down in enumerate(self.down):
            x = down(x if i == 0 else nn.functional.max_pool2d(x, 2))
            skips.append(x)
        for up, merge, skip in reversed(list(zip(self.up, self.merge, skips))):
            x = merge(torch.cat([skip, up(x)], 1))
        return self.head(x)


class Cells(torch.utils.data.Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        random = torch.Generator().manual_seed(index)
        image = torch.rand(1, size, size, generator=random)
        return image, (image > 0.6).float()


torch.manual_seed(0)
model = UNet(width).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = torch.utils.data.DataLoader(Cells(), batch_size=batch, shuffle=True, num_workers=2)
criterion = nn.BCEWithLogitsLoss()
for step, (images, masks) in enumerate(loader):
    images, masks = images.to(device), masks.to(device)
    optimizer.zero_grad()
    loss = criterion(model(images), masks)
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f}", flush=True)
