"""`nn.attention` takes torch's choices and shows torch's flags; the numbers do not depend on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minitorch_dist import launch
from tests.parity.compare import mtd, same, torch

pytestmark = pytest.mark.parity

KERNELS = ["flash", "mem_efficient", "math", "cudnn"]


def flags(t: Any) -> list[bool]:
    return [getattr(t.backends.cuda, f"{name}_sdp_enabled")() for name in KERNELS]


def test_the_kernels_are_those_of_torch() -> None:
    def members(t: Any) -> list[Any]:
        kinds = t.nn.attention.SDPBackend
        names = list(kinds.__members__)
        return [
            (n, int(getattr(kinds, n)), str(getattr(kinds, n)), repr(getattr(kinds, n)))
            for n in names
        ]

    assert members(mtd) == members(torch)


@pytest.mark.parametrize(
    "chosen", [["MATH"], ["FLASH_ATTENTION", "CUDNN_ATTENTION"], ["EFFICIENT_ATTENTION"] * 2, []]
)
def test_the_flags_hold_for_the_block(chosen: list[str]) -> None:
    def program(t: Any) -> Any:
        kinds = [getattr(t.nn.attention.SDPBackend, name) for name in chosen]
        seen = [flags(t)]
        with t.nn.attention.sdpa_kernel(kinds, set_priority=bool(kinds)) as given:
            seen.append(flags(t))
            if kinds:
                with t.nn.attention.sdpa_kernel(kinds[0]):
                    seen.append(flags(t))
            seen.append(flags(t))
        return str(given), str(seen), str(flags(t))

    same(program)


def test_a_block_that_fails_gives_the_flags_back() -> None:
    def program(t: Any) -> Any:
        try:
            with t.nn.attention.sdpa_kernel(t.nn.attention.SDPBackend.MATH):
                raise KeyError
        except KeyError:
            return str(flags(t))

    same(program)


def test_the_switches() -> None:
    def program(t: Any) -> Any:
        seen = []
        for name in KERNELS:
            getattr(t.backends.cuda, f"enable_{name}_sdp")(False)
            seen.append(flags(t))
        for name in KERNELS:
            getattr(t.backends.cuda, f"enable_{name}_sdp")(True)
        return str(seen), str(flags(t))

    same(program)


@pytest.mark.parametrize("wrong", ["MATH", None, 0, ()])
def test_other_things_are_refused(wrong: Any) -> None:
    same(lambda t: t.nn.attention.sdpa_kernel(wrong).__enter__())


def test_the_numbers_stay() -> None:
    q, k, v = (np.random.default_rng(n).normal(size=(2, 3, 5, 4)) for n in range(3))

    def program(t: Any, q: Any, k: Any, v: Any) -> Any:
        with t.nn.attention.sdpa_kernel([t.nn.attention.SDPBackend.MATH]):
            return t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    same(program, q, k, v)


def test_each_rank_has_flags_of_its_own() -> None:
    def program() -> list[bool]:
        rank = mtd.distributed.get_rank()
        chosen = list(mtd.nn.attention.SDPBackend)[1 : 2 + rank]
        with mtd.nn.attention.sdpa_kernel(chosen):
            mtd.distributed.barrier()
            return flags(mtd)

    found = launch(program, 3)
    assert [sum(each) for each in found] == [1, 2, 3]
