"""PyTorch's database of its own ops, with samples of their arguments: `op_db`."""

import sys
import types
import unittest

if "expecttest" not in sys.modules:  # PyTorch's test helpers want its names, but not for this
    try:
        import expecttest  # noqa: F401
    except ImportError:
        sys.modules["expecttest"] = types.ModuleType("expecttest")
        sys.modules["expecttest"].TestCase = unittest.TestCase
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402, F401
