"""Out of memory, and what fractions of the device allow: test_out_of_memory* and test_*_memory_fraction."""
import gc

import torch
from harness import fact

MiB = 1 << 20


def empty(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def out_of_memory(size, says="Tried to allocate"):
    try:
        empty(size)
    except torch.OutOfMemoryError as error:
        assert says in str(error), error
        return
    raise AssertionError(f"{size} bytes were given")


@fact("TestCuda.test_out_of_memory")
def errors_name_the_request_and_the_device():
    x = torch.zeros(1024, device="cuda")
    out_of_memory(800_000_000 << 30, "Tried to allocate 800000000.00 GiB. GPU 0 has a total capacity of")
    out_of_memory(8_000_000_000 << 30, "Tried to allocate more than 1EB memory")
    x.fill_(1)
    torch.cuda.synchronize()


@fact("TestCuda.test_out_of_memory_retry")
def half_the_device_can_be_had_again_after_an_error():
    half = int(torch.cuda.get_device_properties(0).total_memory * 0.51)
    x = empty(half)
    out_of_memory(half)
    del x
    x = empty(half)
    del x
    torch.cuda.empty_cache()


@fact("TestCuda.test_raises_oom")
def a_request_beyond_the_device_is_an_out_of_memory_error():
    out_of_memory(1 << 42)


@fact("TestCuda.test_raises_oom[max_split_size_mb]")
def the_same_where_large_blocks_are_not_split():
    try:
        torch.cuda.memory._set_allocator_settings("max_split_size_mb:1024")
        torch.cuda.memory.empty_cache()
        out_of_memory(1 << 42)
    finally:
        torch.cuda.memory._set_allocator_settings("max_split_size_mb:1048576")


@fact("TestCuda.test_notifies_oom")
def observers_hear_of_it_once():
    seen = []
    torch._C._cuda_attach_out_of_memory_observer(lambda *what: seen.append(what))
    out_of_memory(1 << 42)
    assert len(seen) == 1 and seen[0][0] == 0 and seen[0][1] >= 1 << 42, seen


@fact("TestCuda.test_memory_stats (num_ooms)")
def errors_are_counted():
    before = torch.cuda.memory_stats()["num_ooms"]
    out_of_memory(1 << 42)
    assert torch.cuda.memory_stats()["num_ooms"] == before + 1


@fact("TestCuda.test_set_per_process_memory_fraction")
def a_fraction_is_a_limit():
    before = torch.cuda.get_per_process_memory_fraction()
    for wrong, kind in ((1, TypeError), (-0.1, ValueError), (2.0, ValueError)):
        try:
            torch.cuda.set_per_process_memory_fraction(wrong)
            raise AssertionError(wrong)
        except kind:
            pass
    try:
        x = torch.zeros(1024, device="cuda")
        torch.cuda.empty_cache()
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(0.5, 0)
        y = empty(int(total * 0.499) - torch.cuda.max_memory_reserved())
        del y
        torch.cuda.empty_cache()
        out_of_memory(total // 2, "out of memory")
        x.fill_(1)
    finally:
        torch.cuda.set_per_process_memory_fraction(before, 0)


@fact("TestCuda.test_get_per_process_memory_fraction")
def a_fraction_is_read_as_it_was_set():
    before = torch.cuda.get_per_process_memory_fraction()
    try:
        for value in (1.0, 0.0, 0.25, 0.8125):
            torch.cuda.set_per_process_memory_fraction(value)
            assert torch.cuda.get_per_process_memory_fraction() == value
    finally:
        torch.cuda.set_per_process_memory_fraction(before)


def with_room_for(megabytes, settings, use):
    """Runs `use` where so much may be taken in addition, then puts the settings back."""
    before = torch.cuda.get_per_process_memory_fraction()
    gc.collect()
    torch.cuda.empty_cache()
    allowed = megabytes * MiB + torch.cuda.memory_reserved()
    torch.cuda.set_per_process_memory_fraction(allowed / torch.cuda.mem_get_info()[1])
    try:
        use(lambda expandable: torch.cuda.memory._set_allocator_settings(
            f"expandable_segments:{expandable},{settings}"))
    finally:
        torch.cuda.set_per_process_memory_fraction(before)
        torch.cuda.memory._set_allocator_settings("expandable_segments:False")


@fact("TestCuda.test_max_split_expandable", sizes=True)
def cached_blocks_of_both_kinds_of_segments_are_released():
    def use(segments):
        segments(False)
        a = empty(40 * MiB)
        segments(True)
        b = empty(40 * MiB)
        segments(False)
        c = empty(40 * MiB)
        out_of_memory(40 * MiB)
        del a, b, c
        empty(120 * MiB)
    with_room_for(120, "max_split_size_mb:40", use)


@fact("TestCuda.test_garbage_collect_expandable", sizes=True)
def garbage_collection_leaves_expandable_segments_alone():
    def use(segments):
        segments(False)
        a = empty(40 * MiB)
        segments(True)
        b = empty(40 * MiB)
        del a, b
        empty(80 * MiB)
    with_room_for(120, "garbage_collection_threshold:0.5", use)
