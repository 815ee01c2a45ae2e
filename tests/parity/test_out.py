"""`out=`: functions that take it write what torch writes, into that tensor, or refuse as torch does."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from minitorch_dist.tensors.extras.outputs import NAMES
from tests.parity.compare import mtd, torch

pytestmark = pytest.mark.parity

CALLS = {
    "x": "abs all any argmax argmin ceil cos exp floor log max mean min neg norm reciprocal round rsqrt sigmoid sign sin sort "
    "sqrt square tanh tril triu",
    "x, x": "add clamp div eq ge gt le logical_and logical_or lt matmul maximum minimum mm mul ne pow sub",
    "x, 0": "cumsum log_softmax logsumexp max prod softmax sum",
    "[x, x]": "cat concat stack",
    "v, v": "dot outer",
    "x, v": "mv",
    "x, x, x": "addmm",
    "b, b": "bmm",
    "b, b, b": "baddbmm",
    "x, 0, i": "index_select",
    "x, 0, i[None]": "gather",
    "x, 2": "topk",
    "x > 1, x, -x": "where",
    "3": "arange ones rand randn randperm zeros",
    "(2, 3), 7.0": "full",
    "0, 1, 5": "linspace",
}
DRAWN = {"rand", "randn", "randperm"}


def test_every_name_is_called() -> None:
    assert set(" ".join(NAMES).split()) == set(" ".join(CALLS.values()).split())


def arguments(t: Any, text: str) -> Any:
    x = t.tensor([[0.25, 2.0, 0.75], [1.5, 0.5, 1.0], [3.0, 0.125, 4.0]])
    names = {"x": x, "v": x[0], "b": t.stack([x, x + 1]), "i": t.tensor([2, 0]), "t": t}
    return eval(f"({text},)", names)


def results(t: Any, name: str, text: str, **options: Any) -> tuple[Any, ...]:
    found = getattr(t, name)(*arguments(t, text), **options)
    return tuple(found) if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize(("name", "text"), [(n, text) for text, names in CALLS.items() for n in names.split()])  # fmt: skip
def test_the_result_is_written(name: str, text: str) -> None:
    for t in (torch, mtd):
        plain = results(t, name, text)
        for is_empty in (True, False):
            outs = tuple(
                t.empty(0 if is_empty else tuple(each.shape), dtype=each.dtype) for each in plain
            )
            written = results(t, name, text, out=outs if len(outs) > 1 else outs[0])
            for out, mine, expected in zip(outs, written, plain, strict=True):
                assert mine is out
                assert tuple(out.shape) == tuple(expected.shape) and out.dtype == expected.dtype
                if name not in DRAWN:
                    np.testing.assert_array_equal(np.asarray(out), np.asarray(expected))


def outcome(t: Any, program: Any) -> str:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            program(t)
        except (RuntimeError, TypeError) as error:
            return type(error).__name__
    return f"{len(told)} warnings"


@pytest.mark.parametrize(
    "program",
    [
        lambda t: t.add(t.ones(2), 1, out=t.empty(2, dtype=t.int64)),
        lambda t: t.add(t.ones(2, dtype=t.int64), 1, out=t.empty(2)),
        lambda t: t.add(t.ones(2), 1, out=t.empty(3)),
        lambda t: t.exp(t.ones(2), out=3),
        lambda t: t.exp(t.ones(2, requires_grad=True), out=t.empty(2)),
        lambda t: t.exp(t.ones(2), out=t.empty(2, requires_grad=True)),
    ],
)
def test_refusals_and_warnings(program: Any) -> None:
    assert outcome(mtd, program) == outcome(torch, program)
