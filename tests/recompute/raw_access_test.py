"""Every function that PyTorch implements in C and shows to Python is an op, reads no memory, or has a guard.

A function that a newer torch adds fails here: find out from PyTorch's sources what it does with a tensor's memory, and
add it to python/stowage/_raw_access.py, or below.
"""

import re

import pytest
import torch

from stowage import _raw_access
from tests.recompute import probe
from tests.recompute.probe import data, evict, is_evicted

IN_C = {"method_descriptor", "builtin_function_or_method", "wrapper_descriptor", "classmethod_descriptor", "staticmethod",
        "getset_descriptor", "PyCapsule"}
OPS = {name.partition("::")[2].partition(".")[0] for name in torch._C._dispatch_get_all_op_names()
       if name.startswith("aten::")}
GUARDED = set(_raw_access.TENSOR) | set(_raw_access.HIDDEN)

# Written by hand in C, but all they do with memory they do through ops.
CALL_OPS = set("""
    __add__ __radd__ __iadd__ __rmul__ __mul__ __imul__ __sub__ __isub__ __div__ __truediv__ __itruediv__ __floordiv__
    __idiv__ __ifloordiv__ __mod__ __imod__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __rand__ __ror__ __rxor__ __bool__
    __float__ __complex__ __int__ __long__ __index__ __nonzero__ __invert__ __matmul__ __neg__ __pos__ __abs__
    __getitem__ __setitem__ __delitem__ bfloat16 byte char cpu cuda mtia xpu ipu double cdouble float cfloat bool half int
    long short type new new_tensor H T _view_func _view_func_unsafe _rev_view_func_unsafe
    """.split())
# Sizes, flags, the graph, other views of the same memory.
READ_NO_MEMORY = set("""
    __new__ __len__ __dict__ __weakref__ __torch_dispatch__ _is_view dim has_names element_size get_device is_contiguous
    ndimension nelement numel untyped_storage storage_offset as_subclass _make_subclass _make_wrapper_subclass
    _dtensor__new__ _fix_weakref _use_count _python_dispatch _cdata grad_fn _grad_fn _grad grad _base volatile requires_grad
    _backward_hooks _post_accumulate_grad_hooks name shape is_cuda is_mtia is_cpu is_xla is_xpu is_ipu is_sparse
    is_sparse_csr is_mkldnn is_mps is_maia is_vulkan is_quantized is_meta is_nested _has_symbolic_sizes_strides dtype layout
    device ndim nbytes itemsize names grad_dtype _has_grad_dtype_override
    """.split())


def in_c(owner) -> set[str]:
    return {name for name, value in vars(owner).items() if type(value).__name__ in IN_C}


def test_every_method_of_a_tensor_is_decided():
    methods = in_c(torch._C.TensorBase) | in_c(torch.Tensor)
    assert len(methods) > 600
    assert methods - OPS - CALL_OPS - READ_NO_MEMORY - GUARDED == set()
    assert (CALL_OPS | READ_NO_MEMORY) & GUARDED == set()


STORAGES_CALL_OPS = {"copy_", "fill_"}
STORAGES_READ_NO_MEMORY = set("""
    __new__ __len__ __delitem__ __dict__ __weakref__ element_size new nbytes resizable _new_with_file from_buffer from_file
    _set_cdata _fix_weakref _get_filename _new_with_weak_ptr _new_shared_cuda _release_ipc_counter_cuda _new_shared_fd_cpu
    _new_using_fd_cpu _new_shared_filename_cpu _new_using_filename_cpu _weak_ref _free_weak_ref _expired _shared_decref
    _shared_incref _get_shared_fd is_shared device _cdata
    """.split())


def test_every_method_of_a_storage_is_decided():
    methods = in_c(torch._C.StorageBase) | in_c(torch.UntypedStorage)
    assert len(methods) > 30
    assert methods - STORAGES_CALL_OPS - STORAGES_READ_NO_MEMORY - set(_raw_access.STORAGE) == set()


# Functions of torch._C that have nothing to do with a tensor's bytes, by the beginnings of their names.
GROUPS = """
    _DTensor_ _abort _accelerator_ _activate_ _add_cached_tensor _add_docstr _are_ _autocast_ _autograd_init _awaitable
    _backport_ _c10d_init _calculate_ _can_use_ _check_ _clear_ _collect_all _compile_graph _conv_determine _crash_
    _create_ _cuda_(?!jiterator) _cudnn_(clear|set) _current_ _cxx_flags _debug_ _demangle _disabled_ _dispatch_(?!call)
    _dist_autograd _dump_ _dynamo_ _enable_ _ensure _enter_ _error_ _exit_ _export_ _fake_dispatch_ _faulty_
    _functionality_ _functionalization_ _fx_map_ _generate_ _get_ _getenv _graph_pool_ _group_tensors_ _has_ _host_
    _infer_size _init _is_ _ivalue_ _jit_ _last_ _len_ _llvm_ _log _maybe_ _meta_ _mps_ _mtia_ _multiprocessing_init
    _nccl_(init|unique|version) _new_symbolic _non_sym _only_lift _override_ _parallel_info _parse_ _peek_ _pop_
    _propagate_ _push_ _register_ _reinit_ _remove_ _rename_ _replace_overloaded _resolve_ _rocm_ _rpc_init _run_emit
    _select_ _set(_|env) _should_ _show_ _skip_ _stash_ _storage_ _supported_ _test_only_ _to_functionality _torchDevice
    _tracer_ _unregister_ _unset(_|env) _valgrind_ _vmapmode_ _warn _will_engine autocast_ clear_autocast fork get_
    import_ir init_ is_ merge_type parse_ read_v set_ unify_ vitals_ wait
    """.split()
# The others, one by one.
FUNCTIONS_CALL_OPS = {"_dispatch_call_boxed", "_replace_", "_commit_update"}
FUNCTIONS_READ_NO_MEMORY = set("""
    _any_output_is_alias_to_input_or_output _any_requires_grad _freeze_module _fuse_to_static_module
    _hack_do_not_use_clone_module_with_class _increment_version _nn_module_to_mobile _overlaps _quantize_ondevice_ptq_dynamic
    _swap_tensor_impl _tensor_impl_raw_handle _wrap_tensor_impl _dlpack_exchange_api _const_dlpack_exchange_api
    _gds_deregister_buffer _gds_deregister_handle _gds_register_handle
    """.split())
MAKE_TENSORS = set("""
    _from_dlpack _construct_CUDA_Tensor_From_Storage_And_Metadata _construct_storage_from_data_pointer _pickle_load_obj
    _import_ir_module_from_package _load_for_lite_interpreter _load_for_lite_interpreter_from_buffer
    _load_jit_module_from_bytes _load_jit_module_from_file _load_mobile_module_from_bytes _load_mobile_module_from_file
    """.split())
# Of captured graphs, under which nothing is away (Runtime::suspend).
WHILE_SUSPENDED = {"_free_And_Remove_DeleterFn", "_unsafe_reset_storage"}
# What a scripted module holds: parameters and buffers, which are leaves.
OF_MODULES = {"_save_jit_module", "_save_jit_module_to_bytes", "_save_mobile_module", "_save_mobile_module_to_bytes",
              "_save_parameters"}


def test_every_function_of_torch_is_decided():
    functions = {name for name, value in vars(torch._C).items() if callable(value) and not isinstance(value, type)}
    assert len(functions) > 600
    grouped = re.compile("|".join(GROUPS))
    rest = {name for name in functions if not grouped.match(name)}
    decided = FUNCTIONS_CALL_OPS | FUNCTIONS_READ_NO_MEMORY | MAKE_TENSORS | WHILE_SUSPENDED | OF_MODULES
    guarded = set(_raw_access.FUNCTIONS) | {"_to_dlpack", "_to_dlpack_versioned"}
    assert rest - decided - guarded == set()
    assert not [name for name in guarded if grouped.match(name)]


def test_functions_that_are_no_ops_only_make_tensors():
    makers = {"asarray", "as_tensor", "from_numpy", "frombuffer", "tensor", "_from_blob"}
    by_other_names = {"get_device", "numel", "saddmm", "spmm", "dsmm", "hsmm"}
    assert in_c(torch._C._VariableFunctionsClass) - OPS - makers - by_other_names == set()
    for name in ("_nn", "_linalg", "_fft", "_sparse", "_special", "_nested"):
        module = getattr(torch._C, name)
        functions = {one for one in dir(module) if not one.startswith("__")}
        assert functions - OPS - {"_parse_to", "nested_tensor"} == set(), name


# ---- what the guards do

def changed(write):
    """What a value is after `write`, and what ops made of it before and after are, once all were evicted."""
    torch.manual_seed(3)
    source = data(40)
    x, other, third = source * 2 + 1, source.sin(), source.cos()
    early = x.exp()
    for value in (x, other, third):
        evict(value)
    write(x, other, third)
    late = x + 1
    for value in (early, late, x, other, third):
        evict(value)
    return [value.clone().view(torch.int32) for value in (x, early, late, other, third)]


WRITES = {
    "apply_": lambda x, y, z: x.apply_(lambda a: a * 0.5),
    "map_": lambda x, y, z: x.map_(y, lambda a, b: a * b),
    "map2_": lambda x, y, z: x.map2_(y, z, lambda a, b, c: a * b + c),
    "a storage's byte": lambda x, y, z: x.untyped_storage().__setitem__(3, 7),
    "another byte order": lambda x, y, z: x.untyped_storage().byteswap(torch.float32),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_without_an_op_is_as_if_nothing_were_evicted(write):
    wanted = changed(write)
    evictions = 0
    with probe.installed():
        found = changed(write)
        evictions = probe.counters()["evictions"]
    assert evictions > 3
    assert all(torch.equal(a, b) for a, b in zip(found, wanted))


def test_a_file_is_read_into_evicted_memory(tmp_path):
    path, stored = tmp_path / "bytes", torch.arange(30.0)
    with path.open("wb") as file:
        stored.untyped_storage()._write_file(file, True, True, 4)
    with probe.installed():
        source = data(30)
        x = source.exp()
        late = x * 2
        wanted = late.clone()
        assert evict(x) and evict(late)
        with path.open("rb") as file:
            x.untyped_storage()._set_from_file(file, None, True, 4)
        evict(x)
        assert torch.equal(x, stored) and torch.equal(late, wanted)


def test_functions_of_torch_find_their_tensors():
    with probe.installed():
        source = data(30)
        x = source.exp()
        assert evict(x)
        assert torch._C._data_address(x) == x.data_ptr()
        assert not is_evicted(x)
        y = source.exp()
        wanted = y.clone()
        assert evict(y)
        loaded = torch._C._pickle_load_obj(torch._C._pickle_save([{"y": y}]))
        assert torch.equal(loaded[0]["y"], wanted)


def test_other_libraries_find_no_way_past_python():
    with probe.installed():
        assert not hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
    assert hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
