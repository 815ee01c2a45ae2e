"""Results that have several parts, each with a name: `x.max(0).values`."""

from __future__ import annotations

from typing import Any, NamedTuple


def _show(self: Any) -> str:
    parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{parts})"


class max(NamedTuple):
    values: Any
    indices: Any


class min(NamedTuple):
    values: Any
    indices: Any


class aminmax(NamedTuple):
    min: Any
    max: Any


class median(NamedTuple):
    values: Any
    indices: Any


class nanmedian(NamedTuple):
    values: Any
    indices: Any


class mode(NamedTuple):
    values: Any
    indices: Any


class sort(NamedTuple):
    values: Any
    indices: Any


class topk(NamedTuple):
    values: Any
    indices: Any


class kthvalue(NamedTuple):
    values: Any
    indices: Any


class cummax(NamedTuple):
    values: Any
    indices: Any


class cummin(NamedTuple):
    values: Any
    indices: Any


class histogram(NamedTuple):
    hist: Any
    bin_edges: Any


class slogdet(NamedTuple):
    sign: Any
    logabsdet: Any


class qr(NamedTuple):
    Q: Any
    R: Any


class svd(NamedTuple):
    U: Any
    S: Any
    V: Any


class triangular_solve(NamedTuple):
    solution: Any
    cloned_coefficient: Any


class linalg_slogdet(NamedTuple):
    sign: Any
    logabsdet: Any


class linalg_qr(NamedTuple):
    Q: Any
    R: Any


class linalg_svd(NamedTuple):
    U: Any
    S: Any
    Vh: Any


class linalg_eigh(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class linalg_lstsq(NamedTuple):
    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


class linalg_inv_ex(NamedTuple):
    inverse: Any
    info: Any


class linalg_cholesky_ex(NamedTuple):
    L: Any
    info: Any


class linalg_lu(NamedTuple):
    P: Any
    L: Any
    U: Any


class linalg_lu_factor(NamedTuple):
    LU: Any
    pivots: Any


class linalg_lu_factor_ex(NamedTuple):
    LU: Any
    pivots: Any
    info: Any


class lu_unpack(NamedTuple):
    P: Any
    L: Any
    U: Any


class linalg_solve_ex(NamedTuple):
    result: Any
    info: Any


class linalg_eig(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class frexp(NamedTuple):
    mantissa: Any
    exponent: Any


for _kind in list(vars().values()):
    if isinstance(_kind, type) and issubclass(_kind, tuple):
        _kind.__repr__ = _show  # type: ignore[method-assign]
