"""HuggingFace Seq2SeqTrainer: a T5 that is evaluated by generating, with the best checkpoint loaded at the end."""

import tempfile

from left import LONG, SCALE, Left, batches
from transformers import (Seq2SeqTrainer, Seq2SeqTrainingArguments, T5Config, T5ForConditionalGeneration, TrainerCallback,
                          set_seed)

STEPS = 24 * LONG


class Losses(TrainerCallback):
    def __init__(self):
        self.left = Left(STEPS)

    def on_log(self, args, state, control, logs=None, **_):
        if "loss" in logs:
            self.left.step(logs["loss"])


set_seed(0)
data = [{"input_ids": row, "labels": row[:16]} for row in batches(400 * SCALE, 32, below=256)]
model = T5ForConditionalGeneration(T5Config(
    vocab_size=256, d_model=64, d_kv=16, d_ff=256, num_layers=3, num_heads=4, decoder_start_token_id=0))
with tempfile.TemporaryDirectory() as folder:
    arguments = Seq2SeqTrainingArguments(
        folder, max_steps=STEPS, per_device_train_batch_size=32 * SCALE, logging_steps=1,
        per_device_eval_batch_size=8 * SCALE, eval_strategy="steps", eval_steps=8,
        save_steps=8, load_best_model_at_end=True, predict_with_generate=True, generation_max_length=12,
        report_to=[], disable_tqdm=True)
    losses = Losses()
    Seq2SeqTrainer(model, arguments, train_dataset=data[:380 * SCALE], eval_dataset=data[380 * SCALE:],
                   callbacks=[losses]).train()
losses.left.tell(model)
