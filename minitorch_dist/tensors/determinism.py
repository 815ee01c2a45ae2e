"""Torch's switches for determinism and precision. Everything here is deterministic and exact in its
type, so they are remembered, and change nothing."""

from __future__ import annotations

import warnings

_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")
_debug_mode = 0
_precision = "highest"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Accepted; there are no other algorithms."""
    if not isinstance(mode, bool):
        raise TypeError(
            f"use_deterministic_algorithms(): argument 'mode' must be bool, not {type(mode).__name__}"
        )
    global _debug_mode
    _debug_mode = 0 if not mode else 1 if warn_only else 2


def are_deterministic_algorithms_enabled() -> bool:
    return _debug_mode > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    return _debug_mode == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """0 or "default", 1 or "warn", 2 or "error"."""
    if debug_mode not in (0, 1, 2, *_MODES):
        expected = (
            "one of `default`, `warn`, `error`" if isinstance(debug_mode, str) else "0, 1, or 2"
        )
        raise RuntimeError(
            f"invalid value of debug_mode, expected {expected}, but got {debug_mode}"
        )
    global _debug_mode
    _debug_mode = _MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode


def get_deterministic_debug_mode() -> int:
    return _debug_mode


def set_float32_matmul_precision(precision: str) -> None:
    """Accepted; float32 products are computed in float32."""
    if not isinstance(precision, str):
        raise RuntimeError(
            f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}"
        )
    global _precision
    if precision not in _PRECISIONS:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current "
            "set_float32_matmul_precision call has no effect.",
            UserWarning,
            stacklevel=2,
        )
        return
    _precision = precision


def get_float32_matmul_precision() -> str:
    return _precision
