"""Learning rates over a hundred steps beside torch's, for every schedule and every option."""

from __future__ import annotations

import copy
import inspect
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minitorch_dist import optim
from tests.parity.optimizers import ours, theirs, torch

pytestmark = pytest.mark.parity

Make = Callable[[Any, Any], Any]  # (the lr_scheduler module, the optimizer) -> a schedule

SCHEDULES: dict[str, Make] = {
    "StepLR": lambda s, o: s.StepLR(o, 7),
    "StepLR-gamma": lambda s, o: s.StepLR(o, step_size=3, gamma=0.8),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [30, 5, 5, 80], gamma=0.5),
    "LinearLR": lambda s, o: s.LinearLR(o),
    "LinearLR-down": lambda s, o: s.LinearLR(o, 1.0, 0.1, total_iters=60),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.97),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda t: 0.95**t),
    "LambdaLR-each": lambda s, o: s.LambdaLR(o, [lambda t: 1 / (t + 1), lambda t: math.cos(t)]),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 100, eta_min=0.001),
    "CosineAnnealingLR-waves": lambda s, o: s.CosineAnnealingLR(o, T_max=9),
    "chained-by-hand": lambda s, o: Several(s.CosineAnnealingLR(o, 40), s.MultiStepLR(o, [15, 70])),
}


class Several:
    """Two schedules that are both stepped by the training loop."""

    def __init__(self, *schedules: Any) -> None:
        self.schedules = schedules

    def step(self) -> None:
        for schedule in self.schedules:
            schedule.step()

    def get_last_lr(self) -> Any:
        return self.schedules[-1].get_last_lr()

    def state_dict(self) -> Any:
        return [s.state_dict() for s in self.schedules]

    def load_state_dict(self, state: Any) -> None:
        for schedule, saved in zip(self.schedules, state, strict=True):
            schedule.load_state_dict(saved)


def optimizer(side: Any, kind: str = "SGD") -> Any:
    make, namespace = (theirs, torch.optim) if side is torch else (ours, optim)
    groups = [{"params": [make(np.ones(2), True)]}, {"params": [make(np.ones(2), True)], "lr": 0.3}]
    return getattr(namespace, kind)(groups, lr=0.1, **({"momentum": 0.9} if kind == "SGD" else {}))


def both(make: Make, kind: str = "SGD") -> list[tuple[Any, Any]]:
    made = []
    for side, module in (torch, torch.optim.lr_scheduler), (optim, optim.lr_scheduler):
        opt = optimizer(side, kind)
        made.append((opt, make(module, opt)))
    return made


def options(opt: Any) -> list[Any]:
    keys = ("lr", "momentum", "betas", "initial_lr", "max_lr", "min_lr")
    return [[group.get(key) for key in keys] for group in opt.param_groups]


def flat(value: Any) -> list[float]:
    if isinstance(value, (list, tuple)):
        return [x for item in value for x in flat(item)]
    return [-1.0 if value is None else float(value)]


def check(pair: list[tuple[Any, Any]]) -> None:
    (their_opt, their_schedule), (our_opt, our_schedule) = pair
    assert flat(options(our_opt)) == pytest.approx(flat(options(their_opt)), rel=1e-12, abs=1e-15)
    assert our_schedule.get_last_lr() == pytest.approx(their_schedule.get_last_lr(), rel=1e-12)


def advance(pair: list[tuple[Any, Any]], steps: int) -> None:
    for _ in range(steps):
        for opt, schedule in pair:
            opt.step()
            schedule.step()
        check(pair)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", list(SCHEDULES))
def test_equal_rates(name: str, kind: str) -> None:
    pair = both(SCHEDULES[name], kind)
    check(pair)
    advance(pair, 120)


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_a_state_dict_continues_here_and_from_torch(name: str) -> None:
    pair = both(SCHEDULES[name])
    advance(pair, 17)
    (their_opt, their_schedule), (our_opt, our_schedule) = pair
    assert_same_state(their_schedule.state_dict(), our_schedule.state_dict())
    for saved in our_schedule.state_dict(), their_schedule.state_dict():
        opt = optimizer(optim)
        schedule = SCHEDULES[name](optim.lr_scheduler, opt)
        opt.load_state_dict(our_opt.state_dict())
        schedule.load_state_dict(copy.deepcopy(saved))
        twin = copy.deepcopy(their_opt)
        rest = SCHEDULES[name](torch.optim.lr_scheduler, twin)
        twin.load_state_dict(copy.deepcopy(their_opt.state_dict()))
        rest.load_state_dict(copy.deepcopy(their_schedule.state_dict()))
        advance([(twin, rest), (opt, schedule)], 60)


def assert_same_state(a: Any, b: Any) -> None:
    if isinstance(a, list):
        for x, y in zip(a, b, strict=True):
            assert_same_state(x, y)
    elif isinstance(a, dict):
        assert set(a) == set(b)
        for key in a:
            assert_same_state(a[key], b[key])
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-12)
    else:
        assert a == b


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_the_closed_form_tells_the_same(name: str) -> None:
    ((_, _), (opt, schedule)) = both(SCHEDULES[name])
    if not hasattr(schedule, "_get_closed_form_lr"):
        return
    for _ in range(40):
        assert schedule._get_closed_form_lr() == pytest.approx(schedule.get_last_lr(), abs=1e-12)
        opt.step()
        schedule.step()


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_a_given_epoch_is_jumped_to(name: str) -> None:
    pair = both(SCHEDULES[name])
    if "epoch" not in inspect.signature(pair[0][1].step).parameters:
        return
    for epoch in (3, 4, 17, 2):
        for opt, schedule in pair:
            opt.step()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                schedule.step(epoch)
        check(pair)


@pytest.mark.parametrize("name", ["StepLR", "ExponentialLR", "CosineAnnealingLR", "LambdaLR"])
def test_resuming_with_last_epoch(name: str) -> None:
    makers: dict[str, Any] = {
        "StepLR": lambda s, o, t: s.StepLR(o, 5, last_epoch=t),
        "ExponentialLR": lambda s, o, t: s.ExponentialLR(o, 0.9, last_epoch=t),
        "CosineAnnealingLR": lambda s, o, t: s.CosineAnnealingLR(o, 30, last_epoch=t),
        "LambdaLR": lambda s, o, t: s.LambdaLR(o, lambda e: 0.9**e, last_epoch=t),
    }
    make = makers[name]
    pair = both(lambda s, o: make(s, o, -1))
    advance(pair, 9)
    for side, (opt, _) in zip((torch, optim), pair, strict=True):
        with pytest.raises(KeyError, match="initial_lr"):
            make(side.optim.lr_scheduler if side is torch else side.lr_scheduler, optimizer(side), 9)
        del opt
    again = [
        (opt, make(module, opt, 9))
        for (opt, _), module in zip(pair, (torch.optim.lr_scheduler, optim.lr_scheduler), strict=True)
    ]
    check(again)
    advance(again, 20)


PLATEAUS: list[dict[str, Any]] = [
    {},
    {"patience": 2, "factor": 0.5, "cooldown": 3},
    {"patience": 1, "mode": "max", "threshold": 0.2},
    {"patience": 1, "threshold_mode": "abs", "threshold": 0.05, "min_lr": [0.01, 0.05]},
    {"patience": 0, "mode": "max", "threshold_mode": "abs", "min_lr": 0.02, "eps": 0.01},
]


@pytest.mark.parametrize("given", PLATEAUS, ids=str)
def test_plateaus(given: dict[str, Any]) -> None:
    pair = both(lambda s, o: s.ReduceLROnPlateau(o, **given))
    rng = np.random.default_rng(0)
    for t in range(120):
        metric = float(1 / (1 + t / 10) + rng.normal() / 10)
        for _, schedule in pair:
            schedule.step(metric)
        check(pair)
        if t == 50:
            assert_same_state(pair[0][1].state_dict(), pair[1][1].state_dict())
            again = optim.lr_scheduler.ReduceLROnPlateau(pair[1][0])
            again.load_state_dict(pair[0][1].state_dict())
            pair[1] = (pair[1][0], again)


BAD: list[Any] = [
    lambda s, o: s.StepLR(3, 2),
    lambda s, o: s.ReduceLROnPlateau(3),
    lambda s, o: s.LinearLR(o, 0.0),
    lambda s, o: s.LinearLR(o, 0.5, 1.5),
    lambda s, o: s.LambdaLR(o, [math.cos]),
    lambda s, o: s.ReduceLROnPlateau(o, factor=1.0),
    lambda s, o: s.ReduceLROnPlateau(o, mode="x"),
    lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="x"),
    lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0.1]),
    lambda s, o: s.LRScheduler(o),
]


@pytest.mark.parametrize("make", BAD)
def test_bad_options(make: Make) -> None:
    with pytest.raises(Exception) as error:
        make(torch.optim.lr_scheduler, optimizer(torch))
    with pytest.raises(type(error.value), match=re.escape(str(error.value)) or None):
        make(optim.lr_scheduler, optimizer(optim))


@pytest.mark.parametrize("side", [torch, optim], ids=["torch", "here"])
def test_warnings_about_the_order(side: Any) -> None:
    s = torch.optim.lr_scheduler if side is torch else optim.lr_scheduler
    opt = optimizer(side)
    opt.step()  # before the schedule began: does not count
    schedule = s.StepLR(opt, 1)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before"):
        schedule.step()
    schedule.step()  # once is enough


@pytest.mark.parametrize("side", [torch, optim], ids=["torch", "here"])
def test_callable_objects_are_saved_by_what_they_hold(side: Any) -> None:
    class Decay:
        def __init__(self, rate: float) -> None:
            self.rate = rate

        def __call__(self, t: float) -> float:
            return float(self.rate**t)

    s = torch.optim.lr_scheduler if side is torch else optim.lr_scheduler
    first, second = Decay(0.5), Decay(0.9)
    saved = s.LambdaLR(optimizer(side), [first, lambda t: 1.0]).state_dict()
    s.LambdaLR(optimizer(side), [second, lambda t: 1.0]).load_state_dict(saved)
    assert second.rate == 0.5


def test_a_tensor_learning_rate_is_filled_in_place() -> None:
    opt = optimizer(optim)
    rate = opt.param_groups[0]["lr"] = ours(np.float32(0.1).reshape(()))
    schedule = optim.lr_scheduler.StepLR(opt, 1, gamma=0.5)
    opt.step()
    schedule.step()
    assert opt.param_groups[0]["lr"] is rate
    assert float(rate.array) == pytest.approx(0.05)
    assert schedule.get_last_lr() == pytest.approx([0.05, 0.15])


def test_new_groups_stop_a_plateau_that_knows_each_group() -> None:
    for make, (opt, schedule) in zip(
        (theirs, ours), both(lambda s, o: s.ReduceLROnPlateau(o, patience=0, min_lr=[0.1, 0.1])), strict=True
    ):
        opt.add_param_group({"params": [make(np.ones(1), True)]})
        with pytest.raises(RuntimeError, match="differs from when"):
            for _ in range(3):
                schedule.step(1.0)
