"""Creating tensors: same values, types, strides and refusals as torch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, same, torch

pytestmark = pytest.mark.parity

# Each line is evaluated with `t` as the namespace, in both.
LINES = """
t.tensor(3), t.tensor(2.5), t.tensor(True)
t.tensor([1, 2]), t.tensor([1, 2.5]), t.tensor([True, 2]), t.tensor([True, 2.0]), t.tensor([True])
t.tensor([[1, 2], [3, 4]]), t.tensor(((1.0, 2.0), [3, 4])), t.tensor(range(3))
t.tensor([]), t.tensor([[]]), t.tensor([[], []])
t.tensor([1.5], dtype=t.int64), t.tensor([2, 0], dtype=t.bool), t.tensor(1, dtype=t.float16)
t.tensor([1, 2], dtype=float), t.tensor([1.5], dtype=int), t.tensor([1], dtype=bool)
t.tensor([-1, 255], dtype=t.uint8), t.tensor([-255, 0], dtype=t.uint8), t.tensor([2.0**63, 1.0], dtype=t.int64), t.tensor([1e10, 70000], dtype=t.float16), t.tensor([0.1], dtype=t.bfloat16)
t.tensor(np.float64(1)), t.tensor([np.float64(1)]), t.tensor([np.float32(1), 2]), t.tensor([2, np.float32(1)])
t.tensor([np.float32(1), np.float64(2)]), t.tensor(np.int32(1)), t.tensor([np.int32(1)]), t.tensor([np.int8(1), np.uint8(2)])
t.tensor(np.arange(3)), t.tensor(np.ones((2, 3), np.float32).T).stride()
t.tensor([np.array([1.0, 2.0]), np.array([1.0, 2.0])]), t.tensor([np.array([1, 2], np.float32), np.array([1.0, 2.0])])
t.tensor([t.tensor(1.0), t.tensor(2)]), t.tensor([t.tensor([1.0]), 2]), t.tensor(t.tensor([1, 2]))
t.tensor([1.0], requires_grad=True), t.tensor([1.0], device="cpu")
t.as_tensor([1, 2], dtype=t.float32), t.as_tensor(np.arange(3)), t.as_tensor(np.arange(3), dtype=t.float32), t.as_tensor(3)
t.zeros(2, 3), t.zeros((2, 3)), t.zeros([2, 3]), t.zeros(()), t.zeros(0), t.zeros(size=(2,)), t.zeros(t.tensor(2), 3), t.zeros(np.int64(2))
t.zeros(2, dtype=t.bfloat16), t.zeros(2, dtype=int), t.zeros(2, dtype=bool), t.zeros(2, requires_grad=True)
t.ones(2, 3), t.ones((2, 3), dtype=t.int8), t.ones([]), t.ones(2, 0)
t.empty(2, 3).shape, t.empty((2,), dtype=t.int64).dtype
t.full((2,), 1), t.full((2,), True), t.full([2], 1.0), t.full((), 2), t.full((2,), 1.5, dtype=t.int64), t.full((2,), t.tensor(3.0))
t.zeros_like(t.ones(2, 3)), t.ones_like(t.zeros(2, dtype=t.int8)), t.full_like(t.zeros(2, dtype=t.int64), 1.5), t.empty_like(t.zeros(3)).shape
t.ones_like(t.zeros(2, dtype=t.int64), dtype=t.float64), t.zeros_like(t.zeros(2), requires_grad=True)
t.zeros(2).new_tensor([1, 2]), t.zeros(2).new_tensor([1.5, 2], dtype=t.int32), t.zeros(2, dtype=t.int64).new_tensor([1.5])
t.zeros(2, dtype=t.int64).new_zeros(2, 3), t.zeros(2, dtype=t.int64).new_full((2,), 2.5), t.zeros(2, dtype=t.float64).new_ones((2, 3))
t.zeros(2, dtype=t.int64).new_empty(4).dtype, t.zeros(1).new_zeros((2,), dtype=t.int16), t.zeros(1).new_ones([])
"""

REFUSED = """
t.tensor([[1, 2], [3]])
t.tensor([[1, 2], 3])
t.tensor([1, [2, 3]])
t.tensor("a")
t.tensor(["a"])
t.tensor(None)
t.tensor([None])
t.tensor({1})
t.tensor([2**63])
t.tensor(2**64)
t.tensor([300], dtype=t.uint8)
t.tensor([float("nan")], dtype=t.int64)
t.tensor([1e10], dtype=t.int32)
t.tensor([-0.5], dtype=t.uint8)
t.tensor([-256], dtype=t.uint8)
t.tensor([127.9], dtype=t.int8)
t.tensor([1], requires_grad=True)
t.tensor(np.array(["a"]))
t.tensor(np.ones(3)[::-1])
t.tensor([t.tensor([1.0, 2.0]), t.tensor([1.0, 2.0])])
t.as_tensor(np.arange(3)[::-1])
t.zeros()
t.zeros(2, 3.0)
t.zeros(2.0)
t.zeros(-1)
t.zeros(True)
t.zeros((2,), 3)
t.zeros(2, dtype="float32")
t.full(2, 1.0)
t.full((2,), 300, dtype=t.uint8)
t.zeros_like(3)
t.ones_like(t.zeros(2, dtype=t.int64), requires_grad=True)
t.zeros(2, dtype=t.int64).new_full(2, 2.5)
t.zeros(2, device="cuda:0")
"""


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def evaluate(t: Any, line: str) -> Any:
    return eval(line, {"t": t, "np": np})


@pytest.mark.parametrize("line", lines(LINES))
def test_creates_what_torch_creates(line: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluate(torch, line)  # torch accepts it
    same(evaluate, line, grad=False)


@pytest.mark.parametrize("line", lines(REFUSED))
def test_refuses_what_torch_refuses(line: str) -> None:
    with pytest.raises(Exception):  # noqa: B017 - whatever torch raises; `same` compares the types
        evaluate(torch, line)
    same(evaluate, line, grad=False)


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like"])
def test_like_keeps_the_order_of_axes(name: str) -> None:
    x = np.zeros((2, 3, 4), np.float32).transpose(2, 0, 1)
    assert getattr(mtd, name)(mtd.as_tensor(x)).array.strides == tuple(
        4 * s for s in getattr(torch, name)(torch.from_numpy(x)).stride()
    )


def test_copying_a_tensor_warns() -> None:
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        mtd.tensor(mtd.zeros(2))


def test_as_tensor_keeps_history() -> None:
    x = mtd.ones(3, requires_grad=True)
    assert mtd.as_tensor(x, dtype=mtd.as_tensor(np.zeros(1)).dtype).requires_grad
