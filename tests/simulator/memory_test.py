"""PyTorch's own memory machinery on the simulated device: limits, statistics, segments, streams, several devices."""


def test_out_of_memory_is_caught_and_training_goes_on(simulate):
    simulate("""
        assert torch.cuda.mem_get_info()[1] == 256 << 20
        kept = torch.empty(100 << 20, dtype=torch.uint8, device="cuda")
        try:
            torch.empty(200 << 20, dtype=torch.uint8, device="cuda")
        except torch.cuda.OutOfMemoryError as error:
            assert "256.00 MiB" in str(error), error
        else:
            raise SystemExit("no error")
        del kept
        torch.empty(200 << 20, dtype=torch.uint8, device="cuda")
        train(nn.Linear(64, 64), lambda m: m(torch.empty(8, 64, device="cuda")).sum())
        assert counters().out_of_memory >= 1
    """, STOWAGE_SIM_MEMORY="256MiB")


def test_expandable_segments_use_mappings_only(simulate):
    simulate("""
        train(nn.Sequential(*(nn.Linear(512, 512) for _ in range(4))),
              lambda m: m(torch.empty(512, 512, device="cuda")).sum())
        seen = counters()
        assert seen.vmm_calls > 0 and seen.mallocs == 0 and seen.misuses == 0
        torch.cuda.empty_cache()
        assert counters().used_bytes < seen.used_bytes
    """, PYTORCH_ALLOC_CONF="expandable_segments:True")


def test_statistics_and_history(simulate):
    simulate("""
        torch.cuda.memory._record_memory_history()
        block = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
        del block
        trace = torch.cuda.memory._snapshot()["device_traces"][0]
        assert [e["action"] for e in trace] == ["segment_alloc", "alloc", "free_requested", "free_completed"], trace
        assert "Allocated memory" in torch.cuda.memory_summary()
        assert torch.cuda.max_memory_allocated() == 3 << 20 and torch.cuda.memory_allocated() == 0
        assert counters().used_bytes == torch.cuda.memory_reserved() == 20 << 20
    """)


def test_record_stream_holds_a_block_until_the_other_stream_is_done(simulate):
    simulate("""
        side = torch.cuda.Stream()
        x = torch.empty(8 << 20, dtype=torch.uint8, device="cuda")
        with torch.cuda.stream(side):
            for _ in range(200):
                x.add_(1)
        x.record_stream(side)
        first = x.data_ptr()
        del x
        y = torch.empty(8 << 20, dtype=torch.uint8, device="cuda")
        assert y.data_ptr() != first, "reused while the side stream was still at work"
        del y
        assert counters().not_ready > 0
        side.synchronize()
        z = [torch.empty(8 << 20, dtype=torch.uint8, device="cuda") for _ in range(2)]
        assert first in [t.data_ptr() for t in z]
    """)


def test_events_follow_virtual_time_the_same_in_every_run(simulate):
    script = """
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a = torch.empty(1024, 1024, device="cuda")
        start.record()
        for _ in range(10):
            a @ a
        end.record()
        assert not end.query()
        torch.cuda.synchronize()
        assert end.query()
        print(start.elapsed_time(end), counters().host_ns)
    """
    first = simulate(script)
    assert float(first.split()[0]) >= 10 * 2 * 1024**3 / 400e9  # ms at 400 TFLOPS
    assert simulate(script) == first


def test_pinned_loader_and_asynchronous_copies(simulate):
    simulate("""
        from torch.utils.data import DataLoader, TensorDataset
        loader = DataLoader(TensorDataset(torch.arange(64.0).view(16, 4)), batch_size=4, pin_memory=True)
        for at, (batch,) in enumerate(loader):
            assert batch.is_pinned()
            assert batch.cuda(non_blocking=True).cpu()[0, 0] == 16 * at
        assert counters().host_allocations > 0 and counters().misuses == 0
    """)


def test_uploaded_values_come_back_and_computed_ones_are_zero(simulate):
    simulate("""
        assert torch.tensor(7, device="cuda").item() == 7
        assert torch.tensor([1, 2, 3], device="cuda").tolist() == [1, 2, 3]
        junk = torch.full((64,), 3.0).cuda()
        del junk
        assert torch.empty(64, device="cuda").add(1).sum().item() == 0
        assert torch.ones(5, device="cuda").nonzero().shape == (0, 1)
    """)


def test_two_devices_have_memory_and_clocks_of_their_own(simulate):
    simulate("""
        assert torch.cuda.device_count() == 2
        a = torch.empty(64 << 20, dtype=torch.uint8, device="cuda:1")
        assert torch.cuda.memory_allocated(0) == 0 and torch.cuda.memory_allocated(1) == 64 << 20
        assert torch.tensor([5], device="cuda:0").to("cuda:1").item() == 5
        try:
            torch.empty(112 << 20, dtype=torch.uint8, device="cuda:1")
            raise SystemExit("no error")
        except torch.cuda.OutOfMemoryError:
            torch.empty(112 << 20, dtype=torch.uint8, device="cuda:0")
        model = nn.Linear(16, 16).to("cuda:1")
        model(torch.empty(4, 16, device="cuda:1")).sum().backward()
        torch.cuda.synchronize(1)
    """, STOWAGE_SIM_DEVICES=2, STOWAGE_SIM_MEMORY="160MiB")


def test_profiler_does_not_crash(simulate):
    simulate("""
        with torch.profiler.profile(profile_memory=True) as profile:
            train(nn.Linear(8, 8), lambda m: m(torch.empty(2, 8, device="cuda")).sum())
        assert any(e.key == "aten::addmm" for e in profile.key_averages())
    """)


def test_pools_and_async_allocator(simulate):
    simulate("""
        assert torch.cuda.memory.get_allocator_backend() == "cudaMallocAsync"
        block = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
        assert counters().mallocs == 1 and counters().used_bytes == 4 << 20
        del block
        assert counters().frees == 1 and counters().used_bytes == 0
    """, PYTORCH_ALLOC_CONF="backend:cudaMallocAsync")


def test_misuse_through_a_bad_setting_is_one_clear_error(simulate):
    try:
        simulate("torch.cuda.init()", STOWAGE_SIM_MEMORY="lots")
    except AssertionError as error:
        assert "exit 2" in str(error) and "STOWAGE_SIM_MEMORY=lots is not valid" in str(error)
    else:
        raise AssertionError("accepted")
