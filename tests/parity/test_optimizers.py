"""Optimizers step by step beside torch's: parameters, state and options after every step."""

from __future__ import annotations

import copy
import importlib
import pickle
import re
from typing import Any

import numpy as np
import pytest

from minitorch_dist import optim
from minitorch_dist.tensors.tensor import Tensor
from tests.parity.optimizers import Pair, ours, split, theirs, torch

pytestmark = pytest.mark.parity

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "weight_decay": 0.2, "maximize": True},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.1, "maximize": True},
    ],
    "Adam": [
        {},
        {"lr": 0.1, "betas": (0.8, 0.95), "weight_decay": 0.1, "eps": 1e-3},
        {"lr": 0.1, "amsgrad": True, "maximize": True},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
    ],
    "AdamW": [{}, {"lr": 0.1, "weight_decay": 0.2, "amsgrad": True, "maximize": True}],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.7, "weight_decay": 0.1, "maximize": True}],
    "RMSprop": [
        {},
        {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1},
        {"lr": 0.1, "centered": True, "alpha": 0.8, "maximize": True},
        {"lr": 0.1, "centered": True, "momentum": 0.5, "eps": 1e-3},
    ],
    "Adagrad": [
        {},
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "maximize": True, "initial_accumulator_value": 0.5},
    ],
}
CASES = [(name, options) for name, all_ in OPTIONS.items() for options in all_]
each_optimizer = pytest.mark.parametrize("name", list(OPTIONS))


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_equal_steps(name: str, options: dict[str, Any], dtype: Any) -> None:
    pair = Pair(name, dtype, **options)
    for number in range(12):
        pair.step(skip=1 if number == 3 else None)
        pair.check(*((1e-12, 1e-14) if dtype is np.float64 else (2e-5, 2e-6)))


@each_optimizer
def test_groups_have_options_of_their_own(name: str) -> None:
    pair = Pair(name, groups=2, **OPTIONS[name][-1])
    for _ in range(3):
        pair.step()
    assert repr(pair.ours) == repr(pair.theirs)
    new = np.ones((2, 2))
    pair.a.append(theirs(new, True))
    pair.b.append(ours(new, True))
    pair.theirs.add_param_group({"params": pair.a[-1], "lr": 0.01})
    pair.ours.add_param_group({"params": pair.b[-1], "lr": 0.01})
    for _ in range(3):
        pair.step()
        pair.check()


def converted(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return ours(value.detach().numpy())
    if isinstance(value, dict):
        return {k: converted(v) for k, v in value.items()}
    if isinstance(value, list):
        return [converted(v) for v in value]
    return value


@each_optimizer
@pytest.mark.parametrize("groups", [1, 2])
def test_a_checkpoint_of_torch_continues_here(name: str, groups: int) -> None:
    pair = Pair(name, groups=groups, **OPTIONS[name][-1])
    for _ in range(3):
        pair.step()
    saved = converted(pair.theirs.state_dict())
    for group in saved["param_groups"]:
        group["lr"] = 0.07
    pair.b = [ours(a.detach().numpy(), True) for a in pair.a]
    pair.ours = getattr(optim, name)(split(pair.b, groups))
    pair.ours.load_state_dict(saved)
    again = copy.deepcopy(pair.theirs.state_dict())
    for group in again["param_groups"]:
        group["lr"] = 0.07
    pair.theirs = getattr(torch.optim, name)(split(pair.a, groups))
    pair.theirs.load_state_dict(again)
    for _ in range(3):
        pair.step()
        pair.check()
    for state in saved["state"].values():  # what was loaded is a copy
        assert "step" not in state or float(state["step"].array) == 3


@each_optimizer
def test_copies_and_pickles_continue(name: str) -> None:
    pair = Pair(name, **OPTIONS[name][-1])
    pair.step()
    for twin in copy.deepcopy(pair.ours), pickle.loads(pickle.dumps(pair.ours)):
        params = twin.param_groups[0]["params"]
        assert params[0] is not pair.b[0]
        pair.feed()
        for p, q in zip(params, pair.b, strict=True):
            p.grad = ours(q.grad.array)  # type: ignore[union-attr]
        before = [q.array.copy() for q in pair.b]
        state = pair.ours.state_dict()
        twin.step()
        for q, x in zip(pair.b, before, strict=True):
            np.testing.assert_array_equal(q.array, x)
        saved = twin.state_dict()
        assert list(saved["state"]) == list(state["state"])
        assert saved["param_groups"] == state["param_groups"]


BAD: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": -1}), ("SGD", {"momentum": -0.1}), ("SGD", {"weight_decay": -1}),
    ("SGD", {"nesterov": True}), ("SGD", {"nesterov": True, "momentum": 0.9, "dampening": 0.1}),
    ("SGD", {"foreach": True, "fused": True}),
    ("Adam", {"lr": -1}), ("Adam", {"eps": -1}), ("Adam", {"betas": (1.0, 0.9)}),
    ("Adam", {"betas": (0.9, -0.1)}), ("Adam", {"weight_decay": -1}), ("AdamW", {"lr": -1}),
    ("Adadelta", {"lr": -1}), ("Adadelta", {"rho": 1.1}),
    ("Adadelta", {"eps": -1}), ("Adadelta", {"weight_decay": -1}), ("RMSprop", {"lr": -1}),
    ("RMSprop", {"eps": -1}), ("RMSprop", {"momentum": -1}), ("RMSprop", {"weight_decay": -1}),
    ("RMSprop", {"alpha": -1}), ("Adagrad", {"lr": -1}), ("Adagrad", {"lr_decay": -1}),
    ("Adagrad", {"weight_decay": -1}), ("Adagrad", {"initial_accumulator_value": -1}),
    ("Adagrad", {"eps": -1}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), BAD, ids=str)
def test_bad_options(name: str, options: dict[str, Any]) -> None:
    with pytest.raises((ValueError, RuntimeError)) as error:
        getattr(torch.optim, name)([theirs(np.ones(2), True)], **options)
    with pytest.raises(type(error.value), match=re.escape(str(error.value))):
        getattr(optim, name)([ours(np.ones(2), True)], **options)


def _one(make: Any) -> Any:
    return make(np.ones(2), True)


BAD_PARAMS: list[Any] = [
    lambda make, o: o([]),
    lambda make, o: o(_one(make)),
    lambda make, o: o([_one(make), 3]),
    lambda make, o: o([{"params": {_one(make)}}]),
    lambda make, o: o([_one(make)]).add_param_group([_one(make)]),
    lambda make, o: [x := _one(make), o([x]).add_param_group({"params": x})],
    lambda make, o: o([_one(make) * 2]),
    lambda make, o: o([_one(make)]).load_state_dict({"state": {}, "param_groups": []}),
    lambda make, o: o([_one(make)]).load_state_dict(o([_one(make)] * 1 + [_one(make)]).state_dict()),
]


@pytest.mark.parametrize("expression", BAD_PARAMS)
def test_bad_parameters(expression: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as error:
        expression(theirs, torch.optim.SGD)
    words = re.escape(str(error.value).split(", but got")[0])
    with pytest.raises(type(error.value), match=words):
        expression(ours, optim.SGD)


def test_duplicates_are_warned_about() -> None:
    for make, namespace in (theirs, torch.optim), (ours, optim):
        w = make(np.ones(2), True)
        with pytest.warns(UserWarning, match="duplicate parameters"):
            namespace.SGD([w, w])


def test_hooks_see_and_change_what_torch_lets_them() -> None:
    logs = []
    for make, namespace in (theirs, torch.optim), (ours, optim):
        log: list[Any] = []
        opt = namespace.SGD([make(np.ones(2), True)], lr=0.1)
        everywhere = importlib.import_module(namespace.__name__ + ".optimizer")

        def note(*args: Any, log: list[Any] = log) -> None:
            log.append([type(a).__name__ for a in args] + [len(a) for a in args[1:2]])

        handles = [
            opt.register_step_pre_hook(note),
            opt.register_step_post_hook(note),
            everywhere.register_optimizer_step_pre_hook(note),
            everywhere.register_optimizer_step_post_hook(note),
        ]
        opt.step(closure=None)
        opt.step(lambda: 3)
        for handle in handles:
            handle.remove()
        before = len(log)
        opt.step()
        assert len(log) == before
        opt.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 7), {}))
        assert opt.step() == 7
        opt.register_step_pre_hook(lambda o, args, kwargs: 1)
        with pytest.raises(RuntimeError, match="must return None or a tuple"):
            opt.step()
        logs.append(log)
    assert logs[0] == logs[1]


def test_a_tensor_is_accepted_as_learning_rate() -> None:
    for name in OPTIONS:
        pair = Pair(name, lr=0.25)
        pair.ours.param_groups[0]["lr"] = ours(np.float32(0.25).reshape(()))
        pair.step()
        for a, b in zip(pair.a, pair.b, strict=True):
            np.testing.assert_allclose(b.array, a.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", list(OPTIONS))
def test_half_precision_stays_near_torch(name: str) -> None:
    options: dict[str, Any] = {} if name == "SGD" else {"eps": 1e-3}
    if "Ad" in name and name not in ("Adadelta", "Adagrad"):
        options["betas"] = (0.9, 0.5)  # with 0.999, (1 - β₂) g² underflows in torch
    pair = Pair(name, np.float16, lr=0.125, **options)
    for _ in range(3):
        pair.step()
        pair.check(rtol=0.02, atol=0.02)


def test_a_class_of_ones_own() -> None:
    class Sign(optim.Optimizer):
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        def step(self, closure: Any = None) -> Any:
            for group in self.param_groups:
                for p in group["params"]:
                    p.array -= group["lr"] * np.sign(p.grad.array)

    p = ours(np.zeros(2), True)
    p.grad = ours(np.array([3.0, -2.0]))
    opt = Sign([p], lr=0.5)
    calls: list[Tensor] = []
    opt.register_step_post_hook(lambda o, args, kwargs: calls.append(o))
    opt.step()
    np.testing.assert_array_equal(p.array, [-0.5, 0.5])
    assert calls == [opt]
