"""Prints version;root;cxx11 abi;cuda include folder of the installed torch, without importing it."""
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
print(importlib.metadata.version("torch"), root, 1, include, sep=";")
