"""Which custom autograd.Functions only call ops, found out from their code.

While tensors may be evicted, code that reads memory through pointers of its own must find it resident. Such code is not
Python: it belongs to extension modules, which a Function reaches by a name or through an argument. So a Function whose
names all lead to PyTorch, NumPy, harmless parts of the standard library, or Python functions of which the same holds,
only calls ops: the runtime sees them all. Whatever is not certain counts as code with pointers of its own.

Thread safety: any thread that holds the interpreter's lock.
"""

import builtins
import dis
import enum
import functools
import types
import weakref
from collections.abc import Iterable, Iterator

import torch

# Packages that reach a tensor's memory by ops only, or by what _guards.py guards (NumPy).
_HARMLESS = frozenset({"torch", "numpy", "builtins", "math", "cmath", "functools", "itertools", "operator", "collections",
                       "contextlib", "typing", "typing_extensions", "warnings", "enum", "dataclasses", "numbers", "copy",
                       "types", "abc", "weakref", "logging", "time", "random", "re", "string", "os", "sys", "traceback"})
# Parts of PyTorch that run kernels by address: nobody announces these as ops.
_BY_ADDRESS = ("torch.cuda.graphs", "torch.xpu.graphs", "torch.jit", "torch._inductor", "torch.utils.cpp_extension",
               "torch.sparse._triton_ops")
_UNKNOWN_CODE = (builtins.__import__, builtins.eval, builtins.exec, builtins.compile, builtins.globals, builtins.locals)
_PLAIN = (type(None), bool, int, float, complex, str, bytes, slice, range, type(...), enum.Enum, torch.Tensor,
          torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size, torch.Generator)
_DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
                types.MemberDescriptorType, types.MethodWrapperType)
# By Function: what it consisted of when it was looked at, and the verdict.
_known: "weakref.WeakKeyDictionary[type, tuple[list, bool]]" = weakref.WeakKeyDictionary()


def only_calls_ops(function: type, arguments: Iterable = ()) -> bool:
    """True if `function`, an autograd.Function, cannot reach a tensor's memory but by ops. `arguments`: of a call."""
    parts = list(map(id, vars(function).values()))  # compiled ones get their backward pass later
    seen, harmless = _known.get(function, (None, False))
    if seen != parts:
        harmless = _Search().is_harmless_class(function)
        _known[function] = (parts, harmless)
    return harmless and (_is_of_torch(function.__module__) or all(map(_is_plain, arguments)))


def _is_of_torch(module: str | None) -> bool:
    return module is not None and (module + ".").startswith("torch.") and not module.startswith(_BY_ADDRESS)


def _is_plain(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return isinstance(value, _PLAIN)


def _instructions(code: types.CodeType) -> Iterator[dis.Instruction]:
    """Of the code and of what is defined inside it."""
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _instructions(constant)


class _Search:
    """One look at a Function; remembers what it has seen, as functions may call each other."""

    def __init__(self):
        self._seen: list[object] = []  # kept alive, so that no address is used twice

    def is_harmless_class(self, function: type) -> bool:
        """Its own code and that of the classes between it and PyTorch's."""
        for base in function.__mro__:
            if base is torch.autograd.Function:
                return True
            if not all(self._is_harmless(value) for name, value in vars(base).items() if not name.startswith("__")):
                return False
        return False

    def _is_harmless(self, value: object) -> bool:
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if isinstance(value, functools.partial):
            return all(map(self._is_harmless, (value.func, *value.args, *value.keywords.values())))
        if any(value is seen for seen in self._seen) or _is_plain(value):
            return True
        self._seen.append(value)
        if isinstance(value, (tuple, list, set, frozenset)):
            return all(map(self._is_harmless, value))
        if isinstance(value, dict):
            return all(map(self._is_harmless, value.values()))
        return self._is_harmless_code(value)

    def _is_harmless_code(self, value: object) -> bool:
        if isinstance(value, types.ModuleType):
            return self._is_harmless_name(value.__name__)
        if isinstance(value, types.FunctionType):
            return self._are_harmless_names(value)
        if isinstance(value, types.MethodType):
            return self._is_harmless(value.__func__) and self._is_harmless(value.__self__)
        if isinstance(value, types.BuiltinFunctionType):
            return value not in _UNKNOWN_CODE and (self._is_harmless_name(value.__module__) if value.__module__
                                                   else self._is_harmless(value.__self__))
        return self._is_harmless_type(value) if isinstance(value, type) else self._is_harmless_object(value)

    def _is_harmless_type(self, value: type) -> bool:
        if issubclass(value, torch.autograd.Function) and not _is_of_torch(value.__module__):
            return self.is_harmless_class(value)
        node_of_a_function = issubclass(value, torch.autograd.function.BackwardCFunction)
        return node_of_a_function or self._is_harmless_name(value.__module__)

    def _is_harmless_object(self, value: object) -> bool:
        if isinstance(value, property):
            return all(map(self._is_harmless, (value.fget, value.fset, value.fdel)))
        if type(value).__module__ == "builtins":  # capsules, with which extensions hand on pointers, are such
            return isinstance(value, _DESCRIPTORS)
        kept = [part for part in getattr(value, "__dict__", {}).values() if callable(part)]
        return self._is_harmless_name(type(value).__module__) and all(map(self._is_harmless, kept))

    @staticmethod
    def _is_harmless_name(module: str) -> bool:
        return module.partition(".")[0] in _HARMLESS and not module.startswith(_BY_ADDRESS)

    def _are_harmless_names(self, function: types.FunctionType) -> bool:
        """What its code names: globals, what it closes over, imports. PyTorch's own functions are taken at their word."""
        cells = [self._in_cell(cell) for cell in function.__closure__ or ()]
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        if not all(map(self._is_harmless, cells + defaults)):
            return False
        if _is_of_torch(function.__module__):
            return True
        for instruction in _instructions(function.__code__):
            if instruction.opname == "IMPORT_NAME" and not self._is_harmless_name(str(instruction.argval)):
                return False
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and not self._is_harmless(
                    self._named(function, instruction.argval)):
                return False
        return True

    @staticmethod
    def _named(function: types.FunctionType, name: str) -> object:
        return function.__globals__.get(name, getattr(builtins, name, None))

    @staticmethod
    def _in_cell(cell: types.CellType) -> object:
        try:
            return cell.cell_contents
        except ValueError:  # empty as yet
            return None
