"""Which functions of PyTorch's Python interface reach the memory of tensors without an op, and what each does with it.

From PyTorch's sources: tools/autograd/templates/python_variable_methods.cpp, and in torch/csrc autograd/python_variable.cpp,
utils/tensor_*.cpp, Storage*.cpp, serialization.cpp, Module.cpp, cuda/python_comm.cpp, cuda/python_nccl.cpp, cuda/Module.cpp,
cuda/GdsFile.cpp, DLConvertor.h. tests/recompute/raw_access_test.py fails where a torch has a function that is neither here
nor known to be an op or to read no memory. The words are those of _exports.py.
"""

# Methods of torch.Tensor. What is written in Python (__array__, __cuda_array_interface__, …) calls one of these.
TENSOR = {
    "data_ptr": "tells",
    "const_data_ptr": "tells",
    "numpy": "lends",
    "__dlpack__": "lends_alias",
    "tolist": "reads",
    "share_memory_": "exposes",
    "apply_": "writes",
    "map_": "writes_from",
    "map2_": "writes_from",
}

# Methods of torch.UntypedStorage.
STORAGE = {
    "data_ptr": "tells",
    "tolist": "reads",
    "_write_file": "reads",
    "__getitem__": "gets_item",
    "__setitem__": "writes",
    "resize_": "writes",
    "_resize_with_addr_": "exposes",
    "_swap_data_ptr_": "exposes_all",
    "_byteswap": "writes",
    "_set_from_file": "writes",
    "share_memory_": "exposes",
    "_share_fd_cpu_": "exposes",
    "_share_filename_cpu_": "exposes",
    "_share_cuda_": "exposes",
}

# Functions of torch._C, and what they do with every tensor and storage among their arguments.
FUNCTIONS = {
    "_data_address": "tells",
    "_tensors_data_ptrs_at_indices_equal": "reads_all",
    "_pickle_save": "reads_all",
    "_cuda_jiterator_compile_and_launch_kernel": "reads_all",
    "_broadcast": "reads_all",
    "_broadcast_coalesced": "reads_all",
    "_scatter": "reads_all",
    "_gather": "reads_all",
    "_broadcast_out": "exposes_all",
    "_scatter_out": "exposes_all",
    "_gather_out": "exposes_all",
    "_nccl_all_reduce": "exposes_all",
    "_nccl_all_gather": "exposes_all",
    "_nccl_broadcast": "exposes_all",
    "_nccl_reduce": "exposes_all",
    "_nccl_reduce_scatter": "exposes_all",
    "_gds_save_storage": "reads_all",
    "_gds_load_storage": "exposes_all",
    "_gds_register_buffer": "exposes_all",
}

# Functions in Python that compare the addresses that they ask for, and do nothing else with them, by module.
COMPARING = {
    "torch.serialization": {"persistent_id"},
    "torch.nn.modules.rnn": {"flatten_parameters", "<setcomp>"},
    "torch.distributed.fsdp._flat_param": {"_same_storage"},
    "torch.distributed.fsdp._fully_shard._fsdp_param": {"reset_sharded_param"},
    "torch.distributed.fsdp._runtime_utils": {"_catch_all_reshard"},
    "safetensors.torch": {"storage_ptr", "_end_ptr", "_filter_shared_not_shared", "_is_complete"},
    "accelerate.utils.modeling": {"id_tensor_storage"},
}

# Tables of C functions that other libraries find on the class and call past Python: not there while tensors may be evicted,
# so that they use __dlpack__.
HIDDEN = ("__dlpack_c_exchange_api__",)
