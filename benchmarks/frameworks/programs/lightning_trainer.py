"""Lightning: its Trainer with validation, clipping, accumulation and checkpoints of the best and the last."""

import logging
import tempfile
import warnings

import lightning
import torch
from left import DEVICE, LONG, SCALE, Left, batches
from lightning.pytorch.callbacks import ModelCheckpoint, StochasticWeightAveraging
from torch import nn

STEPS = 30 * LONG
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.left = Left(2 * STEPS)
        self.net = nn.Sequential(*(nn.Sequential(nn.Conv2d(3 if i == 0 else 24, 24, 3, padding=1), nn.GroupNorm(4, 24),
                                                 nn.SiLU(inplace=True), nn.Dropout(0.1)) for i in range(6)),
                                 nn.Flatten(), nn.Linear(24 * 256, 10))

    def training_step(self, batch, number):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("train_loss", loss, prog_bar=True)
        self.left.step(loss)
        return loss

    def validation_step(self, batch, number):
        self.log("loss", nn.functional.cross_entropy(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), 1e-3)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)}


lightning.seed_everything(0, verbose=False)
data = [(image, int(label)) for image, label in zip(batches(400 * SCALE, 3, 16, 16), batches(400 * SCALE, 1, below=10))]
module = Module()
with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        max_epochs=6 * LONG, accelerator="gpu" if DEVICE == "cuda" else "cpu", devices=1,
        default_root_dir=folder, logger=False,
        accumulate_grad_batches=2, gradient_clip_val=1.0, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[ModelCheckpoint(folder, monitor="loss", save_last=True),
                   StochasticWeightAveraging(1e-3, swa_epoch_start=3)])
    trainer.fit(module, torch.utils.data.DataLoader(data[:320 * SCALE], 32 * SCALE),
                torch.utils.data.DataLoader(data[320 * SCALE:], 40 * SCALE))
module.left.tell(module)
