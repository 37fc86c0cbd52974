"""A runtime of its own for each test that asks for one."""

import pytest
import torch


@pytest.fixture
def runtime():
    from tests.recompute import probe  # only where CTest says where it lies

    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    with probe.installed():
        yield
    torch.use_deterministic_algorithms(False)
