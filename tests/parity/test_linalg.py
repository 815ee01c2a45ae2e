"""Linear algebra: values, gradients and refusals as torch's.

Signs of eigenvectors and singular vectors are free, so those tests look at what does not depend on them.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.parity.compare import mtd
from tests.parity.lines import check, lines, refuses

pytestmark = pytest.mark.parity

D = 'dtype="float64"'

AGREE = """
t.inverse(spd(3, 2)), spd(2).inverse()
t.det(a(2, 3, 3, dtype="float64")), spd(2).det()
t.slogdet(a(2, 3, 3, dtype="float64")), spd(2).slogdet()
t.cholesky(spd(2)), spd(2).cholesky(True)
t.qr(a(4, 2, dtype="float64"))
t.pinverse(a(3, 2, dtype="float64")), a(3, 2, dtype="float64").pinverse()
t.trace(a(2, 3)), t.trace(a(3, 3, dtype="int8")), a(2, 2).trace(), t.trace(a(0, 0))
t.linalg.norm(a(2, 3)), t.linalg.norm(a(2, 3), ord=2), t.linalg.norm(a(2, 3), ord="nuc"), t.linalg.norm(a(2, 3), ord=2, dim=1), t.linalg.norm(a(2, 3, 4)), t.linalg.norm(a(3), ord=1), t.linalg.norm(a(2, 3, 4), ord="fro", dim=(0, 2)), t.linalg.norm(a(2, 3), dim=(0, 1))
t.linalg.vector_norm(a(2, 3), ord=float("inf")), t.linalg.vector_norm(a(2, 3), dim=(0, 1), keepdim=True), t.linalg.vector_norm(a(2), dtype=t.float64), t.linalg.vector_norm(a(2, 3), 3, 1)
t.linalg.matrix_norm(a(2, 3), ord=1), t.linalg.matrix_norm(a(2, 3), ord=-2), t.linalg.matrix_norm(a(2, 3), ord=float("inf")), t.linalg.matrix_norm(a(2, 3, 4), "nuc", dim=(0, 2), keepdim=True), t.linalg.matrix_norm(a(2, 3, 4), -1, (2, 0)), t.linalg.matrix_norm(a(2, 3), ord=-float("inf"), keepdim=True), t.linalg.matrix_norm(a(2, 3), dtype=t.float64), t.linalg.matrix_norm(a(2, 3), 2)
t.norm(a(2, 3), "nuc"), a(2, 3).norm("nuc"), t.norm(a(2, 3)), a(2, 3).norm(1, 1)
"""

NO_GRADIENT = """
t.svd(a(4, 3))[2].shape, t.svd(a(4, 3), some=False)[0].shape, t.svd(a(4, 3), compute_uv=False), a(3, 2).svd()[1]
t.qr(a(4, 2), some=False)[0].shape, a(3, 2).qr()
"""

REFUSED = """
t.det(a(2, 2, dtype="int64"))
t.trace(a(2))
t.linalg.norm(a(2, 3, 4), ord=2)
t.linalg.norm(a(3), ord="fro")
t.linalg.norm(a(3, dtype="int64"))
t.linalg.norm(a(2, 3), ord=3)
t.linalg.matrix_norm(a(3))
t.linalg.matrix_norm(a(2, 3), ord="x")
t.linalg.matrix_norm(a(2, 3), dim=(0, 0))
t.norm(a(2, 3), p="x")
"""


@pytest.mark.parametrize("line", lines(AGREE))
def test_values_and_gradients(line: str) -> None:
    exact = "float64" in line or "spd" in line
    check(line, rtol=1e-7 if exact and "dtype" not in line.replace(D, "") else 1e-4, atol=1e-5)


@pytest.mark.parametrize("line", lines(NO_GRADIENT))
def test_values(line: str) -> None:
    check(line, grad=False, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("line", lines(REFUSED))
def test_refusals(line: str) -> None:
    try:
        refuses(line)
    except AssertionError as error:
        # torch's own error class cannot be ours; what matters is that both are linear algebra errors
        if "_LinAlgError" not in str(error):
            raise


def test_the_gradient_of_a_singular_determinant() -> None:
    x = mtd.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    mtd.det(x).backward()
    np.testing.assert_allclose(x.grad.array, [[4, -2], [-2, 1]], atol=1e-5)
