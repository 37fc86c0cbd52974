"""accelerate: its own loop with accumulation, clipping, bfloat16 autocast, gathered metrics and saved states."""

import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from left import LONG, SCALE, Left, batches
from transformers import GPT2Config, GPT2LMHeadModel

STEPS = 64 * LONG
set_seed(0)
accelerator = Accelerator(gradient_accumulation_steps=2, mixed_precision="bf16")
model = GPT2LMHeadModel(GPT2Config(vocab_size=512, n_positions=64, n_embd=128, n_layer=4, n_head=4))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=STEPS)
loader = torch.utils.data.DataLoader(list(batches(8 * SCALE * STEPS, 64, below=512)), batch_size=8 * SCALE)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
left = Left(STEPS)
with tempfile.TemporaryDirectory() as folder:
    for number, batch in enumerate(loader):
        with accelerator.accumulate(model):
            loss = model(input_ids=batch, labels=batch).loss
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        left.step(accelerator.gather_for_metrics(loss.detach()).mean())
        if number % 16 == 15:
            accelerator.save_state(folder)
        if number == 40:
            accelerator.load_state(folder)
left.tell(accelerator.unwrap_model(model))
