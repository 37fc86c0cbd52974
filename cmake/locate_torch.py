"""Prints version;root;cxx11 abi;folders of CUDA's headers (with ":" between them), without importing torch.

    python locate_torch.py [FOLDER…]

FOLDERs are further site-packages in which CUDA's headers may lie. CUDA 13's runtime headers include
<crt/host_defines.h> and cuBLAS's <nv/target>. No wheel that torch requires has them: they are in nvidia-cuda-crt and
nvidia-cuda-cccl, which lie beside the others, or in a toolkit. A torch without CUDA has no such folders: the last field is
"none". Exit code 1: no torch; 3: no headers.
"""
import importlib.metadata
import importlib.util
import os
import pathlib
import re
import sys

NO_TORCH, NO_HEADERS = 1, 3
HEADERS = ("cuda_runtime_api.h", "crt/host_defines.h", "nv/target")


def fail(status: int, message: str):
    print(message, file=sys.stderr)
    sys.exit(status)


def header_wheels(torch_root: pathlib.Path) -> list[str]:
    """The requirements that bring the headers, of the CUDA that torch was built with."""
    cuda = re.search(r"^cuda\b[^=]*= *'(\d+\.\d+)", (torch_root / "version.py").read_text(), re.MULTILINE)
    return [name + (f"=={cuda[1]}.*" if cuda else "") for name in ("nvidia-cuda-crt", "nvidia-cuda-cccl")]


def header_folders(sites: list[pathlib.Path]) -> dict[str, str | None]:
    toolkits = [os.environ.get("CUDA_HOME", "/usr/local/cuda"), "/usr/local/cuda"]
    candidates = [folder for site in sites
                  for folder in (*site.glob("nvidia/cu*/include"), *site.glob("nvidia/cuda_runtime/include"))]
    # A toolkit of CUDA 13 has <nv/target> in a folder of its own.
    candidates += [pathlib.Path(toolkit) / part for toolkit in toolkits for part in ("include", "include/cccl")]
    return {header: next((str(folder) for folder in candidates if (folder / header).exists()), None)
            for header in HEADERS}


def main() -> None:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        fail(NO_TORCH, f"torch is not installed for {sys.executable}")
    root = pathlib.Path(spec.origin).parent
    has_cuda = (root / "lib" / "libc10_cuda.so").exists()
    found = header_folders([root.parent, *map(pathlib.Path, sys.argv[1:])]) if has_cuda else {}
    if missing := [header for header, folder in found.items() if folder is None]:
        wheels = header_wheels(root)
        fail(NO_HEADERS, f"CUDA's header {missing[0]} was not found; "
                         f"run: {sys.executable} -m pip install {' '.join(wheels)}")
    print(importlib.metadata.version("torch"), root, 1, ":".join(dict.fromkeys(found.values())) or "none", sep=";")


if __name__ == "__main__":
    main()
