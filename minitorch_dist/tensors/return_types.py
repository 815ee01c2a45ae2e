"""Results that have several parts, each with a name: `x.max(0).values`."""

from __future__ import annotations

import collections
from typing import Any, Final


def _show(self: Any) -> str:
    parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{parts})"


_tuple_of: Final[Any] = collections.namedtuple  # whose fields mypy does not have to know


def _kind(name: str, parts: str) -> Any:
    """A class of tuples whose parts have these names."""
    return type(
        name, (_tuple_of(name, parts, module=__name__),), {"__slots__": (), "__repr__": _show}
    )


max = _kind("max", "values indices")
min = _kind("min", "values indices")
aminmax = _kind("aminmax", "min max")
median = _kind("median", "values indices")
nanmedian = _kind("nanmedian", "values indices")
mode = _kind("mode", "values indices")
sort = _kind("sort", "values indices")
topk = _kind("topk", "values indices")
kthvalue = _kind("kthvalue", "values indices")
slogdet = _kind("slogdet", "sign logabsdet")
qr = _kind("qr", "Q R")
svd = _kind("svd", "U S V")
linalg_slogdet = _kind("linalg_slogdet", "sign logabsdet")
linalg_qr = _kind("linalg_qr", "Q R")
linalg_svd = _kind("linalg_svd", "U S Vh")
linalg_eigh = _kind("linalg_eigh", "eigenvalues eigenvectors")
linalg_lstsq = _kind("linalg_lstsq", "solution residuals rank singular_values")
