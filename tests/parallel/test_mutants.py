"""Each mistake of `tests/mutants/data_parallel.py` is noticed by the test that it names."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist import nn
from minitorch_dist.distributed.ddp.reducer import Reducer
from tests.mutants.data_parallel import MUTANTS
from tests.parallel import models
from tests.parallel.models import DDP, on_ranks

NOTICED = (AssertionError, pytest.fail.Exception)  # the test's own word; a crash of the mutant is none


def test_a_slow_network_is_waited_for() -> None:
    """In virtual time a reduction is not over before somebody waits for it: nothing may be read or
    overwritten until then."""

    def act(rank: int, size: int) -> Any:
        mtd.manual_seed(0)
        layers = [nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3)]
        module = nn.Sequential(*layers).double()
        x = mtd.full((1, 3), float(rank + 1)).double()
        own = mtd.autograd.grad(module(x).sum(), list(module.parameters()))
        model = DDP(module, bucket_cap_mb=1e-6)
        for _ in range(2):
            model.zero_grad()
            model(x).sum().backward()
        return [g.numpy() for g in own], [p.grad.numpy().copy() for p in module.parameters()]

    (first, averages), (second, also) = on_ranks(2, act, transport="sim://")
    for mine, theirs, average, same in zip(first, second, averages, also, strict=True):
        np.testing.assert_allclose(average, (mine + theirs) / 2, rtol=1e-12)
        np.testing.assert_array_equal(average, same)


@pytest.mark.parametrize("name", MUTANTS)
def test_the_named_test_notices(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant, test = MUTANTS[name]
    check = found(test, monkeypatch)
    with warnings.catch_warnings(action="ignore"):
        check()  # as it is, the test passes
    with mutant():
        assert_noticed(check, test, monkeypatch)


def test_a_mutant_that_crashes_is_not_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where a rank returns the crash, and the test fails because it is not a number."""

    def crash(*args: Any) -> None:
        raise AttributeError("the mutant is wrong")

    test = "test_ddp_contract.py::test_gradients_are_the_average"
    check = found(test, monkeypatch)
    with mock.patch.object(Reducer, "_begin", crash), pytest.raises(AssertionError, match="the mutant is wrong"):
        assert_noticed(check, test, monkeypatch)


def assert_noticed(check: Callable[[], Any], test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test fails by its own word, and no rank has crashed: a crash is seen without any test."""
    crashes: list[Exception] = []

    def watched(*args: Any, **kwargs: Any) -> list[Any]:
        results = models.on_ranks(*args, **kwargs)
        crashes.extend(result for result in results if isinstance(result, Exception))
        return results

    monkeypatch.setattr(module_of(test), "on_ranks", watched, raising=False)
    with warnings.catch_warnings(action="ignore"), pytest.raises(NOTICED):
        check()
    assert not crashes, crashes


def module_of(test: str) -> Any:
    return importlib.import_module(f"tests.parallel.{test.partition('.py::')[0]}")


def found(test: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """The test of this name, `file.py::function[parameters]`, as a function of nothing."""
    rest = test.partition(".py::")[2]
    function, _, wanted = re.fullmatch(r"(\w+)(\[(.*)\])?", rest).groups()  # type: ignore[union-attr]
    check = getattr(module_of(test), function)
    given: dict[str, Any] = {}
    if "monkeypatch" in inspect.signature(check).parameters:
        given["monkeypatch"] = monkeypatch
    if wanted:
        given |= parameters(check, rest.partition("[")[2][:-1])
    return lambda: check(**given)


def parameters(check: Any, wanted: str) -> dict[str, Any]:
    """The arguments that pytest writes as `wanted`: the last decorator's come first."""
    given: dict[str, Any] = {}
    rest = wanted
    for mark in check.pytestmark:
        if mark.name == "parametrize":
            values = {str(value): value for value in mark.args[1]}
            text = max((v for v in values if rest == v or rest.startswith(f"{v}-")), key=len)
            given[mark.args[0]] = values[text]
            rest = rest[len(text) + 1 :]
    assert not rest, wanted
    return given


def test_every_mutant_names_a_test_that_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(MUTANTS) >= 20
    for _, test in MUTANTS.values():
        found(test, monkeypatch)
