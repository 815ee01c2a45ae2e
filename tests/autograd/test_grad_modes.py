"""The grad modes as decorators: of functions, and of generators, whose consumer keeps its own mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import minitorch_dist as mtd


@pytest.mark.parametrize("mode", [mtd.no_grad(), mtd.no_grad, mtd.inference_mode()])
def test_a_decorated_generator_computes_in_its_mode_and_leaves_its_consumer_alone(mode: Any) -> None:
    weight = mtd.ones(2, requires_grad=True)

    @mode
    def halves(count: int) -> Iterator[mtd.Tensor]:
        for number in range(count):
            yield weight * number

    for item in halves(3):
        assert not item.requires_grad and mtd.is_grad_enabled() and (weight * 2).requires_grad
    items = halves(2)
    next(items)
    with mtd.no_grad():
        next(items)
        assert not mtd.is_grad_enabled()
    assert list(items) == [] and mtd.is_grad_enabled()


@pytest.mark.parametrize("mode", [mtd.no_grad(), mtd.no_grad])
def test_a_generator_that_raises_gives_the_mode_back(mode: Any) -> None:
    @mode
    def fails() -> Iterator[int]:
        yield 1
        raise ValueError

    items = fails()
    next(items)
    with pytest.raises(ValueError):
        next(items)
    assert mtd.is_grad_enabled()
