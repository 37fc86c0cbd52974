"""Graphs on the simulated device: captured by PyTorch, launched again and again, and looked at each time."""

GRAPH = """
    model = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 8)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
    data = torch.randn(32, 64, device="cuda")


    def step():
        optimizer.zero_grad(set_to_none=False)
        loss = model(data).sum()
        loss.backward()
        optimizer.step()
        return loss


    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
"""


def test_a_training_step_is_captured_and_launched(simulate):
    simulate(GRAPH + """
    before = counters()
    with torch.cuda.graph(graph):
        loss = step()
        assert torch.cuda.is_current_stream_capturing()
    captured = counters()
    assert not torch.cuda.is_current_stream_capturing() and captured.launches > before.launches + 10
    for _ in range(3):
        graph.replay()
    assert counters().launches <= captured.launches + 3 * 3, "a graph is one launch, its random state two"
    assert counters().mallocs == captured.mallocs
    torch.cuda.synchronize()
    assert counters().device_ns >= captured.device_ns + 3 * 10 * 5000, "a graph takes the time of its kernels"
    assert loss.item() == 0 and counters().misuses == 0
    """)


def test_a_graph_that_reads_freed_memory_is_found_when_it_is_launched(simulate):
    simulate("""
        data = torch.zeros(16 << 20, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = data[100:200].sin()
        graph.replay()
        assert counters().misuses == 0
        del data
        torch.cuda.empty_cache()
        try:
            graph.replay()
            raise SystemExit("not found")
        except RuntimeError as error:
            assert "illegal memory access" in str(error), error
        assert counters().misuses == 1
    """)


def test_a_stream_that_waits_for_a_capturing_one_captures_too(simulate):
    simulate("""
        data, side, graph = torch.zeros(64, device="cuda"), torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            first = data + 1
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                assert torch.cuda.is_current_stream_capturing()
                second = first + 1
            torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.stream(side):
            assert not torch.cuda.is_current_stream_capturing()
        graph.replay()
        assert counters().misuses == 0
    """)


def test_what_breaks_a_capture_on_a_gpu_breaks_it_here(simulate):
    simulate("""
        data, event = torch.zeros(64, device="cuda"), torch.cuda.Event()
        event.record()
        for broken in (lambda: data.sum().item(), torch.cuda.synchronize, event.query):
            try:
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    data + 1
                    broken()
                raise SystemExit("captured")
            except RuntimeError as error:
                assert "captur" in str(error), error
        assert counters().misuses == 3
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            data + 1
        graph.replay()
    """)
