"""Streams and record_stream: test_record_stream*, test_caching_allocator_record_stream_oom and neighbours."""
import torch
from harness import fact

MiB = 1 << 20
LONG = 1  # a kernel of any length takes a second here: see table.py


def empty(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def waiting():
    stats = torch.cuda.memory_stats()
    return stats["active_bytes.all.current"] - stats["allocated_bytes.all.current"]


@fact("TestCuda.test_record_stream")
def memory_in_use_by_another_stream_is_not_given_out():
    side = torch.cuda.Stream()
    x = empty(MiB)
    address = x.data_ptr()
    with torch.cuda.stream(side):
        torch.cuda._sleep(LONG)
    x.record_stream(side)
    del x
    y = empty(MiB)
    assert y.data_ptr() != address
    torch.cuda.synchronize()


@fact("TestCuda.test_record_stream_on_shifted_view")
def a_view_records_for_its_storage():
    side = torch.cuda.Stream()
    base = torch.rand(2 * MiB, device="cuda")
    view = base[2:]
    assert view.storage_offset() > 0
    address = base.data_ptr()
    with torch.cuda.stream(side):
        torch.cuda._sleep(LONG)
    view.record_stream(side)
    del base, view
    y = torch.empty(2 * MiB, device="cuda")
    assert y.data_ptr() != address
    torch.cuda.synchronize()


@fact("TestCuda.test_record_stream (statistics)")
def waiting_blocks_are_active_and_not_allocated():
    side = torch.cuda.Stream()
    x = empty(3 * MiB)
    with torch.cuda.stream(side):
        torch.cuda._sleep(LONG)
    x.record_stream(side)
    before = waiting()
    del x
    assert waiting() == before + 3 * MiB
    torch.cuda.synchronize()
    assert waiting() == before + 3 * MiB, "until the allocator looks again"
    y = empty(512)
    assert waiting() == before, waiting()
    del y


@fact("TestCuda.test_caching_allocator_record_stream_oom")
def empty_cache_waits_for_streams():
    side = torch.cuda.Stream()
    x = empty(3 * MiB)
    with torch.cuda.stream(side):
        torch.cuda._sleep(LONG)
    x.record_stream(side)
    del x
    torch.cuda.empty_cache()
    assert waiting() == 0 and side.query()


@fact("TestCuda.test_caching_allocator_record_stream_oom")
def out_of_memory_waits_for_streams():
    size = int(torch.cuda.get_device_properties(0).total_memory * 0.4)
    side = torch.cuda.Stream()
    x = empty(size)
    with torch.cuda.stream(side):
        torch.cuda._sleep(LONG)
    x.record_stream(side)
    del x
    y, z = empty(size), empty(size)
    del y, z
    torch.cuda.empty_cache()


@fact("TestCuda.test_streaming_backwards_multiple_streams")
def backward_runs_on_the_streams_of_forward():
    side = torch.cuda.Stream()
    x = torch.randn(256, 256, device="cuda", requires_grad=True)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = (x * 2).sum()
    torch.cuda.current_stream().wait_stream(side)
    y.backward()
    assert x.grad.shape == x.shape
    torch.cuda.synchronize()


@fact("TestCuda.test_stream_context / blocks of streams")
def streams_do_not_share_freed_blocks():
    side = torch.cuda.Stream()
    x = empty(MiB)
    address = x.data_ptr()
    del x
    with torch.cuda.stream(side):
        y = empty(MiB)
    assert y.data_ptr() != address


@fact("TestCuda.test_cuda_memory_leak_detection")
def nothing_is_left_of_a_training_step():
    model = torch.nn.Linear(128, 128).cuda()
    model(torch.zeros(8, 128, device="cuda")).sum().backward()
    model.zero_grad()
    held = torch.cuda.memory_allocated()
    for _ in range(3):
        model(torch.zeros(8, 128, device="cuda")).sum().backward()
        model.zero_grad()
        assert torch.cuda.memory_allocated() == held
