"""Writes the structures in which torch's foreach ops hand their lists of tensors to kernels, as host code can read them.

Why: how many tensors one of them holds differs from one torch to the next, so the simulator takes it from the headers of
the torch that it is built against. They stand in a header that only nvcc compiles.

Usage: generate_layouts.py <output.h> <torch/include/ATen/native/cuda/MultiTensorApply.cuh>
"""
import pathlib
import re
import sys

CAPACITIES = re.compile(r"kBlockSize = \d+;\n(.*?)\ntemplate <typename T>\n__device__", re.S)
STRUCTURES = re.compile(r"\n(template <int n>\nstruct TensorListMetadata.*?)\ntemplate <typename T, typename U", re.S)
HEAD = """// Made by generate_layouts.py from torch's own header.
#include <cuda_runtime_api.h>

#include <cstdint>

namespace stowage::simulator::torch_lists {
struct alignas(16) ComplexDouble {
  double parts[2];
};
"""


def main():
    output, header = sys.argv[1:]
    text = pathlib.Path(header).read_text()
    found = [pattern.search(text) for pattern in (CAPACITIES, STRUCTURES)]
    if not all(found):
        sys.exit(f"{header} describes lists of tensors in a way that generate_layouts.py does not know: adapt it")
    body = "\n".join(match[1] for match in found).replace("c10::complex<double>", "ComplexDouble")
    pathlib.Path(output).write_text(f"{HEAD}{body}\n}}  // namespace stowage::simulator::torch_lists\n")


if __name__ == "__main__":
    main()
