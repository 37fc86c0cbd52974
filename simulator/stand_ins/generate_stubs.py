"""Writes weak C definitions of every CUDA-family function that the installed torch imports.

Why: a library that is preloaded must answer for all of libcudart, cuBLAS, cuDNN and the rest, or the real one would be
called and look for a driver. What matters is written by hand; the hand-written definition, being strong, wins over the
weak one made here. What a stub does depends on its family (see FAMILIES): matrix routines and cuDNN passes take time on
their handle's stream, everything else is refused with that library's own "not supported".

Usage: generate_stubs.py <output.c> <library.so> ...     Needs nm (binutils).
"""
import pathlib
import re
import subprocess
import sys

# Prefix, the status that refuses. The first match counts. A refusal of None: the call succeeds.
FAMILIES = [
    ("cublasLt", 15), ("cublas", None), ("cudnn", None), ("cupti", 27), ("cusparse", 10), ("cusolver", 9),
    ("cufft", 16), ("curand", 999), ("cuFile", 5030), ("nccl", 3), ("__cuda", 801), ("cuda", 801), ("cu", 801),
]
# cuBLAS routines that copy between host and device, and have no handle.
WITHOUT_HANDLE = re.compile(r"cublas[GS]et(Matrix|Vector)Async$")
# Routines whose first arguments are (handle, trans, trans, m, n, k).
PRODUCT = re.compile(r"cublas([SDCZH]gemm|GemmEx|[SC]gemmEx)(_v2)?$")
# Those that name a type after each matrix.
TYPED_PRODUCT = re.compile(r"cublas[SC]?[Gg]emmEx$")
# cuDNN calls that launch something; the rest only set or describe.
DNN_PASS = re.compile(r"cudnn(BatchNormalization|Convolution|Pooling|RNNForward|RNNBackward|SpatialTf|CTCLoss)")


def imported(library):
    """Names of undefined CUDA-family symbols, without their versions."""
    out = subprocess.run(["nm", "-D", "--undefined-only", library], check=True, capture_output=True, text=True)
    names = {line.split()[-1].split("@")[0] for line in out.stdout.splitlines() if line.strip()}
    return {name for name in names if any(name.startswith(prefix) for prefix, _ in FAMILIES)}


def stub(name):
    """The weak C definition of one function."""
    refusal = next(status for prefix, status in FAMILIES if name.startswith(prefix))
    if WITHOUT_HANDLE.match(name):
        refusal = 15
    if refusal is not None:
        return f"WEAK int {name}(void) {{ return stowage_sim_refuse(\"{name}\", {refusal}); }}"
    if PRODUCT.match(name):
        typed = "int t{0}, " if TYPED_PRODUCT.match(name) else ""
        matrices = [f"const void* {m}, {typed.format(m)}int ld{m}" for m in "ABC"]
        arguments = ("const void* handle, int ta, int tb, int m, int n, int k, const void* alpha, "
                     f"{matrices[0]}, {matrices[1]}, const void* beta, {matrices[2]}")
        return f"WEAK int {name}({arguments}) {{ return stowage_sim_product(handle, m, n, k, A, B, C); }}"
    if name.startswith("cublas") or DNN_PASS.match(name):
        return f"WEAK int {name}(const void* handle) {{ return stowage_sim_library_launch(handle, \"{name}\"); }}"
    return f"WEAK int {name}(void) {{ return 0; }}"


def main():
    output, *libraries = sys.argv[1:]
    names = sorted(set().union(*(imported(library) for library in libraries)))
    head = ["/* Made by generate_stubs.py from torch's own imports. */",
            "#define WEAK __attribute__((weak, visibility(\"default\")))",
            "int stowage_sim_refuse(const char* name, int status);",
            "int stowage_sim_product(const void* handle, int m, int n, int k, const void* a, const void* b, const void* c);",
            "int stowage_sim_library_launch(const void* handle, const char* name);", ""]
    pathlib.Path(output).write_text("\n".join(head + [stub(name) for name in names]) + "\n")


if __name__ == "__main__":
    main()
