"""What the page of offloading says of a job that does not fit."""

import pytest

from benchmarks.budget.offload import lacking

ERROR = ("stowage: the budget of 1000 bytes is used up: 2 MiB more do not fit. Held: 9 MiB, of these 3 MiB in use by the "
         "running op (aten::mm), {pinned}1 MiB made by the running op so far (outputs, workspace), 0 KiB evictable.")


@pytest.mark.parametrize("percent, pinned, text", [
    (50, "", "one op needs 60 %"),
    (60, "", "one op needs 60 %"),
    (75, "4 MiB parameters and other pinned tensors, ", "one op needs 60 %, its workspace and what stays 40 %"),
])
def test_it_says_what_stands_in_the_way(percent, pinned, text):
    assert lacking(ERROR.format(pinned=pinned), 10 << 20, percent) == text
