"""`nn.attention` takes torch's choices, and the numbers do not depend on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, same, torch

pytestmark = pytest.mark.parity


def test_the_kernels_are_those_of_torch() -> None:
    def members(t: Any) -> list[Any]:
        kinds = t.nn.attention.SDPBackend
        names = list(kinds.__members__)
        return [(n, int(getattr(kinds, n)), str(getattr(kinds, n)), repr(getattr(kinds, n))) for n in names]

    assert members(mtd) == members(torch)


@pytest.mark.parametrize("wrong", ["MATH", None, 0, ()])
def test_other_things_are_refused(wrong: Any) -> None:
    same(lambda t: t.nn.attention.sdpa_kernel(wrong).__enter__())


def test_the_numbers_stay() -> None:
    q, k, v = (np.random.default_rng(n).normal(size=(2, 3, 5, 4)) for n in range(3))

    def program(t: Any, q: Any, k: Any, v: Any) -> Any:
        with t.nn.attention.sdpa_kernel([t.nn.attention.SDPBackend.MATH]):
            return t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    same(program, q, k, v)
