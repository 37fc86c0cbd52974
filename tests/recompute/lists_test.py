"""Ops on lists of tensors leave the same bits in parts as whole: each one that PyTorch has, found by its schema."""

import pytest
import torch

from tests.recompute import probe

MANY = 7
PART = 160  # bytes: a few tensors at a time
NAMES = ("_foreach_", "_fused_", "_amp_foreach_")


def _is_list(argument) -> bool:
    return str(argument.type) in ("List[Tensor]", "List[Optional[Tensor]]")


def _on_lists():
    """Schemas of the ops that the runtime may cut, by what their names and arguments say."""
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.removeprefix("aten::")
        if schema.name.startswith("aten::") and name.startswith(NAMES) and any(map(_is_list, schema.arguments)):
            yield schema


SCHEMAS = {f"{schema.name.removeprefix('aten::')}.{schema.overload_name or 'default'}": schema for schema in _on_lists()}
# These take lists and return one tensor, so that the parts could not be put together: they run whole.
WHOLE = {name for name, schema in SCHEMAS.items() if not all(map(_is_list, schema.returns))}


def _value(argument, generator: torch.Generator):
    kind, name = str(argument.type), argument.name
    if _is_list(argument):
        if name == "state_steps":
            return [torch.tensor(float(3 + i)) for i in range(MANY)]
        return [torch.rand(4, 3 + i % 4, generator=generator) + 0.25 for i in range(MANY)]
    if kind == "Tensor":
        return torch.rand(MANY, generator=generator) if name == "scalars" else torch.tensor(0.5)
    if kind == "Optional[Tensor]":
        return None
    if "List[" in kind:
        return [0.25 + 0.125 * i for i in range(MANY)]
    if kind == "bool":
        return False
    if kind in ("number", "float", "Optional[number]"):
        return 2 if name == "ord" else 0.5
    if kind in ("int", "Optional[int]"):
        return None if "Optional" in kind else 1
    raise NotImplementedError(f"{name}: {kind}")


def _arguments(schema):
    generator = torch.Generator().manual_seed(1)
    values = {argument.name: _value(argument, generator) for argument in schema.arguments}
    if "amsgrad" in values:
        values["max_exp_avg_sqs"] = []
    if schema.name.endswith("_fused_sgd_") or schema.name.endswith("_fused_sgd"):
        values["momentum"] = 0.5
    outs = [argument for argument in schema.arguments if argument.is_out]
    for argument in outs:
        values[argument.name] = [torch.zeros_like(one) for one in values["self"]]
    return values


def _bits(value):
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape), value.contiguous().flatten().view(torch.uint8).numpy().tobytes()
    if isinstance(value, (list, tuple)):
        return [_bits(one) for one in value]
    return value


def _run(op, schema) -> list:
    """What it returns, and what it left in its arguments."""
    values = _arguments(schema)
    positional = [values[one.name] for one in schema.arguments if not one.kwarg_only]
    named = {one.name: values[one.name] for one in schema.arguments if one.kwarg_only}
    with torch.no_grad():
        returned = op(*positional, **named)
    return [_bits(returned), _bits(list(values.values()))]


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_same_bits_in_parts(name, tmp_path):
    schema = SCHEMAS[name]
    packet, _, overload = name.partition(".")
    op = getattr(getattr(torch.ops.aten, packet), overload)
    try:
        whole = _run(op, schema)
    except (RuntimeError, NotImplementedError) as error:
        pytest.skip(f"not on the CPU as called here: {str(error).splitlines()[0][:80]}")
    with probe.spilling(tmp_path), probe.installed():
        before = probe.counters()["ops"]
        _run(op, schema)
        once = probe.counters()["ops"] - before
        probe.library.probe_note_limit(8 * PART)
        before = probe.counters()["ops"]
        parts = _run(op, schema)
        ran = probe.counters()["ops"] - before
        probe.library.probe_note_limit(0)
    assert parts == whole
    assert (ran == once) if name in WHOLE else (ran > once), "it was cut"


def test_most_ops_were_tried():
    """The rest has no kernel on the CPU."""
    assert len(SCHEMAS) > 150 and len(WHOLE) < 5


def test_where_autograd_records_one_call_stays_one(tmp_path):
    x = [torch.rand(8, 8, requires_grad=True) for _ in range(MANY)]
    with probe.spilling(tmp_path), probe.installed():
        probe.library.probe_note_limit(8 * PART)
        before = probe.counters()["ops"]
        made = torch._foreach_mul(x, 2.0)
        assert probe.counters()["ops"] - before == 1
        probe.library.probe_note_limit(0)
    assert all(one.grad_fn is not None for one in made)


def test_numbers_beside_the_lists_pin_nothing(tmp_path):
    """foreach Adam divides by a number of its own for each tensor."""
    x = [torch.rand(64, 8) for _ in range(MANY)]
    made = []
    with torch.no_grad(), probe.spilling(tmp_path), probe.installed():
        torch._foreach_addcdiv_(x, x, x, [0.5 + i for i in range(MANY)])
        made = torch._foreach_mul(x, [0.5 + i for i in range(MANY)])
        before = [one.clone() for one in made]
        assert all(map(probe.evict, made)) and all(map(probe.offload, x))
        assert _bits(made) == _bits(before)


def test_tensors_of_several_types_are_cut_on_the_cpu(tmp_path):
    """There is one sort of kernel there."""
    x = [torch.rand(16, 8).to(kind) for kind in (torch.float32, torch.float64, torch.bfloat16) for _ in range(3)]
    with torch.no_grad():
        whole = _bits(torch._foreach_add(x, 1.5))
        with probe.spilling(tmp_path), probe.installed():
            probe.library.probe_note_limit(8 * PART)
            assert _bits(torch._foreach_add(x, 1.5)) == whole
            probe.library.probe_note_limit(0)
