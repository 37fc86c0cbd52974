"""Prints version;root;cxx11 abi;folders of CUDA's headers (with ":" between them), without importing torch.

CUDA 13's runtime headers include <crt/host_defines.h> and cuBLAS's <nv/target>. No wheel that torch requires has them:
they are in nvidia-cuda-crt and nvidia-cuda-cccl, which lie beside the others, or in a toolkit.
"""
import importlib.metadata
import importlib.util
import os
import pathlib
import sys

spec = importlib.util.find_spec("torch")
if spec is None:
    sys.exit("torch is not installed for " + sys.executable)
root = pathlib.Path(spec.origin).parent
site = root.parent
toolkits = [os.environ.get("CUDA_HOME", "/usr/local/cuda"), "/usr/local/cuda"]
candidates = [*site.glob("nvidia/cu*/include"), *site.glob("nvidia/cuda_runtime/include"),
              *(pathlib.Path(toolkit) / "include" for toolkit in toolkits)]
folders = []
for header in ("cuda_runtime_api.h", "crt/host_defines.h", "nv/target"):
    folder = next((str(p) for p in candidates if (p / header).exists()), None)
    if folder is None:
        sys.exit(f"CUDA's header {header} was not found; "
                 f"run: {sys.executable} -m pip install nvidia-cuda-crt nvidia-cuda-cccl")
    folders.append(folder)
print(importlib.metadata.version("torch"), root, 1, ":".join(dict.fromkeys(folders)), sep=";")
