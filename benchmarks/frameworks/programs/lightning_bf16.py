"""Lightning: a transformer in bfloat16 with accumulation over four batches, clipping and a schedule."""

import logging
import tempfile
import warnings

import lightning
import torch
from left import DEVICE, LONG, SCALE, Left, batches
from torch import nn

EPOCHS, BATCHES, GROUP = 3 * LONG, 32, 4
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.left = Left(EPOCHS * BATCHES)
        self.embed = nn.Embedding(512, 128)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(128, 4, 512, 0.1, batch_first=True) for _ in range(4))
        self.head = nn.Linear(128, 512)

    def training_step(self, batch, number):
        hidden = self.embed(batch)
        for layer in self.layers:
            hidden = layer(hidden)
        loss = nn.functional.cross_entropy(self.head(hidden).flatten(0, 1), batch.roll(1, 1).flatten())
        self.log("train_loss", loss, prog_bar=True)
        self.left.step(loss)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), 1e-3)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * BATCHES // GROUP)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


lightning.seed_everything(0, verbose=False)
module = Module()
with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        max_epochs=EPOCHS, accelerator="gpu" if DEVICE == "cuda" else "cpu", devices=1, default_root_dir=folder,
        precision="bf16-mixed", accumulate_grad_batches=GROUP, gradient_clip_val=1.0, logger=False,
        enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False)
    trainer.fit(module, torch.utils.data.DataLoader(list(batches(BATCHES * 8 * SCALE, 64, below=512)), 8 * SCALE))
module.left.tell(module)
