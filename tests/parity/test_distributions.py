"""Distributions: torch's values, gradients, shapes and errors; draws have torch's moments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist import distributions as _opened  # noqa: F401 - a room that opens when named
from tests.parity.compare import run, same, torch

pytestmark = pytest.mark.parity

A = np.array([[0.3, -1.2, 0.0], [2.0, 0.5, -0.1]])
P = np.array([[0.2, 0.5, 0.3], [0.9, 0.04, 0.06]])
VALUES = np.array([[0, 2], [1, 0], [2, 2]], np.int64)
SHAPES = [(), (4,), (2, 0), (5, 1)]


def of(t: Any, *parameters: Any, **options: Any) -> Any:
    return t.distributions.Categorical(*parameters, **options)


def agree(expression: Any, *args: Any) -> None:
    """`same`, where torch has to give an answer."""
    theirs = run(torch, expression, args, True, {})
    assert not isinstance(theirs, Exception), theirs
    same(expression, *args)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_and_gradients(dtype: Any) -> None:
    p = P.astype(dtype)
    for what in ("probs", "logits"):
        agree(lambda t, p, w=what: getattr(of(t, p), w), p)
    agree(lambda t, p: of(t, p).entropy(), p)
    agree(lambda t, v, p: of(t, p).log_prob(v), VALUES, p)


def test_by_logits() -> None:
    for what in ("probs", "logits"):
        agree(lambda t, x, w=what: getattr(of(t, logits=x), w), A)
    agree(lambda t, x: of(t, logits=x).entropy(), A)
    agree(lambda t, v, x: of(t, logits=x).log_prob(v), VALUES, A)
    agree(lambda t, p: of(t, p).logits, P)
    agree(lambda t, p: of(t, p * 0 + 1).logits, P)  # of a sure die, too, all are finite


def test_shapes() -> None:
    def shapes(t: Any, p: Any) -> Any:
        one = of(t, p)
        drawn = [(d.shape, d.dtype, d.requires_grad) for d in map(one.sample, SHAPES)]
        return drawn, one.batch_shape, one.event_shape

    same(shapes, P, values=False)
    same(shapes, P[0], values=False)


def test_draws_have_the_moments() -> None:
    mtd.manual_seed(3)
    count = 20_000
    drawn = of(mtd, mtd.tensor(P)).sample((count,)).numpy()
    often = (drawn[..., None] == np.arange(3)).astype(np.float64)  # each category
    variance = P * (1 - P)
    assert (abs(often.mean(0) - P) < 5 * np.sqrt(variance / count)).all()
    np.testing.assert_allclose(often.var(0), variance, rtol=0.08)


REFUSED = """
d.Categorical(probs=t.ones(2), logits=t.ones(2))
d.Categorical(t.tensor(1.0))
d.Categorical()
d.Categorical(t.tensor([0.5, -0.5]))
d.Categorical(t.ones(3)).log_prob(t.tensor(3))
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_what_torch_refuses_is_refused(line: str) -> None:
    said = []
    for t in (torch, mtd):
        with pytest.raises((ValueError, RuntimeError)) as caught:
            eval(line, {"t": t, "d": t.distributions})
        said.append(type(caught.value))
    assert said[1] is said[0]


def test_a_policy_learns_which_arm_pays() -> None:
    """REINFORCE with a Categorical, as the examples of reinforcement learning write it."""
    mtd.manual_seed(0)
    logits = mtd.zeros(3, requires_grad=True)
    pays = mtd.tensor([0.0, 1.0, 0.2])
    for _ in range(60):
        policy = mtd.distributions.Categorical(logits=logits)
        action = policy.sample((16,))
        loss = -(policy.log_prob(action) * (pays[action] - pays[action].mean())).mean()
        (gradient,) = mtd.autograd.grad(loss, [logits])
        logits = (logits - gradient * 2).detach().requires_grad_()
    assert mtd.distributions.Categorical(logits=logits).probs[1] > 0.9


def test_the_others_are_refused_and_name_what_is_here() -> None:
    for name in ("Beta", "Normal", "Uniform"):
        assert hasattr(torch.distributions, name)
        with pytest.raises(AttributeError, match=r"PyTorch has it\.$"):
            getattr(mtd.distributions, name)
