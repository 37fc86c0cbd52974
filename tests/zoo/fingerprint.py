"""A digest of a tensor that its own device computes: for models whose state would take long to copy and hash on the host.

    job.digests(of=fingerprint)

128 bits: two sums of all 8-byte words, each word times a number that depends on its place, modulo 2**64. Integer arithmetic
is exact, so that equal bits give equal sums on every device, in whatever order they are added. One word that differs always
changes both sums; several that differ together escape by a chance of about 2**-64.
"""

import torch

CHUNK = 1 << 22  # words at a time: what is computed with takes some 100 MiB
FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)  # odd, without a pattern


def signed(value: int) -> int:
    """The 64-bit integer of the same bits that torch takes."""
    return value - (1 << 64) if value >> 63 else value


def words_of(tensor: torch.Tensor) -> torch.Tensor:
    """All bytes, with zeros behind them to fill the last word."""
    data = tensor.detach().contiguous().reshape(-1)
    if data.stride(0) != 1:  # of none or one element, any stride is contiguous
        data = data.clone(memory_format=torch.contiguous_format)
    data = data.view(torch.uint8)
    if missing := -len(data) % 8:
        data = torch.cat([data, data.new_zeros(missing)])
    elif data.storage_offset() * data.element_size() % 8:
        data = data.clone()
    return data.view(torch.int64)


def weights(first: int, count: int, factor: int, device: torch.device) -> torch.Tensor:
    """Odd numbers for the words from `first` on."""
    mixed = torch.arange(first, first + count, device=device) * signed(factor)
    mixed = (mixed ^ (mixed >> 29)) * signed(0xBF58476D1CE4E5B9)
    return (mixed ^ (mixed >> 32)) | 1


def fingerprint(tensor: torch.Tensor) -> str:
    """Of type, shape and every byte."""
    words = words_of(tensor)
    sums = []
    for factor in FACTORS:
        parts = [(part * weights(number * CHUNK, len(part), factor, words.device)).sum()
                 for number, part in enumerate(words.split(CHUNK)) if len(part)]
        sums.append(sum(int(part) for part in parts) % (1 << 64))
    return f"{tensor.dtype}{tuple(tensor.shape)}:{sums[0]:016x}{sums[1]:016x}"
