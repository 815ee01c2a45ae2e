"""Linear algebra: values, gradients and refusals as torch's.

Signs of eigenvectors and singular vectors are free, so those tests look at what does not depend on them.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.parity.compare import mtd, torch
from tests.parity.lines import array, check, lines, refuses, spd

pytestmark = pytest.mark.parity

D = 'dtype="float64"'

AGREE = """
t.linalg.inv(spd(3)), t.inverse(spd(3, 2)), spd(2).inverse(), t.linalg.inv(a(0, 0, dtype="float64")), t.linalg.inv(a(3, 3, dtype="float32") + 3 * t.eye(3))
t.linalg.det(a(3, 3, dtype="float64")), t.det(a(2, 3, 3, dtype="float64")), spd(2).det(), t.linalg.det(a(0, 0, dtype="float64")), t.linalg.det(a(1, 1, dtype="float64"))
t.linalg.slogdet(a(3, 3, dtype="float64")), t.slogdet(a(2, 3, 3, dtype="float64")), spd(2).slogdet()
t.logdet(spd(3)), t.logdet(spd(3, 2)), spd(2).logdet(), t.logdet(-t.eye(3)), t.logdet(t.zeros(2, 2))
t.linalg.solve(spd(3), a(3, dtype="float64")), t.linalg.solve(spd(3), a(3, 2, dtype="float64")), t.linalg.solve(spd(3, 2), a(3, 2, dtype="float64"))
t.linalg.solve(spd(2, 3), a(3, 2, dtype="float64")), t.linalg.solve(spd(2, 3), a(3, 2, 4, dtype="float64")), t.linalg.solve(spd(3), a(2, 3, dtype="float64"), left=False), t.linalg.solve(spd(3), a(2, 3, 1, dtype="float64"))
t.linalg.solve_triangular(spd(3), a(3, 2, dtype="float64"), upper=True), t.linalg.solve_triangular(spd(3), a(3, 2, dtype="float64"), upper=False), t.linalg.solve_triangular(spd(3), a(2, 3, dtype="float64"), upper=True, left=False)
t.linalg.solve_triangular(spd(3), a(3, 2, dtype="float64"), upper=False, unitriangular=True), t.linalg.solve_triangular(spd(3, 2), a(3, 2, dtype="float64"), upper=True)
t.cholesky_solve(a(3, 2, dtype="float64"), t.linalg.cholesky(spd(3))), t.cholesky_solve(a(3, 2, dtype="float64"), t.linalg.cholesky(spd(3), upper=True), True), t.cholesky_inverse(t.linalg.cholesky(spd(3)))
t.linalg.cholesky(spd(3)), t.linalg.cholesky(spd(3, 2)), t.linalg.cholesky(spd(3), upper=True), t.cholesky(spd(2)), spd(2).cholesky(True)
t.linalg.qr(a(5, 3, dtype="float64")), t.linalg.qr(a(3, 3, dtype="float64")), t.linalg.qr(a(3, 5, dtype="float64")), t.linalg.qr(a(2, 4, 3, dtype="float64")), t.linalg.qr(a(2, 3, 4, dtype="float64"))
t.linalg.qr(a(3, 4, dtype="float64"), mode="complete"), t.linalg.qr(a(5, 3, dtype="float64")).Q, t.linalg.qr(a(5, 3, dtype="float64")).R, t.qr(a(4, 2, dtype="float64"))
t.linalg.svdvals(a(4, 3, dtype="float64")), t.linalg.svdvals(a(2, 3, 4, dtype="float64")), t.linalg.svd(a(4, 3, dtype="float64")).S
t.linalg.svd(a(4, 3, dtype="float64"), full_matrices=False)[0].abs(), t.linalg.svd(a(3, 4, dtype="float64"), full_matrices=False)[2].abs(), t.linalg.svd(a(3, 3, dtype="float64"), full_matrices=False)[0].abs()
t.linalg.eigvalsh(spd(3)), t.linalg.eigh(spd(3)).eigenvalues, t.linalg.eigh(spd(3, 2)).eigenvectors.abs(), t.linalg.eigh(a(3, 3, dtype="float64"), "U").eigenvalues, t.linalg.eigh(a(3, 3, dtype="float64")).eigenvectors ** 2
t.linalg.pinv(a(4, 3, dtype="float64")), t.linalg.pinv(a(3, 4, dtype="float64")), t.linalg.pinv(a(2, 3, 3, dtype="float64")), t.pinverse(a(3, 2, dtype="float64")), a(3, 2, dtype="float64").pinverse()
t.linalg.lstsq(a(4, 2, dtype="float64"), a(4, 3, dtype="float64")).solution, t.linalg.lstsq(a(2, 4, dtype="float64"), a(2, 3, dtype="float64")).solution, t.linalg.lstsq(a(5, 4, 2, dtype="float64"), a(5, 4, 3, dtype="float64")).solution
t.trace(a(2, 3)), t.trace(a(3, 3, dtype="int8")), a(2, 2).trace(), t.trace(a(0, 0))
t.cross(a(3), a(3, seed=1)), t.cross(a(2, 3), a(2, 3, seed=1)), t.cross(a(3, 2), a(3, 2, seed=1), dim=0), t.linalg.cross(a(2, 3), a(1, 3)), a(3).cross(a(3, seed=1)), t.linalg.cross(a(3, dtype="int64"), a(3, dtype="int64", seed=1))
t.linalg.vecdot(a(2, 3), a(2, 3, seed=1)), t.linalg.vecdot(a(2, 3), a(3)), t.linalg.vecdot(a(2, 3), a(2, 3, seed=1), dim=0)
t.linalg.matrix_exp(a(3, 3, dtype="float64")), t.matrix_exp(a(2, 2, 2, dtype="float64")), (a(3, 3, dtype="float64") * 10).matrix_exp(), t.linalg.matrix_exp(t.zeros(2, 2)), t.linalg.matrix_exp(a(3, 3))
t.matrix_power(spd(3), 3), t.linalg.matrix_power(spd(3), -2), t.matrix_power(a(2, 3, 3), 0), spd(2).matrix_power(5), t.linalg.matrix_power(spd(2), 1)
t.linalg.matmul(a(2, 3), a(3, 2)), t.linalg.vander(a(3)), t.linalg.vander(a(2, 3), N=4), t.linalg.vander(a(3, dtype="int8"))
t.linalg.norm(a(2, 3)), t.linalg.norm(a(2, 3), ord=2), t.linalg.norm(a(2, 3), ord="nuc"), t.linalg.norm(a(2, 3), ord=2, dim=1), t.linalg.norm(a(2, 3, 4)), t.linalg.norm(a(3), ord=1), t.linalg.norm(a(2, 3, 4), ord="fro", dim=(0, 2)), t.linalg.norm(a(2, 3), dim=(0, 1))
t.linalg.vector_norm(a(2, 3), ord=float("inf")), t.linalg.vector_norm(a(2, 3), dim=(0, 1), keepdim=True), t.linalg.vector_norm(a(2), dtype=t.float64), t.linalg.vector_norm(a(2, 3), 3, 1)
t.linalg.matrix_norm(a(2, 3), ord=1), t.linalg.matrix_norm(a(2, 3), ord=-2), t.linalg.matrix_norm(a(2, 3), ord=float("inf")), t.linalg.matrix_norm(a(2, 3, 4), "nuc", dim=(0, 2), keepdim=True), t.linalg.matrix_norm(a(2, 3, 4), -1, (2, 0)), t.linalg.matrix_norm(a(2, 3), ord=-float("inf"), keepdim=True), t.linalg.matrix_norm(a(2, 3), dtype=t.float64), t.linalg.matrix_norm(a(2, 3), 2)
t.norm(a(2, 3), "nuc"), a(2, 3).norm("nuc"), t.norm(a(2, 3)), a(2, 3).norm(1, 1)
t.linalg.cond(spd(3)), t.linalg.cond(a(3, 4, dtype="float64"), -2), t.linalg.cond(spd(2, 2), 2)
t.linalg.diagonal(a(2, 3)), t.linalg.diagonal(a(4, 2, 3), offset=1), t.linalg.diagonal(a(4, 2, 3), dim1=0)
"""

NO_GRADIENT = """
t.linalg.matrix_rank(t.ones(3, 2)), t.linalg.matrix_rank(t.ones(3, 2), tol=10.0), t.linalg.matrix_rank(t.ones(2, 2), hermitian=True), t.linalg.matrix_rank(a(4, 3, 2)), t.linalg.matrix_rank(t.eye(3), rtol=2.0), t.linalg.matrix_rank(t.eye(3) * t.tensor([1.0, 0.1, 0.01]), atol=0.05)
t.linalg.pinv(t.ones(3, 2)), t.linalg.pinv(t.eye(3) * t.tensor([1.0, 0.1, 0.01]), rtol=0.05), t.linalg.pinv(t.ones(2, 2), hermitian=True)
t.linalg.lstsq(a(4, 2), a(4, 3)), t.linalg.lstsq(a(4, 2), a(4, 3), driver="gelsd"), t.linalg.lstsq(a(4, 2), a(4, 3), driver="gels"), t.linalg.lstsq(a(2, 2), a(2)), t.linalg.lstsq(t.ones(4, 2), a(4, 3), driver="gelss")
t.linalg.svd(a(4, 3))[0].shape, t.linalg.svd(a(3, 4))[2].shape, t.svd(a(4, 3))[2].shape, t.svd(a(4, 3), some=False)[0].shape, t.svd(a(4, 3), compute_uv=False), a(3, 2).svd()[1]
t.linalg.cond(spd(3), 1), t.linalg.cond(spd(3), "fro")
t.linalg.qr(a(5, 3), mode="r"), t.linalg.qr(a(5, 3), mode="complete")[0].shape, t.qr(a(4, 2), some=False)[0].shape, a(3, 2).qr()
t.linalg.solve_triangular(t.zeros(2, 2), t.ones(2, 1), upper=True), t.linalg.slogdet(t.zeros(2, 2)), t.triangular_solve(a(2, 1), spd(2).float()), t.triangular_solve(a(2, 1), spd(2).float(), False, True)
"""

REFUSED = """
t.linalg.inv(t.zeros(2, 2))
t.linalg.inv(t.zeros(3, 2, 2))
t.linalg.inv(a(2, 3))
t.linalg.inv(a(2))
t.linalg.inv(a(2, 2, dtype="int64"))
t.linalg.inv(a(2, 2, dtype="float16"))
t.linalg.det(a(2, 3))
t.det(a(2, 2, dtype="int64"))
t.linalg.solve(t.eye(2), a(3))
t.linalg.solve(spd(3), a(3, dtype="float64"), left=False)
t.linalg.vander(a())
t.linalg.vander(a(2), N=1)
t.linalg.solve(t.eye(2), a(2, 3), left=False)
t.linalg.solve(t.zeros(2, 2), a(2))
t.linalg.solve(a(2, 3), a(2))
t.linalg.solve(t.eye(2), a(2, dtype="float64"))
t.linalg.cholesky(-t.eye(2))
t.linalg.cholesky(t.stack([t.eye(2), -t.eye(2)]))
t.linalg.cholesky(a(2, 3))
t.linalg.qr(a(3, 2), mode="x")
t.linalg.qr(a(3))
t.linalg.svd(a(3))
t.linalg.eigh(a(2, 3))
t.linalg.eigh(t.eye(2), UPLO="x")
t.linalg.lstsq(t.eye(3), a(2, 1))
t.linalg.lstsq(t.eye(3), a(3, 1), driver="x")
t.trace(a(2))
t.linalg.solve_triangular(t.eye(2), a(2), upper=True)
t.cross(a(2, 2), a(2, 2))
t.linalg.cross(a(2, 3), a(3))
t.linalg.cross(a(3, 2), a(3, 2))
t.linalg.cross(a(3), a(3, dtype="int64"))
t.linalg.matrix_exp(a(2, 3))
t.linalg.matrix_power(t.zeros(2, 2), -1)
t.matrix_power(a(2, 3), 2)
t.linalg.norm(a(2, 3, 4), ord=2)
t.linalg.norm(a(3), ord="fro")
t.linalg.norm(a(3, dtype="int64"))
t.linalg.norm(a(2, 3), ord=3)
t.linalg.matrix_norm(a(3))
t.linalg.matrix_norm(a(2, 3), ord="x")
t.linalg.matrix_norm(a(2, 3), dim=(0, 0))
t.linalg.cond(a(2, 3), 1)
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


def test_singular_is_an_error_of_its_own() -> None:
    assert issubclass(mtd.linalg.LinAlgError, RuntimeError)
    for wrong in (lambda: mtd.linalg.inv(mtd.zeros(2, 2)),
                  lambda: mtd.linalg.cholesky(-mtd.eye(2)),
                  lambda: mtd.linalg.solve(mtd.zeros(2, 2), mtd.ones(2))):  # fmt: skip
        with pytest.raises(mtd.linalg.LinAlgError):
            wrong()


def test_decompositions_put_together_give_the_matrix() -> None:
    for shape in ((4, 3), (3, 4), (2, 3, 3), (1, 1), (0, 3), (3, 0)):
        x = mtd.tensor(array(*shape, dtype="float64"))
        q, r = mtd.linalg.qr(x)
        u, s, vh = mtd.linalg.svd(x, full_matrices=False)
        for whole in (q @ r, (u * s.unsqueeze(-2)) @ vh):
            np.testing.assert_allclose(whole.array, x.array, atol=1e-12)
    x = mtd.tensor(spd(3))
    low, (values, vectors) = mtd.linalg.cholesky(x), mtd.linalg.eigh(x)
    for whole in (low @ low.mT, (vectors * values) @ vectors.mT):
        np.testing.assert_allclose(whole.array, x.array, atol=1e-12)


def test_the_gradient_of_a_singular_determinant() -> None:
    x = mtd.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    mtd.det(x).backward()
    np.testing.assert_allclose(x.grad.array, [[4, -2], [-2, 1]], atol=1e-5)


def test_linalg_has_torchs_names() -> None:
    without = {"common_notes", "eig", "eigvals", "householder_product", "ldl_factor", "ldl_factor_ex",
               "ldl_solve", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "cholesky_ex", "inv_ex",
               "solve_ex", "tensorinv", "tensorsolve"}  # fmt: skip
    names = {name for name in dir(torch.linalg) if not name.startswith("_")}
    assert {name for name in names if not hasattr(mtd.linalg, name)} <= without
