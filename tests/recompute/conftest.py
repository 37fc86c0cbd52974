"""A runtime of its own for each test that asks for one."""

import pytest
import torch


@pytest.fixture
def deterministic():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def runtime(deterministic):
    from tests.recompute import probe  # only where CTest says where it lies

    torch.manual_seed(0)
    with probe.installed():
        yield
