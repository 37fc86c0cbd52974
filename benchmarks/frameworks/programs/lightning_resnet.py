"""Lightning: a ResNet-18 of torchvision on small images, with validation and checkpoints of the best and the last."""

import logging
import tempfile
import warnings

import lightning
import torch
import torchvision
from left import DEVICE, LONG, SCALE, Left, batches
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn

EPOCHS = 4 * LONG
TRAIN, VALID, BATCH = 6, 2, 16 * SCALE  # batches of an epoch, and their images
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.left = Left(EPOCHS * TRAIN)
        self.net = torchvision.models.resnet18(num_classes=10)

    def training_step(self, batch, number):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("train_loss", loss)
        self.left.step(loss)
        return loss

    def validation_step(self, batch, number):
        self.log("loss", nn.functional.cross_entropy(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)


lightning.seed_everything(0, verbose=False)
count = (TRAIN + VALID) * BATCH
data = [(image, int(label)) for image, label in zip(batches(count, 3, 32, 32), batches(count, 1, below=10))]
module = Module()
with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        max_epochs=EPOCHS, accelerator="gpu" if DEVICE == "cuda" else "cpu", devices=1, default_root_dir=folder,
        logger=False, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[ModelCheckpoint(folder, monitor="loss", save_last=True)])
    trainer.fit(module, torch.utils.data.DataLoader(data[:TRAIN * BATCH], BATCH, shuffle=True),
                torch.utils.data.DataLoader(data[TRAIN * BATCH:], BATCH))
module.left.tell(module)
