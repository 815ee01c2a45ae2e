"""Random operations: same types, shapes, ranges and refusals as torch. The numbers are our own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, same, torch

pytestmark = pytest.mark.parity

DRAWS = """
t.rand(2, 3), t.rand((2, 3)), t.rand([]), t.rand(size=(2,)), t.rand(2, dtype=t.float64), t.rand(2, requires_grad=True)
t.randn(2, 3), t.randn(2, generator=t.Generator()), t.randn(2, dtype=t.bfloat16), t.randn(0)
t.randint(5, (2,)), t.randint(2, 5, (2,)), t.randint(high=5, size=(2,)), t.randint(0, 2, (2,), dtype=t.bool), t.randint(0, 5, size=(2,), dtype=t.float32)
t.randperm(5), t.randperm(0), t.randperm(5, dtype=t.float32), t.randperm(5, dtype=t.int32)
t.rand_like(t.zeros(2, dtype=t.int64), dtype=t.float32)
t.randn_like(t.zeros(2, dtype=t.float64))
t.normal(0.0, 1.0, (2,)), t.normal(0, 1, size=(2, 2))
t.multinomial(t.ones(3), 2), t.multinomial(t.ones(2, 3), 7, replacement=True), t.ones(3).multinomial(1)
t.zeros(2).uniform_(), t.zeros(2).uniform_(1, 2), t.zeros(2).normal_(1, 2), t.zeros(2, dtype=t.float16).normal_()
t.zeros(2).random_(), t.zeros(2).random_(5), t.zeros(2, dtype=t.int8).random_(-3, 5), t.zeros(2, dtype=t.bool).random_()
"""

SETTLED = """
t.Generator().initial_seed(), t.manual_seed(-1).initial_seed(), t.manual_seed(3.7).initial_seed(), t.Generator().manual_seed(5).initial_seed()
t.Generator().get_state().dtype, t.Generator().device, t.initial_seed() == t.random.initial_seed()
"""

REFUSED = """
t.rand(2, dtype=t.int64)
t.randn(2, dtype=t.int64)
t.rand()
t.rand(2, generator=3)
t.randint(5)
t.randint(5, 2, (2,))
t.randint(5, 5, (2,))
t.randint(0, 1000, (2,), dtype=t.uint8)
t.randint(0.0, 3.0, (2,))
t.randint(3, (2,), requires_grad=True)
t.randperm(-1)
t.randperm(300, dtype=t.uint8)
t.randperm(2.5)
t.normal(0.0, 1.0)
t.normal(0.0, -1.0, (2,))
t.multinomial(t.tensor([1.0, 2.0]), 3)
t.multinomial(t.tensor([1.0, 2.0]), 0)
t.multinomial(t.tensor([1.0, -2.0]), 1)
t.multinomial(t.tensor([0.0, 0.0]), 1)
t.multinomial(t.tensor([0, 1]), 1)
t.multinomial(t.zeros(2, 2, 2), 1)
t.zeros(2).uniform_(1, 0)
t.zeros(2).uniform_(0, float("inf"))
t.zeros(2, dtype=t.int64).uniform_()
t.zeros(2).normal_(0, -1)
t.zeros(2, dtype=t.int64).normal_()
t.zeros(2).random_(5, 2)
t.zeros(2).random_(0)
t.zeros(2, dtype=t.uint8).random_(0, 300)
t.zeros(2, dtype=t.float16).random_(0, 100000)
t.zeros(2, requires_grad=True).normal_()
t.manual_seed(2**64)
t.manual_seed("a")
t.Generator().manual_seed(3.7)
t.set_rng_state(t.zeros(4))
t.set_rng_state(t.zeros(4, dtype=t.uint8))
"""


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def evaluate(t: Any, line: str) -> Any:
    return eval(line, {"t": t, "np": np})


@pytest.mark.parametrize("line", lines(DRAWS))
def test_types_and_shapes(line: str) -> None:
    evaluate(torch, line)
    same(evaluate, line, grad=False, values=False)


@pytest.mark.parametrize("line", lines(SETTLED))
def test_what_chance_does_not_decide(line: str) -> None:
    evaluate(torch, line)
    same(evaluate, line, grad=False)


@pytest.mark.parametrize("line", lines(REFUSED))
def test_refuses_what_torch_refuses(line: str) -> None:
    with pytest.raises(Exception):  # noqa: B017 - whatever torch raises; `same` compares the types
        evaluate(torch, line)
    same(evaluate, line, grad=False)


def test_random_state_functions_are_there() -> None:
    for name in torch.random.__all__:
        assert hasattr(mtd.random, name) or name in ("thread_safe_generator", "fork_rng")
    for name in ("seed", "get_rng_state", "set_rng_state", "default_generator", "Generator"):
        assert hasattr(mtd, name) and hasattr(torch, name)
