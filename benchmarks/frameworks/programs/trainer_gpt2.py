"""HuggingFace Trainer: a GPT-2 in bfloat16 with dropout, gradient accumulation, evaluations and checkpoints on the way.
Argument: `stop` ends it after its first checkpoint, `resume` goes on from there, in the folder JOB_FOLDER."""

import os
import sys
import tempfile

from left import DEVICE, LONG, SCALE, Left, batches
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

STEPS, SAVE = 24 * LONG, 10
PART = sys.argv[1] if len(sys.argv) > 1 else ""


class Losses(TrainerCallback):
    def __init__(self):
        self.left = Left(STEPS - SAVE if PART == "resume" else STEPS)

    def on_log(self, args, state, control, logs=None, **_):
        if "loss" in logs:
            self.left.step(logs["loss"])
        elif "eval_loss" in logs:
            self.left.note(logs["eval_loss"])

    def on_save(self, args, state, control, **_):
        control.should_training_stop = PART == "stop"


set_seed(0)
data = [{"input_ids": row, "labels": row} for row in batches(256 * SCALE, 64, below=512)]
model = GPT2LMHeadModel(GPT2Config(vocab_size=512, n_positions=64, n_embd=128, n_layer=4, n_head=4))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        os.environ["JOB_FOLDER"] if PART else folder, max_steps=STEPS, per_device_train_batch_size=8 * SCALE,
        gradient_accumulation_steps=2, bf16=True, use_cpu=DEVICE == "cpu", logging_steps=1, eval_strategy="steps",
        eval_steps=8, save_steps=SAVE, per_device_eval_batch_size=16 * SCALE, report_to=[], disable_tqdm=True)
    losses = Losses()
    trainer = Trainer(model, arguments, train_dataset=data[:192 * SCALE], eval_dataset=data[192 * SCALE:],
                      callbacks=[losses])
    trainer.train(resume_from_checkpoint=PART == "resume")
losses.left.tell(model)
