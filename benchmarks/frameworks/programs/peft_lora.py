"""peft: LoRA adapters on a GPT-2 that is frozen, saved and merged at the end."""

import tempfile

import torch
from left import DEVICE, LONG, SCALE, Left, batches
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

STEPS = 32 * LONG
set_seed(0)
base = GPT2LMHeadModel(GPT2Config(vocab_size=512, n_positions=64, n_embd=128, n_layer=4, n_head=4))
model = get_peft_model(base, LoraConfig(r=8, lora_dropout=0.1, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True))
model.to(DEVICE)
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), 1e-3)
left = Left(STEPS)
with tempfile.TemporaryDirectory() as folder:
    for number, batch in enumerate(batches(STEPS, 16 * SCALE, 64, below=512)):
        batch = batch.to(DEVICE)
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        left.step(loss)
        if number % 8 == 7:
            model.save_pretrained(folder)
left.tell(model.merge_and_unload())
