"""Torch's switches for determinism and precision. Everything here is deterministic and exact in its
type, so they are remembered, and change nothing."""

from __future__ import annotations

PRECISIONS = ("highest", "high", "medium")
_deterministic = False
_precision = "highest"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Accepted; there are no other algorithms."""
    global _deterministic
    _deterministic = bool(mode)


def are_deterministic_algorithms_enabled() -> bool:
    return _deterministic


def set_float32_matmul_precision(precision: str) -> None:
    """Accepted; float32 products are computed in float32."""
    global _precision
    if precision not in PRECISIONS:
        raise RuntimeError(f"the precision is one of {', '.join(PRECISIONS)}, and not {precision!r}")
    _precision = precision


def get_float32_matmul_precision() -> str:
    return _precision
