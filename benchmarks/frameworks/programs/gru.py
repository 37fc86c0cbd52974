"""A GRU over packed sequences: each batch is as long as its longest text, which differs from batch to batch."""

import torch
from left import DEVICE, LONG, SCALE, Left, batches
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

STEPS, BATCH, WIDTH, WORDS = 30 * LONG, 16 * SCALE, 128, 512
torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(2 * WIDTH, WORDS)
        self.gru = nn.GRU(WIDTH, WIDTH, 2, batch_first=True, dropout=0.2, bidirectional=True)

    def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = pack_padded_sequence(self.embed(words), lengths, batch_first=True, enforce_sorted=False)
        return self.head(pad_packed_sequence(self.gru(packed)[0], batch_first=True)[0])


model = Tagger().to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
left = Left(STEPS)
draw = torch.Generator().manual_seed(2)
for words in batches(STEPS, BATCH, 64, below=WORDS):
    most = int(torch.randint(16, 65, (), generator=draw))
    lengths = torch.randint(8, most + 1, (BATCH,), generator=draw)
    words = words[:, :int(lengths.max())].to(DEVICE)
    loss = nn.functional.cross_entropy(model(words, lengths).flatten(0, 1), words.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    left.step(loss)
left.tell(model)
