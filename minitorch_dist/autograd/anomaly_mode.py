"""Find the operation whose gradient raised, or became nan: `detect_anomaly`.

While it is on, each node notes the line that recorded it, and its gradients are looked at.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from minitorch_dist.tensors.autograd.nodes import TorchNode
from minitorch_dist.tensors.core import observers
from minitorch_dist.tensors.core.graph import Gradient

_HERE: Final = str(Path(__file__).parents[1])
_present = False, True  # whether it is on, in the whole process as in torch, and looks for nan


class set_detect_anomaly:
    """Switch it on or off at once; as a context manager, until the end of the block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _present
        _set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _set(*self._before)


class detect_anomaly:
    """Inside, each operation remembers the line that recorded it, and gradients are checked for nan.

    A backward pass that fails then warns with that line's traceback before it raises. Slow.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only "
            "be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._switch = set_detect_anomaly(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        self._switch.__exit__()


def _set(mode: bool, check_nan: bool) -> None:
    global _present
    _present = bool(mode), bool(check_nan)
    observers.nodes.listen_everywhere(_note_stack, mode)
    observers.stand_around(_checked, mode)


def _note_stack(node: TorchNode) -> None:
    """Remember where the user called, without the frames of this package."""
    stack = traceback.extract_stack()
    while stack and stack[-1].filename.startswith(_HERE):
        stack.pop()
    node.metadata["traceback_"] = traceback.format_list(stack)


def _checked(node: TorchNode, execute: observers.Execute) -> observers.Execute:
    """`execute`, and a warning with the noted line if it fails or returns nan."""

    def run(grads: Sequence[Gradient]) -> Sequence[Gradient]:
        try:
            results = execute(grads)
            _check_for_nan(node.name_, results)
        except Exception:
            _report(node)
            raise
        return results

    return run


def _report(node: TorchNode) -> None:
    """Warn that the gradient of this node failed, and say where it was recorded."""
    stack = node.metadata.get("traceback_")
    recorded = (
        "No forward pass information available. Enable detect anomaly during forward pass for more."
        if stack is None
        else "Traceback of forward call that caused the error:\n" + "".join(stack)
    )
    warnings.warn(f"Error detected in {node.name()}. {recorded}", UserWarning, stacklevel=2)


def _check_for_nan(name: str, results: Sequence[Any]) -> None:
    for index, grad in enumerate(results if _present[1] else ()):
        if grad is not None and np.isnan(grad).any():
            raise RuntimeError(f"Function '{name}' returned nan values in its {index}th output.")
