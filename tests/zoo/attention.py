"""GPT-2, BERT, ViT and a Llama, of plain torch: for machines without transformers, and with attention that can be chosen.

Each is as its paper and its common implementations have it: layers, widths, norms, activations, biases, dropout, tied
embeddings, initial weights. Attention is torch's scaled_dot_product_attention, so that
torch.nn.attention.sdpa_kernel chooses its kernel.
"""

import torch
from torch import nn
from torch.nn import functional as F


def initialise(module: nn.Module) -> None:
    """Normal weights of deviation 0.02, no biases, as GPT-2's, BERT's and Llama's. Not a truncated normal distribution, for
    which PyTorch compiles a CUDA kernel at run time."""
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


class Attention(nn.Module):
    """Of `heads` heads; of fewer keys and values than queries where `kv_heads` says so (grouped queries). `rotate`: what is
    done with queries and keys, by rotary position embedding."""

    def __init__(self, width: int, heads: int, causal: bool, dropout: float = 0.0, bias: bool = True,
                 kv_heads: int | None = None):
        super().__init__()
        self.heads, self.kv_heads, self.head_width = heads, kv_heads or heads, width // heads
        self.causal, self.dropout = causal, dropout
        self.project = nn.Linear(width, (heads + 2 * self.kv_heads) * self.head_width, bias=bias)
        self.leave = nn.Linear(width, width, bias=bias)

    def forward(self, x: torch.Tensor, rotate=None) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.project(x).view(batch, length, -1, self.head_width).transpose(1, 2)
        query, key, value = parts.split([self.heads, self.kv_heads, self.kv_heads], dim=1)
        if rotate is not None:
            query, key = rotate(query), rotate(key)
        if self.kv_heads != self.heads:
            key, value = (t.repeat_interleave(self.heads // self.kv_heads, dim=1) for t in (key, value))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=self.causal,
                                               dropout_p=self.dropout if self.training else 0.0)
        return self.leave(mixed.transpose(1, 2).reshape(batch, length, width))


def perceptron(width: int, dropout: float, activation: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 4 * width), activation, nn.Linear(4 * width, width), nn.Dropout(dropout))


class PreNormBlock(nn.Module):
    """GPT-2's and ViT's."""

    def __init__(self, width: int, heads: int, causal: bool, dropout: float, activation: nn.Module):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal, dropout)
        self.drop, self.perceptron = nn.Dropout(dropout), perceptron(width, dropout, activation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.drop(self.attention(self.first(x)))
        return x + self.perceptron(self.second(x))


class PostNormBlock(nn.Module):
    """BERT's."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)
        self.attention = Attention(width, heads, False, dropout)
        self.drop, self.perceptron = nn.Dropout(dropout), perceptron(width, dropout, nn.GELU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x + self.drop(self.attention(x)))
        return self.second(x + self.perceptron(x))


class Gpt2(nn.Module):
    """Radford et al. 2019: learned positions, norms in front, the embedding as its head."""

    def __init__(self, layers: int, heads: int, width: int, length: int, vocabulary: int, dropout: float = 0.1):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(PreNormBlock(width, heads, True, dropout, nn.GELU(approximate="tanh"))
                                    for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.apply(initialise)
        self.head.weight = self.tokens.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.drop(self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device)))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Bert(nn.Module):
    """Devlin et al. 2018, with its head for masked words."""

    def __init__(self, layers: int, heads: int, width: int, length: int, vocabulary: int, dropout: float = 0.1):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.segments = nn.Embedding(2, width)
        self.norm, self.drop = nn.LayerNorm(width, eps=1e-12), nn.Dropout(dropout)
        self.blocks = nn.ModuleList(PostNormBlock(width, heads, dropout) for _ in range(layers))
        self.transform = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width, eps=1e-12))
        self.head = nn.Linear(width, vocabulary)
        self.apply(initialise)
        self.head.weight = self.tokens.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        positions = self.positions(torch.arange(ids.shape[1], device=ids.device))
        x = self.drop(self.norm(self.tokens(ids) + positions + self.segments(torch.zeros_like(ids))))
        for block in self.blocks:
            x = block(x)
        return self.head(self.transform(x))


class Vit(nn.Module):
    """Dosovitskiy et al. 2020: a class token in front of the patches."""

    def __init__(self, side: int, patch: int, layers: int, heads: int, width: int, classes: int, dropout: float = 0.1):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (side // patch) ** 2 + 1, width) * 0.02)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(PreNormBlock(width, heads, False, dropout, nn.GELU()) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)
        self.apply(initialise)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], dim=1)
        x = self.drop(x + self.positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class LlamaBlock(nn.Module):
    """RMS norms in front, grouped queries, a gated perceptron (SwiGLU), no biases."""

    def __init__(self, width: int, heads: int, kv_heads: int, inner: int):
        super().__init__()
        self.first, self.second = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.attention = Attention(width, heads, True, bias=False, kv_heads=kv_heads)
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor, rotate) -> torch.Tensor:
        x = x + self.attention(self.first(x), rotate)
        normed = self.second(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Llama(nn.Module):
    """Touvron et al. 2023, with rotary position embedding."""

    def __init__(self, layers: int, heads: int, kv_heads: int, width: int, inner: int, length: int, vocabulary: int):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, kv_heads, inner) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width, eps=1e-5), nn.Linear(width, vocabulary, bias=False)
        self.apply(initialise)
        half = width // heads // 2
        turns = torch.outer(torch.arange(length), 10000.0 ** (-torch.arange(half) / half))
        self.register_buffer("cosine", turns.cos(), persistent=False)
        self.register_buffer("sine", turns.sin(), persistent=False)

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        cosine, sine = (t[:x.shape[-2]].to(x.dtype) for t in (self.cosine, self.sine))
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cosine - b * sine, b * cosine + a * sine], dim=-1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x, self.rotate)
        return self.head(self.norm(x))
