"""Memory pools, graphs and checkpointed pool states: TestMemPool, TestBlockStateAbsorption, test_graph_*."""
import threading

import torch
from harness import fact

MiB = 1 << 20


def ones(size):
    return torch.ones(size, dtype=torch.uint8, device="cuda")


def capture(work, pool=None):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side, pool=pool):
        out = work()
    return graph, out


def segments_of(pool):
    return [s for s in torch.cuda.memory_snapshot() if s["segment_pool_id"] == pool]


@fact("TestMemPool.test_mempool_id")
def pools_have_ids_of_their_own():
    graph_pool = torch.cuda.graph_pool_handle()
    one, other = torch.cuda.MemPool(), torch.cuda.MemPool()
    assert len({graph_pool, one.id, other.id}) == 3


@fact("TestMemPool.test_mempool_context")
def the_active_pool_is_that_of_the_context():
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        x = ones(MiB)
    assert pool.snapshot() and pool.use_count() >= 1
    del x


@fact("TestMemPool.test_mempool_empty_cache")
def a_pools_memory_goes_back_once_it_is_gone():
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        x = ones(MiB)
    y = ones(MiB)
    del x, y, pool
    torch.cuda.empty_cache()
    assert all(s["segment_pool_id"] == (0, 0) for s in torch.cuda.memory_snapshot())


@fact("TestMemPool.test_mempool_multithread")
def threads_get_pools_of_their_own():
    ids = []
    threads = [threading.Thread(target=lambda: ids.append(torch.cuda.MemPool().id)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == 4, ids


@fact("TestMemPool.test_nested_mempool")
def pools_nest():
    outer, inner = torch.cuda.MemPool(), torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(outer):
        x = ones(MiB)
        with torch.cuda.use_mem_pool(inner):
            y = ones(MiB)
        z = ones(MiB)
    counts = [sum(b["state"] == "active_allocated" for s in pool.snapshot() for b in s["blocks"])
              for pool in (outer, inner)]
    assert counts == [2, 1], counts
    del x, y, z


@fact("TestCuda.test_graph_capture_simple")
def a_graph_is_captured_and_replayed():
    x = torch.zeros(1000, device="cuda")
    graph, out = capture(lambda: x + 1)
    graph.replay()
    torch.cuda.synchronize()
    del graph, out


@fact("TestCuda.test_graph_memory_stats_and_use_result_after_destroy_graph")
def a_graphs_result_outlives_it():
    x = torch.zeros(3 * MiB, device="cuda")
    graph, out = capture(lambda: x * 2)
    pool = graph.pool()
    held = torch.cuda.memory_allocated()
    graph.replay()
    del graph
    assert segments_of(pool), "the result keeps its segment"
    out.fill_(1)
    torch.cuda.synchronize()
    del out
    torch.cuda.empty_cache()
    assert not segments_of(pool)
    assert torch.cuda.memory_allocated() < held


@fact("TestCuda.test_graph_two_successive")
def graphs_share_a_pool():
    x = torch.zeros(MiB, device="cuda")
    first, one = capture(lambda: x + 1)
    second, other = capture(lambda: one * 2, pool=first.pool())
    first.replay()
    second.replay()
    torch.cuda.synchronize()
    assert first.pool() == second.pool()
    assert one.data_ptr() != other.data_ptr()
    del first, second, one, other


@fact("TestCuda.test_graph_record_stream")
def record_stream_inside_a_capture():
    x = torch.zeros(1000, device="cuda")
    side, third = torch.cuda.Stream(), torch.cuda.Stream()

    def work():
        y = x + 1
        third.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(third):
            z = y * 2
        y.record_stream(third)
        torch.cuda.current_stream().wait_stream(third)
        return z

    graph, out = capture(work)
    graph.replay()
    torch.cuda.synchronize()
    del graph, out


@fact("TestBlockStateAbsorption.test_simple")
def a_pools_state_can_be_checkpointed_and_set_again():
    x = torch.zeros(1000, device="cuda")
    graph, out = capture(lambda: [x + 1, x.new_ones(3 * MiB)])
    before = segments_of(graph.pool())
    state = torch._C._cuda_getCheckpointState(0, graph.pool())
    torch._C._cuda_setCheckpointPoolState(0, state, [], [])
    after = {s["address"]: s for s in segments_of(graph.pool())}
    for segment in before:
        same = after[segment["address"]]
        for key in ("total_size", "allocated_size", "active_size", "segment_type"):
            assert segment[key] == same[key], key
        assert [(b["size"], b["state"]) for b in segment["blocks"]] == [
            (b["size"], b["state"]) for b in same["blocks"]]
    del graph, out


@fact("TestCuda.test_graph_make_graphed_callables")
def a_model_trains_through_graphed_callables():
    model = torch.nn.Linear(64, 64).cuda()
    x = torch.zeros(8, 64, device="cuda")
    graphed = torch.cuda.make_graphed_callables(model, (x,))
    graphed(x).sum().backward()
    torch.cuda.synchronize()
    del graphed


# The last fact: of a capture that failed native itself keeps something, which later facts would see.
@fact("TestCuda.test_graph_error")
def a_failed_capture_leaves_the_allocator_usable():
    x = torch.zeros(1000, device="cuda")
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    try:
        with torch.cuda.graph(graph, stream=side):
            (x + 1).sum().item()
        raise AssertionError("item() inside a capture")
    except RuntimeError:
        pass
    del graph
    y = ones(MiB)
    torch.cuda.synchronize()
    del y
