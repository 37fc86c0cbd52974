"""Lightning: a GAN with two optimizers by hand, in bfloat16, through Fabric's strategies underneath."""

import logging
import tempfile
import warnings

import lightning
import torch
from left import DEVICE, LONG, SCALE, Left, batches
from torch import nn

STEPS = 40 * LONG
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def layers(width: int, out: int) -> nn.Sequential:
    return nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.LeakyReLU(0.2)) for _ in range(5)),
                         nn.Linear(width, out))


class Gan(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.left = Left(STEPS)
        self.generator, self.critic = layers(128, 128), layers(128, 1)

    def training_step(self, batch, number):
        first, second = self.optimizers()
        fake = self.generator(torch.randn_like(batch))
        self.toggle_optimizer(second)
        loss = self.critic(fake.detach()).mean() - self.critic(batch).mean()
        second.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(second, gradient_clip_val=0.5, gradient_clip_algorithm="norm")
        second.step()
        self.untoggle_optimizer(second)
        self.toggle_optimizer(first)
        first.zero_grad()
        self.manual_backward(-self.critic(fake).mean())
        first.step()
        self.untoggle_optimizer(first)
        self.left.step(loss)

    def configure_optimizers(self):
        return torch.optim.Adam(self.generator.parameters(), 1e-4), torch.optim.Adam(self.critic.parameters(), 1e-4)


lightning.seed_everything(0, verbose=False)
module = Gan()
with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        max_epochs=10, accelerator="gpu" if DEVICE == "cuda" else "cpu", devices=1, default_root_dir=folder, logger=False,
        precision="bf16-mixed", enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False)
    trainer.fit(module, torch.utils.data.DataLoader(list(batches(STEPS // 10 * 1024 * SCALE, 128)), 1024 * SCALE))
module.left.tell(module)
