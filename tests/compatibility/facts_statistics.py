"""Statistics, sizes and settings: test_memory_*, test_caching*, test_allocator_* of PyTorch."""
import random

import torch
from harness import fact

MiB = 1 << 20


def stat(name):
    return torch.cuda.memory_stats()[name]


def empty(size, **extra):
    return torch.empty(size, dtype=torch.uint8, device="cuda", **extra)


@fact("TestCuda.test_memory_allocation")
def one_byte_counts_until_it_is_deleted():
    before = torch.cuda.memory_allocated()
    address = torch.cuda.caching_allocator_alloc(1)
    assert torch.cuda.memory_allocated() > before
    torch.cuda.caching_allocator_delete(address)
    assert torch.cuda.memory_allocated() == before


@fact("TestCuda.test_memory_stats")
def active_bytes_follow_one_tensor():
    before = stat("active_bytes.all.current")
    peaks = torch.accelerator.max_memory_allocated(), torch.accelerator.max_memory_reserved()
    assert peaks == (torch.accelerator.memory_allocated(), torch.accelerator.memory_reserved())
    x = torch.randn(256, device="cuda")
    assert stat("active_bytes.all.current") == before + 1024
    assert stat("active_bytes.all.freed") == 0
    del x
    torch.accelerator.empty_cache()
    assert stat("active_bytes.all.current") == before
    assert stat("active_bytes.all.freed") == 1024
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.max_memory_allocated() == peaks[0]


@fact("TestCuda.test_memory_stats", sizes=True)
def reserved_returns_to_what_it_was():
    before = torch.accelerator.memory_reserved()
    x = torch.randn(256, device="cuda")
    del x
    torch.accelerator.empty_cache()
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.max_memory_reserved() == before


@fact("TestCudaMultiGPU.test_memory_stats")
def statistics_follow_a_random_program():
    chosen, held = random.Random(3), []
    base = last = torch.cuda.memory_allocated()
    highest = last
    for _ in range(200):
        if held and chosen.random() < 0.45:
            held.pop(chosen.randrange(len(held)))
            assert torch.cuda.memory_allocated() < last
        else:
            held.append(empty(chosen.randrange(1, 4 * MiB)))
            assert torch.cuda.memory_allocated() > last
        last = torch.cuda.memory_allocated()
        highest = max(highest, last)
        assert torch.cuda.max_memory_allocated() == highest
        assert torch.cuda.memory_reserved() >= last
        assert torch.cuda.max_memory_reserved() >= torch.cuda.memory_reserved()
    held.clear()
    assert torch.cuda.memory_allocated() == base
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == base


@fact("TestCudaMultiGPU.test_memory_stats")
def allocated_less_freed_is_current():
    x = [empty(n * 1000) for n in range(1, 40)]
    for kind in ("allocation", "allocated_bytes", "active", "active_bytes", "requested_bytes"):
        for pool in ("all", "small_pool", "large_pool"):
            now = {part: stat(f"{kind}.{pool}.{part}") for part in ("current", "peak", "allocated", "freed")}
            assert now["peak"] >= now["current"], (kind, pool, now)
        parts = [stat(f"{kind}.{pool}.current") for pool in ("all", "small_pool", "large_pool")]
        assert parts[0] == parts[1] + parts[2], (kind, parts)
    made = stat("allocation.all.allocated")
    assert made == 39 and stat("allocation.all.freed") == 0
    del x
    assert stat("allocation.all.freed") == made


@fact("TestCuda.test_memory_stats (reset_accumulated_memory_stats)")
def sums_count_from_their_reset():
    x = empty(MiB)
    torch.cuda.reset_accumulated_memory_stats()
    stats = torch.cuda.memory_stats()
    assert not any(value for key, value in stats.items() if key.endswith((".allocated", ".freed"))), stats
    del x
    assert stat("allocated_bytes.all.freed") == MiB and stat("allocated_bytes.all.allocated") == 0


@fact("TestCuda.test_cachingAllocator_raw_alloc")
def raw_allocations_obey_the_switch_of_caching():
    stream = torch._C._cuda_getCurrentRawStream(0)

    def requested():
        before = stat("requested_bytes.all.allocated")
        address = torch._C._cuda_cudaCachingAllocator_raw_alloc(MiB, stream)
        after = stat("requested_bytes.all.allocated")
        torch._C._cuda_cudaCachingAllocator_raw_delete(address)
        return after - before

    try:
        torch.cuda.caching_allocator_enable(False)
        assert requested() == 0
    finally:
        torch.cuda.caching_allocator_enable(True)
    assert requested() == MiB


@fact("TestCuda.test_allocator_settings", sizes=True)
def sizes_are_rounded_as_the_settings_say():
    def active(action):
        before = stat("active_bytes.all.allocated")
        x = action()
        return stat("active_bytes.all.allocated") - before, x

    size = 84 * MiB
    try:
        plain, x = active(lambda: empty(size))
        torch.cuda.memory._set_allocator_settings("roundup_power2_divisions:4")
        rounded, y = active(lambda: empty(size))
        assert (plain, rounded) == (size, 96 * MiB), (plain, rounded)
    finally:
        torch.cuda.memory._set_allocator_settings("roundup_power2_divisions:1")


@fact("TestCuda.test_allocator_settings")
def settings_that_do_not_exist_are_refused():
    for settings in ("foo:1,bar:2", "garbage_collection_threshold:1.2", "max_split_size_mb:2"):
        try:
            torch._C._accelerator_setAllocatorSettings(settings)
        except ValueError:
            continue
        raise AssertionError(settings)


@fact("TestCuda.test_allocator_fuzz")
def tensors_never_overlap():
    chosen, held, total = random.Random(123), [], 0
    for number in range(600):
        kind = chosen.choices(["alloc", "free", "empty"], [1, 1 if held else 0, 0.05])[0]
        if kind == "alloc":
            held.append(empty(chosen.randrange(2 * MiB, 20 * MiB)))
        elif kind == "free":
            held.pop(chosen.randrange(len(held)))
        else:
            torch.cuda.empty_cache()
        while sum(x.nbytes for x in held) > 100 * MiB:
            held.pop(chosen.randrange(len(held)))
        spans = sorted((x.data_ptr(), x.data_ptr() + x.nbytes) for x in held)
        assert all(one[1] <= other[0] for one, other in zip(spans, spans[1:]))


@fact("TestCuda.test_memory_stats (reuse)")
def a_freed_block_is_reused_by_the_next_request_of_its_size():
    x = empty(3 * MiB)
    reserved = torch.cuda.memory_reserved()
    for _ in range(5):
        del x
        x = empty(3 * MiB)
    assert torch.cuda.memory_reserved() == reserved


@fact("TestCuda.test_memory_summary")
def the_summary_can_be_printed():
    x = empty(MiB)
    text = torch.cuda.memory_summary()
    assert "Allocated memory" in text and torch.cuda.memory_summary(abbreviated=True)
    del x


@fact("TestCuda.test_mem_get_info (used memory)")
def device_memory_shrinks_by_what_is_reserved():
    free, total = torch.cuda.mem_get_info()
    reserved = torch.cuda.memory_reserved()
    x = empty(32 * MiB)
    less = free - torch.cuda.mem_get_info()[0]
    assert less == torch.cuda.memory_reserved() - reserved, (less, reserved)
    assert torch.cuda.mem_get_info()[1] == total
    del x
