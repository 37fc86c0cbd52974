"""What leaves PyTorch behind the dispatcher's back: how long a tensor stays for it, and what may be evicted meanwhile."""

import copy
import ctypes
import gc
import importlib
import inspect
import io
import pickle

import numpy
import pytest
import torch

from stowage._exports import loans
from stowage._raw_access import COMPARING
from tests.recompute import probe
from tests.recompute.probe import data, evict, is_evicted

pytestmark = pytest.mark.usefixtures("runtime")


def _save_safely(tensor):
    safetensors = pytest.importorskip("safetensors.torch")
    safetensors.save({"tensor": tensor})


_READERS = [lambda t: torch.save(t, io.BytesIO()), lambda t: torch.save({"a": [t]}, io.BytesIO()), lambda t: t.tolist(),
            pickle.dumps, lambda t: torch.save(t, io.BytesIO(), _use_new_zipfile_serialization=False), _save_safely,
            # These make a tensor of the same storage on the way.
            copy.deepcopy, lambda t: t.untyped_storage()[0], lambda t: t.untyped_storage().tolist()]


@pytest.mark.parametrize("read", _READERS)
def test_a_reader_keeps_nothing(read):
    x = data(300)
    y = x.exp()
    before = y.clone()
    assert evict(y)
    read(y)
    assert evict(y), "evicted before, evicted again"
    assert torch.equal(y, before)


@pytest.mark.parametrize("read", _READERS)
def test_what_is_computed_from_a_parameter_that_was_read_is_evicted(read):
    weight = torch.nn.Parameter(data(300))
    read(weight.detach())
    out = weight * 2
    assert evict(out)


@pytest.mark.parametrize("lend", [
    lambda t: t.numpy(), numpy.asarray, lambda t: memoryview(t.numpy()), lambda t: numpy.asarray(t)[::2][1:],
    lambda t: t.__dlpack__(), lambda t: torch.utils.dlpack.to_dlpack(t), torch.from_dlpack, numpy.from_dlpack,
    lambda t: torch.from_numpy(t.numpy())])
def test_while_memory_is_lent_nothing_computed_from_it_is_evicted(lend):
    x = data(300)
    out = lend(x)
    gc.collect()
    meanwhile = x * 2
    assert not evict(meanwhile)
    del out
    gc.collect()
    late = x * 2
    assert evict(late) and not evict(meanwhile)


def test_a_write_through_numpy_reaches_no_recipe():
    x = data(30)
    y = x.exp()
    z = y.sin()
    before = z.clone()
    assert evict(z)
    array = y.numpy()
    array[:] = 0
    late = y + 1
    assert not evict(late), "made from memory that others may write"
    evict(z)
    assert torch.equal(z, before), "made again from what y was"
    del array
    last = y + 1
    assert evict(last)
    assert torch.equal(last, torch.ones(30))


def _write(address, value):
    ctypes.cast(address, ctypes.POINTER(ctypes.c_float))[0] = value


def test_an_address_that_is_used_at_once_costs_no_recipe():
    x = data(300)
    y = x.exp()
    before = y.clone()
    evict(y)
    _write(x.data_ptr(), 1.5)
    z = x.exp()
    assert evict(z), "nobody wrote since"
    assert torch.equal(y, before), "made from what x was before its address was told"
    assert z[0] == torch.exp(torch.tensor(1.5))


def test_a_later_write_to_an_address_is_found_at_the_next_use():
    x = data(300)
    address = x.data_ptr()
    y = x.exp()
    _write(address, 1.5)
    z = x.exp()
    assert not evict(y) and not evict(z)
    assert z[0] == torch.exp(torch.tensor(1.5)) and y[0] != z[0]


def test_a_later_write_to_an_address_is_an_error_where_bytes_would_be_wrong():
    x = data(300)
    address = x.data_ptr()
    y = x.exp()
    assert evict(y)
    _write(address, 1.5)
    with pytest.raises(RuntimeError, match="data_ptr"):
        y + 1
    probe.library.probe_end_iteration()
    z = x.exp()
    assert not evict(z)
    del y


def test_an_op_may_write_what_has_an_address():
    x = data(300)
    x.data_ptr()
    y = x.exp()
    before = y.clone()
    assert evict(y)
    x.mul_(2)
    assert torch.equal(y, before)
    assert evict(x.exp())


@pytest.mark.parametrize("zipped", [True, False])
def test_what_is_saved_need_not_be_in_memory_at_once(zipped, tmp_path):
    """As a model and its optimizer's state, which is away between steps."""
    size = 1 << 16
    tensors = {f"at {i}": data(size) for i in range(8)} | {"empty": torch.empty(0)}
    tensors["view"] = tensors["at 1"][5:9]
    wanted = {name: tensor.tolist() for name, tensor in tensors.items()}
    gc.collect()
    with probe.spilling(tmp_path):
        assert all(probe.offload(tensor) for name, tensor in tensors.items() if name.startswith("at"))
        with probe.limited(3 * 4 * size) as most:
            torch.save(tensors, tmp_path / "saved.pt", _use_new_zipfile_serialization=zipped)
            assert most() <= 3 * 4 * size
        loaded = torch.load(tmp_path / "saved.pt", weights_only=True)
    assert {name: tensor.tolist() for name, tensor in loaded.items()} == wanted
    assert loaded["view"].untyped_storage()._cdata == loaded["at 1"].untyped_storage()._cdata


def test_what_is_told_apart_need_not_be_in_memory(tmp_path):
    """As safetensors does with the tensors that it is given."""
    safetensors = pytest.importorskip("safetensors.torch")
    whole, other = data(64), data(64)
    state = {"whole": whole, "same": whole.view(8, 8), "other": other, "first": other[:32], "last": other[32:],
             "empty": data(0)}

    def told() -> list:
        return [sorted(map(sorted, safetensors._find_shared_tensors(state))), safetensors._remove_duplicate_names(
            {name: state[name] for name in ("whole", "same")})]
    wanted = told()
    with probe.spilling(tmp_path):
        assert probe.offload(whole) and probe.offload(other)
        assert told() == wanted
        assert is_evicted(whole) and is_evicted(other)
        with pytest.raises(RuntimeError, match="share memory"):
            safetensors.save_file(state, tmp_path / "shared")
        safetensors.save_file({"whole": whole, "other": other}, tmp_path / "saved")
        loaded = safetensors.load_file(tmp_path / "saved")
    assert torch.equal(loaded["whole"], whole) and torch.equal(loaded["other"], other)


def test_functions_that_compare_addresses_are_where_they_are_said_to_be():
    """In the torch that is tested; a function that moved would let tensors stay again."""
    for module, names in COMPARING.items():
        if module.startswith("torch."):
            code = inspect.getsource(importlib.import_module(module))
            assert all(f"def {name}(" in code for name in names if name != "<setcomp>"), module


def test_of_two_tensors_that_are_compared_none_comes_back():
    from torch.distributed.fsdp._flat_param import _same_storage
    x = data(64)
    y, z = x.exp(), x.sin()
    part = z[3:]
    assert evict(y) and evict(z)
    assert _same_storage(z, part) and not _same_storage(y, z)
    assert is_evicted(y) and is_evicted(z)


def test_a_loan_is_known_to_the_next_runtime():
    x = data(300)
    array = x.numpy()
    probe.library.probe_uninstall()
    loans.forget_runtime()
    with probe.installed():
        out = x.exp()
        assert not evict(out)
        del array
        assert evict(x.exp())


def test_a_storage_that_is_resized_is_followed():
    """As FSDP does with the parameters that it gathers: freed after use, made again before the next."""
    weight = data(300)
    start = weight.clone()
    out = weight * 2
    before = out.clone()
    storage = weight.untyped_storage()
    assert evict(out)
    storage.resize_(0)
    assert torch.equal(out, before)
    storage.resize_(1200)
    weight.copy_(start)
    again = weight * 2
    assert evict(again)
    assert torch.equal(again, before)


def test_a_write_into_a_storage_is_followed():
    x = data(300)
    y = x.exp()
    before = y.clone()
    assert evict(y)
    x.untyped_storage()[3] = 64
    assert torch.equal(y, before)
    assert evict(x.exp())


@pytest.mark.parametrize("duplicate", [
    lambda x: torch.UntypedStorage(x.untyped_storage().nbytes()).copy_(x.untyped_storage()),
    lambda x: x.untyped_storage().clone(),
    lambda x: copy.deepcopy(x).untyped_storage(),
], ids=["copy_", "clone", "deepcopy"])
def test_a_storage_that_was_copied_can_leave_again(duplicate, tmp_path):
    """torch.save copies so what lies on a GPU: each parameter and each state of the optimizer."""
    source = data(1000)
    x = source * 2
    wanted = x.tolist()
    assert evict(x)
    copied = duplicate(x)
    assert not is_evicted(x) and evict(x)
    assert torch.tensor([], dtype=x.dtype).set_(copied).tolist() == wanted
    with probe.spilling(tmp_path):
        duplicate(source)
        assert probe.offload(source)
        assert x.tolist() == wanted
