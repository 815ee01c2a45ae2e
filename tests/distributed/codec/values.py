"""Functions and classes that messages name, and values that hold everything the codec has a form for."""

from __future__ import annotations

import math
from collections import OrderedDict
from datetime import timedelta
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

import minitorch_dist as mtd

called: list[Any] = []


def twice(x: Any) -> Any:
    called.append(x)
    return 2 * x


class Point:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    @staticmethod
    def origin() -> Point:
        return Point(0, 0)


class Refused(ValueError):
    """Its constructor takes other things than it leaves in args."""

    def __init__(self, who: str, when: int) -> None:
        super().__init__(f"{who} was refused")
        self.who, self.when = who, when


def simple() -> st.SearchStrategy[Any]:
    return st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(-130, 130),
        st.floats(allow_nan=False),
        st.text(),
        st.complex_numbers(allow_nan=False),
        st.binary(),
        st.sampled_from([mtd.float32, mtd.bfloat16, mtd.bool]),
        st.timedeltas(),
        st.sampled_from([mtd.device("cpu"), mtd.device("cuda", 3), ...]),
        st.builds(slice, st.none() | st.integers(), st.integers(), st.integers()),
        st.sampled_from([twice, Point, Point.origin, print, math.sqrt, int, mtd.add, KeyError]),
        st.lists(st.integers(0, 5)).map(mtd.Size),
        st.builds(range, st.integers(), st.integers(), st.integers(1, 9)),
    )


def anything() -> st.SearchStrategy[Any]:
    """Trees of plain values."""
    keys = st.text() | st.integers() | st.tuples(st.integers(), st.text())
    return st.recursive(
        simple(),
        lambda inner: st.one_of(
            st.lists(inner),
            st.tuples(inner, inner),
            st.dictionaries(keys, inner),
            st.frozensets(st.integers()),
            st.sets(st.text()),
            st.dictionaries(keys, inner).map(OrderedDict),
        ),
        max_leaves=20,
    )


def samples() -> list[Any]:
    """One of each kind, for the fuzzers to start from."""
    shared: list[Any] = [1]
    shared.append(shared)
    x = mtd.arange(12.0).reshape(3, 4)
    return [
        None, True, -5, 1 << 40, -(1 << 80), 2.5, 1j, "é\ud800", b"ab", bytearray(b"c"), (1, [2]),
        {"a": {1, 2}}, frozenset("x"), mtd.Size([2, 3]), OrderedDict(a=1), slice(1, None),
        range(3), timedelta(1, 2, 3), mtd.float16, mtd.device("cuda:1"), np.dtype("<U3"),
        np.arange(6).reshape(2, 3), np.float32(2), np.zeros((0, 3), ml_dtypes.bfloat16), x, x.t(),
        mtd.ones(2, requires_grad=True), mtd.nn.Parameter(mtd.zeros(2)), twice, KeyError("k"),
        Refused("x", 3), FileNotFoundError(2, "no", "f"), shared, [x, x], ..., np.array(["a"]),
        np.array(["ab", "é"], ">U3"), np.array("2020-01-01", "M8[D]"), np.str_("text"),
    ]  # fmt: skip
