"""`distributed.checkpoint.state_dict` in torch and here: the same names, shapes and values."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minitorch_dist as mtd

pytestmark = pytest.mark.parity


def module_of(t: Any) -> Any:
    return import_module(f"{t.__name__}.distributed.checkpoint.state_dict")


def network(t: Any) -> Any:
    net = t.nn.Sequential(t.nn.BatchNorm1d(3), t.nn.Linear(3, 4), t.nn.Linear(4, 2))
    rng = np.random.default_rng(0)
    with t.no_grad():
        for p in net.parameters():
            p.copy_(t.from_numpy(rng.standard_normal(tuple(p.shape)).astype(np.float32)))
    return net


def optimizer_of(t: Any, net: Any, name: str) -> Any:
    groups = [{"params": net[1].parameters(), "lr": 0.05}, {"params": net[2].parameters()}]
    if name == "SGD":
        return t.optim.SGD(groups, lr=0.1, momentum=0.9)
    return getattr(t.optim, name)(groups, lr=0.1, weight_decay=0.01)


def step(t: Any, net: Any, optimizer: Any, turns: int) -> None:
    x = t.from_numpy(np.random.default_rng(5).standard_normal((6, 3)).astype(np.float32))
    for _ in range(turns):
        optimizer.zero_grad()
        (net(x) ** 2).mean().backward()
        optimizer.step()


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if hasattr(value, "detach"):
        return tuple(value.shape), np.array(value.detach().tolist())
    return value


def same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            same(*pair)
    elif isinstance(one, np.ndarray):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-6)
    else:
        assert one == other


@pytest.mark.parametrize("turns", [0, 2])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop"])
def test_states_before_and_after_a_round_trip(name: str, turns: int) -> None:
    def run(t: Any) -> Any:
        sd = module_of(t)
        net = network(t)
        optimizer = optimizer_of(t, net, name)
        step(t, net, optimizer, turns)
        state, others = sd.get_state_dict(net, optimizer)
        first = plain(state), plain(others)
        again = network(t)
        second = optimizer_of(t, again, name)
        sd.set_state_dict(again, second, model_state_dict=state, optim_state_dict=others)
        step(t, again, second, 1)
        return first, [plain(one) for one in sd.get_state_dict(again, second)]

    same(run(mtd), run(torch))


def test_the_same_options() -> None:
    ours, theirs = (module_of(t).StateDictOptions() for t in (mtd, torch))
    assert vars(ours).items() <= vars(theirs).items()
