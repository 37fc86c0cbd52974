"""transformers: a GPT-2 that answers; each prompt of a conversation has all before it, and the key-value cache grows."""

import torch
from left import DEVICE, LONG, SCALE, Left, batches
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel, set_seed

TALKS, TURNS, MOST, ANSWERED = 8 * LONG, 4, 12, 16
set_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=512, n_positions=128, n_embd=128, n_layer=4, n_head=4, bos_token_id=0,
                                   eos_token_id=0, pad_token_id=0)).to(DEVICE).eval()


def generate(said: torch.Tensor) -> torch.Tensor:
    return model.generate(said, attention_mask=torch.ones_like(said), max_new_tokens=ANSWERED, min_new_tokens=ANSWERED,
                          do_sample=True, top_k=50)


@torch.no_grad()
def generate_blindly(said: torch.Tensor) -> torch.Tensor:
    """generate() ends once the device says that all texts have, which the simulated one never does."""
    cache, asked = DynamicCache(config=model.config), said
    for _ in range(ANSWERED):
        logits = model(input_ids=asked, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[:, -1].float()
        logits = logits.masked_fill(logits < logits.topk(50)[0][:, -1:], -torch.inf)
        asked = torch.multinomial(logits.softmax(-1), 1)
        said = torch.cat([said, asked], dim=1)
    return said


left = Left(TALKS * TURNS)
draw = torch.Generator().manual_seed(2)
for talk in batches(TALKS, 4 * SCALE, TURNS, MOST, below=512):
    said = torch.empty(len(talk), 0, dtype=torch.long, device=DEVICE)
    for question, length in zip(talk.clamp(min=1).unbind(1), torch.randint(4, MOST + 1, (TURNS,), generator=draw)):
        said = torch.cat([said, question[:, :length].to(DEVICE)], dim=1)
        said = generate(said) if DEVICE == "cpu" else generate_blindly(said)
        left.step(said.sum())
left.tell(model)
