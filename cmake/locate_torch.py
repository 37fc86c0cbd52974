"""Prints version;root;cxx11 abi;cuda include folder;crt include folder of the installed torch, without importing it.

CUDA 13's runtime headers include <crt/host_defines.h>, which is in a wheel that torch does not require
(nvidia-cuda-crt). Where neither it nor a toolkit is installed, Triton's copy serves; torch requires Triton.
"""
import importlib.metadata
import importlib.util
import pathlib
import sys

spec = importlib.util.find_spec("torch")
if spec is None:
    sys.exit("torch is not installed for " + sys.executable)
root = pathlib.Path(spec.origin).parent
site = root.parent
candidates = [*site.glob("nvidia/cu*/include"), *site.glob("nvidia/cuda_runtime/include"),
              pathlib.Path("/usr/local/cuda/include")]
include = next((str(p) for p in candidates if (p / "cuda_runtime_api.h").exists()), "")
crt_candidates = [*candidates, site / "triton/backends/nvidia/include"]
crt = next((str(p) for p in crt_candidates if (p / "crt/host_defines.h").exists()), "")
print(importlib.metadata.version("torch"), root, 1, include, crt, sep=";")
