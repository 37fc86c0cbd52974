"""A job that reads a cache now and then. Under a budget the cache's 8 MB make room for the job's own tensors.

    STOWAGE=1 STOWAGE_DEVICES=cpu STOWAGE_BUDGET=12MB python use_cache.py ./libspilling_cache.so

Prints how often the cache was moved to the host, whether it came back whole, the most bytes held, and the limit.
"""

import ctypes
import sys

import torch

library = ctypes.CDLL(sys.argv[1])
library.cache_make.restype, library.cache_make.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_size_t]
library.cache_read.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
library.cache_spills.restype, library.cache_spills.argtypes = ctypes.c_int64, [ctypes.c_void_p]
library.cache_free.argtypes = [ctypes.c_void_p]

torch.set_num_threads(1)
content = bytes(range(250)) * 32_000  # 8 MB
cache = library.cache_make(content, len(content))
read = ctypes.create_string_buffer(len(content))
whole = True
for _ in range(3):
    activations = torch.full((1000, 2000), 2.0)  # 8 MB: with the cache more than the budget
    total = activations.sum()
    del activations
    whole = whole and library.cache_read(cache, read) == 0 and read.raw == content and total.item() == 4e6

budget = {"peak_held_bytes": 0, "limit_bytes": 0}
if "stowage" in sys.modules:
    import stowage
    budget = stowage.report().get("budget", budget)
print(library.cache_spills(cache), whole, budget["peak_held_bytes"], budget["limit_bytes"])
library.cache_free(cache)
