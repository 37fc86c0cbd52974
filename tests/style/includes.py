"""Which folder may include what: docs/design.md's order as data, and a checker of one file."""
import re

from tests.style.files import PARTS

FLOOR = {"core"}
MIDDLE = {"planner", "allocator", "tracer", "recompute"}
ALLOWED = {
    "core": FLOOR,
    **{part: FLOOR | {part} for part in MIDDLE},
    "session": FLOOR | MIDDLE | {"session"},
    "plugin": FLOOR | MIDDLE | {"session", "plugin"},
    "library": FLOOR | MIDDLE | {"session", "plugin", "library"},
    "replay": FLOOR | {"planner", "allocator", "replay"},
    "simulator": {"simulator"},
}

# The rooms of planner/placement/: which others each may include. Those on top may include all.
PLACEMENT = "planner/placement/"
ROOMS = {
    "problem": set(),
    "instance": {"problem"},
    "greedy": {"problem", "instance"},
    "search/state": {"problem", "instance"},
    "search": {"problem", "instance", "search/state"},
    "windows": {"problem", "instance", "search"},
    "proofs": {"problem", "instance", "search"},
}

# Headers of others: a pattern, and the files (by prefix) that may include them.
FOREIGN = {
    "torch": (r"(torch|ATen|c10|caffe2|pybind11)/", ("tracer/", "recompute/", "plugin/", "library/")),
    "CUDA": (r"(cuda|cublas|cudnn|driver_types|nvrtc|vector_types|nccl)\w*\.h(pp)?$",
             ("simulator/", "allocator/cuda/", "plugin/cuda/", "library/c_abi.", "tracer/cuda/")),
    "the dispatcher": (r"(ATen/core/dispatch/|torch/library\.h|ATen/core/boxing/|.*DispatchKey)",
                       ("tracer/op_info.cc", "recompute/below_autograd.", "recompute/composites.", "recompute/interposer.cc",
                        "recompute/kernel_keys.h", "recompute/op_traits.cc", "recompute/random_ops.cc",
                        "recompute/replay.cc")),
    "CUPTI": (r"cupti", ("simulator/profiler.cc",)),
    "lp_solve": (r"(lpsolve/|lp_lib\.h)", ("planner/placement/windows/location_ilp.cc",)),
    "TBB": (r"(oneapi/)?tbb/", ("planner/",)),
    "FlatBuffers": (r"flatbuffers/", ("core/format/",)),
    "zstd": (r"zstd", ("core/format/",)),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)


def room(name):
    """The folder of a file within planner/placement/; empty for one on top, none for one elsewhere."""
    return name[len(PLACEMENT):].rpartition("/")[0] if name.startswith(PLACEMENT) else None


def problems(name, text):
    """Sentences about what `name` includes and may not. Files outside the parts are free."""
    part = name.split("/")[0]
    if part not in PARTS:
        return []
    found = []
    for header in INCLUDE.findall(text):
        owner = header.split("/")[0]
        if owner in PARTS and owner not in ALLOWED[part]:
            found.append(f"{name} includes {header}: {part}/ may not include {owner}/")
        here, there = room(name), room(header)
        if here and there is not None and there not in ROOMS[here] | {here}:
            found.append(f"{name} includes {header}: {here}/ may not include {there or 'what is on top'}")
        for what, (pattern, places) in FOREIGN.items():
            if re.match(pattern, header) and not name.startswith(places):
                found.append(f"{name} includes {header}: headers of {what} have no place here")
    return found
