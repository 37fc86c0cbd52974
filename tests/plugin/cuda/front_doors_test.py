"""The two CUDA front doors besides enable(): the C ABI through change_current_allocator, and the preload shim."""
import json

import pytest
from simulated_job import PRELOAD, PRELUDE, run

PLUGGABLE = """
import ctypes
path = os.environ["TEST_LIBRARY"]
pluggable = torch.cuda.memory.CUDAPluggableAllocator(path, "stowage_torch_alloc", "stowage_free")
address = lambda name: ctypes.cast(getattr(lib, name), ctypes.c_void_p).value
raw = pluggable.allocator()
raw.set_init_fn(address("stowage_init"))
raw.set_reset_fn(address("stowage_reset"))
raw.set_memory_fraction_fn(address("stowage_memory_fraction"))
raw.set_base_alloc_fn(address("stowage_base_alloc"))
raw.set_record_stream_fn(address("stowage_record_stream"))
torch.cuda.memory.change_current_allocator(pluggable)
os.environ.setdefault("STOWAGE_PLAN_WAIT_MS", "5000")
"""


def test_change_current_allocator_reaches_a_plan():
    run(PLUGGABLE + """
job = Job()
for _ in range(15):
    job.step()
    lib.stowage_step()
    if state() == "planned": break
assert state() == "planned", report()
job.step(); lib.stowage_step()
before = device()["hits"]
job.step(); lib.stowage_step()
assert device()["hits"] > before
torch.cuda.empty_cache()
s = torch.cuda.Stream()
x = torch.ones(10, device="cuda"); x.record_stream(s); del x
""", STOWAGE_PLAN_WAIT_MS="5000")


def test_the_bare_c_abi_leaves_a_report_at_exit(tmp_path):
    path = tmp_path / "report.json"
    run("""
lib.stowage_alloc.restype = ctypes.c_void_p
lib.stowage_alloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
lib.stowage_free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
address = lib.stowage_alloc(1 << 20, 0, None)
assert address
lib.stowage_free(address, 1 << 20, 0, None)
""", STOWAGE_REPORT=str(path))
    assert [device["state"] for device in json.loads(path.read_text())["devices"]] == ["recording"]


def test_change_current_allocator_out_of_memory_is_pytorchs_error():
    run(PLUGGABLE + """
try:
    torch.empty(1 << 50, device="cuda", dtype=torch.uint8)
    raise SystemExit("no error")
except torch.OutOfMemoryError:
    pass
lib.stowage_alloc.restype = ctypes.c_void_p
lib.stowage_alloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
assert lib.stowage_alloc(1 << 50, 0, None) is None
torch.ones(10, device="cuda")
""")


JOB = PRELUDE.replace("lib = ctypes.CDLL", "load = lambda: ctypes.CDLL") .replace("\nfor text in", """
lib = load() if os.environ.get("STOWAGE") != "0" else None
for text in""").replace("    getattr(lib, text).restype", "    if lib: getattr(lib, text).restype")


def test_preload_plans_a_job_that_knows_nothing_of_stowage():
    run("""
assert torch.cuda.memory.get_allocator_backend() == "stowage"
job = Job()
plan(job)
""", prelude=JOB, preload=[PRELOAD], STOWAGE_PLAN_WAIT_MS="5000")


def test_preload_does_nothing_where_stowage_is_0():
    run("""
import os
torch.zeros(1, device="cuda")
assert torch.cuda.memory.get_allocator_backend() == "native"
assert "libstowage.so" not in open("/proc/self/maps").read()
""", prelude="import torch\n", preload=[PRELOAD], STOWAGE="0")


def test_preload_leaves_processes_without_torch_alone():
    out = run("print('libstowage.so' in open('/proc/self/maps').read())", prelude="", preload=[PRELOAD])
    assert out == "False\n"


@pytest.mark.parametrize("library", ["/nonexistent/libstowage.so", "/etc/hostname"])
def test_preload_failure_is_one_warning(library):
    out = run("torch.zeros(1, device='cuda'); print('done')", prelude="import torch\n", preload=[PRELOAD],
              STOWAGE_LIBRARY=library)
    assert out.count("stowage:") == 1 and out.endswith("done\n"), out


def test_preload_serves_cpu_jobs_too():
    run("""
assert "libstowage.so" in open("/proc/self/maps").read()
""", prelude="import torch\n", preload=[PRELOAD], STOWAGE_DEVICES="cpu")
