"""Out of memory inside TorchScript stays torch.OutOfMemoryError: the interpreter tells of any failure as RuntimeError."""

import functools
from collections.abc import Callable

import torch
import torch.autograd.graph

# Where Python waits for code that TorchScript may run: calls of what was scripted or traced, and the backward pass.
INTERPRETERS = ((torch._C.ScriptFunction, "__call__"), (torch._C.ScriptMethod, "__call__"),
                (torch.autograd, "_engine_run_backward"), (torch.autograd.graph, "_engine_run_backward"))
_SIGN = "stowage: the budget of "  # how each such message of Stowage's begins; see session/budget/budget_controller.cc


def keeps_out_of_memory(call: Callable) -> Callable:
    """`call`, with a failure that says that the budget is used up raised as what it is."""
    @functools.wraps(call)
    def calling(*arguments, **named):
        try:
            return call(*arguments, **named)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            if _SIGN not in str(error):
                raise
            raise torch.OutOfMemoryError(str(error)) from error
    return calling
