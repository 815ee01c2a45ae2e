"""What an optimizer promises beyond its formula: counted writes, no recording, forgetting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minitorch_dist import optim
from minitorch_dist.optim.elementwise import PIECE, blocks
from minitorch_dist.optim.sgd import sgd
from minitorch_dist.tensors import devices, ledger, pools
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.core import base, engine, graph
from minitorch_dist.tensors.tensor import Tensor

ALL = [optim.SGD, optim.Adam, optim.AdamW, optim.Adadelta, optim.RMSprop, optim.Adagrad]


def parameter(array: Any, grad: Any = None) -> Tensor:
    made = base.new(Tensor, np.asarray(array))
    made.requires_grad = True
    if grad is not None:
        made.grad = base.new(Tensor, np.asarray(grad))
    return made


@pytest.mark.parametrize("kind", ALL)
def test_a_step_between_forward_and_backward_is_an_error(kind: Any) -> None:
    """T3: two trainers that share one model."""
    w = parameter([1.0, 2.0], [1.0, 1.0])
    opt = kind([w])
    loss = (w * w).sum()
    opt.step()
    edge = graph.edge_of(loss)
    assert edge is not None and w._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        engine.run([(edge, np.ones(()))])


@pytest.mark.parametrize("kind", ALL)
def test_parameters_stay_the_leaves_they_were(kind: Any) -> None:
    w, unused = parameter(np.ones(3), np.ones(3)), parameter(np.ones(2))
    array = w.array
    kind([w, unused], lr=0.1).step()
    assert w.array is array and w.is_leaf and w.requires_grad and (array < 1).all()
    np.testing.assert_array_equal(unused.array, np.ones(2))
    assert unused._version == 0


def test_zero_grad_forgets_or_zeroes() -> None:
    w = parameter(np.ones(3), np.ones(3))
    opt = optim.SGD([w])
    grad = w.grad
    opt.zero_grad(set_to_none=False)
    assert w.grad is grad and not grad.array.any()  # type: ignore[union-attr]
    opt.zero_grad()
    assert w.grad is None
    opt.step()
    np.testing.assert_array_equal(w.array, np.ones(3))


def test_a_closure_is_run_with_recording_on() -> None:

    opt = optim.SGD([parameter(np.ones(1))])
    with grad_modes.no_grad():
        assert opt.step(grad_modes.is_grad_enabled) is True


def test_differentiable_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="differentiable=True is not offered"):
        optim.SGD([parameter(np.ones(1))], differentiable=True)


@pytest.mark.parametrize("layout", ["C", "F", "stepped", "mixed", "half"])
def test_pieces_cover_everything_once(layout: str) -> None:
    n = 3 * PIECE + 5
    p, g = np.zeros((2, n)), np.arange(2.0 * n).reshape(2, n)
    if layout == "F":
        p, g = np.asfortranarray(p), np.asfortranarray(g)
    elif layout == "stepped":
        p = np.zeros((2, 2 * n))[:, ::2]
    elif layout == "mixed":
        p = np.asfortranarray(p)
    elif layout == "half":
        p, g = p.astype(np.float16), (g % 7).astype(np.float16)
    sizes = 0
    for a, b, none, number in blocks([p], [g], [None], [5.0]):
        assert none is None and number == 5.0
        a += b
        sizes += a.size
    assert sizes == p.size
    np.testing.assert_array_equal(p, g)


def test_in_pieces_or_whole_the_step_is_the_same() -> None:
    rng = np.random.default_rng(0)
    p, g, v = (rng.normal(size=3 * PIECE + 1) for _ in range(3))
    whole = p.copy()
    velocity = 0.9 * v + g
    whole -= 0.1 * velocity
    sgd([p], [g], [v], lr=0.1, momentum=0.9)
    np.testing.assert_array_equal(p, whole)
    np.testing.assert_array_equal(v, velocity)


def test_the_ledger_knows_what_optimizers_hold() -> None:
    with pools.simulated(1, "1GB"):
        w = base.new(Tensor, np.ones(1000, np.float32), devices.device("cuda:0"))
        w.requires_grad = True
        w.grad = base.new(Tensor, np.ones(1000, np.float32), devices.device("cuda:0"))
        opt = optim.Adam([w])
        opt.step()
        book = ledger.of(devices.device("cuda:0"))
        assert book.snapshot().by_category["optimizer"] == 8000  # `step` lives on the CPU
        assert opt.state[w]["exp_avg"].device == w.device
        assert opt.state[w]["step"].device == devices.CPU
