"""An all_reduce of one's own under DDP: one that is right trains like one rank, one that is not is found."""

from __future__ import annotations

import pytest

from mtd.course import all_reduces, training


def test_a_right_one_trains() -> None:
    training.with_ddp(all_reduces.leftwards, sizes=(1, 3))


def test_one_that_forgets_the_last_elements_does_not() -> None:
    with pytest.raises(AssertionError, match=r"3 ranks: .* a gradient is missing"):
        training.with_ddp(all_reduces.remainder_forgotten, sizes=(1, 3))
