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

# Rooms of a folder, bottom-up: a file includes only what is in its own room or in one above it in this list. What lies in
# no room stands on top of all of them.
ROOMS = {
    "allocator": ("arena", "layout", "online", "cuda", "model"),
    "planner/schedule": ("chains", "check", "model", "proofs", "blocks", "sweeps", "search"),
    "tracer": ("recorder", "cupti/records", "cupti/times", "cupti", "clocks", "observers"),
    "planner/placement": ("problem", "instance", "greedy", "search/state", "search", "windows", "proofs"),
    "recompute": ("threads", "ops", "settings", "stores", "recipe", "encode", "storage", "away", "residency", "choice",
                  "schedule", "verify", "machine", "call", "rewrite", "interposer"),
    "session": ("settings", "states", "ports", "facts", "ranks", "plans", "recording", "budget", "arena", "reserved",
                "rescue", "switch", "planned", "online"),
    "plugin": ("torch", "cpu", "cuda/upstream", "cuda/host", "cuda/device", "cuda/adaptor", "cuda"),
    "replay": ("cache", "timeline", "place"),
    "simulator": ("device/settings", "device/memory", "device/time", "device/activity", "device/kernels", "device",
                  "stand_ins", "stand_ins/runtime", "stand_ins/driver", "stand_ins/blas", "stand_ins/dnn",
                  "stand_ins/cupti", "stand_ins/others"),
}
# C headers for others: they include nothing of their folder, and every room may include them.
OPEN_TO_ALL = {"recompute/evictable.h"}
MOST_FILES_IN_A_ROOM = 15

# Headers of others: a pattern, and the files (by prefix) that may include them.
FOREIGN = {
    "torch": (r"(torch|ATen|c10|caffe2|pybind11)/", ("tracer/", "recompute/", "plugin/", "library/")),
    "CUDA": (r"(cuda|cublas|cudnn|driver_types|nvrtc|vector_types|nccl)\w*\.h(pp)?$",
             ("simulator/", "allocator/cuda/", "plugin/cuda/", "library/c_abi.")),
    "the dispatcher": (r"(ATen/core/dispatch/|torch/library\.h|ATen/core/boxing/|.*DispatchKey)",
                       ("tracer/observers/op_info.cc", "recompute/interposer/below_autograd.",
                        "recompute/interposer/composites.", "recompute/interposer/interposer.cc",
                        "recompute/interposer/kernel_keys.h", "recompute/encode/codecs.cc", "recompute/rewrite/rewrites.",
                        "recompute/ops/op_traits.cc", "recompute/ops/random_ops.cc", "recompute/recipe/replay.cc",
                        "recompute/threads/seen_thread.")),
    "CUPTI": (r"cupti", ("simulator/stand_ins/api.h", "simulator/stand_ins/cupti/")),
    "Kineto": (r"kineto/", ("plugin/cuda/device/device_clock.cc",)),
    "lp_solve": (r"(lpsolve/|lp_lib\.h)",
                 ("planner/placement/windows/location_ilp.cc", "planner/schedule/blocks/option_program.cc")),
    "TBB": (r"(oneapi/)?tbb/", ("planner/",)),
    "FlatBuffers": (r"flatbuffers/", ("core/format/",)),
    "zstd": (r"zstd", ("core/format/",)),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)


def house_of(name):
    """The folder of ROOMS that a file lies in, or None."""
    return next((folder for folder in ROOMS if name.startswith(f"{folder}/")), None)


def floor_of(name, house):
    """The place of a file's room in ROOMS[house], from 0; behind the last where it is in none."""
    room = name[len(house) + 1:].rpartition("/")[0]
    return ROOMS[house].index(room) if room in ROOMS[house] else len(ROOMS[house])


def goes_up(name, header):
    """True where `name` includes a header of its own house whose room stands higher."""
    house = house_of(name)
    inside = house is not None and house == house_of(header) and header not in OPEN_TO_ALL
    return inside and floor_of(header, house) > floor_of(name, house)


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
        if goes_up(name, header):
            found.append(f"{name} includes {header}, whose room stands higher")
        for what, (pattern, places) in FOREIGN.items():
            if re.match(pattern, header) and not name.startswith(places):
                found.append(f"{name} includes {header}: headers of {what} have no place here")
    return found
