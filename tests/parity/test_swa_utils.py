"""Averages of models are torch's: SWA, EMA, buffers, batch norm anew, and the schedule to a low rate."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, torch

pytestmark = pytest.mark.parity
AVERAGES = {
    "swa": lambda u: {},
    "ema": lambda u: {"avg_fn": u.get_ema_avg_fn(0.9)},
    "multi ema": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.9)},
    "multi swa": lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    "with buffers": lambda u: {"use_buffers": True},
}


def net(t: Any) -> Any:
    model = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.BatchNorm1d(3)).double()
    for p in model.parameters():
        p.data.copy_(t.arange(float(p.numel())).reshape(p.shape))
    return model


def averaged(t: Any, name: str) -> dict[str, Any]:
    utils = import_module(f"{t.__name__}.optim.swa_utils")
    model = net(t)
    average = utils.AveragedModel(model, **AVERAGES[name](utils))
    x = t.arange(8.0, dtype=t.float64).reshape(4, 2).sin()
    for step in range(4):
        for p in model.parameters():
            p.data.mul_(0.9).add_(step)
        model(x * step)
        average.update_parameters(model)
    utils.update_bn([x, [x + 1, None]], average)
    out = average.eval()(x).detach()
    return {k: np.asarray(v) for k, v in average.state_dict().items()} | {"out": np.asarray(out)}


@pytest.mark.parametrize("name", AVERAGES)
def test_averages(name: str) -> None:
    theirs, ours = averaged(torch, name), averaged(mtd, name)
    assert list(theirs) == list(ours)
    for key, value in theirs.items():
        rtol = 1e-7 if name == "multi swa" else 1e-9  # torch rounds 1/n to float32 in there
        np.testing.assert_allclose(ours[key], value, rtol=rtol, err_msg=key)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 5])
def test_the_schedule(strategy: str, epochs: int) -> None:
    def rates(t: Any) -> list[float]:
        utils = import_module(f"{t.__name__}.optim.swa_utils")
        optimizer = t.optim.SGD(net(t).parameters(), lr=0.5)
        schedule = utils.SWALR(optimizer, 0.1, epochs, strategy)
        found = []
        for _ in range(8):
            optimizer.step()
            schedule.step()
            found.append(optimizer.param_groups[0]["lr"])
        return found

    assert rates(mtd) == pytest.approx(rates(torch))


def test_refusals() -> None:
    for t in (torch, mtd):
        utils = import_module(f"{t.__name__}.optim.swa_utils")
        with pytest.raises(ValueError, match="Invalid decay value 2"):
            utils.get_ema_avg_fn(2)
        with pytest.raises(AssertionError, match="Only one of avg_fn"):
            utils.AveragedModel(net(t), avg_fn=abs, multi_avg_fn=abs)
        with pytest.raises(ValueError, match="anneal_strategy must be one of"):
            utils.SWALR(t.optim.SGD(net(t).parameters(), lr=1), 0.1, anneal_strategy="no")
