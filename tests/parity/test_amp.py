"""Mixed precision is torch's: which operation computes in which type, the numbers, and the scale."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch_dist
from minitorch_dist import nn as _nn, optim as _optim  # noqa: F401 - rooms that open when named

torch = pytest.importorskip("torch")
BOTH = [torch, minitorch_dist]

x, v, batches = np.eye(4, dtype="f") + 0.25, np.arange(4, dtype="f"), np.ones((2, 4, 4), "f")
images, kernels = np.ones((2, 3, 8, 8), "f"), np.ones((5, 3, 3, 3), "f")
chances = np.full((4, 4), 0.25, "f")

CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "matmul": lambda t, a, h: a(x) @ a(x),
    "matmul vector": lambda t, a, h: a(x) @ a(v),
    "mm": lambda t, a, h: a(x).mm(a(x)),
    "dot": lambda t, a, h: a(v).dot(a(v)),
    "outer": lambda t, a, h: t.outer(a(v), a(v)),
    "bmm": lambda t, a, h: a(batches).bmm(a(batches)),
    "einsum": lambda t, a, h: t.einsum("ij,jk->ik", a(x), a(x)),
    "linear": lambda t, a, h: t.nn.functional.linear(a(x), a(x), a(v)),
    "conv1d": lambda t, a, h: t.nn.functional.conv1d(a(images[:, :, 0]), a(kernels[:, :, 0])),
    "conv2d": lambda t, a, h: t.nn.functional.conv2d(a(images), a(kernels), a(v[:1]).expand(5)),
    "attention": lambda t, a, h: t.nn.functional.scaled_dot_product_attention(*[a(batches)] * 3),
    "softmax": lambda t, a, h: h(x).softmax(1),
    "layer_norm": lambda t, a, h: t.nn.functional.layer_norm(h(x), (4,), a(v), a(v)),
    "group_norm": lambda t, a, h: t.nn.functional.group_norm(h(images), 3, a(v[:3]), a(v[:3])),
    "batch_norm": lambda t, a, h: t.nn.functional.batch_norm(
        h(images), a(v[:3]), a(v[1:4]), a(v[:3]), a(v[:3]), training=True
    ),
    "gelu": lambda t, a, h: t.nn.functional.gelu(h(x)),
    "mean": lambda t, a, h: h(x).mean(),
    "prod": lambda t, a, h: h(x).prod(),
    "add": lambda t, a, h: h(x) + a(x),
    "cat": lambda t, a, h: t.cat([h(x), a(x)]),
    "mse": lambda t, a, h: t.nn.functional.mse_loss(h(x), h(x)),
    "cross entropy": lambda t, a, h: t.nn.functional.cross_entropy(h(x), a(np.array([0, 1, 2, 3]))),
    "nll": lambda t, a, h: t.nn.functional.nll_loss(h(x), a(np.array([0, 1, 2, 3]))),
    "kl": lambda t, a, h: t.nn.functional.kl_div(h(x), h(x), reduction="sum"),
    "bce": lambda t, a, h: t.nn.functional.binary_cross_entropy(h(chances), h(chances)),
    "bce with logits": lambda t, a, h: t.nn.functional.binary_cross_entropy_with_logits(h(x), h(x)),
    "huber": lambda t, a, h: t.nn.functional.huber_loss(h(x), h(x)),
    "doubles": lambda t, a, h: a(x).double() @ a(x).double(),
    "other half": lambda t, a, h: a(x).half() @ a(x),
    "max_pool2d": lambda t, a, h: t.nn.functional.max_pool2d(h(images), 2),
    "embedding": lambda t, a, h: t.nn.functional.embedding(a(np.array([1, 2])), a(x)),
}


@pytest.mark.parametrize("name", CASES)
def test_types(name: str) -> None:
    found = []
    for t in BOTH:

        def make(array: Any, t: Any = t) -> Any:
            whole = array.dtype.kind == "i"
            return t.tensor(array.tolist(), dtype=t.int64 if whole else t.float32)

        with t.autocast("cpu"):
            out = CASES[name](t, make, lambda array: make(array).bfloat16())
        found.append((str(out.dtype), out.float().tolist()))
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=2e-2, atol=2e-2)


def trained(t: Any, uses_cache: bool) -> list[Any]:
    """A few steps in two types, of a model that uses one weight twice."""
    t.manual_seed(0)
    shared = t.nn.Linear(4, 4)
    model = t.nn.Sequential(shared, t.nn.ReLU(), shared, t.nn.LayerNorm(4), t.nn.Linear(4, 2))
    for n, p in enumerate(model.parameters()):
        with t.no_grad():
            p.copy_(((t.arange(p.numel()).reshape(p.shape) * 5 + n) % 7 - 3) / 8.0)
    optimizer, scaler = t.optim.SGD(model.parameters(), lr=0.125), t.amp.GradScaler("cpu", growth_interval=2)
    data = (t.arange(24).reshape(6, 4) % 5 - 2) / 4.0
    said: list[Any] = []
    for step in range(5):
        optimizer.zero_grad()
        with t.amp.autocast("cpu", dtype=t.bfloat16, cache_enabled=uses_cache):
            out = model(data)
            loss = t.nn.functional.cross_entropy(out, t.tensor([0, 1, 0, 1, 1, 0]))
            said.append((str(out.dtype), str(loss.dtype)))
        scaler.scale(loss).backward()
        if step == 3:
            next(model.parameters()).grad[0, 0] = float("inf")
        scaler.unscale_(optimizer)
        t.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        said += [loss.item(), scaler.get_scale(), dict(scaler.state_dict())]
    return [*said, [p.detach().tolist() for p in model.parameters()]]


@pytest.mark.parametrize("uses_cache", [True, False])
def test_training(uses_cache: bool) -> None:
    theirs, ours = (trained(t, uses_cache) for t in BOTH)
    for a, b in zip(theirs, ours, strict=True):
        if isinstance(a, float):
            assert b == pytest.approx(a, rel=2e-2)
        elif isinstance(a, list):
            for p, q in zip(a, b, strict=True):
                np.testing.assert_allclose(q, p, atol=1e-2)
        else:
            assert a == b


def blocks(t: Any) -> list[Any]:
    """What is asked for inside of blocks, and of functions that are blocks."""
    said: list[Any] = []

    def look(*_: Any) -> None:
        said.append((t.is_autocast_enabled("cpu"), str(t.get_autocast_dtype("cpu"))))

    look()
    with t.autocast("cpu"):
        look()
        with t.autocast("cpu", dtype=t.float16):
            look()
            with t.autocast("cpu", enabled=False):
                look()
            look()
        look()
        t.autocast("cpu", dtype=t.float16)(look)()
        look()
    look()

    for wrong in (3, "toaster"):
        with pytest.raises((ValueError, RuntimeError)) as caught:
            t.autocast(wrong)
        said.append(type(caught.value).__name__)
    for odd in (lambda: t.autocast("cpu", dtype=t.float32), lambda: t.amp.GradScaler()):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            odd()
        said.append([w.category.__name__ for w in warned])
    return said


def test_blocks() -> None:
    assert blocks(minitorch_dist) == blocks(torch)


def wrong_turns(t: Any) -> list[Any]:
    """The words and refusals of a scaler."""
    said: list[Any] = []

    def attempt(call: Callable[[], Any]) -> None:
        try:
            said.append(str(call()))
        except (AssertionError, RuntimeError, ValueError) as error:
            said.append((type(error).__name__, str(error)))

    p = t.nn.Parameter(t.ones(2))
    optimizer = t.optim.SGD([p], lr=1.0)
    scaler = t.amp.GradScaler("cpu")
    scaler.scale((p * 1).sum()).backward()
    scaler.unscale_(optimizer)
    attempt(lambda: scaler.unscale_(optimizer))
    scaler.step(optimizer)
    scaler.update()
    attempt(scaler.get_scale)
    attempt(lambda: scaler.scale([t.ones(1), (t.ones(1),)]))
    half = t.nn.Parameter(t.ones(1, dtype=t.float16))
    half.grad = t.ones(1, dtype=t.float16)
    attempt(lambda: scaler.unscale_(t.optim.SGD([half], lr=1.0)))
    off = t.amp.GradScaler("cpu", enabled=False)
    attempt(lambda: [off.scale(3), off.get_scale(), off.state_dict(), off.is_enabled(), off.update()])
    again = t.amp.GradScaler("cpu")
    again.load_state_dict({**scaler.state_dict(), "scale": 8.0})
    attempt(again.get_scale)
    return said


def test_wrong_turns() -> None:
    assert wrong_turns(minitorch_dist) == wrong_turns(torch)


def casts(t: Any, uses_cache: bool) -> int:
    """How often a weight that is used twice is cast."""
    weight = t.ones(2, 2, requires_grad=True)
    with t.autocast("cpu", cache_enabled=uses_cache):
        once = weight @ t.ones(2, 2)
        twice = weight @ t.ones(2, 2)
    return len({id(out.grad_fn.next_functions[0][0]) for out in (once, twice)})


def test_a_parameter_is_cast_once_per_block() -> None:
    for cached in (True, False):
        assert casts(minitorch_dist, cached) == casts(torch, cached)


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_runs_again_as_it_ran(reentrant: bool) -> None:
    """Backward is outside of the block; the second run of the function is inside of it again."""
    found = []
    for t in BOTH:
        run = t.utils.checkpoint.checkpoint if t is minitorch_dist else torch.utils.checkpoint.checkpoint
        weight = t.tensor([[0.3, 0.7], [1.1, -0.9]], requires_grad=True)
        x = t.tensor([[0.21, 0.43]], requires_grad=True)
        with t.autocast("cpu"):
            before = x @ weight
            out = run(lambda v, w=weight: (v @ w).relu() @ w, before, use_reentrant=reentrant)
        out.float().sum().backward()
        found.append((str(out.dtype), weight.grad.tolist(), x.grad.tolist()))
    (theirs, *grads), (ours, *own) = found
    assert ours == theirs
    for mine, other in zip(own, grads, strict=True):  # here the second run casts weights anew
        np.testing.assert_allclose(mine, other, rtol=1e-2)
