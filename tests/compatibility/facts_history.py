"""Memory history, snapshots and plots: TestCudaMallocAsync.test_memory_*."""
import json

import torch
from harness import fact
from torch.cuda._memory_viz import _profile_to_snapshot, profile_plot, segment_plot, trace_plot

record = torch.cuda.memory._record_memory_history
snapshot = torch.cuda.memory._snapshot


class recorded:
    """History as the arguments say, off at the end."""
    def __init__(self, *arguments, **options):
        record(*arguments, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        record(None)


def blocks(size):
    return [b for s in snapshot()["segments"] for b in s["blocks"]
            if b["state"] == "active_allocated" and b["requested_size"] == size]


@fact("TestCudaMallocAsync.test_memory_snapshot")
def blocks_carry_the_frames_of_their_allocation():
    with recorded("state", stacks="python"):
        unused = torch.rand(310, 410, device="cuda")
        x = torch.rand(311, 411, device="cuda")
        small = [torch.rand(128, device="cuda") for _ in range(100)]
        del small
        (block,) = blocks(311 * 411 * 4)
        assert block["address"] == x.untyped_storage().data_ptr()
        assert "facts_history" in block["frames"][0]["filename"]
        assert all("frames" in segment for segment in snapshot()["segments"])
        del unused, x


@fact("TestCudaMallocAsync.test_memory_snapshot", sizes=True)
def the_last_event_is_that_of_empty_cache():
    with recorded("state", stacks="python"):
        x = torch.rand(311, 411, device="cuda")
        del x
        torch.cuda.empty_cache()
        assert snapshot()["device_traces"][0][-1]["action"] in ("segment_free", "segment_unmap")


@fact("TestCudaMallocAsync.test_memory_snapshot_with_cpp")
def frames_of_c_plus_plus_are_there_too():
    with recorded("state", stacks="all"):
        x = torch.rand(311, 411, device="cuda")
        (block,) = blocks(311 * 411 * 4)
        assert "::rand" in str(block["frames"])
        del x


@fact("TestCudaMallocAsync.test_memory_snapshot_script")
def frames_of_torchscript_are_there_too():
    with recorded("state", stacks="python"):
        x = scripted()
        (block,) = blocks(311 * 411 * 4)
        assert block["frames"][0]["name"] == "scripted", block["frames"][0]
        del x


@torch.jit.script
def scripted():
    return torch.rand(311, 411, device="cuda")


@fact("TestCudaMallocAsync.test_memory_profiler_viz")
def the_profilers_view_names_tensors_and_lines():
    with torch.profiler.profile(with_stack=True, profile_memory=True, record_shapes=True) as profile:
        x = torch.rand(128, 128, device="cuda")
        x * x + x * x
    profile_plot(profile)
    text = json.dumps(_profile_to_snapshot(profile))
    assert "facts_history" in text and "category" in text


@fact("TestCudaMallocAsync.test_memory_plots")
def plots_render_with_and_without_frames():
    for context, stacks in (("all", "all"), ("all", "python"), (None, "python")):
        with recorded("all", context=context, stacks=stacks):
            x = torch.rand(128, 128, device="cuda")
            x * x + x * x
            shot = snapshot()
            assert trace_plot(shot) and trace_plot(shot, filter_freed=True) and segment_plot(shot)
            text = json.dumps(shot)
            assert ("plots_render" in text) == (context is not None)
            assert ("::rand" in text) == (stacks == "all")
            assert str(128 * 128 * 4) in text
            del x


@fact("TestCudaMallocAsync.test_memory_plots_free_stack")
def frames_of_frees_and_allocations_as_the_context_says():
    def the_allocation():
        return torch.rand(3, 4, device="cuda")

    def the_free(holder):
        holder.clear()

    for context in ("alloc", "all", "state"):
        with recorded(context=context):
            the_free([the_allocation()])
            text = json.dumps(snapshot())
            assert ("the_free" in text) == (context == "all"), context
            assert ("the_allocation" in text) == (context != "state"), context


@fact("TestCudaMallocAsync.test_memory_plots_history_context")
def a_change_of_the_context_holds_from_then_on():
    held = []

    def captured_first():
        held.append(torch.rand(4, 4, device="cuda"))

    def not_captured():
        held.append(torch.rand(3, 4, device="cuda"))

    def captured_last():
        held.append(torch.rand(4, 4, device="cuda"))

    with recorded(context="all", stacks="python"):
        captured_first()
        record(context=None)
        not_captured()
        record(context="all", stacks="python")
        captured_last()
        text = json.dumps(snapshot())
        assert "captured_first" in text and "captured_last" in text and "not_captured" not in text


@fact("TestCudaMallocAsync.test_memory_plots_free_segment_stack", sizes=True)
def frames_of_segments_as_the_context_says():
    for context in ("alloc", "all", "state"):
        torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.empty_cache()
        with recorded(context=context):
            x = torch.rand(3, 4, device="cuda")
            del x
            torch.cuda.empty_cache()
            assert ("empty_cache" in json.dumps(snapshot())) == (context == "all"), context


@fact("TestCudaMallocAsync.test_memory_plots_metadata")
def events_carry_the_threads_metadata():
    for context in ("alloc", "all", "state"):
        torch.cuda.memory._set_memory_metadata("of this fact")
        with recorded(context=context):
            x = torch.rand(3, 4, device="cuda")
            del x
            torch.cuda.memory._set_memory_metadata("")
            events = snapshot()["device_traces"][0]
            assert events and all(event["user_metadata"] == "of this fact" for event in events)


@fact("TestCudaMallocAsync.test_memory_snapshot_skip_actions")
def skipped_actions_are_not_written_down():
    for skipped in (["free_requested"], ["free_requested", "free_completed"], ["alloc"], [], None):
        with recorded(context="all", stacks="python", skip_actions=skipped):
            x = torch.rand(128, 128, device="cuda")
            del x
            actions = {event["action"] for event in snapshot()["device_traces"][0]}
            assert actions and not actions & set(skipped or []), (skipped, actions)


@fact("TestCudaMallocAsync.test_cpp_memory_snapshot_pickle")
def the_last_event_is_the_last_allocation():
    with recorded(max_entries=10):
        x = torch.rand(311, 411, device="cuda")
        events = snapshot()["device_traces"][0]
        assert len(events) <= 10
        assert (events[-1]["action"], events[-1]["size"]) == ("alloc", 311 * 411 * 4)
        del x


@fact("TestCuda.test_memory_snapshot (sums)")
def segments_and_blocks_sum_up_to_the_statistics():
    held = [torch.empty(n * 100_000, dtype=torch.uint8, device="cuda") for n in range(1, 30)]
    del held[::2]
    segments, stats = snapshot()["segments"], torch.cuda.memory_stats()
    for name, key in (("allocated_size", "allocated_bytes"), ("active_size", "active_bytes"),
                      ("total_size", "reserved_bytes")):
        assert sum(s[name] for s in segments) == stats[f"{key}.all.current"], name
    for segment in segments:
        assert sum(b["size"] for b in segment["blocks"]) == segment["total_size"]
        assert all(one["address"] + one["size"] == other["address"]
                   for one, other in zip(segment["blocks"], segment["blocks"][1:]))
