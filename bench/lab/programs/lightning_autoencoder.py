"""A convolutional autoencoder under Lightning's Trainer, with its defaults."""
import lightning
import torch
from torch import nn

small = not torch.cuda.is_available()
width, size, batch = (4, 32, 2) if small else (96, 128, 64)


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        return torch.rand(3, size, size, generator=torch.Generator().manual_seed(index))


class Autoencoder(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
                                     nn.Conv2d(width, 2 * width, 3, 2, 1), nn.BatchNorm2d(2 * width), nn.ReLU(),
                                     nn.Conv2d(2 * width, 4 * width, 3, 2, 1), nn.ReLU())
        self.decoder = nn.Sequential(nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1), nn.BatchNorm2d(2 * width), nn.ReLU(),
                                     nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
                                     nn.ConvTranspose2d(width, 3, 4, 2, 1))

    def training_step(self, images, _):
        loss = nn.functional.mse_loss(self.decoder(self.encoder(images)), images)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


lightning.seed_everything(0)
loader = torch.utils.data.DataLoader(Images(), batch_size=batch, num_workers=3)
lightning.Trainer(max_epochs=1, logger=False, enable_checkpointing=False).fit(Autoencoder(), loader)
