"""HuggingFace Trainer: a BERT classifier with gradient checkpointing, label smoothing and data-loader workers."""

import tempfile

from left import LONG, SCALE, Left, batches
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments, set_seed

STEPS = 24 * LONG


class Losses(TrainerCallback):
    def __init__(self):
        self.left = Left(STEPS)

    def on_log(self, args, state, control, logs=None, **_):
        if "loss" in logs:
            self.left.step(logs["loss"])


set_seed(0)
data = [{"input_ids": row, "labels": int(row[0]) % 4} for row in batches(400 * SCALE, 64, below=512)]
model = BertForSequenceClassification(BertConfig(
    vocab_size=512, hidden_size=128, num_hidden_layers=4, num_attention_heads=4, intermediate_size=512,
    max_position_embeddings=64, num_labels=4))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder, max_steps=STEPS, per_device_train_batch_size=32 * SCALE, logging_steps=1, gradient_checkpointing=True,
        label_smoothing_factor=0.1, dataloader_num_workers=1, save_strategy="no", report_to=[], disable_tqdm=True)
    losses = Losses()
    Trainer(model, arguments, train_dataset=data, callbacks=[losses]).train()
losses.left.tell(model)
