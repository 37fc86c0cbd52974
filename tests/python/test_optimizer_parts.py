"""Optimizer steps in parts leave the bits of whole ones: every optimizer of the installed torch that works on lists."""

import inspect

import pytest
import torch

from stowage._optimizers import in_parts, steps_on_lists

MOST = 4096  # bytes of a part
OPTIONS = {"amsgrad": True, "momentum": 0.9, "nesterov": True, "centered": True, "weight_decay": 0.01, "maximize": True,
           "decoupled_weight_decay": True, "lr_decay": 0.1, "dampening": 0.0}
NEEDS = {"nesterov": {"momentum": 0.9}}


def on_lists() -> list[type]:
    kinds = [kind for kind in vars(torch.optim).values() if isinstance(kind, type)
             and issubclass(kind, torch.optim.Optimizer) and "foreach" in inspect.signature(kind).parameters]
    return sorted(kinds, key=lambda kind: kind.__name__)


def cases() -> list:
    found = []
    for kind in on_lists():
        known = inspect.signature(kind).parameters
        found += [(kind, {})] + [(kind, {name: value, **NEEDS.get(name, {})})
                                 for name, value in OPTIONS.items() if name in known]
    return [pytest.param(kind, options, id="-".join([kind.__name__, *options])) for kind, options in found]


def trained(kind: type, options: dict) -> list[torch.Tensor]:
    """Parameters and states after some steps. Some parameters have no gradient at first, so that steps differ."""
    torch.manual_seed(5)
    shapes = [(16, 16), (7,), (), (3, 5, 2), (40, 40), (8, 8), (1,), (16, 16), (2, 3, 4, 4)]
    parameters = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
    parameters += [torch.nn.Parameter(torch.randn(20, 20, dtype=torch.float64)) for _ in range(2)]
    optimizer = kind(parameters, foreach=True, **options)
    for step in range(4):
        for index, one in enumerate(parameters):
            one.grad = None if step == 0 and index % 3 == 0 else torch.randn_like(one)
        optimizer.step()
    states = [value for one in parameters for value in optimizer.state[one].values() if isinstance(value, torch.Tensor)]
    return [one.detach().clone() for one in (*parameters, *states)]


@pytest.fixture
def parts(monkeypatch):
    """Steps run in parts; how many parts there were, by function."""
    counts = {}
    for module, name in list(steps_on_lists()):
        step = getattr(module, name)

        def counted(*arguments, _step=step, _name=name, **named):
            counts[_name] = counts.get(_name, 0) + 1
            return _step(*arguments, **named)
        monkeypatch.setattr(module, name, in_parts(counted, lambda _: MOST))
    return counts


@pytest.mark.parametrize(("kind", "options"), cases())
def test_the_bits_are_those_of_whole_steps(kind, options, monkeypatch, request):
    whole = trained(kind, options)
    counts = request.getfixturevalue("parts")
    in_pieces = trained(kind, options)
    assert len(counts) == 1 and sum(counts.values()) > 8, "four steps, in several parts each"
    assert len(whole) == len(in_pieces)
    for one, other in zip(whole, in_pieces, strict=True):
        assert torch.equal(one, other), f"{kind.__name__} {options}"


def test_every_optimizer_on_lists_has_such_a_function():
    assert len(list(steps_on_lists())) >= len({kind.__module__ for kind in on_lists()} - {"torch.optim.adamw"}) >= 10


def calls_of(parameters: list, *others, most: int = MOST) -> list[int]:
    """How many parameters each call of a step gets."""
    calls = []
    in_parts(lambda some, *_: calls.append(len(some)), lambda _: most)(parameters, *others)
    return calls


def test_a_part_has_room_for_all_lists_and_one_more():
    parameters = [torch.zeros(256) for _ in range(8)]  # a KiB each
    assert calls_of(parameters) == [2, 2, 2, 2]
    assert calls_of(parameters, [torch.zeros(256) for _ in range(8)]) == [1] * 8
    assert calls_of(parameters, most=0) == [8]
    assert calls_of(parameters, most=1 << 30) == [8]
    assert calls_of([torch.zeros(4096)]) == [1], "one tensor is never cut"


def test_lists_of_other_things_are_no_lists_of_tensors():
    parameters = [torch.zeros(512), torch.zeros(512)]
    seen = []
    in_parts(lambda some, betas: seen.append(betas), lambda _: MOST)(parameters, [0.9, 0.99])
    assert seen == [[0.9, 0.99]] * 2


def test_sparse_gradients_are_left_in_one_call():
    parameters = [torch.zeros(512), torch.zeros(512)]
    assert calls_of(parameters, [torch.zeros(512).to_sparse(), torch.zeros(512)]) == [2]


def test_what_a_step_puts_into_its_lists_is_there_afterwards():
    parameters, buffers = [torch.zeros(512), torch.zeros(512)], [None, None]

    def step(some, momentum):
        momentum[0] = some[0] + 1
    in_parts(step, lambda _: MOST)(parameters, buffers)
    assert all(one is not None and one.sum() == 512 for one in buffers)
