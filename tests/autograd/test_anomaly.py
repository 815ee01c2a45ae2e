"""`detect_anomaly` names the line whose gradient went wrong."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist.autograd import Function, detect_anomaly, set_detect_anomaly
from minitorch_dist.tensors.core import observers


class Fails(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise KeyError("mine")


class ReturnsNan(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * float("nan")


def leaf() -> mtd.Tensor:
    return mtd.ones(2).requires_grad_()


def the_guilty_line(function: Any, x: Any) -> Any:
    return function.apply(x)


def test_the_line_that_recorded_it_is_shown() -> None:
    with pytest.warns(UserWarning) as caught, detect_anomaly():
        out = the_guilty_line(Fails, leaf() * 2) * 3
        with pytest.raises(KeyError, match="mine"):
            out.sum().backward()
    assert "Anomaly Detection has been enabled" in str(caught[0].message)
    message = str(caught[1].message)
    assert message.startswith("Error detected in FailsBackward. Traceback of forward call")
    assert "return function.apply(x)" in message and "test_anomaly.py" in message
    assert not observers.nodes.on


def test_nan_is_an_error() -> None:
    with pytest.warns(UserWarning), detect_anomaly():
        out = ReturnsNan.apply(leaf())
        with pytest.raises(
            RuntimeError,
            match="Function 'ReturnsNanBackward' returned nan values in its 0th output",
        ):
            out.sum().backward()
    x = leaf()
    with pytest.warns(UserWarning), detect_anomaly(check_nan=False):
        ReturnsNan.apply(x).sum().backward()
    assert np.isnan(x.grad.numpy()).all()


def test_without_the_forward_there_is_no_traceback() -> None:
    out = Fails.apply(leaf())
    with pytest.warns(UserWarning, match="No forward pass information available"):  # noqa: SIM117
        with set_detect_anomaly(True), pytest.raises(KeyError):
            out.sum().backward()


def test_off_it_says_nothing() -> None:
    set_detect_anomaly(True)
    set_detect_anomaly(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyError):
            Fails.apply(leaf()).sum().backward()
        x = leaf()
        ReturnsNan.apply(x).sum().backward()
