"""The machinery of modules, against torch: registering, walking, copying."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from tests.parity.modules import agree, caught, kind_of_error, net

pytestmark = pytest.mark.parity


# ------------------------------------------------------------------------------------- registering


def test_assigning_registers_in_order_and_reassigning_moves() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        found = [list(m._parameters), list(m._modules), list(m.rest.inner._buffers)]
        m.free = None
        found.append(list(m.state_dict()))
        m.first = t.nn.Parameter(t.ones(1))  # a module becomes a parameter
        found.append([list(m._modules), [n for n, _ in m.named_parameters()]])
        m.x = t.nn.Parameter(t.ones(1))
        del m.x
        found.append(hasattr(m, "x"))
        m.rest.inner.seen = None
        found.append(list(m.state_dict()))
        m.rest.inner.hidden = t.zeros(2)
        found.append([m.rest.inner.hidden, list(m.rest.inner.state_dict())])
        m.buf = t.nn.Buffer(t.ones(2))
        m.temporary = t.nn.Buffer(t.ones(2), persistent=False)
        return found, list(m.state_dict()), [n for n, _ in m.named_buffers()]

    agree(program)


def test_what_cannot_be_assigned() -> None:
    def program(t: Any) -> Any:
        m = net(t)

        class Early(t.nn.Module):  # type: ignore[misc]
            def __init__(self, value: Any) -> None:
                self.value = value

        p = t.nn.Parameter(t.ones(1))
        return [
            caught(lambda: Early(p)),
            caught(lambda: Early(t.nn.Module())),
            caught(lambda: setattr(m, "free", t.zeros(3))),
            caught(lambda: setattr(m, "free", 3)),
            caught(lambda: setattr(m, "first", 3)),
            caught(lambda: setattr(m, "first", t.zeros(1))),
            caught(lambda: setattr(m.first, "seen", 3)),
            caught(lambda: m.nothing),
            caught(lambda: delattr(m, "nothing")),
            caught(lambda: m.register_parameter("a.b", p)),
            caught(lambda: m.register_parameter("", p)),
            caught(lambda: m.register_parameter("forward", p)),
            caught(lambda: m.register_parameter(3, p)),
            caught(lambda: m.register_parameter("q", t.zeros(1))),
            caught(lambda: m.register_parameter("q", p * 2))[0],
            caught(lambda: m.register_buffer("a.b", p)),
            caught(lambda: m.register_buffer("free", t.zeros(1))),
            caught(lambda: m.register_buffer("q", 3)),
            caught(lambda: m.add_module("a.b", m.first)),
            caught(lambda: m.add_module("", m.first)),
            caught(lambda: m.add_module("free", m.first)),
            caught(lambda: m.add_module("q", 3)),
            caught(lambda: m.add_module(3, m.first)),
            caught(lambda: t.nn.Module()(3)),
            caught(lambda: t.nn.ModuleList()(3)),
        ]

    agree(program)


def test_a_parameter_is_a_leaf_that_shares_memory() -> None:
    def program(t: Any) -> Any:
        data = t.ones(2)
        p = t.nn.Parameter(data)
        data.add_(1)
        double = p * 2
        frozen = t.nn.Parameter(data, requires_grad=False)
        return [
            p, p.is_leaf, type(double), double, frozen, t.nn.Parameter(), type(p.detach()),
            type(p.data), isinstance(p, t.Tensor), copy.deepcopy(p), type(copy.deepcopy(p)),
            pickle.loads(pickle.dumps(p)), copy.deepcopy(frozen),
            caught(lambda: t.nn.Parameter(t.zeros(1, dtype=t.int64)))[0],
        ]  # fmt: skip

    agree(program)


# ------------------------------------------------------------------------------------ walking the tree


def test_walks() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        return [
            [n for n, _ in m.named_parameters()],
            [n for n, _ in m.named_parameters(remove_duplicate=False)],
            [n for n, _ in m.named_parameters(prefix="top", recurse=False)],
            [n for n, _ in m.named_buffers()],
            [n for n, _ in m.named_modules()],
            [n for n, _ in m.named_modules(remove_duplicate=False)],
            [n for n, _ in m.named_modules(prefix="top")],
            [n for n, _ in m.named_children()],
            [len(list(w)) for w in (m.parameters(), m.buffers(), m.modules(), m.children())],
            m,
            [n for n in ("first", "free", "rest", "training") if n in dir(m)],
            m.get_submodule("rest.inner"),
            m.get_submodule("") is m,
            m.get_parameter("rest.inner.weight"),
            m.get_buffer("first.seen"),
        ]

    agree(program)


def test_paths_that_lead_nowhere() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        m.number = 3
        return [
            m,
            caught(lambda: m.get_submodule("rest.nothing")),
            caught(lambda: m.get_submodule("number")),
            caught(lambda: m.get_parameter("rest.inner.seen")),
            kind_of_error(lambda: m.get_parameter("rest.inner.nothing")),
            caught(lambda: m.get_buffer("rest.inner.weight")),
            caught(lambda: m.get_buffer("nothing.weight")),
        ]

    agree(program)


def test_apply_train_and_freeze() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        order: list[str] = []
        same = m.apply(lambda module: order.append(type(module).__name__)) is m
        modes = [m.training, m.eval().training, m.rest.inner.training, m.train().first.training]
        m.requires_grad_(False)
        frozen = [p.requires_grad for p in m.parameters()]
        return [order, same, modes, frozen, caught(lambda: m.train(3))]

    agree(program)


def test_conversions_keep_the_objects() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        m.register_buffer("count", t.zeros(1, dtype=t.int64))
        p, b = m.free, m.count
        m.free.grad = t.ones(3)
        steps = (
            lambda: m.double(),
            lambda: m.half(),
            lambda: m.float(),
            lambda: m.bfloat16(),
            lambda: m.to(t.float64),
            lambda: m.to(t.zeros(1)),
            lambda: m.to("cpu", t.float64),
            lambda: m.to(device="cpu", dtype=t.float32),
            lambda: m.to(None, t.float64),
            lambda: m.type(t.float32),
            lambda: m.cpu(),
            lambda: m.to("cpu", non_blocking=True),
        )
        found = [[step() is m, m.free is p, m.free.dtype, m.count.dtype, m.free.grad.dtype] for step in steps]
        refused = [caught(lambda: m.to(t.int64)), caught(lambda: m.to("nowhere"))[0]]
        return found, refused, m.free.requires_grad, m.first.seen, b is m.count

    agree(program)


def test_zero_grad() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        m.free.grad = t.ones(3)
        grad = m.free.grad
        m.zero_grad(set_to_none=False)
        zero = [m.free.grad, m.free.grad is grad, grad._version > 0]
        m.zero_grad()
        return zero, grad, m.free.grad, m.first.weight.grad

    agree(program)


def test_emptying() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        weight = m.first.weight
        return [
            m.first.weight is weight,
            m.first.weight.clone(),
            m.to_empty(device="cpu") is m,
            m.free.shape[0],
            m.first.weight is weight,
        ]

    agree(program)


# -------------------------------------------------------------------------------------- copies, pickles


def test_deepcopy_is_independent_and_keeps_sharing() -> None:
    def program(t: Any) -> Any:
        m = net(t)
        twin = copy.deepcopy(m)
        m.first.weight.data.add_(1)
        shallow = copy.copy(m)
        return twin, twin.first is twin.again, twin.state_dict(), shallow.first is m.first

    agree(program)


def test_an_unpicklable_attribute_hurts_only_when_pickled() -> None:
    def program(t: Any) -> Any:
        m = t.nn.Sequential(t.nn.Module())
        m.p = t.nn.Parameter(t.ones(2))
        twin = pickle.loads(pickle.dumps(m))
        m.lock = lambda: 0
        return twin, twin.p, isinstance(caught(lambda: pickle.dumps(m)), tuple), m.state_dict()

    agree(program)
