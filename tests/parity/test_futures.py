"""Futures beside torch's: what may be asked when, and with which error."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="parity tests need torch==2.13.0")

import torch.futures as theirs

from minitorch_dist import futures as ours

pytestmark = pytest.mark.parity


def done(f: Any, value: Any = 3) -> Any:
    future = f.Future()
    future.set_result(value)
    return future


def failed(f: Any) -> Any:
    future = f.Future()
    future.set_exception(ValueError("bad"))
    return future


def order(f: Any) -> list[Any]:
    log: list[Any] = []
    future = f.Future()
    future.add_done_callback(lambda x: log.append(("first", x.value())))
    future.then(lambda x: log.append("then"))
    future.add_done_callback(lambda x: log.append(x is future))
    log.append(future.done())
    future.set_result(7)
    future.add_done_callback(lambda x: log.append("inline"))
    return [*log, future.done(), future.wait(), future.value()]


EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "value unfinished": lambda f: f.Future().value(),
    "wait": lambda f: done(f).wait(),
    "None": lambda f: done(f, None).wait(),
    "order": order,
    "wait error": lambda f: failed(f).wait(),
    "value error": lambda f: failed(f).value(),
    "done error": lambda f: failed(f).done(),
    "set twice": lambda f: done(f).set_result(4),
    "fail after": lambda f: done(f).set_exception(ValueError()),
    "set after": lambda f: failed(f).set_result(4),
    "no exception": lambda f: f.Future().set_exception("text"),
    "no base exception": lambda f: f.Future().set_exception(KeyboardInterrupt()),
    "then": lambda f: done(f).then(lambda x: x.wait() + 1).then(lambda x: x.value() * 2).wait(),
    "then on error": lambda f: failed(f).then(lambda x: 5).wait(),
    "then of nothing": lambda f: done(f).then(3),
    "callback error": lambda f: done(f).add_done_callback(lambda x: 1 / 0),
    "wait_all": lambda f: f.wait_all([done(f), done(f).then(lambda x: 7), done(f, "x")]),
    "wait_all tuple": lambda f: f.wait_all((done(f), done(f, 4))),
    "wait_all empty": lambda f: f.wait_all([]),
    "wait_all strange": lambda f: f.wait_all([done(f), 3]),
    "wait_all no list": lambda f: f.wait_all(3),
    "wait_all error": lambda f: f.wait_all([done(f), failed(f)]),
    "collect_all": lambda f: [x.value() for x in f.collect_all([done(f), done(f, 4)]).wait()],
    "collect_all pending": lambda f: f.collect_all([done(f), f.Future()]).done(),
    "pickle": lambda f: pickle.dumps(done(f)),
    "positional": lambda f: f.Future([0]),
}


@pytest.mark.parametrize("name", list(EXPRESSIONS))
def test_same(name: str) -> None:
    results: list[Any] = []
    for side in theirs, ours:
        try:
            results.append(EXPRESSIONS[name](side))
        except Exception as error:
            results.append(error)
    if isinstance(results[0], Exception):
        assert type(results[1]) is type(results[0]), results
        if not isinstance(results[0], TypeError) and "ASSERT" not in str(results[0]):
            assert str(results[1]).startswith(str(results[0]))
    else:
        assert results[1] == results[0]


def test_a_failed_callback_ends_the_rest_early() -> None:
    for side in theirs, ours:
        broken = done(side).then(lambda x: 1 / 0)
        with pytest.raises((ZeroDivisionError, RuntimeError), match="division by zero"):
            side.wait_all([side.Future(), broken])
        assert side.collect_all([side.Future(), broken]).done()


def test_where_we_are_better() -> None:
    """The exception keeps its type, and each failure ends collect_all early."""
    with pytest.raises(ZeroDivisionError):
        done(ours).then(lambda x: 1 / 0).wait()
    with pytest.raises(ValueError, match="bad"):
        failed(ours).then(lambda x: x.wait()).then(lambda x: x.wait()).wait()
    with pytest.raises(ValueError, match="bad"):
        ours.wait_all([ours.Future(), failed(ours)])
