"""`testing.assert_close` passes and fails where torch's does, with the same type of error and the same text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.parity.compare import mtd, torch

pytestmark = pytest.mark.parity


def verdict(t: Any, program: Callable[[Any], Any]) -> tuple[str, str]:
    try:
        program(t)
    except Exception as error:
        text = re.sub(r"<class '(torch|minitorch_dist[\w.]*)\.Tensor'>", "Tensor", str(error))
        return type(error).__name__, text.replace("minitorch_dist.", "torch.")
    return "close", ""


def agree(program: Callable[[Any], Any]) -> tuple[str, str]:
    theirs = verdict(torch, program)
    assert verdict(mtd, program) == theirs
    return theirs


def closeness(t: Any, a: Any, b: Any, **how: Any) -> None:
    t.testing.assert_close(a, b, **how)


DTYPES = ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (2, 0, 3)])
def test_tolerances_depend_on_the_type(dtype: str, shape: tuple[int, ...]) -> None:
    values = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    for change in (0, 1e-8, 1e-6, 2e-5, 1e-3, 0.02, 1, 3):
        moved = values + change * (values % 3)

        def program(t: Any, moved: Any = moved) -> None:
            a, b = (t.tensor(x.tolist(), dtype=t.float64).reshape(shape) for x in (moved, values))
            closeness(t, a.to(getattr(t, dtype)), b.to(getattr(t, dtype)))

        agree(program)


SPECIAL = [0.0, -0.0, 1.0, 1.0 + 1e-6, -1.0, float("inf"), float("-inf"), float("nan"), 1e30]


@given(
    st.lists(st.tuples(st.sampled_from(SPECIAL), st.sampled_from(SPECIAL)), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from([None, (0.0, 0.0), (0.0, 2.0), (1.0, 0.0)]),
)
@settings(max_examples=100, deadline=None)
def test_numbers_that_are_not_finite(
    pairs: list[tuple[float, float]], equal_nan: bool, tolerances: tuple[float, float] | None
) -> None:
    how = {} if tolerances is None else {"rtol": tolerances[0], "atol": tolerances[1]}
    left, right = ([pair[side] for pair in pairs] for side in (0, 1))
    agree(lambda t: closeness(t, t.tensor(left), t.tensor(right), equal_nan=equal_nan, **how))
    agree(lambda t: closeness(t, left, right, equal_nan=equal_nan, **how))
    agree(lambda t: closeness(t, t.tensor(left[0]), t.tensor(right[0]), equal_nan=equal_nan, **how))


CASES: dict[str, Callable[[Any], Any]] = {
    "dtype": lambda t: closeness(t, t.ones(2), t.ones(2).double()),
    "dtype unchecked": lambda t: closeness(t, t.ones(2), t.ones(2).int(), check_dtype=False),
    "dtype unchecked, apart": lambda t: closeness(t, t.ones(2), t.zeros(2).int(), check_dtype=False),
    "shape": lambda t: closeness(t, t.ones(2), t.ones(2, 1)),
    "stride": lambda t: closeness(t, t.ones(2, 3), t.ones(3, 2).t(), check_stride=True),
    "stride unchecked": lambda t: closeness(t, t.ones(2, 3), t.ones(3, 2).t()),
    "not contiguous": lambda t: closeness(t, t.arange(6.0).reshape(2, 3).t(), t.ones(3, 2)),
    "gradients": lambda t: closeness(t, t.ones(2, requires_grad=True), t.zeros(2)),
    "a parameter": lambda t: closeness(t, t.nn.Parameter(t.ones(2)), t.ones(2)),
    "exactly": lambda t: closeness(t, t.ones(2) + 1e-6, t.ones(2), rtol=0, atol=0),
    "only rtol": lambda t: closeness(t, t.ones(2), t.ones(2), rtol=1),
    "only atol": lambda t: closeness(t, [1.0], [1.0], atol=1),
    "lists": lambda t: closeness(t, [t.ones(2), t.ones(2)], [t.ones(2), t.zeros(2)]),
    "list and tuple": lambda t: closeness(t, [1.0, t.ones(1)], (1.0, t.ones(1))),
    "length": lambda t: closeness(t, [t.ones(2)], [t.ones(2)] * 2),
    "length before values": lambda t: closeness(t, [1, [1]], [2, [1, 2]]),
    "mappings": lambda t: closeness(t, {"b": t.ones(2), "a": 1}, {"a": 2, "b": t.zeros(2)}),
    "keys": lambda t: closeness(t, {"b": 1, "a": 1}, {"c": 2, "b": 1}),
    "nested": lambda t: closeness(t, {"a": [1.0, {"b": t.ones(1)}]}, {"a": [1.0, {"b": t.zeros(1)}]}),
    "int and float": lambda t: closeness(t, 1, 1.0),
    "int and float, unchecked": lambda t: closeness(t, 1, 1.0, check_dtype=False),
    "ints": lambda t: closeness(t, 1, 2),
    "floats": lambda t: closeness(t, 1.0, 1.1),
    "floats that are close": lambda t: closeness(t, 1.0, 1.0 + 1e-8),
    "zero": lambda t: closeness(t, 1.0, 0.0),
    "bools": lambda t: closeness(t, True, False),
    "None": lambda t: closeness(t, None, 1),
    "two Nones": lambda t: closeness(t, [None], [None]),
    "numpy": lambda t: closeness(t, np.ones(2), np.zeros(2)),
    "numpy's numbers": lambda t: closeness(t, np.float64(1), np.float64(2)),
    "numpy's bools": lambda t: closeness(t, np.bool_(True), np.bool_(False)),
    "tensor and number": lambda t: closeness(t, t.ones(()), 1.0),
    "tensor and list": lambda t: closeness(t, t.ones(2), [1.0, 1.0]),
    "inside": lambda t: closeness(t, [t.ones(())], [1.0]),
    "texts": lambda t: closeness(t, "a", "a"),
    "sets": lambda t: closeness(t, {1}, {1}),
    "subclasses": lambda t: closeness(t, t.nn.Parameter(t.ones(1)), t.ones(1)),
    "msg": lambda t: closeness(t, [1.0], [2.0], msg="mine"),
    "msg of the text": lambda t: closeness(t, [1.0], [2.0], msg=lambda text: f"Mine\n{text}"),
    "msg of the structure": lambda t: closeness(t, [1.0], [], msg="mine"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_compared(case: str) -> None:
    agree(CASES[case])


def test_the_lines_that_people_know() -> None:
    _, text = agree(lambda t: closeness(t, t.tensor([[1.0, 2.0], [3.0, 5.0]]), t.ones(2, 2)))
    lines = text.splitlines()
    assert lines[0] == "Tensor-likes are not close!"
    assert lines[2] == "Mismatched elements: 3 / 4 (75.0%)"
    assert lines[3] == "Greatest absolute difference: 4.0 at index (1, 1) (up to 1e-05 allowed)"


def test_devices() -> None:
    with mtd.cuda.simulated(1):
        far, near = mtd.ones(2, device="cuda"), mtd.ones(2)
        with pytest.raises(AssertionError, match="attribute 'device' do not match: cuda:0 != cpu"):
            mtd.testing.assert_close(far, near)
        mtd.testing.assert_close(far, near, check_device=False)
        with pytest.raises(AssertionError, match="are not close"):
            mtd.testing.assert_close(far, near + 1, check_device=False)
