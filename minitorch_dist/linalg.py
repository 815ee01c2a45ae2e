"""Linear algebra, by torch's names. Complex results (`eig`, `eigvals`) are not offered."""

from __future__ import annotations

from minitorch_dist.tensors.ops.chains import multi_dot
from minitorch_dist.tensors.ops.decompositions import cholesky, eigh, eigvalsh, qr, svd, svdvals
from minitorch_dist.tensors.ops.grids import linalg_vander as vander
from minitorch_dist.tensors.ops.matrices import (
    LinAlgError,
    linalg_cross as cross,
    matrix_exp,
    vecdot,
)
from minitorch_dist.tensors.ops.matrix_norms import cond, diagonal, linalg_norm as norm, matrix_norm
from minitorch_dist.tensors.ops.norms import vector_norm
from minitorch_dist.tensors.ops.products import matmul
from minitorch_dist.tensors.ops.pseudoinverse import lstsq, matrix_rank, pinv
from minitorch_dist.tensors.ops.solving import (
    det,
    inv,
    linalg_slogdet as slogdet,
    matrix_power,
    solve,
    solve_triangular,
)

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "vander",
    "vecdot",
    "vector_norm",
]
