"""Every way of calling an op: the kinds of tensors, modes and transforms that PyTorch has.

A way takes a function of tensors and its arguments; what it gives are all tensors that came of it, in order. One that does
not suit an op raises.
"""

import contextlib
from collections.abc import Callable

import torch
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only

Way = Callable[[Callable, tuple, dict], object]
WAYS: dict[str, Way] = {}


class Unsuitable(Exception):
    """This way says nothing of this call."""


def way(run: Way) -> Way:
    WAYS[run.__name__] = run
    return run


class Wrapped(torch.Tensor):
    """Holds another tensor, as quantised weights and distributed tensors do."""

    @staticmethod
    def __new__(cls, inner):
        self = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype,
            requires_grad=inner.requires_grad)
        self.inner = inner.detach()
        return self

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = tree_map_only(Wrapped, lambda one: one.inner, (args, kwargs or {}))
        return tree_map_only(torch.Tensor, Wrapped, func(*args, **kwargs))


class Counting(TorchDispatchMode):
    """Counts ops in a tensor that can be evicted."""

    def __init__(self):
        super().__init__()
        self.total = torch.zeros(8) + torch.ones(8)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.total.mul_(1.5)
        return func(*args, **(kwargs or {}))


def tensors_in(tree) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


def is_differentiable(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _dressed(dress: Callable, args: tuple, named: dict, suits: Callable = is_differentiable):
    """The arguments with each tensor that suits dressed; at least one must."""
    if not any(suits(one) for one in tensors_in((args, named))):
        raise Unsuitable
    return tree_map_only(torch.Tensor, lambda one: dress(one) if suits(one) else one, (args, named))


def _differentiated(results):
    """The results, and the gradients of all leaves that they come from."""
    made = [one for one in tensors_in(results) if one.requires_grad]
    if made:
        torch.autograd.backward(made, [torch.ones_like(one) for one in made])
    return results


def _with_gradients(function, args, named):
    leaves = []

    def leaf(tensor):
        leaves.append(tensor.detach().requires_grad_())
        return leaves[-1] * 1  # an op may write it
    args, named = _dressed(leaf, args, named)
    results = _differentiated(function(*args, **named))
    return results, [one.grad for one in leaves]


@way
def gradients(function, args, named):
    return _with_gradients(function, args, named)


@way
def no_grad(function, args, named):
    with torch.no_grad():
        return function(*args, **named)


@way
def inference(function, args, named):
    with torch.inference_mode():
        inside = tree_map_only(torch.Tensor, lambda one: one * 1, (args, named))
        return function(*args, **named), function(*inside[0], **inside[1])


@way
def dispatch_mode(function, args, named):
    mode = Counting()
    with mode:
        results = _with_gradients(function, args, named)
    return results, mode.total


@way
def subclass(function, args, named):
    made = _with_gradients(function, *_dressed(Wrapped, args, named, lambda one: one.layout == torch.strided))
    return tree_map_only(Wrapped, lambda one: one.inner, made)


@way
def forward_mode(function, args, named):
    with forward_ad.dual_level():
        args, named = _dressed(lambda one: forward_ad.make_dual(one.detach(), one.detach() * 0.5), args, named)
        results = [forward_ad.unpack_dual(one) for one in tensors_in(function(*args, **named))]
        return [(one.primal, one.tangent) for one in results]


@way
def forward_over_reverse(function, args, named):
    with forward_ad.dual_level():
        def dual(one):
            return forward_ad.make_dual(one, one.detach() * 0.5)
        results, gradients = _with_gradients(function, *_dressed(dual, args, named))
        return [tuple(forward_ad.unpack_dual(one)) for one in tensors_in((results, gradients))]


@way
def forward_mode_of_lazy_bits(function, args, named):
    return forward_mode(function, *_dressed(lambda one: one.conj(), args, named, torch.is_complex))


@way
def forward_mode_in_mode(function, args, named):
    mode = Counting()
    with mode:
        results = forward_over_reverse(function, args, named)
    return results, mode.total


@way
def function_grad(function, args, named):
    first = next((i for i, one in enumerate(args) if isinstance(one, torch.Tensor) and one.is_floating_point()), None)
    if first is None:
        raise Unsuitable

    def total(one):
        made = function(*args[:first], one, *args[first + 1:], **named)
        return sum(result.abs().sum() for result in tensors_in(made) if result.is_floating_point())
    return torch.func.grad(total)(args[first]), torch.func.jvp(total, (args[first],), (args[first] * 0.5,))


@way
def vmapped(function, args, named):
    first = next((i for i, one in enumerate(args) if isinstance(one, torch.Tensor)), None)
    if first is None:
        raise Unsuitable
    both = torch.stack([args[first], args[first]])
    return torch.func.vmap(lambda one: function(*args[:first], one, *args[first + 1:], **named),
                           randomness="same")(both)


@way
def functionalised(function, args, named):
    return torch.func.functionalize(lambda *tensors: function(*tensors, **named))(*args)


@way
def conjugated(function, args, named):
    args, named = _dressed(lambda one: one.conj(), args, named, torch.is_complex)
    return function(*args, **named)


@way
def negated(function, args, named):
    args, named = _dressed(lambda one: torch.complex(one, one).conj().imag, args, named,
                           lambda one: one.dtype in (torch.float32, torch.float64))
    return function(*args, **named)


@way
def zero_tensors(function, args, named):
    args, named = _dressed(lambda one: torch._efficientzerotensor(one.shape, dtype=one.dtype), args, named)
    return function(*args, **named)


def _layout(name: str, dress: Callable, suits: Callable) -> None:
    def run(function, args, named):
        results = function(*(given := _dressed(dress, args, named, suits))[0], **given[1])
        return results, given
    run.__name__ = name
    way(run)


def _has_entries(dimensions: int) -> Callable:
    return lambda one: is_differentiable(one) and one.dim() >= dimensions and one.numel() > 0


def _quantised_by_rows(one: torch.Tensor, rows: int) -> torch.Tensor:
    scales, zeros = torch.full((rows,), 0.1) * 1, torch.zeros(rows, dtype=torch.long) + 0
    return torch.quantize_per_channel(one, scales, zeros, 0, torch.qint8)


_layout("sparse", lambda one: one.to_sparse(), _has_entries(1))
_layout("sparse_rows", lambda one: one.to_sparse_csr(), _has_entries(2))
_layout("sparse_blocks", lambda one: one.to_sparse_bsr((1, 1)), _has_entries(2))
_layout("nested", lambda one: torch.nested.as_nested_tensor([one, one[:1]]), _has_entries(1))
_layout("jagged", lambda one: torch.nested.as_nested_tensor([one, one[:1]], layout=torch.jagged), _has_entries(1))
_layout("quantised", lambda one: torch.quantize_per_tensor(one, 0.1, 3, torch.quint8), _has_entries(1))
_layout("quantised_rows", lambda one: _quantised_by_rows(one, one.size(0)), _has_entries(1))
_layout("mkldnn", lambda one: one.to_mkldnn(), lambda one: one.dtype == torch.float32 and one.dim() > 0)


def parts_of(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Dense tensors that say all of `tensor`."""
    if isinstance(tensor, Wrapped):
        return parts_of(tensor.inner)
    if tensor.is_nested:
        return [one for part in tensor.unbind() for one in parts_of(part)]
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    if tensor.is_quantized:
        return [tensor.int_repr()]
    if tensor.layout == torch._mkldnn:
        return [tensor.to_dense()]
    return [tensor]


@contextlib.contextmanager
def repeatable():
    """One thread, and kernels that repeat their bits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_num_threads(threads)
