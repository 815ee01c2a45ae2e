"""Finding the operation whose gradient went wrong: `autograd.detect_anomaly`.

While it is on, every node remembers the stack of the line that recorded it (in its `metadata`), and
the engine compares what it returns with nan.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

enabled = False
check_nan = True

_HERE: Final = str(Path(__file__).parent)


def set_enabled(mode: bool, nan: bool = True) -> None:
    """For the whole process, as in torch."""
    global enabled, check_nan
    enabled, check_nan = bool(mode), bool(nan)


def remember(metadata: dict[Any, Any]) -> None:
    """Note where the user called, without the frames of this package."""
    stack = traceback.extract_stack()
    while stack and stack[-1].filename.startswith(_HERE):
        stack.pop()
    metadata["traceback_"] = traceback.format_list(stack)


def report(name: str, metadata: dict[Any, Any]) -> None:
    """Warn that this node failed, and say where it was recorded."""
    stack = metadata.get("traceback_")
    if stack is None:
        message = (
            f"Error detected in {name}. No forward pass information available. Enable detect "
            "anomaly during forward pass for more information."
        )
    else:
        message = (
            f"Error detected in {name}. Traceback of forward call that caused the error:\n"
            + "".join(stack)
        )
    warnings.warn(message, UserWarning, stacklevel=2)


def check_for_nan(name: str, results: Sequence[Any]) -> None:
    if not check_nan:
        return
    for index, grad in enumerate(results):
        if grad is not None and np.isnan(grad).any():
            raise RuntimeError(f"Function '{name}' returned nan values in its {index}th output.")
