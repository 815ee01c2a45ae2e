"""Linear algebra, by torch's names."""

from __future__ import annotations

from minitorch_dist import not_offered
from minitorch_dist.tensors.extras.linear_algebra.chains import multi_dot
from minitorch_dist.tensors.extras.linear_algebra.eigenvectors import (
    eig,
    eigvals,
    tensorinv,
    tensorsolve,
)
from minitorch_dist.tensors.extras.linear_algebra.elimination import (
    cholesky_ex,
    inv_ex,
    linalg_lu as lu,
    linalg_lu_solve as lu_solve,
    lu_factor,
    lu_factor_ex,
    solve_ex,
)
from minitorch_dist.tensors.extras.linear_algebra.matrices import linalg_cross as cross, matrix_exp
from minitorch_dist.tensors.extras.linear_algebra.solving import matrix_power
from minitorch_dist.tensors.extras.outputs import offer as _offer_out
from minitorch_dist.tensors.extras.shapes.grids import linalg_vander as vander
from minitorch_dist.tensors.ops.along_axes.norms import vector_norm
from minitorch_dist.tensors.ops.linear_algebra.decompositions import (
    cholesky,
    eigh,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from minitorch_dist.tensors.ops.linear_algebra.matrices import LinAlgError, vecdot
from minitorch_dist.tensors.ops.linear_algebra.matrix_norms import (
    cond,
    diagonal,
    linalg_norm as norm,
    matrix_norm,
)
from minitorch_dist.tensors.ops.linear_algebra.products import matmul
from minitorch_dist.tensors.ops.linear_algebra.pseudoinverse import lstsq, matrix_rank, pinv
from minitorch_dist.tensors.ops.linear_algebra.solving import (
    det,
    inv,
    linalg_slogdet as slogdet,
    solve,
    solve_triangular,
)

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
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
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

_offer_out(globals(), "linalg.")

not_offered.guard(globals())
