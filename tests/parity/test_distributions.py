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
B = np.array([0.5, 1.5, 2.0])  # broadcasts with A
P = np.array([[0.2, 0.5, 0.3], [0.9, 0.04, 0.06]])
PARAMETERS = {"Normal": (A, B), "Categorical": (P,)}
VALUES = {
    "Normal": np.array([[-3.0, 0.0, 0.7]]),
    "Categorical": np.array([[0, 2], [1, 0], [2, 2]], np.int64),
}
SHAPES = [(), (4,), (2, 0), (5, 1)]
each = pytest.mark.parametrize("name", PARAMETERS)


def of(t: Any, name: str, *parameters: Any, **options: Any) -> Any:
    return getattr(t.distributions, name)(*parameters, **options)


def agree(expression: Any, *args: Any) -> None:
    """`same`, where torch has to give an answer."""
    theirs = run(torch, expression, args, True, {})
    assert not isinstance(theirs, Exception), theirs
    same(expression, *args)


@each
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_and_gradients(name: str, dtype: Any) -> None:
    parameters = [p.astype(dtype) for p in PARAMETERS[name]]
    value = VALUES[name] if name == "Categorical" else VALUES[name].astype(dtype)
    for what in ("mean", "variance", "stddev") if name != "Categorical" else ("probs", "logits"):
        agree(lambda t, *p, w=what: getattr(of(t, name, *p), w), *parameters)
    agree(lambda t, *p: of(t, name, *p).entropy(), *parameters)
    agree(lambda t, v, *p: of(t, name, *p).log_prob(v), value, *parameters)


def test_by_logits() -> None:
    name = "Categorical"
    for what in ("probs", "logits"):
        agree(lambda t, x, w=what: getattr(of(t, name, logits=x), w), A)
    agree(lambda t, x: of(t, name, logits=x).entropy(), A)
    agree(lambda t, v, x: of(t, name, logits=x).log_prob(v), VALUES[name], A)
    agree(lambda t, p: of(t, name, p).logits, P)
    agree(lambda t, p: of(t, name, p * 0 + 1).logits, P)  # of a sure die, too, all are finite


@each
def test_shapes(name: str) -> None:
    def shapes(t: Any, *p: Any) -> Any:
        one = of(t, name, *p)
        drawn = [(d.shape, d.dtype, d.requires_grad) for d in map(one.sample, SHAPES)]
        return drawn, one.batch_shape, one.event_shape, one.has_rsample

    same(shapes, *PARAMETERS[name], values=False)


def test_gradients_flow_through_a_draw() -> None:
    """The same noise in torch's formula gives the same gradients: a draw is a function of it."""
    ours = [mtd.tensor(p, requires_grad=True) for p in (A, B)]
    theirs = [torch.tensor(p, requires_grad=True) for p in (A, B)]
    drawn = of(mtd, "Normal", *ours).rsample((5,))
    with torch.no_grad():
        noise = of(torch, "Normal", *theirs).cdf(torch.from_numpy(drawn.detach().numpy()))
    again = of(torch, "Normal", *theirs).icdf(noise)
    np.testing.assert_allclose(again.detach().numpy(), drawn.detach().numpy(), rtol=1e-6)
    drawn.pow(2).sum().backward()
    again.pow(2).sum().backward()
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-6)
    assert not of(mtd, "Normal", *ours).sample().requires_grad


@each
def test_draws_have_the_moments(name: str) -> None:
    mtd.manual_seed(3)
    one = of(mtd, name, *(mtd.tensor(p) for p in PARAMETERS[name]))
    count = 20_000
    drawn = one.sample((count,)).numpy().astype(np.float64)
    if name == "Categorical":
        drawn = (drawn[..., None] == np.arange(3)).astype(np.float64)  # how often each category
        mean, variance = P, P * (1 - P)
    else:
        mean, variance = one.mean.numpy(), one.variance.numpy()
    assert (abs(drawn.mean(0) - mean) < 5 * np.sqrt(variance / count)).all()
    np.testing.assert_allclose(drawn.var(0), variance, rtol=0.08)


REFUSED = """
d.Normal(t.zeros(2), t.tensor([1.0, -1.0]))
d.Normal(t.tensor(float("nan")), 1.0)
d.Normal(0.0, 1.0).log_prob(t.tensor(float("nan")))
d.Normal(t.zeros(2), t.ones(3))
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
    for name in ("Beta", "Uniform"):
        assert hasattr(torch.distributions, name)
        with pytest.raises(AttributeError, match=r"PyTorch has it\.$"):
            getattr(mtd.distributions, name)
