"""The include order of docs/design.md holds, and the checker finds what breaks it."""
import collections
import pathlib

import pytest

from tests.style.files import PARTS, files, read
from tests.style.includes import FOREIGN, MOST_FILES_IN_A_ROOM, ROOMS, problems


def test_every_file_keeps_the_order():
    names = files(".h", ".cc", ".c", under=PARTS)
    assert len(names) > 20, "the parts were not found"
    assert [problem for name in names for problem in problems(name, read(name))] == []


def test_files_named_in_the_allow_list_are_there():
    named = {place for _, places in FOREIGN.values() for place in places if place.endswith((".cc", ".h"))}
    assert named <= set(files(".h", ".cc"))


@pytest.mark.parametrize("house", ROOMS)
def test_every_folder_inside_is_a_room_of_few_files(house):
    folders = [pathlib.Path(name).parent.relative_to(house) for name in files(".h", ".cc", ".c", under=(house,))]
    sizes = collections.Counter(map(str, folders))
    assert set(sizes) - {"."} == set(ROOMS[house])
    assert max(sizes.values()) <= MOST_FILES_IN_A_ROOM


@pytest.mark.parametrize("name, header", [
    ("core/trace.cc", "planner/planner.h"),
    ("planner/planner.cc", "allocator/arena/arena.h"),
    ("allocator/arena/arena.h", "tracer/recorder/recorder.h"),
    ("tracer/recorder/recorder.cc", "planner/planner.h"),
    ("recompute/choice/evictor.cc", "tracer/recorder/recorder.h"),
    ("recompute/residency/residency.cc", "recompute/machine/machine.h"),
    ("recompute/interposer/interposer.cc", "recompute/recompute.h"),
    ("simulator/device/copy.cc", "simulator/stand_ins/api.h"),
    ("session/ports/ledger.h", "session/budget/budget_controller.h"),
    ("session/arena/served_arena.cc", "session/session.h"),
    ("planner/planner.cc", "session/session.h"),
    ("replay/main.cc", "session/session.h"),
    ("replay/main.cc", "tracer/recorder/recorder.h"),
    ("simulator/device/machine.cc", "core/units.h"),
    ("session/session.cc", "simulator/device/machine.h"),
    ("session/session.cc", "plugin/cpu/cpu_port.h"),
    ("plugin/cuda/device/cuda_port.cc", "plugin/cuda/adaptor/cuda_adaptor.h"),
    ("session/session.cc", "c10/core/Allocator.h"),
    ("plugin/cpu/cpu_port.cc", "library/control.h"),
    ("core/trace.cc", "torch/torch.h"),
    ("planner/planner.h", "c10/core/Allocator.h"),
    ("planner/placement/problem/problem.h", "planner/placement/instance/instance.h"),
    ("planner/placement/greedy/decode.h", "planner/placement/search/search.h"),
    ("planner/placement/search/state/model.h", "planner/placement/search/search.h"),
    ("planner/placement/proofs/bounds.cc", "planner/placement/solve.h"),
    ("allocator/cursor.cc", "cuda.h"),
    ("replay/main.cc", "cuda_runtime_api.h"),
    ("session/session.cc", "ATen/core/dispatch/Dispatcher.h"),
    ("tracer/observers/op_info.h", "ATen/core/dispatch/Dispatcher.h"),
    ("tracer/recorder/recorder.cc", "cupti.h"),
    ("allocator/layout/layout.cc", "lpsolve/lp_lib.h"),
    ("allocator/layout/layout.cc", "oneapi/tbb/task_arena.h"),
    ("session/plans/plan_cache.cc", "zstd.h"),
])
def test_a_planted_violation_is_found(name, header):
    for line in (f'#include "{header}"\n', f"  #  include <{header}>\n"):
        assert len(problems(name, "// text\n" + line)) >= 1


@pytest.mark.parametrize("name, header", [
    ("session/session.cc", "planner/planner.h"),
    ("plugin/cpu/cpu_port.cc", "session/ports/torch_port.h"),
    ("library/doors.cc", "plugin/cpu/cpu_adaptor.h"),
    ("planner/planner.cc", "core/trace.h"),
    ("recompute/choice/evictor.cc", "recompute/residency/residency.h"),
    ("recompute/choice/foreign_buffers.h", "recompute/evictable.h"),
    ("recompute/runtime.cc", "recompute/interposer/interposer.h"),
    ("session/arena/served_arena.cc", "session/budget/budget_controller.h"),
    ("planner/placement/refine.cc", "planner/placement/windows/window.h"),
    ("planner/placement/windows/window.cc", "planner/placement/search/search.h"),
    ("allocator/cuda/cuda_api.cc", "cuda.h"),
    ("tracer/observers/op_info.cc", "ATen/core/dispatch/Dispatcher.h"),
    ("tests/core/round_trip_test.cc", "session/session.h"),
    ("core/trace.cc", "vector"),
])
def test_what_is_allowed_is_not_reported(name, header):
    assert problems(name, f'#include "{header}"\n') == []


def test_an_include_in_a_comment_is_none():
    assert problems("core/trace.cc", '// see #include "session/session.h"\n') == []
